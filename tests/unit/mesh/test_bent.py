"""Bent cells: the map reaches the curve, its models hold its values and derivatives, and folds are refused."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.fem.curved.bending import Bending
from pinnpoint.fem.curved.bent import Spread, Turned
from pinnpoint.mesh.bent.arcs import arcs
from pinnpoint.mesh.bent.faces import separation
from pinnpoint.mesh.bent.projection import projected
from pinnpoint.mesh.facets import edge_table
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.middles import Middles
from pinnpoint.mesh.round import disc_mesh, ring_mesh
from pinnpoint.report.surface import surface
from pinnpoint.taylor.geometry import Simplices, coordinates, path_order
from tests.support.curved import INNER, RING, ellipse, ring, second_order


def values(model, bary_path):
    """A model at barycentric points of the path: ξ_i = 2 Σ_{j ≥ i} λ_j − 1."""
    S = model.space
    t = np.cumsum(bary_path[:, ::-1], axis=1)[:, ::-1][:, 1:]
    xi = 2.0 * t - 1.0
    M = np.stack([np.prod(xi**p, axis=1) for p in S.powers], axis=1)
    return M @ model.C


@pytest.mark.parametrize(
    "bending",
    [
        Bending.of(ring(6, 26), RING),
        Bending.of(ellipse(6, 1.0, 0.6), {"rim": pp.Ellipse((0, 0), (1, 0.6))}),
        Bending.of(second_order(disc_mesh(4), lambda M: M / np.hypot(*M.T)[:, None]), None),
    ],
    ids=["ring", "ellipse", "second order"],
)
def test_models_of_the_map_hold_its_values_and_derivatives(bending):
    bends = bending.bends
    V = bends.vertices
    simplices = Simplices(V, np.zeros((len(V), 2)))
    which = path_order(V)
    X = coordinates(simplices, which, 8)
    local = bends.at(X)
    rng = np.random.default_rng(5)
    bary = rng.dirichlet(np.ones(3), 7)
    places = [values(x, bary) for x in X]
    for q in range(len(bary)):
        P = np.stack([x[q] for x in places], axis=1)
        Y, J, rows = bends.moved(P)
        assert np.array_equal(rows, np.arange(len(V)))
        for k in range(2):
            assert np.all(np.abs(values(local.x[k], bary)[q] - Y[:, k]) <= local.x[k].e + 1e-14)
            for m in range(2):
                assert np.all(np.abs(values(local.J[k][m], bary)[q] - J[:, k, m]) <= local.J[k][m].e + 1e-12)
                step = np.zeros(2)
                step[m] = 1e-6
                ahead, back = (bends.moved(P + sign * step)[0][:, k] for sign in (1.0, -1.0))
                same = bends.rows(P + step) == bends.rows(P - step)
                assert np.all(np.abs((ahead - back) / 2e-6 - J[:, k, m])[same] < 1e-6)


def test_chords_are_bent_onto_circles_within_the_proved_error():
    mesh = ring_mesh(0.3, 1.0, 3, 20)
    points, offset = projected(mesh, RING)
    assert 0.0 < offset[np.unique(mesh.facets("hole"))].max() < 1e-14
    for group, radius in (("hole", 0.3), ("outer", 1.0)):
        P = arcs(points, offset, mesh.facets(group), RING[group], group)
        s = np.linspace(-0.5, 0.5, 21)
        A, B = points[P.edges[:, 0]], points[P.edges[:, 1]]
        q = np.stack([(P.shape * t ** np.arange(P.shape.shape[1])).sum(axis=1) for t in s], axis=1)
        eta = (0.25 - s**2) * q
        Y = A[:, None] + (0.5 + s)[None, :, None] * (B - A)[:, None] + eta[:, :, None] * P.direction[:, None]
        away = np.abs(np.hypot(Y[..., 0], Y[..., 1]) - radius)
        size = np.sqrt((P.direction**2).sum(axis=1))
        assert np.all(away <= 0.25 * (P.value_error * size)[:, None] + 1e-15)
        assert np.all(P.value_error < 1e-5)


def test_a_finer_chord_is_known_better():
    errors = []
    for around in (12, 24):
        mesh = ring_mesh(0.3, 1.0, 3, around)
        points, offset = projected(mesh, RING)
        errors.append(arcs(points, offset, mesh.facets("hole"), RING["hole"], "hole").value_error.max())
    assert errors[0] / errors[1] > 100.0


def test_long_chords_are_known_nearly_as_well_as_their_polynomials_follow_them():
    """η = √(R² − x²) − √(R² − ¼) over a chord of length 1: its slope is within the bound, the bound within eight."""
    for R in (1.25, 2.0):
        height = math.sqrt(R * R - 0.25)
        points = np.array([[-0.5, height], [0.5, height]])
        found = arcs(points, np.zeros((2, 2)), np.array([[0, 1]]), pp.Circle((0, 0), R), "rim")
        tau = np.linspace(0.0, 1.0, 2001)
        s, q = tau - 0.5, found.shape[0]
        powers = np.arange(len(q))
        value = s[:, None] ** powers @ q
        slope = s[:, None] ** np.maximum(powers - 1, 0) @ (powers * q)
        true = -s / np.sqrt(R * R - s * s) * np.sign(found.direction[0, 1])
        gap = np.abs(true - (tau * (1.0 - tau) * slope - 2.0 * s * value)).max()
        assert gap <= 0.5 * found.slope_error[0] <= 8.0 * gap


def test_the_energy_of_a_sheared_cell_is_that_of_the_sheared_domain():
    """A = cofᵀcof/det: for J = [[1, 1], [0, 1]] and ∇ŵ = (1, 0) the energy density is 2; cof cofᵀ would give 1."""
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    mesh = Mesh(points, [[0, 1, 2], [1, 3, 2]])
    edges = np.array(list(combinations(range(4), 2)))
    edges = edges[[tuple(e) != (0, 3) for e in edges]]
    # quadratic displacements 4λ_aλ_b D of all edges of x ↦ 0.05 (x y, x²), which J sees as a full matrix
    field = lambda X: 0.05 * np.stack([X[:, 0] * X[:, 1], X[:, 0] ** 2], axis=1)  # noqa: E731
    middle = points[edges].mean(axis=1)
    D = field(middle) - 0.5 * (field(points[edges[:, 0]]) + field(points[edges[:, 1]]))
    bent_mesh = Mesh(points, mesh.cells, middles=Middles(edges, middle + D))
    bends = Bending.of(bent_mesh, None).bends
    P = np.array([[0.2, 0.3], [0.7, 0.6]])
    _, J, _ = bends.moved(P)
    xi = np.array([0.6, -0.8])
    A = np.array([[Turned(bends, 1.0, min(i, j), max(i, j))(P) for j in range(2)] for i in range(2)])
    for n in range(2):
        true = np.linalg.det(J[n]) * float(((np.linalg.inv(J[n]).T @ xi) ** 2).sum())
        assert math.isclose(xi @ A[:, :, n] @ xi, true, rel_tol=1e-13)
    assert np.allclose(Spread(bends, 1.0, "one")(P), np.linalg.det(J))


def test_wrong_radii_and_formulas_are_refused():
    mesh = disc_mesh(6)
    cases = [
        ({"rim": pp.Circle((0, 0), 1.01)}, "away from"),
        ({"rim": pp.LevelSet("(x**2 + y**2 - 1)**2")}, "not proved to pass|could not be followed"),
        ({"rim": pp.Sphere((0, 0, 0), 1)}, "plane meshes"),
        ({"edge": pp.Circle((0, 0), 1)}, "edge"),
        ({"rim": 3.0}, "pp.Circle"),
    ]
    for geometry, words in cases:
        with pytest.raises(pp.InputError, match=words):
            pp.fem.ReactionDiffusion(mesh, source=1.0, geometry=geometry)
    for wrong in (
        lambda: pp.Circle((0, 0), -1.0),
        lambda: pp.Circle((0, 0, 0), 1.0),
        lambda: pp.Ellipse((0, 0), (1, 0)),
        lambda: pp.LevelSet("1"),
        lambda: pp.LevelSet("x**2 + w"),
        lambda: pp.LevelSet(3.0),
    ):
        with pytest.raises(pp.InputError):
            wrong()


def test_what_is_not_proved_on_curved_domains_is_refused():
    problem = pp.fem.ReactionDiffusion(ring(6, 26), source=1.0, geometry=RING)
    with pytest.raises(pp.InputError, match="curved boundary"):
        problem.gradients([[0.95, 0.0]], "x")
    with pytest.raises(pp.InputError, match="outside the curved domain"):
        problem.averages([[0.6, 0.0]], 0.35)
    with pytest.raises(pp.InputError, match="convection"):
        pp.fem.ReactionDiffusion(ring(6, 26), convection=(1.0, 0.0), geometry=RING)
    with pytest.raises(pp.InputError, match="bent cells"):
        pp.fem.Semilinear(second_order(disc_mesh(3), lambda M: M / np.hypot(*M.T)[:, None]), cubic=1.0)


def test_turned_cells_and_boundaries_that_meet_are_refused():
    square = pp.io.generate("square", 2)
    folded = second_order(square, lambda M: M + np.where(M[:, 1:] == 0.0, [[0.0, 0.6]], 0.0))
    with pytest.raises(pp.InputError, match="turned over"):
        pp.fem.ReactionDiffusion(folded)
    # two slabs that nearly touch, bent into each other
    points = [[0, 0], [1, 0], [1, 1], [0, 1], [0, 1.05], [1, 1.05], [1, 2], [0, 2], [2, 1], [2, 1.05]]
    cells = [[0, 1, 2], [0, 2, 3], [4, 5, 6], [4, 6, 7], [1, 8, 2], [2, 8, 9], [2, 9, 5], [5, 9, 6]]
    slit = Mesh(np.array(points, dtype=float), cells)
    edges = np.array([[2, 3], [4, 5]])
    middle = slit.points[edges].mean(axis=1)
    near = Mesh(slit.points, cells, middles=Middles(edges, middle + np.array([[0.0, 0.1], [0.0, 0.0]])))
    with pytest.raises(pp.InputError, match="meets itself"):
        pp.fem.ReactionDiffusion(near)


def test_distances_between_triangles_are_not_overestimated():
    rng = np.random.default_rng(3)
    one, two = rng.normal(size=(2, 200, 3, 3))
    two = two + np.array([2.0, 0.0, 0.0])
    bary = rng.dirichlet(np.ones(3), 400)
    P, Q = np.einsum("qi,nik->nqk", bary, one), np.einsum("qi,nik->nqk", bary, two)
    seen = np.sqrt(((P - Q) ** 2).sum(axis=2)).min(axis=1)
    assert np.all(separation(one, two) <= seen + 1e-12)


def test_curved_edges_are_drawn_as_curves():
    """The picture's triangles cover the ring, not its polygon, and values between nodes are between theirs."""
    mesh = pp.fem.ReactionDiffusion(ring(4, 16), source=1.0, geometry=RING).mesh
    seen = surface(mesh)
    one, two = (seen.points[seen.triangles[:, i]] - seen.points[seen.triangles[:, 0]] for i in (1, 2))
    area = 0.5 * np.abs(np.cross(one, two)[:, 2]).sum()
    assert abs(area - np.pi * 0.91) < 0.005 < 0.05 < np.pi * 0.91 - mesh.volumes.sum()
    middle = np.hypot(*seen.points[seen.edges].mean(axis=1)[:, :2].T)
    assert len(seen.edges) == 4 * 32
    assert np.minimum(np.abs(middle - INNER), np.abs(middle - 1.0)).max() < 2e-3
    values = mesh.points @ [[1.0], [2.0]]
    assert np.abs(seen.at(values)[:, 0] - seen.points[:, :2] @ [1.0, 2.0]).max() < 0.06


