"""Plane solids with curved sides against Lamé's and Kirsch's stresses; what their proof needs, left out."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.round import ring_mesh
from pinnpoint.transfer.elastic import airy, held_arcs, rounded, slivers
from pinnpoint.transfer.elastic.arcs import Arcs, Graph
from pinnpoint.transfer.elastic.chords import Chords
from tests.support import curved_solids as cs

P = np.array([[0.55, 0.5], [0.3, 0.68]])
Q = np.array([[1.2, 1.3], [0.6, 1.5]])


def certified(problem, X):
    """Displacements and stresses along x at points."""
    return pp.certify(problem, problem.space.U0, problem.points(X, "x") + problem.stress(X, "xx"))


def test_lames_ring_is_the_ring_itself_on_two_meshes_and_its_polygons_miss_it():
    truth = np.concatenate(cs.lame_truth(P))
    coarse, fine = (certified(cs.lame(n), P) for n in (8, 12))
    for c in (coarse, fine):
        assert c.guarantee == "deterministic"
        assert c.interval_of == "the PDE's solution on the domain that arcs at the given curves bound"
        assert c.contains(truth).all()
    assert (fine.radius < [7.5e-5, 7e-5, 7.5e-4, 7.3e-4]).all()
    assert (coarse.lower < fine.upper).all()
    assert (fine.lower < coarse.upper).all()
    assert any("of the given curves" in claim.claim for claim in fine.assumptions)
    assert not certified(cs.lame(12, curved=False), P).contains(truth).all()


def test_linear_elements_hold_lames_ring_too():
    c = certified(cs.lame(10, degree=1), P)
    assert c.contains(np.concatenate(cs.lame_truth(P))).all()
    assert (c.radius[:2] < 0.06).all()


def test_kirschs_hole_is_free_and_round():
    truth = np.concatenate(cs.kirsch_truth(Q))
    c = certified(cs.kirsch(16), Q)
    assert c.contains(truth).all()
    assert (c.radius < [4e-4, 6e-4, 1.2e-3, 2.4e-3]).all()
    assert not certified(cs.kirsch(20, curved=False), Q).contains(truth).all()


@pytest.mark.parametrize("degree", [1, 2])
def test_a_ring_held_at_its_inner_circle(degree):
    c = certified(cs.gripped(ring_mesh(0.5, 1.0, 8, 64), degree), P)
    assert c.contains(np.concatenate(cs.gripped_truth(P))).all()
    assert (c.radius[:2] < (0.033 if degree == 1 else 1.3e-4)).all()


def test_means_are_over_the_curved_body_and_weights_pull_slivers_too():
    """Under its own weight the mean of u_y of a gripped disc sector is that of a far finer polygon."""
    mesh = ring_mesh(0.5, 1.0, 5, 40)

    def mean(mesh, **more):
        made = pp.fem.Elasticity(
            mesh, young=1.0, poisson=0.3, body=(0.0, -1.0), fixed={"hole": 0.0}, degree=2, plane="stress", **more
        )
        return pp.certify(made, made.space.U0, made.mean("y"))

    curved = mean(mesh, geometry=cs.curves(0.5, 1.0, ("hole", "outer")))
    fine = [mean(ring_mesh(0.5, 1.0, n, 8 * n)) for n in (10, 20)]
    limit = fine[1].center + (fine[1].center - fine[0].center) / 3.0  # the polygons' error is of second order
    assert curved.radius[0] < 3e-3 * abs(limit[0])
    assert abs(curved.center[0] - limit[0]) < curved.radius[0]
    assert abs(fine[0].center[0] - limit[0]) > fine[0].radius[0]


def test_a_tolerance_puts_new_vertices_on_the_circles():
    problem = cs.lame(6)
    found = pp.certify_to(problem, problem.space.U0, problem.points(P[:1], "x"), tolerance=6e-4)
    assert found.certificate.contains(cs.lame_truth(P[:1])[0]).all()
    assert found.certificate.radius[0] < 6e-4


def test_slivers_belong_to_the_value(monkeypatch):
    truth, old = np.concatenate(cs.lame_truth(P)), slivers.value
    monkeypatch.setattr(slivers, "value", lambda *given: (0.0, old(*given)[1]))
    assert not certified(cs.lame(10), P).contains(truth).all()


def test_wrong_resultants_make_intervals_wide_and_not_wrong(monkeypatch):
    problem, whole = cs.lame(8), Chords.resultants
    intact = certified(problem, P)

    def less(self, *given):
        force, moment, wrong = whole(self, *given)
        return 0.97 * force, moment, wrong

    monkeypatch.setattr(Chords, "resultants", less)
    found = certified(problem, P)
    assert found.contains(np.concatenate(cs.lame_truth(P))).all()
    assert (found.radius[:2] > 3.0 * intact.radius[:2]).all()


def test_work_on_held_arcs_belongs_to_the_value(monkeypatch):
    """Where the middles of chords are not moved, states miss the held circle by the square of the mesh size."""
    problem, truth = cs.gripped(ring_mesh(0.5, 1.0, 8, 64)), np.concatenate(cs.gripped_truth(P))
    monkeypatch.setattr(rounded.Rounded, "_lift", lambda self, state, target: np.zeros_like(state))
    found = certified(problem, P)
    assert (np.abs(found.center - truth) < 0.02 * found.radius).all()
    monkeypatch.setattr(rounded, "work", lambda *given: (0.0, held_arcs.work(*given)[1]))
    assert (np.abs(certified(problem, P).center - truth) > 0.2 * found.radius)[:2].all()


def test_work_on_held_arcs_has_the_sign_of_a_reaction(monkeypatch):
    """Where the middles of chords are not moved the work is large, and has a sign."""
    mesh = ring_mesh(0.5, 1.0, 6, 48)

    def force():
        problem = pp.fem.Elasticity(
            mesh,
            young=1.0,
            poisson=0.3,
            plane="stress",
            degree=2,
            fixed={"hole": 0.0, "outer": (0.1, 0.0)},
            geometry={"hole": pp.Circle((0, 0), 0.5)},
        )
        return pp.certify(problem, problem.space.U0, problem.reaction("outer", "x"))

    near = force()
    monkeypatch.setattr(rounded.Rounded, "_lift", lambda self, state, target: np.zeros_like(state))
    far = force()
    assert near.lower[0] <= far.upper[0]
    assert far.lower[0] <= near.upper[0]
    apart = abs(far.center[0] - near.center[0])
    own = rounded.Rounded._held
    monkeypatch.setattr(rounded.Rounded, "_held", lambda self, p, d, a, b, sign: own(self, p, d, a, b, -sign))
    assert abs(force().center[0] - near.center[0]) > 5.0 * apart


def test_an_arc_that_crosses_its_chord_is_counted_where_it_is_outside():
    arcs = route().arcs
    q = np.zeros_like(arcs.shape)
    q[:, 1] = 0.2  # η = τ(1 − τ)(τ − ½)/5: without area
    crossing = Arcs(arcs.topology, arcs.facets, arcs.cells, q, arcs.free, arcs.away)
    assert (np.abs(crossing.area[0]) < 1e-15).all()
    w = airy.gauss(airy.LINE)[1]
    outside = np.maximum(crossing.line.values[0], 0.0) @ w * crossing.length**2
    assert (crossing.added >= outside).all()
    assert (crossing.added < 10.0 * outside).all()


def route(n=6):
    """Arcs, and a stress with what it leaves on them."""
    problem = cs.kirsch(n)
    return problem.transfer(problem.points(Q[:1], "x"))


def airy_values(arcs, near, tau, theta):
    """ψ/ℓ² at points of the strips, straight from its definition."""
    V = airy.basis(tuple(np.asarray(tau).tolist()))[0]
    alpha, beta = (c @ V.T for c in near)
    omega = arcs.slope[:, None] * (tau * (1.0 - tau))
    chi = 1.0 - 3.0 * theta**2 + 2.0 * theta**3
    return (omega**2 * alpha - omega**2 * theta * beta) * chi


def test_the_norm_of_airys_stress_is_that_of_second_differences():
    arcs, rng = route().arcs, np.random.default_rng(3)
    near = tuple(rng.normal(size=(len(arcs.facets), airy.DEGREE + 1)) * 0.4 ** np.arange(airy.DEGREE + 1) for _ in "ab")
    c_min = np.ones(len(arcs.facets))
    n, m = 200, 60
    tau, theta = (np.arange(n) + 0.5) / n, (np.arange(m) + 0.5) / m
    total, h = np.zeros(len(arcs.facets)), 1e-4
    for t in theta:
        y = Graph.of(arcs.shape, tau).values[0] - t * arcs.slope[:, None] * tau * (1.0 - tau)

        def psi(dx, dy, y=y):
            x = tau + dx
            eta, omega = Graph.of(arcs.shape, x).values[0], arcs.slope[:, None] * x * (1.0 - x)
            return airy_values(arcs, near, x, (eta - y - dy) / omega)

        inside = (tau > 0.02) & (tau < 0.98)
        xx = (psi(h, 0) - 2 * psi(0, 0) + psi(-h, 0)) / h**2
        yy = (psi(0, h) - 2 * psi(0, 0) + psi(0, -h)) / h**2
        xy = (psi(h, h) - psi(h, -h) - psi(-h, h) + psi(-h, -h)) / (4 * h**2)
        square = (xx**2 + yy**2 + 2 * xy**2) * arcs.slope[:, None] * tau * (1.0 - tau)
        total += (square * inside).sum(axis=1) / (n * m)
    seen, proved = arcs.length * np.sqrt(total), airy._norm(arcs, near, c_min)
    assert (seen <= proved * (1.0 + 1e-3)).all()
    assert (seen > 0.9 * proved).all()


def test_airys_stress_carries_the_traction_that_is_left():
    """The functions that are fitted have the derivatives of r, and their cost bounds its work on linear strains."""
    made = route()
    arcs, rng = made.arcs, np.random.default_rng(5)
    stress = airy.framed(arcs, rng.normal(size=(len(arcs.facets), 3, 3, 3)))
    near = airy._fitted(arcs, airy.Jump.of(arcs, stress, arcs.pulled(()), arcs.line))
    own = airy._parts(arcs, near, arcs.line, False)
    r = np.stack([-own["b"][1], own["p"][1]])
    w, tau = airy.gauss(airy.LINE)[1], airy.gauss(airy.LINE)[0]
    eta = arcs.line.values[0]
    assert np.abs(r @ w).max() < 1e-9 * np.abs(r).max()
    assert np.abs((r[1] * tau - r[0] * eta) @ w).max() < 1e-9 * np.abs(r).max()
    proved = airy._norm(arcs, near, np.ones(len(arcs.facets)))
    # w = (ξ², 0)/ℓ² and (0, ξ²)/ℓ²: strains are linear, their norm over the strip is at most that over the cell
    for c in (0, 1):
        done = arcs.length * np.abs((r[c] * tau**2) @ w)
        area = 0.5 * arcs.length**2 * (arcs.height + 0.5)
        assert (done <= proved * (2.0 / arcs.length) * np.sqrt(area)).all()


def test_crude_bounds_are_above_those_of_fitted_functions():
    made = route()
    arcs, rng = made.arcs, np.random.default_rng(7)
    near = tuple(rng.normal(size=(len(arcs.facets), airy.DEGREE + 1)) * 0.5 ** np.arange(airy.DEGREE + 1) for _ in "ab")
    own = airy._parts(arcs, near, Graph.of(arcs.shape, airy.samples()), False)
    value = np.maximum(np.abs(own["b"][1]), np.abs(own["p"][1])).max(axis=1)
    slope = np.maximum(np.abs(own["b"][2]), np.abs(own["p"][2])).max(axis=1)
    one = np.ones(len(arcs.facets))
    assert (airy._norm(arcs, near, one) <= airy.crude(arcs, value, slope, one)).all()


def test_the_energy_of_a_miss_is_that_of_differences():
    problem = cs.gripped(ring_mesh(0.5, 1.0, 5, 40))
    arcs = problem.transfer(problem.points(P[:1], "x")).arcs
    held, rng = np.flatnonzero(~arcs.free), np.random.default_rng(1)
    nodal = rng.normal(size=(len(arcs.facets), 6, 2))
    corner = np.array([[1, 2], [0, 2], [0, 1]])[arcs.local]
    for k in range(2):
        nodal[np.arange(len(nodal)), corner[:, k]] = 0.0
    miss = held_arcs.Miss.of(arcs, nodal, 2, np.zeros((len(nodal), 2)), np.ones(len(nodal)))
    n, h = 200, 1e-5
    tau, total = (np.arange(n) + 0.5) / n, np.zeros(len(nodal))

    def field(x, y):
        graph = Graph.of(arcs.shape, x)
        eta, omega = graph.values[0], arcs.slope[:, None] * x * (1.0 - x)
        m = -np.einsum("npk,nkc->npc", held_arcs.shapes(arcs.barycentric(np.broadcast_to(x, eta.shape), eta), 2), nodal)
        return m * (1.0 - (eta - y) / omega)[..., None]

    for t in (np.arange(30) + 0.5) / 30:
        omega = arcs.slope[:, None] * tau * (1.0 - tau)
        y = Graph.of(arcs.shape, tau).values[0] - t * omega
        slopes = (field(tau + h, y) - field(tau - h, y)) / (2 * h), (field(tau, y + h) - field(tau, y - h)) / (2 * h)
        total += (sum((s**2).sum(axis=2) for s in slopes) * omega).sum(axis=1) / (n * 30)
    assert np.allclose(np.sqrt(total[held]), miss.energy[held], rtol=5e-3)
    assert (miss.energy[arcs.free] == 0.0).all()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"body": ("x", 0.0)}, "at curved sides of a solid forces are numbers"),
        ({"force": {"outer": (1.0, 0.0)}}, "total forces on curved groups"),
        ({"expansion": 1e-3, "temperature": 10.0}, "temperature: thermal stresses beside curved sides"),
        ({"fixed": {"outer": (0.0, None), "bottom": 0.0}}, "held in all components or in none"),
    ],
)
def test_what_is_not_proved_of_curved_solids_is_refused(more, words):
    given = {"fixed": {"bottom": (None, 0.0), "left": (0.0, None)}, "young": 1.0, "poisson": 0.3, "degree": 2}
    problem = pp.fem.Elasticity(
        cs.quarter(0.5, 1.0, 6, 12), geometry=cs.curves(0.5, 1.0), plane="stress", **(given | more)
    )
    with pytest.raises(pp.InputError, match=words):
        certified(problem, P)


def test_points_at_curves_lifts_and_spheres_are_refused():
    problem = cs.lame(6)
    with pytest.raises(pp.InputError, match="in a cell at a curved side"):
        problem.transfer(problem.points([[0.51 * math.cos(0.4), 0.51 * math.sin(0.4)]], "x"))
    with pytest.raises(pp.InputError, match="averages over curved groups"):
        problem.transfer(problem.patch("outer", "x"))
    held = cs.gripped(ring_mesh(0.5, 1.0, 4, 32))
    with pytest.raises(pp.InputError, match="reactions of curved sides"):
        held.transfer(held.reaction("hole", "x"))
    given = {"young": 1.0, "poisson": 0.3, "fixed": {"hole": 0.1}, "body": 1.0}
    moved = pp.fem.Elasticity(ring_mesh(0.5, 1.0, 4, 32), geometry={"hole": pp.Circle((0, 0), 0.5)}, **given)
    with pytest.raises(pp.InputError, match="a curved side is held at another"):
        moved.transfer(moved.compliance())
    with pytest.raises(pp.InputError, match="keep no prediction"):
        pp.certify(problem, ["x", "y"], problem.points(P, "x"), lift=True)
    cube = pp.io.generate("cube", 2)
    with pytest.raises(pp.InputError, match="solids in space are the polyhedron"):
        pp.fem.Elasticity(cube, 1.0, 0.3, fixed={"left": 0.0}, geometry={"right": pp.Sphere((0, 0, 0), 1)})


def test_coarse_curves_say_why_intervals_are_wide():
    asked = np.array([[0.6, 0.45]])
    wide, narrow = (pp.certify(p, p.space.U0, p.points(asked, "x")) for p in (cs.lame(4), cs.lame(6)))
    assert wide.contains(cs.lame_truth(asked)[0]).all()
    assert any("curved sides turn by up to 11° a facet" in note for note in wide.notes)
    assert not any("a facet" in note for note in narrow.notes)


def test_the_discrete_target_does_not_say_that_it_is_of_the_curves():
    problem = cs.lame(4)
    c = pp.certify(problem, problem.space.U0, problem.points(P, "x"), target="discrete")
    assert not any("intervals are for it" in note for note in c.notes)
    assert any("intervals of the PDE's own solution are for it" in note for note in c.notes)


def test_random_solids_with_curved_sides_miss_nothing():
    from studies import curved_solids

    rows = [row for seed in (1, 2) for row in curved_solids.rows_of(seed)]
    assert len(rows) == 12
    assert not any(row["missed"] for row in rows)
    assert all(row["share"] < 0.01 for row in rows)
