"""Lifted networks: the checker follows their layers itself, and proves what they leave and their own values."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from scipy import special

import pinnpoint as pp
from pinnpoint_verify import network_models, networks
from pinnpoint_verify.checker import Ball
from pinnpoint_verify.claims import verify
from pinnpoint_verify.lifts import Lift
from pinnpoint_verify.networks import Network, NetworkLeftover, coordinates, monomials, ordered
from pinnpoint_verify.reader import Refused
from tests.soundness.test_bundle_forged import Forger

WAVE = "2*pi**2*sin(pi*x)*sin(pi*y)"
SHAPES = {1: (7, 5), 2: (8, 6), 3: (6, 4)}


def layers_of(d, rng, scale=1.0):
    sizes = [d, *SHAPES[d], 1]
    return [(scale * rng.normal(size=(m, n)) / np.sqrt(n), rng.normal(size=m)) for n, m in pairwise(sizes)]


def said_of(d, activation, **more):
    usual = {"kind": "network", "layers": len(SHAPES[d]) + 1, "activation": activation, "box": False}
    return usual | {"inputs": None, "factor": None, "offset": None} | more


def simplices(d, rng, size):
    return rng.uniform(0.1, 0.9, (6, 1, d)) + size * rng.uniform(-1.0, 1.0, (6, d + 1, d))


def audit(d, activation, seed, size=0.1, **more):
    """The largest share of its remainder that a model is off by at points, and its median, of value, slopes and Δ."""
    rng = np.random.default_rng(seed)
    layers, said, V = layers_of(d, rng, 1.5), said_of(d, activation, **more), simplices(d, rng, size)
    V = np.take_along_axis(V, ordered(V)[:, :, None], axis=1)
    q = networks.DEGREES[d][-1]
    u = Network(layers, said, d)(coordinates(V, q))
    B = rng.dirichlet(np.ones(d + 1), 40)
    table = monomials(d, q, np.ascontiguousarray(B).tobytes())
    own = object.__new__(Lift)  # another program, in floats
    own.said, own.layers = said, layers
    truth = own(np.einsum("qi,nic->nqc", B, V))
    pairs = [(u.v, truth.v), *zip(u.g, truth.g, strict=True), (u.lap, truth.lap)]
    return [np.abs(M.C.T @ table - x).max(axis=1) / (M.e + 1e-13 * (1.0 + np.abs(x).max())) for M, x in pairs]


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("activation", network_models.ACTIVATIONS)
def test_models_hold_value_slopes_and_laplacian(d, activation):
    more = {"factor": "x*(1-x)", "offset": "exp(x)", "inputs": ["2*x - 1", "y", "z"][:d], "box": d == 2}
    for size, dressed in ((0.1, {}), (0.3, more)):
        for share in audit(d, activation, d, size, **dressed):
            assert np.all(share <= 1.0)
            assert d == 3 or size > 0.1 or np.median(share) > 1e-4  # and are not idle


@pytest.mark.parametrize("activation", ["tanh", "sin", "softplus", "gelu"])
def test_without_what_is_cut_off_models_fail(activation, monkeypatch):
    monkeypatch.setattr(network_models, "beyond", lambda a, b: np.zeros(a.shape[1:]))
    monkeypatch.setattr(network_models.Model, "__mul__", uncut(network_models.Model.__mul__))
    assert max(share.max() for share in audit(2, activation, 2, 0.3)) > 1.0


def uncut(product):
    """Products whose remainders have only what comes in."""

    def times(a, b):
        found = product(a, b)
        found.e = a.e * (b.size + b.e) + b.e * a.size + 1e-14
        return found

    return times


@pytest.mark.parametrize("name", network_models.ACTIVATIONS)
def test_what_comes_in_goes_through(name):
    """A function within the remainder of a model: its activation is within that of the activation's."""
    rng = np.random.default_rng(3)
    p = coordinates(rng.uniform(-2.0, 2.0, (50, 2, 1)), 10)[0]
    p.e = rng.uniform(1e-4, 0.3, 50)
    xi = np.linspace(-1.0, 1.0, 9)
    own = network_models.activated(p, name)[0]
    table = xi[None] ** p.S.powers
    t = np.tanh
    truth = {
        "tanh": t,
        "sin": np.sin,
        "sigmoid": lambda z: 0.5 + 0.5 * t(0.5 * z),
        "softplus": lambda z: np.log1p(np.exp(z)),
    }
    truth["silu"] = lambda z: z * truth["sigmoid"](z)
    truth["gelu"] = lambda z: z * special.ndtr(z)
    truth["gelu-tanh"] = lambda z: 0.5 * z * (1.0 + t(np.sqrt(2.0 / np.pi) * (z + 0.044715 * z**3)))
    for sign in (-1.0, 0.0, 1.0):
        off = np.abs(own.C.T @ table - truth[name](p.C.T @ table + sign * p.e[:, None])).max(axis=1)
        assert np.all(off <= own.e * (1.0 + 1e-9))
        assert sign == 0.0 or np.median(off / own.e) > 0.01


