"""Break the proofs for Robin facets on purpose: weaken each ingredient, and see that a check notices."""

from __future__ import annotations

import inspect
import math
import textwrap
from typing import Any

import numpy as np
import pytest
import scipy.sparse.linalg as spla

import pinnpoint as pp
from pinnpoint.taylor.bernstein import Density
from pinnpoint.transfer import continuum, goals
from pinnpoint.transfer.boundary import facets, gaps, robin, robin_flux
from pinnpoint.transfer.energy import anchors, estimator
from pinnpoint.transfer.energy.estimator import Side
from pinnpoint.transfer.line import one_dimension
from pinnpoint.transfer.nonlinear import ceilings
from tests.soundness.test_sabotage_continuous import Mutation, at_least, interval, model_of

MODULES = (anchors, ceilings, continuum, estimator, facets, gaps, goals, one_dimension, robin, robin_flux)


def square(n: int) -> Any:
    return pp.io.generate("square", n)


def plate(alpha: float, g: str, n: int = 1, degree: int = 2, **more: Any) -> Any:
    """A square held on the left, with α and g on the right."""
    return pp.fem.ReactionDiffusion(
        square(n), dirichlet={"left": 0.0}, robin={"right": (alpha, g)}, degree=degree, **more
    )


def sided(model: Any, U: Any, source: Any, flux: Any, load: Any) -> Side:
    return Side(U, source, flux, load, wanted=model.wanted(U, load))


def at_rest(problem: Any, load: Any = None) -> tuple[Any, Any]:
    """The model, and the state zero with the flux zero."""
    model = model_of(problem)
    width = 1 if model.degree == 1 else model.d
    U, t = np.zeros(model.size), np.zeros((len(model.topology.facets), width))
    return model, sided(model, U, model.load, t, model.boundary_load if load is None else load)


def least_energy(alpha: float, g: str) -> float:
    """‖u‖_a² ≥ sup (g, v)²/a(v, v) over the elements of a fine mesh."""
    p = plate(alpha, g, 16)
    free = p.space.free
    return float(p.b[free] @ spla.spsolve(p.A.tocsr()[free][:, free].tocsc(), p.b[free]))


WAVE = "y - 0.5"
"""Of mean zero on the one facet."""


def check_weight() -> None:
    """α so large that all of g is balanced by αu: ‖u‖_a² → ‖g‖²/α."""
    model, side = at_rest(plate(1e7, WAVE))
    eta = model.estimator.energy(model.estimator.measure(side, [])[0])
    at_least(eta, math.sqrt(least_energy(1e7, WAVE)))
    assert eta <= 1.01 * math.sqrt(1.0 / 12e7)


def check_trace() -> None:
    """α so small that the trace inequality is what counts."""
    model, side = at_rest(plate(1e-3, WAVE))
    eta = model.estimator.energy(model.estimator.measure(side, [])[0])
    at_least(eta, math.sqrt(least_energy(1e-3, WAVE)))
    assert eta < 0.1 * math.sqrt(1.0 / 12e-3)


def check_product(sign: float = 1.0) -> None:
    """The same g on both sides: a(e, ε) = ±‖u‖_a²."""
    problem = plate(1e7, WAVE)
    model, one = at_rest(problem)
    g = model.boundary_load
    d = g.density
    other = type(g)(g.facets, g.vertices, g.nodes, Density(sign * d.coefficients, d.high, d.error1, d.error2))
    zero = Density.constant(np.zeros(len(model.kappa)), 2)
    two = sided(model, one.nodal, zero, one.flux, other)
    bounds, (pair,) = model.estimator.measure(one, [(two, 1.0, True)])
    low, high, _ = model.estimator.product_bound(bounds, pair)
    at_least(high if sign > 0.0 else -low, least_energy(1e7, WAVE))


def check_product_opposed() -> None:
    check_product(-1.0)


