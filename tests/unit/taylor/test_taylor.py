"""Taylor models against 200-bit arithmetic, and what goes wrong when a piece of the remainder is left out."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from importlib.util import find_spec

import flint
import numpy as np
import pytest
from flint import arb, arb_mat, fmpq

from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import TOKEN, parse
from pinnpoint.taylor import formulas, functions, kernels, models, opaque, remainders, simplices, suprema, tables
from pinnpoint.taylor.bernstein import children, gram, pairs, values
from pinnpoint.taylor.declared import Declared
from pinnpoint.taylor.geometry import Simplices, coordinates, orders, path_order
from pinnpoint.taylor.inputs import ORDER
from pinnpoint.taylor.inputs import models as models_on
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.simplices import density, enclose, supremum
from pinnpoint.taylor.spaces import space
from tests.support.simplices import corners

UNARY = {name: getattr(arb, name) for name in "sin cos tan asin acos atan sinh cosh tanh exp log sqrt".split()}


@pytest.fixture(autouse=True)
def precision():
    before, flint.ctx.prec = flint.ctx.prec, 200
    yield
    flint.ctx.prec = before


def exact(expression, point):
    """The formula at a point of arbs, numbers as the text means them."""
    words = [w.group().strip() for w in TOKEN.finditer(expression.text) if w.group(1) or w.group(2) in ("pi", "e")]
    words.reverse()
    stack = []
    for kind, what in expression.program:
        if kind == "number":
            word = words.pop()
            named = {"pi": arb.pi, "e": lambda: arb(1).exp()}.get(word)
            stack.append(named() if named else arb(fmpq(*Fraction(word).as_integer_ratio())))
        elif kind == "variable":
            stack.append(point[what])
        elif kind == "negate":
            stack.append(-stack.pop())
        elif kind == "function":
            x = stack.pop()
            stack.append(abs(x) if what == "abs" else UNARY[what](x))
        else:
            b, a = stack.pop(), stack.pop()
            if kind == "fold":
                stack.append(a.min(b) if what == "min" else a.max(b))
            elif what == "**":
                whole = b.is_exact() and float(b) == int(float(b))
                stack.append(a ** int(float(b)) if whole else a**b)
            else:
                stack.append({"+": a + b, "-": a - b, "*": a * b}[what] if what != "/" else a / b)
    return stack.pop()


REGIMES = ("plain", "wide", "tiny", "far", "flat", "short")


def mixture(rng, m, d, count=4, regimes=REGIMES):
    return np.concatenate([corners(rng, m, d, regime, count) for regime in regimes])


def audit(expression, V, rng, points=5, q=None):
    """How many values were compared, how many lie outside, how many remainders were finite."""
    m = V.shape[1] - 1
    q = ORDER[m] if q is None else q
    model, which = models_on(expression, Simplices(V, np.zeros((len(V), V.shape[2]))), q)
    T = np.sort(rng.integers(0, 65, (points, m)) / 64.0, axis=1)[:, ::-1]
    T[0], T[1] = 0.0, 1.0
    monomials = [[math.prod(Fraction(2 * t - 1) ** int(a) for t, a in zip(row, p, strict=True)) for row in T.tolist()]
                 for p in model.space.powers]  # fmt: skip
    table = arb_mat([[arb(fmpq(x.numerator, x.denominator)) for x in row] for row in monomials])
    P = arb_mat(model.C.T.tolist()) * table
    outside = compared = 0
    for n in range(len(V)):
        if not math.isfinite(model.e[n]):
            continue
        path = [[arb(x) for x in row] for row in V[n][orders(m)[which[n]]].tolist()]
        e = arb(float(model.e[n]))
        for k, row in enumerate(T.tolist()):
            point = [path[0][c] + sum((arb(t) * (path[i + 1][c] - path[i][c]) for i, t in enumerate(row)), arb(0))
                     for c in range(V.shape[2])]  # fmt: skip
            gap = abs(exact(expression, point) - P[n, k])
            compared += 1
            outside += not gap.upper() <= e
    return np.array([compared, outside, int(np.isfinite(model.e).sum())])


SHAPES = [
    "sin({0})", "cos(2.3*({0}))", "exp(-({0})**2)", "tanh(3*({0}))", "atan({0})", "log(2.5 + cos({0}))",
    "sqrt(1.7 + sin({0}))", "asin(0.9*sin({0}))", "acos(0.8*tanh({0}))", "sinh(sin({0}))", "cosh(cos({0}))",
    "tan(sin({0}))", "abs({0})", "min({0}, {1})", "max({0}, {1})", "({0}) + ({1})", "({0}) - ({1})", "({0})*({1})",
    "({0})*({1})", "({0})/(1.3 + ({1})**2)", "({0})**3", "(2 + sin({0}))**0.7", "(1.1 + cos({0}))**(-1.5)",
    "2**sin({0})", "(1.5 + cos({0}))**sin({1})", "-({0})",
]  # fmt: skip


def formula(rng, depth, variables):
    if depth == 0:
        leaves = [*variables, *variables, f"{rng.uniform(0.1, 3.0):.3g}", "pi", "e", "0.1", "2"]
        return str(rng.choice(leaves))
    return str(rng.choice(SHAPES)).format(*(formula(rng, depth - 1, variables) for _ in range(2)))


@pytest.mark.slow
@pytest.mark.parametrize("m", [1, 2, 3])
def test_random_formulas_lie_within_their_remainders(m):
    rng = np.random.default_rng(m)
    total = np.zeros(3, dtype=int)
    for _ in range(150):
        text = formula(rng, 3, "xyz")
        if re.search(r"\b[xyz]\b", text):  # else a number
            total += audit(parse(text), mixture(rng, m, 3), rng)
    assert total[0] > 10_000
    assert total[1] == 0


NEAR = [
    ("sqrt(x)", 0.0), ("sqrt(x + 1e-12)", 0.0), ("1/(x + 1e-3)", 0.0), ("log(x + 1e-6)", 0.0), ("x**0.3", 0.0),
    ("tanh(30*x + 20)", 0.0), ("tanh(400*x - 3)", 0.0), ("1 - tanh(25 + y)**2", 0.0), ("asin(1 - x)", 0.0),
    ("acos(x)", 0.0), ("x**1.5*y", 0.0), ("abs(x - 0.3)", 0.3), ("max(x, y) - min(x, y)", 0.0),
    ("sqrt(x**2 + y**2)", 0.0),
    ("exp(-1000*x)", 0.0), ("sin(1000*x)/x", 1e-3), ("atan(1e4*(x - 0.1))", 0.1), ("cosh(20*x)*sinh(y)", 0.0),
    ("tan(1.5707*x)", 0.9), ("1e-200*x*1e-200*y*1e300", 0.0), ("x**(-3)", 0.01), ("(0.1 + 0.2 - 0.3)*x", 0.0),
]  # fmt: skip


@pytest.mark.parametrize(("text", "at"), NEAR)
def test_remainders_hold_next_to_singularities(text, at):
    rng = np.random.default_rng(7)
    f = parse(text)
    V = [np.abs(s * rng.uniform(0.0, 1.0, (6, 3, 2))) for s in (1e-9, 1e-5, 1e-2, 0.1)]
    for part in V:
        part[..., 0] += at
    V[2][:, 0] = [at, 0.0]  # a vertex on the singularity
    compared, outside, _ = audit(f, np.concatenate(V), rng, points=8)
    assert compared >= 48
    assert outside == 0


@pytest.mark.parametrize("text", ["1/(SIZE*(2 + x))", "log(SIZE*(2 + x))", "sqrt(SIZE*(2 + x))"])
def test_remainders_do_not_depend_on_the_unit_of_the_argument(text):
    """1/x is as smooth for x in [10⁶, 3·10⁶] as in [1, 3]: what is cut off is a share of the value."""
    S = space(1, 12)
    C = np.zeros((S.size, 1))
    C[1] = 1.0
    x = TaylorModel(S, C, np.zeros(1))
    points = np.linspace(-1.0, 1.0, 9)
    shares = {}
    for size in ("1", "1000000", "10**9"):
        formula = parse(text.replace("SIZE", size), ("x",))
        found = formulas.evaluate(formula, [x])
        shares[size] = float(found.e[0] / np.abs(found.C).sum())
        for at in points:
            value = sum(
                arb(float(c)) * arb(float(at)) ** int(p) for c, p in zip(found.C[:, 0], S.powers[:, 0], strict=True)
            )
            assert abs(value - exact(formula, [arb(float(at))])) <= found.e[0]
    assert max(shares.values()) <= 2.0 * shares["1"]


def test_the_arctangent_of_what_floats_cannot_square_is_enclosed():
    S = space(1, 4)
    C = np.zeros((S.size, 1))
    C[0], C[1] = 1e200, 2e200  # from −1e200 to 3e200
    found = functions.atan(TaylorModel(S, C, np.zeros(1)))
    assert float(found.e[0] + np.abs(found.C).sum()) >= 0.5 * math.pi


def test_hyperbolic_pair_of_saturated_units():
    """1/cosh² must keep its relative accuracy where tanh has long become 1."""
    S, rng = space(1, 6), np.random.default_rng(1)
    C = np.zeros((3, S.size, 40))
    C[:, 0] = rng.uniform(-40.0, 40.0, (3, 40))
    C[:, 1] = 10.0 ** rng.uniform(-9, -0.5, (3, 40))
    T, s = functions.tanh2(TaylorModel(S, C, np.zeros((3, 40))))
    assert T.C.shape == C.shape
    for b in range(3):
        for n in range(40):
            for xi in (-1.0, -0.25, 1.0):
                y = (arb(C[b, 0, n]) + arb(C[b, 1, n]) * xi).tanh()
                for model, truth in ((T, y), (s, 1 - y * y)):
                    p = sum((arb(c) * arb(xi) ** k for k, c in enumerate(model.C[b, :, n].tolist())), arb(0))
                    assert abs(p - truth).upper() <= arb(float(model.e[b, n]))
            if abs(C[b, 0, n]) > 5 and C[b, 1, n] < 0.01:
                assert s.e[b, n] < 1e-10 * s.C[b, 0, n]


def everything(rng):
    """Compared and outside over cases that need every piece of the remainder."""
    total = np.zeros(3, dtype=int)
    for text in (
        "x*y*x*y*x*y*x*y*x*y", "exp(3*x)*y", "exp(x)", "x**5*y", "0.1*x + y*0.7", "(0.1 + 0.2 - 0.3)*x",
        "sin(pi*(x + y))",
        "tanh(x)/(2 + y)", "exp(sin(10*x))", "log(3 + x)*sqrt(3 + y)",
    ):  # fmt: skip
        total += audit(parse(text), mixture(rng, 2, 2, 8), rng)
    return total


def drop(monkeypatch, piece):
    """Leave one piece of the remainder out."""
    S = space(2, 8, simplex=True)
    charges = S.charges.copy()
    zero = lambda *a: 0.0  # noqa: E731
    if piece == "functions cut off":
        monkeypatch.setattr(remainders, "cut_off", zero)
    elif piece == "products cut off":
        charges[S.q + 1 :] = 0.0
    elif piece == "into functions":
        monkeypatch.setattr(functions, "incoming_error", zero)
    elif piece == "into products":
        monkeypatch.setattr(models, "_incoming", zero)
    elif piece == "rounding of functions":
        monkeypatch.setattr(remainders, "rounding", zero)
    elif piece == "rounding of products":
        charges[: S.q + 1] = 0.0
    elif piece == "literals":
        monkeypatch.setattr(formulas, "literal_errors", lambda f: (0.0,) * len(f.program))
    monkeypatch.setitem(S.__dict__, "charges", charges)


@pytest.mark.parametrize(
    "piece",
    [
        None, "functions cut off", "products cut off", "into functions", "into products", "rounding of functions",
        "rounding of products", "literals",
    ],
)  # fmt: skip
def test_every_piece_of_the_remainder_is_needed(monkeypatch, piece):
    drop(monkeypatch, piece)
    compared, outside, _ = everything(np.random.default_rng(3))
    assert compared > 1200
    assert (outside > 0) == (piece is not None)


@pytest.mark.parametrize("count", [1, 7, 40, 600])
def test_sums_of_products_are_the_same_by_each_way(count, monkeypatch):
    """All at once, by factors in several blocks, and one by one in exact order."""
    rng, S = np.random.default_rng(count), space(2, 7)
    a, b = rng.standard_normal((2, 2, S.size, count))
    for triples, weights in ((S.triples, rng.standard_normal(len(S.triples))), S.euler[3], S.euler[0]):
        want = np.ones_like(a)
        for (i, j, g), w in zip(triples.tolist(), weights.tolist(), strict=True):
            want[:, g] += w * (a[:, i] * b[:, j])
        for way in (kernels._by_products, kernels._by_factors):
            out = np.ones_like(a)
            way(out, a, b, triples, weights)
            np.testing.assert_allclose(out, want, rtol=1e-12, atol=1e-12)


def test_products_with_coefficients_that_are_zero_everywhere_are_left_out(monkeypatch):
    S, rng = space(2, 8), np.random.default_rng(4)
    a, b = rng.standard_normal((2, 1, S.size, 300))
    a[:, 5:] = 0.0
    b[:, ::2] = 0.0
    whole, some, asked = np.zeros_like(a), np.zeros_like(a), []
    kernels._by_factors(whole, a, b, S.triples, S.ones)
    for way in ("_by_factors", "_by_products"):
        plain = getattr(kernels, way)
        monkeypatch.setattr(kernels, way, lambda *told, plain=plain: (asked.append(len(told[3])), plain(*told)))
    monkeypatch.setattr(kernels, "_compiled", lambda seconds=0.0: None)
    kernels.accumulate(some, a, b, S.triples, S.ones)
    assert asked == [sum(i < 5 and j % 2 == 1 for i, j, _ in S.triples.tolist())]
    np.testing.assert_allclose(some, whole, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(("d", "q"), [(0, 0), (1, 7), (2, 5), (3, 4)])
def test_triples_are_all_products_that_are_not_cut_off(d, q):
    S = space(d, q)
    powers = [tuple(a) for a in S.powers.tolist()]
    sums = {
        (i, j): tuple(x + y for x, y in zip(a, b, strict=True))
        for i, a in enumerate(powers)
        for j, b in enumerate(powers)
    }
    rows = [(i, j, powers.index(c)) for (i, j), c in sums.items() if sum(c) <= q]
    assert S.triples.tolist() == [list(row) for row in sorted(rows, key=lambda row: (row[2], row[0]))]


def test_without_numba_the_models_are_the_same(monkeypatch):
    rng = np.random.default_rng(5)
    monkeypatch.setattr(kernels._meter, "open", find_spec("numba") is not None)
    f = parse("sin(3*x)*exp(y)/(2 + x*y) + atan(x)*sqrt(2 + y)")
    V = mixture(rng, 2, 2)
    fast = models_on(f, Simplices(V, np.zeros((len(V), 2))), 8)[0]
    monkeypatch.setattr(kernels, "_compiled", lambda seconds=0.0: None)
    slow = models_on(f, Simplices(V, np.zeros((len(V), 2))), 8)[0]
    assert np.allclose(fast.C, slow.C, rtol=1e-12, atol=1e-15)
    assert np.allclose(fast.e, slow.e, rtol=1e-6, atol=1e-14)
    assert audit(f, V, rng)[1] == 0


def conical(m, n):
    """Gauss–Legendre points and weights collapsed onto a simplex, in arbs: barycentric points and weights."""
    line = [arb.legendre_p_root(n, k, weight=True) for k in range(n)]
    rule = [([arb(1)], arb(1))]
    for k in range(m):
        grown = []
        for bary, w in rule:
            for x, v in line:
                s = (1 + x) / 2
                grown.append(([b * (1 - s) for b in bary] + [s], w * v / 2 * (1 - s) ** k * (k + 1)))
        rule = grown
    return rule


@pytest.mark.parametrize(("m", "d", "n"), [(0, 2, 1), (1, 1, 24), (1, 3, 24), (2, 2, 18), (2, 3, 18), (3, 3, 11)])
def test_projections_and_distances(m, d, n):
    """Means of (f − Σ β B) B_jl vanish up to error1, and its root mean square is `high` up to error2."""
    rng = np.random.default_rng(10 * m + d)
    texts = (
        ["sin(3*pi*x)*exp(x) + 0.0144*x**2", "1/(1.3 + x)"] if d == 1 else ["sin(3*pi*x)*exp(x*y) + 0.1", "1/(3+x-y)"]
    )
    rule = conical(m, n)
    for text in texts:
        f = parse(text)
        V = mixture(rng, m, d, 1, ("plain", "tiny", "flat"))
        for tolerance, depth in ((None, 1), (0.0, 1)):  # in one piece, and all subdivided
            D = density(f, V, tolerance=tolerance, depth=depth)
            assert D.proved
            for i in range(len(V)):
                v = [[arb(x) for x in row] for row in V[i].tolist()]
                beta = [arb(b) for b in D.coefficients[i].tolist()]
                moments, square = [arb(0)] * len(beta), arb(0)
                for bary, w in rule:
                    point = [sum((b * row[c] for b, row in zip(bary, v, strict=True)), arb(0)) for c in range(d)]
                    B = [bary[j] * bary[q] * (2 - (j == q)) for j, q in pairs(m)]
                    gap = exact(f, point) - sum((x * y for x, y in zip(beta, B, strict=True)), arb(0))
                    moments = [s + w * gap * b for s, b in zip(moments, B, strict=True)]
                    square += w * gap * gap
                e1, e2 = arb(float(D.error1[i])), float(D.error2[i])
                assert all(abs(s).upper() <= e1 for s in moments)
                rms = float(square.sqrt().mid())
                assert rms <= (D.high[i] + e2) * (1 + 1e-12)
                assert rms >= (D.high[i] - e2) * (1 - 1e-12) - 1e-15
            assert (D.error1 < 1e-4).all()


def test_rounding_of_projections_is_counted(monkeypatch):
    """On tiny cells nothing but rounding is left, and without it the moments are off."""
    monkeypatch.setattr(simplices, "gamma", lambda k: 0.0)
    monkeypatch.setattr(simplices, "MANY", 1.0)
    f = parse("x + y")
    V = mixture(np.random.default_rng(0), 2, 2, 6, ("plain", "wide"))
    D = density(f, V)
    wrong = 0
    for i in range(len(V)):  # a linear function is its own projection
        sums = [arb(a) + arb(b) for a, b in V[i].tolist()]
        for (j, q), beta in zip(pairs(2), D.coefficients[i].tolist(), strict=True):
            wrong += not abs((sums[j] + sums[q]) / 2 - arb(beta)).upper() <= arb(float(D.error1[i]))
    assert wrong > 0


def test_midpoints_of_far_cells_are_not_trusted():
    """Children of cells far from the origin have rounded vertices; the slack covers them."""
    rng = np.random.default_rng(4)
    V = 1e-6 * rng.uniform(-1.0, 1.0, (20, 3, 2)) + 1e4 * rng.uniform(0.5, 1.0, (20, 1, 2))
    fine = Simplices(V, np.zeros((20, 2))).children().children()
    assert 0.0 < fine.slack.max() < 1e-11
    L = children(2)
    missed = 0
    for n in range(20):
        for a in range(4):
            for b in range(4):
                k = (n * 4 + a) * 4 + b
                bary = L[b] @ L[a]
                for j in range(3):
                    for c in range(2):
                        truth = sum((arb(bary[j, i]) * arb(float(V[n, i, c])) for i in range(3)), arb(0))
                        gap = abs(truth - arb(float(fine.vertices[k, j, c]))).upper()
                        assert gap <= arb(float(fine.slack[k, c]))
                        missed += gap > arb(0)
    assert missed > 0


def square(n):
    g = np.linspace(0.0, 1.0, n + 1)
    x, y = np.meshgrid(g, g, indexing="ij")
    P, i = np.stack([x.ravel(), y.ravel()], 1), np.arange((n + 1) ** 2).reshape(n + 1, n + 1)
    a, b, c, d = i[:-1, :-1].ravel(), i[1:, :-1].ravel(), i[1:, 1:].ravel(), i[:-1, 1:].ravel()
    return P[np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])]


KINKS = (
    "abs(x-{0})",
    "max(0,x-{0}+{1}*y)",
    "min(x,{0},y)",
    "abs(sin(9*x))*max(y,{1})",
    "sqrt(abs(x-{0}))",
    "max(0,0.05-abs(x-{0}))",
    "50*exp(-4000*((x-{0})**2+(y-{1})**2))",
    "tanh(900*(x-{0}))",
    "abs(x-{0})/(x-{0})",
)


@pytest.mark.parametrize("text", KINKS)
def test_kinks_jumps_and_narrow_bumps_lie_within_their_bounds(text):
    rng, n = np.random.default_rng(5), 200
    i, j = np.mgrid[:n, :n]
    parts = [np.stack([(i + s / 3) / n, (j + s / 3) / n], axis=-1)[i + j < n + 1 - s] for s in (1, 2)]
    at = np.concatenate(parts)  # the middles of n² pieces
    bary = np.concatenate([1.0 - at.sum(axis=1, keepdims=True), at], axis=1)
    B, seen = values(bary), 0
    for _ in range(6):
        f = parse(text.format(*rng.uniform(0.2, 0.8, 2).tolist()))
        V = rng.uniform(0.0, 1.0, (4, 3, 2))
        V = V[np.abs(np.linalg.det(V[:, 1:] - V[:, :1])) > 0.02]
        X = np.einsum("qi,nic->nqc", bary, V)
        for tolerance in (1e-1, 1e-4):
            D = density(f, V, tolerance=tolerance)
            gap = f(X.reshape(-1, 2)).reshape(X.shape[:2]) - D.coefficients @ B.T
            slip = 1e-2 / n * np.abs(gap).max(axis=1) + 1e-12  # of these samples
            assert np.all(np.sqrt((gap**2).mean(axis=1)) <= D.high + D.error2 + slip)
            assert np.all(np.abs(gap @ B / len(B)).max(axis=1) <= D.error1 + slip)
            seen += int(np.sum(D.high > 1e-3))
    assert seen > 0 or "/" in text


def test_quadratics_are_their_own_projections():
    D = density(parse("3*x**2 - x*y/4 + y - 0.2"), square(4))
    assert D.high.max() < 1e-14
    assert D.error1.max() < 1e-13
    middle = D.coefficients @ values(np.full(3, 1 / 3))
    assert np.allclose(middle, parse("3*x**2 - x*y/4 + y - 0.2")(square(4).mean(axis=1)), atol=1e-14)


def test_remainders_fall_with_their_order():
    """`high` falls like h³, the remainder like h^{q+1}."""
    f = parse("sin(x + 2*y)*exp(x)")
    coarse, fine = (density(f, square(n), order=4) for n in (4, 8))
    assert coarse.high.max() / fine.high.max() == pytest.approx(8.0, rel=0.15)
    assert 20.0 < coarse.error1.max() / fine.error1.max() < 50.0


def test_subdivision_reaches_the_tolerance_or_says_how_far_it_came():
    V = square(4)
    for text, tolerance in (("tanh(40*(x - y))", 1e-8), ("exp(sin(9*x*y))", 1e-12), ("abs(x - 0.3)", 1e-4)):
        f = parse(text)
        D = density(f, V, tolerance=tolerance)
        assert D.error1.max() <= tolerance * (1 + 1e-9)
        G = density(f, V, tolerance=tolerance / 4)
        assert np.abs(D.coefficients - G.coefficients).max() < 20 * tolerance
    assert np.isinf(density(parse("1/(x - 0.3)"), V).error1).sum() == 8
    assert density(parse("sqrt(x)"), V, tolerance=1e-3).error1.max() < 1e-3
    assert density(parse("sqrt(x**2 + y**2)"), V, tolerance=1e-4).error1.max() < 1e-4
    aligned = density(parse("abs(x - 0.5) + max(x, y)"), V)  # kinks along edges
    assert aligned.error1.max() < 1e-13


def test_constants_have_no_remainder_but_rounding():
    D = density(2.5, square(1))
    assert (D.coefficients == 2.5).all()
    assert not D.error1.any()
    D = density(parse("0.1*sqrt(2)"), square(1))
    truth = arb(2).sqrt() / 10
    assert abs(truth - arb(float(D.coefficients[0, 0]))).upper() <= arb(float(D.error1[0]))
    assert D.error1[0] < 1e-15
    assert not density(parse("0.5*4 - 1/4"), square(1)).error1[0]


def test_values_at_points():
    rng = np.random.default_rng(2)
    f = parse("sin(pi*x)*exp(y)/(1.1 + x**2) + 0.3**y")
    P = rng.uniform(-3.0, 3.0, (300, 2))
    value, error = enclose(f, P)
    assert error.max() < 1e-12
    for p, v, e in zip(P.tolist(), value.tolist(), error.tolist(), strict=True):
        assert abs(exact(f, [arb(c) for c in p]) - arb(v)).upper() <= arb(e)
    assert np.isinf(enclose(parse("log(x)"), [[-1.0]])[1])


@pytest.mark.parametrize("m", [1, 2, 3])
def test_suprema_are_above_every_sample(m):
    rng = np.random.default_rng(m)
    f = parse("sin(5*x)*exp(y) + z/3")
    V = mixture(rng, m, 3, 3, ("plain", "wide", "tiny"))
    beta = density(f, V).coefficients
    grid = np.stack(np.meshgrid(*[np.arange(25.0)] * (m + 1), indexing="ij"), axis=-1).reshape(-1, m + 1)
    bary = grid[grid.sum(axis=1) == 24.0] / 24.0
    for minus in (None, beta):
        bound, proved = supremum(f, V, minus)
        assert proved
        found = np.abs(opaque.sample(f, V, bary) - (0.0 if minus is None else minus @ values(bary).T)).max(axis=1)
        assert (bound >= found * (1 - 1e-9) - 1e-15).all()
        assert (bound[:6] <= 1.02 * found[:6] + 1e-14).all()
    assert supremum(lambda P: f(P), V)[1] is False


def test_opaque_functions_are_estimated_and_say_so():
    f = parse("exp(x)*sin(y)")
    D, G = density(f, square(4)), density(lambda P: f(P), square(4))
    assert not G.proved
    assert np.abs(D.coefficients - G.coefficients).max() < 1e-12
    assert np.allclose(D.high, G.high, atol=1e-13)
    for m, order in ((1, 9), (2, 7), (3, 5)):
        bary, w = opaque.rule(m, order)
        B = values(bary)
        assert w.sum() == pytest.approx(1.0)
        assert np.allclose((B * w[:, None]).T @ B, gram(m), atol=1e-14)


def test_tables_are_exact():
    for m, q in ((1, 10), (2, 8), (3, 6)):
        S = space(m, q)
        G = np.array([[float(tables.mean(tuple((a + b).tolist()))) for b in S.powers] for a in S.powers])
        T, R, Z = tables.projection(m, q), tables.rest(m, q), tables.monomials(m, q)
        assert np.abs(T @ Z - np.eye(len(pairs(m)))).max() < 1e-14
        first = S.slices[3].start
        split = (T.T @ gram(m) @ T)[first:, first:] + R.T @ R  # Pythagoras
        assert np.abs(split - G[first:, first:]).max() < 1e-15 * S.size
        table, _ = tables.bernstein(m, q)
        assert np.abs(table).max() == 1.0
        assert np.abs(table @ Z).sum() > 0
        assert np.abs(tables.gathering(m).sum(axis=(0, 2)) - 1.0).max() < 1e-14


def test_paths_take_the_short_diagonal():
    V = np.array([[[0.0, 0.0], [3.0, 0.0], [1.0, 0.5]]])
    order = orders(2)[path_order(V)[0]]
    assert order[1] == 2  # opposite the longest edge


def test_batches_agree_with_single_models():
    V = square(2)
    X = coordinates(Simplices(V, np.zeros((len(V), 2))), path_order(V), 6)
    batch = TaylorModel(X[0].space, np.stack([x.C for x in X]), np.stack([x.e for x in X]))
    shift = constant(1.5)
    for g in (functions.exp, functions.sin, functions.tanh, functions.atan, functions.reciprocal, functions.absolute):
        both = g(batch + shift) * batch * X[1]
        for b in range(2):
            one = g(X[b] + shift) * X[b] * X[1]
            assert np.allclose(both.C[b], one.C, rtol=1e-13, atol=1e-300)
            assert np.allclose(both.e[b], one.e)


def test_bad_vertices_and_tolerances_are_refused():
    f = parse("x")
    for bad in (np.zeros((2, 5, 3)), np.zeros((2, 3, 1)), np.zeros((3, 2)), np.full((1, 2, 1), np.nan)):
        with pytest.raises(InputError, match="vertices"):
            density(f, bad)
    with pytest.raises(InputError, match="z in a 2D"):
        density(parse("z"), square(1))
    with pytest.raises(InputError, match="tolerance"):
        density(f, square(1), tolerance=[1.0])
    with pytest.raises(InputError, match="order"):
        density(f, square(1), order=40)
    with pytest.raises(InputError, match="minus"):
        supremum(f, square(1), np.zeros((2, 3)))
    with pytest.raises(InputError, match="proved error"):
        enclose(lambda P: P[:, 0], [[0.0]])
    with pytest.raises(InputError, match="not finite"):
        density(lambda P: np.log(P[:, 0] - 2.0 + 0j).real * np.nan, square(1))
    assert suprema.DEPTH[2] > 0


@pytest.mark.parametrize("at", [0.1, 0.9])
@pytest.mark.parametrize("what", ["bends", "errs"])
def test_declared_functions_can_be_as_bad_as_declared(at, what):
    """The bound is attained at the end that the difference step points away from: every part of it is needed."""
    M, accuracy, r = (3.0, 0.0, 0.01) if what == "bends" else (0.0, 1e-3, 0.01)

    def f(X):
        wrong = np.where(X[:, 0] == at, -accuracy, accuracy)
        return 0.5 * M * (X[:, 0] - 0.37) ** 2 + wrong

    x = TaylorModel(space(1, 3), np.array([[at], [r], [0.0], [0.0]]), np.zeros(1))
    model = Declared(f, M, accuracy, np.zeros(1), np.ones(1)).taylor([x])
    away = -1.0 if at < 0.5 else 1.0
    value = sum(float(c) * away**k for k, c in enumerate(model.C[:, 0]))
    error = abs(0.5 * M * (at + away * r - 0.37) ** 2 - value)
    assert error <= float(model.e[0]) <= (1.0 + 1e-6) * error
