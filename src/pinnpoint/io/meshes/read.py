"""Mesh files of any supported format become one `Mesh`."""

from __future__ import annotations

from copy import copy
from pathlib import Path

import numpy as np

from pinnpoint.base.arrays import set_fields
from pinnpoint.base.errors import InputError
from pinnpoint.base.files import PathLike, read_bytes
from pinnpoint.io.decks.text import read_text
from pinnpoint.io.meshes.blocks import Blocks, build_mesh
from pinnpoint.io.meshes.gmsh import read_gmsh
from pinnpoint.io.meshes.meshio import FORMATS, read_foreign
from pinnpoint.io.meshes.simplices import simplified
from pinnpoint.mesh.mesh import Mesh

NASTRAN = (".bdf", ".fem", ".nas")
SUFFIXES = (".msh", *FORMATS, ".inp", *NASTRAN)


def read_mesh(path: PathLike, *, straight: bool = False) -> Mesh:
    """Read a mesh of intervals, triangles or tetrahedra with its groups.

    MSH 2.2 and 4.1 (text and binary), Abaqus and Nastran files need nothing else; VTU, legacy VTK and XDMF need the
    extra ``mesh``. Cells of highest dimension make the mesh; elements one dimension lower name boundary groups. Groups
    without a name are refused in MSH files; VTU, VTK and XDMF number their groups, and field data of a VTU that hold
    [number, dimension] name them; others are left out. Quadrilaterals, hexahedra, prisms and pyramids are cut into
    simplices. Second-order triangles and tetrahedra are bent cells where their mid-side nodes are off the middle of an
    edge. Groups of any other dimension are refused. A planar mesh is cut to two coordinates when z = 0 everywhere, a
    straight one to one. Points that no cell uses are left out. `logging` says what was left out.

    Parameters
    ----------
    path
        A file that ends in .msh, .vtu, .vtk, .xdmf, .inp, .bdf, .fem or .nas. Of Nastran decks the elements alone are
        read, grouped by property; `read_deck` reads the whole problem.
    straight
        Leave out mid-side nodes; the mesh's remarks say how far they are off the straight edges.
    """
    data = read_bytes(path, "mesh file")
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"mesh file '{target}': '{suffix}' files are not read (known: {', '.join(SUFFIXES)})")
    try:
        with np.errstate(all="ignore"):  # what overflows has no volume
            file, sides, remarks = simplified(_read(target, suffix, data))
            mesh = build_mesh(file, sides, target.name, remarks)
            return straightened(mesh) if straight else mesh
    except InputError as error:
        raise InputError(f"mesh file '{target}': {error}") from error
    except (ArithmeticError, LookupError, MemoryError, ValueError) as error:
        raise InputError(f"mesh file '{target}': could not be read; it is broken ({error})") from error


def straightened(mesh: Mesh) -> Mesh:
    """The same mesh without mid-side nodes, which its remarks tell."""
    if mesh.middles is None:
        return mesh
    away = float(mesh.middles.distances(mesh.points).max())
    said = f"{len(mesh.middles.edges)} mid-side nodes were left out, up to {away:.3g} off their straight edges"
    found = copy(mesh)
    set_fields(found, middles=None, remarks=(*mesh.remarks, said))
    return found


def _read(path: Path, suffix: str, data: bytes) -> Blocks:
    if suffix == ".msh":
        return read_gmsh(data)
    if suffix == ".inp":
        from pinnpoint.io.decks.abaqus.mesh import read_abaqus  # decks are large

        return read_abaqus(data)
    if suffix in NASTRAN:
        from pinnpoint.io.decks.nastran.deck import read_nastran_mesh

        return read_nastran_mesh(read_text(path))
    return read_foreign(path, data)
