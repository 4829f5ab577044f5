"""Any nondecreasing reaction: signs of formulas, the range of the solution, and problems solved exactly."""

from __future__ import annotations

import re

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.base.errors import InputError
from pinnpoint.formulas.derivatives import derivative
from pinnpoint.formulas.expressions import parse
from pinnpoint.formulas.signs import bounds, everywhere, nonnegative
from pinnpoint.mesh.domains import generate
from pinnpoint.transfer.energy.norms import Norms
from pinnpoint.transfer.nonlinear.reactions import ReactionTerm

Reaction = pp.fem.Reaction
RISING = "sinh(2*u)|u**3 + u**5|exp(u)|-exp(-u)|tanh(u)|3*u + sin(2*u)|u + sin(u)|atan(u)/pi|log(1 + exp(u))|0.1*u - 2"
OTHERS = "-u|sin(u)|u**2|u**3 - u|cosh(u)|u*exp(-u)"
PARTIAL = "sqrt(u)|log(u)|1/u|tan(u)|asin(u)|u**2.5|u**(-2)"
WAVE = {"interval": "sin(pi*x)", "square": "sin(pi*x)*sin(pi*y)", "cube": "sin(pi*x)*sin(pi*y)*sin(pi*z)"}


def test_signs_of_formulas_are_proved_where_they_hold():
    for text in RISING.split("|"):
        g = parse(text, ("u",))
        assert everywhere(g), text
        assert nonnegative(derivative(g)), text
    assert not any(nonnegative(derivative(parse(t, ("u",)))) for t in OTHERS.split("|"))
    assert not any(everywhere(parse(t, ("u",))) for t in PARTIAL.split("|"))
    assert nonnegative(parse("3*u**2 + 1e300**40", ("u",)))  # beyond all floats
    assert not nonnegative(parse("(10**60)**60 - u**2", ("u",)))


@pytest.mark.parametrize(
    "text", [*RISING.split("|"), *OTHERS.split("|"), "2/(1 + u**2) - pi", "u*u", "(u - 1)**4", "-3*cos(u)"]
)
def test_bounds_of_formulas_hold_at_samples(text):
    f = parse(text, ("u",))
    low, high = bounds(f)
    values = f(np.linspace(-8.0, 8.0, 401))
    assert np.all(values >= float(low))
    assert np.all(values <= float(high))


def wave(domain, cells, g, c=0.0):
    u = WAVE[domain]
    d, whole = len(u.split("*s")), re.sub(r"\bu\b", f"({u})", g)
    return pp.fem.Semilinear(
        generate(domain, cells),
        g=Reaction(g),
        reaction=c,
        source=f"{d}*pi**2*{u} + {c}*{u} + {whole}",
    )


@pytest.mark.parametrize(
    ("domain", "cells", "g", "widest"),
    [
        ("interval", 16, "exp(2*u)", 0.05),
        ("interval", 16, "20*u**3", 0.03),
        ("interval", 24, "atan(5*u)", 0.01),
        ("square", 10, "u + u**5", 1.0),
        ("square", 10, "exp(u)", 0.06),
        ("square", 10, "tanh(3*u)", 0.2),
        ("cube", 2, "u**3", 30.0),
    ],
)
def test_solution_is_held(domain, cells, g, widest):
    problem = wave(domain, cells, g, c=1.0 if g == "tanh(3*u)" else 0.0)
    X = np.array([[0.41, 0.33, 0.52], [0.63, 0.78, 0.3]])[:, : problem.mesh.dim]
    found = pp.certify(problem, lambda P: 0.0 * P[:, 0], problem.points(X))
    assert (found.guarantee, found.target) == ("deterministic", "continuous")
    assert np.all(found.contains(np.prod(np.sin(np.pi * X), axis=1)))
    assert found.radius.max() < widest


def test_radii_fall_with_second_order():
    radii = []
    for cells in (8, 16, 32):
        problem = wave("square", cells, "u**3")
        radii.append(pp.certify(problem, lambda P: 0.0 * P[:, 0], problem.points([[0.41, 0.33]])).radius[0])
    assert radii[1] / radii[2] > 3.8


