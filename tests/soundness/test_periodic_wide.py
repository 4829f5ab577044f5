"""Periodic pairs: tolerances, with both sides refined alike."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.gluing import Gluing
from pinnpoint.mesh.refine import Refiner, families

TORI = {
    "square": (3, {"left": "right", "bottom": "top"}),
    "cube": (3, {"left": "right", "bottom": "top", "front": "back"}),
}


def refined_torus(kind: str, seed: int, steps: int) -> None:
    n, pairs = TORI[kind]
    mesh, rng = pp.io.generate(kind, n), np.random.default_rng(seed)
    refiner = Refiner(mesh, Gluing.of(mesh, pairs))
    for _ in range(steps):
        count = len(refiner.mesh.cells)
        refiner.refine(rng.choice(count, max(1, count // 20), replace=False))
        Gluing.of(refiner.mesh, pairs)
    assert len(refiner.mesh.cells) > 2 * len(mesh.cells)


@pytest.mark.parametrize(("kind", "steps"), [("square", 14), ("cube", 6)])
def test_sides_of_pairs_stay_matching(kind, steps):
    for seed in range(3):
        refined_torus(kind, seed, steps)


def test_edges_that_are_not_cut_together_do_not_match(monkeypatch):
    monkeypatch.setattr(families.Edges, "with_twins", lambda self, edges: edges)
    monkeypatch.setattr(families.Edges, "behind", lambda self: np.zeros(0, dtype=np.intp))
    with pytest.raises(InputError, match="must match"):
        refined_torus("square", 0, 14)


def test_edges_drawn_in_different_sweeps_are_one(monkeypatch):
    monkeypatch.setattr(families.Edges, "_across", lambda self, sweep: None)
    with pytest.raises(InputError, match=r"must match|do not"):
        refined_torus("cube", 0, 8)


@pytest.mark.parametrize("degree", [1, 2])
def test_a_tolerance_is_reached_on_a_tube(degree):
    """u = y(1 − y) exp(sin 2πx)²: the source is steep next to the pair, where the point is."""
    u, s, c = "exp(2*sin(2*pi*x))", "sin(2*pi*x)", "cos(2*pi*x)"
    source = f"2*{u} - y*(1-y)*{u}*(16*pi**2*{c}**2 - 8*pi**2*{s})"
    mesh = pp.io.generate("square", 6)
    sides = {"bottom": 0.0, "top": 0.0}
    problem = pp.fem.ReactionDiffusion(mesh, source, dirichlet=sides, periodic={"left": "right"}, degree=degree)
    X = np.array([[0.2, 0.5]])
    found = pp.certify_to(problem, "0*x", problem.points(X), {1: 0.1, 2: 1e-3}[degree])
    assert found.reached
    assert found.certificate.contains(0.25 * np.exp(2.0 * np.sin(2.0 * np.pi * X[:, 0]))).all()
    assert len(found.history) > 2


def test_predictions_given_by_values_are_carried_along():
    problem = pp.fem.ReactionDiffusion(
        pp.io.generate("square", 6), "(4*pi**2+1)*sin(2*pi*x)", reaction=1.0, periodic={"left": "right"}, degree=2
    )
    values = np.sin(2.0 * np.pi * problem.nodes.points[:, 0])
    found = pp.certify_to(problem, values, problem.points([[0.3, 0.4]]), 1e-3)
    assert found.reached
    assert found.certificate.contains(np.sin(0.6 * np.pi)).all()
    assert abs(found.certificate.value[0] - np.sin(0.6 * np.pi)) < 0.05
