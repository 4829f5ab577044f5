"""Points of instances whose κ jumps: closed forms beside the jump, the kernel's slope by quadrature, refusals."""

import math

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.quadrature import rule
from pinnpoint.transfer.goals import Functional
from pinnpoint.transfer.operators import prepared
from pinnpoint.transfer.operators.frozen import Frozen, PointTerms
from pinnpoint.transfer.operators.grid import Grid

ENDS = {"left": 0.0, "right": 0.0}


def layered(n):
    return pp.fem.ReactionDiffusion(pp.io.generate("square", n), source=1.0, dirichlet=ENDS)


def truth(x, high):
    """−(κu′)′ = 1 on (0, 1), u = 0 at both ends, κ = 1 on the left half and `high` on the right one."""
    flux = (0.125 + 0.375 / high) / (0.5 + 0.5 / high)  # κu′ = flux − x
    left = np.minimum(x, 0.5)
    part = flux * left - 0.5 * left**2
    right = np.maximum(x, 0.5)
    return part + (flux * (right - 0.5) - 0.5 * (right**2 - 0.25)) / high


def halves(mesh, highs):
    right = mesh.points[mesh.cells].mean(axis=1)[:, 0] > 0.5
    return np.where(right, np.asarray(highs)[:, None], 1.0)


POINTS = [[0.47, 0.52], [0.53, 0.41], [0.49, 0.3], [0.5078, 0.61], [0.2, 0.21]]


@pytest.mark.parametrize("n", [8, 16])
def test_closed_forms_beside_a_jump_lie_in_the_intervals(n):
    p, highs = layered(n), [1.0, 1.5, 10.0, 1000.0, 0.02]
    kappas = halves(p.mesh, highs)
    for steps in (0, 1, 3, 8):
        certifier = p.operators().prepare(p.points(POINTS) + p.mean(), steps=steps, dual_steps=steps)
        found = certifier.certify_many(kappas, np.zeros((len(highs), len(p.mesh.points))))
        for i, high in enumerate(highs):
            away = np.abs(found.center[i, :-1] - truth(np.array(POINTS)[:, 0], high))
            assert np.all(away <= found.radius[i, :-1])
    assert np.all(found.radius[1, :-1] < 2.0 / n**1.5)  # the last steps, contrast 1.5


def test_without_what_kappa_adds_intervals_miss(monkeypatch):
    p = layered(16)
    certifier = p.operators().prepare(p.points(POINTS), steps=12, dual_steps=12)
    kappas, guess = halves(p.mesh, [20.0]), np.zeros((1, len(p.mesh.points)))
    exact = truth(np.array(POINTS)[:, 0], 20.0)
    whole = certifier.certify_many(kappas, guess)
    assert np.all(np.abs(whole.center[0] - exact) <= whole.radius[0])
    monkeypatch.setattr(Frozen, "field", lambda self, kappa: 0.0 * self.means)
    terms = PointTerms.of

    def without(points, kappas, geometry, nodes):
        found = terms(points, kappas, geometry, nodes)
        zero = np.zeros_like(found.size)
        return PointTerms(found.known, found.constant, found.error, zero, zero, zero, zero)

    monkeypatch.setattr(PointTerms, "of", without)
    cut = certifier.certify_many(kappas, guess)
    assert np.any(np.abs(cut.center[0] - exact) > cut.radius[0])


def test_without_the_point_s_own_kappa_intervals_miss(monkeypatch):
    """∫ fΦ/κ₀: with κ₀ = 1 instead of 20 the right half is wrong."""
    p = layered(16)
    certifier = p.operators().prepare(p.points([[0.8, 0.5]]), steps=8, dual_steps=8)
    kappas, guess = halves(p.mesh, [20.0]), np.zeros((1, len(p.mesh.points)))
    exact = truth(np.array([0.8]), 20.0)
    assert (
        abs(certifier.certify_many(kappas, guess).center[0] - exact) <= certifier.certify_many(kappas, guess).radius[0]
    )
    terms = PointTerms.of

    def shifted(points, kappas, geometry, nodes):
        found = terms(points, kappas, geometry, nodes)
        more = found.constant * 20.0
        return PointTerms(found.known, more, found.error, found.size, found.row, found.rest, found.means)

    monkeypatch.setattr(PointTerms, "of", shifted)
    found = certifier.certify_many(kappas, guess)
    assert abs(found.center[0] - exact) > found.radius[0]


