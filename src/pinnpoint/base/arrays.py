"""Arrays at the border: what callers hand in becomes finite float64, or is refused by name."""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from numbers import Rational
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from pinnpoint.base.brief import WORD, clipped
from pinnpoint.base.errors import InputError, PinnpointError

LINE = 80
"""Characters of what a refusal repeats."""
Vector = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]
Matrix = sp.sparray | sp.spmatrix | Vector
"""Sparse or dense."""
Limits = ArrayLike | Sequence[float | None] | None
"""One number for all queries, or one for each; None where there is no limit."""


def set_fields(record: object, **fields: Any) -> None:
    """Fill a frozen dataclass from its own ``__init__``."""
    for name, value in fields.items():
        object.__setattr__(record, name, value)


def row_max(x: Vector) -> Vector:
    """Largest entries along a short last axis: NumPy's own reduction costs its overhead for every row."""
    return np.asarray(reduce(np.maximum, np.moveaxis(x, -1, 0)))


def squared(x: Vector) -> Vector:
    """Sums of squares along a short last axis."""
    return np.asarray(sum(part * part for part in np.moveaxis(x, -1, 0)))


def products(A: Vector, B: Vector) -> Vector:
    """A_n B_n of many small matrices, (n, i, k) and (n, k, j): all n at once, where matmul makes a call for each."""
    a, b = (np.ascontiguousarray(x.transpose(1, 2, 0)) for x in (A, B))
    return by_entries(a, b).transpose(2, 0, 1)


def by_entries(a: Vector, b: Vector) -> Vector:
    """The same of (i, k, n) and (k, j, n)."""
    total = a[:, 0, None] * b[0]
    for k in range(1, len(b)):
        total += a[:, k, None] * b[k]
    return np.asarray(total)


def attributes(record: object, *names: str) -> dict[str, Any]:
    """Some fields and properties of a record, by name."""
    return {name: getattr(record, name) for name in names}


def has(thing: object, *names: str) -> bool:
    """Whether an object of another library has all of these: how those are told apart that we do not import."""
    return all(hasattr(thing, name) for name in names)


def number(
    name: str, x: Any, *, above: float | None = None, low: float | None = None, high: float | None = None
) -> float:
    """A finite float within bounds (above is strict); truth values, complex numbers, times and text are none."""
    try:
        value = float(x) if not isinstance(x, str | bytes | bool) and _kind(x) in "fiu" else math.nan
    except (OverflowError, TypeError, ValueError):
        value = math.nan
    if isinstance(x, Rational | Decimal) and math.isfinite(value) and Fraction(value) != Fraction(x):
        raise InputError(f"{name}: {clipped(str(x), WORD)} is not a float64 number; convert it deliberately")
    fits = math.isfinite(value) and (above is None or value > above)
    fits = fits and (low is None or value >= low) and (high is None or value <= high)
    if not fits:
        limits = [f"> {above:g}" if above is not None else "", f"≥ {low:g}" if low is not None else ""]
        limits.append(f"≤ {high:g}" if high is not None else "")
        wanted = " and ".join(part for part in limits if part)
        raise InputError(f"{name}: must be a finite number{' ' + wanted if wanted else ''}; got {_seen(x)}")
    return value


def _seen(x: Any) -> str:
    """What was given, in one short line."""
    if isinstance(x, np.ndarray) and x.ndim:
        return f"an array of shape {x.shape}"
    try:
        return clipped(repr(x), LINE)
    except ValueError:  # more digits than Python writes
        return f"{type(x).__name__} with thousands of digits"


def _kind(x: Any) -> str:
    """Numpy's letter for the type of a number or array; that of floats for whatever else converts itself to one."""
    return str(getattr(getattr(x, "dtype", None), "kind", "f"))


def whole(name: str, x: Any, *, low: int = 0) -> int:
    """A whole number of at least `low`."""
    value = number(name, x, low=low)
    if value != int(value):
        raise InputError(f"{name}: must be a whole number ≥ {low}; got {x!r}")
    return int(value)


def dimensions(name: str, x: Any) -> int:
    """Number of dimensions of anything array-like."""
    if sp.issparse(x):
        return int(x.ndim)
    try:
        return int(np.ndim(x))
    except ValueError as error:
        raise InputError(f"{name}: rows must have equal lengths ({error})") from error


