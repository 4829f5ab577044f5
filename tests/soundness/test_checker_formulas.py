"""The checker's own enclosures of formulas: discs, distances from polynomials, bounds on cells; narrow bumps fail."""

from __future__ import annotations

import cmath
import shutil
from fractions import Fraction

import flint
import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint_verify import enclosures
from pinnpoint_verify.checker import Ball, means
from pinnpoint_verify.claims import verify
from pinnpoint_verify.discs import Walk
from pinnpoint_verify.enclosures import Discs, enclosed, inverse_gram, largest, line, pairs, rule
from pinnpoint_verify.reader import Refused
from pinnpoint_verify.samples import Samples
from tests.soundness.test_bundle_forged import Forger

SMOOTH = ["exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "atan", "log", "sqrt", "asin", "acos"]
FORMULAS = [
    "exp(x*y)*cos(2*y)",
    "1/(1.3+x+y)",
    "sin(3*x)*tanh(2*y-x)",
    "sqrt(1+x**2)*log(2+y)",
    "atan(4*x-1)+asin(0.3*x*y)",
    "(1+x)**-3+y**5-x**1.5*0.1",
]


def simplices(d: int, count: int, size: float, seed: int) -> np.ndarray:
    """Random simplices inside the unit cube, not flat."""
    draw = np.random.default_rng(seed)
    corners = np.concatenate([np.zeros((1, d)), np.eye(d)]) + 0.3 * draw.random((count, d + 1, d))
    return 0.1 + 0.5 * draw.random((count, 1, d)) + size * corners


@pytest.mark.parametrize("name", SMOOTH)
def test_a_function_stays_within_its_disc(name):
    """At points of the circle |z − m| = r, by Python's complex functions."""
    draw = np.random.default_rng(len(name))
    low, high = {"log": (0.1, 3.0), "sqrt": (0.1, 3.0), "asin": (-0.9, 0.9), "acos": (-0.9, 0.9)}.get(name, (-2.0, 2.0))
    m, r = draw.uniform(low, high, 200), 10.0 ** draw.uniform(-3.0, 0.3, 200)
    found = Walk(f"{name}(x)", [Ball(m, r)])
    good = np.isfinite(found.value.r) & ~found.rough
    assert good.sum() > 40
    complex_function = getattr(cmath, name)
    for i in np.nonzero(good)[0]:
        for angle in np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False):
            z = m[i] + r[i] * cmath.exp(1j * angle)
            assert abs(complex_function(z) - found.value.m[i]) <= found.value.r[i] * (1.0 + 1e-13) + 1e-15


@pytest.mark.parametrize("name", SMOOTH)
def test_values_hold_those_of_200_bits(name):
    """What is trusted of numpy's elementary functions, with half of it to spare."""
    low, high = {"log": (1e-3, 9.0), "sqrt": (1e-3, 9.0), "asin": (-0.9, 0.9), "acos": (-0.9, 0.9)}.get(
        name, (-9.0, 9.0)
    )
    m = np.random.default_rng(5).uniform(low, high, 500)
    found = Walk(f"{name}(x)", [Ball(m)]).value
    before, flint.ctx.prec = flint.ctx.prec, 200
    try:
        for x, value, radius in zip(m, found.m, found.r, strict=True):
            true = getattr(flint.arb(float(x)), name)()
            spare = 1 if name == "acos" else 2  # which is π/2 less another
            assert abs(flint.arb(float(value)) - true) <= flint.arb(float(radius)) / spare
    finally:
        flint.ctx.prec = before


@pytest.mark.parametrize("formula", ["abs(x-0.5)", "max(x, 0.5)", "min(x, 1-x)", "sqrt(x-0.5)", "asin(2*x)"])
def test_kinks_are_marked_and_other_places_are_not(formula):
    walk = Walk(formula, [Ball(np.array([0.5, 0.7 if "asin" not in formula else 0.2]), np.array([0.1, 0.01]))])
    assert walk.rough.tolist() == [True, False]


def test_what_is_not_bounded_is_infinite_and_never_a_number_that_is_none():
    X = [Ball(np.array([0.0, 1.0]), np.array([0.5, 0.5]))]
    for formula in ("1/x", "log(x)", "exp(3000*x)", "tan(3*x)", "x**-2", "0*exp(3000*x)", "exp(3000*x)-exp(3000*x)"):
        value = Walk(formula, X).value
        assert np.all(np.isfinite(value.m))
        assert value.r[0] == np.inf


