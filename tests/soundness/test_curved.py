"""Curved domains: the truth on the curve is inside, narrow intervals, and each part of the proof is needed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import iv

import pinnpoint as pp
from pinnpoint.fem.curved import bent
from pinnpoint.fem.lifts import lifted
from pinnpoint.fem.lifts.own_values import own_value
from pinnpoint.formulas.expressions import parse
from pinnpoint.mesh.facets import edge_table
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.middles import Middles
from pinnpoint.mesh.round import ball_mesh, disc_mesh
from pinnpoint.taylor.bernstein import Density
from pinnpoint.transfer.boundary.data_lift import DataLift
from pinnpoint.transfer.everywhere import lengths, setting
from pinnpoint.transfer.stretch import Stretch
from tests.support.boundaries import linear_boundary
from tests.support.curved import (
    INNER,
    OUTWARD,
    RING,
    VALUE,
    certified,
    ellipse,
    ring,
    second_order,
    torsion,
    value,
)

X = np.array([[0.6, 0.2], [-0.3, 0.55], [0.1, -0.62]])
RIM = {"rim": pp.Circle((0, 0), 1)}


def mixed(mesh=None, degree=2, **more):
    """u = eˣ sin(2y + 0.3): given on the outer circle, its flux on the hole."""
    given = {"dirichlet": {"outer": VALUE}, "neumann": {"hole": OUTWARD}, "geometry": RING} | more
    return pp.fem.ReactionDiffusion(ring() if mesh is None else mesh, source=f"3*{VALUE}", degree=degree, **given)


def test_two_meshes_of_a_ring_agree_on_the_circles_and_their_polygons_do_not():
    coarse, fine = (ring(10, 44), ring(16, 72))
    truth = torsion(X)
    assert math.isclose(torsion([[0.6, 0.2]])[0], 0.063429879, abs_tol=1e-9)
    found = [certified(pp.fem.ReactionDiffusion(m, source=1.0, degree=2, geometry=RING), X) for m in (coarse, fine)]
    for c, most in zip(found, (3e-5, 4e-6), strict=True):
        assert c.contains(truth).all()
        assert c.guarantee == "deterministic"
        assert (c.radius < most).all()
        assert c.interval_of == "the PDE's solution on the domain that the given curves bound"
    straight = certified(pp.fem.ReactionDiffusion(fine, source=1.0, degree=2), X)
    assert not straight.contains(truth).any()


@pytest.mark.parametrize("degree", [1, 2])
def test_linear_and_quadratic_elements_converge_on_a_disc_with_reaction(degree):
    P = np.array([[0.3, 0.2], [0.0, 0.0]])
    r = np.hypot(*P.T)
    truth = (1.0 - iv(0, 3.0 * r) / iv(0, 3.0)) / 9.0
    radii = []
    for n in (6, 12):
        problem = pp.fem.ReactionDiffusion(
            disc_mesh(n), source=1.0, reaction=9.0, degree=degree, geometry={"rim": pp.Circle((0, 0), 1)}
        )
        c = certified(problem, P)
        assert c.contains(truth).all()
        radii.append(c.radius[0])
    assert radii[0] / radii[1] > (3.0 if degree == 1 else 10.0)


@pytest.mark.parametrize("kind", ["dirichlet", "neumann", "robin"])
def test_data_on_the_hole_are_those_of_the_circle(kind):
    more = {
        "dirichlet": {"dirichlet": {"outer": VALUE, "hole": VALUE}, "neumann": {}},
        "neumann": {},
        "robin": {"neumann": {}, "robin": {"hole": (2.0, f"{OUTWARD} + 2*{VALUE}")}},
    }[kind]
    c = certified(mixed(**more), X)
    assert c.contains(value(X)).all()
    assert (c.radius < 4e-4).all()


@pytest.mark.parametrize("shape", [pp.Ellipse((0, 0), (1, 0.6)), pp.LevelSet("x**2 + y**2/0.36 - 1")])
def test_an_ellipse_by_its_axes_or_by_a_formula(shape):
    P, g = np.array([[0.2, 0.1], [-0.4, -0.1]]), "exp(x)*cos(y)"
    for n, most in ((8, 2e-4), (16, 1e-5)):
        mesh = ellipse(n, 1.0, 0.6)
        c = certified(pp.fem.ReactionDiffusion(mesh, dirichlet={"rim": g}, degree=2, geometry={"rim": shape}), P)
        assert c.contains(np.exp(P[:, 0]) * np.cos(P[:, 1])).all()
        assert (c.radius < most).all()


def test_varying_diffusion_is_that_of_the_curved_domain():
    problem = pp.fem.ReactionDiffusion(  # u = x² + y², κ = 1 + x/2
        disc_mesh(8),
        source="-4*(1 + x/2) - x",
        diffusion="1 + x/2",
        dirichlet={"rim": "x**2 + y**2"},
        degree=2,
        geometry={"rim": pp.Circle((0, 0), 1)},
    )
    P = np.array([[0.2, 0.1], [-0.4, -0.1]])
    c = certified(problem, P)
    assert c.contains((P**2).sum(axis=1)).all()
    assert (c.radius < 1e-3).all()


def test_a_flux_through_a_circle_and_a_tolerance_with_vertices_put_on_it():
    problem = pp.fem.ReactionDiffusion(ring(5, 22), source=1.0, degree=2, geometry=RING)
    flux = 2.0 * math.pi * INNER * (INNER / 2.0 - (1.0 - INNER**2) / 4.0 / math.log(1.0 / INNER) / INNER)
    c = pp.certify(problem, problem.space.U0, problem.flux("hole"))
    assert c.contains([flux]).all()
    assert c.radius[0] < 1e-2
    found = pp.certify_to(problem, problem.space.U0, problem.points(X[:1]), tolerance=2e-4)
    assert found.certificate.radius[0] <= 2e-4
    assert found.certificate.contains(torsion(X[:1])).all()
    moved = found.problem.mesh
    r = np.hypot(*moved.points[np.unique(moved.facets("hole"))].T)
    assert np.abs(r - INNER).max() < 1e-15


def test_second_order_meshes_are_their_own_domain_in_the_plane():
    def onto(M):
        r = np.hypot(*M.T)[:, None]
        return M / r * np.where(r < 0.6, INNER, 1.0)

    problem = pp.fem.ReactionDiffusion(second_order(ring(), onto), source=1.0, degree=2)
    c = certified(problem, X)
    assert c.interval_of == "the PDE's solution on the isoparametric domain of the mesh"
    assert (np.abs(c.center - torsion(X)) < 3e-5).all()
    assert (c.radius < 5e-5).all()
    # a domain of parabolas with a solution of its own: y = x²/4 below, u = x² − y² anywhere
    flat = pp.io.generate("square", 6)
    bend = second_order(flat, lambda M: M + np.where(M[:, 1:] == 0.0, [[0.0, 0.004]], 0.0))
    P = np.array([[0.5, 0.5], [0.4, 0.6]])
    g = "exp(x)*cos(y)"
    c = certified(pp.fem.ReactionDiffusion(bend, dirichlet={"boundary": g}, degree=2), P)
    assert c.contains(np.exp(P[:, 0]) * np.cos(P[:, 1])).all()
    assert (c.radius < 4e-4).all()


def without(cls, monkeypatch, model, values):
    """Both what is assembled and what is enclosed, falsified alike: the interval stays narrow."""
    monkeypatch.setattr(cls, "taylor", model)
    monkeypatch.setattr(cls, "__call__", values)


def _plain_model(self, coordinates):
    return bent.at(self.given, self.bends.at(coordinates))


def _plain_values(self, P):
    return bent.function("data", self.given)(self.bends.moved(P)[0])


def _here_model(self, coordinates):
    local = self.bends.at(coordinates)
    known = bent.fixed(self.given)
    own = bent.constant(*known) if known is not None else bent.model_of(self.given, coordinates)
    return own * local.determinant


def _here_values(self, P):
    return bent.function("data", self.given)(P) * np.linalg.det(self.bends.moved(P)[1])


def _flat_model(self, coordinates):
    return bent.constant(np.full(coordinates[0].C.shape[-1], 1.0 if self.i == self.j else 0.0))


def _flat_values(self, P):
    return np.full(len(P), 1.0 if self.i == self.j else 0.0)


_length = bent.Through.taylor


def _chord_model(self, coordinates):
    """The slope of the true solution along the chord's normal."""
    local = self.bends.at(coordinates)
    normal = self.bends.normal_models(coordinates, local.rows)  # into the domain
    slope = bent.jet_of(parse(VALUE), local.x).gradient
    return -bent.total([g * n for g, n in zip(slope, normal, strict=True)]) * _length(
        bent.Through(self.bends, 1.0, "1"), coordinates
    )


