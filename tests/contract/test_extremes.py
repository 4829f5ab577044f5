"""Extreme values of the solution and norms of the prediction's error: in Python and in case files, never wrong."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.certificates.extremes import Extremes, Found
from pinnpoint.certificates.settled import settled
from pinnpoint.cli.main import main
from pinnpoint.transfer.everywhere import asked, lengths, ranges


def all_of(problem):
    return problem.maximum() + problem.minimum() + problem.l2_error() + problem.energy_error()


def randoms(seed):
    """κ, wave numbers and a reaction; u = sin(kπx) sin(lπy) has known norms and extremes."""
    rng = np.random.default_rng(seed)
    k, m, kappa, c = (
        int(rng.integers(1, 3)),
        int(rng.integers(1, 3)),
        float(rng.uniform(0.2, 5)),
        float(rng.choice([0, 6])),
    )
    load = f"({kappa}*({k * k + m * m})*pi**2 + {c})*sin({k}*pi*x)*sin({m}*pi*y)"
    problem = pp.fem.ReactionDiffusion(
        pp.io.generate("square", int(rng.integers(6, 11))),
        source=load,
        diffusion=kappa,
        reaction=c,
        degree=int(rng.integers(1, 3)),
    )
    return problem, k, m, kappa, c, float(rng.uniform(-0.2, 0.2))


@pytest.mark.parametrize("seed", range(8))
def test_intervals_hold_the_truth(seed):
    problem, k, m, kappa, c, off = randoms(seed)

    def wave(X):
        return np.sin(k * np.pi * X[:, 0]) * np.sin(m * np.pi * X[:, 1])

    found = pp.certify(problem, lambda X: (1 + off) * wave(X), all_of(problem))
    low = 0.0 if k == m == 1 else -1.0
    assert found.guarantee == "deterministic"
    assert found.lower[0] <= 1.0 <= found.upper[0]
    assert found.lower[1] <= low <= found.upper[1]
    assert found.upper[0] - found.lower[0] < (2.5, 0.7)[problem.degree - 1]
    # the norms are those of the interpolant, which differs from the formula by O(h²)
    h, size = 1.0 / math.sqrt(len(problem.mesh.cells) / 2), math.sqrt(0.25 * (kappa * (k * k + m * m) * np.pi**2 + c))
    slack = (k * k + m * m) * np.pi**2 * h * h
    assert found.lower[2] <= 0.5 * abs(off) + 0.5 * slack
    assert found.upper[2] >= 0.5 * abs(off) - 0.5 * slack
    assert found.lower[3] <= abs(off) * size + size * slack / h
    assert found.upper[3] >= abs(off) * size - size * slack / h


def test_norms_of_a_prediction_in_the_space():
    """u = x(1 − x) is quadratic, so everything is known: ‖u‖₂ = √(1/30), ‖u‖_a = √(1/3)."""
    problem = pp.fem.ReactionDiffusion(pp.io.generate("interval", 8), source="2", degree=2)
    found = pp.certify(problem, np.zeros(17), all_of(problem))
    truth = np.array([0.25, 0.0, math.sqrt(1 / 30), math.sqrt(1 / 3)])
    assert np.all(found.lower <= truth)
    assert np.all(truth <= found.upper)
    assert np.all(found.upper - found.lower < 1e-9)


def test_norms_of_errors_are_not_negative():
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), source="2*pi**2*sin(pi*x)*sin(pi*y)")
    queries = problem.l2_error() + problem.energy_error() + problem.everywhere()
    found = pp.certify(problem, lambda X: np.sin(np.pi * X).prod(axis=1), queries)
    assert found.lower.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("lower", [0.0, 1e-300, 1e-9, 9e-7, 0.1, -0.1])
def test_intervals_of_extremes_hold_both_ends_of_what_is_found(lower):
    """A lower end next to zero is given up, and not the upper end with it."""
    problem = pp.fem.ReactionDiffusion(pp.io.generate("interval", 4), source="1")
    plain = pp.certify(problem, problem.space.U0, problem.everywhere())

    class Given(Extremes):
        places, note = (), ""

        def found(self, given):
            return {0: Found(lower, 1.0, 0.0, "given", True)}

    changed = settled(replace(plain, evidence=replace(plain.evidence, extremes=Given())), problem.space.U0)
    assert changed.lower[0] <= lower
    assert changed.upper[0] >= 1.0
    assert changed.upper[0] - changed.lower[0] < 1.000002 - min(lower, 0.0) - (lower if lower > 1e-6 else 0.0)


def test_a_lift_has_its_own_norms():
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 8), source="2*pi**2*sin(pi*x)*sin(pi*y)", degree=2)
    found = pp.certify(problem, "0.9*sin(pi*x)*sin(pi*y)", problem.l2_error() + problem.everywhere(), lift=True)
    assert found.lower[0] <= 0.05 <= found.upper[0]
    assert found.upper[0] - found.lower[0] < 2e-3
    with pytest.raises(pp.InputError, match="leave lift out"):
        pp.certify(problem, "0.9*sin(pi*x)*sin(pi*y)", problem.maximum(), lift=True)


def test_groups_of_cells():
    mesh = pp.io.generate("square", 8)
    left = np.flatnonzero(mesh.points[mesh.cells].mean(axis=1)[:, 0] < 0.25)
    mesh = type(mesh)(mesh.points, mesh.cells, cell_groups={"strip": left}, facet_groups=dict(mesh.facet_groups))
    problem = pp.fem.ReactionDiffusion(mesh, source="2*pi**2*sin(pi*x)*sin(pi*y)", degree=2)
    found = pp.certify(problem, np.zeros(len(problem.nodes)), problem.maximum("strip") + problem.minimum("strip"))
    top = math.sin(math.pi / 4)
    assert found.lower[0] <= top <= found.upper[0]
    assert found.upper[0] < 0.9
    assert found.lower[1] <= 0.0 <= found.upper[1]
    with pytest.raises(pp.InputError, match="no such cell group"):
        problem.maximum("right half")


def test_energy_needs_data_that_is_met():
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), source="0", dirichlet={"boundary": "exp(x)*sin(y)"})
    with pytest.raises(pp.InputError, match="energy error needs Dirichlet data"):
        pp.certify(problem, np.zeros(25), problem.energy_error())
    found = pp.certify(problem, np.zeros(25), problem.l2_error() + problem.maximum())
    true = math.sqrt((math.e**2 - 1) / 2 * (0.5 - math.sin(2) / 4))
    assert found.lower[0] <= true <= found.upper[0]
    assert found.lower[1] <= math.e * math.sin(1) <= found.upper[1]


def test_refusals():
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), source="1", reaction=1.0, dirichlet={})
    with pytest.raises(pp.InputError, match="no error in the mean is bounded"):
        pp.certify(problem, np.zeros(25), problem.l2_error())
    with pytest.raises(pp.InputError, match="target"):
        pp.certify(problem, np.zeros(25), problem.maximum(), target="discrete")


def test_limits_decide_about_the_maximum():
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 8), source="2*pi**2*sin(pi*x)*sin(pi*y)", degree=2)
    for below, said in ((1.2, "holds"), (0.9, "violated"), (1.0, "undecided")):
        found = pp.certify(problem, np.zeros(len(problem.nodes)), problem.maximum(), limit={"below": below})
        assert found.verdicts[0]["limit"] == said


@pytest.mark.parametrize(("module", "name"), [(lengths, "_around"), (ranges, "_above")])
def test_dropped_bounds_are_missed(module, name, monkeypatch):
    """The bound of the state's own error left out: some interval misses."""
    kept = getattr(module, name)
    short = {
        "_around": lambda s, low, high, bound, *rest: kept(s, low, high, 0.0, *rest),
        "_above": lambda x, error: kept(x, 0.0 * error),
    }[name]
    monkeypatch.setattr(module, name, short)
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 6), source="2*pi**2*sin(pi*x)*sin(pi*y)", degree=1)
    found = pp.certify(problem, np.zeros(49), all_of(problem))
    truth = np.array([1.0, 0.0, 0.5, math.pi / math.sqrt(2)])
    assert not np.all((found.lower <= truth) & (truth <= found.upper))


