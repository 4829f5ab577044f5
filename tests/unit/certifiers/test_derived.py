"""Derived quantities: their intervals hold every value of the components' box, and little more."""

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint import fem
from pinnpoint.certificates import derived as rules
from pinnpoint.certificates.derived import derive, enclosed, plainly
from pinnpoint.certificates.derived import tensor as _tensor
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.systems.derived import Derived

NAMES = {2: ("x", "y"), 3: ("xx", "xy", "yy"), 6: ("xx", "xy", "xz", "yy", "yz", "zz")}
KINDS = [
    Derived("u", "magnitude", NAMES[2]),
    Derived("u", "magnitude", ("x", "y", "z")),
    Derived("v", "von-mises", NAMES[3]),
    Derived("v", "von-mises", NAMES[3], 0.3),
    Derived("v", "von-mises", NAMES[3], -0.366),
    Derived("v", "von-mises", NAMES[3], 0.4999),
    Derived("v", "von-mises", NAMES[6]),
    *(Derived("p", "principal", NAMES[3], order=k) for k in (1, 2)),
    *(Derived("p", "principal", NAMES[6], order=k) for k in (1, 2, 3)),
]


def stress(one, x):
    """The full stress tensor of components, in exact numbers."""
    if len(x) == 6:
        return [[x[0], x[1], x[2]], [x[1], x[3], x[4]], [x[2], x[4], x[5]]]
    zz = Fraction(one.poisson or 0.0) * (x[0] + x[2])
    return [[x[0], x[1], Fraction(0)], [x[1], x[2], Fraction(0)], [Fraction(0), Fraction(0), zz]]


def square(one, x):
    """The square of a norm, by the textbook's formula in exact numbers."""
    if one.kind == "magnitude":
        return sum(a * a for a in x)
    s = stress(one, x)
    trace = sum(s[i][i] for i in range(3)) / 3
    return Fraction(3, 2) * sum((s[i][j] - trace * (i == j)) ** 2 for i in range(3) for j in range(3))


def value(one, x):
    """The quantity with 60 digits."""
    with mpmath.workdps(60):
        exact = [Fraction(float(a)) for a in x]
        if one.kind != "principal":
            q = square(one, exact)
            return mpmath.sqrt(mpmath.mpf(q.numerator) / q.denominator)
        d = 2 if len(x) == 3 else 3
        s = stress(one, exact)
        M = mpmath.matrix([[mpmath.mpf(s[i][j].numerator) / s[i][j].denominator for j in range(d)] for i in range(d)])
        return sorted(mpmath.eigsy(M, eigvals_only=True), reverse=True)[one.order - 1]


def boxes(count, size, rng):
    for scale, wide in product((1.0, 1e9, 1e-9), (0.0, 1e-14, 1e-3, 0.5, 3.0)):
        for _ in range(count):
            c = scale * rng.normal(size=size) * rng.choice([1.0, 1e-8, 0.0], size=size, p=[0.7, 0.2, 0.1])
            r = scale * wide * np.abs(rng.normal(size=size))
            yield c - r, c + r


@pytest.mark.parametrize("one", KINDS, ids=str)
def test_intervals_hold_all_values_of_the_box(one):
    rng = np.random.default_rng(0)
    for low, high in boxes(2, len(one.of), rng):
        bottom, top = enclosed(one, low, high)
        assert bottom <= top
        corners = [np.where(rng.random(len(low)) < 0.5, low, high) for _ in range(6)]
        inside = [np.clip(low + t * (high - low), low, high) for t in rng.random((4, len(low)))]
        for x in [*corners, *inside]:
            truth = value(one, x)
            assert mpmath.mpf(bottom) <= truth <= mpmath.mpf(top)


