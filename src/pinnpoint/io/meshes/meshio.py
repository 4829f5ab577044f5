"""VTU, legacy VTK and XDMF through meshio, kept quiet and never believed on counts."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnpoint.base.arrays import Index
from pinnpoint.base.errors import DependencyMissingError, InputError
from pinnpoint.io.meshes.blocks import DIMENSION, Blocks, numbered
from pinnpoint.io.meshes.simplices import KNOWN

FORMATS = {".vtu": "vtu", ".vtk": "vtk", ".xdmf": "xdmf"}
TAGS = ("gmsh:physical", "medit:ref", "cell_tags", "CellEntityIds", "MaterialIds")
"""Cell data that name groups by number."""
COUNTS = {  # where each format says how many cells it has
    ".vtu": re.compile(rb"<Piece[^>]*\sNumberOfCells\s*=\s*[\"'](\d+)[\"']"),
    ".vtk": re.compile(rb"(?:^|\n)CELL_TYPES\s+(\d+)"),
    ".xdmf": re.compile(rb"<Topology[^>]*\sNumberOfElements\s*=\s*[\"'](\d+)[\"']"),
}
log = logging.getLogger(__name__)


def read_foreign(path: Path, data: bytes) -> Blocks:
    """The points and element blocks of a file that meshio reads."""
    mesh = load(path)
    announced = [int(n) for n in COUNTS[path.suffix.lower()].findall(data)]
    found = sum(len(b.data) for b in mesh.cells)
    if announced and sum(announced) != found:
        raise InputError(f"announces {sum(announced)} elements in {len(announced)} pieces, but {found} were read")
    tags = next((mesh.cell_data[t] for t in TAGS if t in mesh.cell_data), None)
    kinds = []
    for i, b in enumerate(mesh.cells):
        cells = np.asarray(b.data) if b.type in (*DIMENSION, *KNOWN) else np.zeros((len(b.data), 1), dtype=np.intp)
        kinds.append((b.type, cells, np.zeros(len(cells), dtype=np.intp) if tags is None else _whole(tags[i])))
    blocks, unnamed = numbered(kinds, mesh.field_data)
    return Blocks(np.atleast_2d(mesh.points), blocks, unnamed=unnamed)


def load(path: Path) -> Any:
    """What meshio makes of a file; whatever it throws, prints or exits with becomes one refusal."""
    try:
        import meshio
    except ImportError as error:
        raise DependencyMissingError(f"'{path.name}' needs meshio: pip install 'pinnpoint[mesh]'") from error
    said = io.StringIO()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", message="string or file could not be read")
            mesh = meshio.read(path, file_format=FORMATS[path.suffix.lower()])
    except ModuleNotFoundError as error:
        raise DependencyMissingError(f"'{path.name}' needs {error.name}: pip install 'pinnpoint[mesh]'") from error
    except (SystemExit, Exception) as error:  # meshio ends the interpreter on files that it cannot read
        reason = " ".join(said.getvalue().split()) or f"{type(error).__name__}: {error}"
        kind = FORMATS[path.suffix.lower()].upper()
        raise InputError(f"could not be read as {kind} ({reason[:200]}); is the file complete?") from error
    if said.getvalue().strip():
        log.warning("%s: %s", path.name, " ".join(said.getvalue().split()))
    return mesh


def _whole(tags: NDArray[np.generic]) -> Index:
    a = np.asarray(tags).ravel()
    if a.dtype.kind not in "iuf" or not np.all(a == np.rint(a)):
        raise InputError("the cell data that name groups must be whole numbers")
    return np.abs(a.astype(np.intp))
