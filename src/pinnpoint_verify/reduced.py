"""Systems over U₀ + range Z, and least squares: the same proof as in checker.py, through products of stored matrices.

Part of the proof (docs/proofs.md, sections 1 and 2). y* solves B y* = β, with B = ZᵀAZ ("galerkin"), B = AZ ("rows",
square) or, with more rows than columns, B = (AZ)ᵀW(AZ). Residuals go through the factors one by one in twice the
precision, so that B is never needed exactly; its coercivity is that of the rounded product, less its rounding.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from pinnpoint_verify.checker import Discrete, coercivity, gamma, length, product, total, two_prod, two_sum, up
from pinnpoint_verify.reader import Array, Bundle, need


class Wide(NamedTuple):
    """Numbers known to lie in hi + lo ± err."""

    hi: Array
    lo: Array
    err: Array


def wide(hi: Array, lo: Any = None) -> Wide:
    """Two floats as they are."""
    return Wide(hi, np.zeros(len(hi)) if lo is None else lo, np.zeros(len(hi)))


def times(M: Any, x: Wide, b: Any = None) -> Wide:
    """M x − b."""
    hi, lo, err = product(M, x.hi, np.zeros(M.shape[0]) if b is None else b)
    more, size = M @ x.lo, abs(M) @ np.abs(x.lo) + np.abs(lo)
    count = int(np.diff(M.indptr).max(initial=0)) + 8
    err = err + gamma(count) * size + (abs(M) @ x.err) * (1.0 + gamma(count))
    return Wide(*two_sum(hi, lo + more), up(err))


class Reduced(Discrete):
    """System, state and queries over U₀ + range Z."""

    def __init__(self, bundle: Bundle, count: int, reduction: Any) -> None:
        need(reduction in ("rows", "galerkin"), "proof.json: an unknown reduction")
        self.U = bundle("system/u", None)
        self.N = N = len(self.U)
        self.b, self.u0, self.y = (bundle(f"system/{name}", None) for name in ("b", "u0", "y"))
        M, n = len(self.b), len(self.y)
        self.rows, self.Z = bundle.sparse("system/a", M, N), bundle.sparse("system/z", N, n)
        self.L, self.constants = bundle.sparse("system/l", count, N), bundle("system/constants", count)
        need(len(self.u0) == N and 0 < n <= N and (M == N or reduction == "rows"), "system: sizes do not fit")
        need(reduction == "galerkin" or M >= n, "system: fewer equations than unknowns")
        self.tall, self.galerkin = reduction == "rows" and M > n, reduction == "galerkin"
        self.weight = bundle("system/weight", M) if "system/weight" in bundle else np.ones(M)
        need(self.tall or "system/weight" not in bundle, "weight: of a square system it does not count")
        need(np.all(self.weight > 0.0), "weight: not positive")
        far = np.abs(self.u0 + self.Z @ self.y - self.U)
        size = np.abs(self.u0) + abs(self.Z) @ np.abs(self.y) + np.abs(self.U)
        need(np.all(far <= 1e-9 * size.max(initial=0.0)), "u: is not admissible, not in U₀ + range Z")
        self.free, self.fixed, self.held = np.arange(n), np.zeros(0, int), np.zeros(0)
        self.w, self.cells = np.zeros(0), np.zeros((0, 0), int)
        self.ZT, self.AT = sp.csr_array(self.Z.T), sp.csr_array(self.rows.T)
        for A in (self.ZT, self.AT):
            A.sort_indices()
        self.W = sp.csr_array(sp.diags_array(self.weight))

    def residual(self, U: Array, rest: Array) -> tuple[Array, Array, Array]:
        """A U − b, or Zᵀ of it."""
        r = times(self.rows, wide(U, rest), self.b)
        return times(self.ZT, r) if self.galerkin else r

    def left(self, y: Wide) -> tuple[Wide, Wide]:
        """U₀ + Zy, and By − β there."""
        U = times(self.Z, y, -self.u0)
        r = times(self.rows, U, self.b)
        if self.tall:
            return U, times(self.ZT, times(self.AT, times(self.W, r)))
        return U, times(self.ZT, r) if self.galerkin else r

    def through(self, q: Array) -> Wide:
        """What q tests A U − b with: Zq, q, or WAZq."""
        if not (self.tall or self.galerkin):
            return wide(q)
        Zq = times(self.Z, wide(q))
        return times(self.W, times(self.rows, Zq)) if self.tall else Zq

    def matrix(self) -> tuple[Any, Any]:
        """B as floats, and entrywise bounds of its rounding."""
        A, Z, found = self.rows, self.Z, []
        for of in (lambda x: x, abs):
            one = of(A) @ of(Z)
            one = one.T @ self.W @ one if self.tall else of(self.ZT) @ one if self.galerkin else one
            found.append(sp.csr_array(one))
        return found[0], gamma(2 * (self.N + len(self.b)) + 16) * found[1]

    def bounds(self, bundle: Bundle, proof: dict[str, Any], known: Any = None) -> list[tuple[float, float]]:
        """Centre and radius of every query."""
        B, off = self.matrix()
        alpha, D = coercivity(bundle, B, proof["coercivity"])
        need(proof["coercivity"]["how"] != "declared", "coercivity: of such a system it is proved, not declared")
        S = sp.diags_array(D) @ off @ sp.diags_array(D)
        alpha -= float(up(math.sqrt(float(S.sum(axis=1).max()) * float(S.sum(axis=0).max())) * (1.0 + 1e-9)))
        need(alpha > 0.0, "coercivity: it does not pay for the rounding of ZᵀAZ")
        K, n = self.L.shape[0], len(self.y)
        U, rho = self.left(wide(bundle("witness/state", n), bundle("witness/rest", n)))
        t = float(up(length(D * up(np.abs(rho.hi) + np.abs(rho.lo) + rho.err)) / alpha))
        G, r, found = bundle("witness/green", K, n), rho.hi + rho.lo, []
        for i in range(K):
            row, q = self.L[[i]].toarray().ravel(), np.abs(G[i])
            s = times(self.ZT, times(self.AT, self.through(G[i]), row))
            both = (*two_prod(row, U.hi), *two_prod(row, U.lo))
            parts = [*(x for one in both for x in one.tolist()), float(self.constants[i]), -float(G[i] @ r)]
            c = math.fsum(parts)
            loss = total(np.abs(row) * U.err) + total(q * rho.err) + gamma(n + 8) * total(q * np.abs(r))
            loss += abs(math.fsum([*parts, -c])) * 1.01
            found.append((c, float(up(t * length(D * up(np.abs(s.hi) + np.abs(s.lo) + s.err)) + loss))))
        return found

    def tested(self, G: Array) -> Array:
        """Green vectors of the residual: their lengths are the sensitivities."""
        if not self.tall:
            return G
        return np.stack([x.hi + x.lo for x in map(self.through, G)])
