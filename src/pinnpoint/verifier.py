"""Re-check a certificate bundle from its witnesses alone. Needs numpy and scipy, and nothing that made the bundle.

Read it from the top: a bundle is loaded strictly (1); arithmetic with bounds (2); what is proved for the discrete
system (3) and for the PDE's own solution (4); what is only sampled (5); and what the certificate then has to say (6).
Notation and proofs are those of docs/proofs.md and docs/continuous.md. `main(path)` prints a verdict and returns 0 or 1.
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
import os
import re
import stat
from itertools import combinations, combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from scipy import special
from scipy.sparse.csgraph import dijkstra

Array = Any
SCHEMA, SLACK = "pinnpoint-bundle/1", 1e-6
"""SLACK: the checker's own interval, its radius r shrunk by SLACK · r, must lie in the claimed one."""


class Refused(Exception):
    """The line that fails."""


def need(true: Any, line: str) -> None:
    """Everything below is a list of these."""
    if not bool(true):
        raise Refused(line)


# 1. Loading: hashes, sizes and types first; nothing is followed, unpickled or evaluated.

NAME = re.compile(r"[a-z0-9_]{1,40}(/[a-z0-9_]{1,40}){0,2}\.(npy|json)")
ITEM = {"<f8": 8, "<i8": 8, "|i1": 1}
MOST_FILES, MOST_JSON = 20_000, 2**27


def strict_json(data: bytes, name: str) -> Any:
    """JSON without duplicate keys, without numbers that are not finite, and not nested deeply."""

    def pairs_once(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        need(len(found) == len(items), f"{name}: a key appears twice")
        return found

    def finite(text: str) -> float:
        x = float(text)
        need(math.isfinite(x), f"{name}: the number {text[:20]} is not finite")
        return x

    need(len(data) <= MOST_JSON, f"{name}: too large")
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=pairs_once, parse_float=finite, parse_constant=finite)
    except (ValueError, RecursionError) as error:
        raise Refused(f"{name}: is not strict JSON ({type(error).__name__})") from error


