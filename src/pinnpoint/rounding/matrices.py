"""Matrices whose products with enclosed vectors are enclosed."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Matrix, Vector, same_entries
from pinnpoint.base.errors import InputError
from pinnpoint.base.threads import on_all_cores, share, start
from pinnpoint.rounding import lanes, sliced_dots
from pinnpoint.rounding.arithmetic import TINY, gamma, require_range, up
from pinnpoint.rounding.balls import Ball
from pinnpoint.rounding.slices import LONGEST, Sliced, plain_product, rows_of_product

COMPILE_FROM = 200_000
"""Entries of one product from which a compiled kernel is quicker than numpy."""
LOAD_AFTER = 50_000_000
"""Entries that numpy goes through in the time that the compiled kernels take to load: they wait until then."""
TOGETHER = 7
"""Vectors that go through a matrix together, to spare memory."""
PIECE = 16384
"""Columns of Green vectors that are brought to double precision at a time."""
PRODUCTS = 10
"""How often, at least, a certificate goes through its matrix."""

_compiled: Any = None
_compiled_tried = False
_entries = 0
_loading = threading.Lock()


def compiled() -> Any:
    """The compiled kernels, loaded, or None where numba is not installed."""
    global _compiled, _compiled_tried
    with _loading:
        if not _compiled_tried:
            _compiled_tried = True
            try:
                from pinnpoint.rounding import compiled as module
            except ImportError:
                return None
            module.load()
            _compiled = module
    return _compiled


def kernels(entries: int) -> Any:
    """The compiled kernels for a product of so many entries, or None where numpy is the better choice so far."""
    global _entries
    if entries < COMPILE_FROM:
        return None
    if not _compiled_tried:
        _entries += entries
        if COMPILE_FROM and _entries < LOAD_AFTER:
            return None
    return compiled()


def compile_early(entries: int) -> None:
    """Begin to load the kernels where a matrix of this size needs them, beside what comes before the first product."""
    if entries * PRODUCTS >= LOAD_AFTER and not _compiled_tried:
        start(compiled)


class LinearMap(Protocol):
    """What the certificates need of an operator: affine images of balls, and its transpose."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        ...

    @property
    def T(self) -> LinearMap:
        """The transposed map."""
        ...

    def affine(self, x: Ball, b: Ball | None = None) -> Ball:
        """Enclosure of A x − b."""
        ...


class EnclosedMatrix:
    """All matrices within ``|A' − A| ≤ E`` of a stored sparse A.

    `affine` encloses A' x − b for every such A', every x and b of their balls, in double-double arithmetic, so
    its own rounding contributes at most about k u² |A| |x| for a row of k entries.
    """

    def __init__(self, A: Matrix, error: Any | None = None, name: str = "matrix") -> None:
        self.A = sp.csr_array(A)
        self.A.sum_duplicates()
        self.error = None if error is None else sp.csr_array(error)
        require_range(name, self.A.data)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        m, n = self.A.shape
        return int(m), int(n)

    @cached_property
    def T(self) -> EnclosedMatrix:
        """The transposed matrix, stored by its own rows."""
        A = self.A.T.tocsr()
        if self.error is None and same_entries(self.A, A):
            return self
        T = EnclosedMatrix(A, None if self.error is None else self.error.T.tocsr())
        T.__dict__["T"] = self
        return T

    @cached_property
    def magnitude(self) -> Any:
        """|A| + E."""
        A = abs(self.A)
        return A if self.error is None else A + self.error

    @cached_property
    def sliced(self) -> Sliced | None:
        """For residuals of many vectors at once; None with interval entries or very long rows."""
        if self.error is not None or int(np.diff(self.A.indptr).max(initial=0)) > LONGEST:
            return None
        return Sliced(self.A)

    def products(self, X: Vector) -> Iterator[Ball]:
        """A x for the rows x of X, which are small: rounded, with the error bound γ_k Σ_j|a_ij| max|x|."""
        A = self.A
        length = np.diff(A.indptr)
        size = np.zeros(A.shape[0])
        size[length > 0] = np.add.reduceat(np.abs(A.data), A.indptr[:-1][length > 0]) if A.nnz else 0.0
        k = int(length.max(initial=0))
        size = np.asarray(up(gamma(2 * k + 4) * size, 4))  # proofs.md, step 5a
        for first in range(0, len(X), TOGETHER):
            group = X[first : first + TOGETHER]
            V = np.ascontiguousarray(group.T)
            Y = np.empty((A.shape[0], len(group)))
            step = share(len(Y), A.nnz * len(group))

            def rows(a: int, V: Vector = V, Y: Vector = Y, step: int = step) -> None:
                Y[a : a + step] = rows_of_product(A, V, a, step)

            on_all_cores(rows, range(0, len(Y), step))
            for y, x in zip(Y.T, group, strict=True):
                yield Ball(y, None, np.asarray(up(size * float(np.max(np.abs(x), initial=0.0)) + k * TINY, 4)))

    @cached_property
    def _lanes(self) -> lanes.Lanes:
        return lanes.arrange(self.A.indptr, self.A.indices, self.A.data)

    def arrange(self) -> None:
        """Prepare for the first product, where no compiled kernel will make it."""
        if _compiled is None and (_compiled_tried or self.A.nnz * PRODUCTS < LOAD_AFTER):
            _ = self._lanes

    def affine(self, x: Ball, b: Ball | None = None) -> Ball:
        """Enclosure of A x − b."""
        b_hi, b_lo = (None, None) if b is None else (b.hi, b.lo)
        module = kernels(max(self.A.nnz, self.shape[1]))  # a few long rows beside a large matrix are slow in numpy
        if module is not None:
            A = self.A
            hi, lo, err = module.product(A.indptr, A.indices, A.data, x.hi, x.lo, b_hi, b_lo)
        else:
            hi, lo, err = lanes.product(self._lanes, x.hi, x.lo, b_hi, b_lo)
        if x.err is not None:
            err = up(err + product_up(self.magnitude, x.err))  # proofs.md, step 5i
        if self.error is not None:
            center = Ball(x.hi, x.lo)
            err = up(err + product_up(self.error, center.magnitude()))  # proofs.md, step 5i
        if b is not None and b.err is not None:
            err = up(err + b.err)  # proofs.md, step 5i
        return Ball(hi, lo, err)


