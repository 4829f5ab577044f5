"""Break the proofs on purpose: drop or halve each ingredient, and see that a check notices.

Every check below holds as the package stands and is tight to less than a factor of two, so that it must fail when its
ingredient is dropped, and, but for the second-order rounding bounds, when it is halved.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.sparse as sp

import pinnpoint as pp
from pinnpoint.certificates import assembly
from pinnpoint.certificates.transfer import TransferBound
from pinnpoint.certifiers import base, core, green, localized, projectors, randomized
from pinnpoint.certifiers import exact as exact_module
from pinnpoint.rounding import balls, coercivity, forms, lanes, matrices, stability
from pinnpoint.solvers.direct import DENSE_UP_TO, MANY
from pinnpoint.transfer.declared import comparison
from tests.support import exactly

U_ROUND = 2.0**-53


class HalfSolver:
    """Returns half the solution, so that Green vectors keep a defect of a quarter."""

    name = "half"

    def __init__(self, A):
        self.A = np.atleast_2d(A)

    def solve(self, b):
        return 0.5 * np.linalg.solve(self.A, b)

    def solve_transposed(self, b):
        return 0.5 * np.linalg.solve(self.A.T, b)


A1 = np.array([[3.0]])
ONE = pp.Queries(np.array([[1.0]]))


def scalar(**options):
    return pp.LinearSystem(A1, np.array([6.0]), **options)  # the solution is 2


def sound(c, truth):
    assert np.all(np.abs(c.center - truth) <= c.radius), "the target is outside"


# Checks: each returns quietly or raises AssertionError.


def check_algebra():
    sound(pp.certify(scalar(), [5.0], ONE, pp.Exact(solver=HalfSolver(A1))), 2.0)


def check_correction():
    c = pp.certify(scalar(), [5.0], ONE)
    sound(c, 2.0)
    assert c.terms["correction"][0] >= 3.0 * (1 - 1e-12)


def check_rounding():
    """ℓᵀU* = 1 + 0.99 u: the float 1.0 is off by all of the rounding term."""
    b = np.array([1.0, 0.99 * U_ROUND])
    c = pp.certify(pp.LinearSystem(np.eye(2), b), b, pp.Queries(np.ones((1, 2))))
    truth = exactly.rational(b[0]) + exactly.rational(b[1])
    assert exactly.within(c.center[0], c.radius[0], truth)


def check_norm():
    sound(pp.certify(scalar(), [5.0], ONE, pp.Norm()), 2.0)


def check_norm_least_squares():
    system = pp.LinearSystem(np.array([[1.0], [1.0]]), np.array([1.0, 3.0]))
    sound(pp.certify(system, [7.0], ONE, pp.Norm()), 2.0)


def check_sigma():
    """σ̄ = ‖g̃‖ + δ_adj must reach σ = 1/3 from a Green vector that is a quarter short."""
    c = pp.certify(scalar(), [5.0], ONE, pp.Norm(solver=HalfSolver(A1)))
    assert c.sigma[0] >= 1.0 / 3.0
    sound(c, 2.0)


def check_sigma_of_many():
    """The same of Green vectors that come many at once: 1/a in single precision is 4.9e-8 of it short."""
    n, a = 2 * DENSE_UP_TO, 1699.0 / 1024.0
    queries = pp.Queries(sp.eye_array(n, format="csr")[: 2 * MANY])
    certifier = pp.Exact(storage="float32").prepare(pp.LinearSystem(a * sp.eye_array(n), np.zeros(n)), queries)
    sigma = certifier.certify(np.zeros(n)).sigma
    assert all(exactly.rational(s) * exactly.rational(a) >= 1 for s in sigma), "a sensitivity is too small"


@dataclass(frozen=True)
class Moved:
    """A transfer that moves the centre and knows no error."""

    shift: float

    def bound(self, context):
        return TransferBound(terms={"transfer": np.zeros(1)}, claims=(), shift=np.array([self.shift]))


def check_shift():
    """0.99 u, known to 1e-32, moved by 1, is the float 1.0: off by all that the shift's rounding allows."""
    value = 0.99 * U_ROUND
    c = pp.certify(pp.LinearSystem([[1.0]], [value]), [value], ONE, transfer=Moved(1.0))
    assert exactly.within(c.center[0], c.radius[0], 1 + exactly.rational(value))


def check_primal_allowance():
    sound(pp.certify(scalar(), [5.0], ONE, pp.Inexact("primal", primal_iterations=0)), 2.0)


