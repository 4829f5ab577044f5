"""What is prescribed on which facets: groups resolved once into parts that share no facet, and the values at nodes.

A group inside ``"boundary"`` takes its facets from it. Any other facet that two groups prescribe is refused, however
well their values agree: what is certified must not depend on the order of a table. In elasticity a facet may belong to
two groups that hold different components.

Parts still meet in nodes (in space, in edges), where the data must be continuous, else no solution of finite energy has
it. Each part's value comes with its error: none for a number, an enclosure for a formula, `OPAQUE` of the data's size
for a function. Values whose intervals have no point in common are refused. Of those that have one, the value with the
smallest error is taken; the continuous target counts its distance from the others as it counts any other Dirichlet
data that the elements do not meet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.fem.data.coefficients import Data, Opposite, function, require_defined, split
from pinnpoint.mesh.facets import edge_table, facet_keys
from pinnpoint.mesh.mesh import BOUNDARY, Mesh
from pinnpoint.rounding.arithmetic import UNIT, up
from pinnpoint.taylor.inputs import enclosed, fixed, model_of
from pinnpoint.taylor.models import TaylorModel
from pinnpoint.taylor.spaces import POINT

OPAQUE = 1e-12
"""Rounding in a function's values, against the largest of them: nothing is known of how it computes them."""
BETWEEN = (0.5, 0.28, 0.79)
"""Where on an edge between two parts their data are compared."""


@dataclass(frozen=True, eq=False)
class Held:
    """What one group prescribes, on facets on which no other group prescribes it.

    Attributes
    ----------
    facets
        (F, d) vertex numbers; may be none, where other groups override all of them.
    given
        One entry per component, formulas parsed; None where the component is free.
    """

    group: str
    facets: Index
    given: tuple[Any, ...]

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class HeldBoundary:
    """All parts, in the order of the table, and what overrides what, in words."""

    parts: tuple[Held, ...]
    notes: tuple[str, ...]

    __repr__ = brief

    def facets(self, mesh: Mesh) -> Index:
        """Facets that are held in every component, each once."""
        count, n = len(self.parts[0].given) if self.parts else 0, len(mesh.points)
        found = np.zeros((0, mesh.dim), dtype=np.intp)
        for k in range(count):
            here = [p.facets for p in self.parts if p.given[k] is not None]
            these = np.concatenate([found[:0], *here])
            found = these if k == 0 else found[np.isin(facet_keys(found, n), facet_keys(these, n))]
        return found


def resolve(mesh: Mesh, table: Mapping[str, Any], count: int, name: str) -> HeldBoundary:
    """The groups of a table with `count` components as parts that share no facet in a component."""
    given = {group: tuple(split(f"{name} '{group}'", what, count, free=True)) for group, what in table.items()}
    for group, each in given.items():
        if all(g is None for g in each):
            rest = f", and name the groups that are held instead of '{BOUNDARY}'" if BOUNDARY in given else ""
            raise InputError(f"{name} '{group}': every component is free, so nothing is fixed; remove it{rest}")
    n = len(mesh.points)
    keys = {group: facet_keys(mesh.facets(group), n) for group in given}
    special = [group for group in given if group != BOUNDARY]
    for k in range(count):
        _require_disjoint({g: keys[g] for g in special if given[g][k] is not None}, name, count)
    facets, notes = {group: mesh.facets(group) for group in given}, []
    if BOUNDARY in given:
        for group in special:
            shared = int(np.isin(keys[group], keys[BOUNDARY]).sum())
            if shared:
                notes.append(f"group '{group}' overrides '{BOUNDARY}' on {shared} facets")
        taken = np.concatenate([keys[BOUNDARY][:0], *(keys[group] for group in special)])
        facets[BOUNDARY] = facets[BOUNDARY][~np.isin(keys[BOUNDARY], taken)]
    return HeldBoundary(tuple(Held(g, facets[g], given[g]) for g in given), tuple(notes))


def _require_disjoint(keys: Mapping[str, Any], name: str, count: int) -> None:
    groups = list(keys)
    if len(groups) < 2:
        return
    every = np.concatenate(list(keys.values()))
    owner = np.repeat(np.arange(len(groups)), [len(keys[g]) for g in groups])
    order = np.lexsort((owner, every)) if every.dtype != object else np.argsort(every, kind="stable")
    twice = np.flatnonzero(every[order][1:] == every[order][:-1])
    if twice.size:
        one, two = (groups[owner[order[twice[0] + i]]] for i in (0, 1))
        shared = int(np.isin(keys[one], keys[two]).sum())
        raise InputError(
            f"{name}: groups '{one}' and '{two}' share {shared} facets; a facet has one condition"
            f"{' in each component' if count > 1 else ''}, whatever the values. Only '{BOUNDARY}' is overridden by "
            "other groups"
        )


def prescribed(space: Nodes, held: HeldBoundary, count: int, name: str) -> tuple[Index, Vector]:
    """Fixed degrees of freedom and their values, whatever the order of the parts.

    Refuses formulas that are undefined somewhere on the facets they hold on.
    """
    for part in held.parts:
        given = part.given[0] if count == 1 else part.given
        require_defined(f"{name} '{part.group}'", given, space.mesh.points[part.facets])
    value = np.full(count * len(space), np.nan)
    for k in range(count):
        data = [(p.group, p.facets, p.given[k]) for p in held.parts if p.given[k] is not None and len(p.facets)]
        if not data:
            continue
        label = f"{name}[{k}]" if count > 1 else name
        sides = [_Side.of(space, *one, f"{label} '{one[0]}'") for one in data]
        nodes, values = _one_each(space, sides, name)
        value[nodes * count + k] = values
        if space.mesh.dim == 3 and len(sides) > 1:
            _require_continuous_edges(space.mesh, sides, name)
    dofs = np.nonzero(~np.isnan(value))[0]
    return dofs, value[dofs]