def read(root: Path, name: str, size: int | None = None) -> bytes:
    """A regular file of the expected size; links are not followed."""
    try:
        handle = os.open(root / name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError as error:
        raise Refused(f"{name}: cannot be read ({error.strerror})") from error
    with os.fdopen(handle, "rb") as file:
        about = os.fstat(file.fileno())
        need(stat.S_ISREG(about.st_mode), f"{name}: is not a regular file")
        need(about.st_size == size if size is not None else about.st_size <= MOST_JSON, f"{name}: has the wrong size")
        return file.read()


def listing(root: Path) -> set[str]:
    """All files below a folder; anything but files and folders is refused."""
    found, todo = set(), [""]
    while todo:
        here = todo.pop()
        with os.scandir(root / here) as entries:
            inside = list(entries)
        for entry in inside:
            path = f"{here}{entry.name}"
            need(not entry.is_symlink(), f"{path!r}: is a symbolic link")
            need(len(found) < MOST_FILES and path.count("/") < 3, f"{path!r}: too many files or folders")
            if entry.is_dir(follow_symlinks=False):
                todo.append(path + "/")
            else:
                found.add(path)
    return found


def array(data: bytes, name: str, dtype: str, shape: tuple[int, ...]) -> Array:
    """A .npy file whose header says exactly what the manifest says and whose data is exactly that long."""
    need(dtype in ITEM and all(isinstance(n, int) and 0 <= n < 2**40 for n in shape), f"{name}: wrong dtype or shape")
    need(data[:8] == b"\x93NUMPY\x01\x00" and len(data) >= 10, f"{name}: is not a .npy file of version 1.0")
    start = 10 + int.from_bytes(data[8:10], "little")
    said = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (dtype, shape)
    need(data[10:start].decode("latin-1").strip() == said, f"{name}: its header is not what the manifest says")
    need(len(data) - start == math.prod(shape) * ITEM[dtype], f"{name}: is not as long as its header says")
    a = np.frombuffer(data, np.dtype(dtype), offset=start).reshape(shape)
    need(dtype != "<f8" or (np.all(np.isfinite(a)) and np.max(np.abs(a), initial=0.0) < 1e100), f"{name}: not finite")
    return a


class Bundle:
    """Files by name, each looked at through the manifest; `used` are those that a proof has read."""

    def __init__(self, path: Any) -> None:
        root = Path(path)
        need(root.is_dir(), f"{str(path)!r}: is not a folder")
        text = read(root, "manifest.json")
        mark = read(root, "manifest.sha256", 65).decode("latin-1")
        need(
            mark == hashlib.sha256(text).hexdigest() + "\n", "manifest.json: does not have the hash of manifest.sha256"
        )
        said = strict_json(text, "manifest.json")
        need(isinstance(said, dict) and said.get("schema") == SCHEMA, f"manifest.json: the schema is not {SCHEMA}")
        files = said.get("files")
        need(isinstance(files, dict) and set(said) == {"schema", "versions", "files"}, "manifest.json: wrong keys")
        for name, about in files.items():
            need(NAME.fullmatch(name), f"manifest.json: {name!r} is not a name of a file in a bundle")
            keys = {"sha256", "bytes"} | ({"dtype", "shape"} if name.endswith(".npy") else set())
            need(isinstance(about, dict) and set(about) == keys, f"{name}: wrong keys in the manifest")
            need(type(about["bytes"]) is int and about["bytes"] >= 0, f"{name}: wrong size in the manifest")
        there = listing(root) - {"manifest.json", "manifest.sha256"}
        need(there == set(files), f"files: {sorted(there ^ set(files))[:3]} missing or not in the manifest")
        self.json: dict[str, Any] = {}
        self.arrays: dict[str, Array] = {}
        self.used: set[str] = set()
        for name, about in files.items():
            data = read(root, name, about["bytes"])
            need(hashlib.sha256(data).hexdigest() == about["sha256"], f"{name}: does not have its SHA-256")
            if name.endswith(".npy"):
                shape = about["shape"]
                need(isinstance(shape, list) and len(shape) <= 3, f"{name}: wrong shape in the manifest")
                self.arrays[name[:-4]] = array(data, name, about["dtype"], tuple(shape))
            else:
                self.json[name] = strict_json(data, name)

    def __call__(self, name: str, *shape: int | None, whole: int | None = None) -> Array:
        """An array of the expected shape; with `whole`, of integers from 0 to whole − 1."""
        need(name in self.arrays, f"{name}.npy: is missing")
        a = self.arrays[name]
        self.used.add(name)
        fits = a.ndim == len(shape) and all(n is None or n == m for n, m in zip(shape, a.shape, strict=False))
        need(fits, f"{name}.npy: has shape {a.shape}, expected {shape}")
        need((a.dtype.kind == "i") == (whole is not None), f"{name}.npy: has the wrong dtype {a.dtype}")
        need(whole is None or not a.size or (a.min() >= 0 and a.max() < whole), f"{name}.npy: out of range")
        return a

    def sparse(self, name: str, rows: int, columns: int) -> Array:
        """A CSR matrix from its three arrays."""
        start = self(f"{name}_indptr", rows + 1, whole=2**40)
        at, x = self(f"{name}_indices", None, whole=columns), self(f"{name}_data", None)
        need(start[0] == 0 and np.all(np.diff(start) >= 0) and start[-1] == len(at) == len(x), f"{name}: not CSR")
        A = sp.csr_array((x, at, start), shape=(rows, columns))
        need(A.has_canonical_format, f"{name}: indices are not sorted, or appear twice")
        return A


# 2. Arithmetic: binary64, round to nearest, u = 2⁻⁵³. γ_k bounds; exact products and sums where second order is needed.

UNIT, TINY = 2.0**-53, 1e-280


def gamma(k: float) -> float:
    """γ_k = k u/(1 − k u), with a little more."""
    return k * UNIT / (1.0 - k * UNIT) * (1.0 + 1e-9)


def up(x: Any) -> Any:
    """A little more than x ≥ 0: pays for a few dozen roundings."""
    return np.asarray(x) * (1.0 + 1e-14) + TINY


def total(x: Array) -> float:
    """Upper bound of the sum of x ≥ 0."""
    return float(up(np.sum(x) * (1.0 + gamma(np.size(x) + 4))))


def length(x: Array) -> float:
    """Upper bound of ‖x‖₂."""
    return math.sqrt(total(np.square(x))) * (1.0 + 1e-14)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """A + b = s + e exactly."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def two_prod(a: Array, b: Array) -> tuple[Array, Array]:
    """A b = p + e exactly (up to underflow, which TINY pays for)."""
    p = a * b
    c, d = 134217729.0 * a, 134217729.0 * b
    ah, bh = c - (c - a), d - (d - b)
    al, bl = a - ah, b - bh
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def product(A: Array, x: Array, b: Array, lo: Array | None = None, err: Array | None = None) -> tuple[Array, ...]:
    """A (x + lo ± err) − b as (hi, lo, err): hi + lo in twice the precision, |true − hi − lo| ≤ err."""
    counts = np.diff(A.indptr)
    hi, low, size, out = -b, np.zeros(len(b)), np.zeros(len(b)), np.zeros(len(b))
    for k in range(int(counts.max(initial=0))):
        rows = np.nonzero(counts > k)[0]
        at = A.indptr[rows] + k
        a, j = A.data[at], A.indices[at]
        p, e = two_prod(a, x[j])
        hi[rows], f = two_sum(hi[rows], p)
        for part in (e, f) if lo is None else (e, f, a * lo[j]):
            low[rows] += part
            size[rows] += np.abs(part)
        if err is not None:
            out[rows] += np.abs(a) * err[j]
    return hi, low, up(gamma(3 * counts.max(initial=0) + 6) * size + out * (1.0 + gamma(counts.max(initial=0) + 4)))


def dot(q: Array, x: Array) -> list[float]:
    """Floats that add up to qᵀx exactly."""
    p, e = two_prod(q, x)
    return [*p.tolist(), *e.tolist()]


# 3. The discrete target. For F(y) = A U − b + N(U) on the free rows, N = 0 or the cubic reaction with weights ≥ 0, any
# state y and any vectors q: with d = y − y*, s = ℓ − F′(y)ᵀq and R(d) = N(y − d) − N(y) + N′(y) d,
#     ℓᵀy* = ℓᵀy − qᵀF(y) − qᵀR(d) − sᵀd .
# From (A + Aᵀ)/2 ⪰ α D⁻² and monotone N: dᵀA d ≤ dᵀF(y), so ‖D⁻¹d‖ ≤ ‖D F‖/α and |d_i| ≤ D_i ‖D F‖/α.


def coercivity(bundle: Bundle, B: Array, said: dict[str, Any]) -> tuple[float, Array]:
    """α and D with (B + Bᵀ)/2 ⪰ α D⁻², proved here from the witness."""
    n = B.shape[0]
    D = bundle("witness/scale", n)
    need(np.all(np.frexp(D)[0] == 0.5), "coercivity: the scales are not powers of two")
    need(np.all(np.abs(np.log2(D * D * B.diagonal())) <= 1.01), "coercivity: the scales do not fit the diagonal")
    S = sp.csr_array((B + B.T) * 0.5)
    S = sp.csr_array(sp.diags_array(D) @ S @ sp.diags_array(D))
    one = np.ones(n)
    off = 4.0 * UNIT * float((abs(S) @ one).max())  # of forming the symmetric part
    if said.get("how") == "m-matrix":
        # a symmetric Z-matrix with w > 0 has λ_min ≥ min (S w)_i/w_i; positive entries off the diagonal are subtracted
        w = bundle("witness/w", n)
        need(np.all(w > 0.0) and w.max() == 1.0, "coercivity: the witness w is not positive with maximum 1")
        C = S.tocoo()
        plus = (C.row != C.col) & (C.data > 0.0)
        excess = float(np.bincount(C.row[plus], C.data[plus], minlength=n).max())
        Z = sp.csr_array((np.where(plus, 0.0, C.data), (C.row, C.col)), shape=S.shape)
        k = gamma(int(np.diff(S.indptr).max()) + 4)
        proved = float(np.min((Z @ w - k * (abs(Z) @ w)) / w)) * (1.0 - 1e-14) - up(2.0 * excess * (excess > 0.0)) - off
    else:
        need(said.get("how") == "shift", f"coercivity: unknown proof {said.get('how')!r}")
        theta = float(said["theta"])
        C = sp.csc_array(S - theta * sp.eye_array(n))
        off += 2.0 * UNIT * float(np.abs(C.diagonal()).max())
        if n <= 600:  # Rump: a Cholesky factorization that ends has ‖ΔC‖ ≤ γ/(1 − γ) tr C
            try:
                np.linalg.cholesky(C.toarray())
            except np.linalg.LinAlgError as error:
                raise Refused("coercivity: the shifted matrix has no Cholesky factor") from error
            off += gamma(n + 4) * 1.01 * total(np.abs(C.diagonal()))
        else:  # |C − LU| ≤ γ_{s+4}|L||U|, and L diag(U) Lᵀ is positive definite
            options = {"SymmetricMode": True, "Equil": False}
            lu = spla.splu(C, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
            L, V = sp.csr_array(lu.L), sp.csr_array(lu.U)
            d = V.diagonal()
            good = np.array_equal(lu.perm_r, lu.perm_c) and d.min() > 0.0 and np.all(np.isfinite(L.data))
            need(good, "coercivity: the shifted matrix has no factorization with positive pivots")
            G = sp.csr_array(sp.diags_array(d) @ L.T)
            skew, f = abs(G - V) + 4.0 * UNIT * abs(G), gamma(int(np.diff(L.indptr).max()) + 4)
            aL, aV = abs(L), abs(V)
            rows = (f * (aL @ (aV @ one)) + aL @ (skew @ one)).max()
            columns = (f * (aV.T @ (aL.T @ one)) + skew.T @ (aL.T @ one)).max()
            off += math.sqrt(rows * columns) * (1.0 + 1e-9)
        proved = theta - float(up(off))
    alpha = float(said["alpha"])
    need(0.0 < alpha <= proved, f"coercivity: {alpha!r} is claimed, {proved!r} is proved")
    return alpha, D


def dd_add(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
    """Sum of pairs; off by at most 2⁻¹⁰⁰ of the magnitudes."""
    s, e = two_sum(a[0], b[0])
    return two_sum(s, e + (a[1] + b[1]))


def dd_scale(x: Array, a: tuple[Array, Array]) -> tuple[Array, Array]:
    """X times a pair; off by at most 2⁻¹⁰⁰ of the magnitude."""
    p, e = two_prod(x, a[0])
    return two_sum(p, e + x * a[1])


def complete(X: list[Array], times: Any, plus: Any, zero: Any, one: Any, degree: int) -> Any:
    """h_degree(X), the complete homogeneous symmetric polynomial, in any arithmetic."""
    h = [one] + [zero] * degree
    for x in X:
        for p in range(1, degree + 1):
            h[p] = plus(h[p], times(x, h[p - 1]))
    return h[degree]


def h_plain(X: list[Array], degree: int) -> Array:
    """h_degree(X) in floats."""
    return complete(X, np.multiply, np.add, np.zeros_like(X[0]), np.ones_like(X[0]), degree)


class Discrete:
    """System, state and queries of a bundle; `bounds` are the intervals that its witnesses prove."""

    def __init__(self, bundle: Bundle, count: int) -> None:
        self.points = bundle("mesh/nodes", None, None)
        self.N = N = len(bundle("system/u", None))
        self.A, self.b = bundle.sparse("system/a", N, N), bundle("system/b", N)
        self.L, self.constants = bundle.sparse("system/l", count, N), bundle("system/constants", count)
        self.U, self.free = bundle("system/u", N), bundle("system/free", None, whole=N)
        need(np.all(np.diff(self.free) > 0) and len(self.free), "free: not a sorted list of unknowns")
        self.fixed = np.setdiff1d(np.arange(N), self.free)
        self.held = bundle("system/fixed", len(self.fixed))
        need(np.array_equal(self.U[self.fixed], self.held), "u: is not admissible, fixed entries have other values")
        self.rows = self.A[self.free]
        self.cells: Array | None = None
        if "system/cubic" in bundle.arrays:
            self.w = bundle("system/cubic", None)
            self.cells = bundle("mesh/cells", len(self.w), None, whole=N)
            need(np.all(self.w >= 0.0), "cubic: a negative weight; only monotone reactions are checked")

    def residual(self, U: Array) -> tuple[Array, ...]:
        """F(U) on the free rows: hi, lo, err."""
        hi, lo, err = product(self.rows, U, self.b[self.free])
        if self.cells is None:
            return hi, lo, err
        X = [U[self.cells[:, i]] for i in range(self.cells.shape[1])]
        zero, one = (np.zeros(len(self.w)),) * 2, (np.ones(len(self.w)), np.zeros(len(self.w)))
        # ∫_K λu³φ_i = w_K h₃(u_0, …, u_m, u_i)
        cubes = [complete([*X, x], dd_scale, dd_add, zero, one, 3) for x in X]
        sizes = [h_plain([np.abs(y) for y in (*X, x)], 3) for x in X]
        flat = self.cells.T.ravel()
        S = sp.csr_array((np.tile(self.w, len(X)), (flat, np.arange(len(flat)))), shape=(self.N, len(flat)))
        high, low = (np.concatenate([c[k] for c in cubes]) for k in (0, 1))
        more = product(S[self.free], high, np.zeros(len(self.free)), low, 40.0 * 2.0**-100 * np.concatenate(sizes))
        s, e = two_sum(hi, more[0])
        return s, lo + more[1] + e, up(err + more[2] + 4.0 * UNIT * (np.abs(lo) + np.abs(more[1]) + np.abs(e)))

    def slope(self, U: Array, q: Array) -> tuple[Array, Array]:
        """N′(U) q on the free rows and a bound of its rounding; N′_ij = Σ w (1 + δ_ij) h₂(u, u_i, u_j)."""
        found, size = np.zeros(self.N), np.zeros(self.N)
        if self.cells is None:
            return found[self.free], size[self.free]
        Q = np.zeros(self.N)
        Q[self.free] = q
        X = [U[c] for c in self.cells.T]
        for i, j in ((i, j) for i in range(len(X)) for j in range(len(X))):
            for to, Y, z in (
                (found, X, Q[self.cells[:, j]]),
                (size, list(map(np.abs, X)), np.abs(Q[self.cells[:, j]])),
            ):
                to += np.bincount(
                    self.cells[:, i], (1.0 + (i == j)) * self.w * h_plain([*Y, Y[i], Y[j]], 2) * z, self.N
                )
        return found[self.free], up(gamma(np.bincount(self.cells.ravel()).max() + 60) * size)[self.free]

    def bounds(self, bundle: Bundle, proof: dict[str, Any]) -> list[tuple[float, float, float]]:
        """Centre (a sum of two floats) and radius of every query."""
        B = sp.csr_array(self.rows[:, self.free])
        alpha, D = coercivity(bundle, B, proof["coercivity"])
        K, n = self.L.shape[0], len(self.free)
        state, green = bundle("witness/state", self.N), bundle("witness/green", K, n)
        need(np.array_equal(state[self.fixed], self.held), "state: is not admissible")
        hi, lo, err = self.residual(state)
        size = length(abs(self.rows) @ np.abs(state)) + length(self.b)
        need(length(hi) <= 1e-12 * size, "state: does not solve the system to rounding")
        t = float(up(length(D * (np.abs(hi) + np.abs(lo) + err)) / alpha))
        far = np.zeros(self.N)
        far[self.free] = up(t * D)
        Bt, found = sp.csr_array(B.T), []
        for i in range(K):
            ell = np.zeros(self.N)
            row = self.L[[i]]
            ell[row.indices] = row.data
            q, bent = green[i], 0.0
            s, s_lo, s_err = product(Bt, q, ell[self.free])
            more, more_err = self.slope(state, q)
            need(length(s + more) <= 1e-8 * length(ell), "green: a Green vector does not solve its equation")
            algebra = t * length(
                D * up(np.abs(s + s_lo + more) + s_err + more_err + 4.0 * UNIT * (np.abs(s) + np.abs(more)))
            )
            if self.cells is not None:  # |R_i| ≤ ∫ λ(3|u| + |e|) e² φ_i, and λ|K| = w (m + 4)!/(6 m!)
                Q = np.zeros(self.N)
                Q[self.free] = np.abs(q)
                m = self.cells.shape[1] - 1
                u, e, g = (np.abs(v)[self.cells].max(axis=1) for v in (state, far, Q))
                bent = total(self.w * math.factorial(m + 4) / (6 * math.factorial(m)) * (3.0 * u + e) * e * e * g)
            parts = [*dot(row.data, state[row.indices]), float(self.constants[i]), *dot(-q, hi), *(-q * lo).tolist()]
            c = math.fsum(parts)
            rest = math.fsum([*parts, -c])
            loss = total(np.abs(q) * err) + 2.0 * UNIT * total(np.abs(q * lo)) + 4.0 * UNIT * abs(rest)
            found.append((c, rest, float(up(algebra + bent + loss))))
        return found


# 4. The PDE's own solution: −∇·(κ∇u) + c u = f, from any state u_h, any dual state z_h and any fluxes (docs/continuous.md).
# Quadratics on a simplex are Σ β_jl B_jl over pairs j ≤ l, B_jj = λ_j², B_jl = 2 λ_j λ_l.

PI = 3.141592653589793  # below π
DIRICHLET, NEUMANN = 1, 2


def pairs(m: int) -> list[tuple[int, int]]:
    """J ≤ l on an m-simplex."""
    return list(combinations_with_replacement(range(m + 1), 2))


def gram(m: int) -> Array:
    """Means of B_jl B_pq over an m-simplex."""

    def mean(a: tuple[int, int], b: tuple[int, int]) -> float:
        times = [(*a, *b).count(k) for k in range(m + 1)]
        top = math.factorial(m) * math.prod(map(math.factorial, times)) * (2 - (a[0] == a[1])) * (2 - (b[0] == b[1]))
        return top / math.factorial(m + 4)

    return np.array([[mean(a, b) for b in pairs(m)] for a in pairs(m)])


def bernstein(w: Array, m: int, degree: int) -> Array:
    """Coefficients from values at the vertices and, for degree 2, at the midpoints of j < l."""
    middle = iter(range(m + 1, w.shape[1]))
    both = lambda j, k: 0.5 * (w[:, j] + w[:, k])  # noqa: E731
    return np.stack(
        [
            w[:, j] if j == k else (both(j, k) if degree == 1 else 2.0 * w[:, next(middle)] - both(j, k))
            for j, k in pairs(m)
        ],
        axis=1,
    )


def cofactors(E: Array, sign: float) -> Array:
    """Rows C_i with E_j · C_i = det δ_ij (sign −1), or the same sums of absolute products (sign 1, |E|)."""
    d = E.shape[1]
    if d == 1:
        return np.ones_like(E)
    if d == 2:
        (a, b), (c, e) = E[:, 0].T, E[:, 1].T
        return np.stack([np.stack([e, sign * c], 1), np.stack([sign * b, a], 1)], 1)
    return np.stack([_cross(E[:, (i + 1) % 3], E[:, (i + 2) % 3], sign) for i in range(3)], 1)


def _cross(p: Array, q: Array, sign: float) -> Array:
    return np.stack(
        [p[:, (i + 1) % 3] * q[:, (i + 2) % 3] + sign * p[:, (i + 2) % 3] * q[:, (i + 1) % 3] for i in range(3)], 1
    )


def areas(V: Array) -> tuple[Array, Array]:
    """Measures of facets (n, d, d) and bounds of their relative errors."""
    n, d = V.shape[:2]
    if d == 1:
        return np.ones(n), np.zeros(n)
    E = V[:, 1:] - V[:, :1]
    if d == 2:
        return np.hypot(E[:, 0, 0], E[:, 0, 1]), np.full(n, gamma(8))
    size, rough = (
        0.5 * np.sqrt((_cross(*x) ** 2).sum(axis=1)) for x in ((E[:, 0], E[:, 1], -1.0), (*abs(E).swapaxes(0, 1), 1.0))
    )
    return size, up(gamma(10) * rough / size + gamma(8))


class Density:
    """f = Σ β B + h + ε on cells or facets: h ⟂ quadratics with rms ≤ high, mean |ε| ≤ e1, rms ε ≤ e2."""

    def __init__(self, bundle: Bundle, name: str, m: int, rows: int | None, spread: int | None = None) -> None:
        P = len(pairs(m))
        self.where = None if rows is not None else bundle(f"{name}_cells", None, whole=spread)
        n = rows if self.where is None else len(self.where)
        parts = [bundle(f"{name}_beta", n, P)] + [bundle(f"{name}_{k}", n) for k in ("high", "error1", "error2")]
        need(all(np.all(p >= 0.0) for p in parts[1:]), f"{name}: a bound is negative")
        if self.where is not None:
            need(len(np.unique(self.where)) == n, f"{name}: a cell appears twice")
            full = [np.zeros((spread, *p.shape[1:])) for p in parts]
            for a, p in zip(full, parts, strict=True):
                a[self.where] = p
            parts = full
        self.beta, self.high, self.e1, self.e2 = parts


class Mesh:
    """Geometry and topology, recomputed: sorted cells, facets in lexicographic order, first cells of facets outward."""

    def __init__(self, bundle: Bundle, degree: int) -> None:
        nodes = bundle("mesh/nodes", None, None)
        self.d, self.degree, self.size = nodes.shape[1], degree, len(nodes)
        d = self.d
        need(d in (1, 2, 3) and degree in (1, 2), "mesh: dimension or degree out of range")
        self.cells = T = bundle("mesh/cells", None, d + 1, whole=len(nodes))
        need(np.all(np.diff(T, axis=1) > 0), "mesh: vertices of a cell are not ascending")
        edges = (
            np.unique(T[:, list(combinations(range(d + 1), 2))].reshape(-1, 2), axis=0)
            if degree == 2
            else np.zeros((0, 2), int)
        )
        self.n = len(nodes) - len(edges)
        need(
            T.max() < self.n and np.allclose(nodes[self.n :], nodes[edges].mean(axis=1), rtol=1e-12),
            "mesh: wrong midpoints",
        )
        self.keys = edges[:, 0] * self.n + edges[:, 1]
        self.points, self.C = nodes[: self.n], len(T)
        every = np.stack([np.delete(T, i, axis=1) for i in range(d + 1)], axis=1).reshape(-1, d)
        self.facets, first, number, times = np.unique(
            every, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        need(times.max() <= 2, "mesh: more than two cells share a facet")
        self.cell_facets = number.reshape(self.C, d + 1)
        self.sign = np.where(np.isin(np.arange(len(every)), first), 1.0, -1.0).reshape(self.C, d + 1)
        self.owner, self.inside = first // (d + 1), times == 2
        self.neighbour = np.full(len(first), -1)
        self.neighbour[self.cell_facets[self.sign < 0.0]] = np.nonzero(self.sign < 0.0)[0]
        self.cell_nodes = self.nodes_of(T)
        V = self.points[T]
        E = V[:, 1:] - V[:, :1]
        co, sizes = cofactors(E, -1.0), cofactors(np.abs(E), 1.0)
        det = (E[:, 0] * co[:, 0]).sum(axis=1)
        raw = gamma(10) * (np.abs(E[:, 0]) * sizes[:, 0]).sum(axis=1) / np.abs(det)
        need(np.all(raw < 0.01), "mesh: a cell is too flat")
        self.V, self.E, self.slack = (
            V,
            np.concatenate([np.zeros((self.C, 1, d)), E], axis=1),
            up(raw / (1.0 - raw) + gamma(8)),
        )
        self.vol = np.abs(det) / math.factorial(d)
        self.top, self.low = up(self.vol * (1.0 + self.slack)), self.vol * (1.0 - self.slack) * (1.0 - 1e-14)
        G = co / det[:, None, None]
        self.grad = np.concatenate([-G.sum(axis=1, keepdims=True), G], axis=1)
        self.steep = up(sizes.max(axis=(1, 2)) / np.abs(det) * d)
        self.h = up(
            np.sqrt(np.max([((V[:, i] - V[:, j]) ** 2).sum(axis=1) for i, j in combinations(range(d + 1), 2)], axis=0))
        )
        self.kappa, self.c = bundle("continuous/kappa", self.C), bundle("continuous/reaction", self.C)
        self.kind = bundle("continuous/kind", len(self.facets), whole=3)
        need(np.all(self.kappa > 0.0) and np.all(self.c >= 0.0), "coefficients: κ > 0 and c ≥ 0 are needed")
        need(
            np.array_equal(self.kind == 0, self.inside),
            "kind: boundary facets must be Dirichlet or Neumann, others neither",
        )
        # constants of step 2: Payne–Weinberger, paths to what is fixed, Friedrichs
        root = np.sqrt(self.kappa)
        self.convex, self.step = up(self.h / (PI * root)), up(self.h / (d * np.sqrt(self.low) * root))
        held = np.zeros(self.C, dtype=bool)
        held[self.owner[self.kind == DIRICHLET]] = True
        hop = up(4.0 * self.step**2)
        ends = np.nonzero(held | (self.c > 0.0))[0]
        start = up(
            hop[ends]
            + np.where(held[ends], 0.0, 1.0 / np.where(self.c[ends] > 0.0, self.c[ends] * self.low[ends], 1.0))
        )
        a, b = self.owner[self.inside], self.neighbour[self.inside]
        rows, columns = np.concatenate([np.full(len(ends), self.C), a, b]), np.concatenate([ends, b, a])
        graph = sp.csr_array((np.concatenate([start, hop[b], hop[a]]), (rows, columns)), shape=(self.C + 1,) * 2)
        self.reach = up(np.sqrt(dijkstra(graph, indices=self.C)[: self.C]) * (1.0 + 1e-9))
        need(np.all(np.isfinite(self.reach)), "mesh: a part is joined to no Dirichlet facet and to no reaction")
        self.friedrichs = math.inf
        if np.all(self.kind != NEUMANN):
            widths = np.ptp(self.points, axis=0) * (1.0 + 1e-14)
            self.friedrichs = float(
                up(1.0 / (PI * math.sqrt(float(np.sum(widths**-2.0)) * (1.0 - 1e-14)) * root.min()))
            )

    def nodes_of(self, simplices: Array) -> Array:
        """Vertices, then edges j < l, of sorted simplices."""
        if self.degree == 1 or simplices.shape[1] == 1:
            return simplices
        two = [simplices[:, j] * self.n + simplices[:, k] for j, k in combinations(range(simplices.shape[1]), 2)]
        return np.concatenate([simplices, self.n + np.searchsorted(self.keys, np.stack(two, axis=1))], axis=1)

    def means(self, defect: Array) -> float:
        """Upper bound of Σ m_K |mean_K w| / ‖w‖_a."""
        found = [total(defect * self.reach), self.friedrichs * length(up(defect / np.sqrt(self.low)))]
        if np.all(self.c > 0.0):
            found.append(length(up(defect / np.sqrt(self.low * self.c))))
        return float(up(min(found)))


class Load:
    """g on some Neumann facets."""

    def __init__(self, bundle: Bundle, name: str, mesh: Mesh) -> None:
        self.facets = bundle(f"{name}_facets", None, whole=len(mesh.facets))
        need(
            np.all(mesh.kind[self.facets] == NEUMANN) and len(np.unique(self.facets)) == len(self.facets),
            f"{name}: wrong facets",
        )
        self.density = Density(bundle, name, mesh.d - 1, len(self.facets))
        self.area, self.slack = areas(mesh.points[mesh.facets[self.facets]])

    def against(self, mesh: Mesh, nodal: Array) -> tuple[float, float, float]:
        """∫ g v_h, its rounding, and the effect of g's own error."""
        w, m = nodal[mesh.nodes_of(mesh.facets[self.facets])], mesh.d - 1
        b, v, size = self.density.beta, bernstein(w, m, mesh.degree), 3.0 * np.abs(w).max(axis=1)
        terms = np.einsum("np,pq,nq->n", b, gram(m), v) * self.area
        value = math.fsum(terms.tolist())
        off = total(up((self.slack + gamma(80)) * self.area * np.abs(b).max(axis=1) * size)) + UNIT * abs(value)
        return value, off, total(up(self.area * (1.0 + self.slack) * self.density.e1 * size))


COUNT = 60  # more than the roundings behind any coefficient below


class Side:
    """A state with its source, load and flux: what they leave of the residual identity on every cell."""

    def __init__(self, mesh: Mesh, nodal: Array, source: Density, t: Array, load: Load | None) -> None:
        d, P, degree = mesh.d, pairs(mesh.d), mesh.degree
        need(t.shape[1] == (1 if degree == 1 else d), "flux: has the wrong order")
        closed = mesh.kind == NEUMANN
        if load is not None:
            closed[load.facets] = False
        need(not np.any(t[closed]), "flux: does not vanish on Neumann facets without data")
        self.nodal, self.source, self.load = nodal, source, load
        w = nodal[mesh.cell_nodes]
        self.b = b = bernstein(w, d, degree)
        self.blur = gamma(16) * np.abs(w).max(axis=1)
        self.height = up(np.abs(b).max(axis=1) + self.blur)
        # slopes at the vertices: ∇v_h = 2 Σ_k (b_jk − b_jj) ∇λ_k there
        slopes, rise = np.zeros((mesh.C, d + 1, d)), np.zeros(mesh.C)
        for place, (j, k) in enumerate(combinations(range(d + 1), 2)):
            half = 0.5 * (w[:, k] - w[:, j])
            m = 0.0 if degree == 1 else w[:, d + 1 + place]
            there, back = (half, -half) if degree == 1 else (2.0 * (m - w[:, j]) - half, 2.0 * (m - w[:, k]) + half)
            slopes[:, j] += (2.0 * there)[:, None] * mesh.grad[:, k]
            slopes[:, k] += (2.0 * back)[:, None] * mesh.grad[:, j]
            size = 0.0 if degree == 1 else 2.0 * np.maximum(np.abs(m - w[:, j]), np.abs(m - w[:, k]))
            rise = np.maximum(rise, size + np.abs(half))
        self.slopes, self.steep = slopes, up(2.0 * d * rise * mesh.steep)
        # the flux: σ = 1/(d|K|) Σ s_ij λ_j (x − v_i), normal components continuous since t is stored once for a facet
        s = np.empty((mesh.C, d + 1, d + 1))
        for k in range(d + 1):
            here = t[mesh.cell_facets[:, k]] * mesh.sign[:, k, None]
            for j in range(d + 1):
                s[:, k, j] = here[:, 0] if degree == 1 else here[:, min(j if j < k else j - 1, d - 1)]
        rest = source.beta - mesh.c[:, None] * b
        at = np.arange(d + 1)
        if degree == 2:  # interior moments are free: they are chosen to leave nothing of degree 1
            mass = np.array([[2.0 + 2.0 * (i == a) + 2.0 * (i == k) for a, k in P] for i in at]) / (
                (d + 1) * (d + 2) * (d + 3)
            )
            r = rest @ ((d + 1.0) * ((d + 2.0) * mass - mass.sum(axis=0))).T
            s[:, at, at] = 0.0
            D = -s.sum(axis=1) - d / (d + 1.0) * mesh.vol[:, None] * r
            s[:, at, at] = D - D.mean(axis=1, keepdims=True)
        columns, trace, heavy = s.sum(axis=1), s[:, at, at].sum(axis=1), np.abs(s).sum(axis=1).max(axis=1)
        scale, slack = 1.0 / (d * mesh.vol), mesh.slack + gamma(COUNT)
        moments = np.einsum("nij,nic->njc", s, mesh.E)
        half = 0.5 * mesh.kappa[:, None, None] * slopes
        self.delta = np.stack(
            [
                (0.5 * scale)[:, None]
                * (
                    columns[:, j, None] * mesh.E[:, k]
                    + columns[:, k, None] * mesh.E[:, j]
                    - moments[:, j]
                    - moments[:, k]
                )
                - half[:, j]
                - half[:, k]
                for j, k in P
            ],
            axis=1,
        )
        wrong, root = (
            slack * (2.0 * heavy * mesh.h * scale + mesh.kappa * self.steep),
            np.sqrt(d * mesh.top / mesh.kappa),
        )
        self.size = up(root * (np.abs(self.delta).max(axis=(1, 2)) + wrong))
        self.fuzz = up(root * wrong)
        # ϱ = f − c u_h + ∇·σ: its mean, and what is left
        div = scale[:, None] * ((d + 1.0) * columns - trace[:, None])
        rho = rest + np.stack([0.5 * (div[:, j] + div[:, k]) for j, k in P], axis=1)
        weight = np.abs(source.beta).max(axis=1) + mesh.c * self.height + 2.0 * (d + 1.0) ** 2 * heavy * scale
        blur, mean = up(slack * weight + mesh.c * self.blur), rho.mean(axis=1)
        away = rho - mean[:, None]
        spread = (
            np.maximum(np.einsum("np,pq,nq->n", away, gram(d), away), 0.0)
            + gamma(COUNT) * np.abs(away).max(axis=1) ** 2
        )
        self.osc = up(np.sqrt(mesh.top) * (np.sqrt(spread + source.high**2) + blur + source.e2))
        self.mean = mesh.means(up(mesh.top * (np.abs(mean) + blur + source.e1)))
        self.facet = np.zeros(mesh.C)
        self.square = self.with_(mesh, self)
        if load is not None:
            self._facets(mesh, load, t)

    def with_(self, mesh: Mesh, other: Side) -> Array:
        """∫ κ⁻¹ δ₁·δ₂ on every cell."""
        return np.einsum("npc,pq,nqc->n", self.delta, gram(mesh.d), other.delta, optimize=True) * mesh.vol / mesh.kappa

    def _facets(self, mesh: Mesh, load: Load, t: Array) -> None:
        """What the flux leaves of g: oscillation by the trace inequality, means by paths."""
        d, m, g = mesh.d, mesh.d - 1, load.density
        t = t[load.facets] if mesh.degree == 2 else np.repeat(t[load.facets], d, axis=1)
        gap = np.stack(
            [g.beta[:, p] - 0.5 * (t[:, j] + t[:, k]) / load.area for p, (j, k) in enumerate(pairs(m))], axis=1
        )
        blur = up((load.slack + gamma(20)) * (np.abs(g.beta).max(axis=1) + np.abs(t).max(axis=1) / load.area))
        mean = gap.mean(axis=1)
        away = gap - mean[:, None]
        spread = (
            np.maximum(np.einsum("np,pq,nq->n", away, gram(m), away), 0.0) + gamma(60) * np.abs(away).max(axis=1) ** 2
        )
        rms = up(np.sqrt(spread + g.high**2) + blur + g.e2) if d > 1 else np.zeros(len(mean))
        cell, top = mesh.owner[load.facets], up(load.area * (1.0 + load.slack))
        trace = math.sqrt(1.0 / PI**2 + 2.0 / (d * PI))
        cost = up(trace * top * mesh.h[cell] / np.sqrt(mesh.low[cell] * mesh.kappa[cell]) * rms)
        self.facet = up(np.bincount(cell, cost, minlength=mesh.C))
        self.mean += total(up(top * (np.abs(mean) + blur + g.e1) * (mesh.reach[cell] + mesh.step[cell])))


def energy(
    mesh: Mesh, p: Side, dual: Side | None = None, product: Array | None = None, s: float = 1.0, sign: float = 1.0
) -> float:
    """Upper bound of ‖e‖_a, or of ‖s e ± ε/s‖_a: the formula of step 2 with δ, ϱ and means combined first."""
    mix = lambda a, b: s * a if dual is None else s * a + b / s  # noqa: E731
    q = dual or p
    square = p.square * s * s
    if dual is not None:
        square = square + 2.0 * sign * product + dual.square / (s * s)
    size = mix(p.size, q.size)
    flat = np.sqrt(np.maximum(square, 0.0) + 4.0 * (mesh.slack + gamma(COUNT)) * size * size)
    flat = flat + mix(p.fuzz, q.fuzz) + mix(p.facet, q.facet)
    o = mix(p.osc, q.osc)
    cells = np.minimum(
        (flat + mesh.convex * o) ** 2,
        flat**2 + np.where(mesh.c > 0.0, o**2 / np.where(mesh.c > 0.0, mesh.c, 1.0), np.inf),
    )
    return float(up(math.sqrt(total(up(cells))) + mix(p.mean, q.mean)))


def product_bound(mesh: Mesh, p: Side, z: Side, sign: float, acts: bool) -> tuple[float, float]:
    """Centre and radius of J(u) − constant = ∫ w u_h + sign [residual of u_h at z_h + a(e, ε)]; step 3."""
    eta_p, eta_d = energy(mesh, p), energy(mesh, z)
    low = high = 0.0
    if eta_p > 0.0 and eta_d > 0.0:
        s, product = math.sqrt(eta_d / eta_p), p.with_(mesh, z)
        low, high = (0.25 * energy(mesh, p, z, product, s, e) ** 2 for e in (-1.0, 1.0))
    f, G, d = p.source.beta, gram(mesh.d), mesh.d
    mass = np.einsum("np,pq,nq->n", f - mesh.c[:, None] * p.b, G, z.b, optimize=True)
    size = (np.abs(f).max(axis=1) + mesh.c * p.height) * z.height
    ones = (np.ones((d + 1, d + 1)) + np.eye(d + 1)) / ((d + 1) * (d + 2))
    stiff = np.einsum("njc,jk,nkc->n", p.slopes, ones, z.slopes, optimize=True)
    terms, w = sign * (mass - mesh.kappa * stiff), np.abs(z.source.beta).max(axis=1) * acts
    if acts:
        terms = terms + np.einsum("np,pq,nq->n", z.source.beta, G, p.b, optimize=True)
    wrong = 3.0 * (mesh.slack + gamma(COUNT)) * (size + w * p.height + d * mesh.kappa * p.steep * z.steep)
    wrong = wrong + p.blur * (mesh.c * z.height + w) + z.blur * (np.abs(f).max(axis=1) + mesh.c * p.height)
    data = total(mesh.top * up(p.source.e1 * z.height + z.source.e1 * p.height * acts))
    parts, off = (terms * mesh.vol).tolist(), total(up(wrong * mesh.vol))
    for load, nodal, factor in ((p.load, z.nodal, sign), (z.load, p.nodal, 1.0)):
        if load is not None:
            value, more, e = load.against(mesh, nodal)
            parts, off, data = [*parts, factor * value], off + more, data + e
    c = math.fsum(parts)
    a = (-low, high) if sign > 0.0 else (-high, low)
    return c + 0.5 * (a[0] + a[1]), float(up(0.5 * (low + high) + data + off + 8.0 * UNIT * (abs(c) + low + high)))


def line_bound(mesh: Mesh, p: Side, x: float) -> tuple[float, float]:
    """In one dimension |u(x) − u_h(x)| ≤ C_pt η, with the smaller of two energy bounds; step 6."""
    X = mesh.points[:, 0]
    P = X[mesh.cells]
    low, high = P.min(axis=1), P.max(axis=1)
    cost = up((high - low) / mesh.kappa)
    ends = X[mesh.facets[mesh.kind == DIRICHLET, 0]]

    def reach(y: Array) -> Array:
        found = np.full(len(y), np.inf)
        order = np.argsort(low)
        before = np.concatenate([[0.0], np.cumsum(cost[order])])
        at = np.clip(np.searchsorted(low[order], y, side="right") - 1, 0, mesh.C - 1)
        left = before[at] + (y - low[order][at]) / mesh.kappa[order][at]
        for end, value in ((X.min(), left), (X.max(), before[-1] - left)):
            if np.any(ends == end):
                found = np.minimum(found, np.maximum(value, 0.0) + gamma(4 * mesh.C + 20) * before[-1])
        return up(np.sqrt(found))

    cell = int(np.argmax((low <= x) & (x <= high)))
    need(low[cell] <= x <= high[cell], "query: the point is outside the mesh")
    h = P[cell, 1] - P[cell, 0]
    s, t, w = (P[cell, 1] - x) / h, (x - P[cell, 0]) / h, p.nodal[mesh.cell_nodes[cell]]
    value = s * w[0] + t * w[1] if mesh.degree == 1 else s * (s - t) * w[0] + t * (t - s) * w[1] + 4.0 * s * t * w[2]
    rest = p.source.beta - mesh.c[:, None] * p.b
    size = np.abs(p.source.beta).max(axis=1) + mesh.c * (p.height + p.blur / gamma(60))
    if mesh.degree == 2:
        bend = 0.5 * (p.slopes[:, 1, 0] - p.slopes[:, 0, 0]) * (mesh.grad[:, 1, 0] - mesh.grad[:, 0, 0])
        rest, size = rest + (mesh.kappa * bend)[:, None], size + 4.0 * mesh.kappa * p.steep * mesh.steep
    rms = np.sqrt(
        np.maximum(np.einsum("np,pq,nq->n", rest, gram(1), rest), 0.0)
        + gamma(60) * np.abs(rest).max(axis=1) ** 2
        + p.source.high**2
    )
    eta = length(up(mesh.convex * np.sqrt(mesh.top) * (rms + (mesh.slack + gamma(60)) * size + p.source.e2)))
    # nodal residuals ∫ f φ_i + g_i − a(u_h, φ_i), zero for a Galerkin solution up to rounding
    plain, residual, off = p.source.beta - mesh.c[:, None] * p.b, np.zeros(mesh.n), np.zeros(mesh.n)
    slope = 0.5 * (p.slopes[:, 0, 0] + p.slopes[:, 1, 0])
    base = (
        np.abs(p.source.beta).max(axis=1) + mesh.c * (p.height + p.blur / gamma(60)) + mesh.kappa * p.steep * mesh.steep
    )
    for i, hat in enumerate(([1.0, 0.5, 0.0], [0.0, 0.5, 1.0])):
        part = (plain @ gram(1) @ np.array(hat) - mesh.kappa * slope * mesh.grad[:, i, 0]) * mesh.vol
        residual += np.bincount(mesh.cells[:, i], part, minlength=mesh.n)
        wrong = (
            3.0 * (mesh.slack + gamma(60)) * base * mesh.vol + 2.0 * gamma(8) * np.abs(part) + p.source.e1 * mesh.top
        )
        off += np.bincount(mesh.cells[:, i], up(wrong), minlength=mesh.n)
    if p.load is not None:
        at = mesh.facets[p.load.facets, 0]
        residual[at] += p.load.density.beta[:, 0]
        off[at] += p.load.density.e1 + gamma(8) * np.abs(residual[at])
    inside = np.ones(mesh.n, dtype=bool)
    inside[mesh.facets[mesh.kind == DIRICHLET, 0]] = False
    if np.any(np.isfinite(reach(X[:1]))):
        eta = eta + total(up((np.abs(residual) + off) * reach(X))[inside])
    else:
        eta = math.inf
    C = min(float(reach(np.array([x]))[0]), float(up(mesh.reach[cell] + mesh.step[cell])))
    return float(value), float(up(C * min(eta, energy(mesh, p)) + gamma(40) * 4.0 * np.abs(w).sum()))


def continuous(
    bundle: Bundle, proof: dict[str, Any], rows: list[dict[str, Any]]
) -> tuple[list[tuple[float, float, float]], Mesh, Side]:
    """J(u) of every query from the stored states, fluxes and data."""
    mesh = Mesh(bundle, int(proof["degree"]))
    d, F = mesh.d, len(mesh.facets)
    f = Density(bundle, "source/f", d, mesh.C)
    load = Load(bundle, "source/g", mesh) if "source/g_beta" in bundle.arrays else None
    width = 1 if mesh.degree == 1 else d
    p = Side(mesh, bundle("continuous/state", mesh.size), f, bundle("continuous/flux", F, width), load)
    held, d_free = (
        np.unique(mesh.nodes_of(mesh.facets[mesh.kind == DIRICHLET])),
        bundle("system/free", None, whole=mesh.size),
    )
    mismatch, found = boundary_mismatch(bundle, proof, mesh, p), []
    sampled_neumann(bundle, proof, mesh, load)
    for i, (row, goal) in enumerate(zip(rows, proof["goals"], strict=True)):
        name, best = row["name"], (0.0, math.inf)
        constant, error = float(goal["constant"]), float(goal["error"])
        if goal["known"]:
            best = constant, error
            sampled_known(bundle, proof, mesh, p, row, goal, i)
        elif goal["acts"]:
            z = bundle(f"dual/z{i}", mesh.size)
            lift = np.zeros(mesh.size)
            if goal["kind"] == "flux":
                part = bundle(f"dual/facets{i}", None, whole=F)
                others = np.setdiff1d(np.nonzero(mesh.kind == DIRICHLET)[0], part)
                need(
                    np.all(mesh.kind[part] == DIRICHLET) and not np.isin(mesh.facets[part], mesh.facets[others]).any(),
                    f"{name!r}: no flux group",
                )
                lift[mesh.nodes_of(mesh.facets[part])] = 1.0
            need(np.array_equal(z[held], lift[held]), f"{name!r}: the dual state has other boundary values")
            w = Density(bundle, f"dual/w{i}", d, None, mesh.C)
            g = Load(bundle, f"dual/g{i}", mesh) if f"dual/g{i}_beta" in bundle.arrays else None
            side = Side(mesh, z, w, bundle(f"dual/t{i}", F, width), g)
            c, r = product_bound(mesh, p, side, -1.0 if goal["kind"] == "flux" else 1.0, goal["kind"] != "flux")
            moved = np.linalg.norm(z[d_free]) if goal["kind"] != "flux" else None
            said = row["sensitivity"]
            need(
                moved is None or proof["method"] != "exact" or near(said, moved, 1e-6),
                f"{name!r}: sensitivity is not {moved!r}",
            )
            scale = float(goal["scale"]) * 2.0 * (abs(c) + abs(constant) + r)
            best = c + constant, float(up(r + error + scale + 4.0 * UNIT * (abs(c) + abs(constant))))
            sampled_goal(bundle, proof, mesh, row, goal, w, g, i, p)
        if d == 1 and goal["kind"] == "point" and not goal["known"]:
            other = line_bound(mesh, p, float(goal["at"][0]))
            best = min(best, other, key=lambda b: b[1])
        need(math.isfinite(best[1]), f"{name!r}: nothing is proved")
        found.append((best[0], 0.0, float(up(best[1] + (0.0 if goal["known"] else mismatch)))))
    return found, mesh, p


# 5. What is sampled, not proved: formulas against their enclosures, the mollifier, ∫fΦ. These claims stay "declared".

FUNCTIONS = {n: getattr(np, n) for n in "sin cos tan sinh cosh tanh exp log sqrt abs".split()}
FUNCTIONS |= {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "min": np.minimum, "max": np.maximum}
BINARY = {ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide, ast.Pow: np.power}


def formula(given: Any, X: Array) -> Array:
    """A number, or a formula in x, y, z at points (n, d): a walk over its syntax tree, nothing is executed."""

    def walk(node: Any) -> Any:
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return float(node.value)
        if isinstance(node, ast.Name) and node.id in ("pi", "e"):
            return getattr(math, node.id)
        if isinstance(node, ast.Name) and node.id in ("x", "y", "z")[: X.shape[1]]:
            return X[:, "xyz".index(node.id)]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            return walk(node.operand) * (-1.0 if isinstance(node.op, ast.USub) else 1.0)
        if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
            return BINARY[type(node.op)](walk(node.left), walk(node.right))
        need(
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS,
            "formula: unknown part",
        )
        first, *more = [walk(a) for a in node.args]
        f = FUNCTIONS[node.func.id]
        if node.func.id not in ("min", "max"):
            return f(first)
        for a in more:
            first = f(first, a)
        return first

    if isinstance(given, str):
        need(len(given) <= 2000, "formula: too long")
        try:
            given = walk(ast.parse(given.strip(), mode="eval").body)
        except (SyntaxError, RecursionError) as error:
            raise Refused("formula: cannot be read") from error
    return np.broadcast_to(np.asarray(given, dtype=float), len(X))


def rule(m: int, n: int) -> tuple[Array, Array]:
    """Barycentric points and weights on an m-simplex: Gauss points in collapsed coordinates."""
    bary, weights = np.ones((1, 1)), np.ones(1)
    for k in range(1, m + 1):
        x, w = special.roots_jacobi(n, 0, k - 1)
        x, w = 0.5 * (1.0 + x), w / w.sum()
        bary = np.concatenate([np.repeat(1.0 - x, len(bary))[:, None], np.kron(x[:, None], bary)], axis=1)[:, ::-1]
        weights = np.kron(w, weights)
    return bary, weights


def sampled(what: str, density: Density, X: Array, given: Any, loose: Array | float = 0.0) -> None:
    """F − Σ β B against quadratics, and its size, on cells (n, m + 1, d) by quadrature."""
    m, some = X.shape[1] - 1, np.unique(np.linspace(0, len(X) - 1, min(len(X), 20_000)).astype(int))
    bary, weights = rule(m, 6)
    B = np.stack([bary[:, j] * bary[:, k] * (2.0 - (j == k)) for j, k in pairs(m)], axis=1)
    points = np.einsum("qi,nic->nqc", bary, X[some])
    f = given(points) if callable(given) else formula(given, points.reshape(-1, X.shape[2])).reshape(points.shape[:2])
    gap = f - density.beta[some] @ B.T
    size = (np.abs(f).max(axis=1) + np.abs(density.beta[some]).max(axis=1)) * 1e-10 + (
        loose[some] if np.ndim(loose) else loose
    )
    against = np.abs((gap * weights) @ B).max(axis=1)
    need(
        np.all(against <= density.e1[some] + size),
        f"{what}: its stored coefficients are not those of the data (sampled)",
    )
    rms = np.sqrt((gap**2) @ weights)
    need(
        np.all(rms <= 1.001 * (density.high[some] + density.e2[some]) + 10.0 * size),
        f"{what}: its stored bounds are too small (sampled)",
    )


def sampled_neumann(bundle: Bundle, proof: dict[str, Any], mesh: Mesh, load: Load | None) -> None:
    """The stored Neumann load is that of the data, and vanishes where none is given."""
    place = {} if load is None else {int(f): i for i, f in enumerate(load.facets)}
    for k, given in enumerate(proof["neumann"]):
        facets = bundle(f"continuous/n{k}", None, whole=len(mesh.facets))
        need(np.all(np.diff(facets) > 0), "Neumann data: facets are not in order")
        if given == 0.0:
            continue
        need(load is not None and all(int(f) in place for f in facets), "Neumann data: facets without their load")
        at = np.array([place.pop(int(f)) for f in facets], dtype=int)
        V, g = mesh.points[mesh.facets[facets]], load.density  # type: ignore[union-attr]
        some = Density.__new__(Density)
        some.beta, some.high, some.e1, some.e2 = g.beta[at], g.high[at], g.e1[at], g.e2[at]
        sampled("Neumann data", some, V, given)
    need(not place, "Neumann data: a load that the case does not have")


def boundary_mismatch(bundle: Bundle, proof: dict[str, Any], mesh: Mesh, p: Side) -> float:
    """Max |g_D − u_h| on Γ_D: proved for numbers, the stored bound compared with samples for formulas."""
    claimed, seen = float(proof["mismatch"]), []
    for k, given in enumerate(proof["dirichlet"]):
        facets = bundle(f"continuous/d{k}", None, whole=len(mesh.facets))
        seen += facets.tolist()
        need(np.all(np.diff(facets) > 0), "kind: facets are not in order")
        T, m = mesh.facets[facets], mesh.d - 1
        b = bernstein(p.nodal[mesh.nodes_of(T)], m, mesh.degree)
        bary, _ = rule(m, 5)
        B = np.stack([bary[:, i] * bary[:, j] * (2.0 - (i == j)) for i, j in pairs(m)], axis=1)
        X = np.einsum("qi,nic->nqc", bary, mesh.points[T]).reshape(-1, mesh.d)
        gap = np.abs(formula(given, X) - (b @ B.T).ravel()) if isinstance(given, str) else np.abs(b - given)
        top = float(np.abs(b).max(initial=0.0))
        need(
            gap.max(initial=0.0) <= claimed * (1.0 + 1e-9) + 1e-13 * top * isinstance(given, str),
            "state: misses the Dirichlet data",
        )
    need(sorted(seen) == np.nonzero(mesh.kind == DIRICHLET)[0].tolist(), "kind: not the facets with Dirichlet data")
    return claimed


def distance(x: Array, V: Array) -> float:
    """Smallest distance of a point from facets (n, d, d)."""
    d, P = V.shape[1], V - x
    found = np.sqrt((P**2).sum(axis=2)).min()
    for i, j in combinations(range(d), 2):
        a, e = P[:, i], P[:, j] - P[:, i]
        t = np.clip(-(a * e).sum(axis=1) / (e * e).sum(axis=1), 0.0, 1.0)
        found = min(found, np.sqrt(((a + t[:, None] * e) ** 2).sum(axis=1)).min())
    if d == 3:
        n = _cross(P[:, 1] - P[:, 0], P[:, 2] - P[:, 0], -1.0)
        n = n / np.sqrt((n * n).sum(axis=1))[:, None]
        over = np.stack([(_cross(P[:, i], P[:, (i + 1) % 3], -1.0) * n).sum(axis=1) for i in range(3)])
        inside = np.all(over >= 0.0, axis=0) | np.all(over <= 0.0, axis=0)
        found = min(found, np.abs((P[:, 0] * n).sum(axis=1))[inside].min(initial=math.inf))
    return float(found)


def gauss(a: Array, b: Array, n: int) -> tuple[Array, Array]:
    """Gauss points and weights on intervals, on a last axis."""
    x, w = special.roots_legendre(n)
    half = 0.5 * (np.asarray(b, dtype=float) - a)[..., None]
    return np.asarray(a, dtype=float)[..., None] + half * (1.0 + x), half * w


def kernel(d: int, kappa: float, c: float, R: float, a: float) -> tuple[float, Any]:
    """C of w = C (1 − r²/R²), and Φ(r): both from the radial equation (−κΔ + c)Φ = δ − w, Φ = Φ′ = 0 at R; step 4."""
    m, ball = math.sqrt(c / kappa), {1: 2.0, 2: math.pi, 3: 4.0 * math.pi / 3.0}[d]
    z = lambda r: np.maximum(m * r, 1e-300)  # noqa: E731
    h = {1: lambda r: np.cosh(z(r)), 2: lambda r: special.i0(z(r)), 3: lambda r: np.sinh(z(r)) / z(r)}[d]

    def integral(f: Any, low: float, high: float) -> float:
        r, w = gauss(np.array(low), np.array(high), 200)
        return float(np.sum(w * f(r) * h(r) * r ** (d - 1))) * d * ball

    mean = integral(lambda r: 1.0, 0.0, a) / (ball * a**d) if a > 0.0 else 1.0
    C = mean / integral(lambda r: 1.0 - (r / R) ** 2, 0.0, R)

    def cauchy(r: Array, s: Array) -> Array:
        if d == 2:
            return s * (
                np.log(s / r)
                if m * R < 1e-6
                else special.i0(m * s) * special.k0(m * r) - special.i0(m * r) * special.k0(m * s)
            )
        sinh = (s - r) if m * R < 1e-6 else np.sinh(m * (s - r)) / m
        return sinh if d == 1 else sinh * s / r

    def phi(r: Array, n: int) -> Array:
        total_ = np.zeros_like(r)
        for low, high, density in (
            (r, np.maximum(r, a), 1.0 / (ball * a**d) if a > 0.0 else 0.0),
            (np.maximum(r, a), np.full_like(r, R), 0.0),
        ):
            s, w = gauss(low, high, n)
            total_ -= (w * cauchy(r[..., None], s) * (density - C * (1.0 - (s / R) ** 2))).sum(axis=-1) / kappa
        return total_

    return C, phi


def data_term(d: int, f: Any, x0: Array, R: float, a: float, phi: Any, n: int) -> tuple[float, float]:
    """∫ f Φ and ∫ |f Φ| over the ball, in polar coordinates."""
    if d == 1:
        directions, share = np.array([[1.0], [-1.0]]), np.ones(2)
    else:
        angle = 2.0 * math.pi * (np.arange(2 * n) + 0.5) / (2 * n)
        directions, share = np.stack([np.cos(angle), np.sin(angle)], axis=1), np.full(2 * n, math.pi / n)
        if d == 3:
            z, w = special.roots_legendre(n)
            flat = np.sqrt(1.0 - z**2)[:, None, None] * directions
            directions = np.concatenate([flat, np.broadcast_to(z[:, None, None], (n, 2 * n, 1))], axis=2).reshape(-1, 3)
            share = (w[:, None] * share).ravel()
    value = size = 0.0
    for low, high in ((0.0, a), (a, R)) if a > 0.0 else ((0.0, R),):
        t, w = gauss(np.array(math.sqrt(low)), np.array(math.sqrt(high)), n)
        r, w = t * t, w * 2.0 * t
        F = formula(f, (x0 + r[:, None, None] * directions).reshape(-1, d)).reshape(len(r), -1)
        weight = w * r ** (d - 1) * phi(r, n)
        value, size = value + float(weight @ (F @ share)), size + float(np.abs(weight) @ (np.abs(F) @ share))
    return value, size


def sampled_known(
    bundle: Bundle, proof: dict[str, Any], mesh: Mesh, p: Side, row: dict[str, Any], goal: dict[str, Any], i: int
) -> None:
    """A query of the Dirichlet boundary has the data's value."""
    name, constant, error = row["name"], float(goal["constant"]), float(goal["error"]) + float(proof["mismatch"])
    if goal["kind"] == "patch":
        part = bundle(f"dual/facets{i}", None, whole=len(mesh.facets))
        need(np.all(mesh.kind[part] == DIRICHLET), f"{name!r}: not on the Dirichlet boundary")
        T = mesh.facets[part]
        size, mean = (
            areas(mesh.points[T])[0],
            bernstein(p.nodal[mesh.nodes_of(T)], mesh.d - 1, mesh.degree).mean(axis=1),
        )
        values = [float(size @ mean / size.sum())]
    else:
        x0 = np.array(goal["at"], dtype=float)
        need(goal["at"] == row["at"], f"{name!r}: another point")
        V = mesh.points[mesh.facets[mesh.kind == DIRICHLET]]
        need(distance(x0, V) <= 1e-9 * float(mesh.h.max()), f"{name!r}: not on the Dirichlet boundary")
        values = [float(formula(given, x0[None, :])[0]) for given in proof["dirichlet"]]
    fits = any(near(constant, v, 1e-12, error + 1e-15) for v in values)
    need(fits, f"{name!r}: the value on the Dirichlet boundary is not {constant!r} (sampled)")


def sampled_goal(
    bundle: Bundle,
    proof: dict[str, Any],
    mesh: Mesh,
    row: dict[str, Any],
    goal: dict[str, Any],
    w: Density,
    g: Load | None,
    i: int,
    p: Side,
) -> None:
    """The bounded form of a query is that of the query: ball, mollifier and constant, or the group's load."""
    name, kind, constant, error = row["name"], goal["kind"], float(goal["constant"]), float(goal["error"])
    if kind in ("patch", "flux"):
        part = bundle(f"dual/facets{i}", None, whole=len(mesh.facets))
        need(not np.any(w.beta) and (kind == "patch") == (g is not None), f"{name!r}: not the form of a {kind}")
        if g is not None:
            size = areas(mesh.points[mesh.facets[part]])[0].sum()
            free = part[mesh.kind[part] != DIRICHLET]
            need(
                np.array_equal(np.sort(g.facets), np.sort(free))
                and np.allclose(g.density.beta * size, 1.0, rtol=1e-12),
                f"{name!r}: wrong load",
            )
            T = mesh.facets[part[mesh.kind[part] == DIRICHLET]]
            mean = bernstein(p.nodal[mesh.nodes_of(T)], mesh.d - 1, mesh.degree).mean(axis=1) if len(T) else np.zeros(0)
            value = float(areas(mesh.points[T])[0] @ mean / size) if len(T) else 0.0
            allowed = error + float(proof["mismatch"]) + 1e-12 * abs(value)
            need(near(constant, value, 0.0, allowed), f"{name!r}: the Dirichlet part has the mean {value!r} (sampled)")
        else:
            need(constant == 0.0, f"{name!r}: a flux has no constant")
        return
    x0, a = np.array(goal["at"], dtype=float), float(goal["average"])
    need(
        goal["at"] == row["at"] and (a > 0.0) == (row["kind"] == "average"),
        f"{name!r}: the ball is not about the query's point",
    )
    if g is not None:
        need(
            mesh.d == 1 and mesh.points[mesh.facets[g.facets, 0], 0] == x0 and np.all(g.density.beta == 1.0),
            f"{name!r}: wrong load",
        )
        need(constant == 0.0 and not np.any(w.beta), f"{name!r}: not a unit load")
        return
    R, d = float(goal["radius"]), mesh.d
    rest = np.einsum("nic,nc->ni", mesh.grad[:, 1:], x0 - mesh.V[:, 0])
    cell = int(np.argmax(np.minimum(rest.min(axis=1), 1.0 - rest.sum(axis=1))))
    k0, c0 = float(mesh.kappa[cell]), float(mesh.c[cell])
    other = mesh.neighbour
    jump = (other < 0) | (mesh.kappa[mesh.owner] != mesh.kappa[other]) | (mesh.c[mesh.owner] != mesh.c[other])
    need(
        min(rest[cell].min(), 1.0 - rest[cell].sum()) > -1e-9 and 0.0 < R and a <= R,
        f"{name!r}: no ball about a point of the mesh",
    )
    need(
        R <= distance(x0, mesh.points[mesh.facets[jump]]) * (1.0 + 1e-12),
        f"{name!r}: the ball leaves where the coefficients are constant",
    )
    C, phi = kernel(d, k0, c0, R, a)
    sphere = lambda X: C * np.maximum(0.0, 1.0 - ((X - x0) ** 2).sum(axis=-1) / R**2)  # noqa: E731
    far = np.sqrt(((mesh.V - x0) ** 2).sum(axis=2))
    cut = (far.max(axis=1) > R * (1.0 - 1e-9)) & (far.min(axis=1) - mesh.h < R)
    sampled(f"mollifier of {name!r}", w, mesh.V, sphere, np.where(cut, 0.1 * C * np.minimum(1.0, mesh.h / R), 1e-9 * C))
    mass = C * {1: 4.0 / 3.0, 2: math.pi / 2.0, 3: 8.0 * math.pi / 15.0}[d] * R**d
    held = float(np.sum(w.beta.mean(axis=1) * mesh.vol))
    need(near(held, mass, 1e-9, total(mesh.top * w.e1)), f"mollifier of {name!r}: its mass is not {mass!r} (sampled)")
    if R * math.sqrt(c0 / k0) < 20.0:
        (rough, _), (fine, size) = (data_term(d, proof["source"], x0, R, a, phi, n) for n in (20, 32))
        allowed = error + 10.0 * abs(fine - rough) + 1e-9 * size
        need(
            near(constant, fine, 0.0, allowed),
            f"constant of {name!r}: ∫fΦ is {fine!r}, {constant!r} is stored (sampled)",
        )


# 6. The certificate: its numbers must agree with each other and hold what was proved.


def near(a: Any, b: Any, relative: float, absolute: float = 0.0) -> bool:
    """Whether two numbers agree."""
    return isinstance(a, int | float) and abs(a - b) <= relative * max(abs(a), abs(b)) + absolute


def rows_agree(certificate: dict[str, Any], case: dict[str, Any], proof: dict[str, Any]) -> list[dict[str, Any]]:
    """The queries of the certificate; refuses one whose numbers do not fit together or to the case."""
    need(certificate.get("schema") == "pinnpoint-certificate/1", "certificate.json: unknown schema")
    need(certificate.get("method") == proof["method"] == case["certificate"]["method"], "certificate: another method")
    rows, asked = certificate["queries"], case["queries"]
    need(len(rows) == len(asked) > 0, "certificate: another number of queries than the case")
    for row, query in zip(rows, asked, strict=True):
        name = row["name"]
        need(name == query["name"] and row["kind"] == query["kind"], f"{name!r}: another query than in the case")
        need(row["target"] == proof["target"] == case["certificate"]["target"], f"{name!r}: another target")
        if query.get("at") is not None:
            need(row.setdefault("at", query["at"]) == query["at"], f"{name!r}: the point is not where the case has it")
        if row["radius"] is None:
            continue
        c, r, v = row["center"], row["radius"], row["value"]
        need(r >= 0.0, f"{name!r}: the radius is negative")
        sums = math.fsum(row["terms"][term] for term in proof["radius_terms"])
        need(near(r, sums, 1e-12, 1e-300), f"{name!r}: the radius {r!r} is not the sum of its terms, {sums!r}")
        ends = math.nextafter(c - r, -math.inf), math.nextafter(c + r, math.inf)
        need((row["lower"], row["upper"]) == ends, f"{name!r}: lower and upper are not center ± radius")
        need(
            near(row["value_radius"], abs(v - c) + r, 1e-12), f"{name!r}: value_radius is not |value − center| + radius"
        )
        if row["raw"] is not None:
            need(near(row["raw_radius"], abs(row["raw"] - c) + r, 1e-12), f"{name!r}: raw_radius does not fit raw")
            need(
                near(row["terms"].get("mismatch"), abs(row["raw"] - v), 1e-12, 1e-300),
                f"{name!r}: mismatch is not |raw − value|",
            )
    return list(rows)


def state_agrees(d: Discrete, rows: list[dict[str, Any]], proof: dict[str, Any], bundle: Bundle) -> None:
    """Values, residual norm and points belong to the stored U, A, b and ℓ: one compatible set."""
    need(bundle.json["certificate.json"].get("dofs") == len(d.free), "certificate: dofs is not the number of unknowns")
    hi, lo, err = d.residual(d.U)
    norm, floor = length(hi + lo), length(abs(d.rows) @ np.abs(d.U)) * 1e-13
    values = d.L @ d.U + d.constants
    sizes = abs(d.L) @ np.abs(d.U) + np.abs(d.constants)
    count = int(proof["components"])
    need(d.N == count * len(d.points), "nodes: their number does not fit the unknowns")
    cells = bundle("mesh/cells", None, d.points.shape[1] + 1, whole=len(d.points))
    for i, row in enumerate(rows):
        name = row["name"]
        need(
            near(row["value"], values[i], 0.0, 1e-13 * sizes[i] + 1e-300),
            f"{name!r}: value is not that of U, {values[i]!r}",
        )
        need(near(row["residual_norm"], norm, 1e-6, floor), f"{name!r}: residual_norm is not ‖A U − b‖ = {norm!r}")
        if row["kind"] in ("point", "average"):
            here = d.L[[i]]
            nodes, x = here.indices // count, here.data
            need(
                near(x.sum(), 1.0, 1e-12) and np.all(here.indices % count == here.indices[0] % count),
                f"{name!r}: ℓ is no mean",
            )
            at = np.array(row["at"])
            off = np.abs(x @ d.points[nodes] - at).max()
            need(
                off <= 1e-12 * np.abs(d.points).max() * max(1.0, np.abs(x).sum()),
                f"{name!r}: ℓ belongs to another point, {off!r} away",
            )
            if row["kind"] == "point" and proof["degree"] == 1:
                nodes = nodes[x != 0.0]
                inside = np.isin(cells, nodes).sum(axis=1) == len(nodes)
                need(inside.any(), f"{name!r}: ℓ does not interpolate in one cell")


def base_green(bundle: Bundle, d: Discrete, count: int) -> Array:
    """Green vectors at the prediction itself, J(U)ᵀg = ℓ to 1e-8, for the sensitivities of a nonlinear problem."""
    green = bundle("witness/base", count, len(d.free))
    B = sp.csr_array(d.rows[:, d.free])
    for i, q in enumerate(green):
        ell = d.L[[i]].toarray()[0][d.free]
        rest = length(B.T @ q + d.slope(d.U, q)[0] - ell)
        need(rest <= 1e-8 * length(ell), "base: the Green vectors at the prediction do not solve their equation")
    return green


def sensitivities_agree(green: Array, rows: list[dict[str, Any]], method: str, case: dict[str, Any]) -> None:
    """σ = ‖g‖₂ for the weight of case files, the identity; from the seed's probes for the randomized method."""
    sizes = np.sqrt((green * green).sum(axis=1))
    if method == "randomized":
        options = case["certificate"].get("options") or {}
        m, delta, seed = (options.get(k, v) for k, v in (("probes", 16), ("delta", 0.05), ("seed", 0)))
        z = np.random.default_rng(int(seed)).standard_normal((int(m), green.shape[1]))
        quantile = 2.0 * float(special.gammaincinv(0.5 * m, delta / len(rows)))
        sizes = np.sqrt(((green @ z.T) ** 2).mean(axis=1) * m / quantile)
    for row, size in zip(rows, sizes, strict=True):
        said, both = row["sensitivity"], method not in ("inexact", "stationary")
        fits = said is None or (said >= size * (1.0 - 1e-6) and (not both or said <= size * (1.0 + 1e-6)))
        need(fits or method == "stationary", f"{row['name']!r}: sensitivity is not {float(size)!r}")
        if "norm" in row["terms"]:
            need(near(row["terms"]["norm"], said * row["residual_norm"], 1e-9), f"{row['name']!r}: norm is not σ‖r‖")
        if method in ("exact", "root", "inexact") and row["radius"] is not None:
            moved = abs(row["value"] - row["center"])
            need(
                near(row["terms"]["correction"], moved, 1e-9, 1e-12 * (abs(row["value"]) + moved)),
                f"{row['name']!r}: correction is not |value − center|",
            )


def holds(row: dict[str, Any], c: float, rest: float, radius: float, rounded: bool) -> None:
    """The claimed interval holds the one proved here."""
    if row["radius"] is None:
        return
    slack = SLACK * radius + (0.0 if rounded else 1e-9 * (abs(c) + abs(row["value"])))
    low = math.fsum([c, rest, -radius, slack, -row["lower"]])
    high = math.fsum([row["upper"], -c, -rest, -radius, slack])
    line = f"{row['name']!r}: [{row['lower']!r}, {row['upper']!r}] is claimed, {c + rest!r} ± {radius!r} is proved"
    need(math.isfinite(radius) and low >= 0.0 and high >= 0.0, line)


def verify(path: Any) -> list[str]:
    """Lines of the report; raises `Refused` with the line that fails."""
    bundle = Bundle(path)
    for name in ("certificate.json", "case.json", "proof.json"):
        need(isinstance(bundle.json.get(name), dict), f"{name}: is missing")
    certificate, case, proof = (bundle.json[n] for n in ("certificate.json", "case.json", "proof.json"))
    need("unsupported" not in proof, f"proof.json: this certificate cannot be re-checked, {proof.get('unsupported')}")
    rows = rows_agree(certificate, case, proof)
    d = Discrete(bundle, len(rows))
    state_agrees(d, rows, proof, bundle)
    rounded = all(row["rounding"] == "covered" for row in rows)
    lines = ["verified: every file has its SHA-256, dtype, shape and finite numbers"]
    lines.append("verified: value, residual norm, dofs and points of one compatible set A, b, ℓ, U; sums of the terms")
    lines.append("declared: A, b and ℓ, as stored, are the discrete system and queries of the case")
    if proof["target"] == "continuous":
        need(len(proof["goals"]) == len(rows), "proof.json: another number of goals")
        problem = case["problem"]
        need(proof["source"] == problem["source"], "source: not that of the case")
        found, mesh, p = continuous(bundle, proof, rows)
        for what, values in (("diffusion", mesh.kappa), ("reaction", mesh.c)):
            given = problem[what]
            need(not isinstance(given, int | float) or np.all(values == given), f"{what}: not that of the case")
        sampled("source", p.source, mesh.V, proof["source"])
        lines.append(
            "verified: fluxes in H(div) by representation; divergence, means, oscillation, product bound, sums"
        )
        lines.append("declared: κ, c and groups of facets belong to the case")
        lines.append("declared: enclosures of the data, mollifiers and ∫fΦ (checked by sampling)")
    else:
        green = bundle("witness/green", len(rows), len(d.free))
        if d.cells is not None:
            green = base_green(bundle, d, len(rows))
        sensitivities_agree(green, rows, proof["method"], case)
        found = d.bounds(bundle, proof)
        lines.append(
            f"verified: coercivity {proof['coercivity']['alpha']!r} by {proof['coercivity']['how']}; s = ℓ − Aᵀg; rounding"
        )
    unused = set(bundle.arrays) - bundle.used
    need(not unused, f"{sorted(unused)[:1]}: is part of no proof")
    for row, (c, rest, radius) in zip(rows, found, strict=True):
        holds(row, c, rest, radius, rounded)
        if proof["target"] == "continuous" and proof["method"] == "exact" and row["radius"] is not None:
            fits = near(row["radius"], radius, 1e-5, 1e-13 * abs(c)) and near(row["center"], c, 1e-12, 1e-5 * radius)
            need(
                fits,
                f"{row['name']!r}: {row['center']!r} ± {row['radius']!r} is not the interval of its witnesses, {c!r} ± {radius!r}",
            )
        lines.append(f"{row['name']}: proved {c + rest!r} ± {radius:.3e}; claimed [{row['lower']!r}, {row['upper']!r}]")
    if not rounded:
        lines.append("declared: rounding is negligible; claims may be narrower than proved by 1e-9 of the value")
    lines += [f"declared: {c['claim']}" for c in certificate["assumptions"] if c["status"] == "declared"]
    return lines


def main(path: Any) -> int:
    """Print the report and the verdict; 0 where everything is re-proved, else 1."""
    try:
        with np.errstate(all="ignore"):
            lines = verify(path)
    except Refused as line:
        print(f"NOT VERIFIED: {line}")
        return 1
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        OSError,
        RuntimeError,
        TypeError,
        ValueError,
        MemoryError,
    ) as error:
        print(f"NOT VERIFIED: malformed ({type(error).__name__}: {str(error)[:200]})")
        return 1
    print("\n".join([*lines, "VERIFIED"]))
    return 0
