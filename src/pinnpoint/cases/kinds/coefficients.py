"""Coefficients of scalar equations in case files: numbers, formulas, matrices, tables of groups, and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.cases.tables import REQUIRED, SPACE, Table, number
from pinnpoint.fem.data.grids import GRIDS, from_grid
from pinnpoint.formulas.expressions import Expression, parse
from pinnpoint.io.fields import read_array
from pinnpoint.mesh.mesh import Mesh


@dataclass(frozen=True)
class CoefficientFile:
    """One number for each cell of the mesh, or values on a regular grid, from a file.

    Attributes
    ----------
    field
        The name of the array in an .npz file.
    grid
        How values on a grid are meant, see `fem.data.grids.from_grid`; None where there is one for each cell.
    box
        Where the grid lies; the mesh's own box by default.
    """

    name: str
    file: Path
    field: str | None = None
    grid: str | None = None
    box: tuple[tuple[float, float], ...] | None = None

    __repr__ = brief

    def on(self, mesh: Mesh) -> Vector:
        """The number on each cell, or of a diffusion the matrix."""
        count, d = len(mesh.cells), mesh.dim
        try:
            values = read_array(self.file, self.field)
            if self.grid is not None:
                return from_grid(mesh, values, self.grid, self.box)
            if values.shape not in [(count,), (count, d, d)][: 2 if self.name == "diffusion" and d > 1 else 1]:
                or_matrix = f" or one {d} × {d} matrix" if self.name == "diffusion" and d > 1 else ""
                raise InputError(
                    f"must hold one number{or_matrix} for each of {count} cells; got shape {values.shape}; say grid "
                    f"where it is a picture ({', '.join(GRIDS)})"
                )
        except InputError as error:
            raise InputError(f"{self.name}: {error}") from error
        return values


def read_diffusion(table: Table) -> Any:
    """A number, a formula, a matrix of them, a table from groups to these, or a file."""
    kind = "number > 0, formula, symmetric matrix of these, table group → any of them, or a table with `file`"
    return _read(table, "diffusion", kind, 1.0, sign="positive", matrix=True)


def read_reaction(table: Table) -> Any:
    """A number, a formula, a table from groups to these, or a file."""
    kind = "number or formula, table group → these, or a table with `file`"
    found = _read(table, "reaction", kind, 0.0, sign="any", matrix=False)
    return parse(found, name=table.key("reaction")) if isinstance(found, float) else found


def read_source(table: Table, variables: tuple[str, ...] = SPACE) -> Any:
    """A number or a formula, or a table from groups to these."""
    if not isinstance(table.data.get("source"), dict):
        table._asked("source", "number or formula, or a table group → these", 0.0)
        return parse(table.take("source", 0.0), variables, name=table.key("source"))
    value, key = table.take("source", 0.0), table.key("source")
    return {group: parse(f, variables, name=f"{key}.{group}") for group, f in _filled(key, value).items()}


def read_convection(table: Table) -> Any:
    """A list of numbers or formulas, one for each coordinate, or a table from groups to such lists."""
    table._asked("convection", "list of numbers or formulas, or a table group → such lists", None)
    value, key = table.take("convection", None), table.key("convection")
    if value is None:
        return None
    if isinstance(value, dict):
        return {group: _row(f"{key}.{group}", b) for group, b in _filled(key, value).items()}
    return _row(key, value)


def _read(table: Table, word: str, kind: str, default: float, *, sign: str, matrix: bool) -> Any:
    table._asked(word, kind, default)
    value, key = table.take(word, default), table.key(word)
    if isinstance(value, dict) and "file" in value:
        return _file(Table(key, value, table.folder, section=f"{table.section}.{word}"), word)
    if isinstance(value, dict):
        return {group: _one(f"{key}.{group}", v, sign, matrix) for group, v in _filled(key, value).items()}
    return _one(key, value, sign, matrix)


def _filled(key: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
    if not value:
        raise InputError(f"{key}: the table is empty; give a number, or one for each group")
    return value


def _one(key: str, value: Any, sign: str, matrix: bool) -> Any:
    """A number of the right sign, a formula, or rows of them."""
    if isinstance(value, str):
        found: Expression = parse(value, name=key)
        if found.constant is not None:
            number(key, found.constant, sign)
        return found
    if matrix and isinstance(value, list):
        return tuple(_row(f"{key}.{i}", row) for i, row in enumerate(value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        or_rows = ", a matrix of them" if matrix else ""
        raise InputError(f"{key}: must be a number or a formula in quotes{or_rows}; got {str(value)[:60]!r}")
    return number(key, value, sign)


def _row(key: str, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= 3:
        raise InputError(f"{key}: must be a list of 1 to 3 numbers or formulas; got {str(value)[:60]!r}")
    each = [(f"{key}.{i}", v) for i, v in enumerate(value)]
    return tuple(parse(v, name=name) if isinstance(v, str) else number(name, v) for name, v in each)


def _file(table: Table, word: str) -> CoefficientFile:
    path = table.path("file", (".npz", ".npy"), REQUIRED)
    grid = table.choice("grid", GRIDS, None)
    field = table.text("field", None)
    table._asked("box", "list of [lower, upper], one for each axis", None)
    box = table.take("box", None)
    if box is not None:
        rows = [_row(f"{table.key('box')}.{i}", row) for i, row in enumerate(box if isinstance(box, list) else [])]
        if not rows or any(len(r) != 2 or any(isinstance(v, Expression) for v in r) for r in rows):
            raise InputError(f"{table.key('box')}: must be a list of [lower, upper], one for each axis")
        if grid is None:
            raise InputError(
                f"{table.key('box')}: only with grid, of which it is the place; say grid ({', '.join(GRIDS)}), "
                "or remove it"
            )
        box = tuple((float(a), float(b)) for a, b in rows)
    table.done()
    return CoefficientFile(word, path, field, grid, box)
