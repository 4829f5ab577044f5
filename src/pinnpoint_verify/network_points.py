"""∫rΦ of points, averages and derivatives, r what a lifted network leaves of the source (docs/checking.md, section 13).

Part of the proof: on boxes of radius and angles r is a polynomial with a remainder, carried through the layers
of the network; Φ is that of potentials.py.
"""

from __future__ import annotations

import math

import numpy as np

from pinnpoint_verify.checker import UNIT, Ball, gamma, total, up
from pinnpoint_verify.enclosures import RADII, line
from pinnpoint_verify.models import Model, space
from pinnpoint_verify.network_models import norms, sine
from pinnpoint_verify.networks import DEGREES, Left
from pinnpoint_verify.potentials import Boxes, Potential, halved
from pinnpoint_verify.reader import Array

POINTS = {1: 24, 2: 16, 3: 8}
"""Of a rule along each axis of a box, by dimension."""
MOST, USUAL, LEVELS = 4_000, 500, 24
"""Models in all, boxes that share what is allowed, and halvings of boxes."""


def axes(pool: Array, q: int) -> list[Model]:
    """Models of the coordinates of boxes (n, D, 2)."""
    S, found = space(pool.shape[1], q), list[Model]()
    for i in range(pool.shape[1]):
        C = np.zeros((len(S.degree), len(pool)))
        C[0] = 0.5 * (pool[:, i, 0] + pool[:, i, 1])
        if q:
            unit = int(np.flatnonzero((S.degree == 1) & (S.powers[:, i] == 1))[0])
            C[unit] = 0.5 * (pool[:, i, 1] - pool[:, i, 0])
        found.append(Model(S, C, up(8.0 * UNIT * np.abs(pool[:, i]).max(axis=1))))
    return found


class ModelBoxes(Boxes):
    """The same boxes, with the polynomial of each in the place of a formula."""

    def __init__(self, left: Left, x0: Array, potential: Potential) -> None:
        super().__init__(None, x0, potential)
        self.left, self.at = left, x0

    def models(self, pool: Array, mark: Array, q: int) -> Model:
        """R on boxes, of degree q."""
        step = self.left.step
        parts = [self._some(pool[a : a + step], mark[a : a + step], q) for a in range(0, len(pool), step)]
        C, e = np.concatenate([p.C for p in parts], axis=1), np.concatenate([p.e for p in parts])
        bad = ~(np.isfinite(C).all(axis=0) & np.isfinite(e))
        return Model(parts[0].S, np.where(bad, 0.0, C), np.where(bad, np.inf, e))

    def _some(self, pool: Array, mark: Array, q: int) -> Model:
        t, pi = axes(pool, q), Ball(math.pi, 4.0 * UNIT)
        if self.d == 1:
            Y = [t[0].scaled(Ball(mark[:, 0]))]
        else:
            turns = [sine(one.scaled(pi)) for one in t[1:]]
            sin, cos = turns[0]
            Y = [t[0] * cos, t[0] * sin]
            if self.d == 3:
                flat = t[0] * sin
                Y = [flat * turns[1][1], flat * turns[1][0], t[0] * cos]
        return self.left.made([y.raised(Ball(np.full(len(pool), x))) for x, y in zip(self.at, Y, strict=True)])

    def inside(self, radii: list[float]) -> list[float]:
        """Upper bounds of |∫rΦ| over balls of small radii; of an odd kernel r may be taken less any number."""
        reach = 1.01 * np.array(radii)[:, None]
        M = self.left.made(axes(np.stack([self.at - reach, self.at + reach], axis=2), 2))
        tops = M.top - (0.0 if self.potential.axis is None else np.abs(M.C[0]) * (1.0 - 1e-9))
        found = [float(up(top * self.potential.inner(r))) for top, r in zip(tops.tolist(), radii, strict=True)]
        return [x if math.isfinite(x) else math.inf for x in found]

    def errors(self, pool: Array, mark: Array, M: Model, m: int) -> tuple[Array, Array]:
        """What a rule with m points and the remainders add on boxes, each over its volume, and a bound of r's share."""
        middle, half = 0.5 * pool.sum(axis=2), 0.5 * (pool[:, :, 1] - pool[:, :, 0]) * (1.0 + 8.0 * UNIT)
        half = half + 4.0 * UNIT * np.abs(middle)
        sizes, E, top = norms(M), np.full(len(pool), np.inf), np.full(len(pool), np.inf)
        for k, R in enumerate(RADII):
            good = middle[:, 0] > 1.01 * R * half[:, 0]
            if not good.any():
                break
            discs = [Ball(a, up(R * b)) for a, b in zip(middle[good].T, half[good].T, strict=True)]
            weight = self.weight(discs, mark[good])[1]
            reach = sum(sizes[j, good] * R**j for j in range(1, len(sizes)))
            g = Ball(M.C[0, good], up(reach * (1.0 + 1e-9))) * weight
            if k == 0:
                E[good], top[good] = g.r, weight.top
            else:
                E[good] = np.fmin(E[good], g.r * (R ** -(2 * m - 1.0) / (R - 1.0)))  # checking.md, step 13j
        return up(2.0 * E + M.e * top), up(top * M.size)