def test_vertices_of_a_curve_slide_along_straight_sides_that_they_share():
    """A half disc that is a little too large: its ends stay on the line of its straight side."""
    mesh = disc_mesh(4)
    half = np.flatnonzero(mesh.points[mesh.cells].mean(axis=1)[:, 1] > 0.0)
    used, cells = np.unique(mesh.cells[half], return_inverse=True)
    points = mesh.points[used].copy()
    points[np.abs(points[:, 1]) < 1e-12, 1] = 0.0
    tilt = np.array([[1.0, 0.3], [0.3, 1.0]]) / np.hypot(1.0, 0.3)
    for turn in (np.eye(2), tilt):
        cells = cells.reshape(-1, 3)
        X = points @ turn.T
        rim = Mesh(X, cells).boundary
        rim = rim[np.abs(np.hypot(*points[rim].mean(axis=1).T) - 1.0) < 0.05]
        level = pp.LevelSet("x**2 + y**2 - 1") if turn is not tilt else _pulled(turn)
        moved = Mesh(X * (1.0 + 1e-6), cells, {}, {"rim": rim})
        Y, _ = projected(moved, {"rim": level})
        ends = np.unique(rim)[points[np.unique(rim), 1] == 0.0]
        assert len(ends) == 2
        across = np.linalg.solve(turn, Y[ends].T)[1]
        assert np.abs(across).max() < 1e-15
        assert turn is tilt or np.all(Y[ends, 1] == 0.0)


