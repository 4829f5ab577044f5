"""What the cubic leaves over: norms of functions that vanish on the Dirichlet part."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pinnpoint_verify.checker import DIRICHLET, NEUMANN, PI, Mesh, Side, total, up
from pinnpoint_verify.reader import Array, larger, need, smaller


class Norms:
    """What the cubic leaves: ‖v‖₂ ≤ C₂E, ‖v‖₄ ≤ C₄E, max|v| ≤ C E in 1D, for v that vanish on the Dirichlet part."""

    def __init__(self, p: Side) -> None:
        mesh, self.p, self.d = p.mesh, p, p.mesh.d
        gradient = float(up(1.0 / math.sqrt(mesh.kappa.min())))
        least = float(mesh.c.min())
        second = smaller(mesh.friedrichs, float(up(1.0 / math.sqrt(least))) if least > 0.0 else math.inf)
        self.vanishing = bool(np.all(mesh.kind != NEUMANN)) and mesh.pairs is None
        if mesh.d == 1:
            need(mesh.pairs is not None or np.count_nonzero(mesh.kind) == 2, "remainder: not one interval")
            h, fixed = up(np.ptp(mesh.points[mesh.cells][:, :, 0], axis=1)), np.count_nonzero(mesh.kind == DIRICHLET)
            self.top = float(up(math.sqrt(total(up(h / mesh.kappa)) / (4.0 if fixed == 2 else 1.0))))
            self.top = self.top if fixed else float(up(mesh.reach + mesh.step).max())
            second = smaller(second, float(up(self.top * math.sqrt(total(h)))))
            fourth = self.top * second
        elif self.vanishing:
            fourth = math.sqrt(0.5) * second * gradient if mesh.d == 2 else math.sqrt(second * gradient**3 / 27.0**0.5)
        else:  # a box, by the faces across each axis that are fixed
            on, kind = faces(mesh)
            need(np.all(np.any(on, axis=(0, 1))), "remainder: no box, and not all of the boundary is fixed")
            count = np.array([sum(np.all(kind[face] == DIRICHLET) for face in two) for two in on])
            widths = np.ptp(mesh.points, axis=0)
            mu = float(mesh.kappa.min() * PI**2 * np.sum(count**2 / (2.0 * widths) ** 2) + mesh.c.min())
            second = float(up(1.0 / math.sqrt(mu))) if mu > 0.0 else _by_paths(p)
            lines = np.where(count == 0, 1.0 / widths, 0.0) * second + np.where(count == 2, 1.0, 2.0) * gradient
            fourth = math.sqrt(second ** (4 - mesh.d) * float(np.prod(lines)))
        # what is proved bounds energies with models of the coefficients, which are at most `growth` times the true ones
        most = float(mesh.growth)  # checking.md, step 12g
        self.second, self.gradient, self.fourth = (float(up(x * most)) for x in (second, gradient, math.sqrt(fourth)))
        self.top = float(up(self.top * most)) if mesh.d == 1 else math.inf

    def beside(self, goal: dict[str, Any]) -> float:
        """Upper bound of ‖vΦ‖₂/E for the kernel of a query; zero where there is none."""
        if goal["radius"] is None:
            return 0.0
        if "height" in goal:  # Ψ ≤ height · ψ(L⁻¹y), checking.md, step 12g
            return self.weighted(goal["radius"], float(1.0 / up(goal["height"])), False, goal["stretch"])
        return self.weighted(goal["radius"], goal["kappa"], goal["kind"] == "point")

    def weighted(self, R: float, kappa: float, point: bool, stretch: tuple[float, float] = (1.0, 1.0)) -> float:
        """Upper bound of ‖vΦ‖₂/E for the kernel of a ball of radius R; of |L⁻¹y|, with ‖L‖ and (det L)^¼."""
        if self.d == 3:  # Φ ≤ 1/(4πκ|x − x₀|) and Hardy's inequality
            steep = stretch[0] * self.gradient
            free = 2.0 * steep if self.vanishing else 4.0 * steep + 2.0 * self.second / R
            return float(up(free / (4.0 * PI * kappa)))
        if self.d == 2:  # ∫ over the ball of |Φ|⁴; 5.529 ≥ ∫_0^1 (−log s − 3/2 + 2s − s²/2)⁴ ds, 24 = ∫_0^1 log⁴ s ds
            fourth = math.sqrt(math.sqrt(3.1415926535897936 * R * R * (5.529 if point else 24.0)))
            return float(up(self.fourth * stretch[1] * fourth / (4.0 * PI * kappa)))
        largest, square = (3.0 / 16.0, 1.397 / 256.0) if point else (0.5, 1.0 / 12.0)
        return float(up(smaller(self.top * math.sqrt(2.0 * R * square), self.second * largest) * R / kappa))

    def remainder(self, eta: float, eta_d: float, z: Array, goal: dict[str, Any]) -> tuple[float, float]:
        """Upper bounds of ∫q⁺G and ∫q⁻G, q = λe²(3u_h + e), G ≥ 0 the Green function of the query."""
        lam, A = float(self.p.mesh.cubic.max()), float(np.max(np.abs(z))) * self.second + self.fourth**2 * eta_d
        A += self.beside(goal)
        both = 0.6495190528383291 * math.sqrt(lam) * A * eta * eta  # 3√3/8
        own = [
            3.0 * larger(0.0, float(np.max(e * self.p.nodal))) * self.second * eta**2 + self.fourth**2 * eta**3
            for e in (1.0, -1.0)
        ]
        return float(up(smaller(both, lam * A * own[0]))), float(up(smaller(both, lam * A * own[1])))


def faces(mesh: Mesh) -> tuple[Any, Array]:
    """Which facets of the boundary, cut open along pairs, lie on both faces of the box across each axis; kinds."""
    P, kind = mesh.points[mesh.facets[mesh.kind > 0]], mesh.kind[mesh.kind > 0]
    if mesh.pairs is not None:  # indefinite.md, step 11c
        P = np.concatenate([P, mesh.points[mesh.pairs.seams]])
        kind = np.concatenate([kind, np.full(len(P) - len(kind), NEUMANN)])
    return [[np.all(P[:, :, i] == e, axis=1) for e in (X.min(), X.max())] for i, X in enumerate(mesh.points.T)], kind


def _by_paths(p: Side) -> float:
    """C of ‖v‖₂ ≤ C‖v‖_a by the paths of cells, which may end at Robin facets."""
    mesh = p.mesh  # checking.md, step 12f
    return float(up(math.sqrt(total(up(mesh.top * mesh.reach**2)) + float(mesh.convex.max()) ** 2)))
