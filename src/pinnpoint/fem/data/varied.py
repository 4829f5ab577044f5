"""Coefficients A, b and c as they are given, region by region, and their values at quadrature points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector, number
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.fem.data.coefficients import function, per_cell, require_defined
from pinnpoint.formulas.expressions import Expression
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.quadrature import at_points, rule
from pinnpoint.taylor.inputs import enclosed
from pinnpoint.transfer.media.coefficients import Coefficients, matrix

SYMMETRIC = 1e-12
"""Entries of matrices may differ from their mirror images by this much, relatively."""


@dataclass(frozen=True, eq=False)
class Parts:
    """One coefficient: what is given, and which of it holds in each cell."""

    name: str
    labels: Index
    values: tuple[Any, ...]

    __repr__ = brief

    @property
    def opaque(self) -> bool:
        """Whether somebody's function is among it, of which nothing is known."""
        return any(callable(v) and not enclosed(v) for v in _entries(self.values))

    @property
    def varies(self) -> bool:
        """Whether it varies inside cells."""
        return any(callable(v) and not is_number(v) for v in _entries(self.values))

    def at(self, X: Vector, mesh: Mesh) -> Vector:
        """Values at points of the cells (C, Q, d): (C, Q), or with the shape of a table behind."""
        shapes = {np.shape(v) if isinstance(v, tuple) else () for v in self.values}
        shape = max(shapes, key=len)
        found = np.empty((*X.shape[:2], *shape))
        table = [_filled(v, shape) for v in self.values]
        for index in np.ndindex(shape):
            each = [_entry(v, index) for v in table]
            numbers = [not callable(v) for v in each]
            found[(..., *index)] = np.array([float(v) if n else 0.0 for v, n in zip(each, numbers, strict=True)])[
                self.labels
            ][:, None]
            for v in {id(v): v for v, n in zip(each, numbers, strict=True) if not n}.values():
                cells = np.flatnonzero(np.array([w is v for w in each])[self.labels])
                name = f"{self.name}{''.join(f'[{i}]' for i in index)}"
                values = function(name, v)(X[cells].reshape(-1, mesh.dim)).reshape(len(cells), -1)
                require_defined(name, v, mesh.points[mesh.cells[cells]])
                found[(cells, slice(None), *index)] = values
        return found


def diffusion_parts(given: Any, mesh: Mesh) -> Parts:
    """A, formulas parsed: scalars, or symmetric d × d tables, by cell groups or by cells."""
    d = mesh.dim
    if isinstance(given, np.ndarray) and given.ndim == 3:
        found, labels = np.unique(given, axis=0, return_inverse=True)
        return Parts("diffusion", labels.ravel(), tuple(_matrix("diffusion", a.tolist(), d) for a in found))
    if isinstance(given, Mapping):
        each = {group: _diffusion(f"diffusion of group '{group}'", a, d) for group, a in given.items()}
        return _grouped("diffusion", each, mesh)
    if _by_cell(given):
        return _by_cells("diffusion", given, mesh)
    return Parts("diffusion", np.zeros(len(mesh.cells), dtype=np.intp), (_diffusion("diffusion", given, d),))


def convection_parts(given: Any, mesh: Mesh) -> Parts | None:
    """b, formulas parsed: d numbers or formulas, or a table of such from cell groups; None where there is none."""
    if given is None:
        return None
    d = mesh.dim
    if isinstance(given, Mapping):
        each = {group: _vector(f"convection of group '{group}'", b, d) for group, b in given.items()}
        return _grouped("convection", each, mesh)
    return Parts("convection", np.zeros(len(mesh.cells), dtype=np.intp), (_vector("convection", given, d),))


def reaction_parts(given: Any, mesh: Mesh) -> Parts:
    """c, formulas parsed: a number, a formula, a table from cell groups, or one number per cell."""
    if isinstance(given, Mapping):
        return _grouped("reaction", {g: _scalar(f"reaction of group '{g}'", c) for g, c in given.items()}, mesh)
    if not callable(given) and np.ndim(given) > 0:
        return _by_cells("reaction", given, mesh)
    return Parts("reaction", np.zeros(len(mesh.cells), dtype=np.intp), (_scalar("reaction", given),))


def reaction_at(given: Any, mesh: Mesh, order: int) -> tuple[Vector | None, Vector | None]:
    """The reaction per cell where it is constant on cells, and at a rule's points (C, Q); None where it is zero."""
    constant = given.constant if isinstance(given, Expression) else None
    by_group = isinstance(given, Mapping) and any(callable(v) for v in given.values())
    if constant is not None or not (callable(given) or by_group):
        by_cell = per_cell("reaction", given if constant is None else constant, mesh)
        if not by_cell.any():
            return None, None
        return by_cell, np.repeat(by_cell[:, None], len(rule(mesh.dim, order)[1]), axis=1)
    X = at_points(mesh.points[mesh.cells], rule(mesh.dim, order)[0])
    c = reaction_parts(given, mesh).at(X, mesh)
    return None, c