def network(rng, d=2, activation="tanh"):
    layers = layers_of(d, rng, 0.6)
    return pp.models.MLP([W for W, _ in layers], [b for _, b in layers], activation)


def plane(folder, factor="x*(1-x)*y*(1-y)", activation="tanh", **more):
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), **({"source": WAVE} | more))
    queries = problem.points([[0.37, 0.52]]) + problem.gradients([[0.4, 0.5]], "x") + problem.mean()
    if "neumann" in more:
        queries = queries + problem.patch("right")
    u = pp.models.Lift(network(np.random.default_rng(1), 2, activation), factor)
    certificate = pp.certify(problem, u, queries, lift="anyway")
    pp.write_bundle(folder, certificate, problem, u, queries)


def line(folder):
    problem = pp.fem.ReactionDiffusion(pp.io.generate("interval", 6), source="exp(x)", reaction=1.0, degree=2)
    queries, u = problem.points([[0.4]]), pp.models.Lift(network(np.random.default_rng(1), 1), "x*(1-x)")
    pp.write_bundle(folder, pp.certify(problem, u, queries, lift="anyway"), problem, u, queries)


def cube(folder):
    problem = pp.fem.ReactionDiffusion(pp.io.generate("cube", 2), source="1 + x*y*z")
    queries, u = problem.mean(), network(np.random.default_rng(1), 3)
    pp.write_bundle(folder, pp.certify(problem, u, queries, lift="anyway"), problem, u, queries)


def varying(folder):
    given = {"source": WAVE, "diffusion": "1 + x*y", "dirichlet": {"left": 0.0}}
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), **given)
    queries, u = problem.mean(), pp.models.Lift(network(np.random.default_rng(1), 2, "gelu"), "x")
    pp.write_bundle(folder, pp.certify(problem, u, queries, lift="anyway"), problem, u, queries)


SIDES = {"dirichlet": {"left": 0.0}, "neumann": {"right": "1 + y", "top": 0.0, "bottom": 0.0}, "reaction": 2.0}
HONEST = {
    "plane": plane,
    "sin": lambda folder: plane(folder, activation="sin"),
    "gelu": lambda folder: plane(folder, activation="gelu"),
    "varying": varying,
    "sides": lambda folder: plane(folder, factor="x", **SIDES),
    "held": lambda folder: plane(folder, factor=None, dirichlet={"boundary": "x*y"}),
    "line": line,
    "cube": cube,
}


@pytest.mark.parametrize("what", HONEST)
def test_nothing_that_a_network_leaves_is_declared(tmp_path, what):
    HONEST[what](tmp_path / "b")
    said = [line for line in verify(tmp_path / "b") if line.startswith("declared:")]
    assert not any(word in line for line in said for word in ("own value", "enclosures", "residual of", "how well"))


