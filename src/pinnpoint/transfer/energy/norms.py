"""Norms of functions that vanish on the Dirichlet part, per unit of energy: ‖v‖₂, ‖v‖₄ and ‖vΦ‖₂.

Let E = ‖v‖_a, g² = 1/min κ, so ‖∇v‖ ≤ g E. In two and three dimensions v vanishes on all of ∂Ω (extended by zero), or Ω
is a box.

- ‖v‖₂ ≤ C E: Friedrichs' constant of a bounding box, or 1/√(min c).
- 1D: v(x)² ≤ E² ∫κ⁻¹ from a fixed end to x; from both ends, E² ≥ v(x)²(1/l + 1/r) with l + r = ∫κ⁻¹, so
  |v|² ≤ E² ∫κ⁻¹/4. Without a fixed end, the mean on a cell is bounded by `anchors`. ‖v‖₄⁴ ≤ max v² ‖v‖₂².
- 2D: v² ≤ ∫|v ∂v| along every line parallel to an axis (half the integral of |∂(v²)|, from either side). Hence
  ∫v⁴ ≤ ∫ sup_x v² dy ∫ sup_y v² dx ≤ ‖v‖²‖v_x‖‖v_y‖ ≤ ½‖v‖₂²‖∇v‖₂².
- 3D: the same on planes z = const, where sup_z ∫v² dx dy ≤ ‖v‖‖v_z‖, gives ∫v⁴ ≤ ‖v‖‖v_x‖‖v_y‖‖v_z‖
  ≤ ‖v‖₂‖∇v‖₂³/(3√3).
- ‖vΦ‖₂ for a kernel Φ: max|v| ‖Φ‖₂ or ‖v‖₂ max|Φ| in 1D, ‖v‖₄‖Φ‖₄ in 2D. In 3D Φ ≤ 1/(4πκ₀|x − x₀|), and Hardy's
  inequality ∫v²/|x − x₀|² ≤ 4∫|∇v|² gives ‖vΦ‖₂ ≤ g E/(2πκ₀).

*A box* with sides l_i, of whose two faces across axis i both, one or none are Dirichlet: along each line
‖v_i‖² ≥ μ_i‖v‖² with μ_i = π²/l_i², π²/(4l_i²), 0, so C² = 1/(min κ Σμ_i + min c); and sup v² along it is at most
α_i∫v² + β_i∫|v v_i| with (α_i, β_i) = (0, 1), (0, 2), (1/l_i, 2). As above, ∫v⁴ ≤ ‖v‖² Π(α_i‖v‖ + β_i‖v_i‖) in 2D and
‖v‖ Π(α_i‖v‖ + β_i‖v_i‖) in 3D. Hardy's inequality loses its boundary condition: on a ray with t = r/R,
I² = ∫(1 − t)²v² dr = 2∫t(1 − t)v² − 2∫r(1 − t)²v v′ ≤ ½I² + 2Z² + 2IY, Z² = ∫v²r²/R², Y² = ∫v′²r², so I ≤ 4Y + 2Z, and
‖vΦ‖₂ ≤ (4‖∇v‖ + 2‖v‖/R)/(4πκ₀).

*Any domain whose Neumann facets lie across axes*: a line parallel to an axis leaves Ω through a Dirichlet facet, at
which v vanishes, or through a Neumann facet across that axis, and the same holds with (α_i, β_i) = (0, 1) where no such
facet is Neumann, (0, 2) where those that are look one way, and else (1/l_i, 2) with l_i the smallest distance from one
that looks back to one further on that looks forth: v² is at most the integrals over all segments of its line. Then C
comes from the first eigenvalue by `separation`.

For a ball average |Φ| is the difference of the potentials of two radial densities of mass one, each between zero and
that of the point, ψ: so |Φ| ≤ ψ, which is R/(2κ)(1 − ρ), −log(s)/(4πκ), (1/ρ − 1)/(4πκR).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.gluing import seams
from pinnpoint.rounding.arithmetic import down, sum_up, up
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.energy.anchors import DIRICHLET, NEUMANN
from pinnpoint.transfer.everywhere.l2 import second_constant
from pinnpoint.transfer.points.kernels import Kernel
from pinnpoint.transfer.points.potentials import FOURTH
from pinnpoint.transfer.spectrum.separation import first_eigenvalue

PI_DOWN = 3.141592653589793  # float64's value is below π
PI_UP = 3.1415926535897936
ROOM = 1e-3
"""Of 1 − γ/λ₁, that must be left."""


@dataclass(frozen=True)
class Norms:
    """Upper bounds of ‖v‖₂/E, ‖v‖₄/E, ‖∇v‖₂/E, and in one dimension of max|v|/E."""

    d: int
    second: float
    fourth: float
    gradient: float
    top: float = math.inf
    vanishing: bool = True
    """Whether v vanishes on all of ∂Ω."""
    fall: float = 0.0
    """γ, where the derivative of c u + g(u) is at least −γ."""

    @property
    def slope(self) -> float:
        """S = 1 − γC², rounded down: b(v, v) ≥ s E² for the form b of the linearised problem; 1 where γ = 0."""
        return (
            1.0 if self.fall == 0.0 else float(down(1.0 - up(self.fall * self.second**2, 4)))
        )  # indefinite.md, step 6b

    def falling(self, fall: float, model: Continuum) -> Norms:
        """The same for a reaction that may fall by γ, or a refusal where γ is not below the first eigenvalue."""
        if fall == 0.0:
            return self
        made = replace(self, fall=fall)
        if not made.slope > 0.5 and np.any(model.kind == DIRICHLET):
            least = max(0.0, float(model.reaction.min()))
            sharper = float(up(1.0 / down(math.sqrt(down(first_eigenvalue(model)[0] + least)))))
            made = replace(made, second=min(made.second, sharper))
        if not made.slope > ROOM:
            raise InputError(
                f"target: c + g′ may be as small as {-fall:.6g}, and must be above −λ₁, of which "
                f"{made.second**-2.0:.6g} is proved; there may be several solutions. Say target='discrete', or "
                "pass transfer="
            )
        return made

    @classmethod
    def of(cls, model: Continuum) -> Norms:
        """For the Dirichlet part of a problem."""
        gradient = float(up(1.0 / down(math.sqrt(float(model.kappa.min())))))
        second = model.anchors.friedrichs
        least = max(0.0, float(model.reaction.min()))
        if least > 0.0:
            second = min(second, float(up(1.0 / down(math.sqrt(least)))))
        if model.d == 1:
            return cls._interval(model, second, gradient)
        if not math.isfinite(model.anchors.friedrichs):
            return cls._box(model, gradient, least)
        if model.d == 2:
            fourth = up(0.5 * (second * gradient) ** 2, 8)  # continuous.md, step 10g
        else:
            fourth = up(second * gradient**3 / (3.0 * math.sqrt(3.0)), 16)  # continuous.md, step 10g
        return cls(model.d, second, float(up(math.sqrt(math.sqrt(fourth)))), gradient)

    @classmethod
    def _box(cls, model: Continuum, gradient: float, least: float) -> Norms:
        faces = faces_of(model)
        if faces is None:
            return cls._across(model, gradient, least)
        widths = model.points.max(axis=0) - model.points.min(axis=0)
        low, high = down(widths), up(widths)
        ends = np.where(faces == 2, 1.0, np.where(faces == 1, 0.25, 0.0))
        # continuous.md, step 10i
        friction = float(down(float(model.kappa.min()) * PI_DOWN**2 * np.sum(ends / high**2) + least, 32))
        second = float(up(1.0 / down(math.sqrt(friction)))) if friction > 0.0 else _by_paths(model)
        alpha, beta = np.where(faces == 0, 1.0 / low, 0.0), np.where(faces == 2, 1.0, 2.0)
        lines = float(np.prod(alpha * second + beta * gradient))  # continuous.md, step 10i
        fourth = float(up(second ** (4 - model.d) * lines, 32))
        return cls(model.d, second, float(up(math.sqrt(math.sqrt(fourth)))), gradient, vanishing=False)

    @classmethod
    def _across(cls, model: Continuum, gradient: float, least: float) -> Norms:
        alpha, beta = lines(model)
        first = first_eigenvalue(model)[0] if np.any(model.kind == DIRICHLET) else 0.0
        total = down(first + least)
        # indefinite.md, step 7b
        second = float(up(1.0 / down(math.sqrt(total)))) if total > 0.0 else _by_paths(model)
        product = float(np.prod(alpha * second + beta * gradient))  # indefinite.md, step 7a
        fourth = float(up(second ** (4 - model.d) * product, 32))
        return cls(model.d, second, float(up(math.sqrt(math.sqrt(fourth)))), gradient, vanishing=False)

    @classmethod
    def _interval(cls, model: Continuum, second: float, gradient: float) -> Norms:
        fixed = int(np.count_nonzero(model.kind == DIRICHLET))
        X = np.sort(model.points[model.topology.cells][:, :, 0], axis=1)
        whole = sum_up(up((X[:, 1] - X[:, 0]) / model.kappa))
        top = float(up(math.sqrt(whole / (4.0 if fixed == 2 else 1.0))))
        if not fixed:
            top = float(up(model.anchors.reach + model.anchors.step).max())
        length = sum_up(up(X[:, 1] - X[:, 0]))
        second = min(second, float(up(top * math.sqrt(length))))
        return cls(1, second, float(up(math.sqrt(top * second))), gradient, top)

    def weighted(self, kernel: Kernel) -> float:
        """Upper bound of ‖vΦ‖₂/E."""
        return self.below(kernel.radius, kernel.kappa, point=kernel.average_radius == 0.0)

    def below(self, R: float, kappa: float, *, point: bool = False, stretch: tuple[float, float] = (1.0, 1.0)) -> float:
        """The same for any kernel between zero and the potential of a point that vanishes at R.

        `point` for that of a point with the mollifier C(1 − s). For a potential of |L⁻¹y| `stretch` has upper bounds of
        ‖L‖ and of (det L)^¼.
        """
        if self.d == 3 and not self.vanishing:
            # continuous.md, step 10i; indefinite.md, step 10d
            free = 4.0 * stretch[0] * self.gradient + 2.0 * self.second / R
            return float(up(free / (4.0 * PI_DOWN * kappa), 8))
        if self.d == 3:
            # continuous.md, step 10h; indefinite.md, step 10d
            return float(up(stretch[0] * self.gradient / (2.0 * PI_DOWN * kappa), 8))
        if self.d == 2:  # ∫ over the ball is πR² ∫ ds
            mean = FOURTH if point else 24.0
            length = math.sqrt(math.sqrt(PI_UP * R * R * mean)) / (4.0 * PI_DOWN * kappa)
            # continuous.md, step 10h; indefinite.md, step 10d
            return float(up(self.fourth * length * stretch[1], 16))
        # ∫_0^1 (1 − ρ)⁶(3 + ρ)² dρ = 88/63 < 1.397, ∫_0^1 (1 − ρ)² dρ = 1/3
        largest, square = (3.0 / 16.0, 1.397 / 256.0) if point else (0.5, 1.0 / 12.0)
        one = self.top * R / kappa * math.sqrt(2.0 * R * square)
        return float(up(min(one, self.second * R / kappa * largest), 16))


def _by_paths(model: Continuum) -> float:
    """C of ‖v‖₂ ≤ C E by the paths of cells, which may end at Robin facets, or a refusal."""
    second = second_constant(model)  # indefinite.md, step 11b
    if not math.isfinite(second):
        raise InputError(
            "target: for a nonlinear reaction the continuous target needs a Dirichlet group, a reaction c > 0 or a "
            "Robin group with a coefficient > 0: otherwise nothing bounds the energy error. Or say target='discrete'"
        )
    return second


def faces_of(model: Continuum) -> Vector | None:
    """How many of the two faces across each axis are Dirichlet; None where the domain is not its bounding box.

    A connected domain in the box whose boundary lies in the box's boundary is the box. Sides of periodic pairs count as
    free ones, and belong to the boundary of what is cut open there.
    """
    outside = model.topology.facet_cells[:, 1] < 0
    P, kind = model.points[model.topology.facets[outside]], model.kind[outside]
    if model.gluing is not None:  # indefinite.md, step 11c
        cut = seams(model.points, model.gluing)
        P, kind = np.concatenate([P, cut]), np.concatenate([kind, np.full(len(cut), NEUMANN)])
    count, covered = np.zeros(model.d), np.zeros(len(P), dtype=bool)
    for axis in range(model.d):
        for end in (model.points[:, axis].min(), model.points[:, axis].max()):
            here = np.all(P[:, :, axis] == end, axis=1)
            covered |= here
            count[axis] += float(np.all(kind[here] == DIRICHLET))
    return count if bool(covered.all()) else None


def lines(model: Continuum) -> tuple[Vector, Vector]:
    """α_i and β_i for a domain whose Neumann facets lie across axes; others are refused."""
    T, d = model.topology, model.d
    if model.gluing is not None:  # indefinite.md, step 11c
        raise InputError(
            "periodic: beside a nonlinear reaction the continuous target is proved for periodic pairs of intervals, "
            "rectangles and boxes, and this domain is none of them. Say target='discrete'"
        )
    free = np.flatnonzero(model.kind == NEUMANN)
    P = model.points[T.facets[free]]
    flat = np.all(P == P[:, :1], axis=1)
    if not flat.any(axis=1).all():
        where = P[int(np.argmin(flat.any(axis=1)))].mean(axis=0)
        raise InputError(
            "target: for a nonlinear reaction in two or three dimensions the continuous target needs Dirichlet data on "
            f"every side that is not parallel to axes; the one at {where.tolist()} has none. Say target='discrete'"
        )
    middle = model.points[T.cells[T.facet_cells[free, 0]]].mean(axis=1)
    alpha, beta = np.zeros(d), np.ones(d)
    for i in range(d):
        at, forth = P[flat[:, i], 0, i], P[flat[:, i], 0, i] > middle[flat[:, i], i]
        if not at.size:
            continue
        beta[i] = 2.0
        starts, ends = np.unique(at[~forth]), np.unique(at[forth])
        if starts.size and ends.size:
            following = np.searchsorted(ends, starts, side="right")
            seen = following < len(ends)
            gaps = ends[following[seen]] - starts[seen]
            alpha[i] = float(up(1.0 / down(gaps.min()))) if gaps.size else 0.0  # indefinite.md, step 7a
    return alpha, beta
