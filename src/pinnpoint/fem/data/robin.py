"""Robin groups of a scalar problem: A∇u·n + αu = g, as they are given, assembled, and asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.fem.assembling import assembly
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.fem.data.coefficients import Function, function, named, parsed, require_defined
from pinnpoint.fem.data.conditions import require_boundary
from pinnpoint.mesh.facets import facet_keys
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.quadrature import at_points, rule
from pinnpoint.mesh.topology import Topology
from pinnpoint.systems.queries import Flux, Queries

WORDS = ("coefficient", "value")


@dataclass(frozen=True, eq=False)
class Robin:
    """The coefficient α and the value g of each group.

    Attributes
    ----------
    table
        Group to (α, g), formulas parsed.
    """

    mesh: Mesh
    table: Mapping[str, tuple[Any, Any]]

    __repr__ = brief

    @classmethod
    def of(cls, mesh: Mesh, given: Mapping[str, Any] | None) -> Robin | None:
        """From a table of pairs; None where there is none."""
        if given is None or not len(given):
            return None
        require_boundary(mesh, given, "robin")
        table = {}
        for group, pair in given.items():
            name = f"robin '{group}'"
            if isinstance(pair, Mapping):
                if set(pair) != set(WORDS):
                    raise InputError(f"{name}: must have a coefficient and a value; got {sorted(map(str, pair))}")
                pair = tuple(pair[word] for word in WORDS)
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise InputError(
                    f"{name}: must be a pair (coefficient, value) of numbers or formulas, κ∂_n u + coefficient·u = "
                    f"value; got {pair!r}"
                )
            each = tuple(parsed(what, f"{name} {word}") for word, what in zip(WORDS, pair, strict=True))
            for word, what in zip(WORDS, each, strict=True):
                function(f"{name} {word}", what)
                require_defined(f"{name} {word}", what, mesh.points[mesh.facets(group)])
            table[group] = (each[0], each[1])
        return cls(mesh, table)

    @property
    def given(self) -> dict[str, Any]:
        """As the problem was given it."""
        return {"robin": dict(self.table)}

    @property
    def values(self) -> dict[str, dict[str, Any]]:
        """For what asks whether facets have two conditions: something that is never zero on each group."""
        return {"robin": dict.fromkeys(self.table, 1.0)}

    def has(self, group: str) -> bool:
        """Whether a group has facets of them."""
        own = facet_keys(self.mesh.facets(group), len(self.mesh.points))
        return any(np.isin(facet_keys(self.mesh.facets(g), len(self.mesh.points)), own).any() for g in self.table)

    def _coefficient(self, group: str) -> Function:
        return function(f"robin '{group}' coefficient", self.table[group][0])

    def _value(self, group: str) -> Function:
        return function(f"robin '{group}' value", self.table[group][1])

    def holds(self, nodes: Nodes, order: int) -> bool:
        """Whether a coefficient is positive somewhere; refuses negative ones."""
        found = False
        bary, _ = rule(self.mesh.dim - 1, _order(nodes, order))
        for group in self.table:
            X = at_points(self.mesh.points[self.mesh.facets(group)], bary).reshape(-1, self.mesh.dim)
            alpha = self._coefficient(group)(X)
            if float(alpha.min()) < 0.0:
                k = int(np.argmin(alpha))
                raise InputError(
                    f"robin '{group}': the coefficient must be ≥ 0; it is {float(alpha[k])!r} at {X[k].tolist()}. A "
                    "condition ∂_n u = αu with α > 0 feeds the solution instead of holding it"
                )
            found = found or bool(np.any(alpha > 0.0))
        return found

    def matrix(self, nodes: Nodes, order: int, where: assembly.Pattern) -> Vector:
        """∫ α φ_i φ_j, by slot."""
        total = np.zeros(where.size)
        for group in self.table:
            facets = self.mesh.facets(group)
            # robin.md, step 6a
            total += assembly.boundary_mass(nodes, facets, self._coefficient(group), _order(nodes, order), where)
        return total

    def load(self, nodes: Nodes, order: int) -> Vector:
        """∫ g φ_i."""
        total = np.zeros(len(nodes))
        for group in self.table:
            total += assembly.boundary_load(nodes, self.mesh.facets(group), self._value(group), order)
        return total

    def bubble_load(self, nodes: Nodes, U: Vector, order: int) -> Vector:
        """∫ (g − αU) φ of the bubbles of quadratic elements, for a state of linear ones; (E, 1)."""
        bary, weights = rule(self.mesh.dim - 1, order)
        b = np.zeros(len(nodes))
        for group in self.table:
            facets = self.mesh.facets(group)
            X = at_points(self.mesh.points[facets], bary)
            P = X.reshape(-1, self.mesh.dim)
            rest = (self._value(group)(P) - self._coefficient(group)(P) * (U[facets] @ bary.T).ravel()).reshape(
                X.shape[:2]
            )
            phi, area = nodes.shapes(bary), self.mesh.facet_measures(facets)
            local = np.einsum("fq,q,qi,f->fi", rest, weights, phi, area, optimize=True)
            b += np.bincount(nodes.facet_dofs(facets).ravel(), local.ravel(), minlength=len(b))
        return b[len(self.mesh.points) :, None]

    def flux(self, problem: Any, group: str, name: str | None) -> Queries:
        """∫ g − ∫ αu over a group, by the problem's rules; where it has Neumann facets, with their data."""
        nodes, order, own = problem.nodes, problem.quadrature, self.mesh.facets(group)
        n = len(self.mesh.points)
        row, constant = np.zeros(len(nodes)), 0.0

        def shared(other: str) -> Index:
            facets = self.mesh.facets(other)
            return np.asarray(facets[np.isin(facet_keys(facets, n), facet_keys(own, n))])

        for other in self.table:
            facets = shared(other)
            row -= assembly.boundary_load(nodes, facets, self._coefficient(other), _order(nodes, order))
            constant += float(assembly.boundary_load(nodes, facets, self._value(other), order).sum())
        for other, g in problem.given["neumann"].items():
            given = function(f"neumann '{other}'", g)
            constant += float(assembly.boundary_load(nodes, shared(other), given, order).sum())
        label = [f"flux {group}" if name is None else name]
        made_for = {what: problem.fingerprint(what) for what in ("mesh", f"group '{group}'", "matrix", "load")}
        return Queries(row[None, :], label, [constant], goals=[Flux(group)], made_for=made_for)

    def fluxes(self, T: Topology) -> list[tuple[Index, Any]]:
        """Facet numbers and g."""
        found = []
        for group, (_, g) in self.table.items():
            found.append((T.facet_numbers(self.mesh.facets(group)), named(f"robin '{group}' value", g)))
        return found

    def coefficients(self, T: Topology) -> list[tuple[Index, Any, str]]:
        """Facet numbers, α and its name."""
        found = []
        for group, (alpha, _) in self.table.items():
            name = f"robin '{group}' coefficient"
            found.append((T.facet_numbers(self.mesh.facets(group)), named(name, alpha), f"robin '{group}'"))
        return found


def _order(nodes: Nodes, order: int) -> int:
    """Of the rule for α φ_i φ_j: exact at least for constants α."""
    return max(order, 2 * nodes.degree)
