"""Verified balls of a `NonlinearSystem` in its own norm, from JᵀWJ ⪰ αP and the declared Lipschitz constants."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Matrix, Vector
from pinnpoint.base.errors import CertificationError
from pinnpoint.certifiers.nonlinear.basepoint import BasePoint
from pinnpoint.certifiers.nonlinear.kantorovich import radius, refusal
from pinnpoint.rounding.arithmetic import TINY, UNIT, at_most, down, up
from pinnpoint.rounding.balls import Ball, exact
from pinnpoint.rounding.coercivity import verify_coercivity
from pinnpoint.rounding.matrices import product_up
from pinnpoint.systems.nonlinear import constant


@dataclass(frozen=True, eq=False)
class NormBall:
    """‖y − y*‖_X ≤ radius for a zero of F, and ‖J(u) − J(v)‖_{X→W} ≤ L ‖u − v‖_X there; or of S, and K from X to X*."""

    radius: float
    lipschitz: float
    X: Any
    length: Callable[[Ball], float]
    """‖·‖_{W⁻¹} of Green vectors for J, ‖·‖_X for K."""
    claim: str
    details: dict[str, float]
    status: str = "declared"
    name: str = "own"

    def remainder(self, g: Ball) -> float:
        """‖g‖ L t²/2 (paper, eq. root_remainder_lipschitz_bound)."""
        # proofs.md, step 6e; paper, eq. 6.12
        return at_most(float(up(self.length(g) * self.lipschitz * self.radius * self.radius * 0.5, 8)))

    def reach(self, s: Ball) -> float:
        """‖s‖_{X*} t."""
        return at_most(float(up(self.X.dual(s) * self.radius)))


def newton_ball(base: BasePoint, polish: int) -> NormBall:
    """η = ‖d̃‖_X + ‖F − Jd̃‖_W/√α and L^B = L/√α, since ‖J⁻¹r‖_X ≤ ‖J⁻¹r‖_P ≤ ‖r‖_W/√α."""
    core, system = base.core, base.system
    if not core.system.is_square:
        raise CertificationError(
            f"{core.system.M} equations for {core.system.n} unknowns: full column rank does not certify a root; verify "
            "one elsewhere and declare its distance, Root(ball=t), or certify the stationary point, Stationary()"
        )
    H, error = core.normal_matrix
    bound = verify_coercivity(H, system.X.P, error=error)
    floor = float(down(math.sqrt(bound.alpha)))
    rest = core.form.norm(core.reduced.affine(exact(base.step), base.F))
    eta = at_most(float(up(system.X.norm(exact(base.step)) + up(rest / floor))))  # proofs.md, step 6e
    L = constant(system.lipschitz, "lipschitz", base.y, float(up(2.0 * eta)))
    ratio = float(up(L / floor))  # proofs.md, step 6e; paper, eq. B.30
    t = _within(eta, ratio, polish)
    claim = (
        f"a unique root lies within {t:.6e} of the base point in the system's norm (Newton–Kantorovich: η = {eta:.3e}, "
        f"L = {ratio:.3e}, 2Lη = {2.0 * ratio * eta:.3e} < 1), for the declared Lipschitz constant {L:.6e} of J"
    )
    return NormBall(t, L, system.X, core.form.dual, claim, {"eta": eta, "lipschitz": ratio, "radius": t})


def _within(eta: float, ratio: float, polish: int) -> float:
    """The radius in the system's norm, or a refusal that says what would help."""
    try:
        return radius(eta, ratio, "system's")
    except CertificationError as problem:
        raise refusal([problem], polish) from problem


def declared_ball(base: BasePoint, t: float) -> NormBall:
    """A zero that the caller has verified elsewhere."""
    L = constant(base.system.lipschitz, "lipschitz", base.y, t)
    claim = f"a zero of F lies within {t:.6e} of the base point, where J has the Lipschitz constant {L:.6e}"
    return NormBall(t, L, base.system.X, base.core.form.dual, claim, {"lipschitz": L, "radius": t})


def stationary_ball(
    base: BasePoint, K: Matrix, G: tuple[Any, Any], S: Ball, defect: Any, solve: Any, polish: int
) -> NormBall:
    """Newton–Kantorovich for S with K ⪰ αP: ‖K⁻¹x‖_X ≤ ‖x‖_{X*}/α. L t/α < 1, so K stays positive definite."""
    system = base.system
    forming = base.core.normal_matrix[1]
    size, wide = sp.csr_array(abs(G[0])), G[1]

    def error(v: Vector) -> Vector:
        own = 4.0 * UNIT * (product_up(size, v) + product_up(sp.csr_array(abs(K)), v)) + TINY * float(np.sum(v))
        return np.asarray(up(forming(v) + own + (0.0 if wide is None else product_up(wide, v)), 8))

    try:
        bound = verify_coercivity(K, system.X.P, error=error)
    except CertificationError as problem:
        raise CertificationError(
            f"K = D(JᵀWF) was not verified to be positive definite at the base point ({problem}): no stationary point "
            "is verified; take Newton steps first, or start from a better prediction"
        ) from problem
    step = np.asarray(solve(S.hi))
    eta = at_most(float(up(system.X.norm(exact(step)) + up(system.X.dual(defect(exact(step), S)) / bound.alpha))))
    L = constant(system.second_lipschitz, "second_lipschitz", base.y, float(up(2.0 * eta)))
    ratio = float(up(L / bound.alpha))  # proofs.md, step 6j
    t = _within(eta, ratio, polish)
    claim = (
        f"a unique stationary point lies within {t:.6e} of the base point, and it is a strict local minimizer of "
        f"½‖F‖²_W: K is positive definite on this ball (η = {eta:.3e}, L = {ratio:.3e}, "
        f"2Lη = {2.0 * ratio * eta:.3e} < 1, for the declared Lipschitz constant {L:.6e} of K)"
    )
    details = {"eta": eta, "lipschitz": ratio, "radius": t}
    return NormBall(t, L, system.X, system.X.norm, claim, details, name="stationary")
