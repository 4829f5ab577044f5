"""Facets, neighbours and geometry of simplicial meshes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from pinnpoint.base.errors import InputError
from pinnpoint.mesh import topology as module
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.topology import Topology

SQUARE = [[0, 0], [1, 0], [1, 1], [0, 1], [0.4, 0.6]], [[4, 1, 0], [1, 4, 2], [2, 3, 4], [0, 3, 4]]


def cube(n=2):
    """Tetrahedra about the diagonals of small cubes, vertices shuffled."""
    axis = np.arange(n + 1) / n
    P = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3)
    at = np.arange(len(P)).reshape((n + 1,) * 3)
    cells = []
    for way in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]):
        corner, steps = np.zeros(3, dtype=int), [np.zeros(3, dtype=int)]
        for k in way:
            corner = corner + np.eye(3, dtype=int)[k]
            steps.append(corner)
        cells.append(np.stack([at[tuple(slice(x, x + n) for x in s)].ravel() for s in steps], 1))
    new = np.random.default_rng(0).permutation(len(P))
    return P[np.argsort(new)], new[np.concatenate(cells)]


MESHES = [([0.0, 0.3, 1.0, 2.0], [[0, 1], [2, 1], [2, 3]]), SQUARE, cube()]


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("mesh", MESHES)
def test_against_brute_force(mesh, large, monkeypatch):
    if large:  # as if the keys did not fit into 64 bits
        monkeypatch.setattr(module, "_LARGEST_KEY", 1)
    top = Topology.of(Mesh(*mesh))
    d = top.dim
    known: dict[tuple[int, ...], list[int]] = {}
    for K, cell in enumerate(np.sort(mesh[1], axis=1)):
        assert top.cells[K].tolist() == cell.tolist()
        for facet in combinations(cell.tolist(), d):
            known.setdefault(facet, []).append(K)
    assert [tuple(f) for f in top.facets.tolist()] == sorted(known)
    for f, owners in zip(top.facets.tolist(), top.facet_cells.tolist(), strict=True):
        assert [k for k in owners if k >= 0] == known[tuple(f)]
    assert top.boundary.sum() == sum(len(k) == 1 for k in known.values())
    for K in range(len(top.cells)):
        for i in range(d + 1):
            f = top.cell_facets[K, i]
            assert top.facets[f].tolist() == np.delete(top.cells[K], i).tolist()
            assert top.sign[K, i] == (1.0 if top.facet_cells[f, 0] == K else -1.0)
    rng = np.random.default_rng(1)
    shuffled = rng.permuted(top.facets, axis=1)
    assert top.facet_numbers(shuffled).tolist() == list(range(len(top.facets)))
    start, corner = top.corners
    for a in range(len(top.points)):
        assert np.all(top.cells.ravel()[corner[start[a] : start[a + 1]]] == a)
    assert start[-1] == top.cells.size


@pytest.mark.parametrize("mesh", MESHES)
def test_volumes_and_gradients_are_those_of_the_mesh(mesh):
    M = Mesh(*mesh)
    top = Topology.of(M)
    assert np.allclose(top.volumes, M.volumes, rtol=1e-14)
    P = top.points[top.cells]
    d = top.dim
    linear = np.einsum("kix,kjx->kij", top.gradients, P - P[:, :1])
    assert np.allclose(linear - linear[:, :, :1], np.eye(d + 1) - np.eye(d + 1)[:, :1], atol=1e-13)
    longest = [max(np.linalg.norm(p[i] - p[j]) for i, j in combinations(range(d + 1), 2)) for p in P]
    assert np.allclose(top.diameters, longest, rtol=1e-14)
    assert np.all(top.orientation == np.sign(np.linalg.det(top.edges)))


def test_what_is_no_facet_is_refused():
    top = Topology(*SQUARE)
    assert top.facet_numbers(np.zeros((0, 2))).size == 0
    with pytest.raises(InputError, match=r"\[0, 2\] is not a facet"):
        top.facet_numbers([[1, 0], [2, 0]])
    with pytest.raises(InputError, match="vertex numbers below 5"):
        top.facet_numbers([[1, 7]])
    with pytest.raises(InputError, match="more than two cells"):
        Topology(np.zeros((5, 2)), [[0, 1, 2], [0, 1, 3], [0, 1, 4]])
    with pytest.raises(InputError, match="one column more"):
        Topology(np.zeros((5, 2)), [[0, 1]])
