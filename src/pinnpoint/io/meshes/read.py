"""Mesh files of any supported format become one `Mesh`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pinnpoint.base.errors import InputError
from pinnpoint.base.files import PathLike, read_bytes
from pinnpoint.io.decks.abaqus.mesh import read_abaqus
from pinnpoint.io.decks.nastran.deck import read_nastran_mesh
from pinnpoint.io.decks.text import read_text
from pinnpoint.io.meshes.blocks import Blocks, build_mesh
from pinnpoint.io.meshes.gmsh import read_gmsh
from pinnpoint.io.meshes.meshio import FORMATS, read_foreign
from pinnpoint.mesh.mesh import Mesh

NASTRAN = (".bdf", ".fem", ".nas")
SUFFIXES = (".msh", *FORMATS, ".inp", *NASTRAN)


def read_mesh(path: PathLike) -> Mesh:
    """Read a mesh of intervals, triangles or tetrahedra with its groups.

    MSH 2.2 and 4.1 (text and binary), Abaqus and Nastran files need nothing else; VTU, legacy VTK and XDMF need the
    extra ``mesh``. Cells of highest dimension make the mesh; elements one dimension lower name boundary groups. Groups
    without a name are refused in MSH files; VTU, VTK and XDMF number their groups, and field data of a VTU that hold
    [number, dimension] name them; others are left out. Quadrilaterals, hexahedra, curved elements and groups of any
    other dimension are refused. A planar mesh is cut to two coordinates when z = 0 everywhere, a straight one to one.
    Points that no cell uses are left out. `logging` says what was left out.

    Parameters
    ----------
    path
        A file that ends in .msh, .vtu, .vtk, .xdmf, .inp, .bdf, .fem or .nas. Of Nastran decks the elements alone are
        read, grouped by property; `read_deck` reads the whole problem.
    """
    data = read_bytes(path, "mesh file")
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"mesh file '{target}': '{suffix}' files are not read (known: {', '.join(SUFFIXES)})")
    try:
        with np.errstate(all="ignore"):  # what overflows has no volume
            return build_mesh(_read(target, suffix, data))
    except InputError as error:
        raise InputError(f"mesh file '{target}': {error}") from error
    except (ArithmeticError, LookupError, MemoryError, ValueError) as error:
        raise InputError(f"mesh file '{target}': could not be read; it is broken ({error})") from error


def _read(path: Path, suffix: str, data: bytes) -> Blocks:
    if suffix == ".msh":
        return read_gmsh(data)
    if suffix == ".inp":
        return read_abaqus(data)
    if suffix in NASTRAN:
        return read_nastran_mesh(read_text(path))
    return read_foreign(path, data)