def test_decimals_are_real_numbers():
    value = Walk("0.1", [Ball(np.zeros(1))]).value
    assert abs(Fraction(float(value.m[0])) - Fraction(1, 10)) <= Fraction(float(value.r[0]))
    assert value.r[0] < 1e-16


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("n", [0, 2, 5])
def test_distances_are_above_what_least_squares_leave(formula, n):
    """The rms of what is left by the best polynomial at many points is below the distance in the maximum norm."""
    V = simplices(2, 12, 0.2, n)
    B = rule(2, 11)[0]
    powers = [(i, j) for i in range(n + 1) for j in range(n + 1 - i)]
    E = Discs(formula, V).distance(n)
    assert np.all(np.isfinite(E))
    for corners, bound in zip(V, E, strict=True):
        X = B @ corners
        f = Walk(formula, [Ball(X[:, 0]), Ball(X[:, 1])]).value.m
        A = np.stack([X[:, 0] ** i * X[:, 1] ** j for i, j in powers], axis=1)
        left = f - A @ np.linalg.lstsq(A, f, rcond=None)[0]
        assert np.sqrt(np.mean(left**2)) <= bound + 1e-13


@pytest.mark.parametrize("d", [1, 2, 3])
def test_rules_are_exact_but_for_their_defect(d):
    """Means of products of barycentric coordinates, to the highest degree."""
    from math import factorial, prod

    for m in (4, 7):
        B, w, off = rule(d, m)
        assert np.all(w > 0.0)
        for powers in ((2 * m - 1,) + (0,) * d, (m, m - 1) + (0,) * (d - 1)):
            mean = prod(map(factorial, powers)) * factorial(d) / factorial(d + sum(powers))
            assert abs(np.prod(B ** np.array(powers), axis=1) @ w - mean) <= off


def test_a_defect_sees_a_point_that_was_moved(monkeypatch):
    from scipy import special

    honest, jacobi = line(5, 1)[2], special.roots_jacobi

    def moved(*given):
        x, w = jacobi(*given)
        return x + np.array([1e-9, 0.0, 0.0, 0.0, 0.0]), w

    monkeypatch.setattr(special, "roots_jacobi", moved)
    assert line.__wrapped__(5, 1)[2] > 1e-10 > 1e4 * honest


