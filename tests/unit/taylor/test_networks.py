"""Jets of formulas and networks against 400-bit power series, and what goes wrong when a term is left out."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from importlib.util import find_spec
from itertools import islice, pairwise

import flint
import numpy as np
import pytest
from flint import arb, arb_mat, arb_series, fmpq

import pinnpoint as pp
from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import TOKEN, parse
from pinnpoint.models import MLP, Lift
from pinnpoint.taylor import formulas, functions, inputs, kernels, models, networks, primitives, remainders
from pinnpoint.taylor.geometry import Simplices, orders
from pinnpoint.taylor.inputs import enclosed
from pinnpoint.taylor.inputs import models as models_on
from pinnpoint.taylor.models import TaylorModel
from pinnpoint.taylor.simplices import density, enclose, supremum
from pinnpoint.taylor.spaces import space
from pinnpoint.transfer.points.data_term import data_term
from pinnpoint.transfer.points.kernels import Kernel
from tests.support.simplices import corners

ACTIVATIONS = ("tanh", "sin", "sigmoid", "softplus", "silu", "gelu", "gelu-tanh")
SOURCE = parse("3*sin(2*x) + 0.1")
KAPPA, REACTION = 1.7, 0.3


@pytest.fixture(autouse=True)
def precision():
    before, flint.ctx.prec = flint.ctx.prec, 400
    cap, flint.ctx.cap = flint.ctx.cap, 3
    yield
    flint.ctx.prec, flint.ctx.cap = before, cap


# ---- truth: power series c + b t + a t² along each axis, so that no chain rule is written down twice


def series(*coefficients):
    return arb_series(list(coefficients), 3)


def tanh(z):
    one = series(arb(1))
    return one - series(arb(2)) / ((z + z).exp() + one)


def sigmoid(z):
    half = series(arb(1) / 2)
    return half + half * tanh(half * z)


def softplus(z):
    positive = z[0] > 0  # so that what is left of e^|z| is not lost in it
    rest = (series(arb(1)) + (-z if positive else z).exp()).log()
    return z + rest if positive else rest


def normal(z):
    half = series(arb(1) / 2)
    return half + half * (z * series((arb(1) / 2).sqrt())).erf()


def gelu_tanh(z):
    inner = series((arb(2) / arb.pi()).sqrt()) * (z + series(arb(fmpq(44715, 1000000))) * z * z * z)
    return series(arb(1) / 2) * z * (series(arb(1)) + tanh(inner))


BEND = {
    "tanh": tanh,
    "sin": lambda z: z.sin(),
    "sigmoid": sigmoid,
    "softplus": softplus,
    "silu": lambda z: z * sigmoid(z),
    "gelu": lambda z: z * normal(z),
    "gelu-tanh": gelu_tanh,
}
UNARY = {
    "sin": lambda z: z.sin(),
    "cos": lambda z: z.cos(),
    "tan": lambda z: z.tan(),
    "asin": lambda z: z.asin(),
    "acos": lambda z: z.acos(),
    "atan": lambda z: z.atan(),
    "exp": lambda z: z.exp(),
    "log": lambda z: z.log(),
    "sqrt": lambda z: z.sqrt(),
    "tanh": tanh,
    "sinh": lambda z: (z.exp() - (-z).exp()) / series(arb(2)),
    "cosh": lambda z: (z.exp() + (-z).exp()) / series(arb(2)),
}


def formula_series(expression, point):
    """The formula on power series, numbers as the text means them."""
    words = [w.group().strip() for w in TOKEN.finditer(expression.text) if w.group(1) or w.group(2) in ("pi", "e")]
    words.reverse()
    stack = []
    for kind, what in expression.program:
        if kind == "number":
            word = words.pop()
            named = {"pi": arb.pi, "e": lambda: arb(1).exp()}.get(word)
            stack.append(series(named() if named else arb(fmpq(*Fraction(word).as_integer_ratio()))))
        elif kind == "variable":
            stack.append(point[what])
        elif kind == "negate":
            stack.append(-stack.pop())
        elif kind == "function":
            stack.append(UNARY[what](stack.pop()))
        else:
            b, a = stack.pop(), stack.pop()
            if what == "**":
                n = b[0]
                small = n.is_exact() and float(n) == int(float(n)) and not any(map(float, (b[1].mid(), b[2].mid())))
                stack.append(a ** int(float(n)) if small else (b * a.log()).exp())
            else:
                stack.append(a + b if what == "+" else a - b if what == "-" else a * b if what == "*" else a / b)
    return stack.pop()


def network_series(net, inputs):
    """Each layer is one product of matrices whose columns are the coefficients of t⁰, t¹, t²."""
    h = arb_mat([[z[k] for k in range(3)] for z in inputs])
    for k, (W, b) in enumerate(zip(net.weights, net.biases, strict=True)):
        h = arb_mat(W.tolist()) * h
        rows = [[h[i, 0] + arb(float(b[i])), h[i, 1], h[i, 2]] for i in range(len(b))]
        if k < len(net.weights) - 1:
            bent = [BEND[net.activation](series(*row)) for row in rows]
            rows = [[z[0], z[1], z[2]] for z in bent]
        h = arb_mat(rows)
    return series(*(h[0, k] for k in range(3)))


def lift_series(lift, point):
    u = lift.prediction
    if isinstance(u, MLP):
        z = network_series(u, point if lift.inputs is None else [formula_series(f, point) for f in lift.inputs])
        if u.factor == "unit-box":
            for x in point:
                z = z * x * (series(arb(1)) - x)
    else:
        z = formula_series(u, point)
    z = z if lift.factor is None else formula_series(lift.factor, point) * z
    return z if lift.offset is None else formula_series(lift.offset, point) + z


def truth(lift, point):
    """Value, derivatives, Laplacian and residual at a point of arbs."""
    d, gradient, laplacian = len(point), [], arb(0)
    for axis in range(d):
        ray = [series(x, arb(1)) if i == axis else series(x) for i, x in enumerate(point)]
        z = lift_series(lift, ray)
        gradient.append(z[1])
        laplacian += 2 * z[2]
    f = formula_series(SOURCE, [series(x) for x in point])[0]
    return [z[0], *gradient, laplacian, f + arb(KAPPA) * laplacian - arb(REACTION) * z[0]]


def audit(lift, V, rng, q, points=4):
    """How many numbers were compared, and how many lie outside."""
    m, d = V.shape[1] - 1, V.shape[2]
    fields = [lift.value, *(lift.slope(i) for i in range(d)), lift.laplacian]
    fields.append(lift.residual(SOURCE, KAPPA, REACTION))
    parts = [models_on(f, Simplices(V, np.zeros((len(V), d))), q) for f in fields]
    which = parts[0][1]
    T = np.sort(rng.integers(0, 65, (points, m)) / 64.0, axis=1)[:, ::-1]
    T[0] = 0.0
    powers = space(m, q).powers
    monomials = [[math.prod(Fraction(2 * t - 1) ** int(a) for t, a in zip(row, p, strict=True)) for row in T.tolist()]
                 for p in powers]  # fmt: skip
    table = arb_mat([[arb(fmpq(x.numerator, x.denominator)) for x in row] for row in monomials])
    P = [arb_mat(model.C.T.tolist()) * table for model, _ in parts]
    compared = outside = 0
    for n in range(len(V)):
        path = [[arb(x) for x in row] for row in V[n][orders(m)[which[n]]].tolist()]
        for k, row in enumerate(T.tolist()):
            point = [path[0][c] + sum((arb(t) * (path[i + 1][c] - path[i][c]) for i, t in enumerate(row)), arb(0))
                     for c in range(d)]  # fmt: skip
            for (model, _), p, exact in zip(parts, P, truth(lift, point), strict=True):
                if math.isfinite(model.e[n]):
                    compared += 1
                    outside += not abs(exact - p[n, k]).upper() <= arb(float(model.e[n]))
    return np.array([compared, outside])


def network(rng, widths, activation="tanh", scale=1.0, factor="none"):
    W = [rng.normal(size=(m, n)) * scale / math.sqrt(n) for n, m in pairwise(widths)]
    return MLP(W, [rng.normal(size=m) * 0.5 * scale for m in widths[1:]], activation, factor)


def spread(rng, widths, activation="tanh"):
    """Weights over six orders of magnitude."""
    W = [rng.normal(size=(m, n)) * 10.0 ** rng.uniform(-4, 2, (m, n)) for n, m in pairwise(widths)]
    return MLP(W, [rng.normal(size=m) for m in widths[1:]], activation)


def mixture(rng, d, count=2, regimes=("plain", "tiny", "far", "flat", "short")):
    return np.concatenate([corners(rng, d, d, regime, count) for regime in regimes])


def cases(rng, d, activation):
    """Networks of every kind."""
    yield network(rng, (d, 12, 12, 1), activation)
    yield network(rng, (d, 12, 12, 1), activation, 12.0)  # saturated
    yield network(rng, (d, 6, 6, 6, 6, 6, 6, 1), activation, 1.5)  # deep
    yield network(rng, (d, 48, 1), activation, 2.0, "unit-box")  # wide
    yield spread(rng, (d, 8, 8, 1), activation)
    yield network(rng, (d, 1), activation, 3.0)  # linear


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_networks_lie_within_their_remainders(activation):
    rng = np.random.default_rng(ACTIVATIONS.index(activation))
    total = np.zeros(2, dtype=int)
    for d, q in ((1, 8), (2, 6), (3, 4)):
        for net in cases(rng, d, activation):
            total += audit(Lift(net), mixture(rng, d, 1 + (activation == "tanh")), rng, q)
    assert total[0] > 1400
    assert total[1] == 0


def test_lifts_with_factors_offsets_and_inputs():
    rng = np.random.default_rng(11)
    total = np.zeros(2, dtype=int)
    for _ in range(6):
        net = network(rng, (3, 10, 10, 1))
        lift = Lift(net, "sin(pi*x)*(1 - 0.3*y**2)", "exp(0.7*x) - y/3", ["2*x - 1", "cos(2*pi*y)", "sin(2*pi*y)"])
        total += audit(lift, mixture(rng, 2), rng, 6)
    assert total[0] > 1000
    assert total[1] == 0


FORMULAS = [
    "sin({0})*cos(2.3*({1}))", "exp(-({0})**2)", "tanh(3*({0}))", "atan({0})*({1})", "log(2.5 + cos({0}))",
    "sqrt(1.7 + sin({0}))", "asin(0.7*sin({0}))", "acos(0.6*tanh({0}))", "sinh(sin({0}))", "cosh(cos({0}))",
    "tan(0.7*sin({0}))", "({0}) + ({1})", "({0}) - 3*({1})", "({0})*({1})", "({0})/(1.3 + ({1})**2)", "({0})**3",
    "(2 + sin({0}))**0.7", "(1.1 + cos({0})/2)**(-1.5)", "(1.2 + cos({0})/2)**(-2)", "2**sin({0})",
    "(1.5 + cos({0}))**sin({1})", "-({0})", "({0})**1", "({0})**2 + ({1})**0", "1/(3 + sin({0}))",
]  # fmt: skip


def formula(rng, depth, variables):
    if depth == 0:
        return str(rng.choice([*variables, *variables, f"{rng.uniform(0.1, 3.0):.3g}", "pi", "0.1", "2"]))
    return str(rng.choice(FORMULAS)).format(*(formula(rng, depth - 1, variables) for _ in range(2)))


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 3])
def test_formulas_lie_within_their_remainders(d):
    rng = np.random.default_rng(20 + d)
    total = np.zeros(2, dtype=int)
    for shape in FORMULAS:
        total += audit(Lift(shape.format("xyz"[d - 1], "x")), mixture(rng, d, 1), rng, 5, points=3)
    drawn = (formula(rng, 2, "xyz"[:d]) for _ in range(400))
    for text in islice((text for text in drawn if re.search(r"\b[xyz]\b", text)), 40):  # others are numbers
        total += audit(Lift(text), mixture(rng, d, 1), rng, 5, points=3)
    assert total[0] > 3000
    assert total[1] == 0


# ---- each term is needed


def without(monkeypatch, what):
    """Leave one term of the remainders out."""
    silence = lambda *_: 0.0  # noqa: E731
    patch = monkeypatch.setattr
    if what == "products of a layer":
        patch(networks, "gamma", lambda _: 0.0)
    elif what == "bias":
        patch(networks, "UNIT", 0.0)
    elif what == "remainders into a layer":
        real = networks.linear
        patch(networks, "linear", lambda W, h, b=None: real(W, h if h is networks.ZERO else exactly(h), b))
    elif what in ("cut_off", "rounding"):
        patch(remainders, what, silence)
    elif what == "remainders into a function":
        patch(functions, "incoming_error", silence)
        patch(primitives, "incoming_error", silence)
    elif what == "remainders into a product":
        patch(models, "_incoming", silence)
    elif what in ("products rounded", "products cut off"):
        real, keep = kernels.weighted, what == "products rounded"
        patch(kernels, "weighted", lambda A, B, w: real(A, B, np.where((w > 1e-6) == keep, w, 0.0)))
    elif what in ("sums", "multiples"):
        patch(models, "UNIT", 0.0)
    elif what == "remainders into a sum":
        real = TaylorModel.__add__
        patch(TaylorModel, "__add__", lambda a, b: real(exactly(a), exactly(b)))
    elif what == "decimals":
        patch(formulas, "literal_errors", lambda f: (0.0,) * len(f.program))
    elif what == "coordinates":
        real = inputs.coordinates
        patch(inputs, "coordinates", lambda *given: [exactly(x) for x in real(*given)])
    elif what == "remainder of the derivative":
        real = primitives.along_rays
        patch(primitives, "along_rays", lambda x, a, D, *rest: real(x, a, exactly(D), *rest))
    elif what == "rays":
        patch(primitives, "ray_charge", silence)


def exactly(x):
    return TaylorModel(x.space, x.C, np.zeros_like(x.e))


def probe(rng, what):
    """What is sensitive to a term: lift, regime, order."""
    if what in ("products of a layer", "bias"):
        return Lift(network(rng, (2, 1), scale=3.0)), "short", 2
    if what in ("rays", "remainder of the derivative"):
        return Lift(network(rng, (2, 4, 1), "softplus", 3.0)), "wide", 2
    if what == "products rounded":
        return Lift("x*y*x*y*x*y"), "short", 6
    if what == "products cut off":
        return Lift("x*y*x*y"), "short", 2
    if what == "sums":
        return Lift("x + 2**(-60) + y"), "short", 2
    if what in ("multiples", "decimals"):
        return Lift({"multiples": "(1 + 2**(-50))*x", "decimals": "0.1"}[what]), "short", 2
    if what == "coordinates":
        return Lift("x - y"), "far", 2
    if what == "remainders into a sum":
        return Lift("exp(2*x) + exp(3*y)"), "wide", 3
    if what == "rounding":
        return Lift("exp(x)"), "short", 6
    return Lift(network(rng, (2, 5, 5, 1), scale=1.5)), "wide", 3


TERMS = [
    "products of a layer", "bias", "remainders into a layer", "cut_off", "rounding", "remainders into a function",
    "remainders into a product", "products rounded", "products cut off", "sums", "remainders into a sum", "multiples",
    "decimals", "coordinates", "remainder of the derivative", "rays",
]  # fmt: skip


@pytest.mark.parametrize("what", TERMS)
def test_audit_fails_without(what, monkeypatch):
    def failures():
        rng = np.random.default_rng(5)
        found = 0
        for _ in range(12):
            lift, regime, q = probe(rng, what)
            found += audit(lift, corners(rng, 2, 2, regime, 4), rng, q)[1]
        return found

    assert failures() == 0
    without(monkeypatch, what)
    assert failures() > 0


def test_values_of_primitives(monkeypatch):
    """log(1 + e^x) and Φ at points, where the library's rounding is all there is."""
    X = np.concatenate([np.linspace(-40.0, 40.0, 801), np.random.default_rng(0).uniform(-3.0, 3.0, 800)])
    flint.ctx.cap = 1
    exact = {"softplus": [softplus(series(arb(x)))[0] for x in X], "normal": [normal(series(arb(x)))[0] for x in X]}

    def outside(name):
        y = getattr(primitives, name)(TaylorModel(models.POINT, X[None], np.zeros(len(X))))[0]
        pairs = zip(exact[name], y.C[0].tolist(), y.e.tolist(), strict=True)
        return sum(not abs(t - arb(c)).upper() <= arb(e) for t, c, e in pairs)

    assert outside("softplus") == outside("normal") == 0
    monkeypatch.setattr(primitives, "LIBM", 0.0)
    assert outside("softplus") > 0