def _chord_values(self, P):
    here = self.bends.where(P)
    x, y = here.Y.T
    n, phase = self.bends.normals(P, here.rows), 2.0 * y + 0.3
    slope = np.exp(x) * (np.sin(phase) * n[:, 0] + 2.0 * np.cos(phase) * n[:, 1])
    return -slope * self.factor(here, P)


SABOTAGES = {
    "the determinant of the source": (bent.Spread, _plain_model, _plain_values),
    "the length of the curve": (bent.Through, _plain_model, _plain_values),
    "the normal of the curve": (bent.Through, _chord_model, _chord_values),
    "the source at its place": (bent.Spread, _here_model, _here_values),
    "the matrix": (bent.Turned, _flat_model, _flat_values),
}


@pytest.mark.parametrize("what", SABOTAGES)
def test_leaving_out_a_part_of_the_map_misses_the_truth(what, monkeypatch):
    P = np.array([[0.6, 0.2], [0.05, -0.55]])

    def problem():
        if what != "the source at its place":
            return mixed(ring(14, 64))
        return pp.fem.ReactionDiffusion(  # u = u(r), no flux through the hole
            ring(24, 96), source="1/(x**2 + y**2)**3", degree=2, dirichlet={"outer": 0.0}, geometry=RING
        )

    r = np.hypot(*P.T)
    rest = lambda s: -(s**-4.0) / 16.0  # noqa: E731
    slope = -(INNER**-4.0) / 4.0
    truth = value(P) if what != "the source at its place" else rest(r) - rest(1.0) + slope * np.log(r)
    assert certified(problem(), P).contains(truth).all()
    without(SABOTAGES[what][0], monkeypatch, *SABOTAGES[what][1:])
    assert not certified(problem(), P).contains(truth).all()


