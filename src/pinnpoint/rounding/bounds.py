"""The statement S ⪰ αP: a bound, its metric, and who stands behind it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Matrix, Vector, dimensions, is_symmetric, matrix, number, set_fields, vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError


@dataclass(frozen=True, eq=False)
class Coercivity:
    """The statement S ⪰ α P, with who stands behind it.

    Parameters
    ----------
    alpha
        The bound, positive.
    scale
        Positive diagonal of D where P = D⁻² (powers of two); None for the identity.
    P
        A symmetric positive definite matrix in place of D⁻², for a bound of the caller's own.
    of
        ``"operator"``: S is the symmetric part of the reduced square operator Â (for a rectangular system and
        for weights, the matrix in question). ``"normal"``: S is Ĥ = Âᵀ W Â.
    status
        ``"verified"`` (proved here) or ``"declared"`` (the caller's word).
    how
        How it was proved, in words.
    """

    alpha: float
    scale: Vector | None = None
    P: Any | None = None
    of: str = "operator"
    status: str = "declared"
    how: str = "declared by the caller"
    fingerprint: str | None = None
    """Of the matrix that the bound was proved for; elsewhere it counts as declared."""
    witness: Vector | None = None
    """w > 0 with D S D w ≥ α w, where that is the proof."""

    __repr__ = brief

    def __post_init__(self) -> None:
        set_fields(self, alpha=number("alpha", self.alpha, above=0.0))
        if self.status not in ("verified", "declared"):
            raise InputError(f"status: must be 'verified' or 'declared'; got {self.status!r}")
        if self.scale is not None:
            set_fields(self, scale=vector("scale", self.scale, sign="positive"))
        if self.of not in ("operator", "normal"):
            raise InputError(f"of: must be 'operator' or 'normal'; got {self.of!r}")
        if self.scale is not None and self.P is not None:
            raise InputError("scale, P: give at most one of them")
        if self.P is not None:
            set_fields(self, P=checked_metric(self.P))


def checked_metric(P: Matrix) -> Any:
    """A finite symmetric sparse matrix, or a positive diagonal; definiteness is verified where it is used."""
    if not sp.issparse(P) and isinstance(P, np.ndarray | list | tuple) and dimensions("P", P) == 1:
        return vector("P", P, sign="positive")
    P = matrix("P", P)
    if P.shape[0] != P.shape[1]:
        raise InputError(f"P: must be square; got shape {P.shape}")
    if not is_symmetric(P):
        raise InputError("P: must be symmetric to the last bit; pass (P + P.T)/2")
    return P


def fingerprint(A: Matrix) -> str:
    """SHA-256 of a sparse matrix, entry by entry."""
    A = sp.csr_array(A)
    if not (A.has_canonical_format and A.data.all()):
        A = A.copy()
        A.sum_duplicates()
        A.eliminate_zeros()
    digest = hashlib.sha256(repr(A.shape).encode())
    whole = np.int32 if max(*A.shape, A.nnz) < 2**31 else np.int64
    for part, kind in ((A.indptr, whole), (A.indices, whole), (A.data, np.float64)):
        digest.update(np.ascontiguousarray(part, dtype=kind).data)
    return digest.hexdigest()
