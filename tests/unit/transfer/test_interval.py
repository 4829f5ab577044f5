"""Point constants and the direct route on intervals, against exact rationals, ball arithmetic and known errors."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from flint import acb, arb, ctx, fmpq

import pinnpoint as pp
from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import parse
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.topology import Topology
from pinnpoint.rounding import decimals
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.line import interval
from pinnpoint.transfer.line.interval import DirectRoute
from pinnpoint.transfer.line.one_dimension import reach
from pinnpoint.transfer.line.residuals import interval_residual
from tests.support import exactly


@pytest.fixture(autouse=True)
def digits():
    before, ctx.prec = ctx.prec, 400
    yield
    ctx.prec = before


def square_norm(a, b, kappa, c, x, p, q):
    """∫_p^q G_x², integrated in ball arithmetic on either side of x."""

    def f(t, _):
        return green(a, b, kappa, c, x, t) ** 2

    pieces = [p, min(max(x, p), q), q]
    total = arb(0)
    for u, v in pairwise(pieces):
        if v > u:
            total += acb.integral(f, acb(u), acb(v)).real
    return total


def green(a, b, kappa, c, x, t):
    """G_x(t) for a complex t on one side of x."""
    low, high = (acb(x), t) if t.real.mid() > arb(x) else (t, acb(x))
    if c == 0:
        return (low - a) * (acb(b) - high) / (acb(kappa) * (acb(b) - a))
    mu = acb((arb(c) / arb(kappa)).sqrt())
    return (mu * (low - a)).sinh() * (mu * (acb(b) - high)).sinh() / (acb(kappa) * mu * (mu * (acb(b) - a)).sinh())


# The point constant


def chain(nodes, kappa, cells, fixed) -> Continuum:
    """−(κu′)′ = 0 on a chain of intervals, as its transfer sees it."""
    ends = {"left": int(np.argmin(nodes)), "right": int(np.argmax(nodes))}
    mesh = Mesh(nodes, cells, facet_groups={name: [[end]] for name, end in ends.items()})
    problem = pp.fem.ReactionDiffusion(mesh, diffusion=kappa, dirichlet=dict.fromkeys(fixed, 0.0))
    return problem.continuum(Topology.of(mesh))


def test_the_point_constant_is_the_smaller_side_rounded_up():
    rng = np.random.default_rng(0)
    nodes = np.sort(rng.uniform(-2.0, 3.0, 12))
    shuffle = rng.permutation(12)
    number = np.argsort(shuffle)
    cells = np.stack([number[:-1], number[1:]], axis=1)
    flip = rng.permutation(11)
    kappa = 10.0 ** rng.uniform(-3, 3, 11)
    X = np.concatenate([nodes, rng.uniform(nodes[0], nodes[-1], 20)])
    ways = (("left", "right"), ("left",), ("right",))
    found = [reach(chain(nodes[shuffle], kappa[flip], cells[flip][:, ::-1], fixed), X) for fixed in ways]
    q = [exactly.rational(v) for v in nodes]
    for i, x in enumerate(X):
        xq = exactly.rational(x)
        pieces = [(u, v, exactly.rational(k)) for (u, v), k in zip(pairwise(q), kappa, strict=True)]
        left = sum((max(fmpq(0), min(xq, v) - u) / k for u, v, k in pieces), fmpq(0))
        right = sum((max(fmpq(0), v - max(xq, u)) / k for u, v, k in pieces), fmpq(0))
        for C, truth in zip(found, (min(left, right), left, right), strict=True):
            assert exactly.rational(C[i]) ** 2 >= truth
            assert C[i] ** 2 <= float(truth) * (1 + 1e-13) + 1e-290


def test_the_point_constant_of_a_long_chain_covers_the_rounding_of_its_sum():
    """Sums of 1/13 in floats are 400 units too small on the way to 3000 of them."""
    count, kappa = 3000, 13
    nodes = np.arange(count + 1.0)
    cells = np.stack([np.arange(count), np.arange(1, count + 1)], axis=1)
    found = reach(chain(nodes, np.full(count, float(kappa)), cells, ["left"]), nodes)
    short = np.cumsum(np.full(count, 1.0 / kappa))
    assert min(exactly.rational(v) / fmpq(i + 1, kappa) for i, v in enumerate(short)) < 1 - fmpq(1, 2**46)
    assert all(exactly.rational(C) ** 2 >= fmpq(i, kappa) for i, C in enumerate(found))
    assert np.all(found**2 <= nodes / kappa * (1.0 + 1e-11) + 1e-290)


def test_the_point_constant_is_attained():
    """e′ = κ⁻¹ up to x, then whatever brings e back to zero with no more energy than the other side allows."""
    model = chain(np.array([0.0, 0.5, 1.0]), np.array([4.0, 1.0]), np.array([[0, 1], [1, 2]]), ["left"])
    C = float(reach(model, np.array([0.5]))[0])
    energy, value = 0.5 / 4.0, 0.5 / 4.0  # of e = ∫κ⁻¹ on (0, ½), constant after: ∫κ e′² and e(½)
    assert value <= C * math.sqrt(energy) <= value * (1 + 1e-13)


# The direct route

CASES = [
    (0.0, 1.0, 1.0, 0.0),
    (-1.5, 2.0, 0.3, 0.0),
    (0.0, 1.0, 1.0, 2.5),
    (-3.0, -1.0, 0.7, 1e4),
    (0.1, 0.9, 3.0, 1e-9),
]


@pytest.mark.parametrize(("a", "b", "kappa", "c"), CASES)
@pytest.mark.parametrize("share", [0.0, 0.13, 0.5, 1.0])
def test_norms_are_enclosed(a, b, kappa, c, share):
    x = a + share * (b - a) if share < 1.0 else b
    R = 0.2 * (b - a)
    route = DirectRoute([a, b], kappa, x, reaction=c, radius=R)
    p, q = route.window
    whole = square_norm(a, b, kappa, c, x, a, b)
    near = square_norm(a, b, kappa, c, x, p, q)
    far = square_norm(a, b, kappa, c, x, a, p) + square_norm(a, b, kappa, c, x, q, b)
    for bounds, square in ((route.norm, whole), (route.local, near), (route.tail, far)):
        low, high = bounds
        assert not arb(high) ** 2 < square
        assert not arb(low) ** 2 > square
        assert high - low <= 1e-12 * high + 1e-150
    mu = (arb(c) / arb(kappa)).sqrt()
    one = (arb(b) - arb(x)) / (arb(b) - arb(a)) if c == 0 else (mu * (arb(b) - x)).sinh() / (mu * (arb(b) - a)).sinh()
    assert not arb(route.ends[0][1]) < one
    assert not arb(route.ends[0][0]) > one
    assert route.stability >= route.norm[1]


def test_layers_agree_with_exact_rationals():
    nodes, kappa, x = np.array([0.0, 0.25, 0.5, 1.0]), np.array([2.0, 0.5, 8.0]), 0.375
    route = DirectRoute(nodes, kappa, x, radius=0.25)
    cuts = [fmpq(0), fmpq(1, 8), fmpq(1, 4), fmpq(3, 8), fmpq(1, 2), fmpq(5, 8), fmpq(1)]
    k = [fmpq(2), fmpq(2), fmpq(1, 2), fmpq(1, 2), fmpq(8), fmpq(8)]
    r = [fmpq(0)]
    for (u, v), m in zip(pairwise(cuts), k, strict=True):
        r.append(r[-1] + (v - u) / m)
    G = [min(v, r[3]) * (r[-1] - max(v, r[3])) / r[-1] for v in r]
    parts = [(v - u) * (g * g + g * d + d * d) / 3 for (u, v), (g, d) in zip(pairwise(cuts), pairwise(G), strict=True)]
    for bounds, square in (
        (route.norm, sum(parts, fmpq(0))),
        (route.local, sum(parts[1:5], fmpq(0))),
        (route.tail, parts[0] + parts[5]),
    ):
        low, high = (exactly.rational(v) for v in bounds)
        assert low**2 <= square <= high**2
        assert bounds[1] - bounds[0] <= 1e-12 * bounds[1]


@pytest.mark.parametrize("c", [0.0, 1.0, 400.0])
def test_errors_of_known_solutions_are_bounded(c):
    """u* = sin πt, u = u* + t(1 − t)/10 + 0.01(1 − t): the residual and the boundary value are known."""
    for x in (0.2, 0.5, 0.85):
        route = DirectRoute([0.0, 1.0], 1.0, x, reaction=c, radius=0.1)
        F = lambda t: 0.2 + c * (t * (1 - t) / 10 + 0.01 * (1 - t))  # noqa: E731
        t, w = np.polynomial.legendre.leggauss(20)

        def l2(p, q, t=t, w=w, F=F):
            return math.sqrt(np.sum(0.5 * (q - p) * w * F(0.5 * (p + q) + 0.5 * (q - p) * t) ** 2))

        error = x * (1 - x) / 10 + 0.01 * (1 - x)
        p, q = route.window
        whole, near, far = l2(0.0, 1.0), l2(p, q), math.hypot(l2(0.0, p), l2(q, 1.0))
        bound = route.bound(whole * (1 + 1e-12), left=0.01)
        split = route.split(far * (1 + 1e-12), local=near * (1 + 1e-12), left=0.01)
        assert error <= bound <= 5.0 * error
        assert error <= split <= 2.5 * error
        assert route.bound(whole, left=0.0) < bound


@pytest.mark.parametrize("c", [0.0, 30.0])
def test_residuals_along_the_green_function_attain_the_bound(c):
    """F = G_x gives e(x) = ‖G_x‖², and a local one attains the split."""
    route = DirectRoute([0.0, 2.0], 0.5, 0.75, reaction=c, radius=0.25)
    square = float(square_norm(0.0, 2.0, 0.5, c, 0.75, 0.0, 2.0).mid())
    near = float(square_norm(0.0, 2.0, 0.5, c, 0.75, 0.5, 1.0).mid())
    assert route.bound(math.sqrt(square)) == pytest.approx(square, rel=1e-12)
    assert route.split(0.0, local=math.sqrt(near)) == pytest.approx(near, rel=1e-12)
    assert route.split(math.sqrt(square - near), pairing=near) == pytest.approx(square, rel=1e-12)


@pytest.mark.parametrize("c", [0.0, 30.0])
def test_a_smaller_norm_would_be_noticed(monkeypatch, c):
    """The tests above can fail: norms of G_x a part in 10⁹ too small are below the truth."""
    if c:
        honest = decimals.Range.floats
        monkeypatch.setattr(decimals.Range, "floats", lambda self: tuple(v * (1 - 1e-9) for v in honest(self)))
    else:
        monkeypatch.setattr(interval, "up", lambda v, k=4: v * (1 - 1e-9))
    route = DirectRoute([0.0, 2.0], 0.5, 0.75, reaction=c)
    assert arb(route.norm[1]) ** 2 < square_norm(0.0, 2.0, 0.5, c, 0.75, 0.0, 2.0)


def test_boundary_layers_do_not_overflow():
    route = DirectRoute([0.0, 1.0], 1e-8, 0.5, reaction=1.0)
    mu = 1e4  # e^(−5000) from either end: G_x = e^(−μ|t − x|)/(2κμ), ‖G_x‖² = 1/(4κ²μ³)
    assert route.norm[1] == pytest.approx(math.sqrt(1.0 / (4 * 1e-16 * mu**3)), rel=1e-12)
    assert 0.0 <= route.ends[0][1] < 1e-300
    steep = DirectRoute([0.0, 1.0], 1e-20, 0.5, reaction=1.0)
    assert steep.norm[1] == pytest.approx(0.5 * 1e5, rel=1e-12)  # μ = 10¹⁰
    weak = DirectRoute([0.0, 1.0], 1.0, 0.3, reaction=1e-60)
    assert weak.norm[1] == pytest.approx(DirectRoute([0.0, 1.0], 1.0, 0.3).norm[1], rel=1e-12)


def test_points_beside_the_end_keep_their_norms():
    """Where x is tiny beside the interval, G_x is too: ‖G_x‖ → x/√3 from below."""
    for x in (1e-200, 1e-300):
        low, high = DirectRoute([0.0, 1.0], 1.0, x).norm
        assert low <= x / math.sqrt(3.0) <= high <= 1e-150
    low, high = DirectRoute([0.0, 1.0], 1e80, 0.5).norm
    assert low <= 0.25 / math.sqrt(3.0) / 1e80 * (1 + 1e-15)
    assert high == pytest.approx(0.25 / math.sqrt(3.0) / 1e80, rel=1e-12)


def test_points_and_meshes_off_the_interval_are_refused():
    for nodes in ([0.0], [0.0, 2.0, 1.0], [0.0, 0.0]):
        with pytest.raises(InputError, match="end to end"):
            DirectRoute(nodes, 1.0, 0.5)
    with pytest.raises(InputError, match="kappa: entries must be > 0"):
        DirectRoute([0.0, 1.0], -1.0, 0.5)
    with pytest.raises(InputError, match="rescale"):
        DirectRoute([0.0, 1.0], 1e200, 0.5)
    with pytest.raises(InputError, match="same kappa everywhere"):
        DirectRoute([0.0, 0.5, 1.0], [1.0, 2.0], 0.5, reaction=1.0)
    with pytest.raises(InputError, match="exactly one"):
        DirectRoute([0.0, 1.0], 1.0, 0.5).split(1.0)


# The direct route without declarations


def random_sum(rng):
    """A polynomial plus waves as text, and minus its second derivative."""
    terms, bent = [], []
    for k in range(rng.integers(1, 5)):
        a = round(float(rng.normal()), 3)
        terms.append(f"({a})*x**{k}")
        if k >= 2:
            bent.append(f"({a})*{k * (k - 1)}*x**{k - 2}")
    for _ in range(rng.integers(1, 3)):
        a, w = round(float(rng.normal()), 3), round(float(rng.uniform(0.5, 9.0)), 2)
        terms.append(f"({a})*sin({w}*x + 0.3)")
        bent.append(f"-({a})*{w}*{w}*sin({w}*x + 0.3)")
    return " + ".join(terms), "-(" + " + ".join(bent) + ")"


def test_error_of_fields_needs_no_declarations():
    rng = np.random.default_rng(4)
    sharpest = math.inf
    for trial in range(60):
        kappa, c = int(rng.integers(2, 40)) / 16.0, float(rng.choice([0.0, 0.0, 2.5]))  # decimals that are floats
        a, b = -0.5, int(rng.integers(4, 20)) / 8.0
        x = float(rng.uniform(a, b))
        radius = None if trial % 2 else float(rng.uniform(0.05, 0.5))
        truth, bent = random_sum(rng)
        wrong, _ = random_sum(rng)
        size = 10.0 ** -int(rng.integers(0, 8))
        field = f"{truth} + {size!r}*({wrong})"
        source = f"{kappa!r}*({bent}) + {c!r}*({truth})"
        ends = [truth.replace("x", f"({t!r})") for t in (a, b)]
        route = DirectRoute([a, b], kappa, x, reaction=c, radius=radius)
        bound = route.error(field, source, left=ends[0], right=ends[1])
        error = abs(float(parse(f"{size!r}*({wrong})")(np.array([[x]]))[0]))
        assert error <= bound
        sharpest = min(sharpest, bound / error)
        assert bound < 1e4 * size
    assert sharpest < 3.0


def test_error_of_fields_with_what_is_not_smooth():
    route = DirectRoute([0.0, 1.0], 1.0, 0.3)
    assert route.error("sqrt(x)", 0.0) == math.inf  # its second derivative is not square integrable
    with pytest.raises(InputError, match="abs has no second derivatives"):
        route.error("abs(x - 0.5)", 0.0)
    with pytest.raises(InputError, match="source: must be a number or a formula"):
        route.error("x", lambda X: X[:, 0])
    with pytest.raises(InputError, match="jumps with κ"):
        DirectRoute([0.0, 0.5, 1.0], [1.0, 2.0], 0.3).error("x", 0.0)


def test_norms_of_residuals_are_sharp():
    F = interval_residual("x**3", 0.0, (0.0, 1.0), 1.0, 0.0, (0.25, 0.5), (0.0, 0.5))  # F = −6x
    exact = math.sqrt(12.0), math.sqrt(12.0 * (0.5**3 - 0.25**3)), math.sqrt(12.0 * (1.0 - 0.5**3 + 0.25**3)), 0.0, 0.5
    for bound, true in zip((F.whole, F.local, F.tail, F.left, F.right), exact, strict=True):
        assert true * (1.0 - 1e-15) <= bound <= true * (1.0 + 1e-13) + 1e-15