def test_means_are_those_of_the_curved_domain_and_need_its_volume(monkeypatch):
    truth = 0.27590669469924587, 0.18902121825004845  # of `value` over the hole's circle and over the ring
    problem = mixed(ring(16, 72))
    asked = problem.patch("hole") + problem.mean()
    c = pp.certify(problem, problem.space.U0, asked)
    assert c.contains(truth).all()
    assert (c.radius < 4e-6).all()
    assert np.allclose(pp.certify(problem, value, asked).value, truth, atol=1e-6)
    disc = pp.fem.ReactionDiffusion(pp.io.generate("disc", 8), source=1.0, degree=2, geometry=RIM)
    c = pp.certify(disc, disc.space.U0, disc.mean() + disc.cells(np.arange(0, 384)))
    assert c.contains([0.125, c.center[1]]).all()
    assert c.radius[0] < 5e-8
    coarse = pp.fem.ReactionDiffusion(pp.io.generate("disc", 4), source=1.0, degree=2, geometry=RIM)
    found = pp.certify_to(coarse, coarse.space.U0, coarse.mean(), tolerance=1e-6)
    assert found.certificate.contains([0.125]).all()
    assert found.certificate.radius[0] <= 1e-6
    monkeypatch.setattr(Stretch, "over", _as_straight)
    straight = pp.certify(disc, disc.space.U0, disc.mean())
    assert not straight.contains([0.125]).any()


def _as_straight(self, V, size, slack, cells, what):
    """Means over the mesh instead of the domain."""
    return Density.constant(np.full(len(V), 1.0 / size.sum()), V.shape[1] - 1), 1e-12


