"""Averages over blocks, squares or cubes about points, as functionals of a finite-element field."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, per_query
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.fem.fields import FieldQueries
from pinnpoint.mesh.quadrature import conical
from pinnpoint.systems.goals import Block
from pinnpoint.systems.queries import Queries, Samples
from pinnpoint.taylor.bernstein import Density, values
from pinnpoint.transfer.blocks import corners_of, over_block

LINE = {1: 32, 2: 16, 3: 8}
"""Gauss points along each side, for the raw value of a prediction."""


def block_queries(asked: FieldQueries, X: ArrayLike, side: ArrayLike, names: Sequence[str] | None) -> Queries:
    """Averages over blocks that lie in the domain, exact for the elements but for rounding."""
    mesh = asked.mesh
    X = asked.as_points("at", X)
    sides = per_query("side", side, len(X), sign="positive")
    asked.locator.locate(X, "at")
    asked.require_away(X, 0.5 * sides * np.sqrt(mesh.dim), "at")
    blocks = (corners_of(x, s) for x, s in zip(X, sides.tolist(), strict=True))
    rows = partial(density_rows, densities=tuple(over_block(mesh.points, mesh.cells, *ends)[0] for ends in blocks))
    offsets, weights = block_rule(mesh.dim)
    where = (X[:, None, :] + sides[:, None, None] * offsets).reshape(-1, mesh.dim)
    at = np.repeat(np.arange(len(X)), len(weights))
    mix = sp.csr_array((np.tile(weights, len(X)), (at, np.arange(at.size))), shape=(len(X), at.size))
    goals = [Block(tuple(x), s) for x, s in zip(X.tolist(), sides.tolist(), strict=True)]
    return Queries(
        rows(asked.nodes),
        names,
        points=X,
        samples=Samples(where, mix),
        goals=goals,
        on_nodes=rows,
        made_for=asked.made_for,
    )


def density_rows(nodes: Nodes, *, densities: Sequence[Density]) -> Any:
    """∫ w φ_i of quadratics w on cells, as rows over an element's nodes."""
    bary, weights = conical(nodes.mesh.dim, 3)
    table = (values(bary) * weights[:, None]).T @ nodes.shapes(bary)
    rows, columns, entries = [], [], []
    for i, w in enumerate(densities):
        local = (w.coefficients @ table) * nodes.mesh.volumes[w.cells, None]
        dofs = nodes.cell_dofs[w.cells]
        rows.append(np.full(dofs.size, i))
        columns.append(dofs.ravel())
        entries.append(local.ravel())
    shape = (len(densities), len(nodes))
    return sp.csr_array((np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))), shape=shape)


def block_rule(d: int) -> tuple[Vector, Vector]:
    """Points of the block of side one about the origin, and weights that sum to one."""
    t, w = np.polynomial.legendre.leggauss(LINE[d])
    points = np.array(list(product(0.5 * t, repeat=d)))
    weights = np.array([float(np.prod(x)) for x in product(0.5 * w, repeat=d)])
    return points, weights
