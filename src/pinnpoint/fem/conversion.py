"""Meshes as they come: the package's own, or scikit-fem's."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnpoint.base.arrays import has, members
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.mesh import Mesh

VERTICES = {1: 2, 2: 3, 3: 4}


def as_mesh(mesh: Any, *, bent: bool = False) -> Mesh:
    """A `Mesh`; scikit-fem's linear simplices are converted with their named subdomains and boundaries.

    One whose cells are bent is refused unless `bent` says that they are understood.
    """
    if isinstance(mesh, Mesh):
        if mesh.middles is not None and not bent:
            away = float(mesh.middles.distances(mesh.points).max())
            raise InputError(
                f"mesh: {len(mesh.middles.edges)} mid-side nodes are off the middles of their edges, by up to "
                f"{away:.3g}; "
                "bent cells are for reaction-diffusion. Read the mesh with straight=True (mesh.straight in a case file)"
            )
        return mesh
    if not has(mesh, "p", "t"):
        raise InputError(f"mesh: must be a pinnpoint or scikit-fem mesh; got {type(mesh).__name__}")
    d = int(mesh.p.shape[0])
    vertices = mesh.t[: VERTICES.get(d, 0)].T
    if d not in VERTICES or mesh.t.shape[0] != VERTICES[d] or mesh.p.shape[1] != int(mesh.t.max()) + 1:
        raise InputError(
            f"mesh: must be linear intervals, triangles or tetrahedra without unused points; got {type(mesh).__name__} "
            f"with {mesh.t.shape[0]} nodes per cell in {d}D"
        )
    cells = {str(k): np.asarray(v) for k, v in (mesh.subdomains or {}).items()}
    count = mesh.facets.shape[1]
    facets = {
        str(k): mesh.facets[:, members(f"boundary '{k}'", v, count)].T for k, v in (mesh.boundaries or {}).items()
    }
    return Mesh(mesh.p.T, vertices, cells, facets)
