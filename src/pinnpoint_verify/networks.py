"""What a lifted network leaves of an equation and of its data (docs/checking.md, section 13).

Part of the proof: the network is followed through its layers, from the stored weights, by models on the
parallelepiped of each simplex; what is stored of its residual and of its values is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np

from pinnpoint_verify.checker import UNIT, Ball, Shape, areas, gamma, up
from pinnpoint_verify.enclosures import PEAK, Part, Sums, children, pairs, rule
from pinnpoint_verify.model_jets import Jet, formula, jets
from pinnpoint_verify.models import Model, space, together
from pinnpoint_verify.network_models import ACTIVATIONS, Field, times
from pinnpoint_verify.reader import Array, Refused, larger

Row = dict[str, Any]
DEGREES = {0: (0,), 1: (6, 12), 2: (6, 12), 3: (4, 8)}
"""Of models, by the dimension of a simplex; the next is tried where one is not enough."""
BLOCK = 4096
"""Units times simplices at a time."""
HUGE = 1e100
"""Bounds beyond this are none."""
DEPTH, LEAST, MORE = 8, 4000, 24
"""Cuts of a simplex, and how many models may be made: so many, and so many for each simplex."""

Made = Callable[[list[Model]], Model]
"""A function of coordinates."""


class Network:
    """offset + factor · N(inputs), by its stored weights."""

    def __init__(self, layers: list[tuple[Array, Array]], said: Row, d: int) -> None:
        self.layers, self.said, self.d, self.names = layers, said, d, ("x", "y", "z")[:d]

    def __call__(self, X: list[Model], slopes: bool = True) -> Field:
        """At coordinates, with derivatives or without."""
        said, seeds = self.said, jets(X, self.d)
        if not slopes:
            seeds = [Jet(x, [None] * self.d, [None] * self.d) for x in X]
        fed = seeds if said["inputs"] is None else [formula(f, seeds, self.names) for f in said["inputs"]]
        h = stacked([field(one) for one in fed])
        for k, (W, b) in enumerate(self.layers):
            h = h.layer(W, b)
            h = h.bent(said["activation"]) if k < len(self.layers) - 1 else h
        first: Any = lambda m: None if m is None else Model(m.S, m.C[:, 0], m.e[0])  # noqa: E731
        u = Field(first(h.v), [first(g) for g in h.g], first(h.lap))
        for x in seeds if said["box"] else ():
            one = formula(1.0, seeds, self.names)
            u = field(x * (one + -x)) * u
        u = u if said["factor"] is None else field(formula(said["factor"], seeds, self.names)) * u
        return u if said["offset"] is None else field(formula(said["offset"], seeds, self.names)) + u


def field(j: Jet) -> Field:
    """The Laplacian is the sum of pure second derivatives."""
    lap = None
    for part in j.h:
        lap = part if lap is None else lap if part is None else lap + part
    return Field(j.v, j.g, lap)


def stacked(fed: list[Field]) -> Field:
    """One field with a row for each of them."""
    like = fed[0].v
    v = together([f.v for f in fed], like)
    assert v is not None
    slopes = [together([f.g[i] for f in fed], like) for i in range(len(fed[0].g))]
    return Field(v, slopes, together([f.lap for f in fed], like))


def ordered(V: Array) -> Array:
    """For each simplex the order of its vertices with the shortest path along them (n, m + 1)."""
    ways = np.array(list(permutations(range(V.shape[1]))))
    length = np.stack([np.sqrt((np.diff(V[:, way], axis=1) ** 2).sum(axis=2)).sum(axis=1) for way in ways])
    return np.asarray(ways[np.argmin(length, axis=0)])


def coordinates(V: Array, q: int) -> list[Model]:
    """Models of ½(v_0 + v_m) + Σ ½(v_k − v_{k−1})ξ_k on simplices, whose points have 1 ≥ ξ_1 ≥ … ≥ ξ_m ≥ −1."""
    m, d = V.shape[1] - 1, V.shape[2]
    S, found = space(m, q), list[Model]()
    for i in range(d):
        C = np.zeros((len(S.degree), len(V)))
        C[0] = 0.5 * (V[:, 0, i] + V[:, m, i])
        for k in range(m if q else 0):
            unit = int(np.flatnonzero((S.degree == 1) & (S.powers[:, k] == 1))[0])
            C[unit] = 0.5 * (V[:, k + 1, i] - V[:, k, i])
        e = 32.0 * UNIT * np.abs(V[:, :, i]).max(axis=1)
        e = np.where(np.all(V[:, :, i] == V[:, :1, i], axis=1), 0.0, up(e))
        found.append(Model(S, C, e))  # checking.md, step 13f
    return found


@cache
def monomials(m: int, q: int, B: bytes) -> Array:
    """ξ^α at points with barycentric coordinates (k, m + 1), as (monomials, k)."""
    t = np.cumsum(np.frombuffer(B).reshape(-1, m + 1)[:, ::-1], axis=1)[:, ::-1][:, 1:]
    return np.prod((2.0 * t - 1.0)[None] ** space(m, q).powers[:, None, :], axis=2)


def values(M: Model, B: Array) -> tuple[Array, Array]:
    """A model's polynomial at points B of its simplex (n, k), and what rounding does to each."""
    table = monomials(M.S.D, M.S.q, np.ascontiguousarray(B).tobytes())
    return M.C.T @ table, up(gamma(16 * M.S.q + len(M.C) + 16) * M.size)  # checking.md, step 13g


