"""What the intervals of a certificate are of, in plain words."""

from __future__ import annotations

SYSTEM = "the solution of the discrete system"
MESH = "the discrete solution on this mesh, not the PDE's solution"
TRANSFERRED = "the continuous solution that the transfer leads to"
DOMAINS = {
    1: "the PDE's solution on the mesh's interval",
    2: "the PDE's solution on the mesh's polygon",
    3: "the PDE's solution on the mesh's polyhedron",
}
"""By dimension: the domain is what the cells cover."""
CURVED = "the PDE's solution on the domain that the given curves bound"
ISOPARAMETRIC = "the PDE's solution on the isoparametric domain of the mesh"
ARCS = "the PDE's solution on the domain that arcs at the given curves bound"
BOX = "the PDE's solution on the box"
BY_TARGET = {
    "discrete": (SYSTEM, MESH),
    "continuous": (TRANSFERRED, *DOMAINS.values(), CURVED, ISOPARAMETRIC, ARCS, BOX),
}
ESTIMATED = (
    "mesh: about what the mesh leaves, |PDE's value - discrete value|; an estimate from quadratic elements, part of no "
    "interval and no guarantee"
)