@pytest.mark.parametrize("x0", [[0.43, 0.52], [0.4999, 0.52], [0.26, 0.51]])
def test_what_a_vector_a_cell_leaves_of_the_kernel_is_bounded(x0):
    mesh, R = pp.io.generate("square", 8), 0.25
    x0 = np.array(x0)
    found = Frozen.of(mesh.points, mesh.cells, x0, Functional(ball=R), 1e-12)
    bary, weights = rule(2, 8)

    def moments(X, levels):
        """∇Φ at the points of a rule on parts of a triangle, with weights."""
        if levels:
            m = 0.5 * (X + X[[1, 2, 0]])
            parts = [
                np.array(t) for t in ((X[0], m[0], m[2]), (m[0], X[1], m[1]), (m[2], m[1], X[2]), (m[0], m[1], m[2]))
            ]
            all_ = [moments(t, levels - 1) for t in parts]
            return tuple(np.concatenate(x) for x in zip(*all_, strict=True))
        Y = bary @ X - x0
        s = np.minimum((Y * Y).sum(axis=1) / R**2, 1.0)
        g = -Y * ((1.0 - s) ** 2 / (2.0 * math.pi * (Y * Y).sum(axis=1)))[:, None]
        e, f = X[1] - X[0], X[2] - X[0]
        return g, weights * 0.5 * abs(e[0] * f[1] - e[1] * f[0])

    inside = 0
    for c, m, rest, off in zip(found.cells, found.means, found.rest, found.off, strict=True):
        g, w = moments(mesh.points[mesh.cells[c]], 4)
        true = float((w * ((g - m) ** 2).sum(axis=1)).sum())
        assert true <= rest * (1.0 + 1e-6)
        mean = (w[:, None] * g).sum(axis=0) / w.sum()
        assert np.linalg.norm(mean - m) <= off * (1.0 + 1e-6) + 1e-12
        inside += true > 1e-9
        assert rest <= 2.5 * true + 1e-6
    assert inside > 10
    held = np.concatenate([found.at, found.cells])
    others = np.setdiff1d(np.arange(len(mesh.cells)), held)
    assert np.linalg.norm(mesh.points[mesh.cells[others]].mean(axis=1) - x0, axis=1).min() > 0.8 * R


def test_the_representation_holds_for_the_closed_form():
    """u(x₀) = ∫ wu + ∫ fΦ/κ₀ − ∫ G·∇u by plain quadrature, κ = 1 and 5."""
    high, x0, R = 5.0, np.array([0.45, 0.5]), 0.3
    a = (np.arange(3000) + 0.5) / 3000
    r, t = R * a[:, None], 2.0 * np.pi * (np.arange(800) + 0.5)[None, :] / 800
    x, s = x0[0] + r * np.cos(t), (r / R) ** 2
    area = r * (R / 3000) * (2.0 * np.pi / 800)
    w = 2.0 / (np.pi * R**2) * (1.0 - s)
    potential = (-np.log(s) / 2.0 - (0.75 - s + 0.25 * s**2)) / (2.0 * np.pi)  # −ΔΦ = δ − w, Φ = Φ′ = 0 at R
    kappa = np.where(x > 0.5, high, 1.0)
    flux = (0.125 + 0.375 / high) / (0.5 + 0.5 / high)
    slope = -np.cos(t) * (1.0 - s) ** 2 / (2.0 * np.pi * r)
    value = (w * truth(x, high) + potential - (kappa - 1.0) * slope * (flux - x) / kappa) * area
    assert value.sum() == pytest.approx(float(truth(x0[0], high)), abs=1e-5)