def test_a_query_alone_needs_no_band(monkeypatch):
    monkeypatch.setattr(asked.Suprema, "of", None)
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), source="1")
    assert pp.certify(problem, np.zeros(25), problem.energy_error()).upper[0] > 0.1


def test_case_files(tmp_path):
    kinds = ("maximum", "minimum", "l2-error", "energy-error")
    rows = "".join(f'[[query]]\nname = "{kind}"\nkind = "{kind}"\n' for kind in kinds)
    (tmp_path / "case.toml").write_text(
        '[mesh]\ngenerate = "square"\ncells = 6\n[problem]\nkind = "reaction-diffusion"\nsource = "1"\n'
        f"dirichlet = {{ boundary = 0.0 }}\n[prediction]\nzero = true\n{rows}",
        encoding="utf-8",
    )
    assert main(["certify", str(tmp_path / "case.toml"), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    said = json.loads((tmp_path / "out" / "certificate.json").read_text(encoding="utf-8"))
    assert [row["kind"] for row in said["queries"]] == list(kinds)
    top, bottom, mean, energy = ((row["lower"], row["upper"]) for row in said["queries"])
    assert top[0] <= 0.0736713 <= top[1]  # of −Δu = 1
    assert bottom[0] <= 0.0 <= bottom[1]
    assert mean[0] <= 0.0413 <= mean[1]
    assert energy[0] <= math.sqrt(0.0351443) <= energy[1]
