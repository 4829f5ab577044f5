"""Thermal expansion and forces by cells: closed forms inside, every ingredient noticed when it is wrong."""

import math

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.fem import Elasticity
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.quadrature import at_points, rule
from pinnpoint.transfer.elastic import goals
from pinnpoint.transfer.elastic.solid import Solid
from pinnpoint.transfer.elastic.thermal import Thermal
from tests.support import thermal_campaign

YOUNG, NU, ALPHA = 3.0, 0.28, 0.2


class Bent:
    """u_i = Σ_j (a_ij x_j² + b_ij x x_j), ϑ = t sin(k·x), and the body force that belongs to them."""

    def __init__(self, d, plane, seed):
        self.d, rng = d, np.random.default_rng(seed)
        self.a, self.b = rng.uniform(-1, 1, (d, d)).round(3), rng.uniform(-1, 1, (d, d)).round(3)
        self.k, self.t = rng.uniform(0.5, 1.5, d).round(3), round(rng.uniform(0.5, 2.0), 3)
        mu, lam = YOUNG / (2 * (1 + NU)), YOUNG * NU / ((1 + NU) * (1 - 2 * NU))
        flat = d == 2 and plane == "stress"
        self.lam, self.mu = (YOUNG * NU / (1 - NU**2) if flat else lam), mu
        self.kappa = YOUNG * ALPHA / (1 - NU if flat else 1 - 2 * NU)

    def theta(self):
        return f"{self.t!r}*sin({self.phase()})"

    def phase(self):
        return "+".join(f"{k!r}*{x}" for k, x in zip(self.k.tolist(), "xyz", strict=False))

    def heat(self, X):
        return self.t * np.sin(X @ self.k)

    def u(self, X):
        return np.stack([(X**2) @ self.a[i] + X[..., 0] * (X @ self.b[i]) for i in range(self.d)], axis=-1)

    def texts(self):
        names = "xyz"[: self.d]
        each = []
        for i in range(self.d):
            terms = [f"({v!r})*{n}*{n}" for v, n in zip(self.a[i].tolist(), names, strict=True)]
            terms += [f"({v!r})*x*{n}" for v, n in zip(self.b[i].tolist(), names, strict=True)]
            each.append("+".join(terms))
        return each

    def slopes(self, X):
        """∂_j u_i."""
        G = 2 * self.a * X[..., None, :] + X[..., 0, None, None] * self.b
        G[..., 0] += X @ self.b.T
        return G

    def strain(self, X):
        G = self.slopes(X)
        return 0.5 * (G + np.swapaxes(G, -1, -2))

    def stress(self, X):
        e = self.strain(X)
        trace = np.trace(e, axis1=-2, axis2=-1)[..., None, None] * np.eye(self.d)
        return 2 * self.mu * e + self.lam * trace - self.kappa * self.heat(X)[..., None, None] * np.eye(self.d)

    def second(self, i):
        """Δu_i and ∂_i div u, constants."""
        lap = 2 * self.a[i].sum() + 2 * self.b[i, 0]
        bend = 2 * self.a[i, i] + self.b[0, i] + (self.b.trace() if i == 0 else 0.0)
        return lap, bend

    def body(self):
        found = []
        for i in range(self.d):
            lap, bend = self.second(i)
            f = -self.mu * lap - (self.lam + self.mu) * bend
            found.append(f"({float(f)!r})+({float(self.kappa * self.t * self.k[i])!r})*cos({self.phase()})")
        return found


def problem(case, degree, plane, cells=2, seed=1):
    d = case.d
    mesh = generate("square" if d == 2 else "cube", cells)
    X = mesh.points.copy()
    inner = np.all((X > 1e-9) & (X < 1 - 1e-9), axis=1)
    X += np.random.default_rng(seed).uniform(-0.1, 0.1, X.shape) / cells * inner[:, None]
    low = X[mesh.cells].mean(axis=1)[:, 0] < 0.5
    mesh = Mesh(X, mesh.cells, {"low": low}, mesh.facet_groups)
    fixed = {"boundary": case.texts()}
    given = {"expansion": ALPHA, "temperature": case.theta(), "plane": plane, "degree": degree}
    return Elasticity(mesh, YOUNG, NU, case.body(), fixed, **given)