def test_a_point_on_a_jump_has_an_infinite_radius_and_the_rest_of_its_row_holds():
    p = layered(8)
    certifier = p.operators().prepare(p.points([[0.5, 0.3], [0.3, 0.3]]) + p.mean())
    found = certifier.certify_many(halves(p.mesh, [1.0, 3.0]), np.zeros((2, len(p.mesh.points))))
    assert found.certified.all()
    assert np.isfinite(found.radius).tolist() == [[True, True, True], [False, True, True]]
    assert abs(found.center[0, 0] - truth(0.5, 1.0)) <= found.radius[0, 0]
    assert any("infinite" in note for note in found.notes)
    again = certifier.refine(found, [0, 1])
    assert again.radius[0, 0] < found.radius[0, 0]
    assert np.isinf(again.radius[1, 0])


def test_points_where_they_are_not_certified_are_refused_with_the_reason():
    p = layered(4)
    with pytest.raises(pp.InputError, match="points are certified in two dimensions by steps"):
        p.operators().prepare(p.points([[0.3, 0.3]]), patches=True)
    cube = pp.fem.ReactionDiffusion(pp.io.generate("cube", 2), source=1.0)
    with pytest.raises(pp.InputError, match="points are certified in two dimensions by steps"):
        cube.operators().prepare(cube.points([[0.3, 0.3, 0.4]]))
    with pytest.raises(pp.InputError, match=r"outside|not in|no cell"):
        p.points([[1.3, 0.3]])


def test_means_of_the_kernel_act_on_the_state_itself():
    """Linear on both sides of x = ½, so that states and duals are exact; a point close to the jump (step 11b)."""
    mesh = pp.io.generate("square", 8)
    held, free = {"left": 0.0, "right": 1.0}, {"top": 0.0, "bottom": 0.0}
    problem = pp.fem.ReactionDiffusion(mesh, source=0.0, dirichlet=held, neumann=free)
    X = np.array([[0.45, 0.47], [0.4999, 0.53], [0.3, 0.3], [0.56, 0.61]])
    certifier = problem.operators("cells").prepare(problem.points(X), steps=60, dual_steps=60)
    left = mesh.points[mesh.cells].mean(axis=1)[:, 0] < 0.5
    for a, b in ((1.0, 2.0), (1.0, 100.0), (5.0, 1.0), (1000.0, 1.0)):
        found = certifier.certify_many(np.where(left, a, b)[None], np.zeros((1, len(mesh.points))))
        x = X[:, 0]
        truth = np.where(x < 0.5, x / a, 0.5 / a + (x - 0.5) / b) / (0.5 / a + 0.5 / b)
        assert np.all(np.abs(found.center[0] - truth) <= found.radius[0])


@pytest.mark.parametrize(
    "given", [{"reaction": 100.0}, {"convection": ("30", "0")}, {"diffusion": "1+x*x"}, {"degree": 2}]
)
def test_bases_refuse_what_families_refuse(given):
    square = pp.io.generate("square", 4)
    left = square.points[square.cells].mean(axis=1)[:, 0] < 0.5
    groups = {"L": np.flatnonzero(left), "R": np.flatnonzero(~left)}
    mesh = Mesh(square.points, square.cells, groups, square.facet_groups)
    problem = pp.fem.ReactionDiffusion(mesh, source=1.0, **given)
    with pytest.raises(pp.InputError, match="operators"):
        problem.operators(["L", "R"]).reduce(problem.mean(), rank=2, within=(0.5, 2.0))


@pytest.mark.parametrize("target", ["continuous", "discrete"])
def test_queries_of_another_mesh_are_refused(target):
    square = pp.io.generate("square", 4)
    left = square.points[square.cells].mean(axis=1)[:, 0] < 0.5
    groups = {"L": np.flatnonzero(left), "R": np.flatnonzero(~left)}
    problem = pp.fem.ReactionDiffusion(Mesh(square.points, square.cells, groups, square.facet_groups), source=1.0)
    other = pp.fem.ReactionDiffusion(Mesh(2.0 * square.points, square.cells, groups, square.facet_groups), source=1.0)
    with pytest.raises(pp.InputError, match="belong to another mesh"):
        problem.operators(["L", "R"]).reduce(other.mean(), rank=2, within=(0.5, 2.0), target=target)
    with pytest.raises(pp.InputError, match="belong to another mesh"):
        problem.operators("cells").prepare(other.mean())


