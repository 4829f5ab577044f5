"""The cut-off backward heat kernel Ψ = χ(ρ) ϑ(s/S) G and the density ω that it turns a point value into.

With s = T − t, r = |x − x₀|, ρ = r²/R², κ and c constant in B_R(x₀) and
G = (4πκ(s + s₀))^{−d/2} e^{−r²/4κ(s + s₀) − cs},

    ∫ u(T) Ψ(·, s = 0) = ∫∫ ω u + ∫∫ f Ψ + ∫ u(0) Ψ(·, s = T),

    ω = G { −χϑ′/S + ϑ/R² [ −2r²χ′/(s + s₀) + κ(4ρχ″ + 2dχ′) ] },

the left-hand side being u(x₀, T) for s₀ = 0. χ = 1 − I_ρ(p + 1, q + 1) and ϑ likewise are polynomials: with m = 1 − ρ

    χ = m^{q+1} Σ_{j≤p} C(q + j, j) ρ^j,   χ′ = −ρ^p m^q / B,   χ″ = (q ρ^p m^{q−1} − p ρ^{p−1} m^q) / B,

so ω = m^{q−1} H and Ψ = m^{q+1} H′ with smooth H, H′, of which Taylor models in (ρ, s) are made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import UNIT, up
from pinnpoint.taylor import functions
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.transfer.heat_kernel.carried import Carried

PI = constant(math.pi, UNIT * 4.0)


@dataclass(frozen=True, eq=False)
class HeatKernel:
    """The kernel of one query.

    Attributes
    ----------
    center
        x₀, taken as exact.
    radius
        R; the ball lies in Ω, where κ and c are constant.
    span
        S ≥ the longest s with ϑ ≠ 0; infinite where there is no cut-off in time.
    spread
        s₀ ≥ 0: zero for a point, else the query is the average of u(T) with the weight χ G(·, s₀).
    powers, time_powers
        (p, q) and (p_t, q_t), q ≥ 2.
    """

    center: Vector
    kappa: float
    reaction: float
    radius: float
    span: float
    spread: float = 0.0
    powers: tuple[int, int] = (2, 3)
    time_powers: tuple[int, int] = (1, 1)
    blur: float = 0.0
    """Upper bound of the error of `reaction`."""
    carried: Carried | None = None
    """Convection, and a reaction that varies, in the ball; then `reaction` is c′."""
    swerve: tuple[float, float] = (0.0, 0.0)
    """Upper bounds of |g₁| and |b(x) − b(x₀)|/|x − x₀|."""

    @property
    def d(self) -> int:
        """Space dimension."""
        return len(self.center)

    @property
    def square(self) -> TaylorModel:
        """R², with its rounding."""
        R2 = self.radius * self.radius
        return constant(R2, UNIT * R2 * 2.0)

    def radial(self, rho: TaylorModel) -> tuple[TaylorModel, ...]:
        """What of H and H′ depends on ρ alone: the factors of ϑ′, ϑ/s and ϑ in H/G, and of ϑ in H′/G."""
        p, q = self.powers
        k, B = constant(self.kappa), constant(float(inverse_beta(p, q)))
        m, chi = constant(1.0) - rho, _sum(rho, p, q)
        lower = rho ** (p - 1)
        power = lower * rho
        # slabs.md, step 4a
        turned = constant(2.0) * rho * power * m * B
        bent = constant(4.0) * rho * (constant(float(q)) * power - constant(float(p)) * lower * m)
        bent = bent - constant(2.0 * self.d) * power * m
        return m * m * chi, turned, bent * (k * B / self.square), chi

    def passing(self, s: TaylorModel) -> tuple[TaylorModel, ...]:
        """What depends on s alone: R²/4κ(s + s₀), cs, and −ϑ′/S, ϑ/(s + s₀) and ϑ times G's scale."""
        wide = constant(4.0) * constant(self.kappa) * (s + constant(self.spread))
        over = constant(1.0) / wide
        flat = over / PI
        root = functions.sqrt(flat) if self.d % 2 else None
        scale = flat if self.d > 1 else root
        if self.d == 3:
            scale = flat * root  # type: ignore[operator]
        assert scale is not None
        theta, slope = self.fade(s)
        scaled = theta * scale
        late = over * constant(4.0) * constant(self.kappa)
        return over * self.square, constant(self.reaction, self.blur) * s, slope * scale, scaled * late, scaled

    def slope(self, rho: TaylorModel) -> tuple[TaylorModel, TaylorModel]:
        """What of m^{−q} ∂_ρΦ/G depends on ρ alone: the factors of ϑ and of ϑR²/4κ(s + s₀)."""
        p, q = self.powers
        m = constant(1.0) - rho
        return -(rho**p * constant(float(inverse_beta(p, q)))), -(m * _sum(rho, p, q))  # slabs.md, step 7d

    def fade(self, s: TaylorModel) -> tuple[TaylorModel, TaylorModel]:
        """ϑ(s/S) and −ϑ′(s/S)/S."""
        if not math.isfinite(self.span):
            return constant(1.0), constant(0.0)
        p, q = self.time_powers
        y = s / constant(self.span)
        left = constant(1.0) - y
        theta = left ** (q + 1) * _sum(y, p, q)
        slope = y**p * left**q * constant(float(inverse_beta(p, q))) / constant(self.span)
        return theta, slope  # slabs.md, step 4a

    def smooth(self, rho: TaylorModel, s: TaylorModel) -> tuple[TaylorModel, TaylorModel]:
        """H and H′: ω = m^{q−1} H, Ψ = m^{q+1} H′."""
        one, two, three, chi = self.radial(rho)
        rate, lost, slope, late, theta = self.passing(s)
        E = functions.exp(-(rho * rate) - lost)  # slabs.md, step 4a
        return E * (one * slope + two * late + three * theta), E * (chi * theta)

    def early(self, s: float) -> tuple[float, float]:
        """Upper bounds of ∫₀^s ‖ω‖_{L¹} and ∫₀^s ‖ω‖_{L²}, of a point (s₀ = 0).

        |ω| ≤ (4πκs)^{−d/2} e^{−y/2} { (s/S)^{p_t}/(S B_t) + (4κs/R²)^p κ/(R²B) M }, y = r²/4κs, with
        M = sup_y e^{−y/2}[8y^{p+1} + (4p + 4q + 2d)y^p]; the Gaussian integrates to 2^{d/2} in L¹, and to
        (4πκs)^{−d/4} in L².
        """
        p, q = self.powers
        a, b = self.time_powers
        d, k, R = self.d, self.kappa, self.radius
        highest = 8.0 * _peak(p + 1) + (4.0 * p + 4.0 * q + 2.0 * d) * _peak(p)
        second = (4.0 * k / R**2) ** p * k / R**2 * inverse_beta(p, q) * highest
        first = inverse_beta(a, b) / self.span ** (a + 1) if math.isfinite(self.span) else 0.0
        one = two = 0.0
        wide, tall, parts = 2.0 ** (d / 2), 1.0, [(first, a), (second, p)]
        if self.carried is not None:  # slabs.md, step 7f
            grown = math.exp(min(700.0, 4.0 * k * s * self.carried.steep**2))
            wide, tall = 2.0**d * grown, 2.0 ** (d / 4) * grown
            far = (4.0 * k * s / R**2) ** (p + 1) * inverse_beta(p, q) * _peak(p + 1)
            parts.append((self.swerve[0] + 2.0 * self.swerve[1] * (_peak(1) + far), 0))
        for factor, power in parts:
            one += wide * factor * s ** (power + 1) / (power + 1)
            rest = power + 1 - d / 4
            two += tall * factor * (4.0 * math.pi * k) ** (-d / 4) * s**rest / rest
        return float(up(one * (1.0 + 1e-12))), float(up(two * (1.0 + 1e-12)))  # slabs.md, step 4d

    def tops(self, s: Vector) -> tuple[Vector, Vector, Vector]:
        """Upper bounds of |ω|/e^{−z}, Φ/e^{−z} and |∂_ρΦ|/e^{−z}, z = r²/4κ(s + s₀), for all later s."""
        p, q = self.powers
        late = s + self.spread
        scale = (4.0 * math.pi * self.kappa * late) ** (-self.d / 2)
        fade = inverse_beta(*self.time_powers) / self.span if math.isfinite(self.span) else 0.0
        turned = 2.0 / late + self.kappa * (4.0 * (p + q) + 2.0 * self.d) / self.radius**2
        slope = inverse_beta(p, q) + self.radius**2 / (4.0 * self.kappa * late)
        found = scale * (fade + inverse_beta(p, q) * turned), scale, scale * slope
        return tuple(np.asarray(up(x, 64)) for x in found)  # type: ignore[return-value]

    def lost(self, s: float) -> float:
        """Upper bound of 1 − (∫₀^s ∫ Ψ)/s, of a point."""
        p, q = self.powers
        a, b = self.time_powers
        d = self.d
        # ∫(1 − χ)G ≤ inverse_beta/(p + 1) ∫ρ^{p+1}G, and the moments of a Gaussian
        moment = math.prod(0.5 * d + i for i in range(p + 1))
        cut = inverse_beta(p, q) / (p + 1) * (4.0 * self.kappa * s / self.radius**2) ** (p + 1) * moment
        fade = inverse_beta(a, b) / (a + 1) * (s / self.span) ** (a + 1) if math.isfinite(self.span) else 0.0
        return float(up(cut + fade + (self.reaction + self.blur) * s) * (1.0 + 1e-12))  # slabs.md, step 4e


def _peak(n: int) -> float:
    """Upper bound of sup y^n e^{−y/2} = (2n/e)^n."""
    return (2.0 * n / math.e) ** n * (1.0 + 1e-12) if n else 1.0


def inverse_beta(p: int, q: int) -> int:
    """1/B(p + 1, q + 1) = (p + q + 1)!/(p! q!)."""
    return math.factorial(p + q + 1) // (math.factorial(p) * math.factorial(q))


def _sum(x: TaylorModel, p: int, q: int) -> TaylorModel:
    """Σ_{j≤p} C(q + j, j) x^j, by Horner's rule."""
    total = constant(float(math.comb(q + p, p)))
    for j in range(p - 1, -1, -1):
        total = total * x + constant(float(math.comb(q + j, j)))
    return total
