"""Lifted Dirichlet data: norms by quadrature, both intervals, fluxes, and the checker."""

from __future__ import annotations

import hashlib
import json
import math
import shutil

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.transfer.boundary.data_lift import DataLift
from pinnpoint_verify.claims import main as verify

G = "exp(x)*sin(2*y + 0.3)"


def problem(n=6, degree=2, given=G, **more):
    return pp.fem.ReactionDiffusion(
        pp.io.generate("square", n), source=f"3*{G}", dirichlet={"boundary": given}, degree=degree, **more
    )


def change(folder, name, how):
    """Write another array into a bundle, with its digest."""
    file = folder / f"{name}.npy"
    before = hashlib.sha256(file.read_bytes()).hexdigest()
    np.save(file, how(np.load(file)))
    listed = (folder / "manifest.json").read_text()
    assert before in listed
    (folder / "manifest.json").write_text(listed.replace(before, hashlib.sha256(file.read_bytes()).hexdigest()))


def solved(p):
    import scipy.sparse.linalg as spla

    free = np.asarray(p.space.free)
    U = p.space.U0.copy()
    U[free] += spla.spsolve(p.A[free][:, free].tocsc(), (p.b - p.A @ U)[free])
    return U


@pytest.mark.parametrize("degree", [1, 2])
def test_norms_of_the_lift_are_above_those_by_quadrature(degree):
    p = pp.fem.ReactionDiffusion(
        Mesh([[0.0, 0.0], [1.0, 0.1], [0.3, 0.9]], [[0, 1, 2]], {}, {"base": [[0, 1]]}),
        dirichlet={"base": "sin(3*x + y)"},
        reaction=2.0,
        degree=degree,
    )
    model = p.transfer(p.flux("base")).model
    lift = DataLift.of(model, p.space.U0)
    V = p.mesh.points
    t, wt = np.polynomial.legendre.leggauss(40)
    t, wt = 0.5 * (t + 1.0), 0.5 * wt
    F = V[0] + t[:, None] * (V[1] - V[0])
    g, slope = np.sin(3 * F[:, 0] + F[:, 1]), (3.0 + 0.1) * np.cos(3 * F[:, 0] + F[:, 1])
    ends = np.sin([0.0, 3.1])
    line, rate = ends[0] + t * (ends[1] - ends[0]), np.full(len(t), ends[1] - ends[0])
    if degree == 2:
        middle = math.sin(1.55) - ends.mean()
        line, rate = line + 4.0 * middle * t * (1.0 - t), rate + 4.0 * middle * (1.0 - 2.0 * t)
    m, dm = g - line, slope - rate
    e = V[1] - V[0]
    area = 0.5 * abs(e[0] * (V[2] - V[0])[1] - e[1] * (V[2] - V[0])[0])
    P = F - V[2]
    normal = np.array([e[1], -e[0]]) / np.hypot(*e)
    normal = normal if normal @ (V[0] - V[2]) > 0 else -normal
    w = np.stack([P[:, 1], -P[:, 0]], axis=1)
    w = w / (w @ e)[:, None]
    grad = m[:, None] * normal * (np.hypot(*e) / (2.0 * area)) + dm[:, None] * w
    true = math.sqrt(area * float(wt @ (grad**2).sum(axis=1)))
    size = math.sqrt(0.5 * area * float(wt @ m**2))
    assert true <= lift.gradient[0] <= 2.0 * true
    assert size <= lift.size[0] <= (1.0 + 1e-4) * size
    assert math.isclose(lift.energy[0], lift.gradient[0] + math.sqrt(2.0) * lift.size[0], rel_tol=1e-12)
    assert np.allclose(lift.moments[0], [wt @ (m * (1.0 - t)), wt @ (m * t)], rtol=1e-4)


def test_the_smaller_of_two_complete_intervals_is_issued(monkeypatch):
    X = np.array([[0.5, 0.4], [0.3, 0.3]])
    truth = np.exp(X[:, 0]) * np.sin(2.0 * X[:, 1] + 0.3)
    p = problem(10)
    lifted = pp.certify(p, p.space.U0, p.points(X))
    monkeypatch.setattr(DataLift, "of", classmethod(lambda cls, *given: None))
    plain = pp.certify(p, p.space.U0, p.points(X))
    assert lifted.contains(truth).all()
    assert plain.contains(truth).all()
    assert (lifted.terms["boundary"] < plain.terms["boundary"] / 20.0).all()
    assert (lifted.radius < plain.radius / 2.0).all()


def test_lifted_data_of_any_size_hold_the_truth_of_random_harmonic_functions():
    rng, missed, narrow, count = np.random.default_rng(11), 0, 0, 0
    for _ in range(6):
        a, b, k = rng.uniform(0.5, 2.5), rng.uniform(-1.0, 1.0), float(rng.integers(1, 5))
        g = f"exp({a!r}*x)*sin({a!r}*y + {b!r}) + {k!r}*x*y"
        p = pp.fem.ReactionDiffusion(
            pp.io.generate("square", 6), dirichlet={"boundary": g}, degree=int(rng.integers(1, 3))
        )
        X = rng.uniform(0.25, 0.75, (3, 2))
        truth = np.exp(a * X[:, 0]) * np.sin(a * X[:, 1] + b) + k * X[:, 0] * X[:, 1]
        c = pp.certify(p, p.space.U0, p.points(X))
        missed, count = missed + int((~c.contains(truth)).sum()), count + 3
        narrow += int((c.radius < 0.05 * np.abs(truth).max()).sum())
    assert missed == 0
    assert narrow > count // 2


def test_fluxes_need_no_data_that_the_elements_meet():
    p = problem(8)
    c = pp.certify(p, p.space.U0, p.flux("boundary"))
    x, w = np.polynomial.legendre.leggauss(30)
    x, w = 0.5 * (x + 1.0), 0.5 * w
    u = np.exp(x)[:, None] * np.sin(2.0 * x + 0.3)[None, :]
    assert c.contains([-3.0 * float(w @ u @ w)]).all()
    assert c.radius[0] < 1e-3


def test_bundles_of_lifted_data_verify_and_forged_ones_do_not(tmp_path, capsys):
    p = problem(5)
    queries = p.points([[0.5, 0.4]]) + p.flux("boundary")
    c = pp.certify(p, p.space.U0, queries)
    folder = pp.write_bundle(tmp_path / "b", c, p, p.space.U0, queries)
    assert verify(str(folder)) == 0
    proof = json.loads((folder / "proof.json").read_text())
    assert proof["raised"] is not None
    assert all(goal["raised"] for goal in proof["goals"])
    capsys.readouterr()
    for name, scale in (("value", 0.5), ("slope", 0.5), ("value", 0.0)):
        forged = shutil.copytree(folder, tmp_path / f"{name}{scale}")
        change(forged, f"raised/{name}", lambda a, scale=scale: scale * a)
        assert verify(str(forged)) == 1
        assert "Dirichlet data (sampled)" in capsys.readouterr().out


def test_vertices_of_data_that_is_no_polynomial_are_met_to_rounding():
    lift = DataLift.of((p := problem(6)).transfer(p.points([[0.5, 0.5]])).model, solved(p))
    assert 0.0 < lift.ends < 1e-13


@pytest.mark.parametrize("given", ["abs(x - 0.3)", "max(x, 0.4)", "sqrt(x)"])
def test_data_without_derivatives_keep_the_maximum_principle(given):
    p = problem(5, given=given)
    c = pp.certify(p, p.space.U0, p.points([[0.5, 0.4]]))
    assert np.isfinite(c.radius).all()
    assert not any("lifted" in claim.claim for claim in c.assumptions)
