"""Periodic pairs: largest errors and extreme values, by balls that cross the pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.quadrature import rule
from pinnpoint.transfer.everywhere import covers, local_band
from tests.support.periodic import shuffled


def wave(kind: str, n: int, degree: int = 2, *, mesh: Mesh | None = None, size: float = 1.0, kappa: float = 1.0):
    """u = size · sin 2πx times 1, sin πy, cos πy or cos 2πy: largest value size, smallest −size."""
    d = 3 if kind == "tube in space" else 1 if kind == "ring" else 2
    mesh = pp.io.generate({1: "interval", 2: "square", 3: "cube"}[d], n) if mesh is None else mesh
    other = {"ring": ("1", 0, 1.0), "tube": ("sin(pi*y)", 1, 0.0), "free": ("cos(pi*y)", 1, 2.0)}
    other |= {"torus": ("cos(2*pi*y)", 4, 3.0), "tube in space": ("sin(pi*y)", 1, 0.5)}
    across, more, c = other[kind]
    pairs = {"left": "right"} | ({"bottom": "top"} if kind == "torus" else {})
    pairs |= {"front": "back"} if d == 3 else {}
    sides = {"bottom": 0.0, "top": 0.0} if kind.startswith("tube") else {}
    source = f"({size}*({kappa}*(4+{more})*pi**2 + {c}))*sin(2*pi*x)*{across}"
    return pp.fem.ReactionDiffusion(mesh, source, kappa, c, dirichlet=sides, periodic=pairs, degree=degree)


CASES = {"ring": 64, "tube": 24, "free": 24, "torus": 24}


@pytest.mark.parametrize("kind", CASES)
def test_largest_errors_and_extreme_values_hold(kind):
    problem = wave(kind, CASES[kind], size=3.0, kappa=0.5)
    c = pp.certify(problem, "0*x", problem.everywhere() + problem.maximum() + problem.minimum())
    assert str(c.guarantee) == "deterministic"
    assert c.contains([3.0, 3.0, -3.0]).all()
    assert c.radius.max() < {"ring": 0.1, "tube": 0.05, "free": 0.3, "torus": 0.5}[kind]


def test_in_space_and_on_random_numbers_of_nodes():
    for problem in (
        wave("tube in space", 4),
        wave("tube", 8, mesh=shuffled(np.random.default_rng(1), pp.io.generate("square", 8))),
    ):
        c = pp.certify(problem, "0*x", problem.everywhere() + problem.maximum())
        assert c.contains([1.0, 1.0]).all()


def test_radii_shrink():
    radii = []
    for n in (8, 16):
        problem = wave("tube", n)
        radii.append(pp.certify(problem, "sin(2*pi*x)*sin(pi*y)", problem.everywhere()).upper[0])
    assert radii[1] < 0.25 * radii[0]


def check_neighbours() -> None:
    """What lies within r across the pairs is counted, against all distances between centres of cells."""
    rng, problem = np.random.default_rng(0), wave("torus", 9)
    model = problem.transfer(problem.points([[0.5, 0.5]])).model
    T, r = model.topology, 0.3
    rows = rng.random((2, len(T.cells)))
    band = local_band.Band(model, None, None, None, covers.cover(model))
    top, total = band.neighbourhoods.gather(r, rows, rows)
    X = T.points[T.cells].mean(axis=1)
    gap = np.abs(X[:, None] - X)
    near = np.linalg.norm(np.minimum(gap, 1.0 - gap), axis=2) <= r
    assert np.all(top >= np.where(near, rows[:, None], 0.0).max(axis=2))
    assert np.all(total >= np.where(near, rows[:, None], 0.0).sum(axis=2) * (1.0 - 1e-12))


def test_what_lies_across_a_pair_is_near():
    check_neighbours()


def test_translates_must_be_seen(monkeypatch):
    true = covers.cover
    monkeypatch.setattr(covers, "cover", lambda model: replace(true(model), shifts=np.zeros((1, 2))))
    with pytest.raises(AssertionError):
        check_neighbours()


@pytest.mark.parametrize("degree", [1, 2])
def test_the_error_in_the_mean_is_bounded_on_a_tube(degree):
    """By M_h of the glued mesh: above the error itself, and not far above it."""
    problem = wave("tube", 12, degree)
    c = pp.certify(problem, "0*x", problem.l2_error() + problem.everywhere())
    setting = c.evidence.extremes.setting
    found = local_band.l2_error(setting)
    state = problem.whole(np.asarray(setting.side.nodal))
    bary, weights = rule(2, 10)
    V = problem.mesh.points[problem.mesh.cells]
    X = np.einsum("qi,nic->nqc", bary, V).reshape(-1, 2)
    off = np.sin(2.0 * np.pi * X[:, 0]) * np.sin(np.pi * X[:, 1]) - np.concatenate(
        [pp.fem.ReactionDiffusion(problem.mesh, degree=degree).points(P).L @ state for P in np.array_split(X, 8)]
    )
    true = np.sqrt(np.sum((off**2).reshape(len(V), -1) @ weights) * 0.5 / 144.0)
    assert found.constant is not None
    assert true <= found.value <= {1: 8.0, 2: 40.0}[degree] * true


def test_predictions_that_jump_are_judged_as_they_were_given():
    problem = wave("ring", 64)
    v = np.sin(2.0 * np.pi * problem.nodes.points[:, 0])
    v[np.argmax(problem.nodes.points[:, 0])] = 5.0
    c = pp.certify(problem, v, problem.everywhere())
    assert c.contains([5.0]).all()
    assert c.radius[0] < 0.1


def test_what_is_refused():
    mesh = pp.io.generate("square", 6)
    pair = {"left": "right"}
    varies = pp.fem.ReactionDiffusion(mesh, 1.0, "1+x*(1-x)", 1.0, periodic=pair)
    sides = pp.fem.ReactionDiffusion(mesh, 1.0, robin={"top": (1.0, 0.0)}, periodic=pair)
    moved = mesh.points.copy()
    moved[:, 0] += 0.1 * moved[:, 1]
    leaning = pp.fem.ReactionDiffusion(
        Mesh(moved, mesh.cells, facet_groups=mesh.facet_groups), 1.0, dirichlet={"top": 0.0}, periodic=pair
    )
    words = (
        (varies, "for coefficients that vary"),
        (sides, "beside Robin sides"),
        (leaning, r"exact translates along an axis .* \[0.00833.*\] is glued to that at \[1.00833"),
    )
    for problem, word in words:
        with pytest.raises(InputError, match=word):
            pp.certify(problem, "0*x", problem.everywhere())
        assert pp.certify(problem, "0*x", problem.points([[0.5, 0.5]])).radius[0] < 0.1