# ---- lifts as data


@pytest.fixture(scope="module")
def lift():
    return Lift(network(np.random.default_rng(3), (2, 9, 9, 1), factor="unit-box"))


def test_values_agree_with_the_network(lift):
    X = np.random.default_rng(0).uniform(-0.5, 1.5, (300, 2))
    u, gradient, laplacian = lift.prediction.derivatives(X)
    np.testing.assert_allclose(lift.value(X), u, rtol=0, atol=1e-14)
    np.testing.assert_allclose(np.stack([lift.slope(0)(X), lift.slope(1)(X)], axis=1), gradient, rtol=0, atol=1e-13)
    np.testing.assert_allclose(lift.laplacian(X), laplacian, rtol=0, atol=1e-12)
    np.testing.assert_allclose(lift.minus("x*y")(X), u - X[:, 0] * X[:, 1], rtol=0, atol=1e-13)
    flux = 0.5 - 2.0 * (gradient @ [0.6, -0.8])
    np.testing.assert_allclose(lift.flux([0.6, -0.8], 2.0, 0.5)(X), flux, rtol=0, atol=1e-12)
    np.testing.assert_allclose(lift.flux([0.6, -0.8], 2.0, lambda X: 0.5 + 0.0 * X[:, 0])(X), flux, rtol=0, atol=1e-12)
    r = lift.residual(SOURCE, 2.0, 3.0)
    np.testing.assert_allclose(r(X), SOURCE(X) + 2.0 * laplacian - 3.0 * u, rtol=0, atol=1e-12)


