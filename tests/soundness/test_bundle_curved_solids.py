"""Bundles of plane solids with curved sides: the checker proves arcs, slivers and Airy's functions itself."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.round import ring_mesh
from pinnpoint_verify import arc_sides, arcs
from pinnpoint_verify.arc_sides import ArcSide
from pinnpoint_verify.checker import Ball
from pinnpoint_verify.claims import verify
from pinnpoint_verify.reader import Refused
from pinnpoint_verify.solids import Query
from tests.soundness.test_bundle_curved import refused
from tests.support import curved_solids as cs
from tests.support.forging import false_claims, forge

P = [[0.55, 0.5]]


def lame(degree=2):
    """Pressure on the inner circle, rollers on straight sides."""
    problem = cs.lame(5, degree=degree)
    return problem, problem.points(P, "x") + problem.stress(P, "xx")


def linear():
    """The same with linear elements."""
    return lame(1)


def kirsch():
    """Tractions by formulas along the outer arc."""
    problem = cs.kirsch(6)
    return problem, problem.points([[1.2, 1.3]], "x") + problem.mean("y")


def gripped():
    """Held at the inner circle; every query that there is."""
    problem = cs.gripped(ring_mesh(0.5, 1.0, 4, 32))
    return problem, problem.points(P, "x") + problem.mean("x") + problem.compliance()


def heavy():
    """Its own weight, in slivers too; an ellipse by a formula outside."""
    curves = {"hole": pp.Circle((0, 0), 0.5), "outer": pp.LevelSet("x**2 + y**2 - 1")}
    given = {"young": 1.0, "poisson": 0.3, "body": (0.0, -1.0), "fixed": {"hole": 0.0}, "plane": "strain"}
    problem = pp.fem.Elasticity(ring_mesh(0.5, 1.0, 4, 32), degree=2, geometry=curves, **given)
    return problem, problem.mean("y")


def bundle(folder, make):
    """A certificate and its bundle."""
    problem, queries = make()
    certificate = pp.certify(problem, problem.space.U0, queries)
    pp.write_bundle(folder, certificate, problem, problem.space.U0, queries)
    return certificate


@pytest.mark.parametrize("make", [lame, linear, kirsch, gripped, heavy])
def test_curved_solids_are_proved_again(tmp_path, make):
    certificate = bundle(tmp_path / "b", make)
    lines = verify(tmp_path / "b")
    assert sum(": proved " in line for line in lines) == len(certificate.names)
    assert any("that arcs do not meet one another" in line for line in lines)


@pytest.fixture(scope="module")
def pressed(tmp_path_factory):
    """The ring under pressure."""
    folder = tmp_path_factory.mktemp("pressed") / "b"
    bundle(folder, lame)
    return folder


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """The ring that is held."""
    folder = tmp_path_factory.mktemp("held") / "b"
    bundle(folder, gripped)
    return folder


def test_other_curves_arcs_and_data_are_refused(pressed, tmp_path):
    def radius(case):
        case["geometry"]["inner"]["radius"] = 0.50001

    def pressure(texts):
        for side in texts:
            side["inner"] = [f"1.001*({t})" for t in side["inner"]]

    def nearer(proof):
        proof["arcs"]["away"] = 1e-18

    def scaled(q):
        return q * np.array([1.0 + 1e-6, *np.ones(6)])

    def dropped(forger):
        for name in ("facets", "shape", "group"):
            forger.array(f"arcs/{name}", lambda a: a[1:])

    def both(forger):
        forger.json("case.json", lambda case: pressure([case["problem"]["neumann"]]))
        forger.json("proof.json", lambda proof: pressure([{"inner": t} for t in [proof["solid"]["traction"][0]]]))

    for change in (
        lambda f: f.json("case.json", radius),
        lambda f: f.json("case.json", lambda case: pressure([case["problem"]["neumann"]])),
        lambda f: f.json("proof.json", nearer),
        lambda f: f.json("proof.json", lambda proof: proof.pop("arcs")),
        lambda f: f.json("case.json", lambda case: case.pop("geometry")),
        lambda f: f.array("arcs/shape", scaled),
        lambda f: f.array("arcs/group", lambda g: 1 - g),
        dropped,
        both,
    ):
        refused(pressed, tmp_path, change)


@pytest.mark.parametrize("name", ["continuous/moments", "continuous/state", "dual/m0", "dual/z0", "dual/w0_beta"])
def test_other_states_and_stresses_are_refused(held, tmp_path, name):
    refused(held, tmp_path, lambda forger: forger.array(name, lambda a: 1.5 * a))


def test_random_forgeries_prove_nothing_false(pressed, tmp_path):
    truth = np.concatenate(cs.lame_truth(np.array(P)))
    truths = [(float(t), float(t)) for t in truth]
    outcomes = [forge(pressed, tmp_path / "forged", seed) for seed in range(16)]
    made = [one for one in outcomes if one is not None]
    assert len(made) > 8
    for one in made:
        if one.verified and not one.what.startswith(("case.json", "certificate.json", "proof.json")):
            assert not false_claims(one, truths), one.what


def drawn(folder, monkeypatch):
    """Intervals as the checker has them."""
    seen, own = [], Query.bound

    def bound(self, *given):
        seen.append(own(self, *given))
        return seen[-1]

    monkeypatch.setattr(Query, "bound", bound)
    try:
        verify(folder)
    except Refused:
        pass
    return seen


def test_each_part_of_the_proof_counts(pressed, held, monkeypatch):
    """Without Airy's stresses radii are less than claimed; without slivers or chords' resultants the truth is lost."""
    (intact, _) = drawn(pressed, monkeypatch)
    truth = float(cs.lame_truth(np.array(P))[0][0])
    assert abs(intact[0] - truth) < intact[1]
    with monkeypatch.context() as patch:
        patch.setattr(ArcSide, "_airy", lambda self: np.zeros(len(self.arcs.at)))
        (less, _) = drawn(pressed, patch)
        assert less[1] < 0.95 * intact[1]
    with monkeypatch.context() as patch:
        patch.setattr(arc_sides, "moved", lambda *given: (Ball(0.0), 0.0))
        (wrong, _) = drawn(pressed, patch)
        assert abs(wrong[0] - truth) > wrong[1]
    with monkeypatch.context() as patch:
        old = arcs.unbalanced
        patch.setattr(arc_sides, "missing", lambda a, t, f, m: old(a, t, f, 0.97 * m))
        (wide, _) = drawn(pressed, patch)
        assert wide[1] > 3.0 * intact[1]
    (own, *_) = drawn(held, monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(ArcSide, "_missed", lambda self: (Ball(np.zeros((len(self.mu), 40, 2))), np.zeros(len(self.mu))))
        (less, *_) = drawn(held, patch)
        assert less[1] < own[1]


def test_the_two_programs_cost_airys_stresses_alike(pressed, monkeypatch):
    """The checker fits other polynomials, by least squares; norms agree, and are those of second differences."""
    seen, own = [], ArcSide._norm
    monkeypatch.setattr(ArcSide, "_norm", lambda self, a, b: seen.append((self, a, b, own(self, a, b))) or seen[-1][-1])
    verify(pressed)
    side, a, b, found = seen[0]
    tau, theta, h = (np.arange(60) + 0.5) / 60, (np.arange(20) + 0.5) / 20, 1e-4
    kappa, total = side.arcs.kappa[:, None], 0.0

    def psi(x, y):
        eta = _heights(side.arcs, x)
        omega = kappa * x * (1.0 - x)
        t = (eta - y) / omega
        V = arc_sides.legendre(Ball(x))[0].m
        return omega**2 * (a @ V.T - t * (b @ V.T)) * (1.0 - 3.0 * t**2 + 2.0 * t**3)

    inside = (tau > 0.02) & (tau < 0.98)
    for t in theta:
        y = _heights(side.arcs, tau) - t * kappa * tau * (1.0 - tau)
        xx = (psi(tau + h, y) - 2.0 * psi(tau, y) + psi(tau - h, y)) / h**2
        yy = (psi(tau, y + h) - 2.0 * psi(tau, y) + psi(tau, y - h)) / h**2
        xy = (psi(tau + h, y + h) - psi(tau + h, y - h) - psi(tau - h, y + h) + psi(tau - h, y - h)) / (4.0 * h**2)
        square = (xx**2 + yy**2 + 2.0 * xy**2) * kappa * tau * (1.0 - tau)
        total = total + (square * inside).sum(axis=1) / (len(tau) * len(theta))
    norm = side.arcs.length.m * np.sqrt(total / side.c_min)
    assert (norm <= found * 1.01).all()
    assert (norm > 0.8 * found).all()


def _heights(curved, tau):
    return curved.graph(Ball(tau))[0].m


def test_tractions_along_arcs_are_enclosed(pressed, monkeypatch):
    """Against the formula and its differences at points between those of the interpolation."""
    seen, own = [], ArcSide.__init__
    monkeypatch.setattr(ArcSide, "__init__", lambda self, *given: (own(self, *given), seen.append(self))[0])
    verify(pressed)
    curved = seen[0].arcs
    pulled = arcs.Pulled(curved)
    pulled.add(curved.at, 0, "exp(x)*sin(3*y) + 1/(4 + x)")
    x, h = np.linspace(0.001, 0.999, 57), 1e-6
    at = pulled.at(Ball(x))

    def true(tau):
        eta, rise = (curved.graph(Ball(tau))[k].m for k in (0, 1))
        X = curved.ends[:, :1] + tau[:, None] * (curved.ends[:, 1:] - curved.ends[:, :1])
        X = X + (curved.length.m[:, None] * eta)[..., None] * curved.frame.m[:, 1:]
        t = np.exp(X[..., 0]) * np.sin(3.0 * X[..., 1]) + 1.0 / (4.0 + X[..., 0])
        return t * np.sqrt(1.0 + rise**2)

    for i in range(2):
        share = curved.frame.m[:, i, :1]
        assert (np.abs(at[i][0].m - share * true(x)) <= at[i][0].r + pulled.e[:, None] + 1e-14).all()
        slope = share * (true(x + h) - true(x - h)) / (2.0 * h)
        assert np.allclose(at[i][1].m, slope, atol=1e-7)
    assert pulled.e.max() < 1e-12
    assert math.isfinite(pulled.f.max())


def test_the_discrete_system_of_a_curved_solid_is_that_of_its_mesh(tmp_path):
    """It has no arcs, and its bundle needs none."""
    problem, queries = lame()
    certificate = pp.certify(problem, problem.space.U0, queries, target="discrete")
    pp.write_bundle(tmp_path / "b", certificate, problem, problem.space.U0, queries)
    assert sum(": proved " in line for line in verify(tmp_path / "b")) == len(queries)