def projected(formula: str, V: np.ndarray, points: int = 14, around=None) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of the projection onto quadratics by a rule, and the rms of what it, or another one, leaves."""
    d = V.shape[1] - 1
    B, w, _ = rule(d, points)
    X = np.einsum("qi,nic->nqc", B, V)
    f = Walk(formula, [Ball(X[..., i]) for i in range(d)]).value.m
    flat = np.stack([(f * B[:, j] * B[:, k]) @ w for j, k in pairs(d)], axis=1) @ inverse_gram(d)
    beta = np.zeros((len(V), d + 1, d + 1))
    for p, (j, k) in enumerate(pairs(d)):
        beta[:, j, k] = beta[:, k, j] = flat[:, p] * (1.0 if j == k else 0.5)
    left = f - np.einsum("njk,qj,qk->nq", beta if around is None else around, B, B)
    return beta, np.sqrt((left**2) @ w)


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("size", [0.4, 0.05])
def test_bounds_on_cells_hold_and_are_sharp(formula, size):
    V = simplices(2, 8, size, 3)
    beta, rms = projected(formula, V)
    rest, rough = enclosed(formula, V, beta, 1e-12)
    assert not rough.any()
    assert np.all(rest[:, 0] >= rms * (1.0 - 1e-9) - 1e-15)
    assert np.all(rest[:, 0] <= rms * (1.0 + 1e-4) + 1e-11)
    assert np.all(rest[:, 1] <= 1e-11 * np.abs(beta).max())
    moved = beta + 0.01 * np.eye(3)[0][:, None] * np.eye(3)[0]  # λ₀² has the rms 1/√15
    rest, _ = enclosed(formula, V, moved, 1e-12)
    assert np.allclose(rest[:, 1], 0.01 / np.sqrt(15.0), rtol=1e-6)


def test_bounds_in_one_and_three_dimensions_hold_and_are_sharp():
    for d, formula in ((1, "exp(2*x)*sin(9*x)"), (3, "exp(x*y)*cos(z)+1/(2+x+z)")):
        V = simplices(d, 4, 0.3, d)
        beta, rms = projected(formula, V)
        rest, _ = enclosed(formula, V, beta, 1e-10)
        assert np.all(rest[:, 0] >= rms * (1.0 - 1e-9))
        assert np.all(rest[:, 0] <= rms * (1.0 + 1e-4) + 1e-10)
        assert np.all(rest[:, 1] <= 1e-9)


def test_largest_values_on_facets_hold_and_are_met():
    V = np.array([[[0.0], [0.5]], [[0.5], [1.0]]])
    beta = np.zeros((2, 2, 2))
    bound = largest("sin(pi*x)*x*(1-x)", V, beta, 0.2501)
    assert 0.25 <= bound <= 0.2501
    assert largest("sin(pi*x)*x*(1-x)", V, beta, 0.2) >= 0.25


BUMP = "+3e5*exp(-((x-0.70703)**2+(y-0.30469)**2)/4e-8)"
EDGE = "+1e3*exp(-(y-0.30469)**2/1e-9)"
DATA = {
    "source": ({"source": "exp(x)*sin(3*y)"}, {"boundary": 0.0}, {}),
    "neumann": ({"source": 1.0}, {"left": 0.0}, {"right": "cos(y)"}),
    "dirichlet": ({"source": 1.0}, {"left": "cos(y)"}, {}),
    "robin": ({"source": 1.0, "robin": {"right": ("cos(y)", 1.0)}}, {"left": 0.0}, {}),
}


def bundle(folder, what: str):
    more, held, free = DATA[what]
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 10), dirichlet=held, neumann=free, **more)
    queries = problem.points([[0.4, 0.6]]) + problem.mean()
    certificate = pp.certify(problem, problem.space.U0, queries)
    pp.write_bundle(folder, certificate, problem, problem.space.U0, queries)


def bumped(folder, what: str) -> None:
    """The formula in all files, and nothing else."""
    plain = {"source": "exp(x)*sin(3*y)", "kink": "abs(x-0.3)"}.get(what, "cos(y)")
    more = {"source": BUMP, "kink": BUMP.replace("0.70703", "0.29931")}.get(what, EDGE)
    forger = Forger(folder)
    for name in ("case.json", "proof.json", "certificate.json"):
        text = (folder / name).read_text()
        (folder / name).write_text(text.replace(plain, plain + more))
    forger.seal()


@pytest.mark.parametrize("what", DATA)
def test_a_narrow_bump_in_a_formula_is_refused(tmp_path, what, monkeypatch):
    """It moves the solution by far more than the claimed radius, and samples do not see it."""
    bundle(tmp_path / "b", what)
    lines = verify(tmp_path / "b")
    assert any("from the case's formulas" in line for line in lines) == (what in ("source", "neumann", "robin"))
    declared = [line for line in lines if line.startswith("declared:")]
    assert any("polynomials of the Dirichlet data" in line for line in declared) == (what == "dirichlet")
    assert not any("lower bounds of Robin coefficients" in line for line in declared)
    shutil.copytree(tmp_path / "b", tmp_path / "bumped")
    bumped(tmp_path / "bumped", what)
    with pytest.raises(Refused, match="is proved" if what != "dirichlet" else "larger somewhere|sampled"):
        verify(tmp_path / "bumped")
    if what == "source":  # what it took: without these bounds nothing is noticed
        monkeypatch.setattr(Samples, "prove", lambda self, p, rows: None)
        assert verify(tmp_path / "bumped")


SOLIDS = {
    "body": {"body": ["exp(x)*sin(3*y)", 0.0]},
    "traction": {"neumann": {"right": [0.0, "cos(y)"]}},
    "temperature": {"expansion": 0.1, "temperature": "cos(y)"},
    "held": {"dirichlet": {"left": [0.0, "cos(y)"]}, "body": [1.0, 0.0]},
}


@pytest.mark.parametrize("what", SOLIDS)
def test_a_narrow_bump_in_a_formula_of_a_solid_is_refused(tmp_path, monkeypatch, what):
    given = {"dirichlet": {"left": 0.0}, **SOLIDS[what]}
    problem = pp.fem.Elasticity(pp.io.generate("square", 8), 2.0, 0.3, **given)
    queries = problem.patch("left" if what == "held" else "right", "y", "end") + problem.mean("x", "mean")
    certificate = pp.certify(problem, problem.space.U0, queries)
    pp.write_bundle(tmp_path / "b", certificate, problem, problem.space.U0, queries)
    declared = [line for line in verify(tmp_path / "b") if line.startswith("declared:")]
    assert not any(word in line for line in declared for word in ("body force", "traction", "thermal stress", "means"))
    bumped(tmp_path / "b", "source" if what == "body" else "solid")
    if what == "held":  # before anything is proved; what is proved of its mean would notice it too
        with pytest.raises(Refused, match="varies too fast for samples"):
            verify(tmp_path / "b")
        monkeypatch.setattr("pinnpoint_verify.solid_gaps.calm", lambda *_: None)
    with pytest.raises(Refused, match=r"is proved|another mean"):
        verify(tmp_path / "b")


def test_cells_with_kinks_are_counted(tmp_path):
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), "abs(x-0.3)", dirichlet={"boundary": 0.0})
    queries = problem.mean()
    certificate = pp.certify(problem, problem.space.U0, queries)
    pp.write_bundle(tmp_path / "b", certificate, problem, problem.space.U0, queries)
    assert any("enclosures of the source on 8 of 32 cells" in line for line in verify(tmp_path / "b"))
    bumped(tmp_path / "b", "kink")  # in such a cell
    with pytest.raises(Refused, match="is proved"):
        verify(tmp_path / "b")


ODD = {
    "no value": {"source": 1.0, "dirichlet": {"left": 0.0}, "robin": {"right": (1.0, 0.0)}},
    "no value and a formula": {"source": 1.0, "dirichlet": {"left": 0.0}, "robin": {"right": ("1+y", 0.0)}},
    "beside a held side": {"source": 1.0, "dirichlet": {"left": 0.0}, "robin": {"top": ("1+x", "x*x")}},
    "a steep layer": {"source": "tanh(300*(x-0.37))"},
    "a root at the corner": {"source": "(x+y)**1.7"},
    "a logarithm": {"source": "log(1e-9+x)"},
}


@pytest.mark.parametrize("what", ODD)
def test_honest_bundles_with_odd_data_verify(tmp_path, what):
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 3), **ODD[what])
    queries = problem.mean() + (problem.flux("left") if "dirichlet" in ODD[what] else problem.points([[0.4, 0.55]]))
    certificate = pp.certify(problem, problem.space.U0, queries)
    pp.write_bundle(tmp_path / "b", certificate, problem, problem.space.U0, queries)
    assert verify(tmp_path / "b")


def test_what_a_rule_does_not_see_is_counted(monkeypatch):
    """Of a rule with few points and no cuts: its own projection is not that of f, and its rms is too small."""
    monkeypatch.setattr(enclosures, "DEPTH", 0)
    monkeypatch.setitem(enclosures.LINES, 2, (4,))
    V, bump = np.array([[[0.0, 0.0], [0.2, 0.0], [0.0, 0.2]]]), "exp(-1500*((x-0.03)**2+(y-0.09)**2))"
    few, _ = projected(bump, V, 4)
    true, rms = projected(bump, V, 30, around=few)
    rest, rough = enclosed(bump, V, few)
    moved = true - few
    size = np.sqrt(np.einsum("njk,jklm,nlm->n", moved, means(2, 4).m, moved))
    seen = projected(bump, V, 4, around=few)[1]
    assert not rough.any()
    assert 0.01 < size[0] <= rest[0, 1]
    assert 1.05 * seen[0] < rms[0] <= rest[0, 0]


@pytest.mark.parametrize("d", [1, 2, 3])
def test_what_a_cubic_leaves_is_seen_to_be_small(d, monkeypatch):
    """1 − λu³ less its own quadratics: bounds hold at samples, and no cell has to be cut for rounding."""
    rng, V = np.random.default_rng(d), simplices(d, 12, 0.1, d)
    u = 0.05 + 0.01 * rng.random((12, d + 1))
    beta = np.zeros((12, d + 1, d + 1))
    for j, k in np.ndindex(d + 1, d + 1):  # of the quadratic with the values of 1 − 20u³ at vertices and midpoints
        a, b = u[:, j], u[:, k]
        middle = 1.0 - 20.0 * (0.5 * (a + b)) ** 3
        ends = 0.5 * ((1.0 - 20.0 * a**3) + (1.0 - 20.0 * b**3))
        beta[:, j, k] = 2.0 * middle - ends

    def bend(at, L):
        v = np.einsum("nj,nqj->nq", u[at], L)
        return Ball(-20.0 * v**3, 1e-17)

    made, own = [], enclosures.Part.__init__
    monkeypatch.setattr(enclosures.Part, "__init__", lambda self, *a: (made.append(1), own(self, *a))[1])
    rest, rough = enclosed(1.0, V, beta, 1e-13, 3, bend)
    assert not rough.any()
    assert len(made) <= 4
    B = rng.dirichlet(np.ones(d + 1), 400)
    L = np.broadcast_to(B, (12, 400, d + 1))
    gap = 1.0 + bend(np.arange(12), L).m - np.einsum("njk,qj,qk->nq", beta, B, B)
    assert np.all(np.sqrt((gap**2).mean(axis=1)) <= 1.5 * (rest[:, 0] + rest[:, 2]))
    bary = np.broadcast_to(np.eye(d + 1), (12, d + 1, d + 1))
    top = enclosures._bent_peaks((1.0, V, bary, beta, lambda L: bend(np.arange(12), L)), Discs(1.0, V))
    assert np.all(np.abs(gap).max(axis=1) <= top)
    assert np.all(top <= 40.0 * np.abs(gap).max(axis=1) + 1e-13)