def check_end_of_a_path() -> None:
    """One cell that only a weak end holds: −u″ = 1, u ≈ 1/α, ‖u‖_a² ≈ 1/α."""
    a = 1e-4
    problem = interval(1, source=1.0, dirichlet={}, robin={"left": (a, 0.0)})
    model, side = at_rest(problem)
    at_least(model.estimator.energy(model.estimator.measure(side, [])[0]), math.sqrt(1.0 / a + 1.0 / 3.0))


def check_reach() -> None:
    """A force at the far end of a rod: u = 1/α + x, which its own energy bounds at x = 1 and at x = 0."""
    a = 0.5
    model = model_of(interval(4, dirichlet={}, robin={"left": (a, 0.0)}, neumann={"right": 1.0}))
    at_least(float(one_dimension.reach(model, np.array([1.0]))[0]), math.sqrt(1.0 / a + 1.0))


def check_nodal_residual() -> None:
    """u_h = 1 where u = 0: all of its residual is −α at the left end."""
    a = 2.0
    model = model_of(interval(4, dirichlet={}, robin={"left": (a, 0.0)}))
    at_least(one_dimension.residual_estimate(model, np.ones(model.size))[0], math.sqrt(a))


def check_holds() -> None:
    """Everything together, quadratic elements: u = x eʸ, α a formula, means, fluxes and points."""
    problem = pp.fem.ReactionDiffusion(
        square(8),
        "-x*exp(y)",
        dirichlet={"left": 0.0},
        robin={"right": ("1 + y**2", "(2 + y**2)*exp(y)"), "top": (3.0, "4*x*exp(1)")},
        neumann={"bottom": "-x"},
        degree=2,
    )
    x = np.array([[0.41, 0.53]])
    queries = problem.points(x) + problem.patch("right") + problem.flux("top") + problem.flux("left")
    c = pp.certify(problem, problem.space.U0, queries + problem.flux("right"))
    e = math.e
    truth = np.array([0.41 * math.exp(0.53), e - 1.0, e / 2.0, 1.0 - e, e - 1.0])
    assert c.radius.max() < 1e-3
    assert c.contains(truth).all()


def check_comparison() -> None:
    """u = 1 on the left and losses on the right: u = 1 − x/(1 + 1/α) is smaller than its Dirichlet values."""
    problem = interval(1, dirichlet={"left": 1.0}, robin={"right": (1e3, 0.0)})
    model = model_of(problem)
    assert ceilings.Ceilings.of(model, problem.space.U0, reacts=False).low <= 1.0 / (1.0 + 1e3)


def check_means_of_facets() -> None:
    """A force on the end that takes almost all of it: w = 1 there has mean 1 and the energy α at least."""
    model, side = at_rest(interval(1, dirichlet={}, robin={"right": (1e6, 1.0)}))
    left = facets.left_over(model.points, model.topology, model.kappa, model.anchors, side.aim, side.flux)
    at_least(float(robin.held(left, model.exchange.weight).how_far[0]), 1e-3)


def check_data_of_fluxes() -> None:
    """What Dirichlet data that is not met does to the flux through a side with α = 100: up to 100 times as much."""
    problem = pp.fem.ReactionDiffusion(
        square(2), dirichlet={"left": "sin(3*y)"}, robin={"right": (50.0, 0.0), "top": (100.0, 0.0)}
    )
    goal = problem.transfer(problem.flux("right") + problem.flux("top")).goals
    at_least(goal[0].reach, 50.0)
    at_least(goal[1].reach, 100.0)


def check_energy_of_data() -> None:
    """√α v in ‖v‖_a, for v = 1 on a side."""
    model = model_of(plate(4.0, "0", n=2))
    at_least(float(np.sum(model.exchange.energy(model.points, np.ones(model.size)))), 4.0)


def check_least() -> None:
    """The smallest value of a coefficient on a facet."""
    at = model_of(plate(1.0, "0", n=1)).exchange
    assert np.all(at.weight <= 1.0)
    at = model_of(
        pp.fem.ReactionDiffusion(square(1), dirichlet={"left": 0.0}, robin={"right": ("2 + cos(3*pi*y)", "0")})
    )
    assert np.all(at.exchange.weight <= 1.0)
    assert np.all(at.exchange.weight >= 0.99)


