"""Verified balls of a semilinear system: a box from an M-matrix comparison, and the energy norm.

With d = y − y* and e its finite-element function, R(y; d) = ∫ (g(u − e) − g(u) + g′(u)e)φ, for a cubic
∫ λ(3u e² − e³)φ, and (J(v) − J(w))x = ∫ (g′(v) − g′(w)) x φ. Both are bounded by sums over cells of the system's `bend`
and `slope` with |e| at the vertices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Matrix, Vector
from pinnpoint.base.errors import CertificationError
from pinnpoint.certifiers.nonlinear.basepoint import BasePoint, VerifiedBall
from pinnpoint.certifiers.nonlinear.kantorovich import radius, refusal
from pinnpoint.rounding.arithmetic import TINY, at_most, dot_up, down, up
from pinnpoint.rounding.balls import Ball, exact
from pinnpoint.rounding.coercivity import verify_coercivity
from pinnpoint.rounding.forms import DiagonalForm, MatrixForm
from pinnpoint.rounding.matrices import EnclosedMatrix, product_up

NORMS = ("max", "energy")
FLOOR = 1e-6
"""Lumped masses below this multiple of the largest are raised to it."""


@dataclass(frozen=True, eq=False)
class Witness:
    """w > 0 with ⟨J⟩w ≥ v > 0, ⟨J⟩ the comparison matrix (diagonal, minus magnitudes elsewhere).

    Then ⟨J⟩ is an M-matrix and |J⁻¹| ≤ ⟨J⟩⁻¹ (Ostrowski), so |J⁻¹x| ≤ w max(|x|/v).
    """

    w: Vector
    v: Vector

    def solved(self, x: Vector) -> float:
        """max(|x|/v), rounded up: |J⁻¹x| is at most w times this."""
        return at_most(float(np.max(up(x / self.v))))  # proofs.md, step 6b


@dataclass(frozen=True, eq=False)
class Anchor:
    """What is proved about J(y): J ⪰ α diag(D), D the lumped |λ|-mass, and a witness where there is one."""

    base: BasePoint
    D: Vector
    alpha: float
    witness: Witness | None
    how: str

    @property
    def claim(self) -> str:
        """In words."""
        return f"J(y) is at least {self.alpha:.6e} times the lumped mass of the reaction ({self.how})"

    def form(self) -> MatrixForm:
        """Norms of J(y) and of its inverse."""
        core, solver = self.base.core, self.base.solver
        return core.energy_form(self.alpha, DiagonalForm(self.D), solver.solve)


def anchor(base: BasePoint) -> Anchor:
    """Prove J(y) positive definite; raises where it is not."""
    system = base.system
    lump = system.gather(np.ones(len(system.cells)))
    D = np.maximum(lump, FLOOR * float(lump.max())) if float(lump.max()) > 1e-200 else np.ones(system.n)
    slope = system.slope(base.y, 0.05 * float(np.max(np.abs(base.y))))
    witness = find_witness(base, system.gather(slope + 1e-3 * float(slope.max())) if float(slope.max()) > 1e-200 else D)
    if witness is not None:
        alpha = float(np.min(down(witness.v / (D * witness.w), 8)))
        if alpha > 0.0:
            return Anchor(base, D, alpha, witness, "M-matrix comparison")
    E = base.J_error
    error = None if E is None else (lambda v: product_up(E, v))
    try:
        bound = verify_coercivity(base.J, D, method="shift", error=error)
    except CertificationError as problem:
        raise CertificationError(
            f"J(y) was not verified to be positive definite at the base point, so no root is verified near it: a fold "
            f"or a saddle may be close ({problem})"
        ) from problem
    return Anchor(base, D, bound.alpha, None, bound.how)


def find_witness(base: BasePoint, rhs: Vector) -> Witness | None:
    """Look for w with ⟨J⟩w ≈ rhs by a few corrections with J's own factorization."""
    J, E = sp.csr_array(base.J), base.J_error
    rows = np.repeat(np.arange(J.shape[0]), np.diff(J.indptr))
    on = rows == J.indices
    wide = np.zeros(J.nnz) if E is None else _aligned(J, E)
    data = np.where(on, down(J.data - wide), -up(np.abs(J.data) + wide))
    if not (float(data[on].min(initial=1.0)) > 0.0 and np.all(np.isfinite(rhs))):  # g may be undefined near the state
        return None
    C = sp.csr_array((data, J.indices, J.indptr), shape=J.shape)
    rhs = rhs + 1e-12 * float(rhs.max()) + TINY
    with np.errstate(all="ignore"):
        w = np.asarray(base.solver.solve(rhs))
        for _ in range(12):
            r = rhs - C @ w
            off = float(np.max(np.abs(r) / rhs))
            if not math.isfinite(off) or off < 0.01:
                break
            w = w + np.asarray(base.solver.solve(r))
    if not (np.all(np.isfinite(w)) and float(w.min()) > 0.0):
        return None
    low, err = EnclosedMatrix(C).affine(exact(w)).rounded()
    v = np.asarray(down(low - err, 8))
    return Witness(w, v) if float(v.min()) > 0.0 else None


