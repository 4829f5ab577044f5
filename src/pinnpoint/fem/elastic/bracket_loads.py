"""The bracket as SimJEB loads its own: titanium, bolt holes clamped, four load cases at the pin. N, mm, MPa."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from pinnpoint.base.errors import InputError
from pinnpoint.fem.elastic.elasticity import Elasticity
from pinnpoint.fem.elastic.loads import Load
from pinnpoint.mesh.bracket import PIN, bracket_mesh
from pinnpoint.mesh.mesh import Mesh

YOUNG, POISSON = 113800.0, 0.342
LOADS = {
    "vertical": Load((0.0, 0.0, 35585.77), at=PIN),
    "horizontal": Load((-37809.9, 0.0, 0.0), at=PIN),
    "diagonal": Load((-28276.2, 0.0, 31403.9), at=PIN),
    "torsional": Load((0.0, 0.0, 0.0), (0.0, 0.0, 564924.2), at=PIN),
}
"""Load cases of SimJEB, at the middle of the pin."""


def bracket(
    load: str | Load = "vertical", dofs: int | None = None, mesh: Mesh | None = None, **options: Any
) -> Elasticity:
    """The bracket under one of its load cases.

    Parameters
    ----------
    load
        "vertical", "horizontal", "diagonal", "torsional", or any `Load` on the group ``pin``.
    dofs
        Size of the mesh, met within 15 % (Gmsh, extra ``mesh``); the small shipped mesh unless told.
    mesh
        A mesh with the groups ``bolts`` and ``pin``, instead of dofs.
    options
        Of `Elasticity`.
    """
    if mesh is not None and dofs is not None:
        raise InputError("mesh: give mesh or dofs, not both")
    if isinstance(load, str):
        if load not in LOADS:
            close = get_close_matches(load, LOADS, 1)
            hint = f"; did you mean '{close[0]}'?" if close else ""
            raise InputError(f"load: unknown load case '{load}'{hint} (known: {', '.join(LOADS)})")
        load = LOADS[load]
    mesh = bracket_mesh(dofs=dofs) if mesh is None else mesh
    return Elasticity(mesh, YOUNG, POISSON, fixed={"bolts": 0.0}, force={"pin": load}, **options)
