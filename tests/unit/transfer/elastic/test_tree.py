"""Trees of cells: signed tractions that balance every cell are formed here, and stay below the bounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pinnpoint.base.errors import InputError
from pinnpoint.mesh.topology import Topology
from pinnpoint.transfer.elastic.tree import Tree, _spread
from tests.support.balanced import Signed, grid, sides


def body(d, kind, n=3, seed=0):
    """A cube that is clamped at a side, or on rollers at d sides, or by as little as stops it."""
    rng = np.random.default_rng(seed)
    T = grid(d, n, rng, 0.3)
    held = np.zeros((len(T.facets), d), dtype=bool)
    if kind == "clamped":
        held[sides(T, 0, 0.0)] = True
    elif kind == "spot":
        held[np.flatnonzero(sides(T, 0, 0.0))[0]] = True
    else:
        for axis in range(d):
            held[sides(T, axis, 0.0), axis] = True
    C = len(T.cells)
    return T, held, Tree.of(T, held, np.ones(C), np.ones(C)), rng.normal(size=(C, d + 1, d))


CASES = [(d, kind) for d in (2, 3) for kind in ("clamped", "spot", "rollers")]


@pytest.mark.parametrize(("d", "kind"), CASES)
def test_signed_tractions_balance_all_cells_and_stay_below_the_bounds(d, kind):
    T, held, tree, defects = body(d, kind, {2: 4, 3: 2}[d])
    tree.require_held()
    signed = Signed(tree, held, defects)
    assert signed.left() < 1e-9
    used = np.zeros((len(T.facets), d), dtype=bool)  # ς has tractions inside and where it is held, nowhere else
    for k in range(len(T.cells)):
        used[T.cell_facets[k]] |= np.any(np.abs(signed.m[k]) > 1e-13, axis=1)
    assert not np.any(used & T.boundary[:, None] & ~held)
    cost = tree.cost(*signed.bounds(), np.ones(len(T.cells)))
    assert np.all(signed.slots() <= cost)
    assert cost.sum() < {"clamped": 20.0, "spot": 40.0, "rollers": 400.0}[kind] * signed.slots().sum()
    assert not tree.supports if kind != "rollers" else len(tree.supports) == 1


@pytest.mark.parametrize(
    ("d", "kind", "name"),
    [(2, "spot", "step"), (2, "clamped", "own"), (2, "clamped", "spread"), (3, "clamped", "spread")],
)
def test_no_lever_may_be_left_out(d, kind, name):
    failed = False
    for seed in range(12):
        T, held, tree, defects = body(d, kind, {2: 4, 3: 2}[d], seed)
        X = T.points[T.cells]
        one = np.zeros_like(defects)  # a single force far away from what is held: nothing else hides its lever
        one[np.argmax(X.mean(axis=1).sum(axis=1))] = defects[seed, :1] / (d + 1)
        signed = Signed(tree, held, one)
        assert np.all(signed.slots() <= tree.cost(*signed.bounds(), np.ones(len(X))))
        wrong = replace(tree, **{name: 0.2 * getattr(tree, name)})
        failed |= bool(np.any(signed.slots() > wrong.cost(*signed.bounds(), np.ones(len(X)))))
    assert failed


def test_supports_count():
    T, held, tree, defects = body(2, "rollers", 4)
    signed = Signed(tree, held, defects)
    s = tree.supports[0]
    wrong = replace(tree, supports=(replace(s, inverse=0.0 * s.inverse),))
    one = np.ones(len(T.cells))
    assert np.any(wrong.cost(*signed.bounds(), one) < tree.cost(*signed.bounds(), one))
    lone = np.zeros_like(defects)
    lone[s.root] = defects[s.root]
    signed = Signed(tree, held, lone)
    assert np.any(signed.slots() > wrong.cost(*signed.bounds(), one))
    assert np.all(signed.slots() <= tree.cost(*signed.bounds(), one))


@pytest.mark.parametrize("d", [2, 3])
def test_a_body_that_can_move_is_refused(d):
    T = grid(d, 2)
    C = len(T.cells)
    held = np.zeros((len(T.facets), d), dtype=bool)
    free = Tree.of(T, held, np.ones(C), np.ones(C))
    with pytest.raises(InputError, match="can move"):
        free.require_held()
    assert np.all(np.isinf(free.cost(np.ones(C), np.ones(C), np.ones(C))))
    held[sides(T, 0, 0.0), 0] = True
    with pytest.raises(InputError, match=r"fixed: the part of the body at \(.*can move"):
        Tree.of(T, held, np.ones(C), np.ones(C)).require_held()
    held[sides(T, 0, 0.0), 1] = True
    if d == 3:
        held[sides(T, 1, 0.0), 2] = True
    Tree.of(T, held, np.ones(C), np.ones(C)).require_held()


def test_one_facet_with_a_roller_stops_a_rotation():
    T = Topology([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [[0, 1, 2]])
    held = np.zeros((3, 2), dtype=bool)
    held[sides(T, 0, 0.0), 0] = True
    with pytest.raises(InputError):
        Tree.of(T, held, np.ones(1), np.ones(1)).require_held()
    held[sides(T, 1, 0.0), 1] = True
    Tree.of(T, held, np.ones(1), np.ones(1)).require_held()


def test_parts_that_meet_in_a_vertex_hang_by_themselves():
    points = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]
    T = Topology(points, [[0, 1, 2], [0, 3, 4]])
    held = np.zeros((len(T.facets), 2), dtype=bool)
    held[(T.facets == [1, 2]).all(axis=1)] = True
    tree = Tree.of(T, held, np.ones(2), np.ones(2))
    with pytest.raises(InputError, match=r"\(-0.333333, -0.333333\)"):
        tree.require_held()
    cost = tree.cost(np.ones(2), np.ones(2), np.ones(2))
    assert np.isfinite(cost[0])
    assert np.isinf(cost[1])


def test_every_cell_is_in_one_level():
    T, _, tree, _ = body(3, "spot", 3)
    assert sorted(np.concatenate(tree.levels)) == list(range(len(T.cells)))
    order = np.empty(len(T.cells))
    for number, level in enumerate(tree.levels):
        order[level] = number
    inside = tree.above >= 0
    assert np.all(order[tree.above[inside]] == order[inside] - 1)


def test_defects_of_rounding_cost_nothing_visible():
    T, _, tree, _ = body(3, "clamped", 4)
    C = len(T.cells)
    assert tree.cost(np.full(C, 1e-16), np.full(C, 1e-17), np.ones(C)).max() < 1e-11


def test_tractions_of_a_unit_moment_stay_below_their_spread():
    """m_i = |F| ω × y_i/12 with J ω = M, |M| = 1, on triangles in space: the sum of their lengths."""
    rng = np.random.default_rng(1)
    F = rng.normal(size=(10, 3, 3))
    y = F - F.mean(axis=1, keepdims=True)
    share = np.linalg.norm(np.cross(F[:, 1] - F[:, 0], F[:, 2] - F[:, 0]), axis=1) / 24.0
    inner = (y**2).sum(axis=2)[..., None, None] * np.eye(3) - np.einsum("fia,fib->fiab", y, y)
    J = share[:, None, None] * inner.sum(axis=1)
    moments = rng.normal(size=(3, 60))
    omega = np.linalg.solve(J, np.broadcast_to(moments / np.linalg.norm(moments, axis=0), (10, 3, 60)))
    m = np.cross(np.swapaxes(omega, 1, 2)[:, :, None], y[:, None]) * share[:, None, None, None]
    needed = np.linalg.norm(m, axis=3).sum(axis=2).max(axis=1)
    found = _spread(F)
    assert np.all(found >= needed)
    assert np.min(found / needed) < 3.0
