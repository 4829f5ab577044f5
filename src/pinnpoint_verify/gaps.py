"""What Dirichlet data changes that the state does not meet exactly: part of the proof, beside checker.py."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from pinnpoint_verify.checker import DIRICHLET, Query, Side, total, up
from pinnpoint_verify.checker import energy as bound
from pinnpoint_verify.reader import Array, need
from pinnpoint_verify.robin import energy_of, size_of


def missed(query: Query | None, p: Side, goal: dict[str, Any], mismatch: float) -> float:
    """By the maximum principle the mismatch itself; of a flux ‖D‖ ‖z_h‖, or |B(D, z)| where coefficients vary."""
    if goal["known"] or goal["kind"] != "flux" or mismatch == 0.0:
        return 0.0 if goal["known"] else mismatch
    if query is not None and query.sign > 0.0:  # through a Robin group: ∫ αu
        assert query.z.load is not None
        return float(up(size_of(p, query.z.load.at) * mismatch))
    need(query is not None, f"{goal['kind']}: nothing was found for it")
    assert query is not None
    if p.mesh.medium is not None:
        return _varied(query, mismatch)
    own, z = energies(query, mismatch)
    return float(up(own * z * (1.0 + 1e-9)))


def energies(query: Query, mismatch: float) -> list[float]:
    """Upper bounds of ‖D‖_a and ‖z_h‖_a with |c| for c (transfer/boundary/gaps.py tells why).

    The data must be met but for rounding, as by its interpolant D + u_h, D = Σ δ_i φ_i over nodes of Γ_D with
    |δ_i| at most the mismatch. On a cell with node values that differ by r and are at most t a derivative of a
    linear state is at most ½ r Σ|∇λ|, of a quadratic one 6 r Σ|∇λ|, and its values t and 3 t.
    """
    p, energy = query.p, [0.0, 0.0]
    gap = _gap(query, mismatch)
    for g, *both in _sizes(query, gap):
        for k, (slope, top) in enumerate(both):
            energy[k] += total(up((p.mesh.d * g.kappa * slope**2 + np.abs(g.c) * top**2) * g.vol.top))
    return [math.sqrt(e + energy_of(p, v)) for e, v in zip(energy, (gap, query.z.nodal), strict=True)]


def _varied(query: Query, mismatch: float) -> float:
    """Upper bound of |B(D, z)|, z = z_h + ε, with suprema of |A|, |b| and |c| on cells."""
    # varying.md, step 5b
    p, z = query.p, query.z
    medium, d = p.mesh.medium, p.mesh.d
    gap, first, rise, lower = _gap(query, mismatch), 0.0, 0.0, 0.0
    for g, (slope, top), (steep, high) in _sizes(query, gap):
        A = np.max([sum(_top(medium, medium.entry(i, j), g.part) for j in range(d)) for i in range(d)], axis=0)
        flow = np.zeros(len(top))
        if medium.convective:
            flow = np.sqrt(sum(_top(medium, f"b{i}", g.part) ** 2 for i in range(d)))
        rest = up(math.sqrt(d) * flow * slope + _top(medium, "c", g.part) * top)
        first += total(up((d * A * slope * steep + rest * high) * g.vol.top))
        rise, lower = rise + total(up(d * A * slope**2 * g.vol.top)), lower + total(up(rest**2 * g.vol.top))
    sides = [math.sqrt(energy_of(p, v)) for v in (gap, z.nodal)]
    free = math.sqrt(rise) + medium.length * math.sqrt(lower) + sides[0] if lower else math.sqrt(rise) + sides[0]
    return float(up((first + sides[0] * sides[1] + medium.factor * bound(z) * free) * (1.0 + 1e-9)))


def _top(medium: Any, word: str | None, part: slice) -> Any:
    """Upper bounds of |coefficient| on a range of cells."""
    if word is None:
        return 0.0
    return up(np.abs(medium.beta[word][part]).max(axis=1) + medium.error[word][part])


def _gap(query: Query, mismatch: float) -> Array:
    """How large D may be at the nodes."""
    p, mesh = query.p, query.p.mesh
    held = np.unique(mesh.nodes_of(mesh.facets[mesh.kind == DIRICHLET]))
    small = mismatch <= 1e-11 * float(np.abs(p.nodal[held]).max(initial=0.0)) + 1e-300
    need(small, "flux: the data is not met but for rounding")
    gap = np.zeros(mesh.size)
    gap[held] = mismatch
    return gap


def _sizes(query: Query, gap: Array) -> Iterator[Any]:
    """Ranges of cells with upper bounds of derivatives and of values of D and of z_h."""
    mesh = query.p.mesh
    for g in mesh.parts():
        at = mesh.nodes_of(mesh.cells[g.part])
        rise, size = (0.5, 1.0) if at.shape[1] == mesh.d + 1 else (6.0, 3.0)
        steep = rise * up(g.grad.top.max(axis=2).sum(axis=1))
        own, z = gap[at].max(axis=1), query.z.nodal[at]
        yield g, (2.0 * own * steep, size * own), (up(np.ptp(z, axis=1)) * steep, size * np.abs(z).max(axis=1))