def vector(name: str, x: Any, length: int | None = None, *, sign: str = "any") -> Vector:
    """A finite float64 vector of the given length, copied."""
    a = floats(name, x)
    if a.ndim == 2 and 1 in a.shape:
        a = a.ravel()
    if a.ndim != 1:
        raise InputError(f"{name}: must be a vector; got an array of shape {a.shape}")
    if length is not None and a.size != length:
        raise InputError(f"{name}: must have {length} entries; got {a.size}")
    _finite(name, a)
    if sign == "nonnegative" and a.size and float(a.min()) < 0.0:
        raise InputError(f"{name}: entries must be ≥ 0; entry {int(np.argmin(a))} is {float(a.min())!r}")
    if sign == "positive" and a.size and float(a.min()) <= 0.0:
        raise InputError(f"{name}: entries must be > 0; entry {int(np.argmin(a))} is {float(a.min())!r}")
    return a


def per_query(name: str, x: Any, count: int, *, sign: str = "any") -> Vector:
    """A vector over queries; a single number stands for all of them."""
    a = amounts(name, x)
    return vector(name, np.full(count, float(a)) if a.ndim == 0 else a, count, sign=sign)


def amounts(name: str, x: Any) -> Vector:
    """`floats` that are no truth values: ``accept=True`` asks for nothing that 1.0 would."""
    a = floats(name, x)
    if np.asarray(plain(x)).dtype == bool:
        raise InputError(f"{name}: must hold numbers; got {x!r}")
    return a


def point_list(name: str, X: Any, count: int) -> Vector:
    """Finite points (count, d); a plain vector holds points on a line."""
    a = floats(name, X)
    a = a[:, None] if a.ndim == 1 else a
    if a.ndim != 2 or a.shape[0] != count:
        raise InputError(f"{name}: must be {count} points, one row each; got shape {a.shape}")
    _finite(name, a)
    return a


def matrix(name: str, A: Any) -> Any:
    """A finite float64 CSR array from anything dense or SciPy-sparse; duplicates are summed."""
    if sp.issparse(A):
        if A.dtype.kind not in "fiub":
            raise InputError(f"{name}: must hold real numbers; got sparse entries of type {A.dtype}")
        if A.ndim != 2:
            raise InputError(f"{name}: must be a matrix; got a sparse array of shape {A.shape}")
        _representable(name, sp.coo_array(A).data)
        B = sp.csr_array(A.astype(np.float64), copy=True)  # converted first: duplicates are summed in float64
    else:
        a = floats(name, A)
        if a.ndim == 1:
            a = a[None, :]
        if a.ndim != 2:
            raise InputError(f"{name}: must be a matrix; got an array of shape {a.shape}")
        _finite(name, a)
        B = sp.csr_array(a)
    B.sum_duplicates()
    B.sort_indices()
    _finite(name, B.data)
    return B


def is_symmetric(A: Any) -> bool:
    """Whether a sparse matrix equals its transpose, to the last bit."""
    A = sp.csr_array(A)
    T = A.T.tocsr()
    return same_entries(A, T) or bool(A.shape == T.shape and (A != T).nnz == 0)


def same_entries(A: Any, B: Any) -> bool:
    """Whether two matrices by rows are stored alike, to the last bit."""
    pairs = ((A.indptr, B.indptr), (A.indices, B.indices), (A.data, B.data))
    return bool(A.shape == B.shape and all(np.array_equal(a, b) for a, b in pairs))


def distinct_names(given: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """Names of the queries, q0, q1, … by default; duplicates are refused."""
    if given is None:
        return tuple(f"q{i}" for i in range(count))
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, Iterable):
        raise InputError(f"names: must be a list of {count} names; got {given!r}")
    result = tuple(str(n) for n in given)
    if len(result) != count:
        raise InputError(f"names: must have {count} entries, one per query; got {len(result)}")
    twice = sorted({n for n in result if result.count(n) > 1}) if len(set(result)) < count else []
    if twice:
        raise InputError(f"names: must differ; repeated: {', '.join(twice[:5])}")
    return result