@pytest.mark.parametrize("given", [{"dirichlet": "x"}, {"neumann": 1.0}, {"robin": 3.0}])
def test_conditions_that_are_no_table_are_refused(given):
    with pytest.raises(pp.InputError, match=f"{next(iter(given))}: must be a table"):
        pp.fem.ReactionDiffusion(pp.io.generate("disc", 4), 1.0, geometry={"rim": pp.Circle((0, 0), 1.0)}, **given)


def test_a_mean_over_a_group_of_given_values_is_refused():
    problem = pp.fem.ReactionDiffusion(pp.io.generate("disc", 3), source=1.0, geometry=RIM)
    with pytest.raises(pp.InputError, match="integrals of the data alone"):
        pp.certify(problem, problem.space.U0, problem.patch("rim"))


@pytest.mark.parametrize("degree", [1, 2])
def test_the_largest_error_on_a_disc_its_band_and_extreme_values(degree):
    """u = (1 − r²)/4; the prediction is off by x(1 − r²)/100 at the nodes."""
    problem = pp.fem.ReactionDiffusion(pp.io.generate("disc", 8), source=1.0, degree=degree, geometry=RIM)

    def predicted(P):
        return (0.25 + 0.01 * P[:, 0]) * (1.0 - (P**2).sum(axis=1))

    c = pp.certify(problem, predicted, problem.everywhere())
    assert c.guarantee == "deterministic"
    bary = np.random.default_rng(1).dirichlet(np.ones(3), 40)
    mesh, bends = problem.mesh, problem.bending.bends
    P = np.einsum("qk,ckd->cqd", bary, mesh.points[mesh.cells]).reshape(-1, 2)
    places = bends.moved(P)[0]
    shapes = np.tile(problem.nodes.shapes(bary), (len(mesh.cells), 1))
    dofs = np.repeat(problem.nodes.cell_dofs, len(bary), axis=0)
    v = (shapes * predicted(problem.bending.nodes(problem.nodes).points)[dofs]).sum(axis=1)
    off = np.abs(v - 0.25 * (1.0 - (places**2).sum(axis=1))).reshape(len(mesh.cells), -1).max(axis=1)
    assert (off <= c.band).all()
    assert off.max() <= c.upper[0] <= (0.04 if degree == 1 else 0.006)
    high = pp.certify(problem, problem.space.U0, problem.maximum() + problem.minimum())
    assert high.contains([0.25, 0.0]).all()
    assert (high.radius < (0.04 if degree == 1 else 1e-3)).all()


def test_the_band_of_a_varying_diffusion_with_a_solve():
    problem = pp.fem.ReactionDiffusion(  # u = x(1 − x)y(1 − y), κ = 1 + x
        pp.io.generate("square", 8),
        source="2*(1 + x)*(x*(1-x) + y*(1-y)) - (1 - 2*x)*y*(1-y)",
        diffusion="1 + x",
        degree=2,
    )
    c = pp.certify(problem, problem.space.U0, problem.everywhere() + problem.maximum())
    assert c.contains([0.0625, 0.0625]).all()
    assert (c.radius < 5e-3).all()
    c = pp.certify(problem, "x*(1-x)*y*(1-y)", problem.everywhere())
    assert c.upper[0] < 5e-3


def test_what_a_projection_leaves_is_in_the_largest_error(monkeypatch):
    problem = pp.fem.ReactionDiffusion(pp.io.generate("disc", 3), source=1.0, degree=2, geometry=RIM)
    whole = pp.certify(problem, problem.space.U0, problem.everywhere())
    monkeypatch.setattr(setting, "peak_constant", lambda d: 0.0)
    less = pp.certify(problem, problem.space.U0, problem.everywhere())
    assert less.upper[0] < whole.upper[0]


KEPT = "(1 - x**2 - y**2)*(1/4 + cos(3*x)/1000) + x/10000"
"""A prediction of (1 − r²)/4 on the disc that is off by 1e-3 in the middle and 1e-4 on the circle."""