def narrow(forger, a):
    """Two neurons more, a ridge of width 1e-7 through the first query's point; by what it moves u_θ."""
    k, turn = 1e7, np.array([np.cos(0.7), np.sin(0.7)])
    middle = k * float(turn @ [0.37, 0.52])
    W, b = forger.array("lift/w0"), forger.array("lift/b0")
    forger.put("lift/w0", np.concatenate([W, [k * turn, k * turn]]))
    forger.put("lift/b0", np.concatenate([b, [2.0 - middle, -2.0 - middle]]))
    forger.array("lift/w1", lambda w: np.concatenate([w, [[0.5 * a, -0.5 * a]]], axis=1))
    return a * np.tanh(2.0) * 0.37 * 0.63 * 0.52 * 0.48


def shallow(folder):
    """One point of the plane, and a network with one layer."""
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), source=WAVE)
    queries, rng = problem.points([[0.37, 0.52]]), np.random.default_rng(1)
    net = pp.models.MLP([rng.normal(size=(5, 2)), rng.normal(size=(1, 5))], [rng.normal(size=5), np.ones(1)], "tanh")
    u = pp.models.Lift(net, "x*(1-x)*y*(1-y)")
    certificate = pp.certify(problem, u, queries, lift="anyway")
    pp.write_bundle(folder, certificate, problem, u, queries)
    return certificate


@pytest.mark.slow
def test_a_narrow_neuron_that_moves_the_value_is_refused(tmp_path, monkeypatch):
    """Samples do not see it: without the checker's own models a false claim verifies."""
    certificate = shallow(tmp_path / "b")
    verify(tmp_path / "b")
    forger = Forger(tmp_path / "b")
    center, radius = float(certificate.center[0]), float(certificate.radius[0])
    truth, by = np.sin(np.pi * 0.37) * np.sin(np.pi * 0.52), narrow(forger, 40.0 * radius)
    own = json.loads((tmp_path / "b" / "proof.json").read_text())["goals"][0]["own"]
    forger.goal(own=[own[0] + by, own[1] + 1e-9 * by])
    forger.json("certificate.json", lambda d: d["queries"][0].update(raw=own[0] + by))
    forger.claim(0, center + by, 1.001 * radius)
    assert abs(truth - center) <= radius
    assert abs(truth - center - by) > 1.001 * radius
    forger.seal()
    with pytest.raises(Refused, match="is proved"):
        verify(tmp_path / "b")
    made = NetworkLeftover.__init__

    def unknown(self, *given):
        made(self, *given)
        self.known = False

    monkeypatch.setattr(NetworkLeftover, "__init__", unknown)
    assert verify(tmp_path / "b")


@pytest.mark.parametrize("by", [1e-6, 1e-2])
def test_a_weight_that_was_moved_is_refused_or_proves_what_is_true(tmp_path, by):
    certificate = shallow(tmp_path / "b")
    forger = Forger(tmp_path / "b")
    forger.array("lift/w1", lambda w: w * np.array([[1.0 + by, 1.0, 1.0, 1.0, 1.0]]))
    said = json.loads((tmp_path / "b" / "proof.json").read_text())["lift"]
    u = NetworkLeftover([(forger.array(f"lift/w{k}"), forger.array(f"lift/b{k}")) for k in (0, 1)], said, 2)
    own = list(u.value({"kind": "point", "at": [0.37, 0.52]}, np.zeros((0, 2, 2))))
    forger.goal(own=own)
    forger.json("certificate.json", lambda d: d["queries"][0].update(raw=own[0]))
    forger.claim(0, float(certificate.center[0]), float(certificate.radius[0]))
    forger.seal()
    with pytest.raises(Refused):
        verify(tmp_path / "b")


@pytest.mark.parametrize("term", ["lap", "v"])
def test_every_term_of_a_leftover_shows(tmp_path, term, monkeypatch):
    """Without one of them an honest bundle is refused."""
    line(tmp_path / "b")
    made = Network.__call__

    def without(self, X, slopes=True):
        u = made(self, X, slopes)
        if slopes:
            setattr(u, term, getattr(u, term).scaled(Ball(0.0)))
        return u

    monkeypatch.setattr(Network, "__call__", without)
    with pytest.raises(Refused):
        verify(tmp_path / "b")