def queries(body, case):
    d = case.d
    at = [[0.45, 0.55, 0.4][:d]]
    asked = body.points(at, "x", ["u"]) + body.stress(at, "xx", ["s"]) + body.stress(at, "xy", ["t"])
    asked = asked + body.strain(at, "yy", ["e"]) + body.averages(at, 0.2, "y", ["ball"])
    asked = asked + body.stress("low", "yy", "low s") + body.strain("low", "yy", "low e") + body.mean("x", "mean")
    X = np.array(at)
    s, e, truth = case.stress(X)[0], case.strain(X)[0], {}
    truth |= {"u": case.u(X)[0, 0], "s": s[0, 0], "t": s[0, 1], "e": e[1, 1]}
    # the mean of a quadratic over a ball is its value and Δu r²/2(d + 2)
    truth["ball"] = case.u(X)[0, 1] + case.second(1)[0] * 0.2**2 / (2 * (d + 2))
    mesh, (bary, weights) = body.mesh, rule(d, 8)
    P = at_points(mesh.points[mesh.cells], bary)
    cells, vol = mesh.cells_of("low"), mesh.volumes
    share = vol[cells] / vol[cells].sum()
    truth["low s"] = float(share @ (case.stress(P[cells])[..., 1, 1] @ weights))
    truth["low e"] = float(share @ (case.strain(P[cells])[..., 1, 1] @ weights))
    truth["mean"] = float((vol / vol.sum()) @ (case.u(P)[..., 0] @ weights))
    return asked, np.array([truth[n] for n in asked.names])


CASES = [(2, "strain", 1), (2, "strain", 2), (2, "stress", 2), (3, "strain", 2)]


