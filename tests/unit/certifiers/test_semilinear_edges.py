"""Nonlinear certificates at the edges: what is refused, in which words, and what is not."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.certifiers.nonlinear.basepoint import BasePoint
from pinnpoint.mesh.domains import generate
from tests.support.newton import Cubic, inside, solved, value

ONE = pp.Queries(np.eye(1))


def scalar(**given):
    options = {"lipschitz": 1.0, "F_error": 0.0, "J_error": 0.0} | given
    F, J = options.pop("F", lambda y: y - 0.5), options.pop("J", lambda y: np.eye(1))
    return pp.NonlinearSystem(F, J, 1, **options)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"F": lambda y: np.ones(3)}, "F, J: .* 3 entries and J.* 1 rows"),
        ({"J_error": np.eye(2)}, "J_error: must be a number or have J's shape"),
        ({"J_error": -np.eye(1)}, "J_error: entries must be ≥ 0"),
        ({"J": lambda y: np.full((1, 1), 1e200)}, r"J\(y\): entries must be below"),
    ],
)
def test_systems_that_do_not_fit(given, message):
    with pytest.raises(InputError, match=message):
        pp.certify(scalar(**given), [0.4], ONE)


def test_a_norm_is_symmetric():
    """Half of a nonsymmetric P was used in the norm, and all of it in the dual."""
    with pytest.raises(InputError, match="symmetric"):
        pp.NonlinearSystem(lambda y: y, lambda y: np.eye(2), 2, lipschitz=1.0, norm=[[1.0, 0.5], [0.0, 1.0]])


@pytest.mark.parametrize("method", [pp.Root, pp.Stationary])
def test_unknown_norms_are_refused_at_once(method):
    with pytest.raises(InputError, match="norm: must be"):
        method(norm="sup")


def test_two_roots_are_told_apart():
    """The balls overlap, but neither lies in the other's ball of uniqueness: [−1.35, 1.35] and [−0.3, 1.7]."""

    def lipschitz(y, reach):
        return 0.7133 if y[0] < 0.5 else 1e-6

    def F(y):
        return np.array([y[0] - 0.7 if y[0] < 0.5 else y[0] + 0.3])

    system = scalar(F=F, lipschitz=lipschitz)
    with pytest.raises(CertificationError, match="not shown to be the one"):
        pp.certify(system, [0.0], ONE, transfer=pp.Comparison(evaluation=0.0, state=[0.7]))


def test_only_fluxes_given():
    """−u″ + u³ = f with fluxes at both ends has one solution; the constants are in the nullspace of the linear part."""
    options = {"dirichlet": {}, "neumann": {"left": 0.5}, "source": "1 + x"}
    problem = pp.fem.Semilinear(generate("interval", 12), cubic=1.0, **options)
    queries = problem.points([[0.3], [0.8]])
    U = solved(problem, np.ones(13))
    found = pp.certify(problem, U * (1 + 1e-4), queries, pp.Root(polish=1), target="discrete")
    truth = Cubic(problem.system)
    root = truth.root(U)
    assert all(inside(found.lower[i], found.upper[i], value(queries, truth, root, i)) for i in range(2))
    assert found.radius.max() < 1e-6
    with pytest.raises(InputError, match="energy error is not bounded"):
        pp.certify(problem, U, queries)
    with pytest.raises(InputError, match="not unique"):
        pp.fem.Semilinear(generate("interval", 12), cubic=0.0, **options)


def test_a_prediction_far_away_changes_nothing():
    problem = pp.fem.Semilinear(generate("interval", 16), cubic=20.0, source=1.0)
    queries = problem.points([[0.3]])
    near, far = (pp.certify(problem, lambda X, s=s: s * np.sin(9 * X[:, 0]), queries) for s in (0.1, 1e30))
    assert far.center == pytest.approx(near.center, rel=1e-9)
    assert far.radius == pytest.approx(near.radius, rel=1e-6)


@pytest.mark.parametrize("target", ["discrete", "continuous"])
def test_what_leaves_the_range_is_refused(target):
    problem = pp.fem.Semilinear(generate("interval", 16), cubic=20.0, source=1.0)
    with pytest.raises(CertificationError, match="range"):
        pp.certify(problem, lambda X: 1e100 * np.sin(9 * X[:, 0]), problem.points([[0.3]]), target=target)


def test_of_huge_sources_comparison_alone_knows_something():
    """0 ≤ u ≤ (f/λ)^{1/3}, and no less than half of that away from the sides, where layers are thin."""
    largest = (1e150 / 20.0) ** (1.0 / 3.0)
    for domain, point in (("interval", [0.3]), ("square", [0.3, 0.4])):
        problem = pp.fem.Semilinear(generate(domain, 4), cubic=20.0, source=1e150)
        certificate = pp.certify(problem, lambda X: 0.0 * X[:, 0], problem.points([point]))
        assert certificate.lower[0] <= 0.5 * largest
        assert largest <= certificate.upper[0] < 1e150


def test_range_is_not_called_a_fold():
    problem = pp.fem.Semilinear(generate("interval", 4), cubic=20.0, source=1.0)
    with pytest.raises(InputError, match=r"^U: entries must be below 2\*\*150"):
        _ = BasePoint(problem.system, np.full(3, 1e50), rounding=True).solver