def test_errors_in_the_mean_and_in_energy_are_those_of_the_curved_domain(monkeypatch):
    """A prediction that is off by 0.1 on the unit disc, −Δu + 9u = 0: 0.1√π and 0.3√π, which its polygon misses."""
    problem = pp.fem.ReactionDiffusion(
        disc_mesh(5), source=0.0, reaction=9.0, degree=2, geometry={"rim": pp.Circle((0, 0), 1)}
    )
    off = np.full(len(problem.nodes), 0.1)
    truth = 0.1 * math.sqrt(math.pi) * np.array([1.0, 3.0])
    c = pp.certify(problem, off, problem.l2_error() + problem.energy_error())
    assert c.contains(truth).all()
    assert (c.radius < 1e-6).all()
    monkeypatch.setattr(
        lengths, "_on_curves", lambda model, part, shapes, v, mean, size: (np.ones(len(mean)), mean, size)
    )
    assert not pp.certify(problem, off, problem.l2_error()).contains(truth[:1]).any()


def test_the_error_in_the_mean_of_a_state_is_measured_on_the_curved_domain(monkeypatch):
    """u_h = 0 for u = (1 − r²)/4 on the disc: ‖u‖ = √(π/48), and the bound of what is left grows with det J."""
    problem = pp.fem.ReactionDiffusion(disc_mesh(5), source=1.0, degree=2, geometry={"rim": pp.Circle((0, 0), 1)})
    c = pp.certify(problem, np.zeros(len(problem.nodes)), problem.l2_error())
    assert c.contains([math.sqrt(math.pi / 48.0)]).all()
    assert c.radius[0] < 1e-3
    monkeypatch.setattr(lengths, "_stretched", lambda model: np.ones(len(model.kappa)))
    assert pp.certify(problem, np.zeros(len(problem.nodes)), problem.l2_error()).radius[0] < c.radius[0]


def test_a_kept_prediction_makes_intervals_on_curves_narrower(monkeypatch):
    problem = pp.fem.ReactionDiffusion(pp.io.generate("disc", 6), source=1.0, degree=2, geometry=RIM)
    asked = problem.points([[0.3, 0.2]]) + problem.mean() + problem.everywhere()
    c, plain = (pp.certify(problem, KEPT, asked, lift=lift) for lift in (True, False))
    assert c.guarantee == "deterministic"
    assert c.interval_of == "the PDE's solution on the domain that the given curves bound"
    assert c.contains([0.2175, 0.125, 1.0002e-3]).all()
    assert (8.0 * c.radius < plain.radius).all()
    rough = pp.certify(problem, KEPT, problem.everywhere(solve=False), lift=True)
    assert 1.0004e-3 < rough.upper[0] < 5e-3
    monkeypatch.setattr(lifted, "own_mean", lambda bending, lift, goal: own_value(problem, lift, goal))
    assert not pp.certify(problem, KEPT, problem.mean(), lift=True).contains([0.125]).any()


def test_a_kept_network_on_a_second_order_mesh():
    bend = second_order(pp.io.generate("square", 5), lambda M: M + np.where(M[:, 1:] == 0.0, [[0.0, 0.004]], 0.0))
    rng = np.random.default_rng(3)
    network = pp.models.MLP([rng.normal(size=(6, 2)), rng.normal(size=(1, 6))], [rng.normal(size=6), np.zeros(1)])
    problem = pp.fem.ReactionDiffusion(bend, dirichlet={"boundary": "exp(x)*cos(y)"}, degree=2)
    c = pp.certify(problem, network, problem.points([[0.5, 0.5]]), lift="anyway")
    assert c.contains(np.exp(0.5) * np.cos(0.5)).all()
    assert math.isclose(c.raw[0], float(network(np.array([[0.5, 0.5]]))[0]), rel_tol=1e-12)


@pytest.mark.parametrize("more", [{"neumann": {"rim": 0.1}, "dirichlet": {}, "reaction": 1.0}, {"diffusion": "1 + x"}])
def test_lifts_that_are_not_proved_on_curves_are_refused(more):
    problem = pp.fem.ReactionDiffusion(pp.io.generate("disc", 3), source=1.0, geometry=RIM, **more)
    with pytest.raises(pp.InputError, match="lift: on curved domains"):
        pp.certify(problem, KEPT, problem.points([[0.1, 0.1]]), lift=True)


