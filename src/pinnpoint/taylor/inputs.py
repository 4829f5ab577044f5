"""What the data may be, and its models over simplices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Index, Vector, floats, number, whole
from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import Expression
from pinnpoint.taylor import kernels
from pinnpoint.taylor.formulas import evaluate
from pinnpoint.taylor.geometry import Simplices, coordinates, path_order
from pinnpoint.taylor.models import TaylorModel


@runtime_checkable
class Smooth(Protocol):
    """Data that encloses itself: a function of points that also gives its model from the models of the coordinates."""

    def __call__(self, X: Vector, /) -> Any:
        """Values (N,) at points (N, d)."""

    def taylor(self, coordinates: Sequence[TaylorModel], /) -> TaylorModel:
        """The model, from models of the d coordinates over any set."""


@runtime_checkable
class Blurred(Protocol):
    """Data that says whether it has an error of its own, which smaller simplices do not make smaller."""

    @property
    def blurred(self) -> bool:
        """Whether it has."""


@runtime_checkable
class Graded(Protocol):
    """Data that says of which degree its models should be."""

    @property
    def model_degree(self) -> int:
        """The degree."""


Enclosed = Expression | Smooth
Data = float | Enclosed | Callable[[Vector], Any]
ORDER = {0: 0, 1: 10, 2: 8, 3: 6}


def enclosed(f: object) -> TypeGuard[Enclosed]:
    """Whether f is a formula or smooth data, of which models are proved."""
    return isinstance(f, Expression | Smooth)


def costly(f: object) -> bool:
    """Whether models of f cost far more than a formula's: data that works in small blocks, as networks do."""
    return int(getattr(f, "block", 4096)) < 1024


def model_of(f: Enclosed, coordinates: Sequence[TaylorModel]) -> TaylorModel:
    """The model of a formula or of smooth data from the models of the coordinates."""
    return evaluate(f, coordinates) if isinstance(f, Expression) else f.taylor(coordinates)  # continuous.md, step 8e


def models(f: Enclosed, simplices: Simplices, q: int) -> tuple[TaylorModel, Index]:
    """The model of f on each simplex, and the order of vertices it stands in."""
    kernels.keep_memory()
    which = path_order(simplices.vertices)
    X = coordinates(simplices, which, q)
    model = model_of(f, X)
    if model.C.shape != X[0].C.shape:
        zero = TaylorModel(X[0].space, np.zeros_like(X[0].C), np.zeros_like(X[0].e))
        model = zero + model
    return model, which


def fixed(f: Data) -> tuple[float, float] | None:
    """Value and error of data that is the same everywhere, else None."""
    if isinstance(f, Expression):
        if f.variables_used:
            return None
        model = evaluate(f, [])
        return float(model.C[0, 0]), float(model.e[0])
    if callable(f):
        return None
    return number("f", f), 0.0


def function(f: object) -> Callable[[Vector], Any]:
    """Data that is neither a number nor a formula: a function of points."""
    if not callable(f):
        raise InputError(f"f: must be a number, a formula, smooth data or a function of points; got {type(f).__name__}")
    return f


def checked_vertices(vertices: ArrayLike) -> Vector:
    """Vertices (N, m + 1, d) of simplices, or a refusal."""
    V = floats("vertices", vertices, copy=False)
    if V.ndim != 3 or not 1 <= V.shape[1] <= 4 or V.shape[2] < max(1, V.shape[1] - 1):
        raise InputError(f"vertices: must have shape (N, m + 1, d) with m ≤ 3 and m ≤ d; got {V.shape}")
    if V.size and not -(2.0**480) < float(V.min()) <= float(V.max()) < 2.0**480:
        raise InputError("vertices: must be finite and below 2**480")
    return V


def checked_order(order: int | None, m: int) -> int:
    """Degree of the models on m-simplices."""
    if m == 0:
        return 0
    q = ORDER[m] if order is None else whole("order", order, low=2)
    if q > 16:
        raise InputError(f"order: at most 16; got {q}")
    return q