@pytest.mark.parametrize(("d", "plane", "degree"), CASES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_bent_and_heated_bodies_are_inside(d, plane, degree, seed):
    case = Bent(d, plane, seed)
    body = problem(case, degree, plane, 4 if d == 2 else 2, seed)
    asked, truth = queries(body, case)
    certificate = pp.certify(body, body.space.U0, asked)
    assert certificate.guarantee == "deterministic"
    slack = 1e-9  # of the quadrature behind `truth`
    assert np.all(certificate.lower <= truth + slack), (certificate, truth)
    assert np.all(certificate.upper >= truth - slack), (certificate, truth)
    if degree == 2 and d == 2:
        assert np.all(certificate.radius < 0.05)


def misses(monkeypatch, *changes):
    case = Bent(2, "strain", 0)
    case.k = 4.0 * case.k
    for where, name, what in changes:
        monkeypatch.setattr(where, name, what)
    body = problem(case, 2, "strain", 12)
    asked, truth = queries(body, case)
    certificate = pp.certify(body, body.space.U0, asked)
    ends = zip(asked.names, truth, certificate.lower, certificate.upper, strict=True)
    return [n for n, t, a, b in ends if not a <= t <= b]


def test_fine_meshes_hold_it_too(monkeypatch):
    assert misses(monkeypatch) == []


@pytest.mark.parametrize(
    ("changes", "noticed"),
    [
        ([(Thermal, "pulled", lambda self, body, cell, name: tuple(body))], {"u", "s", "e"}),
        ([(Thermal, "at", lambda self, x0, cell: (0.0, 0.0))], {"s"}),
        ([(goals, "mean", lambda *given: (0.0, 0.0))], {"low s"}),
    ],
)
def test_each_part_of_it_is_needed(monkeypatch, changes, noticed):
    assert noticed <= set(misses(monkeypatch, *changes))


def test_half_of_the_stress_is_noticed(monkeypatch):
    whole = Thermal.scaled
    monkeypatch.setattr(Thermal, "scaled", lambda self, theta: whole(Thermal(0.5 * self.kappa, 0.0), theta))
    assert {"low s", "mean"} <= set(misses(monkeypatch))


@pytest.mark.parametrize("plane", ["strain", "stress"])
@pytest.mark.parametrize("degree", [1, 2])
def test_free_expansion_and_a_clamped_bar(plane, degree):
    """Between rollers a body is free: u = αϑ(1 + ν or 0) x and no stress; between walls it is pressed."""
    mesh, theta = generate("square", 3), 5.0
    inner = np.ones(len(mesh.cells), dtype=bool)
    mesh = Mesh(mesh.points, mesh.cells, {"all": inner}, mesh.facet_groups)
    rollers = {"left": [0.0, None], "bottom": [None, 0.0]}
    given = {"plane": plane, "expansion": ALPHA, "temperature": theta, "degree": degree}
    body = Elasticity(mesh, YOUNG, NU, None, rollers, **given)
    grows = ALPHA * theta * (1.0 + NU if plane == "strain" else 1.0)
    asked = body.patch("right", "x") + body.stress("all", "xx") + body.reaction("left", "x")
    certificate = pp.certify(body, body.space.U0, asked)
    assert np.all(np.abs(certificate.center - [grows, 0.0, 0.0]) <= certificate.radius)
    assert np.all(certificate.radius < 1e-10)
    walls = {**rollers, "right": [0.0, None]}
    body = Elasticity(mesh, YOUNG, NU, None, walls, **given)
    asked = body.stress("all", "xx") + body.reaction("right", "x") + body.patch("top", "y")
    certificate = pp.certify(body, body.space.U0, asked)
    E, nu = (YOUNG / (1 - NU**2), NU / (1 - NU)) if plane == "strain" else (YOUNG, NU)
    pressed = -E * grows
    assert np.all(np.abs(certificate.center - [pressed, pressed, (1 + nu) * grows]) <= certificate.radius + 1e-13)
    assert np.all(certificate.radius < 1e-9)
    discrete = pp.certify(body, body.space.U0, asked, target="discrete")
    assert np.all(np.abs(discrete.center - [pressed, pressed, (1 + nu) * grows]) < 1e-11)


def test_groups_of_cells_expand():
    """A cube on rollers whose halves are two groups: what they add to the end's movement adds up."""
    mesh = generate("cube", 2)
    low = mesh.points[mesh.cells].mean(axis=1)[:, 0] < 0.5
    mesh = Mesh(mesh.points, mesh.cells, {"a": low, "b": ~low}, mesh.facet_groups)
    sides = {g: mesh.points[np.unique(mesh.facets(g))] for g in ("left", "front", "bottom")}
    fixed = {g: [0.0 if np.ptp(P[:, c]) == 0.0 else None for c in range(3)] for g, P in sides.items()}
    body = Elasticity(mesh, 7.0, 0.0, None, fixed, expansion={"a": 0.1, "b": 0.1}, temperature="10*x")
    free = pp.certify(body, body.space.U0, body.patch("right", "x"))
    assert free.lower[0] <= 0.5 <= free.upper[0]  # ν = 0: the end moves by ∫ αϑ on average
    assert free.guarantee == "deterministic"


def test_vertex_temperatures_are_linear_in_between():
    mesh = generate("square", 6)
    given = {"fixed": {"left": 0.0}, "expansion": 0.1, "degree": 2}
    formula = Elasticity(mesh, 1.0, 0.3, temperature="2*x - y", **given)
    table = Elasticity(mesh, 1.0, 0.3, temperature=2 * mesh.points[:, 0] - mesh.points[:, 1], **given)
    np.testing.assert_allclose(table.b, formula.b, atol=1e-15)
    one, two = (pp.certify(p, p.space.U0, p.patch("right", "x") + p.mean("y")) for p in (formula, table))
    np.testing.assert_allclose(one.center, two.center, rtol=1e-12)
    np.testing.assert_allclose(one.radius, two.radius, rtol=1e-9)
    with pytest.raises(
        pp.InputError, match=r"query 'q0': values at points .* need a temperature with known derivatives"
    ):
        pp.certify(table, table.space.U0, table.points([[0.5, 0.5]], "x"))
    with pytest.raises(pp.InputError, match="temperature: values at vertices are those of one mesh"):
        pp.certify_to(table, table.space.U0, table.patch("right", "x"), 1e-9)
    even = Elasticity(mesh, 1.0, 0.3, temperature=np.full(len(mesh.points), 2.0), **given)
    found = pp.certify_to(even, even.space.U0, even.patch("right", "x"), 1e-4, max_dofs=5000)
    assert found.history[-1].dofs > found.history[0].dofs


@pytest.mark.parametrize("degree", [1, 2])
def test_weights_by_cells_are_those_of_formulas(degree):
    """A column of two densities under its own weight: the reaction is the weight, the top sinks by the closed form."""
    mesh = generate("square", 4)
    high = mesh.points[mesh.cells].mean(axis=1)[:, 1] > 0.5
    mesh = Mesh(mesh.points, mesh.cells, {"low": ~high, "high": high}, mesh.facet_groups)
    fixed = {"bottom": [None, 0.0], "left": [0.0, None], "right": [0.0, None]}
    heavy = {"low": [0.0, -1.0], "high": [0.0, -3.0]}
    body = Elasticity(mesh, YOUNG, NU, heavy, fixed, degree=degree)
    asked = body.reaction("bottom", "y") + body.patch("top", "y") + body.points([[0.5, 0.3]], "y")
    certificate = pp.certify(body, body.space.U0, asked)
    M = YOUNG * (1 - NU) / ((1 + NU) * (1 - 2 * NU))
    top = -(1.0 * 0.125 + 1.5 * 0.5 + 3.0 * 0.125) / M
    inner = -(2.0 * 0.3 - 1.0 * 0.3**2 / 2) / M  # ∫ of what hangs above, /M
    truth = np.array([2.0, top, inner])
    assert np.all(np.abs(certificate.center - truth) <= certificate.radius)
    assert certificate.radius[0] < 1e-9
    rows = np.where(high[:, None], [[0.0, -3.0]], [[0.0, -1.0]])
    again = Elasticity(mesh, YOUNG, NU, rows, fixed, degree=degree)
    np.testing.assert_array_equal(again.b, body.b)
    refined = pp.certify_to(body, body.space.U0, asked, [1e-3, 1e-3, 2e-3])
    assert np.all(np.abs(refined.certificate.center - truth) <= refined.certificate.radius)


def test_a_ball_stops_where_weights_jump(monkeypatch):
    mesh = generate("square", 12)
    high = mesh.points[mesh.cells].mean(axis=1)[:, 1] > 0.5
    mesh = Mesh(mesh.points, mesh.cells, {"low": ~high, "high": high}, mesh.facet_groups)
    fixed = {"bottom": [None, 0.0], "left": [0.0, None], "right": [0.0, None]}
    body = Elasticity(mesh, YOUNG, NU, {"low": [0.0, 0.0], "high": [0.0, -30.0]}, fixed, degree=2)
    asked = body.points([[0.5, 0.45]], "y")
    M = YOUNG * (1 - NU) / ((1 + NU) * (1 - 2 * NU))
    truth = -15.0 * 0.45 / M
    certificate = pp.certify(body, body.space.U0, asked)
    assert certificate.details["ball_radius"][0] == pytest.approx(0.05)
    assert certificate.lower[0] <= truth <= certificate.upper[0]
    monkeypatch.setattr(Solid, "blocking", lambda self: np.flatnonzero(self.topology.boundary))
    wrong = pp.certify(body, body.space.U0, asked)
    assert not wrong.lower[0] <= truth <= wrong.upper[0]


def test_refusals():
    mesh = generate("square", 2)
    given = {"fixed": {"left": 0.0}}
    for more, words in (
        ({"expansion": 0.1}, "temperature: is missing"),
        ({"temperature": 0.1}, "expansion: is missing"),
        ({"expansion": 0.1, "temperature": [1.0, 2.0]}, "temperature: must be a number, a formula, or one number for"),
        ({"expansion": 0.1, "temperature": math.nan}, "temperature: must be finite"),
        ({"expansion": "x", "temperature": 1.0}, "expansion"),
        ({"body": {"nowhere": [0.0, 1.0]}}, "nowhere"),
        ({"body": np.zeros((3, 2))}, "body: by cells it must be finite numbers of shape"),
    ):
        with pytest.raises(pp.InputError, match=words):
            Elasticity(mesh, 1.0, 0.3, **given, **more)
    warm = Elasticity(mesh, 1.0, 0.3, expansion=0.1, temperature=1.0, traction={"right": [1.0, 0.0]}, **given)
    with pytest.raises(pp.InputError, match="von Mises: in plane strain"):
        warm.von_mises([[0.5, 0.5]])
    with pytest.raises(pp.InputError, match="the work of the loads is not certified with thermal expansion"):
        pp.certify(warm, warm.space.U0, warm.compliance())
    with pytest.raises(pp.InputError, match="lift: is for bodies without thermal expansion"):
        pp.certify(warm, ["0*x", "0*x"], warm.patch("right", "x"), lift=True)


def test_random_heated_bodies_hold_the_truth():
    """Polynomial displacements and temperatures, and layered bars with E 1:1000; the long campaign is in support."""
    total, missed, narrow = thermal_campaign.main(7, 2, quick=True)
    assert total == 37
    assert missed == 0
    assert narrow >= 5
