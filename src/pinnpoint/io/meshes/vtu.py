"""Fields on a mesh for ParaView and meshio: a VTU writer that needs nothing."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.arrays import point_list
from pinnpoint.base.errors import InputError
from pinnpoint.base.files import PathLike, write_whole
from pinnpoint.mesh.mesh import Mesh

CELL_TYPE = {1: {2: 3, 3: 21}, 2: {3: 5, 6: 22}, 3: {4: 10, 10: 24}}
"""VTK's number of the simplex, by dimension and nodes per cell."""
ORDER = {6: [0, 1, 2, 3, 5, 4], 10: [0, 1, 2, 3, 4, 7, 5, 6, 8, 9]}
"""VTK's order of a quadratic cell's nodes, where it is not that of vertices and then pairs of vertices."""
UNKNOWN = "0" * 64
"""In the place of a certificate's id that is not known yet; see `stamp`."""
PIECE = 3 * 2**16
"""Bytes encoded at a time."""
TYPES = {"<f8": "Float64", "<i8": "Int64", "|u1": "UInt8"}


def quoted(text: str) -> str:
    """Any string as the value of an attribute."""
    return '"' + escape(text).replace("\n", "&#10;").replace("\r", "&#13;").replace("\t", "&#9;") + '"'


def write_vtu(
    path: PathLike,
    mesh: Mesh,
    point_data: Mapping[str, Any],
    cell_data: Mapping[str, Any] | None = None,
    *,
    nodes: Any = None,
    certificate: str = "",
) -> Path:
    """Write fields on a mesh, whole or not at all; all of them must be finite.

    Parameters
    ----------
    path
        The file; one that exists is replaced.
    mesh
        The mesh.
    point_data
        Name to one value (n,) or row (n, c) per point. Rows of two are given a third component 0, as viewers expect.
    cell_data
        The same per cell.
    nodes
        The nodes of the elements, with ``points`` and ``cell_dofs``, where the values belong to them rather than to
        the mesh's points; those of quadratic elements make quadratic cells.
    certificate
        The id of a certificate that the fields belong to; it is the name of an entry of the file's field data.
    """
    points, cells = (mesh.points, mesh.cells) if nodes is None else (nodes.points, nodes.cell_dofs)
    cells = cells[:, ORDER.get(cells.shape[1], slice(None))]
    nodal = {name: _rows(name, a, len(points)) for name, a in point_data.items()}
    cellwise = {name: _rows(name, a, len(cells)) for name, a in (cell_data or {}).items()}
    return write_whole(path, _pieces(points, cells, nodal, cellwise, certificate))


def _rows(name: str, a: Any, count: int) -> Any:
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"point_data: a field needs a name; got {name!r}")
    rows = point_list(f"field '{name}'", a, count)
    return np.pad(rows, ((0, 0), (0, 1))) if rows.shape[1] == 2 else rows


def stamp(path: Path, certificate: str) -> None:
    """Put a certificate's id where `UNKNOWN` stands in a file that was written with it."""
    with path.open("r+b") as file:
        at = file.read(2**10).find(UNKNOWN.encode())
        if at < 0 or len(certificate) != len(UNKNOWN):
            raise ValueError(f"{path}: has no place for the id {certificate!r}")
        file.seek(at)
        file.write(certificate.encode("ascii"))


def _pieces(
    points: Any, cells: Any, nodal: Mapping[str, Any], cellwise: Mapping[str, Any], certificate: str
) -> Iterator[bytes]:
    (n, width), dim = cells.shape, points.shape[1]
    yield b'<?xml version="1.0"?>\n<VTKFile type="UnstructuredGrid" version="1.0" byte_order="LittleEndian" '
    yield b'header_type="UInt64">\n<UnstructuredGrid>\n'
    if certificate:
        entry = f"certificate {certificate}"  # a name, as not every reader has arrays of text
        yield f'<FieldData>\n<DataArray type="Int64" Name={quoted(entry)} '.encode()
        yield b'NumberOfTuples="1" format="ascii">\n1\n</DataArray>\n</FieldData>\n'
    yield f'<Piece NumberOfPoints="{len(points)}" NumberOfCells="{n}">\n<Points>\n'.encode()
    yield from _array("Points", np.pad(points, ((0, 0), (0, 3 - dim))), "<f8")
    yield b"</Points>\n<Cells>\n"
    yield from _array("connectivity", cells.reshape(-1, 1), "<i8")
    yield from _array("offsets", np.arange(width, n * width + 1, width)[:, None], "<i8")
    yield from _array("types", np.full((n, 1), CELL_TYPE[dim][width]), "|u1")
    yield b"</Cells>\n"
    for tag, fields in ((b"PointData", nodal), (b"CellData", cellwise)):
        yield b"<" + tag + b">\n"
        for name, a in fields.items():
            yield from _array(name, a, "<f8")
        yield b"</" + tag + b">\n"
    yield b"</Piece>\n</UnstructuredGrid>\n</VTKFile>\n"


def _array(name: str, a: Any, dtype: str) -> Iterator[bytes]:
    raw = np.ascontiguousarray(a, dtype=dtype).reshape(-1).view(np.uint8).data
    components = f' NumberOfComponents="{a.shape[1]}"' if a.shape[1] > 1 else ""
    yield f'<DataArray type="{TYPES[dtype]}" Name={quoted(name)}{components} format="binary">\n'.encode()
    first = PIECE - 8  # what is encoded at a time, length and data in a row, has a multiple of three bytes
    yield base64.b64encode(np.array([len(raw)], dtype="<u8").tobytes() + raw[:first])
    for at in range(first, len(raw), PIECE):
        yield base64.b64encode(raw[at : at + PIECE])
    yield b"\n</DataArray>\n"