def squares(n, seed=3):
    """κ of two values on the sides of random waves, in blocks of 2 × 2 squares, and the problem on n × n of them."""
    p = pp.fem.ReactionDiffusion(pp.io.generate("square", n), source=1.0)
    rng, x = np.random.default_rng(seed), p.mesh.points[p.mesh.cells].mean(axis=1)
    x = (np.floor(8 * x) + 0.5) / 8
    waves = np.cos(6.0 * rng.normal(size=(4, 3, 2)) @ x.T + rng.uniform(0.0, 6.0, (4, 3, 1))).sum(axis=1)
    return p, np.where(waves > 0.0, np.array([[1.5], [4.0], [30.0], [1000.0]]), 1.0)


INSIDE = [[0.32, 0.44], [0.57, 0.7], [0.26, 0.635]]  # of blocks, some beside jumps


def of_squares(n, steps, loads=None):
    p, kappas = squares(n)
    given = {} if loads is None else {"mu": np.array([[0.5], [-1.0], [2.0], [0.0]])}
    asked = p.points(INSIDE) + p.mean() + p.cells([[0.25, 0.5]], side=0.25, name="block")
    certifier = p.operators(loads=loads).prepare(asked, steps=steps, dual_steps=steps)
    return certifier, certifier.certify_many(kappas, np.zeros((4, len(p.mesh.points))), **given)


@pytest.mark.parametrize("loads", [None, [{"source": "x*y"}]])
def test_lattices_by_transforms_say_what_factors_say(monkeypatch, loads):
    pytest.importorskip("numba", reason="pip install 'pinnpoint[fast]'")
    certifier, found = of_squares(16, 4, loads)
    engine = certifier.prepared.engine
    assert isinstance(engine, Grid)
    _, fine = of_squares(64, 20, loads)
    monkeypatch.setattr(prepared, "compiler", lambda: None)
    certifier, other = of_squares(16, 4, loads)
    assert not isinstance(certifier.prepared.engine, Grid)
    np.testing.assert_allclose(found.radius, other.radius, rtol=2e-3)
    assert np.all(np.abs(found.center - other.center) <= 2e-3 * found.radius)
    assert np.all(np.abs(found.center - fine.center) <= found.radius + fine.radius)
    assert np.all(fine.radius[:2] < found.radius[:2])


def test_without_what_kappa_adds_transforms_miss(monkeypatch):
    pytest.importorskip("numba", reason="pip install 'pinnpoint[fast]'")
    _, fine = of_squares(64, 12)
    monkeypatch.setattr(Frozen, "field", lambda self, kappa: 0.0 * self.means)
    certifier, found = of_squares(16, 4)
    assert isinstance(certifier.prepared.engine, Grid)
    assert np.any(np.abs(found.center - fine.center) > found.radius + fine.radius)


def test_the_point_of_a_homogeneous_square_by_its_series():
    pytest.importorskip("numba", reason="pip install 'pinnpoint[fast]'")
    p = pp.fem.ReactionDiffusion(pp.io.generate("square", 16), source=1.0)
    certifier = p.operators().prepare(p.points(INSIDE), steps=2, dual_steps=2)
    found = certifier.certify_many(np.full((1, len(p.mesh.cells)), 2.0), np.zeros((1, len(p.mesh.points))))
    k = np.arange(1, 400, 2)
    weights = 16.0 / np.pi**4 / (np.outer(k, k) * (k[:, None] ** 2 + k**2)) / 2.0
    x = np.array(INSIDE)
    u = np.einsum("pi,ij,pj->p", np.sin(np.pi * np.outer(x[:, 0], k)), weights, np.sin(np.pi * np.outer(x[:, 1], k)))
    assert np.all(np.abs(found.center[0] - u) <= found.radius[0])
    assert np.all(found.radius[0] < 0.02 * u)
