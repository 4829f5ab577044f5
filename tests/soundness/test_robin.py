"""Robin conditions: intervals hold the solution and shrink at the rates of the elements; the rest is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.base.errors import InputError
from tests.support.robin import misses, random_case

CASES = {1: 50, 2: 50, 3: 6}
"""By dimension; `studies/varying.py` takes more."""
P = np.array([[0.35, 0.6], [0.5, 0.45]])


def square(n: int = 8):
    return pp.io.generate("square", n)


@pytest.mark.slow
@pytest.mark.parametrize("d", CASES)
def test_every_interval_holds_the_solution(d):
    found = [misses(random_case(np.random.default_rng([d, k]), d)) for k in range(CASES[d])]
    assert not [line for _, _, lines in found for line in lines]
    assert sum(count for count, _, _ in found) >= 4 * CASES[d]
    assert max(off for _, off, _ in found) > 0.05  # some are narrow


def product(n: int, degree: int):
    """u = xy, with u_x + u = 2y on the right."""
    sides = {g: "x*y" for g in ("left", "bottom", "top")}
    return pp.fem.ReactionDiffusion(square(n), degree=degree, dirichlet=sides, robin={"right": (1.0, "2*y")})


def test_a_bilinear_solution():
    problem = product(16, 2)
    queries = problem.points(P) + problem.patch("right") + problem.flux("right")
    c = pp.certify(problem, lambda X: 0.0 * X[:, 0], queries)
    assert c.contains(np.array([0.21, 0.225, 0.5, 0.5])).all()
    assert c.radius[:2].max() < 2e-8
    assert c.radius[2:].max() < 1e-10
    assert any("Robin coefficient: proved to lie between 1 and 1" in a.claim for a in c.assumptions)


def wave(n: int, degree: int, alpha: float | str = 2.0):
    """u = sin πx sin πy held by Robin sides alone."""
    robin = {g: (alpha, "-pi*sin(pi*y)") for g in ("left", "right")}
    robin |= {g: (alpha, "-pi*sin(pi*x)") for g in ("bottom", "top")}
    return pp.fem.ReactionDiffusion(square(n), "2*pi**2*sin(pi*x)*sin(pi*y)", degree=degree, robin=robin)


@pytest.mark.parametrize(("degree", "rate"), [(1, 1.8), (2, 3.5)])
def test_radii_shrink_like_products_of_two_errors(degree, rate):
    radii = []
    for n in (8, 16):
        problem = wave(n, degree)
        c = pp.certify(problem, problem.space.U0, problem.points(P) + problem.patch("top") + problem.flux("top"))
        assert c.contains(np.append(np.sin(math.pi * P).prod(axis=1), [0.0, -2.0])).all()
        radii.append(c.radius)
    assert np.all(np.log2(radii[0] / radii[1]) > rate)


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e3, 1e6])
def test_radii_do_not_depend_on_the_coefficient_by_orders(alpha):
    """From nearly insulated to nearly fixed: the energy bound stays within a small factor of the error."""
    problem = wave(8, 2, alpha)
    c = pp.certify(problem, problem.space.U0, problem.points(P))
    assert c.contains(np.sin(math.pi * P).prod(axis=1)).all()
    error = _energy_error(problem)
    assert error <= c.details["energy_bound"] <= 3.0 * error


def _energy_error(problem) -> float:
    """‖u − u_h‖_a ≥ its part that a twice finer mesh sees, by energies: ‖u‖² − ‖u_h‖² for Galerkin solutions."""
    fine = wave(32, 2, float(problem.given["robin"]["left"][0]))
    energies = [p.b @ np.linalg.solve(p.A.toarray(), p.b) if len(p.b) < 3000 else _solved(p) for p in (fine, problem)]
    return math.sqrt(energies[0] - energies[1])


def _solved(problem) -> float:
    from scipy.sparse.linalg import spsolve

    return float(problem.b @ spsolve(problem.A.tocsc(), problem.b))


def test_a_rod_in_one_dimension():
    """−u″ = 1, u′(0) = 2u(0), u′(1) + 3u(1) = 0: a parabola."""
    mesh = pp.io.generate("interval", 7)
    for degree in (1, 2):
        problem = pp.fem.ReactionDiffusion(mesh, 1.0, robin={"left": (2.0, 0.0), "right": (3.0, 0.0)}, degree=degree)
        b = 2.5 / 5.5  # u = a + bx − x²/2 with b = 2a, (b − 1) + 3(a + b − ½) = 0
        a = b / 2.0
        X = np.array([[0.0], [0.31], [1.0]])
        queries = problem.points(X) + problem.flux("left") + problem.flux("right")
        c = pp.certify(problem, problem.space.U0, queries)
        truth = [*(a + b * X[:, 0] - X[:, 0] ** 2 / 2.0), -b, b - 1.0]
        assert c.contains(np.array(truth)).all()
        assert c.radius.max() < (2e-2 if degree == 1 else 1e-10)


def test_lifts_of_robin_problems():
    problem = wave(8, 2, "1 + y**2")
    queries = problem.points(P) + problem.patch("right") + problem.flux("top")
    truth = np.append(np.sin(math.pi * P).prod(axis=1), [0.0, -2.0])
    near = "sin(pi*x)*sin(pi*y) + 1e-4*cos(x + 2*y)"
    plain = pp.certify(problem, near, queries)
    lifted = pp.certify(problem, near, queries, lift=True)
    assert plain.contains(truth).all()
    assert lifted.contains(truth).all()
    assert lifted.guarantee == plain.guarantee
    assert lifted.radius.max() < 1e-3 * plain.radius.max()
    assert np.all(lifted.radius > 0.0)


def test_a_tolerance_refines():
    problem = wave(4, 2)
    found = pp.certify_to(problem, lambda X: 0.0 * X[:, 0], problem.points(P), 1e-4)
    assert found.certificate.radius.max() <= 1e-4
    assert found.certificate.contains(np.sin(math.pi * P).prod(axis=1)).all()


def test_every_state_will_do():
    """The discrete solution is not trusted: intervals from a prediction far off are the same."""
    problem = wave(6, 1)
    rng = np.random.default_rng(0)
    one, two = (pp.certify(problem, U, problem.points(P)) for U in (problem.space.U0, rng.normal(size=len(problem.b))))
    np.testing.assert_allclose(one.center, two.center, rtol=1e-8)
    assert one.contains(np.sin(math.pi * P).prod(axis=1)).all()


def test_the_discrete_target():
    problem = wave(6, 1, "1 + x*y")
    queries = problem.points(P) + problem.flux("left")
    c = pp.certify(problem, problem.space.U0, queries, target="discrete")
    U = np.linalg.solve(problem.A.toarray(), problem.b)
    assert np.all(np.abs(c.center - queries.L @ U - queries.constants) <= c.radius + 1e-12)
    assert c.radius.max() < 1e-9


def test_paths_hold_a_problem_with_robin_and_fixed_sides():
    from pinnpoint.fem.stability.coercivity import path_coercivity

    problem = product(6, 1)
    alpha = path_coercivity(problem).alpha
    free = problem.space.free
    assert 0.0 < alpha <= np.linalg.eigvalsh(problem.A.toarray()[np.ix_(free, free)])[0]


REFUSED = {
    "must be ≥ 0; it is -1.0": {"right": (-1.0, 0.0)},
    "must be ≥ 0": {"right": ("y - 0.5", 0.0)},
    "must be a pair": {"right": 1.0},
    "must have a coefficient and a value": {"right": {"alpha": 1.0}},
    "group 'rigth'": {"rigth": (1.0, 0.0)},
    "solution is not unique": {"right": (0.0, 0.0)},
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_refused(words):
    with pytest.raises(InputError, match=words.replace("(", r"\(")):
        pp.fem.ReactionDiffusion(square(2), 1.0, dirichlet={}, robin=REFUSED[words])


def test_a_coefficient_that_is_not_proved_nonnegative():
    """The rule's points see no negative value, Taylor models and intervals do not rule one out."""
    problem = pp.fem.ReactionDiffusion(
        square(2), 1.0, dirichlet={"left": 0.0}, robin={"right": ("(y - 0.3)**2 - 1e-12", 0.0)}
    )
    with pytest.raises(InputError, match=r"robin 'right': the coefficient must be ≥ 0, and the bound .* is -"):
        pp.certify(problem, problem.space.U0, problem.points(P))