def _pulled(turn):
    """The unit circle in turned and stretched coordinates."""
    (a, b), (c, d) = np.linalg.inv(turn).tolist()
    return pp.LevelSet(f"({a!r}*x + ({b!r})*y)**2 + (({c!r})*x + ({d!r})*y)**2 - 1")


@pytest.mark.parametrize("d", [2, 3])
def test_refined_second_order_meshes_have_the_same_map_however_often(d):
    plain = pp.io.generate("square" if d == 2 else "cube", 3)
    top = plain.boundary[(plain.points[plain.boundary][:, :, -1] == 1.0).all(axis=1)]
    edges = edge_table(top, len(plain.points))[0]
    middle = plain.points[edges].mean(axis=1)
    middle[:, -1] += 0.02 * np.sin(9.0 * middle[:, 0]) + 0.01
    mesh = Mesh(plain.points, plain.cells, {}, {}, middles=Middles(edges, middle))
    problem = pp.fem.ReactionDiffusion(mesh, source=1.0)
    root, refiner, rng = problem.bending, problem.refiner(), np.random.default_rng(4)
    bary = rng.dirichlet(np.ones(d + 1), 3)
    for _ in range(2):
        refiner.refine(rng.choice(len(refiner.mesh.cells), 12, replace=False), problem.cuts)
        problem = problem.refined(refiner.mesh, refiner.parents)
        child = problem.bending
        straight, own = (np.einsum("qi,nik->nqk", bary, m.points[m.cells]) for m in (refiner.mesh, child.mesh))
        far = root.bends.moved(straight.reshape(-1, d))[0] - child.bends.moved(own.reshape(-1, d))[0]
        assert np.abs(far).max() < 1e-14
    assert len(child.bends.profiles.edges) > len(edges)


