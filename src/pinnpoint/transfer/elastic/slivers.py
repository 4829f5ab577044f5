"""What slivers and arcs add to the value of a query.

J(u_h) + L(z_h) − a(u_h, z_h) over the domain is that over the straight mesh, with integrals of the same polynomials
over slivers, counted negative where these are cut off, and of tractions along arcs. See docs/curved.md, step 6g.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import UNIT, at_most, gamma, sum_up, up
from pinnpoint.transfer.elastic.arcs import ACROSS, LINE, Arcs, Pulled, gauss, shapes
from pinnpoint.transfer.elastic.held_arcs import Miss
from pinnpoint.transfer.elastic.product import Side
from pinnpoint.transfer.elastic.strains import Strains


@dataclass(frozen=True, eq=False)
class OnArcs:
    """A side at the arcs: what acts there, the state, and what its stress costs.

    Attributes
    ----------
    pulled
        t ds/dξ, by coordinates.
    values
        Nodal displacements of the cells, (n, nodes, 2).
    body
        The force density in the cells, (n, 2).
    state
        With bounds of its rounding.
    stress, wrong, loose
        Of the side in the parts of the cells at the chords, (n, 3, 3), bounds of its error, and of what is added to it
        for the proof, (n,).
    miss
        What the state misses where arcs are held.
    """

    pulled: Pulled
    values: Vector
    body: Vector
    state: Strains
    stress: Vector
    wrong: Vector
    loose: Vector
    miss: Miss


def value(arcs: Arcs, degree: int, p: OnArcs, d: OnArcs, dual: Side) -> tuple[float, float]:
    """What slivers and arcs add to J(u_h) + sign [L(z_h) − a(u_h, z_h)], and a bound of its error."""
    (tau, w), (share, v) = gauss(LINE), gauss(ACROSS)
    eta, ell = arcs.line.values[0], arcs.length
    y = eta[..., None] * share
    bary = arcs.barycentric(np.broadcast_to(tau[:, None], y.shape), y)
    twice = np.array([1.0, 2.0, 1.0])
    stress = np.einsum("nptk,nkv->nptv", bary, p.state.stress)
    strain = np.einsum("nptk,nkv->nptv", bary, d.state.strain)
    shape = shapes(bary, degree)
    u, z = (np.einsum("nptk,nkc->nptc", shape, x.values) for x in (p, d))
    inside = -dual.sign * np.einsum("nptv,nptv,v->npt", stress, strain, twice)
    inside += dual.sign * np.einsum("nptc,nc->npt", z, p.body)
    inside += (1.0 if dual.acts else 0.0) * np.einsum("nptc,nc->npt", u, d.body)
    total = ell**2 * np.einsum("npt,np,p,t->n", inside, eta, w, v)
    tall = 4.0 * (1.0 + 2.0 * arcs.over) ** 2
    tops = [np.abs(x.values).sum(axis=(1, 2)) * tall for x in (p, d)]
    size = tall * 4.0 * p.state.tall * d.state.wide + tops[1] * np.abs(p.body).sum(axis=1)
    size = size + tops[0] * np.abs(d.body).sum(axis=1)
    area = ell**2 * (arcs.line.sizes[0] @ w)
    rounding = (gamma(4000) + 16.0 * arcs.blur) * size * area
    rounding += area * 4.0 * tall * (p.state.wrong * d.state.wide + p.state.tall * d.state.blur)
    arc, more = _along(arcs, degree, p, d, dual)
    off = float(up(sum_up(up(rounding + more, 16)), 4))
    value = math.fsum([*total.tolist(), *arc.tolist()])
    return value, at_most(up(off + 4.0 * UNIT * (np.abs(total).sum() + np.abs(arc).sum()), 8))  # curved.md, step 6g


def _along(arcs: Arcs, degree: int, p: OnArcs, d: OnArcs, dual: Side) -> tuple[Vector, Vector]:
    """∫ t·z_h over arcs, and ∫ t_d·u_h; bounds of the errors, (n,) each."""
    tau, w = gauss(LINE)
    eta = arcs.line.values[0]
    shape = shapes(arcs.barycentric(np.broadcast_to(tau, eta.shape), eta), degree)
    total, wrong = np.zeros(len(eta)), np.zeros(len(eta))
    for load, state, sign in ((p, d, dual.sign), (d, p, 1.0 if dual.acts else 0.0)):
        if sign == 0.0:
            continue
        t = load.pulled.at(tau)[0]
        x = np.einsum("npk,nkc->cnp", shape, state.values)
        total = total + sign * arcs.length * np.einsum("cnp,cnp,p->n", t, x, w)
        top = np.abs(state.values).sum(axis=(1, 2)) * 4.0 * (1.0 + 2.0 * arcs.over) ** 2
        rest = load.pulled.e.sum(axis=0) + (gamma(2000) + 8.0 * arcs.blur) * load.pulled.top.sum(axis=0)
        wrong = wrong + arcs.length * top * rest
    return total, np.asarray(wrong)