MUTATIONS = [
    Mutation(
        "ω by 2 %", check_weight, robin.Gaps, "of", "left.area[on] / weight[on]", "left.area[on] / (1.02 * weight[on])"
    ),
    Mutation("N_F of the facets", check_weight, estimator.Estimator, "_length", "up(each + more, 32)", "up(each, 32)"),
    Mutation("the trace", check_trace, estimator.Estimator, "_length", "self._squares(q + cost,", "self._squares(q,"),
    Mutation("the product on facets", check_product, robin.Gaps, "on_cells", "square + 2.0 * product", "square"),
    Mutation(
        "its sign", check_product_opposed, robin.Gaps, "on_cells", "square + 2.0 * product", "square - 2.0 * product"
    ),
    Mutation("the end of a path by 1 %", check_end_of_a_path, anchors, "anchors", "1.0 / grip", "0.98 / grip"),
    Mutation(
        "the way to a Robin end by 1 %", check_reach, one_dimension, "_give", "1.0 / max(here)", "0.98 / max(here)"
    ),
    Mutation(
        "αu_h in nodal residuals",
        check_nodal_residual,
        one_dimension,
        "_nodal_residuals",
        "model.wanted(state, model.boundary_load, dual=False)",
        "None",
    ),
    Mutation(
        "αu_h in the value",
        check_holds,
        estimator.Estimator,
        "_facet_value",
        "primal.aim.against",
        "primal.load.against",
    ),
    Mutation(
        "1 % of αu_h",
        check_holds,
        robin.Exchange,
        "wanted",
        "g.coefficients - v.coefficients",
        "g.coefficients - 0.99 * v.coefficients",
    ),
    Mutation(
        "αz_h of the dual",
        check_holds,
        continuum.Continuum,
        "wanted",
        "carried, nodal, self.degree",
        "carried, (0.5 if dual else 1.0) * nodal, self.degree",
    ),
    Mutation(
        "g in the flux through Robin sides",
        check_holds,
        robin_flux,
        "robin_flux",
        '"constant": constant',
        '"constant": 0.9 * constant',
    ),
    Mutation(
        "α in the flux through Robin sides",
        check_holds,
        robin_flux,
        "robin_flux",
        "-a.coefficients[on]",
        "-0.9 * a.coefficients[on]",
    ),
    Mutation(
        "means of facets by 1 %", check_means_of_facets, robin, "held", "1.0 / np.sqrt(low)", "0.99 / np.sqrt(low)"
    ),
    Mutation("zero among the values", check_comparison, ceilings.Ceilings, "of", "model.exchange is not None or ", ""),
    Mutation("data of fluxes", check_data_of_fluxes, robin_flux, "robin_flux", "at.top[on] * area", "0.9 * area"),
    Mutation("α in ‖D‖_a", check_energy_of_data, robin.Exchange, "energy", "self.top * area", "0.1 * self.top * area"),
    Mutation(
        "the least value",
        check_least,
        robin,
        "least",
        "high - np.asarray(up(below))",
        "high - 0.9 * np.asarray(up(below))",
    ),
]


def falsify(monkeypatch: Any, m: Mutation) -> None:
    """Put the mutated function in place of the true one, wherever it is imported."""
    true = inspect.getattr_static(m.owner, m.name)
    plain = true.__func__ if isinstance(true, classmethod) else true
    source = textwrap.dedent(inspect.getsource(plain))
    assert source.count(m.old) == 1, f"{m.name}: '{m.old}' occurs {source.count(m.old)} times"
    space: dict[str, Any] = {}
    exec("from __future__ import annotations\n" + source.replace(m.old, m.new), plain.__globals__, space)
    for module in (m.owner, *MODULES):
        if inspect.getattr_static(module, m.name, None) is true:
            monkeypatch.setattr(module, m.name, space[m.name])


@pytest.mark.parametrize("m", MUTATIONS, ids=lambda m: m.label)
def test_a_weakened_ingredient_is_noticed(monkeypatch, m):
    m.check()
    falsify(monkeypatch, m)
    with pytest.raises((AssertionError, pp.CertificationError)):
        m.check()