@dataclass(frozen=True, eq=False)
class _Side:
    """One component of one part, and its nodes with their values."""

    group: str
    facets: Index
    given: Any
    nodes: Index
    values: Vector
    mesh: Mesh

    @staticmethod
    def of(space: Nodes, group: str, facets: Index, given: Data, label: str) -> _Side:
        nodes = np.unique(space.facet_dofs(facets))
        return _Side(group, facets, given, nodes, function(label, given)(space.points[nodes]), space.mesh)

    @cached_property
    def scale(self) -> float:
        """The size of the data, or of what cancels in it, at the vertices and, as they may all be zeros, inside."""
        P = self.mesh.points[self.facets]
        inside = 0.6 * P[:, 0] + 0.4 * P[:, 1:].mean(axis=1) if P.shape[1] > 1 else P[:, 0]
        X = np.concatenate([self.mesh.points[np.unique(self.facets)], inside])
        size = 0.0
        for f in (self.given, self.given.terms if isinstance(self.given, Opposite) else 0.0):
            size += float(np.max(np.abs(f(X) if callable(f) else f), initial=0.0))
        return size

    def interval(self, X: Vector, off: Vector, values: Vector) -> tuple[Vector, Vector, Vector]:
        """Values at points that are known up to `off` (N, d), with bounds of their errors as (value, low, high)."""
        if not callable(self.given):
            return values, values, values
        known = fixed(self.given)
        if known is not None:
            center, error = np.full(len(X), known[0]), np.full(len(X), known[1])
        elif enclosed(self.given):
            at = [TaylorModel(POINT, x[None].copy(), e.copy()) for x, e in zip(X.T, off.T, strict=True)]
            model = model_of(self.given, at)
            center, error = (np.broadcast_to(a, len(X)) for a in (model.C[0], model.e))
        else:
            center, error = values, np.full(len(X), OPAQUE * self.scale)
        error = np.where(np.isfinite(error), up(error + 2.0 * UNIT * np.abs(center)), np.inf)
        return values, np.minimum(center - error, values), np.maximum(center + error, values)


def _one_each(space: Nodes, sides: Sequence[_Side], name: str) -> tuple[Index, Vector]:
    """Nodes and values; where sides meet, the value that is known best."""
    nodes, values = np.concatenate([s.nodes for s in sides]), np.concatenate([s.values for s in sides])
    owner = np.repeat(np.arange(len(sides)), [len(s.nodes) for s in sides])
    low, high = values.copy(), values.copy()
    often = np.bincount(nodes, minlength=len(space)) > 1
    shared = often[nodes]
    off = np.where(np.arange(len(space))[:, None] >= len(space.mesh.points), UNIT * np.abs(space.points), 0.0)
    for i, side in enumerate(sides):
        here = np.flatnonzero(shared & (owner == i))
        if not here.size:
            continue
        _, low[here], high[here] = side.interval(space.points[nodes[here]], off[nodes[here]], values[here])
    _require_common(nodes, low, high, owner, lambda i: f"node {i}, {space.points[i].tolist()},", values, sides, name)
    # by node, then by what is known best: a rule that knows nothing of the table's order
    order = np.lexsort((values, np.abs(values), high - low, nodes))
    first = order[np.concatenate([[True], np.diff(nodes[order]) > 0])]
    return nodes[first], values[first] + 0.0


def _require_common(
    at: Index, low: Vector, high: Vector, owner: Index, where: Any, values: Vector, sides: Sequence[_Side], name: str
) -> None:
    """All intervals at a place have a point in common."""
    size = int(at.max(initial=-1)) + 1
    bottom, top = np.full(size, -np.inf), np.full(size, np.inf)
    np.maximum.at(bottom, at, low)
    np.minimum.at(top, at, high)
    apart = np.flatnonzero(bottom > top)
    if not apart.size:
        return
    here = np.flatnonzero(at == apart[0])
    pair = sorted((int(here[np.argmax(low[here])]), int(here[np.argmin(high[here])])))
    one, two = (sides[owner[j]].group for j in pair)
    first, second = (float(values[j]) for j in pair)
    raise InputError(
        f"{name}: groups '{one}' and '{two}' overlap at {where(int(apart[0]))} with different values {first!r} and "
        f"{second!r}; the solution would jump there. Give them the same value where they meet"
    )


def _require_continuous_edges(mesh: Mesh, sides: Sequence[_Side], name: str) -> None:
    """Along edges that sides have in common, their data agree at some points between the nodes too."""
    n = len(mesh.points)
    edges = [edge_table(s.facets, n)[0] for s in sides]
    keys = [facet_keys(e, n) for e in edges]
    every, count = np.unique(np.concatenate(keys), return_counts=True)
    common = every[count > 1]
    if not common.size:
        return
    rows = []
    for i, side in enumerate(sides):
        mine = edges[i][np.isin(keys[i], common)]
        if not len(mine):
            continue
        place = np.searchsorted(common, facet_keys(mine, n))
        for j, t in enumerate(BETWEEN):
            A, B = mesh.points[mine[:, 0]], mesh.points[mine[:, 1]]
            X = (1.0 - t) * A + t * B
            values = function(f"{name} '{side.group}'", side.given)(X)
            off = 4.0 * UNIT * (np.abs(A) + np.abs(B))
            found = side.interval(X, off, values)
            rows.append((place * len(BETWEEN) + j, *found, np.full(len(X), i), X))
    at, values, low, high, owner, X = (np.concatenate([row[c] for row in rows]) for c in range(6))
    _require_common(at, low, high, owner, lambda i: f"{X[int(np.argmax(at == i))].tolist()}", values, sides, name)