def test_lifts_are_data(lift):
    """Densities, suprema and values of a field and of the same field as an opaque function agree."""
    V = (
        np.random.default_rng(1).uniform(0.0, 1.0, (1, 1, 2))
        + corners(np.random.default_rng(2), 2, 2, "plain", 30) * 0.3
    )
    r = lift.residual(SOURCE, 1.0)
    assert enclosed(r)
    sure, guess = density(r, V), density(lambda X: r(X), V)
    assert sure.proved
    assert not guess.proved
    assert float(sure.error2.max()) < 1e-6
    np.testing.assert_allclose(sure.coefficients, guess.coefficients, atol=1e-6)
    np.testing.assert_allclose(sure.high, guess.high, atol=1e-6)
    bound, proved = supremum(r, V)
    sampled, _ = supremum(lambda X: r(X), V)
    assert proved
    assert np.all((sampled <= bound) & (bound <= 1.02 * sampled + 1e-6))
    points = V[:, 0]
    value, error = enclose(lift.value, points)
    np.testing.assert_allclose(value, lift.prediction(points), rtol=0, atol=1e-14)
    assert np.all((error > 0.0) & (error < 1e-12))
    edge, _ = supremum(lift.minus(0.0), np.array([[[0.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [0.0, 1.0]]]))
    assert float(edge.max()) < 1e-12  # the factor vanishes there


def test_data_terms_of_lifts(lift):
    kernel = Kernel.build(2, 1.0, 0.0, 0.11)
    r = lift.residual(SOURCE, 1.0)
    value, error, proved = data_term(kernel, r, [0.4, 0.6], 1e-10)
    sampled, _, guess = data_term(kernel, lambda X: r(X), [0.4, 0.6], 1e-12)
    assert proved
    assert not guess
    assert abs(value - sampled) <= error + 1e-11
    assert error <= 1e-10


def test_lifts_narrow_the_interval_of_the_solution():
    """A field within one hundredth of the solution leaves a hundredth of the radius, on the same mesh."""
    pytest.importorskip("skfem")
    f, at = parse("2*pi**2*sin(pi*x)*sin(pi*y)"), np.array([[0.37, 0.52], [0.2, 0.7]])
    truth = np.sin(np.pi * at).prod(axis=1)
    mesh = pp.io.generate("square", 12)
    radii = []
    for lift in (Lift(0.0), Lift("0.99*sin(pi*x)*sin(pi*y)")):
        problem = pp.fem.ReactionDiffusion(mesh, source=lift.residual(f, 1.0))
        found = pp.certify(problem, lambda X: np.zeros(len(X)), problem.points(at))
        value, error = enclose(lift.value, at)
        assert str(found.guarantee) == "deterministic"
        assert np.all((found.lower + value - error <= truth) & (truth <= found.upper + value + error))
        radii.append(found.upper - found.lower)
    assert np.all(radii[1] < 0.0102 * radii[0])


def test_numbers_and_opaque_functions():
    X = np.random.default_rng(0).uniform(0.0, 1.0, (7, 2))
    flat = Lift(2.5)
    np.testing.assert_array_equal(flat.residual(1.0, 1.0, 2.0)(X), np.full(7, -4.0))
    np.testing.assert_array_equal(flat.slope(1)(X), np.zeros(7))
    opaque = Lift.opaque(lambda X: X[:, 0] ** 2, lambda X: np.full(len(X), 2.0), lambda X: 2.0 * X * [1.0, 0.0])
    np.testing.assert_allclose(opaque.residual("x", 3.0, 1.0)(X), X[:, 0] + 6.0 - X[:, 0] ** 2)
    np.testing.assert_allclose(opaque.slope(0)(X), 2.0 * X[:, 0])
    np.testing.assert_allclose(opaque.minus(1.0)(X), X[:, 0] ** 2 - 1.0)
    assert not enclosed(opaque.residual("x", 3.0))
    mixed = Lift("x**2").residual(lambda X: X[:, 0], 3.0, 1.0)
    assert not enclosed(mixed)
    np.testing.assert_allclose(mixed(X), X[:, 0] + 6.0 - X[:, 0] ** 2)


def test_formulas_without_second_derivatives_are_refused(lift):
    with pytest.raises(InputError, match="abs has no second derivatives"):
        Lift("abs(x)").laplacian(np.zeros((1, 1)))
    with pytest.raises(InputError, match="min has no second derivatives"):
        Lift("min(x, 1)").laplacian(np.zeros((1, 1)))
    assert Lift("abs(x) + max(1, 2)").value(np.array([[-3.0]]))[0] == 5.0
    assert Lift("x*max(1, 2)").slope(0)(np.array([[-3.0]]))[0] == 2.0
    with pytest.raises(InputError, match="y in a 1D problem"):
        Lift("x*y").value(np.zeros((1, 1)))
    with pytest.raises(InputError, match="the network has 2 inputs, the problem 1"):
        lift.value(np.zeros((1, 1)))
    with pytest.raises(InputError, match="must have one output; this network has 2"):
        Lift(network(np.random.default_rng(0), (2, 3, 2)))
    with pytest.raises(InputError, match="inputs: the network has 2 inputs; got 1 formulas"):
        Lift(lift.prediction, inputs=["x"])
    with pytest.raises(InputError, match="only a network has inputs"):
        Lift("x", inputs=["x"])
    with pytest.raises(InputError, match="prediction"):
        Lift(np.sin)
    with pytest.raises(InputError, match="not defined at"):
        Lift("log(x)").laplacian(np.array([[0.0]]))
    with pytest.raises(InputError, match="gradient: missing"):
        Lift.opaque(np.sin, np.sin).slope(0)
    with pytest.raises(InputError, match="kappa"):
        lift.residual(1.0, 0.0)


def test_without_numba_the_models_are_the_same(lift, monkeypatch):
    monkeypatch.setattr(kernels._meter, "open", find_spec("numba") is not None)
    V = corners(np.random.default_rng(2), 2, 2, "plain", 6)
    S = Simplices(V, np.zeros((len(V), 2)))
    fast, _ = models_on(lift.laplacian, S, 4)
    monkeypatch.setattr(kernels, "_compiled", lambda seconds=0.0: None)
    slow, _ = models_on(lift.laplacian, S, 4)
    np.testing.assert_allclose(slow.C, fast.C, rtol=0, atol=1e-12)
    np.testing.assert_allclose(slow.e, fast.e, rtol=1e-6)
