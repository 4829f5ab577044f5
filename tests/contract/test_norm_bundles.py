"""Bundles of the error in L² and in the energy norm: proved again, and refused where a number is forged."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint_verify import lengths
from pinnpoint_verify.agreement import prediction_agrees
from pinnpoint_verify.claims import main as verified
from pinnpoint_verify.reader import Refused
from tests.support.forged import sealed

SINES = "sin(pi*x)*sin(pi*y)"


def written(folder: Path, *, degree: int = 1, lift: bool = False, kind: str = "square", **given: Any) -> Path:
    d = {"interval": 1, "cube": 3}.get(kind, 2)
    n = {1: 8, 2: 5, 3: 2}[d]
    given = {"source": "1 + x", "degree": degree} | given
    p = pp.fem.ReactionDiffusion(pp.io.generate(kind, n), **given)
    asked = p.l2_error() + p.everywhere() if lift else p.l2_error() + p.energy_error()
    U = "x*(1-x)*y*(1-y)" if lift else p.space.U0
    return pp.write_bundle(folder / "bundle", pp.certify(p, U, asked, lift=lift), p, U, asked)


def changed(made: Path, name: str, change: Callable[[Any], None]) -> Path:
    """The same bundle with another file, whose digest is right."""
    path = made / name
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    path.write_text(json.dumps(data, ensure_ascii=False) + "\n", encoding="utf-8")
    return sealed(made)


CASES: dict[str, dict[str, Any]] = {
    "line": {"kind": "interval", "degree": 2},
    "plane": {"reaction": 3.0},
    "quadratic": {"degree": 2},
    "corner": {"kind": "lshape"},
    "space": {"kind": "cube"},
    "lift": {"lift": True, "degree": 2},
}


@pytest.mark.parametrize("name", CASES)
def test_norms_are_proved_again(name, tmp_path, capsys):
    assert verified(written(tmp_path, **CASES[name])) == 0
    said = capsys.readouterr().out
    assert "l2-error: proved" in said
    assert ("energy-error: proved" in said) == (name != "lift")


def narrowed(i: int, *, side: str) -> Callable[[Any], None]:
    """An interval that ends a little further in."""

    def change(data: Any) -> None:
        row = data["queries"][i]
        low, high = row["center"] - row["radius"], row["center"] + row["radius"]
        low, high = (low, high - 1e-3 * row["radius"]) if side == "upper" else (low + 1e-3 * row["radius"], high)
        row["center"], row["radius"] = 0.5 * (low + high), 0.5 * (high - low)
        row["terms"]["transfer"] = row["radius"] - row["terms"]["rounding"]
        row["lower"] = math.nextafter(row["center"] - row["radius"], -math.inf)
        row["upper"] = math.nextafter(row["center"] + row["radius"], math.inf)
        row["value_radius"] = abs(row["value"] - row["center"]) + row["radius"]
        row["raw_radius"] = None if row["raw"] is None else row["value_radius"]

    return change


def of_mean(key: str, factor: float) -> Callable[[Any], None]:
    return lambda data: data["goals"][0]["mean"].update({key: data["goals"][0]["mean"][key] * factor})


FORGED = {
    "upper end of l2": ("certificate.json", narrowed(0, side="upper")),
    "lower end of l2": ("certificate.json", narrowed(0, side="lower")),
    "upper end of energy": ("certificate.json", narrowed(1, side="upper")),
    "lower end of energy": ("certificate.json", narrowed(1, side="lower")),
    "another norm": ("proof.json", lambda data: data["goals"][1].update(kind="l2-error")),
    "another word": ("certificate.json", lambda data: data["queries"][1].update(kind="l2-error")),
    "no mean": ("proof.json", lambda data: data["goals"][0].pop("mean")),
    "a smaller error": ("proof.json", of_mean("error", 0.99)),
    "a larger error": ("proof.json", of_mean("error", 1.01)),
    "a larger eigenvalue": ("proof.json", of_mean("eigenvalue", 1.2)),
    "a closed form that it has not": ("proof.json", of_mean("eigenvalue", 0.0)),
    "a larger shift": ("proof.json", of_mean("shift", 1.5)),
    "no penalty": ("proof.json", of_mean("penalty", 0.0)),
    "not known": ("proof.json", lambda data: data["goals"][1].update(known=False)),
    "an own value": ("proof.json", lambda data: data["goals"][1].update(own=[0.0, 0.0])),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = written(tmp_path_factory.mktemp("norms"), kind="lshape")
    assert verified(folder) == 0
    return folder


@pytest.mark.parametrize("name", FORGED)
def test_forged_norms_are_refused(name, made, tmp_path, capsys):
    copy = Path(shutil.copytree(made, tmp_path / "copy"))
    assert verified(changed(copy, *FORGED[name])) == 1
    capsys.readouterr()


def test_the_checker_s_distances_are_those_of_functions():
    """‖x(1 − x)y − 0‖ and its energy on one square, by hand, for quadratics that are met exactly."""
    p = pp.fem.ReactionDiffusion(pp.io.generate("square", 2), source="2", degree=2, dirichlet={"boundary": "x*(1-x)"})
    U = p.nodes.points[:, 0] * (1.0 - p.nodes.points[:, 0])
    asked = p.l2_error()
    found = pp.certify(p, np.zeros_like(U), asked)
    assert found.lower[0] <= math.sqrt(1.0 / 30.0) <= found.upper[0]
    assert found.radius[0] < 1e-9


def test_a_distance_that_is_left_out_is_noticed(made, monkeypatch, capsys):
    monkeypatch.setattr(lengths, "mix", lambda what, *given: 0.5 * MIX(what, *given))
    assert verified(made) == 1
    capsys.readouterr()


MIX = lengths.mix


def test_what_the_checker_does_not_prove_is_refused(tmp_path):
    p = pp.fem.ReactionDiffusion(
        pp.io.generate("square", 4), source="1", dirichlet={"bottom": 0.0, "top": 0.0}, periodic={"left": "right"}
    )
    for name, asked in (("b", p.l2_error()), ("c", p.maximum())):
        certificate = pp.certify(p, p.space.U0, asked)
        with pytest.raises(pp.InputError, match="checker"):
            pp.write_bundle(tmp_path / name, certificate, p, p.space.U0, asked)


@pytest.mark.parametrize("kind", ["l2_error", "energy_error"])
def test_what_is_beside_neumann_data_is_proved_again(kind, tmp_path):
    p = pp.fem.ReactionDiffusion(
        pp.io.generate("square", 4), source="1", dirichlet={"left": 0.0}, neumann={"right": 1.0}
    )
    asked = getattr(p, kind)()
    certificate = pp.certify(p, p.space.U0, asked)
    pp.write_bundle(tmp_path / "b", certificate, p, p.space.U0, asked)
    assert verified(str(tmp_path / "b")) == 0


def test_a_formula_with_other_boundary_values_is_not_bundled(tmp_path):
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), 1.0, degree=2)
    bump, queries = "0.1*x*(1-x) + 100*max(0, 1 - 20*x)", problem.l2_error()
    found = pp.certify(problem, bump, queries)
    with pytest.raises(pp.InputError, match="boundary"):
        pp.write_bundle(tmp_path / "bundle", found, problem, bump, queries)


@pytest.mark.parametrize("kind", ["everywhere", "l2-error", "energy-error"])
def test_boundary_values_of_another_formula_are_noticed(kind):
    """With u = 0 on the boundary, the formula's values at inner nodes alone are those of many others."""
    nodes, row = np.array([[0.0], [0.5], [1.0]]), {"name": "error", "kind": kind, "raw": None}
    d: Any = SimpleNamespace(U=np.array([0.0, 0.25, 0.0]), free=np.array([1]))
    proof = {"lift": None, "components": 1, "goals": [{"kind": kind}]}

    def seen(formula: str) -> None:
        case = {"prediction": {"source": "expression", "expression": formula}}
        prediction_agrees(d, [row], case, proof, cast(Any, lambda *asked: nodes))

    seen("x*(1-x)")
    with pytest.raises(Refused, match="other values on the boundary"):
        seen("x*(1-x) + 100*max(0, 1 - 20*x)")