@pytest.mark.parametrize("solid", [False, True])
def test_meshes_are_refined_as_finely_as_one_likes_beside_a_coarse_curve(solid):
    """New vertices inside go with the curve: cells far thinner than the first chords' sagitta are not turned over."""
    mesh = ring_mesh(0.3, 1.0, 3, 16)
    problem = (
        pp.fem.Elasticity(mesh, young=1.0, poisson=0.3, fixed={"outer": (0.0, 0.0)}, geometry=RING)
        if solid
        else pp.fem.ReactionDiffusion(mesh, 1.0, geometry=RING)
    )
    refiner, sagitta = problem.refiner(), 0.3 * (1.0 - math.cos(math.pi / 16))
    for _ in range(9):
        X = problem.mesh.points[problem.mesh.cells]
        near = (np.hypot(X[..., 0] - 0.3 * math.cos(0.19), X[..., 1] - 0.3 * math.sin(0.19)) < 0.06).any(axis=1)
        refiner.refine(np.flatnonzero(near), problem.cuts)
        problem = problem.refined(refiner.mesh, refiner.parents)
    mesh = problem.mesh
    hole = np.unique(mesh.facets("hole"))
    assert np.abs(np.hypot(*mesh.points[hole].T) - 0.3).max() < 1e-15
    edges = mesh.points[mesh.facets("hole")]
    assert np.hypot(*(edges[:, 1] - edges[:, 0]).T).min() < sagitta
    assert mesh.volumes.min() > 0.0
    E = np.sqrt(((mesh.points[mesh.cells] - mesh.points[np.roll(mesh.cells, 1, axis=1)]) ** 2).sum(axis=2))
    assert (mesh.volumes / E.max(axis=1) ** 2).min() > 0.05
