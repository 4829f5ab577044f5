"""What is asked of an elastic body: displacements, strains and stresses, reactions, the work of its loads."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Index, Vector, distinct_names, vector
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.derived import form
from pinnpoint.fem.curved.bending import Bending
from pinnpoint.fem.data.coefficients import per_cell
from pinnpoint.fem.data.held import HeldBoundary
from pinnpoint.fem.elastic.tensors import Pair, pair_of, tensor_rows, voigt
from pinnpoint.fem.elastic.thermal import mean_stress, stress_at
from pinnpoint.fem.fields import AXES, Component, FieldQueries, component_of
from pinnpoint.fem.problem import FiniteElements
from pinnpoint.mesh.facets import facet_keys
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.systems.derived import MAGNITUDE, PRINCIPAL, VON_MISES, Derived
from pinnpoint.systems.goals import (
    Ball,
    Cells,
    CellStrain,
    CellStress,
    CellStressAlong,
    Compliance,
    Goal,
    Patch,
    Point,
    Reaction,
    Strain,
    Stress,
)
from pinnpoint.systems.queries import Queries
from pinnpoint.systems.spaces import AdmissibleSpace
from pinnpoint.transfer.elastic.thermal import Thermal

BITS = 2.0**18
"""To which fractions the direction of a stress is rounded."""


class ElasticQueries(FiniteElements):
    """What can be asked of an elastic body; displacements are node by node."""

    lame: tuple[Vector, Vector]
    bending: Bending | None
    held: HeldBoundary
    thermal: Thermal | None
    weights: Vector | None

    @cached_property
    def _queries(self) -> FieldQueries:
        return FieldQueries(self.nodes, self.mesh.dim)

    def points(self, X: ArrayLike, component: Component, names: Sequence[str] | None = None) -> Queries:
        """A displacement component at points."""
        return self._queries.points(X, names, component)

    def averages(
        self, X: ArrayLike, radius: ArrayLike, component: Component, names: Sequence[str] | None = None
    ) -> Queries:
        """Averages of a component over balls that lie in the domain."""
        return self._queries.averages(X, radius, names, component)

    def patch(self, group: str, component: Any, name: str | None = None) -> Queries:
        """The average over a boundary group: of a component, of the displacement along its "normal", or along a vector.

        A vector is taken as it is: the average is that of u·v.
        """
        return self._queries.patch(group, _listed(name), component)

    def cells(self, where: Any, component: Component, name: str | None = None) -> Queries:
        """The average of a component over a group of cells, or over cells with these numbers."""
        return self._queries.cells(where, _listed(name), component)

    def mean(self, component: Component, name: str | None = None) -> Queries:
        """The average of a component over the body."""
        return self._queries.cells(None, _listed(name), component)

    def strains(self, X: ArrayLike, i: Component, j: Component, names: Sequence[str] | None = None) -> Queries:
        """ε_ij = (∂u_i/∂x_j + ∂u_j/∂x_i)/2 in the cells that hold the points."""
        return self.strain(X, (i, j), names)

    def stresses(self, X: ArrayLike, i: Component, j: Component, names: Sequence[str] | None = None) -> Queries:
        """σ_ij = λ tr(ε) δ_ij + 2μ ε_ij in the cells that hold the points."""
        return self.stress(X, (i, j), names)

    def strain(self, where: ArrayLike | str, component: Pair, names: Sequence[str] | str | None = None) -> Queries:
        """ε_ij at points, in the cells that hold them, or averaged over a group of cells; component "xy" is ε_xy."""
        return self._tensor(where, component, names, stress=False)

    def stress(self, where: ArrayLike | str, component: Pair, names: Sequence[str] | str | None = None) -> Queries:
        """σ_ij at points, in the cells that hold them, or averaged over a group of cells; component "xy" is σ_xy."""
        return self._tensor(where, component, names, stress=True)

    def _tensor(self, where: Any, component: Pair, names: Sequence[str] | str | None, *, stress: bool) -> Queries:
        if stress and self.given.get("resultants"):
            raise InputError(
                "stress: the part has several thicknesses, and what is proved would be forces per length; ask for "
                "strains, or write the deck with one thickness"
            )
        i, j = pair_of(component, self.mesh.dim)
        names = _listed(names) if isinstance(names, str) else names
        over = isinstance(where, str)
        if over:
            cell, said = self._queries.chosen(where)
            bary = np.full((len(cell), self.mesh.dim + 1), 1.0 / (self.mesh.dim + 1))  # ε is linear: its mean is there
            share = self.mesh.volumes[cell] / self.mesh.volumes[cell].sum()
            mix = sp.csr_array(share[None, :])
            X = mix @ self.mesh.points[self.mesh.cells[cell]].mean(axis=1)
            goals: list[Goal] = [CellStress(said, i, j) if stress else CellStrain(said, i, j)]
            names, made_for = names or [f"{where} {AXES[i]}{AXES[j]}"], self._queries.made_on(where)
        else:
            X = self._queries.as_points("points", where)
            cell, bary = self._queries.locator.locate(X)
            mix = sp.eye_array(len(X), format="csr")
            goals = [(Stress if stress else Strain)(tuple(x), i, j) for x in X.tolist()]
            made_for = self._queries.made_for
        law, constants = None, np.zeros(1 if over else len(X))
        if stress:
            law = (self.lame[0][cell], self.lame[1][cell])
            made_for = {**made_for, "matrix": self.fingerprint("matrix")}
        if stress and self.thermal is not None:
            here = mean_stress(self.thermal, self.mesh, cell, self.quadrature) if over else None
            here = stress_at(self.thermal, self.mesh, cell, bary) if here is None else here
            constants = mix @ here * (-1.0 if i == j else 0.0)
            made_for = {**made_for, "load": self.fingerprint("load")}
        rows = partial(tensor_rows, cell=cell, bary=bary, mix=mix, i=i, j=j, law=law)
        return Queries(rows(self.nodes), names, constants, points=X, goals=goals, on_nodes=rows, made_for=made_for)

    def magnitude(self, X: ArrayLike, names: Sequence[str] | None = None) -> Queries:
        """|u| at points: queries of its components, and what follows from them, ``certificate.derived``."""
        labels, d = self._labels(X, names, MAGNITUDE), self.mesh.dim
        each = [self.points(X, k, [f"{name} {AXES[k]}" for name in labels]) for k in range(d)]
        return _joined(each).deriving([Derived(n, MAGNITUDE, tuple(f"{n} {a}" for a in AXES[:d])) for n in labels])

    def stress_along(self, group: str, along: ArrayLike, name: str | None = None) -> Queries:
        """Σ E_ij σ_ij averaged over a group of cells, E symmetric, by its entries xx, xy, yy or xx, xy, xz, yy, yz, zz.

        For example n ⊗ n for the stress that pulls in the direction n.
        """
        pairs = voigt(self.mesh.dim)
        E = vector("along", along, len(pairs))
        label = f"{group} along" if name is None else name
        each = [self.stress(group, pair, [label]) for pair in pairs]
        factor = np.array([1.0 if i == j else 2.0 for i, j in pairs]) * E
        L = sum(f * one.L for f, one in zip(factor.tolist(), each, strict=True))
        constants = sum(f * one.constants for f, one in zip(factor.tolist(), each, strict=True))
        goal = CellStressAlong(group, tuple(E.tolist()))
        first = each[0]
        return Queries(L, [label], constants, points=first.points, goals=[goal], made_for=first.made_for)

    def von_mises(
        self, where: ArrayLike | str, names: Sequence[str] | str | None = None, *, near: ArrayLike | None = None
    ) -> Queries:
        """The von Mises stress at points, or of the average over a group of cells, from queries of the components.

        In the plane with σ_zz = ν (σ_xx + σ_yy) for plane strain and σ_zz = 0 for plane stress.

        Parameters
        ----------
        near
            Components of a stress near that of the group, such as an earlier certificate's: one query more asks for the
            stress along it, and the interval becomes narrower, the more so the better it is guessed.
        """
        labels = self._labels(where, names, VON_MISES)
        if near is not None:
            return self._von_mises_near(where, labels[0], near)
        each, nu = self._components(where, labels), self.lateral(where, len(labels))
        derived = [Derived(n, VON_MISES, self._of(n), v) for n, v in zip(labels, nu, strict=True)]
        return each.deriving(derived)

    def _von_mises_near(self, where: Any, label: str, near: ArrayLike) -> Queries:
        if not isinstance(where, str) or (self.mesh.dim == 2 and self.given["plane"] != "stress"):
            raise InputError("near: is for groups of cells, in space or in plane stress; leave it out")
        one = Derived(label, VON_MISES, self._of(label))
        B, x = form(one), vector("near", near, len(one.of))
        size = math.sqrt(max(0.0, float(x @ B @ x)))
        if not size > 0.0:
            raise InputError("near: the von Mises stress of it is zero; give a stress near that of the group")
        y = np.round(x / size * BITS) / BITS  # so few bits that By has no rounding
        factor = np.array([1.0 if i == j else 2.0 for i, j in voigt(self.mesh.dim)])
        more = self.stress_along(where, B @ y / factor, f"{label} along")
        found = replace(one, along=f"{label} along", toward=tuple(y.tolist()))
        return (self._components(where, [label]) + more).deriving([found])

    def principal(self, where: ArrayLike | str, names: Sequence[str] | str | None = None) -> Queries:
        """The principal stresses, the largest first, at points or of the average over a group of cells.

        In the plane those of the plane's stresses.
        """
        labels, d = self._labels(where, names, PRINCIPAL), self.mesh.dim
        derived = [Derived(f"{n} {k}", PRINCIPAL, self._of(n), order=k) for n in labels for k in range(1, d + 1)]
        return self._components(where, labels).deriving(derived)

    def _labels(self, where: Any, names: Sequence[str] | str | None, kind: str) -> list[str]:
        """Names of derived quantities, by default of their kind."""
        if isinstance(where, str):
            return [names] if isinstance(names, str) else list(names or [f"{kind} {where}"])
        count = len(self._queries.as_points("points", where))
        plain = [kind] if count == 1 else [f"{kind} {k}" for k in range(count)]
        return list(distinct_names(plain if names is None else names, count))

    def _of(self, name: str) -> tuple[str, ...]:
        """What the queries of a stress's components are called."""
        return tuple(f"{name} {AXES[i]}{AXES[j]}" for i, j in voigt(self.mesh.dim))

    def _components(self, where: Any, labels: Sequence[str]) -> Queries:
        """All components of the stress, one after the other."""
        each = [self._of(name) for name in labels]
        pairs = voigt(self.mesh.dim)
        return _joined([self.stress(where, pair, [of[k] for of in each]) for k, pair in enumerate(pairs)])

    def lateral(self, where: Any, count: int) -> list[float | None]:
        """ν in plane strain, where σ_zz = ν (σ_xx + σ_yy), for each of so many places; else None."""
        if self.mesh.dim == 3 or self.given["plane"] == "stress":
            return [None] * count
        if self.thermal is not None:
            raise InputError(
                "von Mises: in plane strain σ_zz depends on the temperature too, and is not read off the other "
                "stresses; ask for them, or model it in three dimensions"
            )
        nu = per_cell("poisson", self.given["poisson"], self.mesh)
        if not isinstance(where, str):
            return [float(x) for x in nu[self._queries.locator.locate(self._queries.as_points("points", where))[0]]]
        here = nu[self._queries.chosen(where)[0]]
        if float(here.min()) != float(here.max()):
            raise InputError(
                f"group '{where}': has several Poisson's ratios, so that σ_zz of plane strain does not follow from the "
                "averages of the other stresses; ask for each material by itself"
            )
        return [float(here[0])]

    def reaction(self, group: str, component: Component, name: str | None = None) -> Queries:
        """The total force ∫ (σn)_k of what holds a boundary group on the body, from the weak form.

        With φ = e_k at the group's nodes and 0 at all others: a(u, φ) − L(φ). Where the group meets facets that are
        held in the same component, φ falls off on these, and what they carry near the group is counted with it.
        """
        k, facets = component_of(component, self.mesh.dim), self.mesh.facets(group)
        if not len(facets):
            raise InputError(f"group '{group}': has no facets to measure a reaction on")
        dofs = np.unique(self.nodes.facet_dofs(facets)) * self.mesh.dim + k
        _require_held(self.mesh, self.held, self.space, facets, dofs, f"group '{group}'", AXES[k])
        phi = np.zeros(self.space.N)
        phi[dofs] = 1.0
        row, label = self.system.stored.T @ phi, f"reaction {group} {AXES[k]}" if name is None else name
        made_for = {what: self.fingerprint(what) for what in ("mesh", f"group '{group}'", "matrix", "load")}
        goals = [Reaction(group, k)]
        return Queries(row[None, :], [label], [-float(phi @ self.b)], goals=goals, made_for=made_for)

    def compliance(self, name: str | None = None) -> Queries:
        """The work L(u) of the loads."""
        if self.thermal is not None:
            raise InputError(
                "compliance: the work of the loads is not certified with thermal expansion, which is no work of a "
                "force; ask for averages over the loaded groups instead"
            )
        if not np.any(self.b):
            raise InputError("compliance: nothing loads the body, so it is zero; ask for a reaction")
        made_for = {what: self.fingerprint(what) for what in ("mesh", "load")}
        return Queries(self.b[None, :], [name or "compliance"], goals=[Compliance()], made_for=made_for)

    def drawn(self, U: Vector) -> dict[str, Vector]:
        """Von Mises' stress of a state, averaged at the vertices by volume: a picture, not a bound."""
        d, (lam, mu), cells = self.mesh.dim, self.lame, np.arange(len(self.mesh.cells))
        middle = np.full((len(cells), d + 1), 1.0 / (d + 1))
        parts = [(a, b) for a in range(d) for b in range(a, d)]
        rows = partial(tensor_rows, self.nodes, cell=cells, bary=middle, mix=sp.eye_array(len(cells)), law=(lam, mu))
        S = {(a, b): rows(i=a, j=b) @ U for a, b in parts}
        nu = 0.0 if self.given["plane"] == "stress" else lam / (2.0 * (lam + mu))
        heat: Any = 0.0 if self.thermal is None else stress_at(self.thermal, self.mesh, cells, middle)
        normal = [S[a, a] - heat for a in range(d)]
        if d == 2:
            strained = self.given["plane"] != "stress"
            normal.append(nu * (normal[0] + normal[1]) - ((1.0 - 2.0 * nu) * heat if strained else 0.0))
        square = 0.5 * sum((normal[a] - normal[a - 1]) ** 2 for a in range(3))
        square = square + 3.0 * sum(S[a, b] ** 2 for a, b in parts if a != b)
        return {"von Mises": self.nodes.spread(self.mesh.at_vertices(np.sqrt(square)))}

    def ask(self, goals: Sequence[Goal | None], names: Sequence[str]) -> Queries:
        """Queries for what is asked of the PDE's own solution."""
        asked: Queries | None = None
        at = 0
        while at < len(goals):
            many = _run(goals, at)
            part = self._ask(goals[at : at + many], list(names[at : at + many]))
            asked, at = part if asked is None else asked + part, at + many
        if asked is None:
            raise InputError("goals: are none; ask for at least one")
        return asked

    def _ask(self, goals: Sequence[Goal | None], names: list[str]) -> Queries:
        """Goals of one kind and component."""
        goal = goals[0]
        one: dict[type, Callable[[Any], Queries]] = {
            Patch: lambda g: self.patch(g.group, g.component, names[0]),
            Cells: lambda g: self.cells(_group(g, names[0]), g.component, names[0]),
            CellStrain: lambda g: self.strain(_named(g, names[0]), (g.i, g.j), names),
            CellStress: lambda g: self.stress(_named(g, names[0]), (g.i, g.j), names),
            CellStressAlong: lambda g: self.stress_along(_named(g, names[0]), g.along, names[0]),
            Reaction: lambda g: self.reaction(g.group, g.component, names[0]),
            Compliance: lambda g: self.compliance(names[0]),
        }
        if isinstance(goal, Point):
            return self.points([g.at for g in goals], goal.component, names)  # type: ignore[union-attr]
        if isinstance(goal, Ball):
            pairs = [(g.at, g.radius) for g in goals]  # type: ignore[union-attr]
            return self.averages([x for x, _ in pairs], [r for _, r in pairs], goal.component, names)
        if isinstance(goal, Strain | Stress):
            many = self.stress if isinstance(goal, Stress) else self.strain
            return many([g.at for g in goals], (goal.i, goal.j), names)  # type: ignore[union-attr]
        if type(goal) in one:
            return one[type(goal)](goal)
        raise InputError(
            f"query '{names[0]}': is not known beyond this mesh; ask for displacements, strains, stresses, reactions"
        )