class PlainMatrix:
    """A matrix or operator in ordinary floating point: nothing is enclosed."""

    def __init__(self, A: Matrix) -> None:
        self.A = A

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        m, n = self.A.shape
        return int(m), int(n)

    @cached_property
    def T(self) -> PlainMatrix:
        """The transposed matrix, or the adjoint of an operator."""
        A = self.A
        T = PlainMatrix(A.T.tocsr() if sp.issparse(A) else A.T)
        T.__dict__["T"] = self
        return T

    def affine(self, x: Ball, b: Ball | None = None) -> Ball:
        """A x − b, rounded."""
        y = plain_product(self.A, x.hi)
        if y.shape != (self.shape[0],):
            raise InputError(
                f"A: its product with a vector must be {self.shape[0]} finite numbers; got shape {y.shape}"
            )
        if not np.all(np.isfinite(y)):
            raise InputError(
                f"A: its product with a vector must be {self.shape[0]} finite numbers; {int((~np.isfinite(y)).sum())} "
                f"are not. The largest entry of the vector, the prediction or prescribed values, is "
                f"{float(np.max(np.abs(x.hi))):.3g}: scale the data"
            )
        return Ball(y if b is None else y - b.hi)


class Chain:
    """The product of several maps, applied one after the other (the last one first)."""

    def __init__(self, factors: Sequence[LinearMap]) -> None:
        self.factors = tuple(factors)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.factors[0].shape[0], self.factors[-1].shape[1]

    @cached_property
    def T(self) -> Chain:
        """The transposed product."""
        return Chain([f.T for f in reversed(self.factors)])

    def affine(self, x: Ball, b: Ball | None = None) -> Ball:
        """Enclosure of A x − b."""
        for factor in reversed(self.factors[1:]):
            x = factor.affine(x)
        return self.factors[0].affine(x, b)


class SymmetricMap:
    """(B + Bᵀ)/2 of a map."""

    def __init__(self, B: LinearMap) -> None:
        self.B = B

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.B.shape

    @property
    def T(self) -> SymmetricMap:
        """Itself."""
        return self

    def affine(self, x: Ball, b: Ball | None = None) -> Ball:
        """Enclosure of S x − b."""
        both = self.B.affine(x) + self.B.T.affine(x)
        lo, err = (None if v is None else 0.5 * v for v in (both.lo, both.err))
        y = Ball(0.5 * both.hi, lo, err)
        return y if b is None else y - b


def product_up(A: Matrix, x: Vector) -> Vector:
    """Upper bound of A x for a nonnegative sparse A and x ≥ 0."""
    k = int(np.diff(A.indptr).max(initial=0)) if A.format == "csr" else A.shape[1]
    return np.asarray(up((A @ x) * (1.0 + 2.0 * gamma(k + 1)) + k * TINY))  # proofs.md, step 5a


def plain_products(G: Any, X: Vector) -> Vector:
    """G X in double precision, in pieces where G is single precision or mapped from a file."""
    if G.dtype == np.float64 and type(G) is np.ndarray:
        if X.ndim > 1 or G.size < PIECE:
            return np.asarray(G @ X)
        step = share(len(G), G.size)  # threads of our own: those of BLAS stay busy for a while and slow what follows
        parts = on_all_cores(lambda a: np.einsum("ij,j->i", G[a : a + step], X), range(0, len(G), step))
        return np.concatenate(parts)
    total = np.zeros((len(G), *X.shape[1:]))
    for a in range(0, G.shape[1], PIECE):
        total += np.asarray(G[:, a : a + PIECE], dtype=np.float64) @ X[a : a + PIECE]
    return total


def dots(G: Any, x: Ball, G_lo: Vector | None = None, *, enclose: bool = True) -> Ball:
    """Enclosure of the products of the rows of G + G_lo with x; plain floats where not asked to enclose.

    G may be single precision, or mapped from a file.
    """
    if not enclose:
        y = plain_products(G, x.hi)
        return Ball(y if G_lo is None else y + G_lo @ x.hi)
    module = kernels(G.size)
    if module is not None:
        return Ball(*module.dots(G, G_lo, x.hi, x.lo, x.err))
    if G_lo is None and G.size >= COMPILE_FROM and sliced_dots.fits(x.hi, x.err):
        return Ball(*sliced_dots.dots(G, x.hi, x.lo, x.err))  # threads would wait for each other
    step = share(len(G), G.size)
    parts = [slice(a, a + step) for a in range(0, len(G), step)]
    low = [None if G_lo is None else G_lo[at] for at in parts]

    def some(i: int) -> Any:
        return lanes.dots(G[parts[i]], low[i], x.hi, x.lo, x.err)

    done = on_all_cores(some, range(len(parts)))
    return Ball(*(np.concatenate(column) for column in zip(*done, strict=True)))
