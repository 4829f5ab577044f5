"""Free facets in mirrors: what a flux leaves of the data there, as fields on the cells. Part of the proof.

τ ≥ |g − αu_h − σ·n| on a facet F of a cell, H the distance of the opposite vertex from F: continued along the rays from
that vertex it is a field of at most τh/H whose divergence is at most dτ/H (docs/everywhere.md, steps 3b and 3c).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnpoint_verify.checker import NEUMANN, UNIT, Side, areas, gamma, up
from pinnpoint_verify.enclosures import tops
from pinnpoint_verify.formulas import formula
from pinnpoint_verify.networks import Left
from pinnpoint_verify.reader import Array, need
from pinnpoint_verify.robin import on_facets
from pinnpoint_verify.rows import is_number

CLOSE = 1.0005
"""How far above a value that is taken a bound may be."""
Groups = list[tuple[Any, Array]]
"""Formulas or numbers, each with its facets."""


class FreeData:
    """g and α on free facets, by groups."""

    def __init__(self, side: Side, given: Groups, exchange: Groups) -> None:
        self.side, self.given, self.exchange = side, given, exchange
        mesh = side.mesh
        asked = [] if side.load is None else side.load.at
        asked = np.union1d(asked, [] if mesh.exchange is None else mesh.exchange.at).astype(int)
        named = np.concatenate([np.zeros(0, dtype=int), *(facets for _, facets in given)])
        need(np.all(np.isin(asked, named)), "everywhere: data of free facets of which nothing is known")
        need(np.all(mesh.kind[named] == NEUMANN), "everywhere: data of free facets on others")
        through = np.concatenate([np.zeros(0, dtype=int), *(facets for _, facets in exchange)])
        need(mesh.exchange is None or np.all(np.isin(mesh.exchange.at, through)), "robin: facets of no group")

    def fields(self, *, flux: bool) -> tuple[Array, Array]:
        """Upper bounds of κ^{-½} times the field and of its divergence on cells; without a flux of g alone."""
        mesh = self.side.mesh
        field, divergence = np.zeros((2, mesh.C))
        for text, facets in self.given:
            if not len(facets):
                continue
            need(text is not None, "everywhere: no theorem for data of free facets that are no formulas")
            cell, area = mesh.owner[facets], areas(mesh.points[mesh.facets[facets]])
            height = mesh.d * mesh.low[cell] / area.top * (1.0 - 1e-14)
            gap = self._gap(text, facets, flux=flux)  # checking.md, step 15a
            np.add.at(field, cell, up(gap * mesh.h[cell] / height / np.sqrt(mesh.kappa[cell])))
            np.add.at(divergence, cell, up(mesh.d * gap / height))
        return up(field) * (field > 0.0), up(divergence) * (divergence > 0.0)

    def _gap(self, text: Any, facets: Array, *, flux: bool) -> Array:
        """τ on facets."""
        side, mesh = self.side, self.side.mesh
        V = mesh.points[mesh.facets[facets]]
        b, rough = np.zeros((len(facets), mesh.d, mesh.d)), np.zeros(len(facets))
        if flux:
            t = np.broadcast_to(side.t[facets], (len(facets), mesh.d))
            out = 0.5 * (t[:, :, None] + t[:, None, :]) / areas(V).m[:, None, None]
            slip = areas(V).r / areas(V).m + gamma(8)
            more, off = self._taken(facets, V)  # everywhere.md, step 3c
            b = out + more
            rough = up(slip * np.abs(out).max(axis=(1, 2)) + off + 2.0 * UNIT * np.abs(b).max(axis=(1, 2)))
        return distance(text, V, b) + rough

    def _taken(self, facets: Array, V: Array) -> tuple[Array, Array]:
        """A quadratic near αu_h, and bounds of the rest."""
        side, d = self.side, self.side.mesh.d
        found, rest = np.zeros((len(facets), d, d)), np.zeros(len(facets))
        for text, those in self.exchange:
            here = np.nonzero(np.isin(facets, those))[0]
            if not len(here):
                continue
            need(text is not None, "everywhere: no theorem for a Robin coefficient that is no formula")
            corner = np.full((len(here), d), float(text) if is_number(text) else 0.0)
            if not is_number(text):
                corner = formula(text, V[here].reshape(-1, d)).reshape(len(here), d)
            straight = 0.5 * (corner[:, :, None] + corner[:, None, :])
            off = distance(text, V[here], straight)  # of α from a linear function
            v, mean = on_facets(side, side.nodal, facets[here]), corner.mean(axis=1)
            middle, top = v.m[:, *np.triu_indices(d)].mean(axis=1), v.top.max(axis=(1, 2))
            spread = up(np.abs(v.m - middle[:, None, None]).max(axis=(1, 2)) + v.r.max(axis=(1, 2)))
            near = np.abs(corner - mean[:, None]).max(axis=1)
            one = mean[:, None, None] * v.m + (straight - mean[:, None, None]) * middle[:, None, None]
            size = np.abs(corner).max(axis=1) * (top + np.abs(middle))
            # αu = ᾱu + (α₁ − ᾱ)ū + (α₁ − ᾱ)(u − ū) + (α − α₁)u
            found[here] = one
            rest[here] = up(off * top + near * spread + np.abs(mean) * v.r.max(axis=(1, 2)) + gamma(40) * size)
        return found, rest


def distance(text: Any, V: Array, b: Array) -> Array:
    """Upper bounds of |f − Σ b_jk λ_j λ_k| on each facet, close to values that are taken."""
    if is_number(text):  # it lies between Bernstein's coefficients
        off = np.abs(float(text) - b).max(axis=(1, 2))
        return np.asarray(up(off + 4.0 * UNIT * (abs(float(text)) + np.abs(b).max(axis=(1, 2)))) * (off > 0.0))
    if isinstance(text, Left):
        size = float(np.abs(b).max(initial=0.0))
        return np.array([text.top(V[i : i + 1], b[i : i + 1], 1e-3 * size + text.close) for i in range(len(V))])
    return tops(text, V, b, CLOSE)


def joined(peak: Array, shares: Array, density: Array, field: Array, divergence: Array, volume: Array) -> Any:
    """Sup κ^{-½}|δ|, means of its share's powers 2, 4, 6, and ‖ϱ‖ after fields with these bounds were added."""
    if not (np.any(field) or np.any(divergence)):
        return peak, shares, density
    whole = up(peak + field)
    grown = np.stack([up(((shares[k - 1] ** (0.5 / k) * peak + field) / whole) ** (2 * k) * (1.0 + 1e-13))
                      for k in (1, 2, 3)])  # fmt: skip
    return whole, np.where(field > 0.0, np.minimum(1.0, grown), shares), up(density + divergence * np.sqrt(volume))
