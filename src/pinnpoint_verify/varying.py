"""Coefficients that vary inside cells: −∇·(A∇u) + b·∇u + c u = f. Part of the proof, beside checker.py.

docs/varying.md is its page. On every cell a bundle has models of the entries of A, of b, of c and of t = c − ∇·b, each
a polynomial with |formula − p| ≤ ε, and R, α and m. The polynomials are the bundle's, ε is computed from the case's
formulas (coefficients.py). Everything else is proved here: R A Rᵀ ≥ I, α of
R, c − ½∇·b ≥ m, A∇v_h and the terms of lower order of each state as quadratic + h + ε with h ⟂ quadratics, Rδ and ϱ of
both sides, their products, and J(u). Where a model is too coarse to show a lower bound, that is declared, and said.
"""

from __future__ import annotations

import math
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from pinnpoint_verify.checker import (
    CHUNK,
    NEUMANN,
    Ball,
    Cells,
    Density,
    Mesh,
    Query,
    Side,
    energy,
    means,
    mix,
    total,
    up,
)
from pinnpoint_verify.lengths import WHOLE
from pinnpoint_verify.polynomials import by_linear, by_quadratic, not_above, plus, projected, raised
from pinnpoint_verify.reader import Array, Bundle, larger, need, smaller
from pinnpoint_verify.spectrum import sizes

DEEPEST = 0.9
"""The share of coercivity that a reaction below zero may cost where nothing convects."""
SPARE = 1e-6
"""The share of coercivity that rounding in c − ½∇·b ≥ 0 may cost."""
SQUARINGS = 12
CLOSE = 1e-8
"""The share by which lower bounds may be missed, which widens norms as much."""