def test_a_facet_has_one_condition():
    with pytest.raises(InputError, match="shares 2 of its facets with a dirichlet group"):
        pp.fem.ReactionDiffusion(square(2), 1.0, dirichlet={"right": 0.0}, robin={"right": (1.0, 0.0)})
    with pytest.raises(InputError, match="a facet has one condition"):
        pp.fem.ReactionDiffusion(square(2), 1.0, neumann={"right": 0.0}, robin={"right": (1.0, 0.0)}, dirichlet={})


def test_functions_make_estimates():
    problem = pp.fem.ReactionDiffusion(
        square(4), 1.0, dirichlet={"left": 0.0}, robin={"right": (lambda X: 1.0 + X[:, 1], 0.0)}
    )
    assert str(pp.certify(problem, problem.space.U0, problem.points(P)).guarantee) == "estimate"


def test_outflow():
    """−u″ + u′ = 1, u(0) = 0, and at the outflow u′ = 0 or u′ + 2u = 2/e: u = x + (1 − eˣ)/e."""
    mesh, e = pp.io.generate("interval", 8), math.e
    for degree, small in ((1, 1e-3), (2, 2e-6)):
        for sides in ({}, {"robin": {"right": (2.0, "2*exp(-1)")}}):
            problem = pp.fem.ReactionDiffusion(
                mesh, 1.0, convection=("1",), dirichlet={"left": 0.0}, degree=degree, **sides
            )
            c = pp.certify(problem, problem.space.U0, problem.patch("right") + problem.points([[0.3]]))
            assert c.contains(np.array([1.0 / e, 0.3 + (1.0 - math.exp(0.3)) / e])).all()
            assert c.radius.max() < small


def test_robin_beside_coefficients_that_vary():
    """u = eˣy with κ = 1 + x, b = (1 + y, x), c = 1."""
    source = "-(exp(x)*y + (1+x)*exp(x)*y) + (1+y)*exp(x)*y + x*exp(x) + exp(x)*y"
    robin = {
        "right": ("1 + y**2", "2*exp(1)*y + (1 + y**2)*exp(1)*y"),
        "top": (3.0, "(1 + x)*exp(x) + 3*exp(x)"),
    }
    problem = pp.fem.ReactionDiffusion(
        square(6),
        source,
        "1 + x",
        1.0,
        {"left": "exp(x)*y", "bottom": 0.0},
        convection=("1 + y", "x"),
        robin=robin,
        degree=2,
    )
    c = pp.certify(
        problem, problem.space.U0, problem.points([[0.4, 0.6]]) + problem.patch("right") + problem.flux("top")
    )
    assert c.contains(np.array([0.6 * math.exp(0.4), math.e / 2.0, math.e])).all()
    assert c.radius.max() < 1e-3