def check_tail():
    system = pp.LinearSystem(np.eye(2), np.zeros(2))
    c = pp.certify(system, [1.0, 1.0], pp.Queries(np.ones((1, 2))), pp.Localized(projectors=np.array([True, False])))
    sound(c, 0.0)


def check_local():
    c = pp.certify(scalar(), [5.0], ONE, pp.Localized(projectors=np.array([True])))
    sound(c, 2.0)
    assert c.details["mixed"][0] >= 3.0


def check_projector_defect():
    """Π² ≠ Π by 1e-9: the split then misses 2gᵀ(Π² − Π)r."""
    P = np.array([[1.0 + 1e-9]])
    sound(pp.certify(scalar(), [5.0], ONE, pp.Localized(projectors=P)), 2.0)


def check_transfer():
    """The worst PDE value that T_h and ε_eval allow."""
    c = pp.certify(scalar(), [5.0], ONE, transfer=pp.Comparison(0.5, residual=1.5))
    sound(c, 2.0 + 1.5 / 3.0 + 0.5)


def check_bias():
    c = pp.certify(scalar(), [5.0], ONE, transfer=pp.Comparison(0.5, state=[3.0]))
    sound(c, 3.5)


def check_bias_of_a_rough_adjoint():
    """U_π = 1, u* = ½: every contribution points the same way, and gᵀτ is a quarter short."""
    c = pp.certify(scalar(), [5.0], ONE, pp.Exact(solver=HalfSolver(A1)), transfer=pp.Comparison(0.5, state=[1.0]))
    sound(c, 0.5)


def check_mismatch():
    """ρ_θ ≤ ζ + ρ_pred, with equality when the value lies between the centre and the raw output."""
    c = pp.certify(scalar(), [5.0], ONE, raw=[9.0])
    assert c.raw_radius[0] <= (c.terms["mismatch"][0] + c.value_radius[0]) * (1 + 1e-12)


def check_inflation():
    rng = np.random.default_rng(0)
    L = rng.normal(size=(4, 6))
    A = np.diag(np.arange(1.0, 7.0))
    sigma = np.linalg.norm(L / np.arange(1.0, 7.0), axis=1)
    system, queries = pp.LinearSystem(A, np.ones(6)), pp.Queries(L)
    good = sum(
        bool(np.all(pp.Randomized(probes=8, seed=s, rounding=False).prepare(system, queries).sigma >= sigma))
        for s in range(200)
    )
    assert good >= 180


def check_probe_defects():
    """Probes solved only by half still bound σ, because their defects are counted."""
    system = scalar()
    sigma = [pp.Randomized(probes=50, seed=s, solver=HalfSolver(A1)).prepare(system, ONE).sigma[0] for s in range(60)]
    assert sum(v >= 1 / 3 for v in sigma) >= 55


def check_matrix_error():
    system = pp.LinearSystem(A1, np.array([6.0]), A_error=np.array([[1e-6]]))
    c = pp.certify(system, [2.0], ONE)
    for a in (3.0 - 1e-6, 3.0 + 1e-6):
        sound(c, 6.0 / a)


def check_load_error():
    c = pp.certify(pp.LinearSystem(A1, np.array([6.0]), b_error=[1e-6]), [2.0], ONE)
    sound(c, (6.0 + 1e-6) / 3.0)


def check_query_error():
    c = pp.certify(scalar(), [2.0], pp.Queries(np.array([[1.0]]), error=np.array([[1e-6]])))
    sound(c, 2.0 * (1.0 + 1e-6))


def check_coercivity_data_error():
    bound = pp.verify_coercivity(np.diag([2.0, 4.0]), error=lambda v: 1.0 * v)
    assert bound.alpha <= 1.0


def check_coercivity_defect():
    """S = 2⁴⁶MMᵀ is singular and has no rounding error; about every third factorization in floats does not see it.

    The last pivot is rounding noise of either sign, on every machine, and the shift 2⁻⁶ is below the noise.
    """
    kept = coercivity.DENSE_UP_TO
    for dense_up_to in (0, kept):
        coercivity.DENSE_UP_TO = dense_up_to
        try:
            for seed in range(40):
                M = np.random.default_rng(seed).integers(-3, 4, (8, 7)).astype(float)
                with contextlib.suppress(pp.CertificationError):
                    alpha = pp.verify_coercivity(sp.csr_array(2.0**46 * (M @ M.T)), method="shift", shift=2.0**-6).alpha
                    raise AssertionError(f"a singular matrix is at least {alpha}")
        finally:
            coercivity.DENSE_UP_TO = kept