def test_lifted_data_hold_the_truth_where_it_is_missed_by_far_and_need_their_facet_integral(monkeypatch):
    linear_boundary(monkeypatch)
    P = np.array([[0.5, 0.5], [0.3, 0.6], [0.7, 0.4]])

    def problem():
        return pp.fem.ReactionDiffusion(
            pp.io.generate("square", 10), source=f"3*{VALUE}", dirichlet={"boundary": VALUE}, degree=2
        )

    whole = certified(problem(), P)
    assert whole.contains(value(P)).all()
    assert any("lifted" in claim.claim for claim in whole.assumptions)
    monkeypatch.setattr(DataLift, "across", lambda self, model, dual: (0.0, 0.0))
    assert not certified(problem(), P).contains(value(P)).all()


def test_lifted_data_need_their_energy(monkeypatch):
    """Without e_K the energy of the lift is not in the bound: the state of a constant is the extreme case."""
    made = DataLift._made.__func__

    def light(cls, *given):
        lift = made(cls, *given)
        for name in ("gradient", "size", "energy"):
            object.__setattr__(lift, name, 0.0 * getattr(lift, name))
        return lift

    problem = pp.fem.ReactionDiffusion(
        pp.io.generate("square", 4), source=0.0, dirichlet={"boundary": "exp(6*x)*cos(6*y)"}, degree=1
    )
    whole = problem.transfer(problem.points([[0.5, 0.5]]))
    kept = pp.certify(problem, problem.space.U0, problem.points([[0.5, 0.5]]))
    monkeypatch.setattr(DataLift, "_made", classmethod(light))
    less = pp.certify(problem, problem.space.U0, problem.points([[0.5, 0.5]]))
    assert whole is not None
    assert less.radius[0] < kept.radius[0]


def capped(n):
    """A cube whose lid is a part of a sphere of radius 2: the group "lid"."""
    cube = pp.io.generate("cube", n)
    x, y, z = cube.points.T
    top = np.sqrt(4.0 - (x - 0.5) ** 2 - (y - 0.5) ** 2) - 1.0
    return Mesh(np.stack([x, y, z * top], axis=1), cube.cells, {}, {"lid": cube.facets("back")})


def test_a_sphere_between_flat_sides_is_the_sphere_itself():
    P, lid = np.array([[0.45, 0.5, 0.4]]), {"lid": pp.Sphere((0.5, 0.5, -1.0), 2)}
    g = "exp(x)*sin(y) - z"  # harmonic on any domain
    truth = np.exp(P[:, 0]) * np.sin(P[:, 1]) - P[:, 2]
    problem = pp.fem.ReactionDiffusion(capped(3), dirichlet={"boundary": g}, degree=2, geometry=lid)
    c = certified(problem, P)
    assert c.interval_of == "the PDE's solution on the domain that the given curves bound"
    assert any("'lid' is the sphere" in note for note in c.notes)
    assert c.contains(truth).all()
    assert c.radius[0] < 2.1e-2
    bends, sides = problem.bending.bends, problem.mesh.boundary
    flat = sides[(problem.mesh.points[sides][:, :, 0] == 1.0).all(axis=1)]
    X = np.einsum("qi,nik->nqk", np.random.default_rng(2).dirichlet(np.ones(3), 9), problem.mesh.points[flat])
    assert np.array_equal(bends.moved(X.reshape(-1, 3))[0][:, 0], X.reshape(-1, 3)[:, 0])


BALL_TRUTH = [(1.0 - 0.0129) / 6.0, 1.0 / 15.0]
"""Of −Δu = 1 on the unit ball, (1 − r²)/6: at a point, and the mean."""


def ball_certificate(mesh, **more):
    problem = pp.fem.ReactionDiffusion(mesh, source=1.0, **more)
    return pp.certify(problem, problem.space.U0, problem.points([[0.1, 0.05, 0.02]]) + problem.mean())


@pytest.mark.slow
def test_a_ball_of_tetrahedra_by_its_sphere_holds_the_truth_that_its_polyhedron_misses():
    c = ball_certificate(ball_mesh(6), geometry={"rim": pp.Sphere((0, 0, 0), 1)})
    assert c.guarantee == "deterministic"
    assert c.interval_of == "the PDE's solution on the domain that the given curves bound"
    assert c.contains(BALL_TRUTH).all()
    assert (c.radius < [0.009, 0.0032]).all()
    assert not ball_certificate(ball_mesh(6)).contains(BALL_TRUTH).all()