def _joined(each: Sequence[Queries]) -> Queries:
    queries = each[0]
    for more in each[1:]:
        queries = queries + more
    return queries


def _listed(name: str | None) -> list[str] | None:
    return None if name is None else [name]


def _run(goals: Sequence[Goal | None], at: int) -> int:
    """How many goals from here on are at points, of one kind and component."""

    def key(goal: Goal | None) -> Any:
        if isinstance(goal, Point | Ball):
            return type(goal), goal.component
        return (type(goal), goal.i, goal.j) if isinstance(goal, Strain | Stress) else None

    count, first = 1, key(goals[at])
    while first is not None and at + count < len(goals) and key(goals[at + count]) == first:
        count += 1
    return count


def _group(goal: Cells | CellStrain | CellStress | CellStressAlong, name: str) -> str | None:
    if isinstance(goal.cells, tuple):
        raise InputError(
            f"query '{name}': numbers of cells are those of one mesh; name a group of cells for what is to be asked of "
            "finer ones"
        )
    return goal.cells


def _named(goal: CellStrain | CellStress | CellStressAlong, name: str) -> str:
    group = _group(goal, name)
    if group is None:
        raise InputError(f"query '{name}': averages of strains and stresses are over groups of cells; name one")
    return group


def _require_held(
    mesh: Mesh, held: HeldBoundary, space: AdmissibleSpace, facets: Index, dofs: Index, group: str, axis: str
) -> None:
    """A reaction is that of what is held: every facet of the group, in that component."""
    if held.parts:
        n, k = len(mesh.points), AXES.index(axis)
        every = [facet_keys(part.facets, n) for part in held.parts if part.given[k] is not None]
        keys = facet_keys(facets, n)
        free = int(np.count_nonzero(~np.isin(keys, np.concatenate([keys[:0], *every]))))
    else:
        fixed = np.zeros(space.N, dtype=bool)
        if space.free is not None:
            fixed[:] = True
            fixed[space.free] = False
        free = int(np.count_nonzero(~fixed[dofs]))
    if free:
        what = "facets" if held.parts else "nodes"
        raise InputError(
            f"{group}: {free} of its {len(facets) if held.parts else len(dofs)} {what} are not held in {axis}, so "
            "there is no reaction to measure; ask for a group that is held as a whole"
        )