def _aligned(J: Matrix, E: Matrix) -> Vector:
    """E's entries in the order of J's; both come from one pattern, unless a caller's does not."""
    if np.array_equal(J.indptr, E.indptr) and np.array_equal(J.indices, E.indices):
        return np.asarray(E.data)
    raise CertificationError("J_error: must have the pattern of J")


@dataclass(frozen=True, eq=False)
class Box:
    """|y − y*| ≤ tau componentwise, with |R| ≤ bent."""

    radius: float
    tau: Vector
    bent: Vector
    claim: str
    details: dict[str, float]
    name: str = "max"
    status: str = "verified"

    def remainder(self, g: Ball) -> float:
        """|g|ᵀ bent."""
        return at_most(dot_up(g.magnitude(), self.bent))

    def reach(self, s: Ball) -> float:
        """|s|ᵀ tau."""
        return at_most(dot_up(s.magnitude(), self.tau))


def box(at: Anchor) -> Box:
    """Newton–Kantorovich in the maximum norm, then the box sharpened componentwise.

    η = max(|d̃| + w max(|J d̃ − F|/v)); on the ball of radius R, |((J(a) − J(b))x)_i| ≤ slope_i(R) ‖a − b‖ ‖x‖, so
    L = max(w) max(slope/v). Within the ball found, |d| ≤ |d̃| + w (max(|J d̃ − F|/v) + max(|R|/v)).
    """
    base, system, W = at.base, at.base.system, at.witness
    if W is None:
        raise CertificationError("J(y) has no M-matrix comparison, which the maximum norm needs")
    rest = W.solved(base.core.reduced.affine(exact(base.step), base.F).magnitude())
    start = np.asarray(up(np.abs(base.step) + W.w * rest, 8))  # proofs.md, step 6b
    eta = float(start.max())
    slope = system.gather(system.slope(base.y, 2.0 * eta))
    lipschitz = at_most(float(up(float(W.w.max()) * W.solved(slope))))  # proofs.md, step 6b
    t = radius(eta, lipschitz, "maximum")
    tau = np.full(system.n, t)
    bent = tau
    for _ in range(3):
        reach = system.cell_top(tau)
        bent = system.gather(np.asarray(up(system.bend(base.y, reach) * reach * reach)))
        tau = np.minimum(tau, up(start + W.w * W.solved(bent), 8))  # proofs.md, step 6b
    reach = system.cell_top(tau)
    bent = np.minimum(bent, system.gather(np.asarray(up(system.bend(base.y, reach) * reach * reach))))
    t = float(tau.max())
    claim = (
        f"a unique root lies within {t:.6e} of the base point in the maximum norm (Newton–Kantorovich: η = {eta:.3e}, "
        f"L = {lipschitz:.3e}, 2Lη = {2.0 * lipschitz * eta:.3e} < 1)"
    )
    return Box(t, tau, bent, claim, {"eta": eta, "lipschitz": lipschitz, "radius": t})