def test_a_ball_of_second_order_tetrahedra_is_its_own_domain():
    """Its faces are within 0.0015 of the sphere."""
    mesh = ball_mesh(4)
    edges = edge_table(mesh.boundary, len(mesh.points))[0]
    middle = mesh.points[edges].mean(axis=1)
    onto = Middles(edges, middle / np.linalg.norm(middle, axis=1)[:, None])
    c = ball_certificate(Mesh(mesh.points, mesh.cells, {}, {}, middles=onto))
    assert c.interval_of == "the PDE's solution on the isoparametric domain of the mesh"
    assert (np.abs(c.center - BALL_TRUTH) < 2e-3).all()
    assert (c.radius < [0.04, 0.015]).all()


def test_a_second_order_mesh_is_refined_to_a_tolerance_on_its_own_domain():
    problem = pp.fem.ReactionDiffusion(
        second_order(disc_mesh(4), lambda M: M / np.hypot(*M.T)[:, None]), source=1.0, degree=2
    )
    asked = problem.points([[0.3, 0.2]])
    first = pp.certify(problem, problem.space.U0, asked)
    found = pp.certify_to(problem, problem.space.U0, asked, tolerance=2e-6)
    assert found.certificate.radius[0] < 2e-6 < first.radius[0]
    assert abs(found.certificate.center[0] - first.center[0]) < first.radius[0]
    assert found.certificate.interval_of == "the PDE's solution on the isoparametric domain of the mesh"
    sizes = [p.bending.size_of(p.bending.mesh.cells) for p in (problem, found.problem)]
    assert np.isclose(*sizes, rtol=1e-14, atol=0.0)
    assert sizes[0] < np.pi - 1e-5


def test_laplace_on_the_disk_of_deepxde():
    """Its example laplace.disk: u = cos θ on the circle, so u = x."""
    P = np.array([[0.3, 0.2], [-0.5, 0.4]])
    problem = pp.fem.ReactionDiffusion(disc_mesh(8), dirichlet={"rim": "x/sqrt(x**2 + y**2)"}, degree=2, geometry=RIM)
    c = certified(problem, P)
    assert c.contains(P[:, 0]).all()
    assert (c.radius < 2e-5).all()


def test_solids_say_that_they_are_straight_sided_and_by_how_much():
    mesh = ball_mesh(3)
    base = mesh.boundary[mesh.points[mesh.boundary][:, :, 2].mean(axis=1) < -0.5]
    solid = Mesh(mesh.points, mesh.cells, {}, {"base": base})
    (note,) = pp.fem.Elasticity(solid, young=1.0, poisson=0.3, fixed={"base": 0.0}).curve_notes()
    assert "intervals are of the polyhedron; its distance from the curved surface is about 0.07" in note
    plane = pp.fem.Elasticity(ring(4, 30), young=1.0, poisson=0.3, fixed={"hole": 0.0}, body=(1.0, 0.0))
    c = pp.certify(plane, plane.space.U0, plane.mean("x"))
    assert c.interval_of == "the PDE's solution on the mesh's polygon"
    assert any("looks curved" in note or "look curved" in note for note in c.notes)


def test_a_campaign_of_random_curved_problems_misses_nothing():
    from studies import curved

    found = curved.campaign(curved.part(7, 3))["all"]
    assert found["intervals"] == 9
    assert found["missed"] == 0
    assert found["narrower than 1 %"] >= 6


@pytest.mark.slow
def test_random_problems_under_surfaces_miss_nothing():
    from studies import curved_surfaces

    found = curved_surfaces.summary([curved_surfaces.row(number) for number in (7, 13)])
    assert found["intervals"] == 4
    assert found["missed"] == 0
    assert found["narrower than 1 %"] >= 3


def test_turned_ellipses_level_sets_and_kept_predictions_hold_the_truth():
    from studies import curved_levels

    found = curved_levels.summary(curved_levels.part(11, 3))
    assert found["missed"] == 0
    assert found["intervals"] >= 12
    assert found["median share"] < 1e-2
