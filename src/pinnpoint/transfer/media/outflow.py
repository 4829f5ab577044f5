"""What convection carries through Neumann facets: b·n, enclosed on each of them.

The symmetric part of ∫ (b·∇v) w has the boundary term ½∫_{Γ_N} b·n v w, so b·n ≥ 0 is needed there; and the flux of a
dual state z_h is to be g − b·n z_h on them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.topology import Topology
from pinnpoint.rounding.arithmetic import gamma, up
from pinnpoint.taylor.bernstein import Density
from pinnpoint.taylor.geometry import Simplices, path_order
from pinnpoint.taylor.inputs import ORDER, fixed, models
from pinnpoint.taylor.minima import below
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.simplices import projected, quadratic
from pinnpoint.transfer.boundary.facets import measures, normals
from pinnpoint.transfer.energy.anchors import Anchors
from pinnpoint.transfer.media.coefficients import Coefficient, Coefficients


@dataclass(frozen=True, eq=False)
class Outflow:
    """b·n on boundary facets where it does not vanish identically.

    Attributes
    ----------
    facets
        Facet numbers, (n,).
    models
        Models of b·n on them, with the orders of vertices that they stand in.
    floor
        Lower bounds of b·n, (n,).
    """

    facets: Index
    models: TaylorModel
    which: Index
    floor: Vector

    __repr__ = brief

    @classmethod
    def of(cls, given: Coefficients, topology: Topology, facets: Index) -> Outflow | None:
        """On these boundary facets; None where b·n vanishes on all of them."""
        if not given.convective or not len(facets):
            return None
        V, cells = topology.points[topology.facets[facets]], topology.facet_cells[facets, 0]
        outward = V.mean(axis=1) - topology.points[topology.cells[cells]].mean(axis=1)
        n, error = (np.sign(outward), np.zeros(len(V))) if V.shape[2] == 1 else normals(V, outward)
        still = (0.0,) * V.shape[2]
        b = [still if v is None else v for v in given.convection]
        total = constant(np.zeros(len(V)))
        for i in range(V.shape[2]):
            if n[:, i].any() or error.any():
                total = total + _on(given.regions[cells], [v[i] for v in b], V) * constant(n[:, i].copy(), error)
        moving = np.flatnonzero((total.C.any(axis=0)) | (total.e > 0.0))
        if not moving.size:
            return None
        part = TaylorModel(total.space, np.ascontiguousarray(total.C[:, moving]), total.e[moving])
        return cls(facets[moving], part, path_order(V[moving]), below(part)[0])

    def times(self, beta: Vector, blur: Vector) -> Density:
        """b·n v on the facets, for a function with Bernstein coefficients β (n, pairs) there, known up to `blur`."""
        m = self.models.space.d
        if beta.shape[1] == 1:  # facets are points
            product = self.models * constant(beta[:, 0].copy(), blur)
            return Density(product.C[:1].T.copy(), np.zeros(len(beta)), product.e, product.e)
        if m == 0:  # b·n is a number on each facet
            C, e = self.models.C[0], self.models.e
            wrong = up((np.abs(C) + e) * blur + (e + gamma(2) * np.abs(C)) * np.abs(beta).max(axis=1), 8)
            return Density(C[:, None] * beta, np.zeros(len(beta)), wrong, wrong)
        product = self.models * quadratic(beta, self.which, self.models.space.q, blur)
        coefficients, high, error = projected(product, self.which)
        return Density(coefficients, high, error, error)

    def lack(self, topology: Topology, anchors: Anchors, square: float) -> float:
        """What b·n ≥ −ε may cost, as a share of coercivity: ½ε∫v² over facets against ‖v‖², for ‖v‖₂² ≤ `square`‖v‖².

        ∫_F v² ≤ |F|/|K| (‖v‖² + 2h/d ‖v‖ ‖∇v‖) on a cell K with facet F, which has at most d + 1 of them.
        """
        short = np.maximum(0.0, -self.floor)
        if not short.any():
            return 0.0
        cell, d = topology.facet_cells[self.facets, 0], topology.dim
        area, slack = measures(topology.points[topology.facets[self.facets]])
        root = math.sqrt(square)
        thin = up(short * area * (1.0 + slack) / anchors.volume[cell], 8)
        # h/√κ is π times what the anchors hold
        steep = float(np.max(up(thin * anchors.convex[cell], 8))) * 7.0 * root / d
        return float(up((d + 1.0) * 0.5 * (float(thin.max()) * square + steep), 16))  # varying.md, step 1d


def _on(regions: Index, given: list[Coefficient], V: Vector) -> TaylorModel:
    """The models of one component of b on facets."""
    known = [fixed(g) for g in given]
    value, error = (np.array([0.0 if k is None else k[i] for k in known])[regions] for i in (0, 1))
    total = constant(value, error)
    for r, g in enumerate(given):
        if known[r] is None and np.any(regions == r):
            part, _ = models(g, Simplices(V, np.zeros((len(V), V.shape[2]))), ORDER[V.shape[1] - 1])  # type: ignore[arg-type]
            total = total + part * constant((regions == r).astype(np.float64))
    return total


def require_outward(found: Outflow, topology: Topology) -> None:
    """Refuse what flows in through Neumann facets."""
    worst = int(np.argmin(found.floor))
    where = topology.points[topology.facets[found.facets[worst]]].mean(axis=0)
    raise InputError(
        "convection: nothing may flow in where no value is given (free, Neumann and Robin parts); b·n is "
        f"{found.floor[worst]:.3e} near {where.tolist()} or could not be proved to be more. Fix values there, or say "
        "target='discrete'"
    )
