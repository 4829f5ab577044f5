"""What acts on the chords of a solid's arcs: linear tractions with the resultants of arc and sliver.

Force and moment follow from what is given on the arc and in the sliver, the moment of the shear from the stress along
the arc. See docs/curved.md, steps 6b and 6c.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import gamma, up
from pinnpoint.taylor.bernstein import Density, from_linear
from pinnpoint.transfer.elastic.arcs import LINE, Arcs, Pulled, gauss
from pinnpoint.transfer.elastic.forces import traction_moments
from pinnpoint.transfer.elastic.loads import Traction
from pinnpoint.transfer.elastic.solid import Solid


@dataclass(frozen=True, eq=False)
class Chords:
    """Tractions on the chords of free arcs."""

    solid: Solid
    arcs: Arcs

    def resultants(self, pulled: Pulled, body: Vector) -> tuple[Vector, Vector, Vector]:
        """Force (n, 2) in the chords' frames, moment (n,) about their middles, of arc and sliver; bounds of errors."""
        arcs, (tau, w) = self.arcs, gauss(LINE)
        here = pulled.turned(arcs.frame)
        t, ell, graph = here.at(tau)[0], arcs.length, arcs.line
        eta, arm = graph.values[0], tau - 0.5
        f = np.einsum("nia,na->ni", arcs.frame, body)
        area, first, second = (np.einsum("np,p->n", x, w) for x in (eta, eta * arm, 0.5 * eta**2))
        force = np.stack([ell * (t[c] @ w) + ell**2 * f[:, c] * area for c in range(2)], axis=1)
        moment = ell**2 * ((arm * t[1] - eta * t[0]) @ w) + ell**3 * (f[:, 1] * first - f[:, 0] * second)
        top, reach = here.top.sum(axis=0), graph.sizes[0].max(axis=1)
        size = ell * (top + ell * np.abs(f).sum(axis=1) * reach) * (1.0 + reach)
        unknown = ell * (1.0 + reach) * here.e.sum(axis=0)
        return force, moment, np.asarray(up((gamma(200) + 8.0 * arcs.blur) * size + unknown, 16))

    def tractions(self, pulled: Pulled, body: Vector, drag: Vector) -> tuple[tuple[Traction, ...], Vector]:
        """Linear tractions on the free chords, with given resultants and this moment of their shear."""
        arcs, rows = self.arcs, np.flatnonzero(self.arcs.free)
        force, moment, _ = self.resultants(pulled, body)
        ell = arcs.length
        slope = 12.0 * np.stack([drag / ell, moment / ell**2], axis=1)  # by τ
        ends = np.stack([force / ell[:, None] - 0.5 * slope, force / ell[:, None] + 0.5 * slope], axis=1)
        turned = np.einsum("nia,nki->nka", arcs.frame, ends)[rows]
        zero, found, moments = np.zeros(len(rows)), [], np.zeros((len(rows), 2, 2))
        for c in range(2):
            what = Density(from_linear(turned[:, :, c]), zero, zero, zero)
            found.append(Traction(c, self.solid.facet_load(arcs.facets[rows], what), flat=True))
            moments[:, :, c] = traction_moments(arcs.topology, arcs.facets[rows], [what])[0][..., 0]
        return tuple(found), moments

    def with_errors(
        self, chords: tuple[Traction, ...], moments: Vector, pulled: Pulled, body: Vector
    ) -> tuple[Traction, ...]:
        """The same with bounds of what is wrong with the resultants of the stored moments."""
        arcs, rows = self.arcs, np.flatnonzero(self.arcs.free)
        force, moment, wrong = self.resultants(pulled, body)
        mine = np.einsum("nia,nka->nki", arcs.frame[rows], moments)
        ell = arcs.length[rows]
        off = np.abs(mine.sum(axis=1) - force[rows]).sum(axis=1)
        turn = np.abs(0.5 * ell * (mine[:, 1, 1] - mine[:, 0, 1]) - moment[rows]) / ell
        size = np.abs(mine).sum(axis=(1, 2)) + np.abs(force[rows]).sum(axis=1) + np.abs(moment[rows]) / ell
        left = up(off + 2.0 * turn + 4.0 * wrong[rows] + (gamma(40) + 8.0 * arcs.blur[rows]) * size, 16)
        error = up(left / ell, 4)  # curved.md, step 6b
        found = []
        for t in chords:
            d = t.on.density
            on = replace(t.on, density=Density(d.coefficients, d.high, error, error))
            found.append(Traction(t.component, on, flat=True))
        return tuple(found)

    def drag(self, pulled: Pulled, stress: Vector) -> Vector:
        """∫(τ − ½)σ_en dξ on the chords if r had no such moment on the arcs, from stresses of a state, (n,)."""
        arcs, (tau, w) = self.arcs, gauss(LINE)
        S = np.stack([stress[..., [0, 1]], stress[..., [1, 2]]], axis=-2)
        turned = np.einsum("nia,nkab,njb->nkij", arcs.frame, S, arcs.frame)
        eta, slope = arcs.line.values[:2]
        at = arcs.barycentric(np.broadcast_to(tau, eta.shape), eta)
        base = arcs.barycentric(np.broadcast_to(tau, eta.shape), np.zeros_like(eta))
        along = np.einsum("npk,nk->np", at, turned[..., 0, 0])
        shear = np.einsum("npk,nk->np", at - base, turned[..., 0, 1])
        t = pulled.turned(arcs.frame).at(tau)[0][0]
        return np.asarray(arcs.length * ((t + slope * along - shear) @ (w * (tau - 0.5))))
