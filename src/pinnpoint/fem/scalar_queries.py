"""What can be asked of a scalar problem beside groups: values, averages, derivatives, fluxes, errors and extremes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.fem.assembling.blocks import block_queries
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.fem.fields import Component, FieldQueries, slope_rows
from pinnpoint.fem.problem import ScalarProblem
from pinnpoint.systems.goals import (
    Block,
    Cells,
    EnergyError,
    Everywhere,
    Extreme,
    Goal,
    L2Error,
    Maximum,
    Minimum,
    Slope,
)
from pinnpoint.systems.queries import Queries

Names = str | Sequence[str] | None
"""One name, or one for each query."""


class ScalarQueries(ScalarProblem):
    """Values, derivatives and fluxes at points, averages over balls, cells and blocks, errors and extremes."""

    @cached_property
    def _queries(self) -> FieldQueries:
        return FieldQueries(self.nodes, 1)

    def points(self, X: ArrayLike, names: Sequence[str] | None = None) -> Queries:
        """Values at points."""
        return self._queries.points(X, names, None)

    def averages(self, X: ArrayLike, radius: ArrayLike, names: Sequence[str] | None = None) -> Queries:
        """Averages over balls that lie in the domain."""
        return self._queries.averages(X, radius, names, None)

    def mean(self, name: str | None = None) -> Queries:
        """The average over the domain."""
        return self._queries.cells(None, None if name is None else [name], None)

    def cells(self, where: Any, side: ArrayLike | None = None, name: Names = None) -> Queries:
        """The average over a group of cells, or over cells with these numbers; with `side`, over blocks about points.

        A block is the square or cube {|x_i − at_i| ≤ side/2}, exactly that whatever the cells are: those that its faces
        cut count with the part inside. It must lie in the domain.
        """
        names = [name] if isinstance(name, str) else name
        if side is not None:
            return block_queries(self._queries, where, side, names)
        if not isinstance(where, str) and np.ndim(where) > 1:
            raise InputError("side: blocks about points need the length of their sides")
        return self._queries.cells(where, names, None)

    def gradients(self, X: ArrayLike, direction: Component, names: Sequence[str] | None = None) -> Queries:
        """Derivatives ∂u/∂x_direction ('x', 'y', 'z') at points; on the mesh, in the cells that hold them."""
        return self._queries.gradients(X, direction, names, None)

    def fluxes(self, X: ArrayLike, direction: Component, names: Sequence[str] | None = None) -> Queries:
        """Fluxes κ ∂u/∂x_direction at points; on the mesh, in the cells that hold them."""
        if self.diffusion.ndim != 1:
            raise InputError("direction: fluxes at points need a scalar diffusion; ask for gradients")
        slopes = self._queries.gradients(X, direction, names, None)
        assert slopes.points is not None
        cell, bary = self._queries.locator.locate(slopes.points)
        goals = [replace(g, flux=True) for g in slopes.goals if isinstance(g, Slope)]
        rows = partial(flux_rows, cell=cell, bary=bary, axis=goals[0].axis, kappa=self.diffusion[cell])
        made_for = {**slopes.made_for, "matrix": self.fingerprint("matrix")}
        return Queries(
            rows(self.nodes), slopes.names, points=slopes.points, goals=goals, on_nodes=rows, made_for=made_for
        )

    def everywhere(
        self,
        name: str = "everywhere",
        *,
        solve: bool = True,
        barrier: str | None = None,
        checked: bool = False,
        thorough: bool = False,
    ) -> Queries:
        """The largest error of the prediction over the whole domain, max |u_θ − u|.

        With ``lift=True`` it is that of the network itself, else that of the finite-element function with its values at
        the nodes. ``certificate.band`` is a proved bound on each cell. With ``solve=False`` a lift is certified from
        its residual alone, without any system being solved, where nothing else is asked. A `barrier` is a formula w of
        your own with −κΔw + c w > 0, and κ∂w/∂n ≥ 0 on Neumann facets: both are proved, and a lift's error is then at
        most max |residual| w / min(−κΔw + c w). With ``checked=True`` only bounds count that ``pinnpoint verify``
        proves again from a bundle. With ``thorough=True`` the mesh constant, which narrows bounds, is computed even
        where it costs more than 25 factorizations of linear elements: in space, and on large plane domains that are
        not convex.
        """
        row = sp.csr_array((1, len(self.nodes)))
        goal = Everywhere(solve, barrier, checked, thorough)
        return Queries(row, [name], goals=[goal], made_for={"mesh": self.fingerprint("mesh")})

    def l2_error(self, name: str = "l2-error") -> Queries:
        """The prediction's error in the mean over the domain, ‖u_θ − u‖ in L².

        With ``lift=True`` it is the network's own, else that of the finite-element function with its values at the
        nodes.
        """
        return self._extreme(L2Error(), name)

    def energy_error(self, name: str = "energy-error") -> Queries:
        """The prediction's error in the energy norm, (∫ κ|∇(u_θ − u)|² + c (u_θ − u)²)^½; see `l2_error`."""
        return self._extreme(EnergyError(), name)

    def maximum(
        self, group: str | None = None, name: str = "maximum", *, checked: bool = False, thorough: bool = False
    ) -> Queries:
        """The largest value of the solution over the domain, or a group of cells.

        `checked`, of the whole domain, and `thorough` as in `everywhere`.
        """
        return self._extreme(Maximum(group, thorough, checked), name)

    def minimum(
        self, group: str | None = None, name: str = "minimum", *, checked: bool = False, thorough: bool = False
    ) -> Queries:
        """The smallest value of the solution over the domain, or over a group of cells; see `maximum`."""
        return self._extreme(Minimum(group, thorough, checked), name)

    def _extreme(self, goal: Extreme, name: str) -> Queries:
        """A query that is no linear functional: its row says nothing."""
        if isinstance(goal, Maximum | Minimum) and goal.cells is not None:
            self.mesh.cells_of(goal.cells)
        row = sp.csr_array((1, len(self.nodes)))
        return Queries(row, [name], goals=[goal], made_for={"mesh": self.fingerprint("mesh")})

    def cell_numbers(self, where: Any) -> Index:
        """Numbers of the cells of a group, of all cells for None, or these numbers."""
        return self._queries.chosen(where)[0]

    def ask_one(self, goal: Goal | None, name: str) -> Queries:
        """A query for what is asked of the PDE's own solution, one of this file."""
        if isinstance(goal, Block):
            return self.cells([goal.at], goal.side, name)
        if isinstance(goal, Slope):
            return (self.fluxes if goal.flux else self.gradients)([goal.at], "xyz"[goal.axis], [name])
        if isinstance(goal, Cells) and not isinstance(goal.cells, tuple):
            return self._queries.cells(goal.cells, [name], None)
        raise InputError(
            f"query '{name}': is not known beyond this mesh; ask for points, averages over balls, blocks and groups, "
            "derivatives and fluxes"
        )


def flux_rows(nodes: Nodes, *, cell: Index, bary: Vector, axis: int, kappa: Vector) -> Any:
    """κ times derivatives at points of cells, as rows over an element's nodes."""
    return sp.csr_array(sp.diags_array(kappa) @ slope_rows(nodes, cell=cell, bary=bary, axis=axis, k=0, count=1))