def floats(name: str, x: Any, *, copy: bool = True) -> Vector:
    """Any real array as float64, copied unless told that it is only read; refuses complex numbers, objects and text."""
    if np.ma.is_masked(x):
        raise InputError(f"{name}: some entries are masked, so they have no value; fill them")
    try:
        a = np.asarray(plain(x))
        if a.dtype == object or np.iscomplexobj(a) or a.dtype.kind not in "fiub":
            raise TypeError(f"dtype {a.dtype}")
        _representable(name, a)
        return np.array(a, dtype=np.float64) if copy else np.ascontiguousarray(a, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: must hold real numbers; got {type(x).__name__} ({error})") from error


def plain(x: Any) -> Any:
    """A torch tensor as an array, whatever its device and whether or not it needs gradients; all else as it is."""
    torch = sys.modules.get("torch")  # where nobody has imported it there is no tensor
    if torch is None or not isinstance(x, torch.Tensor):
        return x
    if x.is_meta:
        raise TypeError("on the meta device, which holds no values")
    x = x.detach().cpu().resolve_conj().resolve_neg()
    return (x.double() if x.is_floating_point() else x).numpy()


def frozen(*arrays: Any) -> None:
    """Forbid writing into arrays, which must be the caller's own."""
    for a in arrays:
        if isinstance(a, np.ndarray):
            a.flags.writeable = False


def shown(A: Any) -> Any:
    """A matrix by rows as others may see it: the same memory, which they cannot write into."""
    if not sp.issparse(A):
        return A
    parts = [a.view() for a in (A.data, A.indices, A.indptr)]
    frozen(*parts)
    canonical = sp.csr_array(tuple(parts), shape=A.shape, copy=False)
    canonical.has_canonical_format = True  # as `matrix` leaves it
    return canonical


def members(name: str, x: Any, count: int) -> NDArray[np.intp]:
    """Numbers below `count`, ascending and each once, from whole numbers or a mask of so many truth values."""
    if np.ma.is_masked(x):
        raise InputError(f"{name}: some entries are masked, so they have no value; fill them")
    a = np.asarray(x)
    if a.size == 0:
        return np.zeros(0, dtype=np.intp)
    if a.dtype == bool:
        if a.shape != (count,):
            raise InputError(f"{name}: a mask must have {count} entries; got shape {a.shape}")
        return np.flatnonzero(a)
    if a.dtype.kind not in "iu" or a.ndim != 1:
        raise InputError(
            f"{name}: must be a list of whole numbers, or a mask of {count} truth values; got {a.dtype} of shape "
            f"{a.shape}"
        )
    if int(a.min()) < 0 or int(a.max()) >= count:
        raise InputError(f"{name}: numbers must lie between 0 and {count - 1}; got {int(a.min())} to {int(a.max())}")
    a = np.array(a, dtype=np.intp)
    return a if np.all(np.diff(a) > 0) else np.unique(a)


def _representable(name: str, a: NDArray[Any]) -> None:
    if a.dtype.kind == "f" and a.dtype.itemsize > 8 and np.any((a.astype(np.float64) != a) & (a == a)):
        raise InputError(f"{name}: some {a.dtype} entries are not float64 numbers; convert them deliberately")
    if a.dtype.kind in "iu" and a.size and max(abs(int(a.min())), abs(int(a.max()))) > 2**53:
        raise InputError(f"{name}: integers beyond 2**53 are not float64 numbers; convert them deliberately")


def _finite(name: str, a: Vector) -> None:
    bad = ~np.isfinite(a)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InputError(
            f"{name}: must be finite; {int(bad.sum())} of {a.size} entries are NaN or infinite, the first at "
            f"{where if len(where) > 1 else where[0]}"
        )


def digest(*arrays: Any) -> str:
    """32 hexadecimal digits of the contents, shapes and types of arrays."""
    hashed = hashlib.blake2b(digest_size=16)
    for a in arrays:
        a = np.ascontiguousarray(a)
        hashed.update(f"{a.dtype.str}{a.shape}".encode())
        hashed.update(a.data.cast("B") if a.size else b"")
    return hashed.hexdigest()


def asked(prediction: Any, X: Vector, name: str = "prediction") -> Vector:
    """Values of a callable at points (N, d), which it gets as a copy of its own."""
    try:
        return floats(name, prediction(X.copy()))
    except (PinnpointError, MemoryError):
        raise
    except Exception as error:  # whatever somebody's model does with points
        words = next(iter(str(error).splitlines()), "")[:160]
        if isinstance(error, TypeError) and "Tensor" in words:
            raise InputError(
                f"{name}: takes tensors, not arrays ({words}); wrap it as pinnpoint.models.torch_predictor(function)"
            ) from error
        raise InputError(
            f"{name}: raised {type(error).__name__} ({words}) when asked at points {X.shape}; it must map points "
            "(N, d), one row each, to as many values"
        ) from error