def check_energy_norm():
    """‖v‖_{W⁻¹} with a useless z, for the eigenvector where the cheap bound is attained."""
    form = forms.MatrixForm(matrices.EnclosedMatrix(np.diag([2.0, 5.0])), 2.0, forms.DiagonalForm())
    assert form.dual_with(balls.exact(np.array([1.0, 0.0])), np.zeros(2)) >= np.sqrt(0.5)


def check_z_part():
    """Two positive roundings of zero: λ_min is below that of the matrix without them."""
    delta = 5e-11
    assert pp.verify_coercivity([[1.0, delta], [delta, 1.0]], method="m-matrix").alpha <= 1.0 - delta


def check_norm_of_a_radius():
    form = stability.form_of(sp.csr_array(np.diag([2.0, 5.0])), "W")
    assert form.norm(balls.Ball(np.zeros(2), None, np.array([0.0, 1.0]))) >= np.sqrt(5.0)


def half_least_squares():
    """Everything is local, but the effective residual comes from half a correction."""
    system = pp.LinearSystem(np.array([[1.0], [1.0]]), np.array([1.0, 3.0]), row_points=[0.0, 0.0])
    method = pp.Localized(radius=1.0, solver=HalfSolver(np.array([[2.0]])))
    return method.prepare(system, pp.Queries([[1.0]], points=[0.0]))


def check_effective_rest():
    sound(half_least_squares().certify([7.0]), 2.0)


def check_sweep_rest():
    sweep = half_least_squares().sweep([7.0], [1.0])
    assert abs(sweep.center[0, 0] - 2.0) <= sweep.radius[0, 0]


def check_sweep_rounding():
    """The running sum 10¹⁶ + 1 − 10¹⁶ is 0 in floats; the target is 0 and the value 1."""
    system = pp.LinearSystem(np.eye(3), np.zeros(3), row_points=[0.0, 1.0, 2.0])
    certifier = pp.Localized(radius=1.0).prepare(system, pp.Queries(np.ones((1, 3)), points=[0.0]))
    sweep = certifier.sweep([1e16, 1.0, -1e16], [5.0])
    assert abs(sweep.center[0, 0]) <= sweep.radius[0, 0]


def within_lost_products(U_of):
    """A system whose solution is what four products lose, told by `certify` within its radius, from U = U_of(b).

    a² = p + 2⁻⁶⁰ and at = 2⁻⁵⁴p + 2⁻¹¹⁴ with p, a and t = 2⁻⁵⁴a floats, so the products a², at, at and −a² have the
    errors 2⁻⁶⁰, 2⁻¹¹⁴, 2⁻¹¹⁴ and −2⁻⁶⁰. Summed as floats in that order, backwards or two by two they give 0, not 2⁻¹¹³.
    The matrix is triangular with ones on its diagonal and nothing larger, so every solver's Green vector is exact.
    """
    a, p = 1.0 + 2.0**-30, 1.0 + 2.0**-29
    t = 2.0**-54 * a
    A = np.eye(5)
    A[0, 1:] = 0.5 * a
    b = np.array([2.0**-53 * p, 2.0 * a, 2.0 * t, 2.0 * t, -2.0 * a])
    truth = exactly.solve_rational(A, b)[0]
    assert truth == exactly.rational(-(2.0**-113))
    c = pp.certify(pp.LinearSystem(A, b), U_of(b), pp.Queries(np.eye(5)[:1]))
    assert exactly.within(c.center[0], c.radius[0], truth)


def check_second_order_rounding():
    """r = −b is exact: what gᵀr loses in double-double is covered by its error bound alone."""
    within_lost_products(np.zeros_like)


def check_second_order_product():
    """All rows but one are met exactly, so that only the residual's own second-order error is left."""
    within_lost_products(lambda b: np.where(np.arange(5) > 0, b, 0.0))


# Sabotages: each takes the monkeypatch and a factor, 0 (dropped) or ½ (halved).


def scale_outcome(name):
    """Scale one term of what a method proves, before the radius is summed."""

    def sabotage(patch, factor):
        original = base.AbstractCertifier._assemble

        def assemble(self, seen, out, raw, transfer):
            terms = {k: v * factor if k == name else v for k, v in out.terms.items()}
            return original(self, seen, replace(out, terms=terms), raw, transfer)

        patch.setattr(base.AbstractCertifier, "_assemble", assemble)

    return sabotage