def require_nonnegative(given: Any, mesh: Mesh, order: int) -> None:
    """Refuse a reaction by formulas that is negative at some point of a rule, with the place and the number."""
    by_cell, c = reaction_at(given, mesh, order)
    if by_cell is None and c is not None and float(c.min()) < 0.0:
        X = at_points(mesh.points[mesh.cells], rule(mesh.dim, order)[0])
        cell, q = np.unravel_index(int(np.argmin(c)), c.shape)
        raise InputError(f"reaction: must be ≥ 0; it is {float(c.min()):.3e} at {X[cell, q].tolist()}")


def coefficients(A: Parts, b: Parts | None, c: Parts) -> Coefficients | None:
    """The regions where each of them is one; None where A is a scalar and nothing varies inside cells or convects."""
    if b is None and not (A.varies or c.varies or any(isinstance(a, tuple) for a in A.values)):
        return None
    return regions_of(A, b, c)


def regions_of(A: Parts, b: Parts | None, c: Parts) -> Coefficients:
    """The regions where each of them is one."""
    rows = np.stack([p.labels for p in (A, b, c) if p is not None], axis=1)
    found, regions = np.unique(rows, axis=0, return_inverse=True)
    drift: tuple[Any, ...] = (None,) * len(found) if b is None else tuple(b.values[i] for i in found[:, 1])
    return Coefficients(
        regions.ravel(), tuple(A.values[i] for i in found[:, 0]), drift, tuple(c.values[i] for i in found[:, -1])
    )


def _by_cell(given: Any) -> bool:
    """Whether numbers are one for each cell rather than a matrix."""
    if callable(given) or np.ndim(given) != 1:
        return False
    return not any(isinstance(v, list | tuple) for v in given)


def _by_cells(name: str, given: Any, mesh: Mesh) -> Parts:
    values, labels = np.unique(per_cell(name, given, mesh), return_inverse=True)
    return Parts(name, labels.ravel(), tuple(values.tolist()))


def _grouped(name: str, each: Mapping[str, Any], mesh: Mesh) -> Parts:
    labels = per_cell(name, {group: float(i) for i, group in enumerate(each)}, mesh)
    return Parts(name, labels.astype(np.intp), tuple(each.values()))


def _scalar(name: str, given: Any) -> Any:
    if isinstance(given, Expression) and given.constant is not None and given.text == repr(given.constant):
        return float(given.constant)
    return given if callable(given) else number(name, given)


def _shown(given: Any) -> Any:
    """Formulas as they were written, in lists as they were given."""
    if isinstance(given, list | tuple):
        return [_shown(one) for one in given]
    return given.text if isinstance(given, Expression) else given


def _vector(name: str, given: Any, d: int) -> tuple[Any, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray) or len(given) != d:
        raise InputError(
            f"{name}: must be a list of {d} numbers or formulas, one for each coordinate; got {_shown(given)!r:.60}"
        )
    found = tuple(_scalar(f"{name}[{i}]", b) for i, b in enumerate(given))
    for i, b in enumerate(found):
        if callable(b) and not isinstance(b, Expression):
            raise InputError(f"{name}[{i}]: must be a number or a formula; got {type(b).__name__}")
    return found


def _diffusion(name: str, given: Any, d: int) -> Any:
    table = isinstance(given, list | tuple) or (isinstance(given, np.ndarray) and given.ndim == 2)
    return _matrix(name, given, d) if table else _scalar(name, given)


def _matrix(name: str, given: Any, d: int) -> Any:
    """A symmetric table; in one dimension its entry."""
    rows = [list(row) if isinstance(row, list | tuple | np.ndarray) else [] for row in given]
    if len(rows) != d or any(len(row) != d for row in rows):
        raise InputError(f"{name}: must be a {d} × {d} matrix; got {_shown(given)!r:.60}")
    each = [[_scalar(f"{name}[{i}][{j}]", a) for j, a in enumerate(row)] for i, row in enumerate(rows)]
    for i in range(d):
        for j in range(i):
            a, b = each[i][j], each[j][i]
            same = a == b or (not callable(a) and not callable(b) and abs(a - b) <= SYMMETRIC * abs(a))
            if not same:
                raise InputError(
                    f"{name}: must be symmetric; got {_text(b)} in row {j + 1}, column {i + 1} and {_text(a)} in row "
                    f"{i + 1}, column {j + 1}. Write the same in both places"
                )
            each[i][j] = each[j][i]
    if d == 1:
        return each[0][0]
    return tuple(tuple(row) for row in each)


def is_number(given: Any) -> bool:
    """Whether a formula has no coordinates."""
    return isinstance(given, Expression) and given.constant is not None


def _text(given: Any) -> str:
    return f"'{given.text}'" if isinstance(given, Expression) else repr(given)


def _entries(values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for v in values:
        found += _entries(v) if isinstance(v, tuple) else [v]
    return found


def _filled(value: Any, shape: tuple[int, ...]) -> Any:
    """A scalar as a table where others are tables."""
    return matrix(value, shape[0]) if len(shape) == 2 else value


def _entry(value: Any, index: tuple[int, ...]) -> Any:
    for i in index:
        value = value[i]
    return value
