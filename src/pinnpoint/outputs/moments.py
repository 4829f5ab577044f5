"""Fields over time: the moments of a report, and a series of files for viewers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.base.files import write_whole
from pinnpoint.certifiers.protocols import Extraction
from pinnpoint.io.meshes.vtu import UNKNOWN, quoted, write_vtu
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.report.moments import label_of
from pinnpoint.systems.evolution.grid import TimeGrid
from pinnpoint.systems.queries import Queries

DRAWN = 24
"""Moments in a report, those that are asked about aside."""
WRITTEN = 200
"""Files of a series at most; of more nodes in time every second, third … is written."""
FILE = re.compile(r"\d{4}\.vtu")


@dataclass(frozen=True, eq=False)
class Moments:
    """Prediction and corrected states at the levels of a time grid, (levels, n)."""

    grid: TimeGrid
    predicted: Vector
    corrected: Vector | None

    __repr__ = brief

    @classmethod
    def of(cls, grid: TimeGrid, extracted: Extraction, corrected: Vector | None) -> Moments:
        """As the prediction was given, where it is values at nodes."""
        U = extracted.given if extracted.by_nodes and extracted.given is not None else extracted.U
        shape = (grid.levels.size, -1)
        return cls(grid, U.reshape(shape), None if corrected is None else np.asarray(corrected).reshape(shape))

    @property
    def times(self) -> Vector:
        """Of the levels."""
        return self.grid.levels

    def at(self, level: int) -> dict[str, Vector]:
        """The fields of one level, by name."""
        return self._named(self.predicted[level], None if self.corrected is None else self.corrected[level])

    def frames(self, times: Sequence[float]) -> list[tuple[str, dict[str, Vector]]]:
        """The fields at some times, by what these are called."""
        W = self.grid.at(times)
        U, V = W @ self.predicted, None if self.corrected is None else W @ self.corrected
        return [(label_of(t), self._named(U[k], None if V is None else V[k])) for k, t in enumerate(times)]

    @staticmethod
    def _named(predicted: Vector, corrected: Vector | None) -> dict[str, Vector]:
        found = {"prediction": predicted}
        return found if corrected is None else found | {"corrected": corrected, "error": predicted - corrected}

    def write(self, path: Path, mesh: Mesh, nodes: Any) -> Path:
        """A .pvd file, and beside it a folder of its name with one .vtu file for each moment."""
        folder = path.with_suffix("")
        folder.mkdir()
        every = np.arange(0, self.grid.steps + 1, -(-(self.grid.steps + 1) // WRITTEN))
        every = np.unique(np.append(every, self.grid.steps)) * self.grid.per_slab
        lines = ['<?xml version="1.0"?>', '<VTKFile type="Collection" version="0.1">', "<Collection>"]
        for k, level in enumerate(every.tolist()):
            write_vtu(folder / f"{k:04d}.vtu", mesh, self.at(level), nodes=nodes, certificate=UNKNOWN)
            time, file = quoted(repr(float(self.times[level]))), quoted(f"{folder.name}/{k:04d}.vtu")
            lines.append(f'<DataSet timestep={time} part="0" file={file}/>')
        text = "\n".join([*lines, "</Collection>", "</VTKFile>", ""])
        return write_whole(path, [text.encode("utf-8")])


def drawn_times(grid: TimeGrid, queries: Queries) -> list[float]:
    """The moments of a report: nodes of the grid from the first to the last, and those that queries ask about."""
    picked = np.unique(np.linspace(0, grid.steps, min(DRAWN, grid.steps + 1)).round().astype(int))
    asked = [] if queries.times is None else queries.times[: 2 * DRAWN].tolist()
    found: dict[str, float] = {label_of(t): t for t in grid.nodes[picked].tolist()}
    found |= {label_of(t): t for t in asked}
    return sorted(found.values())


def require_moments_folder(folder: Path) -> None:
    """Refuse to replace a folder with files that no series has put there."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"--out: '{folder}' is no folder of a series of fields; move it, or choose another place")
    if folder.is_dir():
        foreign = next((p.name for p in folder.iterdir() if p.is_dir() or not FILE.fullmatch(p.name)), "")
        if foreign:
            raise InputError(
                f"--out: '{folder}' would be replaced, and '{foreign}' in it belongs to no series; move it, or choose "
                "another place"
            )
