"""Curved sides where a solid is held: what states of the straight mesh miss there.

A state continued to an arc is not what is held. E = m(τ)(1 − θ), θ = (Y − y)/w in the strip of `airy`, is the miss m on
the arc and zero on the cell's other sides. See docs/curved.md, steps 6i to 6k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import gamma, up
from pinnpoint.transfer.elastic.airy import Jump
from pinnpoint.transfer.elastic.arcs import ACROSS, LINE, Arcs, gauss, shapes

COUNT = 4000
"""More than the roundings of any value, relative to the absolute terms in it."""


@dataclass(frozen=True, eq=False)
class Miss:
    """m on arcs; zero on free ones.

    Attributes
    ----------
    values, wrong, top
        At Gauss points, (n, points, 2); bounds of their rounding, and of |m|, (n,).
    energy
        Upper bounds of ‖E‖_a, (n,).
    """

    values: Vector
    wrong: Vector
    top: Vector
    energy: Vector

    @classmethod
    def of(cls, arcs: Arcs, nodal: Vector, degree: int, target: Vector, stiff: Vector) -> Miss:
        """Of states with values (n, nodes, 2) that should be `target` (n, 2), in a material with C ≤ `stiff`."""
        (tau, w), (theta, v), held = gauss(LINE), gauss(ACROSS), ~arcs.free
        eta, slope = arcs.line.values[:2]
        bary = arcs.barycentric(np.broadcast_to(tau, eta.shape), eta)
        down = arcs.barycentric(np.broadcast_to(np.ones_like(tau), eta.shape), slope)
        base = arcs.barycentric(np.zeros_like(eta), np.zeros_like(eta))
        rate = down - base  # barycentric coordinates are affine
        local = target[:, None] - nodal
        m = np.einsum("npk,nkc->npc", shapes(bary, degree), local)
        dm = np.einsum("npk,nkc->npc", _slopes(bary, rate, degree), local)
        size = np.abs(local).sum(axis=1).max(axis=1) * 8.0 * (1.0 + 2.0 * arcs.over) ** 2
        size = size * (1.0 + 3.0 * arcs.steep[0] / arcs.height) * (1.0 + np.abs(arcs.foot))
        blur = up((gamma(COUNT) + 16.0 * arcs.blur) * size, 8)
        omega = arcs.slope[:, None] * (tau * (1.0 - tau))
        turn = slope[..., None] - theta * (arcs.slope[:, None] * (1.0 - 2.0 * tau))[..., None]
        bump, off = m / omega[..., None], blur[:, None] / omega
        along = np.abs(dm[:, :, None] * (1.0 - theta)[:, None] - bump[:, :, None] * turn[..., None])
        along = along + (blur[:, None] + off * (1.0 + arcs.slope[:, None]))[:, :, None, None]
        across = np.abs(bump) + off[..., None]
        square = np.einsum("nptc,np,p,t->n", along**2, omega, w, v) + np.einsum("npc,np,p->n", across**2, omega, w)
        energy = up(np.sqrt(square * stiff) * (1.0 + gamma(COUNT)), 16)  # curved.md, step 6i
        top = up(np.abs(m).sum(axis=2).max(axis=1) * 2.0 + 2.0 * blur, 8)
        return cls(np.where(held[:, None, None], m, 0.0), blur * held, top * held, np.asarray(energy * held))


def _slopes(bary: Vector, rate: Vector, degree: int) -> Vector:
    """Derivatives of shape functions along a line on which barycentric coordinates change at these rates."""
    if degree == 1:
        return rate
    corners = (4.0 * bary - 1.0) * rate
    pairs = ((0, 1), (0, 2), (1, 2))
    middle = [4.0 * (bary[..., i] * rate[..., j] + bary[..., j] * rate[..., i]) for i, j in pairs]
    return np.concatenate([corners, np.stack(middle, axis=-1)], axis=-1)


def work(arcs: Arcs, stress: Vector, wrong: Vector, loose: Vector, miss: Miss) -> tuple[float, float]:
    """∫ (σn)·m over held arcs, and a bound of its error.

    Parameters
    ----------
    stress, wrong
        In the chords' frames by ends and centroid, (n, 3, 3), and bounds of the error of any entry, (n,).
    loose
        Bounds of a further stress that the proof adds at the vertices, (n,).
    """
    w = gauss(LINE)[1]
    jump = Jump.of(arcs, stress, arcs.pulled(()), arcs.line)
    m = np.einsum("nia,npa->inp", arcs.frame, miss.values)
    total = -arcs.length * np.einsum("inp,inp,p->n", jump.r, m, w)
    most = jump.size.max(axis=(0, 2))
    off = (gamma(COUNT) + 8.0 * arcs.blur) * most * miss.top + most * 2.0 * miss.wrong
    off = off + 4.0 * (1.0 + arcs.steep[0]) * (1.0 + 2.0 * arcs.over) * (wrong + loose) * (miss.top + miss.wrong)
    held = ~arcs.free
    bound = up(arcs.length * off, 16)[held].sum()
    return float(total[held].sum()), float(
        up(bound * (1.0 + gamma(2 * len(total) + 8)) + gamma(len(total)) * np.abs(total[held]).sum(), 8)
    )