class Medium:
    """Models of the coefficients, R and lower bounds; it lowers the mesh's α to what R proves."""

    def __init__(self, bundle: Bundle, mesh: Mesh, own: Any = None) -> None:
        C, self.d = mesh.C, mesh.d
        self.floor, self.region = bundle("medium/floor", C), bundle("medium/region", C, whole=C)
        need(np.array_equal(mesh.c, np.maximum(self.floor, 0.0)), "medium: the reaction is not its own lower bound")
        self.scalar, self.convective = "medium/metric" not in bundle, "medium/t_beta" in bundle
        self.pairs = [(0, 0)] if self.scalar else list(combinations_with_replacement(range(self.d), 2))
        words = ["a"] if self.scalar else [f"a{i}{j}" for i, j in self.pairs]
        words += ["c", *([*(f"b{i}" for i in range(self.d)), "t"] if self.convective else [])]
        self.beta = {word: bundle(f"medium/{word}_beta", C, None) for word in words}
        self.error = {word: np.array(bundle(f"medium/{word}_error", C)) for word in words}
        need(all(np.all(e >= 0.0) for e in self.error.values()), "medium: a bound is negative")
        self.kept = C if own is None else own(self, mesh)  # cells on which a stored error stays
        self.R = up(1.0 / np.sqrt(mesh.kappa))[:, None, None] * np.eye(self.d)  # varying.md, step 1a
        if not self.scalar:
            self.R = bundle("medium/metric", C, self.d, self.d)
            mesh.kappa = np.minimum(mesh.kappa, (1.0 - 1e-14) / largest(self.R))  # varying.md, step 1b
        self.exit: Any = None  # b·n on free facets
        if self.convective and np.any(mesh.kind == NEUMANN):
            from pinnpoint_verify.outflow import Exit

            self.exit = Exit(mesh, self)
        self.loose = sum(self._missed(slice(a, smaller(a + CHUNK, C))) for a in range(0, C, CHUNK))
        """Cells on which a lower bound is declared."""

    def entry(self, i: int, j: int) -> str | None:
        """The name of an entry of A; None for zero."""
        if self.scalar:
            return "a" if i == j else None
        return f"a{smaller(i, j)}{larger(i, j)}"

    def model(self, word: str, part: slice) -> Ball:
        """Coefficients on a range of cells."""
        return Ball(self.beta[word][part])

    def _missed(self, part: slice) -> int:
        """The number of cells on which R A Rᵀ ≥ 1 − CLOSE is not proved from the models of A."""
        # varying.md, step 7a
        R, d = Ball(self.R[part]), self.d
        if self.scalar:
            square = (R * R)[:, 0, 0]
            stack, error = (self.model("a", part) * square[:, None]), self.error["a"][part] * square.top
            return len(not_above(_stacked([stack]), error[:, None], np.full(len(error), 1.0 - CLOSE), d))
        rows, errors = [], []
        for i, j in self.pairs:  # the entries of R A Rᵀ, varying.md, step 1a
            found, off = None, np.zeros(len(R.m))
            for k, m in np.ndindex(d, d):
                word, factor = f"a{smaller(k, m)}{larger(k, m)}", R[:, i, k] * R[:, j, m]
                found = plus(found, self.model(word, part) * factor[:, None], d)
                off = up(off + self.error[word][part] * factor.top)
            rows.append(found)
            errors.append(off)
        return len(not_above(_stacked(rows), np.stack(errors, axis=1), np.full(len(R.m), 1.0 - CLOSE), d))

    def positive(self) -> bool:
        """Whether c ≥ 0: as its own lower bound without convection, else by the coefficients of its models."""
        if not self.convective:
            return float(self.floor.min()) >= 0.0
        return bool(np.all(self.beta["c"].min(axis=1) >= self.error["c"]))

    def growth(self, mesh: Mesh) -> float:
        """((1 − θ)(1 − τ))^{−½}, τ = ε P² where c − ½∇·b ≥ m − ε and ‖v‖₂ ≤ P‖v‖, and R A Rᵀ ≥ 1 − θ."""
        square = mesh.friedrichs**2
        if not math.isfinite(square):
            square = total(up(mesh.top * mesh.reach**2)) + float(mesh.convex.max()) ** 2
        square, lack = float(up(square)), larger(0.0, -float(self.floor.min()))
        most = SPARE if self.convective else DEEPEST
        need(lack * square <= most, "medium: c − ½∇·b is not nonnegative but for what may be")  # varying.md, step 1c
        spare = larger(lack * (1.0 + 1e-12), CLOSE / square)  # varying.md, step 7b
        self.spare = spare
        for a in range(0, mesh.C, CHUNK):
            part = slice(a, smaller(a + CHUNK, mesh.C))
            m, error = self.model("c", part), self.error["c"][part]
            if self.convective:
                m = 0.5 * plus(m, self.model("t", part), mesh.d)
                error = up(0.5 * (error + self.error["t"][part]))
            self.loose += len(not_above(_stacked([m]), error[:, None], mesh.c[part] - spare, mesh.d))
        share, self.length = float(up(spare * square)), float(up(math.sqrt(square)))
        if self.exit is not None:
            self.loose += len(self.exit.lack(mesh, square, CLOSE))
            share = share + CLOSE
        self.factor = float(up(((1.0 - share) * (1.0 - CLOSE)) ** -0.5 * (1.0 + 1e-14)))
        return self.factor

    def least(self) -> float:
        """A lower bound of c, by what is proved of it or by its models' coefficients; without convection."""
        own = float((self.beta["c"].min(axis=1) - self.error["c"] * (1.0 + 1e-15)).min())
        return float(larger(own, float(self.floor.min()) - self.spare * (1.0 + 1e-12)))

    def lack(self) -> float:
        """Q ≥ 0 with c ≥ −Q, from the models' coefficients."""
        return float(larger(0.0, -float((self.beta["c"].min(axis=1) - self.error["c"]).min()) * (1.0 + 1e-15)))


def _stacked(rows: list[Any]) -> Ball:
    """Polynomials side by side, (n, E, M)."""
    return Ball(np.stack([p.m for p in rows], axis=1), np.stack([p.r for p in rows], axis=1))


