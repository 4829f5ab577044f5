"""How a mesh is shared for the transfer: each process has the cells about its own vertices, and so whole patches.

A patch needs all cells about its vertex, one layer beyond the cells that a process owns; it is solved once, by the
owner of the vertex. A facet's flux is the sum of the patches of its vertices, added by the first process: one number
for both cells of the facet, as the proof needs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.mesh.topology import Topology
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.energy.anchors import DIRICHLET, Anchors
from pinnpoint.transfer.energy.estimator import Estimator

NOWHERE = np.zeros(0)
UNUSED = Anchors(NOWHERE, NOWHERE, NOWHERE, NOWHERE, NOWHERE, NOWHERE, NOWHERE, np.inf)
"""Means are bounded by the first process alone."""


@dataclass(frozen=True, eq=False)
class Share:
    """Numbers of what one process has, ascending, and which of it is its own.

    Attributes
    ----------
    vertices, facets, cells, nodes
        In the whole mesh. In the same order they are those of the part's own topology.
    own
        Places among `cells` of the cells whose first vertex it owns.
    vertex
        Which of the vertices it owns, a mask.
    """

    vertices: Index
    facets: Index
    cells: Index
    nodes: Index
    own: Index
    vertex: NDArray[np.bool_]

    @classmethod
    def of(cls, topology: Topology, cell_nodes: Index, owner: Index, rank: int) -> Share:
        """The share of a process, by the owners of vertices."""
        mine = owner == rank
        cells = np.flatnonzero(mine[topology.cells].any(axis=1))
        vertices = np.unique(topology.cells[cells])
        own = np.flatnonzero(mine[topology.cells[cells, 0]])
        facets = np.unique(topology.cell_facets[cells])
        return cls(vertices, facets, cells, np.unique(cell_nodes[cells]), own, mine[vertices])

    @property
    def own_cells(self) -> Index:
        """Numbers of the cells that it owns."""
        return self.cells[self.own]

    def given(self, model: Continuum) -> dict[str, Any]:
        """What its process must know of a model."""
        T = model.topology
        number = np.full(len(T.points), -1, dtype=np.intp)
        number[self.vertices] = np.arange(len(self.vertices))
        edges = model.edges[self.nodes[len(self.vertices) :] - len(T.points)] if model.degree == 2 else model.edges[:0]
        return {
            "points": T.points[self.vertices],
            "cells": number[T.cells[self.cells]],
            "edges": number[edges],
            "degree": model.degree,
            "kappa": model.kappa[self.cells],
            "reaction": model.reaction[self.cells],
            "kind": model.kind[self.facets],
            "vertex": self.vertex,
            "own": self.own,
            "sign": T.sign[self.own_cells],
        }


@dataclass(frozen=True, eq=False)
class Portion:
    """A process's part of a model: patches of its own vertices, and bounds on its own cells."""

    model: Continuum
    vertex: NDArray[np.bool_]
    estimator: Estimator

    @classmethod
    def of(cls, given: dict[str, Any]) -> Portion:
        """From what `Share.given` says."""
        T = Topology(given["points"], given["cells"])
        # no patch of an own vertex has a facet at the edge of the part
        kind = np.where((given["kind"] == 0) & T.boundary, DIRICHLET, given["kind"]).astype(np.int8)
        model = Continuum(T, given["edges"], given["degree"], given["kappa"], given["reaction"], kind, 0.0, (), ())
        own, nodes = given["own"], model.cell_nodes
        estimator = Estimator(
            T.seen_from(own, given["sign"]),
            T.points,
            nodes[own],
            model.degree,
            model.kappa[own],
            model.reaction[own],
            kind.astype(np.intp),
            UNUSED,
        )
        return cls(model, given["vertex"], estimator)

    def fluxes(self, nodal: Vector, source: Vector, prescribed: Vector | None) -> Vector:
        """The parts of the flux that belong to its own vertices."""
        return self.model.balanced(nodal, source, prescribed, only=self.vertex)
