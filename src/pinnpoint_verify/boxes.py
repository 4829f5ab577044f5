"""Re-check values at points of a box in time: what the prediction leaves of the equation, against the box's kernel.

The bundle holds the case and the prediction, by its formula or its weights, and the claimed intervals; no witness. The
checker encloses the error at the point by its own models (models.py, checking.md) and kernels (heat.py, box.md), cuts
boxes until the interval that follows lies in the claimed one, and refuses when its budget is spent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pinnpoint_verify.checker import UNIT, Ball, gamma, up
from pinnpoint_verify.heat import Axis, Instant, Side, TimeRule
from pinnpoint_verify.model_jets import Jet, coordinates, formula, jets
from pinnpoint_verify.models import Model, space, together
from pinnpoint_verify.network_models import weighed
from pinnpoint_verify.reader import Array, Bundle, larger, need

Row = dict[str, Any]
DEGREE = {0: 0, 1: 12, 2: 10, 3: 10, 4: 6}
MOST, ROUNDS, TABLE = 40_000, 60, 1 << 21
"""Boxes, rounds of cutting, and numbers of a table at once."""
WORK = 1_200_000
"""Coefficients of models that are made for a point, after which the bound reached counts."""
Made = Callable[[list[Model]], Model]


class Prediction:
    """offset + factor · N(inputs), or a formula for N."""

    def __init__(self, bundle: Bundle, said: Row, names: tuple[str, ...]) -> None:
        need(said["kind"] in ("formula", "network"), "lift: an unknown kind of prediction")
        keys = {"formula": {"formula"}, "network": {"layers", "activation", "box", "inputs"}}[said["kind"]]
        need(said.keys() == keys | {"kind", "factor", "offset"}, "lift: a key is missing, or belongs to another kind")
        self.said, self.names, self.layers = said, names, list[tuple[Array, Array]]()
        for k in range(said.get("layers", 0)):
            W = bundle(f"lift/w{k}", None, None)
            self.layers.append((W, bundle(f"lift/b{k}", len(W))))

    @property
    def widest(self) -> int:
        """Units of a layer."""
        return int(larger((len(W) for W, _ in self.layers), default=1))

    def __call__(self, X: list[Jet]) -> Jet:
        """Value and derivatives."""
        said = self.said
        u = self._network(X) if self.layers else formula(said["formula"], X, self.names)
        u = u if said["factor"] is None else formula(said["factor"], X, self.names) * u
        return u if said["offset"] is None else formula(said["offset"], X, self.names) + u

    def _network(self, X: list[Jet]) -> Jet:
        inputs, act = self.said["inputs"], self.said["activation"]
        fed = X if inputs is None else [formula(f, X, self.names) for f in inputs]
        need(act in ("tanh", "sin", "sigmoid", "silu"), "lift: an activation that is not followed on boxes")
        h = _stacked(fed)
        for k, (W, b) in enumerate(self.layers):
            need(W.shape[1] == h.v.C.shape[1], "lift: a layer has another number of inputs")
            slopes = ([None if g is None else weighed(g, W) for g in each] for each in (h.g, h.h))
            h = Jet(weighed(h.v, W, b), *slopes)
            h = _activated(h, act) if k < len(self.layers) - 1 else h
        need(len(self.layers[-1][0]) == 1, "lift: the network has several outputs")
        first: Any = lambda m: None if m is None else Model(m.S, m.C[:, 0], m.e[0])  # noqa: E731
        u = Jet(first(h.v), [first(g) for g in h.g], [first(g) for g in h.h])
        one = formula(1.0, X, self.names)
        for x in X if self.said["box"] else ():
            u = x * (one + -x) * u
        return u


def left_inside(u: Prediction, f: Any, kappa: list[float], b: list[float], c: float, M: list[Model]) -> Model:
    """F − u_t + ∇·(κ∇u) − b·∇u − c u from models of the coordinates, time last."""
    d = len(kappa)
    X = jets(M, d)
    J = u(X)
    left = formula(f, X, u.names).v  # box.md, step 1a
    parts = [(J.g[d], -1.0), (J.v, -c), *zip(J.h, kappa, strict=True)]
    parts += [(slope, -v) for slope, v in zip(J.g[:d], b, strict=True)]
    for model, factor in parts:
        if model is not None and factor:
            left = left + model.scaled(Ball(float(factor)))
    return left


def value_at(u: Prediction, at: Array, time: float) -> Ball:
    """A prediction at a point and a time."""
    D = len(at) + 1
    fixed = dict(enumerate([*map(float, at), float(time)]))
    M = coordinates(np.zeros((1, 0)), np.zeros((1, 0)), np.zeros(D), np.ones(D), fixed, D, 0)
    found = u([Jet(m, [None] * D, [None] * (D - 1)) for m in M]).v
    return Ball(found.C[0, 0], up(found.e[0]))


def _stacked(fed: list[Jet]) -> Jet:
    like = fed[0].v
    v = together([f.v for f in fed], like)
    assert v is not None
    rows = [[f.g[i] for f in fed] for i in range(len(fed[0].g))], [[f.h[i] for f in fed] for i in range(len(fed[0].h))]
    return Jet(v, *([together(each, like) for each in part] for part in rows))


def _activated(h: Jet, name: str) -> Jet:
    if name in ("tanh", "sin"):
        return h.bent(name)
    gate = h.scaled(Ball(0.5)).bent("tanh").scaled(Ball(0.5))
    gate = Jet(gate.v.raised(Ball(np.full_like(gate.v.e, 0.5))), gate.g, gate.h)
    return gate if name == "sigmoid" else h * gate


@dataclass
class Part:
    """Data inside, at the start or on a face, on boxes of the free axes and of s."""

    made: Made
    axes: list[Axis]
    all_axes: list[Axis]
    side: Side
    place: tuple[int, bool] | None
    timed: bool
    time: float
    c: float
    low: Array = field(default_factory=lambda: np.zeros((0, 0)))
    high: Array = field(default_factory=lambda: np.zeros((0, 0)))
    block: int = 256

    def __post_init__(self) -> None:
        sides = [(a.low, a.high) for a in self.axes] + ([(0.0, self.time)] if self.timed else [])
        self.D, self.q = len(sides), DEGREE[len(sides)]
        self.low, self.high = (np.array([[s[k] for s in sides]]).reshape(1, self.D) for k in (0, 1))
        self.S, self.rules = space(self.D, self.q), dict[tuple[float, float], Any]()
        self.C, self.e = self._models(self.low, self.high)
        self.value, self.mass, self.defect = self._shares(self.low, self.high, self.C)

    def _models(self, low: Array, high: Array) -> tuple[Array, Array]:
        d, n = len(self.all_axes), len(low)
        fixed = {} if self.timed else {d: 0.0}
        if self.place is not None:
            axis = self.all_axes[self.place[0]]
            fixed[self.place[0]] = axis.high if self.place[1] else axis.low
        offset, sign = np.array([0.0] * d + [self.time]), np.array([1.0] * d + [-1.0])
        C, e = np.empty((len(self.S.degree), n)), np.empty(n)
        for a in range(0, n, self.block):
            rows = slice(a, a + self.block)
            X = coordinates(low[rows], high[rows], offset, sign, fixed, d + 1, self.q)
            found = self.made(X)
            bad = ~(np.isfinite(found.e) & np.isfinite(found.C).all(axis=0))
            C[:, rows], e[rows] = np.where(bad, 0.0, found.C), np.where(bad, np.inf, found.e)
        return C, e

    def rule(self, span: tuple[float, float]) -> Any:
        """Of an interval of s, made once."""
        if span not in self.rules:
            q = self.q if self.timed else 0
            made = (
                TimeRule(span, self.c, self.axes, self.side, q) if self.timed else Instant(self.time, self.c, self.axes)
            )
            self.rules[span] = made
        return self.rules[span]

    def spans(self, low: Array, high: Array) -> list[tuple[tuple[float, float], Array]]:
        """Intervals of s, and the boxes with each."""
        if not self.timed:
            return [((0.0, self.time), np.arange(len(low)))]
        pairs, at = np.unique(np.stack([low[:, -1], high[:, -1]], axis=1), axis=0, return_inverse=True)
        at = np.asarray(at).reshape(-1)
        return [((float(a), float(b)), np.flatnonzero(at == k)) for k, (a, b) in enumerate(pairs)]

    def _shares(self, low: Array, high: Array, C: Array) -> tuple[Array, Array, Array]:
        """The polynomials' integrals, the kernel's masses, and what the latter and moments may be off by."""
        n, d = len(low), len(self.axes)
        value, mass, defect = np.empty((3, n))
        px = space(d, self.q).powers
        known = {tuple(p): i for i, p in enumerate(px.tolist())}
        column = np.array([known[tuple(p[:d])] for p in self.S.powers.tolist()])
        last = self.S.powers[:, d] if self.timed else np.zeros(len(column), dtype=int)
        for span, every in self.spans(low, high):
            rule = self.rule(span)
            few = larger(1, TABLE // (len(rule.v) * len(px)))
            for a in range(0, len(every), few):
                rows = every[a : a + few]
                product = np.ones((len(rule.v), len(rows), len(px)))
                total, loose = (np.full(product.shape[:2], x) for x in (1.0, 0.0))
                for k, axis in enumerate(self.axes):
                    pairs, at = np.unique(np.stack([low[rows, k], high[rows, k]], axis=1), axis=0, return_inverse=True)
                    at = np.asarray(at).reshape(-1)
                    m, off, own = axis.moments(pairs, rule.v, self.q)
                    product *= m[:, :, px[:, k]][:, at]
                    loose, total = loose * own[:, at] + total * off[:, at], total * own[:, at]
                mid, half = 0.5 * (span[0] + span[1]), 0.5 * (span[1] - span[0])
                tau = ((rule.v**2 - mid) / half)[:, None] ** np.arange(self.q + 1) if self.timed else np.ones((1, 1))
                integral = np.einsum("jt,jnp->tnp", rule.w[:, None] * tau, product, optimize=True)
                exact = integral[last, :, column]
                value[rows] = np.einsum("an,an->n", C[:, rows], exact)  # box.md, step 5a
                spread = UNIT * self.q * 32.0 * (1.0 + mid / half) + gamma(len(rule.v) + len(column) + 128)
                off = np.abs(rule.w) @ loose + rule.blur @ total + spread * (np.abs(rule.w) @ total)
                defect[rows] = up(off * (1.0 + 1e-12))  # box.md, step 5c
                mass[rows] = up(np.maximum(exact[0], 0.0) + defect[rows])  # box.md, step 5b
        return value, mass, defect

    def found(self) -> tuple[float, float]:
        """The integral, and what it may be off by."""
        sizes, more = np.abs(self.C) * (1.0 + 1e-12), 0.0
        last = self.S.powers[:, -1] if self.timed else np.zeros(len(self.S.degree), dtype=int)
        for span, rows in self.spans(self.low, self.high):
            rule = self.rule(span)
            more += float(np.max(rule.error[last] @ sizes[:, rows] + self.e[rows] * rule.error[0]))  # box.md, step 4a
            more += rule.skipped * float(np.max(sizes[:, rows].sum(axis=0) + self.e[rows]))  # box.md, step 4d
        if not np.isfinite(self.e).all():
            return 0.0, math.inf
        value = math.fsum(self.value.tolist())
        off = np.sum(self.open) + more
        return value, float(up(off * (1.0 + gamma(len(self.e) + 64)) + 8.0 * UNIT * abs(value)))

    @property
    def open(self) -> Array:
        """What the model of each box leaves, and what moments may be off by."""
        left = self.e * self.mass + np.abs(self.C).sum(axis=0) * (1.0 + 1e-12) * self.defect  # box.md, step 5c
        return np.where(np.isnan(left), np.inf, left)

    def split(self, rows: Array) -> None:
        """Cut boxes in two, along the axis in which they converge worst."""
        high_degree = self.S.degree >= self.q - 1
        score = np.einsum("ad,an->nd", self.S.powers[high_degree].astype(float), np.abs(self.C[high_degree][:, rows]))
        sizes = (self.high - self.low)[rows] / (self.high.max(axis=0) - self.low.min(axis=0))
        lost = ~np.isfinite(self.e[rows]) | (score.sum(axis=1) == 0.0)
        score[lost] = sizes[lost]
        score[sizes < 2.0**-30] = -1.0
        axis, at = np.argmax(score, axis=1), np.arange(len(rows))
        low, high = self.low[rows], self.high[rows]
        first, second = high.copy(), low.copy()
        first[at, axis] = second[at, axis] = 0.5 * (low[at, axis] + high[at, axis])
        low, high = np.concatenate([low, second]), np.concatenate([first, high])
        C, e = self._models(low, high)
        keep = np.setdiff1d(np.arange(len(self.e)), rows)
        new = (low, high, e, *self._shares(low, high, C))
        old = (self.low, self.high, self.e, self.value, self.mass, self.defect)
        both = [np.concatenate([x[keep], y]) for x, y in zip(old, new, strict=True)]
        self.low, self.high, self.e, self.value, self.mass, self.defect = both
        self.C = np.concatenate([self.C[:, keep], C], axis=1)