def largest(R: Array) -> Array:
    """Upper bounds of ‖R‖², by ‖M‖ ≤ ‖M^n‖_F^(1/n) for M = RᵀR and n = 2^SQUARINGS, scaled by powers of two."""
    M, bound = mix("nki,nkj->nij", Ball(R), Ball(R)), np.ones(len(R))
    for k in range(SQUARINGS):
        f = 2.0 ** np.ceil(np.log2(np.maximum(np.abs(M.m).max(axis=(1, 2)), 1e-300)))
        M = M * (1.0 / f)[:, None, None]
        bound = bound * f ** (0.5**k)
        M = mix("nik,nkj->nij", M, M)
    size = np.sqrt(mix("nij,nij->n", M, M).top)
    return np.asarray(up(bound * size ** (0.5**SQUARINGS) * (1.0 + 1e-13)))


def is_supported(mesh: Mesh, proof: dict[str, Any]) -> None:
    """Refuse what has no theorem here."""
    bent = mesh.reaction is not None or bool(np.any(mesh.cubic))
    falls = mesh.medium.convective or float(mesh.medium.floor.min()) < 0.0
    plain = "spectrum" not in proof and proof["range"] is None and not (bent and falls)
    need(plain, "medium: beside another kind of equation")
    kinds = {goal["kind"] for goal in proof["goals"]}
    need(not kinds & {"gradient", *WHOLE}, "medium: no theorem for such queries")
    sure = proof["raised"] is None or mesh.medium.positive()
    need(sure, "medium: data that are lifted, beside a reaction that is not proved to be ≥ 0")


def sunk(query: Query, mismatch: float) -> float:
    """What data that are not met change where c ≥ −Q is all that is known of the reaction."""
    own, top = sizes(query)
    mesh, medium, z = query.p.mesh, query.p.mesh.medium, query.z
    need(isinstance(z, VariedSide) and not z.field, "medium: data that are not met, beside a load on gradients")
    rest = math.sqrt(total(mesh.top)) * medium.length * medium.factor * energy(z)
    return float(up(mismatch * (own + medium.lack() * (total(up(top * mesh.top)) + rest))))  # varying.md, step 5c


