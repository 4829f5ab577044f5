"""Periodic pairs of boundary groups: which nodes are one, and what that makes of fixed values and predictions.

Nodes that are one with another of a smaller number stand for nothing: they belong to no cell, and count as fixed at
zero, or at the value of a fixed one, so that systems, spaces and bundles stay what they are. A prediction's values
there are its own: it is judged with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certifiers.protocols import Extraction
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.fem.data.conditions import require_boundary
from pinnpoint.mesh.facets import facet_keys
from pinnpoint.mesh.gluing import Gluing, together
from pinnpoint.mesh.mesh import BOUNDARY, Mesh
from pinnpoint.systems.queries import Apart

APART = 1e-9
"""How much fixed values of nodes that are one may differ, against the largest of them."""


@dataclass(frozen=True, eq=False)
class Periodic:
    """The pairs of a problem.

    Attributes
    ----------
    pairs
        Group to group, as given.
    same
        The node that stands for each.
    size
        Of the data that cancel in fixed values: rounding is relative to it.
    """

    mesh: Mesh
    pairs: Mapping[str, str]
    gluing: Gluing
    same: Index
    size: float = 0.0

    __repr__ = brief

    @classmethod
    def of(cls, mesh: Mesh, degree: int, given: Mapping[str, str] | Periodic | None) -> Periodic | None:
        """From a table of pairs, or those of a problem on the same points; None where there is none."""
        if isinstance(given, Periodic):
            return given
        if given is None or not len(given):
            return None
        if not isinstance(given, Mapping) or not all(isinstance(two, str) for two in given.values()):
            raise InputError("periodic: must be a table from boundary groups to groups, such as {'left': 'right'}")
        groups = [*given, *given.values()]
        if BOUNDARY in groups:
            raise InputError(f"periodic: '{BOUNDARY}' cannot be glued to another group; name the two sides")
        require_boundary(mesh, dict.fromkeys(groups), "periodic")
        gluing = Gluing.of(mesh, given)
        a, b = [gluing.first.ravel()], [gluing.second.ravel()]
        plain = Nodes(mesh, degree)
        if degree == 2 and mesh.dim > 1:
            n = len(mesh.points)
            keys = plain.edges[:, 0] * n + plain.edges[:, 1]
            for ends, found in ((gluing.first, a), (gluing.second, b)):
                for i, j in combinations(range(mesh.dim), 2):
                    low, high = np.sort(ends[:, [i, j]], axis=1).T
                    found.append(n + np.searchsorted(keys, low * n + high))
        same = together(len(plain), np.concatenate(a), np.concatenate(b))
        return cls(mesh, dict(given), gluing, same)

    def on(self, mesh: Mesh, size: float) -> Periodic:
        """The same pairs on a mesh with the same facets, and values in which data of this size cancel."""
        return replace(self, mesh=mesh, size=size)

    @cached_property
    def idle(self) -> Index:
        """Nodes that stand for nothing."""
        return np.flatnonzero(self.same != np.arange(len(self.same)))

    def require_free(self, tables: Mapping[str, Mapping[str, Any]]) -> None:
        """Refuse other conditions on the pairs."""
        n = len(self.mesh.points)
        own = facet_keys(np.concatenate([self.gluing.first, self.gluing.second]), n)
        for name, table in tables.items():
            for group in table:
                shared = int(np.isin(facet_keys(self.mesh.facets(group), n), own).sum())
                if shared:
                    raise InputError(
                        f"{name}: group '{group}' shares {shared} of its facets with a periodic pair; a facet has one "
                        "condition"
                    )

    def held(self, dofs: Index, values: Vector) -> tuple[Index, Vector]:
        """Fixed nodes and values with those that are one taken together; data that differ there are refused."""
        at = self.same[dofs]
        order = np.lexsort((dofs, at))
        first = np.concatenate([[True], np.diff(at[order]) > 0]) if len(at) else np.zeros(0, dtype=bool)
        which = np.cumsum(first) - 1
        chosen = values[order][first][which] if len(at) else values
        apart = np.abs(values[order] - chosen)
        if len(at) and float(apart.max()) > APART * max(self.size, float(np.abs(values).max())):
            k = int(np.argmax(apart))
            raise InputError(
                f"dirichlet: node {int(dofs[order[k]])} has the value {float(values[order][k])!r} and the node it is "
                f"glued to {float(chosen[k])!r}; give periodic data"
            )
        every = np.zeros(len(self.same))
        every[at[order][first]] = values[order][first]
        return np.concatenate([at[order][first], self.idle]), np.concatenate(
            [values[order][first], self.whole(every)[self.idle]]
        )

    def extracted(self, found: Extraction, nodes: Nodes) -> Extraction:
        """A prediction's vector, whose values at idle nodes are its own, and changed to those of what stands for them.

        Parameters
        ----------
        nodes
            Those of the prediction, on which each stands for itself.
        """
        assert found.given is not None
        mismatch = found.given - self.whole(found.U)
        jumps = np.zeros(len(mismatch))
        jumps[self.same[self.idle[mismatch[self.idle] != 0.0]]] = 1.0
        return replace(found, mismatch=mismatch, apart=Apart(nodes, self.same, jumps, self._told(found.given, nodes)))

    def _told(self, given: Vector, nodes: Nodes) -> str:
        """The largest jump of a prediction, where it is and at which pair."""
        jump = given[self.idle] - given[self.same[self.idle]]
        k = int(np.argmax(np.abs(jump)))
        here = int(self.idle[k])
        sides = [
            f"'{one}' and '{two}'"
            for one, two in self.pairs.items()
            if np.isin(here, [nodes.facet_dofs(self.mesh.facets(group)) for group in (one, two)])
        ]
        return (
            f"prediction: jumps by {float(jump[k]):.3g} from {nodes.points[int(self.same[here])].tolist()} to "
            f"{nodes.points[here].tolist()}, which are one by the periodic pair {(sides or ['given'])[0]}"
        )

    def whole(self, U: Vector) -> Vector:
        """A state with the values of idle nodes too."""
        return np.asarray(U[self.same])