@dataclass(frozen=True, eq=False)
class EnergyBall:
    """‖y − y*‖_J ≤ radius, ‖R‖_{J⁻¹} ≤ rest; `curve` is the system's bend on each cell within that reach."""

    at: Anchor
    form: MatrixForm
    radius: float
    curve: Vector
    rest: float
    claim: str
    details: dict[str, float]
    name: str = "energy"
    status: str = "verified"

    def remainder(self, g: Ball) -> float:
        """∫ bend e² |g| ≤ max over cells of bend·|g| times Σ D_i d_i² ≤ t²/α; and |gᵀR| ≤ ‖g‖_J ‖R‖_{J⁻¹}."""
        system = self.at.base.system
        with np.errstate(invalid="ignore"):
            worst = self.curve * system.cell_top(g.magnitude())
        # proofs.md, step 6c
        local = at_most(float(up(float(worst.max()) * self.radius * self.radius / self.at.alpha, 8)))
        return min(local, at_most(float(up(self.form.norm(g) * self.rest))))

    def reach(self, s: Ball) -> float:
        """‖s‖_{J⁻¹} t."""
        return at_most(float(up(self.form.cheap_dual(s) * self.radius)))


def energy(at: Anchor, *, monotone: bool = True) -> EnergyBall:
    """The ball in the norm of J(y): Newton–Kantorovich, and for λ ≥ 0 strong monotonicity, which needs no condition.

    `monotone=False` leaves the second one out, which costs a factorization of A.

    Monotone: (F(y) − F(y*))ᵀd ≥ dᵀ(A + ¼M)d with M = 3λ∫u²φφ, since a² + ab + b² ≥ ¾a². With J = A + M, M ⪯ μJ and A
    positive definite this is at least (1 − ¾μ)‖d‖_J², so ‖d‖_J ≤ ‖F‖_{J⁻¹}/(1 − ¾μ); μ ≤ 1, and μ ≤ 3 max u²/α. In both
    cases Jd = F + R sharpens: ‖d‖_J ≤ ‖F‖_{J⁻¹} + ‖R‖_{J⁻¹}.
    """
    base, system = at.base, at.base.system
    form = at.form()
    eta = form.dual(base.F)  # proofs.md, step 6c
    high = at_most(float(up(1.0 / down(math.sqrt(float(down(at.alpha * float(at.D.min()), 8)))), 8)))

    def rest(t: float) -> float:
        return float(up(high * t * float(system.bend(base.y, float(up(high * t))).max()) * t / at.alpha, 16))

    lipschitz = at_most(float(up(high * float(system.slope(base.y, float(up(2.0 * high * eta))).max()) / at.alpha, 8)))
    details = {"eta": eta, "lipschitz": lipschitz}
    try:
        t = radius(eta, lipschitz, "energy")  # proofs.md, step 6c
        how = f"a unique root (Newton–Kantorovich: η = {eta:.3e}, L = {lipschitz:.3e})"
    except CertificationError:
        if not (monotone and system.monotone and semidefinite(base)):
            raise
        top = float(system.state_top(base.y).max())
        share = min(1.0, at_most(float(up(3.0 * top * top / at.alpha))))
        t = at_most(float(up(eta / float(down(1.0 - 0.75 * share)), 8)))  # proofs.md, step 6d
        how = "the only root (strong monotonicity)"
    for _ in range(8):
        t = min(t, at_most(float(up(eta + rest(t)))))  # proofs.md, step 6c
    claim = f"{how} lies within {t:.6e} of the base point in the energy norm of J(y)"
    curve = system.bend(base.y, float(up(high * t)))
    most = min(at_most(rest(t)), at_most(float(up(t + eta))))  # R = Jd − F
    return EnergyBall(at, form, t, curve, most, claim, details | {"radius": t})


def semidefinite(base: BasePoint) -> bool:
    """Whether the linear part is verified positive definite."""
    free = base.system.space.free
    try:
        verify_coercivity(sp.csr_array(base.system.A[free][:, free]), equilibrate=True)
    except CertificationError:
        return False
    return True


def reaction_balls(at: Anchor, norm: str, polish: int) -> list[VerifiedBall]:
    """Every ball that can be verified in the norms asked for; raises with the numbers where there is none."""
    found: list[VerifiedBall] = []
    tried: list[CertificationError] = []
    for name in NORMS:
        if norm in ("auto", name):
            try:
                found.append(box(at) if name == "max" else energy(at, monotone=not found))
            except CertificationError as problem:
                tried.append(problem)
    if not found:
        raise refusal(tried, polish)
    return found