class VariedSide(Side):
    """A state with what A, b and c make of it; on a range of cells Rδ, δ = σ − A∇v_h, and ϱ."""

    def __init__(self, bundle: Bundle, mesh: Mesh, state: str, source: str, load: str, flux: str) -> None:
        self.transposed = mesh.medium.convective and state != "continuous/state"  # varying.md, section 4
        super().__init__(bundle, mesh, state, source, load, flux)
        self.fuzz, self.rest = np.zeros((2, mesh.C))
        names = [f"dual/q{state.removeprefix('dual/z')}_{c}" for c in range(mesh.d)]
        has = state != "continuous/state" and f"{names[0]}_at" in bundle
        self.field = [Density(bundle, name, mesh.d, mesh.C) for name in names] if has else []

    def read(self, g: Cells) -> None:
        """The source on a range of cells with what A, b and c make of the state there."""
        super().read(g)
        d, medium = self.mesh.d, self.mesh.medium
        flux = [self._summed(g, [(medium.entry(i, j), j) for j in range(d)]) for i in range(d)]
        terms: list[Any] = [(f"b{j}", j) for j in range(d)] if medium.convective else []
        lower, high, error = self._summed(g, terms, "t" if self.transposed else "c")
        self.own, self.lower = Ball(np.stack([f[0] for f in flux], axis=-1)), Ball(lower)  # varying.md, step 2a
        # varying.md, step 2b: what is orthogonal to quadratics adds to the source's, and so do errors
        self.high, self.e1, self.e2 = up(self.high + high), up(self.e1 + error), up(self.e2 + error)
        self.flux_error = np.stack([f[2] for f in flux], axis=1)
        if self.field:  # δ = τ + q − A∇z_h, varying.md, step 4a
            self.load_q = [q.on(g.part.start, g.part.stop) for q in self.field]
            self.own = self.own - Ball(np.stack([q[0] for q in self.load_q], axis=-1))
            flux = [(f[0], up(f[1] + q[1]), up(f[2] + q[3])) for f, q in zip(flux, self.load_q, strict=True)]
        size, root = np.abs(medium.R[g.part]), np.sqrt(g.vol.top)
        for out, k in ((self.rest, 1), (self.fuzz, 2)):  # ‖|R|h‖ and ‖|R|ε‖, varying.md, step 2c
            each = np.einsum("nki,ni->nk", size, np.stack([f[k] for f in flux], axis=1))
            out[g.part] = up(root * np.sqrt((each**2).sum(axis=1)) * (1.0 + 1e-13))

    def _summed(self, g: Cells, terms: list[Any], value: str = "") -> tuple[Array, Array, Array]:
        """Σ coefficient · ∂_j v_h (+ coefficient · v_h), as quadratics, the rms of the rest, and bounds of the error.

        In the terms of lower order b·∇ has a minus sign for dual states.
        """
        d, medium, sign = self.mesh.d, self.mesh.medium, -1.0 if value and self.transposed else 1.0
        found, off = Ball(np.zeros((len(g.c), 1))), np.zeros(len(g.c))
        for word, j in terms:
            if word is None or not (np.any(medium.beta[word][g.part]) or np.any(medium.error[word][g.part])):
                continue
            p, v = medium.model(word, g.part), sign * self.slopes[:, :, j]
            one = p * v[:, :1] if self.mesh.degree == 1 else by_linear(p, v, d)
            found, off = plus(found, one, d), up(off + medium.error[word][g.part] * v.top.max(axis=1))
        if value and (np.any(medium.beta[value][g.part]) or np.any(medium.error[value][g.part])):
            p = medium.model(value, g.part)
            corners = Ball(self.nodal[self.mesh.nodes_of(self.mesh.cells[g.part])[:, : d + 1]])
            one = by_linear(p, corners, d) if self.mesh.degree == 1 else by_quadratic(p, self.b, d)
            found = plus(found, one, d)
            off = up(off + medium.error[value][g.part] * self.b.top.max(axis=(1, 2)))
        beta, high, error = projected(raised(found, d, 2), d)  # varying.md, step 7c
        return beta, high, up(error + off)

    def against(self, other: Side, g: Cells) -> Ball:
        """∫ Rδ₁·Rδ₂ on every cell; of h₁ and h₂ the product of their norms."""
        assert isinstance(other, VariedSide)
        R, M = self.mesh.medium.R[g.part], means(self.mesh.d, 4)
        one, two = (mix("nkc,nijc->nijk", R, side.delta) for side in (self, other))
        found = mix("njkc,jklm,nlmc->n", one, M, two) * g.vol
        return Ball(found.m, up(found.r + self.rest[g.part] * other.rest[g.part]))  # varying.md, step 3b

    def work(self, z: Side, g: Cells) -> tuple[Ball, Any]:
        """Means of A∇u_h·∇z_h, and what errors of A∇u_h add."""
        found = mix("njkc,jkl,nlc->n", self.own, means(self.mesh.d, 3), z.slopes)  # varying.md, step 3a
        return found, (self.flux_error * z.slopes.top.max(axis=1)).sum(axis=1)

    def pull(self, p: Side, g: Cells) -> tuple[Any, Any]:
        """Means of q·∇u_h, and what errors of q add."""
        if not self.field:
            return 0.0, 0.0
        found, off = Ball(np.zeros(len(g.c))), np.zeros(len(g.c))
        for c, (beta, _, error, _) in enumerate(self.load_q):
            found = found + mix("njk,jkl,nl->n", beta, means(self.mesh.d, 3), p.slopes[:, :, c])  # varying.md, step 4a
            off = off + error * p.slopes[:, :, c].top.max(axis=1)
        return found, off

    def finish(self) -> None:
        """As without, and with errors of A∇v_h."""
        super().finish()
        self.facet = up(self.facet + self.fuzz)
