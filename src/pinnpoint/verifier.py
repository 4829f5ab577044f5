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
        for entry in os.scandir(root / here):
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
        need(mark == hashlib.sha256(text).hexdigest() + "\n", "manifest.json: does not have the hash of manifest.sha256")
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
        fits = a.ndim == len(shape) and all(n is None or n == m for n, m in zip(shape, a.shape))
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
    """a + b = s + e exactly."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def two_prod(a: Array, b: Array) -> tuple[Array, Array]:
    """a b = p + e exactly (up to underflow, which TINY pays for)."""
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
    S = sp.csr_array((B + B.T) * 0.5)
    S = sp.csr_array(sp.diags_array(D) @ S @ sp.diags_array(D))
    one = np.ones(n)
    off = 4.0 * UNIT * float((abs(S) @ one).max())  # of forming the symmetric part
    if said.get("how") == "m-matrix":
        # a symmetric Z-matrix with w > 0 has λ_min ≥ min (S w)_i/w_i; positive entries off the diagonal are subtracted
        w = bundle("witness/w", n)
        need(np.all(w > 0.0), "coercivity: the witness w is not positive")
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
    """x times a pair; off by at most 2⁻¹⁰⁰ of the magnitude."""
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
            for to, Y, z in ((found, X, Q[self.cells[:, j]]), (size, list(map(np.abs, X)), np.abs(Q[self.cells[:, j]]))):
                to += np.bincount(self.cells[:, i], (1.0 + (i == j)) * self.w * h_plain([*Y, Y[i], Y[j]], 2) * z, self.N)
        return found[self.free], up(gamma(np.bincount(self.cells.ravel()).max() + 60) * size)[self.free]

    def bounds(self, bundle: Bundle, proof: dict[str, Any]) -> list[tuple[float, float, float]]:
        """Centre (a sum of two floats) and radius of every query."""
        B = sp.csr_array(self.rows[:, self.free])
        alpha, D = coercivity(bundle, B, proof["coercivity"])
        K, n = self.L.shape[0], len(self.free)
        state, green = bundle("witness/state", self.N), bundle("witness/green", K, n)
        need(np.array_equal(state[self.fixed], self.held), "state: is not admissible")
        hi, lo, err = self.residual(state)
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
            algebra = t * length(D * up(np.abs(s + s_lo + more) + s_err + more_err + 4.0 * UNIT * (np.abs(s) + np.abs(more))))
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
    for row, query in zip(rows, asked):
        name = row["name"]
        need(name == query["name"] and row["kind"] == query["kind"], f"{name!r}: another query than in the case")
        need(row["target"] == proof["target"] == case["certificate"]["target"], f"{name!r}: another target")
        if query.get("at") is not None and "at" in row:
            need(row["at"] == query["at"], f"{name!r}: the point is not where the case has it")
        if row["radius"] is None:
            continue
        c, r, v = row["center"], row["radius"], row["value"]
        need(r >= 0.0, f"{name!r}: the radius is negative")
        sums = math.fsum(row["terms"][term] for term in proof["radius_terms"])
        need(near(r, sums, 1e-12, 1e-300), f"{name!r}: the radius {r!r} is not the sum of its terms, {sums!r}")
        ends = math.nextafter(c - r, -math.inf), math.nextafter(c + r, math.inf)
        need((row["lower"], row["upper"]) == ends, f"{name!r}: lower and upper are not center ± radius")
        need(near(row["value_radius"], abs(v - c) + r, 1e-12), f"{name!r}: value_radius is not |value − center| + radius")
        if row["raw"] is not None:
            need(near(row["raw_radius"], abs(row["raw"] - c) + r, 1e-12), f"{name!r}: raw_radius does not fit raw")
            need(near(row["terms"].get("mismatch"), abs(row["raw"] - v), 1e-12, 1e-300), f"{name!r}: mismatch is not |raw − value|")
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
        need(near(row["value"], values[i], 0.0, 1e-13 * sizes[i] + 1e-300), f"{name!r}: value is not that of U, {values[i]!r}")
        need(near(row["residual_norm"], norm, 1e-6, floor), f"{name!r}: residual_norm is not ‖A U − b‖ = {norm!r}")
        if row["kind"] in ("point", "average"):
            here = d.L[[i]]
            nodes, x = here.indices // count, here.data
            need(near(x.sum(), 1.0, 1e-12) and np.all(here.indices % count == here.indices[0] % count), f"{name!r}: ℓ is no mean")
            at = np.array(row["at"])
            off = np.abs(x @ d.points[nodes] - at).max()
            need(off <= 1e-12 * np.abs(d.points).max() * max(1.0, np.abs(x).sum()), f"{name!r}: ℓ belongs to another point, {off!r} away")
            if row["kind"] == "point" and proof["degree"] == 1:
                nodes = nodes[x != 0.0]
                inside = np.isin(cells, nodes).sum(axis=1) == len(nodes)
                need(inside.any(), f"{name!r}: ℓ does not interpolate in one cell")


def sensitivities_agree(green: Array, rows: list[dict[str, Any]], method: str, case: dict[str, Any]) -> None:
    """σ = ‖g‖₂ for the weight of case files, the identity; from the seed's probes for the randomized method."""
    sizes = np.sqrt((green * green).sum(axis=1))
    if method == "randomized":
        options = case["certificate"].get("options") or {}
        m, delta, seed = (options.get(k, v) for k, v in (("probes", 16), ("delta", 0.05), ("seed", 0)))
        z = np.random.default_rng(int(seed)).standard_normal((int(m), green.shape[1]))
        quantile = 2.0 * float(special.gammaincinv(0.5 * m, delta / len(rows)))
        sizes = np.sqrt(((green @ z.T) ** 2).mean(axis=1) * m / quantile)
    for row, size in zip(rows, sizes):
        said, both = row["sensitivity"], method not in ("inexact", "stationary")
        need(said >= size * (1.0 - 1e-6) and (not both or said <= size * (1.0 + 1e-6)), f"{row['name']!r}: sensitivity is not {size!r}")
        if "norm" in row["terms"]:
            need(near(row["terms"]["norm"], said * row["residual_norm"], 1e-9), f"{row['name']!r}: norm is not σ‖r‖")
        if method in ("exact", "root", "inexact") and row["radius"] is not None:
            moved = abs(row["value"] - row["center"])
            need(near(row["terms"]["correction"], moved, 1e-9, 1e-12 * (abs(row["value"]) + moved)), f"{row['name']!r}: correction is not |value − center|")


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
        raise Refused("continuous: not checked yet")
    else:
        sensitivities_agree(bundle("witness/green", len(rows), len(d.free)), rows, proof["method"], case)
        found = d.bounds(bundle, proof)
        lines.append(f"verified: coercivity {proof['coercivity']['alpha']!r} by {proof['coercivity']['how']}; s = ℓ − Aᵀg; rounding")
    unused = set(bundle.arrays) - bundle.used
    need(not unused, f"{sorted(unused)[:1]}: is part of no proof")
    for row, (c, rest, radius) in zip(rows, found):
        holds(row, c, rest, radius, rounded)
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
    except (ArithmeticError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError, MemoryError) as error:
        print(f"NOT VERIFIED: malformed ({type(error).__name__}: {str(error)[:200]})")
        return 1
    print("\n".join([*lines, "VERIFIED"]))
    return 0
