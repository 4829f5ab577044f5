"""Sources by cell groups."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.mesh import Mesh

P, Q = 0.875, 1.125
"""−u″ = 1 on (0, ½) and 6x on (½, 1), u(0) = u(1) = 0: u = −x²/2 + Px, then −x³ + Qx + 1 − Q."""
X = np.array([[0.3, 0.4], [0.7, 0.6], [0.45, 0.5]])
SIDES = {"left": 0.0, "right": 0.0}


def truth(x: np.ndarray) -> np.ndarray:
    """The solution, which is the same for all y."""
    return np.where(x < 0.5, -(x**2) / 2.0 + P * x, -(x**3) + Q * x + 1.0 - Q)


@pytest.fixture(scope="module")
def halves() -> Mesh:
    """The unit square with the groups "a" and "b" beside x = ½."""
    square = pp.io.generate("square", 12)
    left = square.points[square.cells].mean(axis=1)[:, 0] < 0.5
    return Mesh(square.points, square.cells, {"a": left, "b": ~left}, square.facet_groups)


@pytest.mark.parametrize("degree", [1, 2])
def test_points_hold_the_solution(halves: Mesh, degree: int) -> None:
    p = pp.fem.ReactionDiffusion(halves, {"a": 1.0, "b": "6*x"}, dirichlet=SIDES, degree=degree)
    found = pp.certify(p, p.space.U0, p.points(X))
    assert found.guarantee == "deterministic"
    assert found.target == "continuous"
    assert np.all(found.contains(truth(X[:, 0])))
    assert float(found.radius.max()) < (0.05 if degree == 1 else 2e-4)


def test_swapped_sources_are_noticed(halves: Mesh) -> None:
    p = pp.fem.ReactionDiffusion(halves, {"a": "6*x", "b": 1.0}, dirichlet=SIDES, degree=2)
    assert not np.any(pp.certify(p, p.space.U0, p.points(X)).contains(truth(X[:, 0])))


def test_the_same_formula_in_both_groups_is_one_source(halves: Mesh) -> None:
    one = pp.fem.ReactionDiffusion(halves, "1+x*y", dirichlet=SIDES)
    two = pp.fem.ReactionDiffusion(halves, {"a": "1+x*y", "b": "1+x*y"}, dirichlet=SIDES)
    np.testing.assert_allclose(one.b, two.b, rtol=1e-13, atol=1e-17)
    a, b = (pp.certify(p, p.space.U0, p.mean()) for p in (one, two))
    assert max(a.lower[0], b.lower[0]) <= min(a.upper[0], b.upper[0])


def test_refinement_keeps_the_groups(halves: Mesh) -> None:
    p = pp.fem.ReactionDiffusion(halves, {"a": 1.0, "b": "6*x"}, dirichlet=SIDES, degree=2)
    found = pp.certify_to(p, p.space.U0, p.points(X), 1e-5).certificate
    assert np.all(found.contains(truth(X[:, 0])))
    assert float(found.radius.max()) <= 1e-5


def test_what_is_not_understood_is_refused(halves: Mesh) -> None:
    with pytest.raises(pp.InputError, match="source: 144 cells have no value"):
        pp.fem.ReactionDiffusion(halves, {"a": 1.0})
    with pytest.raises(pp.InputError, match="source 'b'"):
        pp.fem.ReactionDiffusion(halves, {"a": 1.0, "b": "log(x-2)"})
    p = pp.fem.ReactionDiffusion(halves, {"a": 1.0, "b": "6*x"}, dirichlet=SIDES)
    with pytest.raises(pp.InputError, match="lift: the source must be one formula"):
        pp.certify(p, "x*(1-x)", p.points(X), lift=True)
    with pytest.raises(pp.InputError, match="lies on a jump"):
        pp.certify(p, p.space.U0, p.points([[0.5, 0.52]]))
