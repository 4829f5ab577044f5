"""Systems given by functions: closed-form roots, stationary points, declared zeros, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from flint import arb, ctx

import pinnpoint as pp
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.certifiers.nonlinear import basepoint, norm_balls, stationary

QUERIES = pp.Queries([[1.0, 0.0], [0.3, -2.0]])


def circle(**options):
    """x² + y² = 1, x = y: the root is (√½, √½)."""
    return pp.NonlinearSystem(
        lambda v: [v[0] ** 2 + v[1] ** 2 - 1.0, v[0] - v[1]],
        lambda v: np.array([[2 * v[0], 2 * v[1]], [1.0, -1.0]]),
        2,
        second=lambda v, z: 2.0 * z[0] * np.eye(2),
        **{"lipschitz": 2.0, "F_error": 1e-15, "J_error": 4e-16} | options,
    )


def fitted(c: float, **options):
    """The same with x + y = c on top: stationary at x = y = (c/4)^⅓."""
    return pp.NonlinearSystem(
        lambda v: [v[0] ** 2 + v[1] ** 2 - 1.0, v[0] - v[1], v[0] + v[1] - c],
        lambda v: np.array([[2 * v[0], 2 * v[1]], [1.0, -1.0], [1.0, 1.0]]),
        2,
        second=lambda v, z: 2.0 * z[0] * np.eye(2),
        lipschitz=2.0,
        second_lipschitz=lambda y, R: 12.0 * (float(np.linalg.norm(y)) + R) * 1.001,
        **{"F_error": 1e-15, "J_error": 4e-16} | options,
    )


def holds(c, s) -> bool:
    ctx.prec = 200
    truths = [s, arb(0.3) * s - 2 * s]
    return all(arb(float(a)) <= t <= arb(float(b)) for a, b, t in zip(c.lower, c.upper, truths, strict=True))


NORMS = {
    "euclidean": {},
    "max": {"norm": "max", "lipschitz": 4.0},
    "scaled max": {"norm": "max", "scale": [0.5, 2.0], "lipschitz": 8.5},
    "energy": {"norm": np.array([[2.0, 0.5], [0.5, 3.0]]), "lipschitz": 1.2},
    "weighted": {"weight": [4.0, 0.25], "lipschitz": 4.0},
}


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("method", [pp.Root(), pp.Root(correct=False), pp.Stationary(), pp.Root(polish=2)])
def test_closed_form_root(name, method):
    ctx.prec = 200
    root = (arb(1) / 2).sqrt()
    rng = np.random.default_rng(3)
    system = circle(**NORMS[name])
    for size in (0.01, 1e-3, 1e-6, 0.0):
        U = float(root) + size * rng.uniform(-1.0, 1.0, 2)
        c = pp.certify(system, U, QUERIES, method)
        assert holds(c, root), (name, size)
        assert c.rounding == "covered"
        assert {"declared"} <= {a.status for a in c.assumptions}
    assert float(c.radius.max()) < 1e-13


def test_norm_only_is_linear_and_corrected_quadratic():
    for method, order in ((pp.Root(), 2.0), (pp.Root(correct=False), 1.0)):
        radii = [pp.certify(circle(), [0.7071 + e, 0.7071], QUERIES, method).radius for e in (1e-2, 1e-3)]
        assert np.all(np.abs(np.log10(radii[0] / radii[1]) - order) < 0.2)


def test_stationary_point_of_an_overdetermined_system():
    ctx.prec = 200
    c = 1.5
    s = (arb(c) / 4).root(3)
    for size in (1e-3, 1e-5, 0.0):
        found = pp.certify(fitted(c), [float(s) + size, float(s) - 0.5 * size], QUERIES, pp.Stationary())
        assert holds(found, s)
        assert any("strict local minimizer" in a.claim for a in found.assumptions)
        assert not any("global" in a.claim for a in found.assumptions)
    assert float(found.radius.max()) < 1e-13
    with pytest.raises(CertificationError, match=r"2Lη = .* ≥ 1"):
        pp.certify(fitted(c), [1.1, 0.4], QUERIES, pp.Stationary())


def test_second_derivative_matters():
    """Without the second-derivative term K is wrong where F does not vanish, and the interval misses."""
    ctx.prec = 200
    s = (arb("1.5") / 4).root(3)
    honest = fitted(1.5)
    wrong = pp.NonlinearSystem(
        honest.F, honest.J, 2, second=lambda v, z: np.zeros((2, 2)), second_lipschitz=1e-3, F_error=1e-15, J_error=4e-16
    )
    U = [float(s) + 1e-3, float(s) - 1e-3]
    assert holds(pp.certify(honest, U, QUERIES, pp.Stationary()), s)
    assert not holds(pp.certify(wrong, U, QUERIES, pp.Stationary()), s)


def test_declared_zero_of_an_overdetermined_system():
    system = pp.NonlinearSystem(
        lambda v: [v[0] ** 2 + v[1] ** 2 - 2.0, v[0] - v[1], v[0] + v[1] - 2.0],
        lambda v: np.array([[2 * v[0], 2 * v[1]], [1.0, -1.0], [1.0, 1.0]]),
        2,
        lipschitz=2.0,
        F_error=1e-15,
        J_error=4e-16,
    )
    U = [1.0 + 1e-3, 1.0 - 5e-4]
    with pytest.raises(CertificationError, match="full column rank does not certify a root"):
        pp.certify(system, U, QUERIES, pp.Root())
    c = pp.certify(system, U, QUERIES, pp.Root(ball=2e-3))
    assert np.all(c.contains([1.0, -1.7]))
    assert any("a zero of F lies within" in a.claim and a.status == "declared" for a in c.assumptions)


def test_a_falsified_constant_is_caught():
    """A Lipschitz constant a thousand times too small: the interval misses the root."""
    root = (arb(1) / 2).sqrt()
    U = [float(root) + 0.02, float(root) - 0.01]
    assert holds(pp.certify(circle(), U, QUERIES), root)
    assert not holds(pp.certify(circle(lipschitz=2e-3), U, QUERIES), root)


def test_refusal_names_the_numbers():
    with pytest.raises(
        CertificationError, match=r"2Lη = \d.* ≥ 1 in the system's norm: no root verified; take .* Newton"
    ):
        pp.certify(circle(), [2.0, -0.5], QUERIES, pp.Root())


def test_rounding_is_covered_only_with_declared_errors():
    c = pp.certify(circle(F_error=None), [0.7, 0.71], QUERIES)
    assert c.rounding == "not covered"
    assert any("not covered" in a.claim for a in c.assumptions)


def test_roots_are_held_in_constrained_spaces():
    """U = (1, y₀, y₁) + …: free coordinates sit inside a longer vector."""
    space = pp.AdmissibleSpace.dirichlet(3, [0], [7.0])
    base = circle()
    system = pp.NonlinearSystem(base.F, base.J, space, lipschitz=2.0, F_error=1e-15, J_error=4e-16)
    c = pp.certify(system, [7.0, 0.7, 0.71], pp.Queries([[1.0, 1.0, 0.0]]))
    assert c.contains(7.0 + np.sqrt(0.5)).all()
    mixed = pp.AdmissibleSpace(np.array([1.0, 0.0, 0.0]), np.array([[1.0, 1.0], [0.0, 1.0], [2.0, 0.0]]))
    system = pp.NonlinearSystem(base.F, base.J, mixed, lipschitz=2.0, F_error=1e-15, J_error=4e-16)
    U = mixed.vector_of(np.array([0.7, 0.71]))
    c = pp.certify(system, U, pp.Queries(np.eye(3)))
    r = np.sqrt(0.5)
    assert np.all(np.abs(c.center - [1 + 2 * r, r, 2 * r]) <= c.radius + 1e-15)


def test_comparison_needs_the_same_root():
    r = float(np.sqrt(0.5))
    near = pp.Comparison(evaluation=1e-9, state=[r + 1e-3, r])
    c = pp.certify(circle(), [r + 0.01, r - 0.01], QUERIES, transfer=near)
    assert c.contains([r, -1.7 * r]).all()
    assert np.all(c.terms["transfer"] > 0.0)
    far = pp.Comparison(evaluation=1e-9, state=[-r + 1e-3, -r])
    with pytest.raises(CertificationError, match="not shown to be the one"):
        pp.certify(circle(), [r + 0.01, r - 0.01], QUERIES, transfer=far)


def test_bad_functions_and_constants_are_refused():
    with pytest.raises(InputError, match="F: must be a function"):
        pp.NonlinearSystem(1.0, lambda v: v, 2)
    with pytest.raises(InputError, match="lipschitz: must be a finite number"):
        circle(lipschitz=-1.0)
    with pytest.raises(InputError, match="norm: must be 'euclidean'"):
        circle(norm="taxi")
    with pytest.raises(InputError, match="lipschitz: a verified ball needs this constant"):
        pp.certify(circle(lipschitz=None), [0.7, 0.7], QUERIES)
    base = circle()
    with pytest.raises(InputError, match="second: a stationary target needs"):
        pp.certify(pp.NonlinearSystem(base.F, base.J, 2, lipschitz=2.0), [0.7, 0.7], QUERIES, pp.Stationary())
    with pytest.raises(InputError, match=r"F\(y\): must be finite"):
        pp.certify(pp.NonlinearSystem(lambda v: [np.nan, 1.0], base.J, 2, lipschitz=2.0), [0.7, 0.7], QUERIES)
    with pytest.raises(CertificationError, match="singular"):
        pp.certify(circle(), [0.0, 0.0], QUERIES)


def bowl(error, a=1e-3, **options):
    """F = (x − a, x² ± error): where x is small the error of the second equation is one of K alone, not of S."""
    return pp.NonlinearSystem(
        lambda v: [v[0] - a, v[0] ** 2],
        lambda v: np.array([[1.0], [2.0 * v[0]]]),
        1,
        second=lambda v, z: 2.0 * z[1] * np.eye(1),
        lipschitz=2.0,
        second_lipschitz=lambda y, R: 12.0 * (abs(float(y[0])) + R) * 1.001,
        **{"F_error": [1e-18, error], "J_error": 1e-16} | options,
    )


def test_errors_of_equations_are_errors_of_second_derivatives():
    """Stationary points of all the systems that F may be: x − a + 2x(x² + e) = 0, |e| ≤ error."""
    query = pp.Queries([[1.0]])
    for error in (1e-6, 1e-3, 0.1):
        found = pp.certify(bowl(error), np.zeros(1), query, pp.Stationary())
        for e in np.linspace(-error, error, 5):
            roots = np.roots([2.0, 0.0, 1.0 + 2.0 * e, -1e-3])
            assert np.all(found.contains(roots[np.abs(roots.imag) < 1e-9].real))
        assert float(found.radius[0]) < 3e-3 * error + 1e-7
    with pytest.raises(CertificationError, match="not verified to be positive definite"):
        pp.certify(bowl(0.6), np.zeros(1), query, pp.Stationary())  # K = 1 ± 1.2
    with pytest.raises(CertificationError, match="not verified to be positive definite"):
        pp.certify(bowl(0.0, J_error=0.6), np.zeros(1), query, pp.Stationary())


def test_balls_hold_the_target_whatever_the_step_was(monkeypatch):
    """A solver that does nothing leaves all of the residual; the balls then rest on it alone."""
    distance = 1e-3
    root = 0.5**0.5
    method = pp.Root().prepare(circle(), QUERIES)
    base = method.base([root + distance, root + distance])
    vars(base)["step"] = np.zeros(2)
    assert norm_balls.newton_ball(base, 0).radius >= 2.0**0.5 * distance
    s = (1.5 / 4) ** (1 / 3)
    monkeypatch.setattr(stationary, "factorize", lambda K: SimpleNamespace(solve=np.zeros_like))
    found = pp.certify(fitted(1.5), [s + distance, s + distance], QUERIES, pp.Stationary())
    assert found.details["balls"]["stationary"]["radius"] >= 2.0**0.5 * distance
    assert np.all(found.contains([s, -1.7 * s]))


def test_functionals_of_coordinates_are_enclosed():
    """Zᵀℓ of a general Z, rounded, with its error and that of the data, against rationals."""
    rng = np.random.default_rng(2)
    L, slip = rng.normal(size=(3, 9)), 1e-14 * rng.random((3, 9))
    space = pp.AdmissibleSpace.constrained(rng.normal(size=(5, 9)), np.zeros(5))
    Z = space.Z.toarray()
    for error in (None, slip):
        found = basepoint.ReducedQueries(pp.Queries(L, error=error), space, True).reduced
        got, allowed = found.L.toarray(), found.error.toarray()
        extra = 0.0 * allowed if error is None else slip @ np.abs(Z) * (1.0 - 1e-12)
        for i, j in np.ndindex(got.shape):
            true = sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(L[i], Z[:, j], strict=True))
            off = abs(true - Fraction(float(got[i, j]))) + Fraction(float(extra[i, j]))
            assert off <= Fraction(float(allowed[i, j]))
        assert error is not None or np.all(allowed < 1e-13)