@pytest.mark.parametrize("one", [k for k in KINDS if k.kind != "principal"], ids=str)
def test_upper_ends_of_norms_are_attained(one):
    """At some vertex of the box, up to rounding; lower ends fall short by what the seminorm bends over the box."""
    rng = np.random.default_rng(1)
    c, r = rng.normal(size=len(one.of)), 0.01 * rng.random(len(one.of))
    bottom, top = enclosed(one, c - r, c + r)
    corners = [plainly(one, c + np.array(s) * r) for s in product((-1, 1), repeat=len(c))]
    assert top == pytest.approx(max(corners), rel=1e-12)
    assert bottom == pytest.approx(min(corners), rel=1e-3)
    for scale in (0.0, 1e-170, 1e170):
        x = np.full(len(c), scale)
        low, high = enclosed(one, x, x)
        assert low <= value(one, x) <= high


def test_closed_forms():
    """Uniaxial tension has its own stress; pure shear √3 τ; principal stresses of shear are ±τ."""
    for n in (3, 6):
        x = np.zeros(n)
        x[0] = 2.0
        assert plainly(Derived("v", "von-mises", NAMES[n]), x) == 2.0
        x[:2] = 0.0, 2.0
        assert plainly(Derived("v", "von-mises", NAMES[n]), x) == pytest.approx(2.0 * math.sqrt(3.0), rel=1e-15)
        assert plainly(Derived("p", "principal", NAMES[n], order=1), x) == pytest.approx(2.0)
        assert plainly(Derived("p", "principal", NAMES[n], order=2 if n == 3 else 3), x) == pytest.approx(-2.0)
    assert plainly(Derived("v", "von-mises", NAMES[3], 0.5), np.array([2.0, 0.0, 2.0])) == pytest.approx(0.0)


