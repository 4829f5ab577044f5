"""Data of a problem in time from the case's formulas: sources on cell × slab, initial values, boundary values.

Formulas become polynomials with remainders on the box of a cell and a slab (models.py), and these quadratics in space
for each mode in time (docs/slabs.md, section 8). Nothing that a bundle may say of its data is used.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from pinnpoint_verify.checker import UNIT, Ball, gamma, means, up
from pinnpoint_verify.discs import Walk
from pinnpoint_verify.enclosures import enclosed, inverse_gram, rule
from pinnpoint_verify.formulas import syntax
from pinnpoint_verify.model_jets import Jet, coordinates, formula
from pinnpoint_verify.models import Model, bent, space
from pinnpoint_verify.reader import Array, larger, need
from pinnpoint_verify.slab_fits import Fits, Modes, legendre, products, rests, symmetric
from pinnpoint_verify.slab_leaves import Tilt

ORDERS = {1: (6, 8, 10, 12), 2: (5, 6, 8, 10), 3: (4, 5, 6)}
"""Of the polynomials that are tried, by dimension."""
NAMES = ("x", "y", "z")


def moves(text: Any) -> bool:
    """Whether a formula depends on time."""
    return isinstance(text, str) and any(
        isinstance(node, ast.Name) and node.id == "t" for node in ast.walk(syntax(text))
    )


def models(text: Any, low: Array, high: Array, q: int, timed: bool) -> Model:
    """A formula on boxes (n, D) of space, and of time where it depends on it."""
    D = low.shape[1]
    X = coordinates(low, high, np.zeros(D), np.ones(D), {}, D, q)
    none: list[Model | None] = [None] * D
    names = (*NAMES[: D - timed], "t") if timed else NAMES[:D]
    return formula(text, [Jet(x, none, none) for x in X], names).v


class Datum:
    """A number or a formula as a function of space, and of time where it moves."""

    def __init__(self, text: Any) -> None:
        self.text, self.moves = text, moves(text)

    @property
    def vanishes(self) -> bool:
        """Whether it is zero."""
        return not isinstance(self.text, str) and self.text == 0.0

    def models(self, low: Array, high: Array, q: int) -> Model:
        """On boxes (n, D), the last coordinate being time where it moves."""
        return models(self.text, low, high, q, self.moves)


class Source:
    """F by groups of cells, (cells, datum), on all slabs."""

    def __init__(self, pieces: list[tuple[Array, Datum]], V: Array, count: int, close: float) -> None:
        self.V, self.count, self.d, self.close = V, count, V.shape[2], close
        self.pieces = [(cells, datum) for cells, datum in pieces if not datum.vanishes]
        self.low, self.high = V.min(axis=1), V.max(axis=1)
        self.fits: dict[int, tuple[Array, Array, Array]] = {}
        self.orders: dict[int, int] = {}
        self.steady: dict[int, Modes] = {}

    @property
    def vanishes(self) -> bool:
        """Whether f = 0."""
        return not self.pieces

    def _fits(self, q: int) -> tuple[Array, Array, Array]:
        """Of the monomials up to a degree on the boxes of all cells."""
        if q not in self.fits:
            S, (B, _, _) = space(self.d, q), rule(self.d, q + 1)
            parts: list[Fits] = []
            for a in range(0, len(self.V), 2000):
                V, low, high = (x[a : a + 2000] for x in (self.V, self.low, self.high))
                half = 0.5 * (high - low)
                xi = (np.einsum("qi,nic->nqc", B, V) - 0.5 * (low + high)[:, None]) / half[:, None]
                powers = np.ones((q + 1, *xi.shape))
                for k in range(q):
                    powers[k + 1] = powers[k] * xi
                values = np.stack([np.prod([powers[p[c], ..., c] for c in range(self.d)], axis=0) for p in S.powers])
                blur = 64.0 * q * UNIT * (np.abs(V).max(axis=(1, 2)) / half.min(axis=1) + 1.0)
                parts.append(Fits(values.transpose(1, 0, 2), self.d, q + 1, blur[:, None]))
            self.fits[q] = (
                np.concatenate([p.beta for p in parts]),
                np.concatenate([p.high for p in parts]),
                np.concatenate([p.error for p in parts]),
            )
        return self.fits[q]

    def _model(self, i: int, start: float, end: float) -> Model:
        """Of a piece on a slab; the degree is the first that is good enough on it."""
        cells, datum = self.pieces[i]
        low, high = self.low[cells], self.high[cells]
        if datum.moves:
            low, high = (np.concatenate([x, np.full((len(x), 1), t)], axis=1) for x, t in ((low, start), (high, end)))
        orders = ORDERS[self.d]
        for q in orders[orders.index(self.orders.get(i, orders[0])) :]:
            found = datum.models(low, high, q)
            good = np.all(found.e <= self.close * larger(float(np.abs(found.C).max(initial=0.0)), 1e-300))
            if good or q == orders[-1]:
                self.orders[i] = q
                break
        need(np.all(np.isfinite(found.e)), "source: the checker has no bound of it on some cell")
        return found

    def slab(self, start: float, end: float) -> Modes:
        """Modes of f from a time to another."""
        made = Modes(self.count, len(self.V), self.d)
        for i, (cells, datum) in enumerate(self.pieces):
            if datum.moves:
                self._put(made, cells, self._model(i, start, end), True)
            else:
                if i not in self.steady:
                    self.steady[i] = Modes(self.count, len(self.V), self.d)
                    self._put(self.steady[i], cells, self._model(i, start, end), False)
                own = self.steady[i]
                made.beta[:, cells], made.top[cells] = own.beta[:, cells], own.top[cells]
                for out, x in ((made.high, own.high), (made.e1, own.e1), (made.e2, own.e2)):
                    out[:, cells] = x[:, cells]
        return made

    def _put(self, made: Modes, cells: Array, found: Model, timed: bool) -> None:
        put(made, cells, found, [x[cells] for x in self._fits(found.S.q)], timed)

    def near(
        self, x0: Array, cell: int, width: float, time: float, span: float, tilt: Tilt | None = None
    ) -> tuple[float, float]:
        """C₀ and a bound of what else f is in the mean of an even weight about x₀, from time − span to time.

        The weight has moments E[(x_i − x₀,i)²] ≤ 2κs ≤ width²/72 and is even in every coordinate, so that odd
        monomials vanish and even ones in space are at most 1/72 of their coefficients (docs/slabs.md, step 8f).
        """
        datum = next((datum for cells, datum in self.pieces if np.any(cells == cell)), None)
        if datum is None:
            return 0.0, 0.0
        ends = (-1.0, time - span), (1.0, time)
        low, high = (np.append(x0 + s * width, ([t] if datum.moves else []))[None] for s, t in ends)
        found = datum.models(low, high, 6)
        if tilt is not None:  # slabs.md, step 7g
            C, blur = np.zeros((len(found.S.degree), 1)), width * 1.001 * float(np.sum(tilt.error))
            for i, b in enumerate(tilt.beta):
                C[int(np.flatnonzero((found.S.degree == 1) & (found.S.powers[:, i] == 1))[0])] = -b * width
            blur += 16.0 * UNIT * (width + float(np.abs(x0).max())) * float(np.abs(tilt.beta).sum())
            found = found * bent(Model(found.S, C, np.array([blur])), "exp", 1)[0]
        powers = found.S.powers[:, : self.d]
        odd, flat = np.any(powers % 2 == 1, axis=1), ~np.any(powers, axis=1)
        # slabs.md, step 8f
        factor = np.where(odd, 0.0, np.where(flat, 1.0, 1.0 / 72.0))
        factor[0] = 0.0
        return float(found.C[0, 0]), float(up(found.e[0] + (factor * np.abs(found.C[:, 0])).sum() * (1.0 + 1e-9)))


def put(made: Modes, rows: Array, found: Model, fits: list[Array], timed: bool) -> None:
    """Modes of polynomials on some simplices, from quadratics for the monomials in space (docs/slabs.md, step 8d)."""
    S, q, count, d = found.S, found.S.q, len(made.beta), made.beta.shape[2] - 1
    beta, high, error = fits
    D = S.D - timed
    place = {tuple(p): k for k, p in enumerate(space(D, q).powers.tolist())}
    made.top[rows] = found.top
    where = np.array([place[tuple(p[:D])] for p in S.powers.tolist()])
    power = S.powers[:, D] if timed else np.zeros(len(S.powers), dtype=int)
    table = legendre(count, q)
    for k in range(count if timed else 1):
        c = np.zeros((len(rows), len(place)))
        np.add.at(c.T, where, table[k, power][:, None] * found.C)
        size = np.zeros_like(c)
        np.add.at(size.T, where, np.abs(table[k, power])[:, None] * np.abs(found.C))
        grow = np.sqrt(2.0 * k + 1.0)
        made.beta[k, rows] = symmetric(np.einsum("nk,nkp->np", c, beta), d)
        blur = gamma(4 * len(place) + 16) * (size * (1.0 + np.abs(beta).sum(axis=2))).sum(axis=1)
        wrong = up((size * error).sum(axis=1) + blur + grow * found.e)  # slabs.md, step 8d
        made.high[k, rows] = up((size * high).sum(axis=1))
        made.e1[k, rows] = made.e2[k, rows] = wrong
    if timed:
        left = (rests(count, q)[power][:, None] * np.abs(found.C)).sum(axis=0)
        made.rest[rows] = up(left * (1.0 + 1e-12) + found.e)


def initial(text: Any, V: Array, close: float) -> tuple[Array, Array]:
    """u₀ on cells: symmetric coefficients, and high, e1, e2 (C, 3)."""
    d = V.shape[2]
    B, w, _ = rule(d, 6)
    beta = np.zeros((len(V), len(inverse_gram(d))))
    for a in range(0, len(V), 5000):
        X = np.einsum("qi,nic->nqc", B, V[a : a + 5000])
        values = Walk(text, [Ball(X[..., i]) for i in range(d)]).value.m
        beta[a : a + 5000] = ((values * w) @ products(B)) @ inverse_gram(d)
    full = symmetric(beta, d)
    rest, _ = enclosed(text, V, full, close)
    need(np.all(np.isfinite(rest)), "initial: the checker has no bound of it on some cell")
    return full, rest


def paired(f: Modes, psi: Modes, k: int, volume: Ball) -> tuple[Ball, Array]:
    """∫ F_k Ψ_k by cells, and bounds of what is not known of it."""
    d = f.beta.shape[2] - 1
    M = means(d, 4)
    both = np.einsum("njk,jklm,nlm->n", f.beta[k], M.m, psi.beta[k], optimize=True)
    one, two = np.abs(f.beta[k]).max(axis=(1, 2)), np.abs(psi.beta[k]).max(axis=(1, 2))
    slip = gamma(300) * 2.0 * one * two
    # slabs.md, step 8e
    off = f.high[k] * (psi.high[k] + psi.e2[k]) + f.e2[k] * (two + psi.high[k] + psi.e2[k]) + one * psi.e1[k]
    return Ball(both, up(slip)) * volume, up(off * volume.top)
