"""General reactions g(u): formulas are enclosed, functions are declared or estimates; roots in 300-bit arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, ctx

import pinnpoint as pp
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.mesh.domains import generate
from pinnpoint.systems.semilinear.reaction import Reaction as Declared
from tests.support.newton import BITS, Cubic, inside, largest_gap, solved, value

Reaction = pp.fem.Reaction
EXPONENTIAL = Reaction("exp(u) - 1", "exp(u)", "exp(u)")
SINE = Reaction("3*u + sin(2*u)", "3 + 2*cos(2*u)", "-4*sin(2*u)")
ARB = {
    "exp": (EXPONENTIAL, lambda u: (u.exp() - 1, u.exp())),
    "sin": (SINE, lambda u: (3 * u + (2 * u).sin(), 3 + 2 * (2 * u).cos())),
}


class General(Cubic):
    """F and J of a stored quadrature system."""

    def __init__(self, system, g) -> None:
        ctx.prec = BITS
        self.system, self.g = system, g
        self.free = list(system.space.free)
        self.back = {int(i): k for k, i in enumerate(self.free)}
        self.A = system.A.tocsr()

    def at(self, y):
        s, U, n = self.system, self.full(y), len(self.free)
        F = [-arb(float(s.b[i])) for i in self.free]
        J = [[arb(0)] * n for _ in range(n)]
        for k, i in enumerate(self.free):
            for p in range(self.A.indptr[i], self.A.indptr[i + 1]):
                column, a = int(self.A.indices[p]), arb(float(self.A.data[p]))
                F[k] += a * U[column]
                if column in self.back:
                    J[k][self.back[column]] += a
        for cell, weights in zip(s.cells.tolist(), s.v.tolist(), strict=True):
            for v, phi in zip(weights, s.phi.tolist(), strict=True):
                u = sum((arb(f) * U[i] for f, i in zip(phi, cell, strict=True)), arb(0))
                g, slope = self.g(u)
                for f, i in zip(phi, cell, strict=True):
                    if i not in self.back:
                        continue
                    F[self.back[i]] += arb(v) * arb(f) * g
                    for h, j in zip(phi, cell, strict=True):
                        if j in self.back:
                            J[self.back[i]][self.back[j]] += arb(v) * arb(f) * arb(h) * slope
        return F, J


@pytest.mark.parametrize("name", ARB)
@pytest.mark.parametrize(("domain", "cells"), [("interval", 24), ("square", 5)])
def test_formulas_are_proved(name, domain, cells):
    reaction, g = ARB[name]
    mesh = generate(domain, cells)
    problem = pp.fem.Semilinear(mesh, g=reaction, source="10 + 20*x", dirichlet={"boundary": "0.2*x"})
    queries = problem.points([[0.4] * mesh.dim, [0.8] * mesh.dim])
    U = solved(problem, problem.space.U0)
    truth = General(problem.system, g)
    root = truth.root(U[problem.space.free])
    truths = [value(queries, truth, root, i) for i in range(2)]
    rng = np.random.default_rng(1)
    for size in (1e-2, 1e-4, 0.0):
        V = problem.space.project(U + size * rng.uniform(-1.0, 1.0, U.size)).U
        for method in (pp.Root(), pp.Root(norm="energy"), pp.Stationary(), pp.Root(correct=False)):
            c = pp.certify(problem, V, queries, method, target="discrete")
            assert c.guarantee == "deterministic"
            assert all(inside(c.lower[i], c.upper[i], truths[i]) for i in range(2)), (size, method)
            if "max" in c.details["balls"]:
                assert largest_gap(V[problem.space.free], root) <= arb(c.details["balls"]["max"]["radius"])
    final = pp.certify(problem, V, queries, target="discrete")
    assert float(final.radius.max()) < 1e-13


@pytest.mark.parametrize("name", ARB)
def test_enclosures_hold_and_are_needed(name):
    """F, J and the stored rule at random states; none of the computed values is exact."""
    reaction, g = ARB[name]
    problem = pp.fem.Semilinear(generate("square", 3), g=reaction, source=1.0, dirichlet={"boundary": "1 + 0.3*x"})
    system, truth = problem.system, General(problem.system, g)
    off = {"F": 0, "J": 0}
    for seed in range(6):
        y = np.random.default_rng(seed).uniform(-2.0, 2.0, system.n)
        F, J = truth.at([arb(v) for v in y])
        ball, (M, E) = system.residual(y), (a.toarray() for a in system.jacobian(y))
        for i in range(system.n):
            gap = abs(arb(ball.hi[i]) + arb(ball.lo[i]) - F[i])
            assert gap <= arb(ball.err[i])
            off["F"] += bool(gap > arb("1e-25"))
            for j in range(system.n):
                gap = abs(arb(M[i, j]) - J[i][j])
                assert gap <= arb(E[i, j])
                off["J"] += bool(gap > arb("1e-25"))
        u, slack = system._at_rule(y)
        values, error = reaction.values("g", u, slack)
        for c in range(3):
            U = [arb(v) for v in system._local(y)[c]]
            for q, phi in enumerate(system.phi.tolist()):
                at = sum((arb(f) * v for f, v in zip(phi, U, strict=True)), arb(0))
                assert abs(arb(values[c, q]) - g(at)[0]) <= arb(error[c, q])
                assert error[c, q] < 1e-13
                assert abs(arb(u[c, q]) - at) <= arb(slack[c, q])
    assert min(off.values()) > 0
    S, wide = system._scatter.A.tocsc(), system._scatter.error.tocsc()
    rounded = 0
    for c, cell in enumerate(system.cells.tolist()):
        for q, phi in enumerate(system.phi.tolist()):
            for f, i in zip(phi, cell, strict=True):
                if i in truth.back:
                    where = truth.back[i], c * len(system.phi) + q
                    gap = abs(arb(float(S[where])) - arb(float(system.v[c, q])) * arb(f))
                    assert gap <= arb(float(wide[where]))
                    rounded += bool(gap > 0)
    assert rounded > 0


def test_a_cubic_formula_agrees_with_the_exact_cubic():
    mesh = generate("interval", 32)
    source = "pi**2*sin(pi*x) + 20*sin(pi*x)**3"
    exact = pp.fem.Semilinear(mesh, cubic=20.0, source=source)
    ruled = pp.fem.Semilinear(mesh, g=Reaction("20*u**3", "60*u**2", "120*u"), source=source)
    queries = exact.points([[0.3], [0.5]])
    guess = lambda X: np.sin(np.pi * X[:, 0]) * 1.005  # noqa: E731
    a, b = (pp.certify(p, guess, queries, target="discrete") for p in (exact, ruled))
    assert np.all(np.abs(a.center - b.center) < 1e-14)
    assert np.all((b.radius < 2.0 * a.radius) & (b.radius > 0.5 * a.radius))


def test_functions_are_declared_or_estimates():
    mesh = generate("interval", 16)
    plain = Declared(lambda u: np.exp(u) - 1, np.exp, np.exp)
    bounded = Declared(lambda u: np.exp(u) - 1, np.exp, np.exp, bound=lambda low, high: np.exp(high) * (1 + 1e-12))
    formula = pp.fem.Semilinear(mesh, g=EXPONENTIAL, source=3.0)
    queries = formula.points([[0.5]])
    sure = pp.certify(formula, formula.space.U0, queries, pp.Root(polish=4), target="discrete")
    for reaction, guarantee in ((plain, "estimate"), (bounded, "deterministic")):
        problem = pp.fem.Semilinear(mesh, g=reaction, source=3.0)
        c = pp.certify(problem, problem.space.U0, queries, pp.Root(), target="discrete")
        assert c.guarantee == guarantee
        assert any("sup |g″|" in a.claim and a.status == "declared" for a in c.assumptions)
        assert c.lower[0] <= sure.lower[0]
        assert sure.upper[0] <= c.upper[0]


def test_bratu_beyond_its_fold_is_refused():
    """−u″ = λeᵘ has no solution for λ > 3.52; below, the lower one is certified."""
    mesh = generate("interval", 32)

    def bratu(lam):
        return pp.fem.Semilinear(mesh, g=Reaction(f"-{lam}*exp(u)", f"-{lam}*exp(u)", f"-{lam}*exp(u)"))

    below, beyond = bratu(2.0), bratu(4.0)
    queries = below.points([[0.5]])
    c = pp.certify(below, below.space.U0, queries, pp.Root(polish=4), target="discrete")
    assert abs(c.center[0] - 0.328952) < 1e-3
    assert c.radius[0] < 1e-12
    for polish in (0, 3, 6):
        with pytest.raises(CertificationError, match=r"no root (is )?verified|singular"):
            pp.certify(beyond, beyond.space.U0, queries, pp.Root(polish=polish), target="discrete")


def test_bad_reactions_are_refused():
    with pytest.raises(InputError, match="three formulas or three functions"):
        Reaction("u", "1", np.zeros_like)
    with pytest.raises(InputError, match="first: must be a formula"):
        Reaction("u", ["1"], "0")
    with pytest.raises(InputError, match="give exactly one of them"):
        pp.fem.Semilinear(generate("interval", 4), cubic=1.0, g=SINE)
    with pytest.raises(InputError, match="g: must be a formula of u"):
        pp.fem.Semilinear(generate("interval", 4), g=["u"])
    problem = pp.fem.Semilinear(generate("interval", 4), g=Declared(lambda u: u[:1], np.exp, np.exp))
    with pytest.raises(InputError, match="g: must map"):
        pp.certify(problem, problem.space.U0, problem.points([[0.5]]), target="discrete")


@pytest.mark.parametrize(
    ("first", "second", "which"), [("5*cosh(5*u)", "0", "second"), ("cosh(u)", "25*sinh(5*u)", "first")]
)
def test_false_derivatives_are_refused(first, second, which):
    """A g″ of zero made the remainder vanish, and the interval miss the root."""
    with pytest.raises(InputError, match=f"{which} .* is not the derivative of g"):
        Reaction("sinh(5*u)", first, second)


def test_derivatives_come_from_g():
    mesh = generate("interval", 12)
    alone = pp.fem.Semilinear(mesh, g=Reaction("3*u + sin(2*u)"), source=5.0)
    given = pp.fem.Semilinear(mesh, g=SINE, source=5.0)
    found = [pp.certify(p, solved(p, np.zeros(13)), p.points([[0.4]]), target="discrete") for p in (alone, given)]
    assert found[0].guarantee == "deterministic"
    assert not [a for a in found[0].assumptions if a.status == "declared"]
    assert found[0].lower <= found[1].upper
    assert found[1].lower <= found[0].upper


def test_corners_leave_the_derivatives_to_the_caller():
    problem = pp.fem.Semilinear(generate("interval", 8), g=Reaction("abs(u)*u", "2*abs(u)", "2"), source=1.0)
    found = pp.certify(problem, np.zeros(9), problem.points([[0.4]]), target="discrete")
    assert [a.claim for a in found.assumptions if a.status == "declared"] == [
        "the formulas of g′ and g″ are the derivatives of g, which has corners"
    ]
    with pytest.raises(InputError, match="give first and second too"):
        Reaction("abs(u)*u")


FORMULAS = (
    "sinh(5*u)|u**5|-0.1*u**3 + 2*u|(1+u**2)**(-1.5)|tanh(3*u)|atan(u)/pi|u**3/(1+u**2)|exp(-u**2)|2**u|log(1+exp(u))"
)


@pytest.mark.parametrize(
    "text", [*FORMULAS.split("|"), "sqrt(1+u*u)|u**u|acos(u/9) - asin(u/9)|tan(u/9) - cos(u)|u**2.5"]
)
def test_derivatives_of_formulas_agree_with_differences(text):
    """Against differences of fourth order."""
    from pinnpoint.formulas.derivatives import derivative
    from pinnpoint.formulas.expressions import parse

    for one in text.split("|"):
        g = parse(one, ("u",))
        slope = derivative(g)
        u, h = np.array([0.3, 0.7, 1.4]), 1e-3
        fourth = (8 * (g(u + h) - g(u - h)) - (g(u + 2 * h) - g(u - 2 * h))) / (12 * h)
        assert slope(u) == pytest.approx(fourth, rel=1e-7, abs=1e-8)
    assert derivative(parse("max(u, 0)", ("u",))) is None