def test_agrees_with_the_cubic():
    """λu³ as a general reaction gives another interval of the same value."""
    mesh, source = generate("square", 8), "10*x"
    found = []
    for problem in (pp.fem.Semilinear(mesh, 2.0, source), pp.fem.Semilinear(mesh, g=Reaction("2*u**3"), source=source)):
        found.append(pp.certify(problem, lambda P: 0.0 * P[:, 0], problem.points([[0.41, 0.33]])))
    assert found[0].lower[0] <= found[1].upper[0]
    assert found[1].lower[0] <= found[0].upper[0]


@pytest.mark.parametrize(("g", "source"), [("u**3", 500.0), ("exp(u)", 0.0), ("atan(u)", -3.0)])
def test_range_holds_the_solution(g, source):
    """Against the discrete solution on a fine mesh."""
    problem = pp.fem.Semilinear(generate("square", 12), g=Reaction(g), source=source)
    route = problem.transfer(problem.points([[0.5, 0.5]]))
    model = route.model
    state = np.zeros(len(problem.mesh.points))
    low, high = ReactionTerm(problem.g)._range(model, Norms.of(model), state, 1.0)
    fine = pp.fem.Semilinear(generate("square", 24), g=Reaction(g), source=source)
    queries = fine.points([[0.5, 0.5]])
    root = pp.Root().prepare(fine.system, queries, discrete=False).newton(fine.space.U0)
    assert low <= root.min()
    assert root.max() <= high
    assert high - low < 12.0 * np.ptp(root)


REFUSED = [
    (Reaction("12*sin(u)"), "must be above −λ₁"),
    (Reaction("u**2"), "was not proved"),
    (Reaction("log(u)"), "was not proved"),
    (Reaction("-exp(u)"), "was not proved"),
    (Reaction("abs(u)*u", "2*abs(u)", "2"), "without corners"),
    (Reaction(np.sinh, np.cosh, np.sinh), "as a formula"),
]


@pytest.mark.parametrize(("g", "message"), REFUSED)
def test_others_are_refused(g, message):
    problem = pp.fem.Semilinear(generate("interval", 4), g=g, source=1.0)
    with pytest.raises(InputError, match=message):
        pp.certify(problem, lambda P: 0.0 * P[:, 0], problem.points([[0.5]]))


def test_unbounded_range_is_refused():
    problem = pp.fem.Semilinear(
        generate("lshape", 4), g=Reaction("sinh(u)"), source=1.0, dirichlet={"left": 0.0}, neumann={"bottom": 1.0}
    )
    with pytest.raises(InputError, match="range of the solution was not bounded"):
        pp.certify(problem, lambda P: 0.0 * P[:, 0], problem.points([[0.3, 0.3]]))


def test_refinement_keeps_the_reaction():
    problem = wave("square", 4, "u**3")
    same = problem.refined(problem.mesh, np.arange(len(problem.mesh.cells)))
    assert same.g is problem.g


@pytest.mark.parametrize("state", ["flat", "steep"])
@pytest.mark.parametrize("a", [1e-5, 1e-2])
def test_rest_of_the_linearisation(state, a):
    """∫(g(u) − g(u_h) − μe)z by quadrature, e = a sin πx: sharp where u_h is flat, of first order where it is not."""
    problem = pp.fem.Semilinear(
        generate("interval", 2), source=1.0, dirichlet={"left": 0.0, "right": 0.0}, g=pp.fem.Reaction("u**3")
    )
    route = problem.transfer(problem.points([[0.4]]))
    X = route.model.points[:, 0]
    nodal, z = (2.0 + 0.0 * X, 1.0 + 0.0 * X) if state == "flat" else (X, np.where(X == 0.0, -1.0, 1.0))
    order = np.argsort(X)
    x, w = np.polynomial.legendre.leggauss(40)
    total = 0.0
    for middle in (0.25, 0.75):
        y = middle + 0.25 * x
        u, G, at_middle = (np.interp(p, X[order], f[order]) for p, f in ((y, nodal), (y, z), (middle, nodal)))
        e = a * np.sin(np.pi * y)
        total += 0.25 * float(w @ (((u + e) ** 3 - u**3 - 3.0 * at_middle**2 * e) * G))
    bound = route.term.rest(route.model, route.norms, nodal, a * np.pi / 2.0**0.5, 0.0, z, 0.0)
    assert abs(total) <= min(bound)
    assert state == "steep" or max(bound) <= (1.01 + 2.0 * a) * abs(total)
