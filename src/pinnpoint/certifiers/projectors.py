"""Projectors Π on residuals: which rows count as local."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pinnpoint.base.arrays import Matrix
from pinnpoint.rounding.balls import Ball, exact
from pinnpoint.rounding.matrices import EnclosedMatrix


class Projector(Protocol):
    """Splits vectors into a local part and the rest."""

    def split(self, r: Ball) -> tuple[Ball, Ball]:
        """Π r and (I − Π) r."""
        ...

    def split_transposed(self, g: Ball) -> tuple[Ball, Ball]:
        """Πᵀ g and (I − Π)ᵀ g."""
        ...

    def defect(self, r_near: Ball) -> Ball:
        """Π(Πr) − Πr: zero for an exact projector."""
        ...

    def is_orthogonal(self, weight: Matrix) -> bool:
        """Whether ΠᵀW = WΠ holds to the last bit, so that σ² = χ² + ϑ²."""
        ...


class Selector:
    """Keeps the rows of a mask; exact."""

    def __init__(self, mask: NDArray[np.bool_]) -> None:
        self.mask = mask

    def split(self, r: Ball) -> tuple[Ball, Ball]:
        """Rows inside, rows outside."""
        return self._keep(r, self.mask), self._keep(r, ~self.mask)

    split_transposed = split

    def defect(self, r_near: Ball) -> Ball:
        """Zero."""
        return exact(np.zeros(self.mask.size))

    def is_orthogonal(self, weight: Matrix) -> bool:
        """True for diagonal weights, and where no entry couples inside and outside."""
        if weight is None or isinstance(weight, np.ndarray):
            return True
        if isinstance(weight, str):
            return False
        C = sp.coo_array(weight)
        return not bool(np.any((self.mask[C.row] != self.mask[C.col]) & (C.data != 0.0)))

    @staticmethod
    def _keep(v: Ball, mask: NDArray[np.bool_]) -> Ball:
        lo, err = (None if x is None else np.where(mask, x, 0.0) for x in (v.lo, v.err))
        return Ball(np.where(mask, v.hi, 0.0), lo, err)


class MatrixProjector:
    """A projector given by its matrix."""

    def __init__(self, P: Matrix) -> None:
        self.P = EnclosedMatrix(P)

    def split(self, r: Ball) -> tuple[Ball, Ball]:
        """Π r and r − Π r."""
        near = self.P.affine(r)
        return near, r - near

    def split_transposed(self, g: Ball) -> tuple[Ball, Ball]:
        """Πᵀ g and g − Πᵀ g."""
        near = self.P.T.affine(g)
        return near, g - near

    def defect(self, r_near: Ball) -> Ball:
        """Π(Πr) − Πr."""
        return self.P.affine(r_near, r_near)

    def is_orthogonal(self, weight: Matrix) -> bool:
        """Compares ΠᵀW and WΠ."""
        if isinstance(weight, str):
            return False
        P = self.P.A
        W = sp.eye_array(P.shape[0]) if weight is None else weight
        W = sp.csr_array(sp.diags_array(W) if isinstance(W, np.ndarray) else W)
        return bool((P.T @ W != W @ P).nnz == 0)
