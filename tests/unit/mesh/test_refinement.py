"""Refined meshes are meshes of the same domain: conforming, shape-regular, with groups and functions carried along."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy.spatial import Delaunay

from pinnpoint.base.errors import InputError
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.refine import Refiner, dorfler, families
from pinnpoint.mesh.refine.tables import rules

KINDS = [("interval", 4), ("square", 3), ("lshape", 2), ("frame", 2), ("cube", 2), ("fichera", 1)]


def grouped(mesh):
    """With two groups of cells that overlap, and their common border as inner facets."""
    n = len(mesh.cells)
    left = np.arange(n // 2)
    inside = np.isin(np.arange(n), left)
    owners = {}
    for cell, row in enumerate(np.sort(mesh.cells, axis=1).tolist()):
        for facet in combinations(row, mesh.dim):
            owners.setdefault(facet, []).append(inside[cell])
    border = [facet for facet, both in owners.items() if len(both) == 2 and both[0] != both[1]]
    facets = {**mesh.facet_groups, "border": np.array(border), "all": mesh.boundary}
    return Mesh(mesh.points, mesh.cells, {"left": left, "middle": np.arange(n // 4, n - n // 4)}, facets)


def scattered(d, n, seed=0):
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.random((n, d)), np.array(list(product([0.0, 1.0], repeat=d)))])
    T = Delaunay(X).simplices
    return Mesh(X, T[np.abs(np.linalg.det(X[T][:, 1:] - X[T][:, :1])) > 1e-12])


def perturbed(kind, n):
    mesh = generate(kind, n)
    X = mesh.points.copy()
    inner = np.setdiff1d(np.arange(len(X)), mesh.boundary)
    X[inner] += np.random.default_rng(1).uniform(-0.2 / n, 0.2 / n, (len(inner), mesh.dim))
    return Mesh(X, mesh.cells, mesh.cell_groups, mesh.facet_groups)


def meshes():
    yield from (generate(*kind) for kind in KINDS)
    yield perturbed("square", 4)
    yield perturbed("cube", 3)
    yield scattered(2, 40)
    yield scattered(3, 25)


MESHES = [pytest.param(grouped(m), id=f"{i}-{m.dim}d") for i, m in enumerate(meshes())]


def require_same_domain(first, mesh):
    """The constructor's checks; measures of the cells, the boundary and every group.

    A hanging node would leave facets with one cell inside the domain, and so a larger boundary.
    """
    checked = Mesh(mesh.points, mesh.cells, mesh.cell_groups, mesh.facet_groups)
    assert checked.volumes.sum() == pytest.approx(first.volumes.sum(), rel=1e-14)
    for name, group in first.cell_groups.items():
        assert checked.volumes[mesh.cell_groups[name]].sum() == pytest.approx(first.volumes[group].sum(), rel=1e-13)
    assert checked.facet_measures(checked.boundary).sum() == pytest.approx(
        first.facet_measures(first.boundary).sum(), rel=1e-13
    )
    for name, group in first.facet_groups.items():
        now = mesh.facet_groups[name]
        assert len(np.unique(np.sort(now, axis=1), axis=0)) == len(now)
        assert checked.facet_measures(now).sum() == pytest.approx(first.facet_measures(group).sum(), rel=1e-13)


def barycentric(mesh, cells, X):
    """Coordinates of points in cells of a mesh."""
    P = mesh.points[mesh.cells[cells]]
    inner = np.linalg.solve(np.swapaxes(P[:, 1:] - P[:, :1], 1, 2), (X - P[:, 0])[..., None])[..., 0]
    return np.column_stack([1.0 - inner.sum(axis=1), inner])


def quality(mesh):
    """Volume over the mean squared edge to the power d/2."""
    P, pairs = mesh.points[mesh.cells], list(combinations(range(mesh.dim + 1), 2))
    square = np.mean([np.sum((P[:, i] - P[:, j]) ** 2, axis=1) for i, j in pairs], axis=0)
    return mesh.volumes / square ** (mesh.dim / 2)


@pytest.mark.parametrize("first", MESHES)
def test_randomly_marked_meshes_stay_meshes_of_the_domain(first):
    rng = np.random.default_rng(3)
    refiner = Refiner(first)
    d = first.dim
    orientation = np.sign(np.linalg.det(first.edges_of_cells))
    for step in range(6):
        old = refiner.mesh
        C, N = len(old.cells), len(old.points)
        marked, times = rng.choice(C, min(C // 4, 5), replace=False), 1 + step % d
        linear = rng.standard_normal(N)
        refiner.refine(marked, times)
        new, parents = refiner.mesh, refiner.parents
        require_same_domain(first, new)
        orientation = orientation[parents]
        assert np.all(np.sign(np.linalg.det(new.edges_of_cells)) == orientation)
        assert np.array_equal(new.points[:N], old.points)
        assert np.all(np.diff(parents) >= 0)
        assert np.all(np.bincount(parents)[marked] >= 2**times)
        assert np.all(new.volumes[np.isin(parents, marked)] < 1.01 * old.volumes.max() / 2**times)
        ends = refiner.ends
        assert np.array_equal(new.points[N:], 0.5 * new.points[ends[:, 0]] + 0.5 * new.points[ends[:, 1]])
        centre = barycentric(old, parents, new.points[new.cells].mean(axis=1))
        assert centre.min() > 0.0
        value = refiner.prolong(linear)[new.cells].mean(axis=1)
        assert value == pytest.approx(np.sum(centre * linear[old.cells[parents]], axis=1), abs=1e-10)


@pytest.mark.parametrize("first", MESHES)
def test_quadratics_are_carried_along(first):
    refiner = Refiner(first)
    rng = np.random.default_rng(4)
    for times in (1, first.dim):
        old = refiner.mesh
        before = Nodes(old, 2)
        U = rng.standard_normal((len(before), 2))
        refiner.refine(rng.choice(len(old.cells), min(len(old.cells), 6), replace=False), times)
        after = Nodes(refiner.mesh, 2)
        V = refiner.prolong(U)
        assert V.shape == (len(after), 2)
        for k in range(after.cell_dofs.shape[1]):
            nodes = after.cell_dofs[:, k]
            shapes = before.shapes(barycentric(old, refiner.parents, after.points[nodes]))
            truth = np.einsum("ck,ckv->cv", shapes, U[before.cell_dofs[refiner.parents]])
            assert V[nodes] == pytest.approx(truth, abs=1e-9)


@pytest.mark.parametrize(("kind", "cells"), [("interval", 4), ("square", 4), ("frame", 2), ("cube", 2), ("fichera", 1)])
def test_no_hanging_nodes(kind, cells):
    """On dyadic grids midpoints are exact: no node is the midpoint of an edge."""
    refiner = Refiner(generate(kind, cells))
    rng = np.random.default_rng(5)
    for _ in range(8):
        refiner.refine(rng.choice(len(refiner.mesh.cells), 3))
        X = refiner.mesh.points
        edges = refiner.mesh.cells[:, np.array(rules(refiner.mesh.dim).pairs)].reshape(-1, 2)
        middles = 0.5 * (X[edges[:, 0]] + X[edges[:, 1]])
        assert not set(map(tuple, middles.tolist())) & set(map(tuple, X.tolist()))
        assert len(set(map(tuple, X.tolist()))) == len(X)


@pytest.mark.parametrize(("d", "classes", "least"), [(2, 4, 0.4), (3, 72, 0.1)])
def test_descendants_have_finitely_many_shapes(d, classes, least):
    """Descendants of random simplices have finitely many shapes, none much worse than the first."""
    rng = np.random.default_rng(6)
    worst = np.inf
    for _ in range(12):
        refiner = Refiner(Mesh(rng.standard_normal((d + 1, d)), [list(range(d + 1))]))
        first = quality(refiner.mesh)[0]
        refiner.refine([0], 12)
        P = refiner.mesh.points[refiner.mesh.cells]
        pairs = list(combinations(range(d + 1), 2))
        lengths = np.sort([np.linalg.norm(P[:, i] - P[:, j], axis=1) for i, j in pairs], axis=0)
        shapes = np.unique(np.round(lengths / lengths[-1], 7), axis=1)
        assert 1 < shapes.shape[1] <= classes
        worst = min(worst, quality(refiner.mesh).min() / first)
    assert worst > least


@pytest.mark.parametrize("target", ["corner", "edge"])
@pytest.mark.parametrize(
    ("first", "least"),
    [
        (generate("square", 2), 0.999),
        (scattered(2, 30, 1), 0.4),
        (generate("cube", 1), 0.999),
        (generate("fichera", 1), 0.999),
        (scattered(3, 12, 1), 0.1),
    ],
)
def test_shapes_survive_thirty_steps(first, least, target):
    """Toward the origin, or a line through it; the cells that keep the mesh conforming stay in proportion."""
    refiner, start = Refiner(first), quality(first)
    root, marked = np.arange(len(first.cells)), 0
    axes = first.dim if target == "corner" else first.dim - 1
    for _ in range(30):
        P = refiner.mesh.points[refiner.mesh.cells][..., :axes]
        near = np.flatnonzero(np.any(np.all(P == 0.0, axis=2), axis=1))
        if len(near) > 4000:
            break
        refiner.refine(near)
        root, marked = root[refiner.parents], marked + len(near)
    require_same_domain(first, refiner.mesh)
    assert np.min(quality(refiner.mesh) / start[root]) > least
    assert len(refiner.mesh.cells) - len(first.cells) < 8 * marked
    assert target == "edge" or refiner.mesh.volumes.min() < 2e-8 * first.volumes.max()


def test_uniform_refinement_halves_every_edge():
    for first in (generate("interval", 3), generate("square", 3), generate("cube", 2)):
        refiner = Refiner(first)
        refiner.uniform()
        finer = generate({1: "interval", 2: "square", 3: "cube"}[first.dim], 6 if first.dim < 3 else 4)
        assert len(refiner.mesh.cells) == len(finer.cells)
        assert refiner.mesh.volumes == pytest.approx(finer.volumes.mean())
        at = [np.unique(np.round(m.points * 12).astype(int), axis=0) for m in (refiner.mesh, finer)]
        assert np.array_equal(*at)


def test_marks_that_disagree_break_the_mesh(monkeypatch):
    """The order of the edges must be one for all cells: with an own order per cell, faces are cut twice."""
    first_tags = families.first_tags
    rng = np.random.default_rng(7)
    monkeypatch.setattr(families, "first_tags", lambda rank, d: first_tags(rng.permuted(rank, axis=1), d))
    cube = generate("cube", 2)
    first = Mesh(cube.points, cube.cells)
    refiner = Refiner(first)
    refiner.refine(np.arange(3))
    with pytest.raises((AssertionError, InputError)):
        require_same_domain(first, refiner.mesh)


def test_limits_of_double_precision():
    refiner = Refiner(generate("interval", 1))
    for _ in range(53):
        refiner.refine([len(refiner.mesh.cells) - 1])
    with pytest.raises(InputError, match="too small to be bisected"):
        refiner.refine([53])
    assert len(refiner.mesh.cells) == 54
    Mesh(refiner.mesh.points, refiner.mesh.cells)


def test_nothing_marked_changes_nothing():
    refiner = Refiner(generate("cube", 1))
    refiner.refine([])
    assert len(refiner.mesh.cells) == 6
    assert np.array_equal(refiner.prolong(np.arange(8)), np.arange(8))
    assert np.array_equal(refiner.parents, np.arange(6))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r: r.refine([6]), "between 0 and 5; got 6 to 6"),
        (lambda r: r.refine([-1]), "between 0 and 5"),
        (lambda r: r.refine([True] * 6), "list of cell numbers; got bool"),
        (lambda r: r.refine([0.5]), "list of cell numbers; got float64"),
        (lambda r: r.refine([0], times=0), "times"),
        (lambda r: r.prolong(np.zeros(9)), r"8 rows \(linear\) or 27 \(quadratic\)"),
        (lambda r: dorfler([1.0, -1.0]), "must be ≥ 0"),
        (lambda r: dorfler(np.zeros((0,))), "shape"),
        (lambda r: dorfler([1.0], 1.5), "theta"),
        (lambda r: dorfler([1.0], 0.0), "theta"),
    ],
)
def test_bad_marks_are_refused(call, words):
    with pytest.raises(InputError, match=words):
        call(Refiner(generate("cube", 1)))


@pytest.mark.parametrize("theta", [0.05, 0.3, 0.5, 0.9, 1.0])
def test_fewest_cells_with_the_share(theta):
    rng = np.random.default_rng(8)
    for _ in range(20):
        eta = rng.integers(0, 50, 10).astype(float)
        marked = dorfler(eta, theta)
        assert eta[marked].sum() >= theta * eta.sum()
        fewer = [sum(s) for s in combinations(eta, len(marked) - 1)]
        assert max(fewer) < theta * eta.sum()


def test_every_query_gets_its_share_of_marks():
    small, large = np.array([0.0, 0.0, 1e-20, 0.0]), np.array([3.0, 1.0, 0.0, 1.0])
    assert dorfler([small, large], 0.5).tolist() == [2]
    assert dorfler([small, large], 0.8).tolist() == [0, 2]
    assert dorfler([small, np.zeros(4)], 1.0).tolist() == [2]
    assert dorfler(np.zeros((2, 4))).tolist() == []
    assert dorfler([1.0, np.inf, 5.0, np.nan], 1.0).tolist() == [1, 3]
    assert dorfler([[1e308, 1e308, 0.0], [0.0, 0.0, 1e-300]], 1.0).tolist() == [0, 1, 2]