def test_what_is_unbounded_or_unknown():
    low, high = np.array([-np.inf, 0.0]), np.array([np.inf, 0.0])
    assert enclosed(KINDS[0], low, high) == (0.0, math.inf)
    assert enclosed(KINDS[0], np.array([1e300, 0.0]), np.array([1e301, 0.0])) == (0.0, math.inf)
    ends = (np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    found = derive(
        [Derived("u", "magnitude", ("x", "y"), accept=0.1)], ["x", "y"], ends, ends[0], ["deterministic"] * 2
    )
    assert found[0].verdicts == {"accept": "within"}
    far = derive(
        [Derived("u", "magnitude", ("x", "y"), accept=0.1)], ["x", "y"], ends, ends[0] + 1, ["deterministic"] * 2
    )
    assert far[0].verdicts == {"accept": "beyond"}
    guess = derive(
        [Derived("u", "magnitude", ("x", "y"), accept=0.1)], ["x", "y"], ends, ends[0], ["deterministic", "estimate"]
    )
    assert guess[0].guarantee == "estimate"
    assert guess[0].verdicts == {"accept": "undecided"}
    with pytest.raises(pp.InputError, match="'z'"):
        derive([Derived("u", "magnitude", ("x", "z"))], ["x", "y"], ends, ends[0], ["deterministic"] * 2)


def test_without_allowances_for_rounding_some_interval_misses(monkeypatch):
    monkeypatch.setattr(rules, "SLACK", 0.0)
    monkeypatch.setattr(rules, "up", lambda x, k=4: x)
    monkeypatch.setattr(rules, "down", lambda x, k=4: x)
    rng, missed = np.random.default_rng(3), 0
    for x in rng.normal(size=(100, 6)):
        for one in (KINDS[6], KINDS[1]):
            here = x[: len(one.of)]
            low, high = enclosed(one, here, here)
            missed += not mpmath.mpf(low) <= value(one, here) <= mpmath.mpf(high)
    assert missed > 10


@pytest.mark.parametrize(("name", "fake"), [("product", "corners"), ("norm_range", "middle"), ("tensor", "widths")])
def test_a_box_that_is_cut_short_misses(monkeypatch, name, fake):
    """A vertex left out, a middle taken for the whole, or widths forgotten: sampled values lie outside."""
    one = KINDS[8] if name == "tensor" else KINDS[6]
    own = {
        "corners": lambda *pairs: [tuple(low for low, _ in pairs)],
        "middle": lambda B, low, high: (plainly(one, 0.5 * (low + high)),) * 2,
        "widths": lambda x: np.zeros((2, 2)) if np.all(x >= 0.0) and x.max() < 0.3 else _tensor(x),
    }[fake]
    monkeypatch.setattr(rules, name, own)
    c, r = np.array([2.0, 1.0, -1.0, 0.5, 3.0, -2.0])[: len(one.of)], np.full(len(one.of), 0.2)
    low, high = enclosed(one, c - r, c + r)
    values = [value(one, c + np.array(s) * r) for s in product((-1, 1), repeat=len(c))]
    assert min(values) < low or max(values) > high


@pytest.mark.parametrize(("d", "plane"), [(2, "strain"), (2, "stress"), (3, "strain")])
def test_a_bars_von_mises_and_principal_stresses(d, plane):
    """Uniaxial stress 2 between rollers: von Mises by hand, in plane strain with σ_zz = ν σ_xx."""
    mesh, nu = generate("square" if d == 2 else "cube", 2), 0.3
    rollers = {s: [0.0 if i == k else "free" for i in range(d)] for k, s in enumerate(("left", "bottom", "front")[:d])}
    problem = fem.Elasticity(mesh, 8.0, nu, fixed=rollers, traction={"right": [2.0] + [0.0] * (d - 1)}, plane=plane)
    at = [[0.3, 0.4, 0.6][:d]]
    asked = problem.von_mises(at, ["vm"]) + problem.principal(at, ["p"]) + problem.magnitude(at, ["u"])
    c = pp.certify(problem, problem.space.U0, asked, target="discrete")
    lateral = nu * 2.0 if (d, plane) == (2, "strain") else 0.0
    wanted = {"vm": math.sqrt(4.0 - 2.0 * lateral + lateral**2), "p 1": 2.0, f"p {d}": 0.0}
    E, v = (8.0 / (1 - nu**2), nu / (1 - nu)) if (d, plane) == (2, "strain") else (8.0, nu)
    u = [2.0 / E * at[0][0], *(-v * 2.0 / E * x for x in at[0][1:])]
    wanted["u"] = math.hypot(*u)
    found = {one.name: one for one in c.derived}
    for name, truth in wanted.items():
        assert found[name].lower - 1e-13 <= truth <= found[name].upper + 1e-13
        assert found[name].radius < 1e-9
        assert found[name].guarantee == "deterministic"
    rows = {row["name"]: row for row in c.to_dict()["derived"]}
    assert rows["vm"]["derived_from"] == ["vm xx", "vm xy", "vm yy"] if d == 2 else len(rows["vm"]["derived_from"]) == 6
    assert ("poisson" in rows["vm"]) == ((d, plane) == (2, "strain"))
    assert "derived, by interval arithmetic" in str(c)
    again = problem.ask(asked.goals, asked.names).deriving(asked.derived)
    assert pp.certify(problem, problem.space.U0, again, target="discrete").derived == c.derived


def test_averages_of_several_materials_are_refused_in_plane_strain():
    mesh = generate("square", 2)
    groups = {"a": [0, 1], "b": list(range(2, len(mesh.cells))), "both": list(range(len(mesh.cells)))}
    mesh = Mesh(mesh.points, mesh.cells, groups, mesh.facet_groups)
    given = {"young": 1.0, "poisson": {"a": 0.3, "b": 0.1}, "fixed": {"left": 0.0}}
    problem = fem.Elasticity(mesh, **given)
    assert problem.von_mises("a", "vm").derived[0].poisson == 0.3
    with pytest.raises(pp.InputError, match="several Poisson's ratios"):
        problem.von_mises("both")
    assert fem.Elasticity(mesh, **given, plane="stress").von_mises("both").derived[0].poisson is None
