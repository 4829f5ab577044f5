"""What is asked of a solution in time, as functionals that are bounded: kernels of points, weights of averages."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pinnpoint_verify.checker import DIRICHLET, UNIT, Ball, Mesh, gamma, means, mix, quadratic, total, up
from pinnpoint_verify.domains import unfolded
from pinnpoint_verify.enclosures import largest
from pinnpoint_verify.model_jets import Jet, formula
from pinnpoint_verify.models import Model, space
from pinnpoint_verify.mollifiers import clear
from pinnpoint_verify.reader import Array, need, smaller
from pinnpoint_verify.slab_data import NAMES, Source, moves, paired
from pinnpoint_verify.slab_fits import Modes
from pinnpoint_verify.slab_kernels import Kernel
from pinnpoint_verify.slab_lifts import Left
from pinnpoint_verify.slab_weights import Weight
from pinnpoint_verify.slabs import Tally

Row = dict[str, Any]
CUTS = 8
"""Parts of a facet, and of a slab, on which boundary data that move are compared with the states."""


class MovingMesh(Mesh):
    """Parts that nothing holds are allowed: where the energy does not bound means, L² does."""

    floating = True
    flow: Array | None = None
    """b, numbers; none where nothing flows."""

    def __init__(self, bundle: Any, degree: int) -> None:
        super().__init__(bundle, degree)
        parts = list(self.parts())
        self.volume = Ball(np.concatenate([g.vol.m for g in parts]), np.concatenate([g.vol.r for g in parts]))
        need(not np.any(self.paired), "mesh: periodic pairs in time")
        unfolded(self)
        need(np.all(self.c >= 0.0) and not np.any(self.cubic), "reaction: below zero, or nonlinear")

    def cost(self, defect: Array) -> float:
        """As for any mesh; infinite where a part is not held."""
        return super().cost(defect) if np.all(np.isfinite(self.reach)) else math.inf

    def cell_at(self, x0: Array) -> int:
        """A cell that holds a point."""
        V = self.points[self.cells]
        E = (V[:, 1:] - V[:, :1]).swapaxes(1, 2)
        t = np.linalg.solve(E, (x0 - V[:, 0])[:, :, None])[:, :, 0]
        least = np.minimum(t.min(axis=1), 1.0 - t.sum(axis=1))
        need(least.max() >= -1e-12, "queries: a point outside the mesh")
        return int(np.argmax(least))


class Pointed:
    """A point at T, or a Gaussian average: ω and Ψ of its kernel on every slab."""

    def __init__(self, goal: Row, row: Row, mesh: MovingMesh, source: Source, T: float, top: float) -> None:
        x0, R, name = np.array(row["at"], dtype=float), float(goal["radius"]), row["name"]
        self.cell = mesh.cell_at(x0)
        kappa, c = float(mesh.kappa[self.cell]), float(mesh.c[self.cell])
        jump = (mesh.neighbour < 0) | (mesh.kappa[mesh.owner] != mesh.kappa[mesh.neighbour])
        jump |= mesh.c[mesh.owner] != mesh.c[mesh.neighbour]
        need(R > 0.0 and clear(x0, mesh.points[mesh.facets[jump]], R), f"{name!r}: the ball leaves its surroundings")
        S, s0, powers = float(goal["span"]), 0.0, goal["powers"]
        need(all(type(n) is int and 1 <= n <= 8 for n in powers) and powers[1] >= 2, f"{name!r}: unknown powers")
        if "spread" in row:
            s0 = float(row["spread"]) ** 2 / (2.0 * kappa)
            need(row["spread"] > 0.0 and goal["radius"] == row["reach"], f"{name!r}: another weight than is asked for")
            need(powers[:2] == [2, 3], f"{name!r}: another weight than is asked for")
        need(0.0 < S <= T, f"{name!r}: a kernel that is older than the problem")
        need(s0 == 0.0 or mesh.flow is None, f"{name!r}: convection: not followed for Gaussian weights")
        self.kernel = Kernel(x0, kappa, c, R, S, s0, powers, mesh.flow)
        self.source, self.T, self.mass, self.name = source, T, Ball(0.0), name
        self.volume, self.start, self.near = mesh.volume, 0.0, (0.0, 0.0)
        self.final = np.zeros((mesh.C, mesh.d + 1, mesh.d + 1)), np.zeros((mesh.C, 3))
        if s0 == 0.0:
            self._begin(smaller(0.1 * S, R * R / (144.0 * kappa)), top, float(row["radius"]), mesh)
        self.kernel.resolve(mesh.points[mesh.cells], self.start, {1: 40, 2: 16, 3: 8}[mesh.d])

    def _begin(self, s: float, top: float, radius: float, mesh: MovingMesh) -> None:
        """The age below which ω and Ψ are bounded only: what that costs is a share of the claimed radius."""
        K = self.kernel
        for _ in range(60):
            width = smaller(12.0 * math.sqrt(K.kappa * s) * (1.0 + 1e-12), K.R)
            value, spread = self.source.near(K.x0, self.cell, width, self.T, s, K.tilt)
            lost = K.missing(s)
            loss = s * (0.5 * abs(value) * lost + spread)
            if K.early(s)[0] * top <= 5e-4 * radius and loss <= 1e-3 * radius:
                break
            s *= 0.5
        if not self.source.vanishes:
            far = np.sqrt(((mesh.points[mesh.cells] - K.x0) ** 2).sum(axis=2)).min(axis=1) - mesh.h
            reached = np.flatnonzero(far <= 2.0 * width)
            shares = [np.isin(reached, cells).mean() for cells, _ in self.source.pieces]
            whole = all(share in (0.0, 1.0) for share in shares)
            need(whole, f"{self.name!r}: lies where the source changes its formula")
        self.start = s
        self.near = value * s * (1.0 - 0.5 * lost), loss

    def slab(self, n: int, start: float, end: float, f: Modes, tally: Tally) -> Modes:
        """ω on a slab; ∫∫fΨ goes to the tally, and ∫∫ω + c∫∫Ψ is the mass of a Gaussian weight."""
        weighed = self.kernel.s0 > 0.0
        wanted = 2 if not self.source.vanishes or (weighed and self.kernel.c > 0.0) else 1
        found = self.kernel.slab(start, end, self.T, f.beta.shape[0], wanted)
        tau = Ball(end) - start
        if not self.source.vanishes:
            for k in range(len(f.beta)):
                both, off = paired(f, found[1], k, self.volume)
                tally.add(both.total() * (tau / float(2 * k + 1)), float(up(total(off) * tau.top / (2 * k + 1))))
            tally.add(Ball(0.0), float(up(tau.top * total(up(f.rest * found[1].rest * self.volume.top)))))
        if weighed:
            for factor, w in zip((1.0, self.kernel.c), found, strict=False):
                each = (mix("njk,jk->n", w.beta[0], means(self.kernel.d, 2)) * self.volume).total()
                error = total(up(w.e1[0] * self.volume.top))
                self.mass = self.mass + factor * (Ball(each.m, each.r + error) * tau)
        return found[0]

    def early(self, f_top: float) -> tuple[Ball, float]:
        """∫∫fΨ of what is not resolved."""
        # beyond twelve widths of the Gaussian, and of e^{−y/4} where a drift's factor has taken its share
        tail = 1e-14 if self.kernel.tilt is None else 1e-11 * 2.0**self.kernel.d * self.kernel.grown(self.start)
        return Ball(self.near[0], 8.0 * UNIT * abs(self.near[0])), self.near[1] + tail * f_top * self.start


class Averaged:
    """An average at T, or over the times since another, with a weight that is known but for its rests and a factor."""

    def __init__(self, weight: Weight, mesh: MovingMesh, T: float, since: float | None) -> None:
        over = Ball(1.0) if since is None else 1.0 / (Ball(T) - since)
        self.T, self.since, self.d, self.scale = T, since, mesh.d, weight.scale
        self.beta = float(over.m) * weight.beta
        slip = (over.r + 2.0 * UNIT * over.m) * np.abs(weight.beta).max(axis=(1, 2))
        self.rest = up(over.top * weight.rest + np.stack([0.0 * slip, slip, slip], axis=1))
        at_end = 1.0 if since is None else 0.0
        self.final, self.square = (at_end * self.beta, at_end * self.rest), at_end * weight.square

    def slab(self, n: int, start: float, end: float, f: Modes, tally: Tally) -> Modes:
        """ω on a slab."""
        made = Modes(len(f.beta), len(self.beta), self.d)
        if self.since is not None and start >= self.since:
            made.beta[0] = self.beta
            made.high[0], made.e1[0], made.e2[0] = self.rest.T
        return made

    def early(self, f_top: float) -> tuple[Ball, float]:
        """All is resolved."""
        return Ball(0.0), 0.0


def mismatch(
    text: Any, facets: Array, mesh: MovingMesh, nodes: Array, levels: Array, modes: list[Array], left: Left | None
) -> float:
    """Upper bound of |g − u_h| on facets and all slabs, with a lift of |g − u_θ − u_h| (docs/slabs.md, step 5a)."""
    T = mesh.facets[facets]
    on = mesh.nodes_of(T)
    own = np.unique(on)
    top = 1.0 if mesh.degree == 1 else 9.0
    if left is None and not isinstance(text, str):
        gap = float(np.max([(mix("kn->n", u[:1, own]) - float(text)).top.max() for u in modes]))
        rest = float(np.max([np.abs(u[1:, own]).sum(axis=0).max(initial=0.0) for u in modes]))
        return 0.0 if _meets(levels[:, own], float(text)) else float(up(top * (gap + rest)))
    if left is None and not moves(text):
        need(np.all(levels[:, own] == levels[0, own]), "dirichlet: states that move where their data do not")
        b = quadratic(levels[0][on], mesh.d - 1, mesh.degree if mesh.d > 1 else 1)[0].m
        size = float(np.abs(b).max(initial=0.0))
        return float(up(largest(text, mesh.points[T], b, 1e-3 * size) + 16.0 * UNIT * size))
    need(mesh.d <= 2, "dirichlet: data that move on faces are not followed")
    gaps = [_moving(text, mesh, on, T, nodes[n], nodes[n + 1], u, left) for n, u in enumerate(modes)]
    return float(np.max(gaps))  # not a number stays one, and is refused


def _meets(values: Array, number: float) -> bool:
    """Whether states have a number exactly: then so do their modes, and rounding of halves and thirds is none of 0."""
    return bool(np.all(values == number))


def _moving(
    text: Any, mesh: MovingMesh, on: Array, T: Array, start: float, end: float, u: Array, left: Left | None
) -> float:
    """On one slab, by polynomials on parts of facets and of the slab, whose coefficients are added up."""
    m, q, n = mesh.d - 1, 6, len(T)
    S = space(m + 1, q)
    cuts = CUTS if m else 1
    ends = np.linspace(-1.0, 1.0, CUTS + 1)
    marks = np.array([(i, j) for i in range(cuts) for j in range(CUTS)])
    N = n * len(marks)
    which, place = np.repeat(np.arange(n), len(marks)), np.tile(np.arange(len(marks)), n)

    def line(i: Array, axis: int) -> Model:
        """A coordinate in [−1, 1] on its part."""
        C = np.zeros((len(S.degree), N))
        C[0], C[int(np.flatnonzero((S.degree == 1) & (S.powers[:, axis] == 1))[0])] = (
            0.5 * (ends[i] + ends[i + 1]),
            0.5 * (ends[i + 1] - ends[i]),
        )
        return Model(S, C, np.full(N, 4.0 * UNIT))

    theta = line(marks[place, 1], m)
    V = mesh.points[T]
    if m:
        lam = line(marks[place, 0], 0)
        X = [
            lam.scaled(Ball(0.5) * (Ball(V[which, 1, c]) - V[which, 0, c])).raised(
                Ball(0.5) * (Ball(V[which, 1, c]) + V[which, 0, c])
            )
            for c in range(2)
        ]
    else:
        zero = theta.scaled(Ball(0.0))
        X = [zero.raised(Ball(V[which, 0, 0]))]
    t = theta.scaled(Ball(0.5) * (Ball(end) - start)).raised(Ball(0.5) * (Ball(end) + start))
    none: list[Model | None] = [None] * (m + 2)
    J = [Jet(x, none, none) for x in (*X, t)]
    total_ = formula(text, J, (*NAMES[: m + 1], "t")).v if left is None else left.beside(text, J)
    powers = [theta.scaled(Ball(0.0)).raised(Ball(1.0)), theta, (theta * theta).scaled(Ball(1.5)).raised(Ball(-0.5))]
    for k in range(smaller(3, len(u))):
        w = u[k][on][which]
        if m == 0:
            shape = theta.scaled(Ball(0.0)).raised(Ball(w[:, 0]))
        else:
            half = Ball(0.5)
            shape = lam.scaled(half * (Ball(w[:, 1]) - w[:, 0])).raised(half * (Ball(w[:, 1]) + w[:, 0]))
            if mesh.degree == 2:  # (v_0 + v_1 − 2 v_m)/2 (ξ² − 1), so that the middle has its own value
                bend = half * (Ball(w[:, 1]) + w[:, 0]) - w[:, 2]
                shape = shape + (lam * lam).raised(Ball(-1.0)).scaled(bend)
        total_ = total_ + -(shape * powers[k])
    return float(_peak(total_).max())


def _peak(f: Model) -> Array:
    """Upper bound of |f| on its box by its Bernstein coefficients (docs/slabs.md, section 8)."""
    S, q = f.S, f.S.q
    line = np.array([[_blossom(i, a, q) for a in range(q + 1)] for i in range(q + 1)])
    B = np.ones((1, len(S.powers)))
    for a in S.powers.T:
        B = (B[:, None] * line[None, :, a]).reshape(-1, len(S.powers))
    found = np.abs(B @ f.C).max(axis=0)  # |B| ≤ 1
    return up(found + f.e + gamma(2 * len(f.C) + 16) * f.size)


def _blossom(i: int, a: int, q: int) -> float:
    """The Bernstein coefficient i of ξ^a on [−1, 1], of degree q: the mean of products of a of i ones and q − i −1s."""
    return sum(math.comb(i, j) * math.comb(q - i, a - j) * (1 - 2 * ((a - j) % 2)) for j in range(a + 1)) / math.comb(
        q, a
    )


def agreed(mesh: MovingMesh, parts: list[Array]) -> None:
    """Facets of the Dirichlet parts are those of that kind, each once."""
    every = np.concatenate([*parts, np.zeros(0, dtype=int)])
    fits = np.array_equal(np.sort(every), np.flatnonzero(mesh.kind == DIRICHLET))
    need(fits, "dirichlet: data on other facets than those that are held")
