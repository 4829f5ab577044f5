"""Arrays at the border: what callers hand in becomes finite float64, or is refused by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pinnpoint.errors import InputError

Vector = NDArray[np.float64]


def set_fields(record: object, **fields: Any) -> None:
    """Fill a frozen dataclass from its own ``__init__``."""
    for name, value in fields.items():
        object.__setattr__(record, name, value)


def vector(name: str, x: Any, length: int | None = None, *, sign: str = "any") -> Vector:
    """A finite float64 vector of the given length, copied."""
    a = _floats(name, x)
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
    a = _floats(name, x)
    return vector(name, np.full(count, float(a)) if a.ndim == 0 else a, count, sign=sign)


def point_list(name: str, X: Any, count: int) -> Vector:
    """Finite points (count, d); a plain vector holds points on a line."""
    a = _floats(name, X)
    a = a[:, None] if a.ndim == 1 else a
    if a.ndim != 2 or a.shape[0] != count:
        raise InputError(f"{name}: must be {count} points, one row each; got shape {a.shape}")
    _finite(name, a)
    return a


def matrix(name: str, A: Any) -> Any:
    """A finite float64 CSR array from anything dense or SciPy-sparse; duplicates are summed."""
    if sp.issparse(A):
        if np.iscomplexobj(A.data if hasattr(A, "data") and not isinstance(A, sp.lil_array) else 0):
            raise InputError(f"{name}: complex entries are not supported; got {A.dtype}")
        B = sp.csr_array(A, copy=True)
        B = B if B.dtype == np.float64 else B.astype(np.float64)
    else:
        a = _floats(name, A)
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


def distinct_names(given: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """Names of the queries, q0, q1, … by default; duplicates are refused."""
    if given is None:
        return tuple(f"q{i}" for i in range(count))
    if isinstance(given, str):
        given = [given]
    result = tuple(str(n) for n in given)
    if len(result) != count:
        raise InputError(f"names: must have {count} entries, one per query; got {len(result)}")
    twice = sorted({n for n in result if result.count(n) > 1}) if len(set(result)) < count else []
    if twice:
        raise InputError(f"names: must differ; repeated: {', '.join(twice[:5])}")
    return result


def _floats(name: str, x: Any) -> Vector:
    try:
        a = np.asarray(x)
        if a.dtype == object or np.iscomplexobj(a) or a.dtype.kind not in "fiub":
            raise TypeError(f"dtype {a.dtype}")
        return np.array(a, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: must hold real numbers; got {type(x).__name__} ({error})") from error


def _finite(name: str, a: Vector) -> None:
    bad = ~np.isfinite(a)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InputError(
            f"{name}: must be finite; {int(bad.sum())} of {a.size} entries are NaN or infinite, the first at "
            f"{where if len(where) > 1 else where[0]}"
        )