def scale_transfer(name):
    def sabotage(patch, factor):
        original = comparison.Comparison.bound

        def bound(self, context):
            found = original(self, context)
            return replace(found, terms={k: v * factor if k == name else v for k, v in found.terms.items()})

        patch.setattr(comparison.Comparison, "bound", bound)

    return sabotage


def scale_reported(name):
    def sabotage(patch, factor):
        original = base.AbstractCertifier._assemble

        def assemble(self, seen, out, raw, transfer):
            c = original(self, seen, out, raw, transfer)
            return replace(c, terms={k: v * factor if k == name else v for k, v in c.terms.items()})

        patch.setattr(base.AbstractCertifier, "_assemble", assemble)

    return sabotage


def scale_rounding(patch, factor):
    original = balls.Ball.rounded
    patch.setattr(balls.Ball, "rounded", lambda self: (original(self)[0], original(self)[1] * factor))


def scale_pairing_of_green(patch, factor):
    original = green.GreenVectors.pair

    def pair(self, rho, *, enclose):
        found = original(self, rho, enclose=enclose)
        return balls.Ball(found.hi * factor, None if found.lo is None else found.lo * factor, found.err)

    patch.setattr(green.GreenVectors, "pair", pair)


def scale_delta(patch, factor):
    for cls in (stability.Coercive, stability.Normal, stability.InversePositive, stability.ApproximateInverse):
        original = cls.green_error
        patch.setattr(cls, "green_error", lambda self, s, form, _o=original: factor * _o(self, s, form))


def scale_shift_rounding(patch, factor):
    """Of the rounding that a shift makes, which is all that is added to it there."""
    patch.setattr(assembly, "UNIT", factor * U_ROUND)


def scale_local_pairing(patch, factor):
    original = localized.pairing
    patch.setattr(
        localized, "pairing", lambda a, b, *, enclose: tuple(factor * v for v in original(a, b, enclose=enclose))
    )


def scale_projector_defect(patch, factor):
    original = projectors.MatrixProjector.defect

    def defect(self, r_near):
        d = original(self, r_near)
        return balls.Ball(d.hi * factor, d.lo * factor, d.err * factor)

    patch.setattr(projectors.MatrixProjector, "defect", defect)


def scale_inflation(patch, factor):
    original = randomized.inflation
    patch.setattr(randomized, "inflation", lambda *a: factor * original(*a))


def scale_probe_defect(patch, factor):
    original = randomized._probe_defect

    def defect(core, psi, right):
        d = original(core, psi, right)
        return balls.Ball(d.hi * factor, d.lo * factor, d.err)

    patch.setattr(randomized, "_probe_defect", defect)


def scale_matrix_error(patch, factor):
    original = matrices.EnclosedMatrix.__init__

    def init(self, A, error=None, name="matrix"):
        original(self, A, None if error is None else sp.csr_array(error) * factor, name)

    patch.setattr(matrices.EnclosedMatrix, "__init__", init)


def scale_load_error(patch, factor):
    original = core.Core.load

    def load(self, b):
        found = original(self, b)
        return balls.Ball(found.hi, found.lo, found.err * factor)

    patch.setattr(core.Core, "load", load)


def scale_coercivity_error(patch, factor):
    original = coercivity.symmetric_part

    def part(A, error=None):
        return original(A, None if error is None else (lambda v: factor * error(v)))

    patch.setattr(coercivity, "symmetric_part", part)


def drop_coercivity_defect(patch, factor):
    for name in ("cholesky_defect", "lu_defect"):
        original = getattr(coercivity, name)
        patch.setattr(coercivity, name, lambda B, t, P=None, _o=original: 0.0 if np.isfinite(_o(B, t, P)) else np.inf)


def scale_cheap_dual(patch, factor):
    original = forms.MatrixForm.cheap_dual
    patch.setattr(forms.MatrixForm, "cheap_dual", lambda self, v: factor * original(self, v))


def scale_bias_error(patch, factor):
    original = exact_module.ExactCertifier._bias

    def bias(self, tau):
        value, error = original(self, tau)
        return value, factor * error

    patch.setattr(exact_module.ExactCertifier, "_bias", bias)


def scale_z_excess(patch, factor):
    original = coercivity.z_part
    patch.setattr(coercivity, "z_part", lambda S: (original(S)[0], factor * original(S)[1]))