class Left:
    """A function that is followed through the layers of a network, on simplices."""

    def __init__(self, made: Made, widest: int, close: float) -> None:
        self.made, self.close, self.step = made, close, larger(8, BLOCK // widest)

    def models(self, V: Array, q: int) -> Model:
        """Of degree q on simplices whose vertices are in a good order."""
        parts = [self.made(coordinates(V[a : a + self.step], q)) for a in range(0, len(V), self.step)]
        C, e = np.concatenate([p.C for p in parts], axis=1), np.concatenate([p.e for p in parts])
        bad = ~(np.isfinite(C).all(axis=0) & np.isfinite(e))
        return Model(parts[0].S, np.where(bad, 0.0, C), np.where(bad, np.inf, e))

    def parts(self, V: Array, close: Array) -> Iterator[tuple[Array, float, Array, Model]]:
        """Parts of simplices with remainders of at most `close` (n,), where that can be.

        Whose they are, their share, barycentric coordinates, models.
        """
        m, whose, most = V.shape[1] - 1, np.arange(len(V)), LEAST + MORE * len(V)
        bary, before = np.broadcast_to(np.eye(m + 1), (len(V), m + 1, m + 1)), np.full(len(V), np.inf)
        for level in range(DEPTH + 1):
            way = ordered(V)[:, :, None]
            V, bary = np.take_along_axis(V, way, axis=1), np.take_along_axis(bary, way, axis=1)
            last, most = level == DEPTH or most <= len(V) or m == 0, most - len(V)
            for q in DEGREES[m]:
                M, final = self.models(V, q), q == DEGREES[m][-1]
                done = M.e <= close[whose]
                done |= final & (last | (M.e > 0.3 * before) & (level > 1))
                if done.any():
                    yield whose[done], 0.5 ** (m * level), bary[done], Model(M.S, M.C[:, done], M.e[done])
                V, bary, whose, before = (x[~done] for x in (V, bary, whose, before))
                if not len(V):
                    return
            whose, before = np.repeat(whose, 2**m), np.repeat(M.e[~done], 2**m)
            V, bary = children(V), children(bary)

    def bounds(self, V: Array, beta: Array, hint: Array) -> Array:
        """High, e1 and e2 (n, 3) against quadratics with coefficients β; hints say how small remainders may be."""
        sums = Sums(len(V), V.shape[1] - 1)
        close = np.maximum(self.close, 0.5 * np.maximum(hint, np.mean(hint)))
        for whose, share, bary, M in self.parts(V, close):
            sums.add(whose, share, Piece(M, bary, beta[whose]), np.arange(len(whose)))
        rest = sums.rest(V.shape[1] - 1)
        return np.where(rest < HUGE, rest, np.inf)

    def top(self, V: Array, b: Array, most: float) -> float:
        """Upper bound of its distance from Σ b_jk λ_j λ_k, simplices cut until that is at most `most`."""
        m, found, bary = V.shape[1] - 1, 0.0, np.broadcast_to(np.eye(V.shape[1]), (len(V), V.shape[1], V.shape[1]))
        nodes = np.array([0.5 * (np.eye(m + 1)[j] + np.eye(m + 1)[k]) for j, k in pairs(m)])
        ends = [[pairs(m).index((j, j)), pairs(m).index((k, k))] for j, k in pairs(m)]
        budget = LEAST + MORE * len(V)
        for level in range(2 * DEPTH + 1):
            M = self.models(V, DEGREES[m][-1]) + -quadratic(b, bary, DEGREES[m][-1])
            late = M.S.degree > 2
            rest = up(np.abs(M.C[late]).sum(axis=0) * (1.0 + gamma(len(M.C))) + M.e)
            at, lost = values(Model(M.S, np.where(late[:, None], 0.0, M.C), M.e), nodes)
            bern = np.abs(2.0 * at - 0.5 * at[:, ends].sum(axis=2)).max(axis=1)
            tops = up(bern + 3.0 * lost + rest)  # checking.md, step 13h
            large = ~(tops <= most)
            if level == 2 * DEPTH or m == 0 or not large.any() or large.sum() * 2**m > budget:
                return float(larger(found, tops.max(initial=0.0)))
            found = larger(found, float(tops[~large].max(initial=0.0)))
            V, bary, b = children(V[large]), children(bary[large]), np.repeat(b[large], 2**m, axis=0)
        return found

    def mean(self, V: Array, size: Ball) -> tuple[float, float]:
        """Its mean over simplices of these sizes."""
        m, found, error = V.shape[1] - 1, np.zeros(len(V)), np.zeros(len(V))
        B, w, off = rule(m, DEGREES[m][-1] // 2 + 1)
        for whose, share, _, M in self.parts(V, np.full(len(V), self.close)):
            at, lost = values(M, B)
            np.add.at(found, whose, share * (at @ w))
            np.add.at(error, whose, share * up(M.e + lost + (off + gamma(len(w) + 60)) * M.size))
        total = (Ball(found, up(error * (1.0 + 1e-12))) * size).total() / size.total()  # checking.md, step 13i
        return float(total.m), float(up(total.r))


def quadratic(b: Array, bary: Array, q: int) -> Model:
    """Models of Σ b_jk λ_j λ_k on parts of simplices."""
    L = coordinates(bary, q)
    found: Model | None = None
    for j, k in pairs(b.shape[1] - 1):
        term = (L[j] * L[k]).scaled(Ball((1.0 + (j != k)) * b[:, j, k]))
        found = term if found is None else found + term
    assert found is not None
    return found


class Piece(Part):
    """What `Sums` gathers of f − Q on parts, f a polynomial with a remainder; the rule is exact for squares."""

    def __init__(self, M: Model, bary: Array, beta: Array) -> None:
        m = M.S.D
        B, w, off = rule(m, M.S.q + 1)
        at, lost = values(M, B)
        L = np.tensordot(bary, B, (1, 1))
        gap = at - sum(((1.0 + (j != k)) * beta[:, j, k])[:, None] * L[:, j] * L[:, k] for j, k in pairs(m))
        size = np.abs(beta).max(axis=(1, 2))
        lost, sup = up(lost + gamma(40) * (size + M.size)), up(M.size + size)
        self.moments = np.stack([(gap * L[:, j] * L[:, k]) @ w for j, k in pairs(m)], axis=1)
        self.slip = up(gamma(len(w) + 12) * np.abs(gap).max(axis=1))
        self.E = up(0.5 * (M.e + lost) + 0.5 * PEAK[m] * off * sup)  # checking.md, step 13g
        square = (gap * gap) @ w * (1.0 + gamma(len(w) + 6)) + off * sup * sup
        self.square = up((np.sqrt(square) + lost + M.e) ** 2)


class NetworkLeftover:
    """What a lifted network leaves of the equation and of its data, where its layers are followed."""

    def __init__(self, layers: list[tuple[Array, Array]], said: Row, d: int) -> None:
        self.d, self.close, self.u = d, 0.0, Network(layers, said, d)
        self.known = said["activation"] in ACTIVATIONS
        known = [said[key] for key in ("factor", "offset")] + list(said["inputs"] or [])
        self.known = self.known and all(self._followed(text) for text in known if text is not None)
        self.widest = larger([len(W) for W, _ in self.u.layers], default=1)

    def _followed(self, text: Any) -> bool:
        """Whether a formula has models."""
        try:
            self._data(text, coordinates(np.zeros((1, 1, self.d)), 0))
        except Refused:
            return False
        return True

    def _data(self, text: Any, X: list[Model]) -> Model:
        """A formula of the case, without derivatives."""
        plain = [Jet(x, [None] * self.d, [None] * self.d) for x in X]
        return formula(text, plain, self.u.names).v

    def _left(self, text: Any, made: Made) -> Left | None:
        return Left(made, self.widest, self.close) if self._followed(text) else None

    def constant(self, source: Any, kappa: float, c: float) -> Left | None:
        """The source with κΔu_θ − c u_θ added."""

        def made(X: list[Model]) -> Model:
            u, found = self.u(X), self._data(source, X)
            for model, factor in ((u.lap, kappa), (u.v, -c)):
                found = found if model is None or not factor else found + model.scaled(Ball(factor))
            return found

        return self._left(source, made)  # checking.md, step 11a

    def held(self, given: Any) -> Left | None:
        """Dirichlet data less u_θ."""
        return self._left(given, lambda X: self._data(given, X) + -self.u(X, slopes=False).v)

    def flux(self, given: Any, axis: int, factor: float, A: Any) -> Left | None:
        """Neumann data less n·κ∇u_θ on facets across an axis; `factor` is n κ."""
        if isinstance(A, list) or not self._followed(A):
            return None

        def made(X: list[Model]) -> Model:
            slope, found = self.u(X).g[axis], self._data(given, X)
            if slope is None:
                return found
            slope = slope if A == 1.0 else slope * self._data(A, X)
            return found + slope.scaled(Ball(-factor))

        return self._left(given, made)  # checking.md, step 11b

    def varied(self, source: Any, A: Any, b: Any, c: Any) -> Left | None:
        """The source with aΔu_θ + ∇a·∇u_θ − b·∇u_θ − c u_θ added; None where A is a matrix or has a kink."""
        flow = [0.0] * self.d if b is None else b
        if isinstance(A, list) or not all(self._followed(text) for text in (A, c, *flow)):
            return None

        def made(X: list[Model]) -> Model:
            u, found, a = self.u(X), self._data(source, X), formula(A, jets(X, self.d), self.u.names)
            parts = [times(u.lap, a.v), *(times(x, y) for x, y in zip(u.g, a.g, strict=True))]
            parts += [None if v == 0.0 else times(self._data(v, X), x) for v, x in zip(flow, u.g, strict=True)]
            parts.append(None if c == 0.0 else times(self._data(c, X), u.v))
            signs = [1.0] * (1 + self.d) + [-1.0] * (1 + self.d)
            for part, sign in zip(parts, signs, strict=True):
                found = found if part is None else found + (part if sign > 0.0 else -part)
            return found

        return self._left(source, made)  # checking.md, step 13l

    def value(self, goal: Row, V: Array) -> tuple[float, float] | None:
        """u_θ, its slope or its flux at a point, or its mean over simplices V, with an error; None for others."""
        if len(V):
            size = areas(V) if V.shape[1] <= V.shape[2] else Shape(V).vol
            return Left(lambda X: self.u(X, slopes=False).v, self.widest, self.close).mean(V, size)
        if goal["kind"] not in ("point", "gradient"):
            return None
        u = self.u(coordinates(np.array([[goal["at"]]], dtype=float), 0), slopes=goal["kind"] == "gradient")
        found = u.g[goal["axis"]] if goal["kind"] == "gradient" else u.v
        value = Ball(0.0) if found is None else Ball(found.C[0, 0], up(found.e[0]))
        value = value * float(goal["kappa"]) if goal.get("flux") else value
        return float(value.m), float(up(value.r))