class Rule:
    """A product rule on boxes, with its sums so far."""

    def __init__(self, boxes: ModelBoxes) -> None:
        self.boxes, self.d, self.m = boxes, boxes.d, POINTS[boxes.d]
        x, w, self.off = line(self.m, 1)
        self.grid = np.stack(np.meshgrid(*[x] * self.d, indexing="ij"), axis=-1).reshape(-1, self.d)
        mesh = np.stack(np.meshgrid(*[w] * self.d, indexing="ij"), axis=-1)
        self.weights, self.sums, self.error = np.prod(mesh.reshape(-1, self.d), axis=1), [0.0], 0.0

    def add(self, pool: Array, mark: Array, M: Model, E: Array, top: Array) -> None:
        """Boxes whose errors are E, over their volumes; `top` bounds the integrand."""
        table = np.prod((2.0 * self.grid - 1.0)[None] ** M.S.powers[:, None, :], axis=2)
        volume = np.prod(pool[:, :, 1] - pool[:, :, 0], axis=1)
        at = pool[:, :, :1] + (pool[:, :, 1:] - pool[:, :, :1]) * self.grid.T
        t = [Ball(at[:, i], 4.0 * UNIT * np.abs(pool[:, i, 1:])) for i in range(self.d)]
        p = Ball(M.C.T @ table, up(gamma(16 * M.S.q + len(M.C) + 16) * M.size)[:, None])
        g = p * self.boxes.weight(t, mark[:, None])[1]
        self.sums += ((g.m @ self.weights) * volume).tolist()
        lost = (1.02 * self.d * self.off + gamma(len(self.weights) + 24)) * (top + E)  # checking.md, step 7e
        self.error += total(up((E + g.r.max(axis=1) + lost) * volume))


@np.errstate(all="ignore")
def network_term(left: Left, x0: Array, potential: Potential, close: float) -> tuple[float, float]:
    """∫rΦ and a bound of its error, which is wanted below `close`."""
    boxes = ModelBoxes(left, x0, potential)
    rule, (pool, mark, inner), made = Rule(boxes), boxes.first(close), 0
    for level in range(LEVELS + 1):
        last, made = level == LEVELS or made > MOST, made + len(pool)
        for q in DEGREES[potential.d]:
            M = boxes.models(pool, mark, q)
            (E, top), volume = boxes.errors(pool, mark, M, rule.m), np.prod(pool[:, :, 1] - pool[:, :, 0], axis=1)
            good = (E * volume <= 0.5 * close / USUAL) | (last and q == DEGREES[potential.d][-1])
            if good.any():
                rule.add(pool[good], mark[good], Model(M.S, M.C[:, good], M.e[good]), E[good], top[good])
            pool, mark = pool[~good], mark[~good]
            if not len(pool):
                value = math.fsum(rule.sums)
                return value, float(up(inner + rule.error + 4.0 * UNIT * abs(value)))
        pool, mark = halved(pool, mark)
    return 0.0, math.inf
