"""A quarter of PINNacle's plate with 17 discs, (0, 8)×(0, 12): the whole is four of these, mirrored.

Discs are polygons. Groups are "big" and "small" for rims, "sides", and "mirror" where quarters meet.
"""

from __future__ import annotations

import math
import tempfile

import gmsh

import pinnpoint as pp
from pinnpoint.mesh.mesh import Mesh

DISCS = [(0, 0, 1.0), (4, 3, 1.0), (0, 6, 1.0), (4, 9, 1.0), (3.2, 0, 0.4), (3.2, 6, 0.4)]


def quarter(quick: bool = False) -> Mesh:
    """Triangles."""
    size, corners = (1.0, 16) if quick else (0.6, 24)
    gmsh.initialize(interruptible=False)
    try:
        gmsh.option.setNumber("General.Terminal", 0)
        gmsh.option.setNumber("Mesh.MeshSizeMax", size)
        occ = gmsh.model.occ
        discs = [(2, _polygon(x, y, r, corners)) for x, y, r in DISCS]
        left = occ.cut([(2, occ.addRectangle(0, 0, 0, 8, 12))], discs)[0]
        occ.synchronize()
        gmsh.model.addPhysicalGroup(2, [tag for _, tag in left], name="plate")
        found: dict[str, list[int]] = {}
        for _, tag in gmsh.model.getEntities(1):
            found.setdefault(_group(*occ.getCenterOfMass(1, tag)[:2]), []).append(tag)
        for name, tags in found.items():
            gmsh.model.addPhysicalGroup(1, tags, name=name)
        gmsh.model.mesh.generate(2)
        with tempfile.TemporaryDirectory() as folder:
            gmsh.write(f"{folder}/plate.msh")
            return pp.io.read_mesh(f"{folder}/plate.msh")
    finally:
        gmsh.finalize()


def _polygon(x: float, y: float, r: float, corners: int) -> int:
    """A surface."""
    occ, turns = gmsh.model.occ, [2.0 * math.pi * k / corners for k in range(corners)]
    points = [occ.addPoint(x + r * math.cos(a), y + r * math.sin(a), 0.0) for a in turns]
    lines = [occ.addLine(a, b) for a, b in zip(points, points[1:] + points[:1], strict=True)]
    return int(occ.addPlaneSurface([occ.addCurveLoop(lines)]))


def _group(x: float, y: float) -> str:
    """The part of the boundary that has a line's middle."""
    if min(x, y) < 1e-6:
        return "mirror"
    if x > 8.0 - 1e-6 or y > 12.0 - 1e-6:
        return "sides"
    return "big" if min((math.hypot(x - a, y - b) - r, r) for a, b, r in DISCS)[1] == 1.0 else "small"
