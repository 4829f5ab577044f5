"""What Dirichlet data changes that the state does not meet exactly: part of the proof, beside checker.py."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pinnpoint_verify.checker import DIRICHLET, Query, Side, total, up
from pinnpoint_verify.reader import need
from pinnpoint_verify.robin import energy_of, size_of


def missed(query: Query | None, p: Side, goal: dict[str, Any], mismatch: float) -> float:
    """By the maximum principle the mismatch itself; of a flux ‖D‖ ‖z_h‖ (transfer/boundary/gaps.py tells why).

    There the data must be met but for rounding, as by its interpolant D + u_h, D = Σ δ_i φ_i over nodes of Γ_D with
    |δ_i| at most the mismatch. On a cell with node values that differ by r and are at most t a derivative of a
    state is at most 6 r Σ|∇λ|, and its values 3 t.
    """
    mesh, energy = p.mesh, [0.0, 0.0]
    if goal["known"] or goal["kind"] != "flux" or mismatch == 0.0:
        return 0.0 if goal["known"] else mismatch
    if query is not None and query.sign > 0.0:  # through a Robin group: ∫ αu
        assert query.z.load is not None
        return float(up(size_of(p, query.z.load.at) * mismatch))
    held = np.unique(mesh.nodes_of(mesh.facets[mesh.kind == DIRICHLET]))
    small = mismatch <= 1e-11 * float(np.abs(p.nodal[held]).max(initial=0.0)) + 1e-300
    need(small and query is not None, f"{goal['kind']}: the data is not met but for rounding")
    assert query is not None
    gap = np.zeros(mesh.size)
    gap[held] = mismatch
    for g in mesh.parts():
        at = mesh.nodes_of(mesh.cells[g.part])
        steep = up(g.grad.top.max(axis=2).sum(axis=1))
        own, z = gap[at].max(axis=1), query.z.nodal[at]
        for k, (r, t) in enumerate(((2.0 * own, own), (up(np.ptp(z, axis=1)), np.abs(z).max(axis=1)))):
            each = mesh.d * g.kappa * (6.0 * r * steep) ** 2 + g.c * (3.0 * t) ** 2
            energy[k] += total(up(each * g.vol.top))
    energy = [e + energy_of(p, v) for e, v in zip(energy, (gap, query.z.nodal), strict=True)]
    return float(up(math.sqrt(energy[0]) * math.sqrt(energy[1]) * (1.0 + 1e-9)))