def scale_norm_of_radius(patch, factor):
    original = forms.norm_up
    patch.setattr(forms, "norm_up", lambda x: factor * original(x))


def scale_effective_rest(patch, factor):
    original = localized.LocalizedCertifier._residual

    def residual(self, seen):
        r, rest = original(self, seen)
        return r, factor * rest

    patch.setattr(localized.LocalizedCertifier, "_residual", residual)


def drop_sweep_rounding(patch, factor):
    original = localized.LocalizedCertifier._running_sums

    def sums(self, *a):
        rows = original(self, *a)
        rows[3] = np.zeros_like(rows[3])
        return rows

    patch.setattr(localized.LocalizedCertifier, "_running_sums", sums)


def drop_product_error(patch, factor):
    original = lanes.product
    patch.setattr(lanes, "product", lambda *a: (*original(*a)[:2], np.zeros_like(original(*a)[2])))


def drop_dots_error(patch, factor):
    original = lanes.dots
    patch.setattr(lanes, "dots", lambda *a: (*original(*a)[:2], np.zeros_like(original(*a)[2])))


BOTH, DROPPED = (0.0, 0.5), (0.0,)
SABOTAGES = {
    "algebra": (scale_outcome("algebra"), check_algebra, BOTH),
    "algebra of a primal correction": (scale_outcome("algebra"), check_primal_allowance, BOTH),
    "signed correction": (scale_pairing_of_green, check_correction, BOTH),
    "reported correction": (scale_reported("correction"), check_correction, BOTH),
    "rounding": (scale_rounding, check_rounding, BOTH),
    "norm": (scale_outcome("norm"), check_norm, BOTH),
    "norm of the effective residual": (scale_outcome("norm"), check_norm_least_squares, BOTH),
    "adjoint allowance in sigma": (scale_delta, check_sigma, BOTH),
    "adjoint allowance in many sigmas": (scale_delta, check_sigma_of_many, BOTH),
    "rounding of a shift": (scale_shift_rounding, check_shift, BOTH),
    "tail": (scale_outcome("tail"), check_tail, BOTH),
    "local": (scale_local_pairing, check_local, BOTH),
    "projector defect": (scale_projector_defect, check_projector_defect, BOTH),
    "transfer": (scale_transfer("transfer"), check_transfer, BOTH),
    "evaluation": (scale_transfer("evaluation"), check_transfer, BOTH),
    "comparison bias": (scale_transfer("transfer"), check_bias, BOTH),
    "adjoint defect in the bias": (scale_bias_error, check_bias_of_a_rough_adjoint, BOTH),
    "mismatch": (scale_reported("mismatch"), check_mismatch, BOTH),
    "chi-square inflation": (scale_inflation, check_inflation, BOTH),
    "probe defects": (scale_probe_defect, check_probe_defects, BOTH),
    "matrix data error": (scale_matrix_error, check_matrix_error, BOTH),
    "load data error": (scale_load_error, check_load_error, BOTH),
    "query data error": (scale_matrix_error, check_query_error, BOTH),
    "data error in coercivity": (scale_coercivity_error, check_coercivity_data_error, BOTH),
    "energy norm of the defect": (scale_cheap_dual, check_energy_norm, BOTH),
    "positive roundings of zero": (scale_z_excess, check_z_part, BOTH),
    "weighted norm of a radius": (scale_norm_of_radius, check_norm_of_a_radius, BOTH),
    "rest of the effective residual": (scale_effective_rest, check_effective_rest, BOTH),
    "rest of the effective residual in a sweep": (scale_effective_rest, check_sweep_rest, BOTH),
    "rounding of a sweep": (drop_sweep_rounding, check_sweep_rounding, DROPPED),
    "factorization defect": (drop_coercivity_defect, check_coercivity_defect, DROPPED),
    "second-order error of products": (drop_product_error, check_second_order_product, DROPPED),
    "second-order error of dots": (drop_dots_error, check_second_order_rounding, DROPPED),
}


@pytest.mark.parametrize("name", SABOTAGES)
def test_check_holds_untouched(name):
    SABOTAGES[name][1]()


@pytest.mark.parametrize(("name", "factor"), [(n, f) for n, (_, _, fs) in SABOTAGES.items() for f in fs])
def test_sabotage_is_noticed(name, factor, monkeypatch):
    sabotage, check, _ = SABOTAGES[name]
    sabotage(monkeypatch, factor)
    with pytest.raises(AssertionError):
        check()
