"""Bundles whose stored system is not that of their case: refused, whatever the target; and honest odd ones verify."""

from __future__ import annotations

import copy
from functools import cache

import numpy as np
import pytest

from pinnpoint.cli.main import main
from pinnpoint_verify import claims
from pinnpoint_verify.domains import sides_agree
from pinnpoint_verify.reader import Bundle, Refused

CASE = """[mesh]
generate = "{mesh}"
cells = {cells}
[problem]
{problem}
[problem.dirichlet]
{edge}
[prediction]
{prediction}
[[query]]
name = "a"
{query}
[certificate]
target = "{target}"
{more}
"""
POINT = 'kind = "point"\nat = {}'
LINEAR = 'kind = "reaction-diffusion"\nsource = "1+x"\nreaction = 1.0'
CUBIC = 'kind = "semilinear"\nsource = "1+x"\ncubic = 20.0'
BEAM = 'kind = "elasticity"\nyoung = 3.0\npoisson = 0.3\nbody = ["0", "-1"]'


def text(
    problem=LINEAR, edge="boundary = 0.0", query=None, target="discrete", more="", mesh="square", cells=3, **other
):
    prediction = other.get("prediction", 'expression = "x*(1-x)*y*(1-y)"')
    query = POINT.format("[0.4, 0.55]") if query is None else query
    return CASE.format(**{k: v for k, v in locals().items() if k != "other"})


CASES = {
    "linear": text(),
    "continuous": text(target="continuous"),
    "cubic": text(CUBIC, more='method = "root"'),
    "polished": text(CUBIC, more='method = "root"\npolish = 1'),
    "polished, stationary": text(CUBIC, more='method = "stationary"\npolish = 2'),
    "polished, continuous": text(CUBIC, target="continuous", more='method = "root"\npolish = 1'),
    "beam": text(
        BEAM + '\nplane = "stress"',
        'left = [0.0, "free"]\nbottom = ["free", "0.1*x"]\n[problem.neumann]\nright = ["y", "0"]',
        POINT.format("[0.4, 0.55]") + '\ncomponent = "y"',
        prediction="zero = true",
    ),
    "free": text(edge="", prediction="zero = true"),
    "flux": text(edge="left = 2.0\nright = 1.0", query='kind = "flux"\ngroup = "left"', prediction="zero = true"),
    "patch": text(edge="left = 0.0", query='kind = "patch"\ngroup = "right"', prediction="zero = true"),
    "frame": text(mesh="frame", cells=4, query=POINT.format("[-0.7, 0.1]"), prediction="zero = true"),
    "dumbbell": text(mesh="dumbbell", query=POINT.format("[0.4, 0.5]"), prediction="zero = true"),
    "kink": text(LINEAR.replace("1+x", "abs(x-0.41)"), edge="left = 0.0", target="continuous"),
    "kinks": text(LINEAR.replace("1+x", "max(0,x-0.41)+abs(y-0.23*x)"), target="continuous", more="budget = 1000"),
    "bump": text(LINEAR.replace("1+x", "50*exp(-3000*((x-0.71)**2+(y-0.23)**2))"), target="continuous"),
    "spike": text(LINEAR.replace("1+x", "exp(-50000*((x-0.3)**2+(y-0.61)**2))")),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("systems")

    @cache
    def make(name):
        path = root / f"{list(CASES).index(name)}.toml"
        path.write_text(CASES[name])
        assert main(["certify", str(path), "--quiet"]) == 0, name
        return Bundle(path.with_suffix("") / "bundle")

    return make


@pytest.fixture
def verify(made, monkeypatch):
    """Whether a bundle verifies after a change of its JSON files and arrays, as if it were hashed again."""

    def check(name, change=None):
        bundle = copy.copy(made(name))
        bundle.json, bundle.arrays, bundle.used = copy.deepcopy(bundle.json), dict(bundle.arrays), set()
        if change is not None:
            change(bundle)
        monkeypatch.setattr(claims, "Bundle", lambda path: bundle)
        try:
            return bool(claims.verify(""))
        except Refused:
            return False

    return check


@pytest.mark.parametrize("name", CASES)
def test_honest_bundles_verify(name, verify):
    assert verify(name)


def problem(**new):
    def change(bundle):
        for name in ("case.json", "certificate.json"):
            bundle.json[name]["problem"].update(new)

    return change


def mesh(**new):
    def change(bundle):
        bundle.json["case.json"]["mesh"].update(new)
        bundle.json["certificate.json"]["inputs"]["mesh"].update(new)

    return change


def group(name):
    def change(bundle):
        for file in ("case.json", "certificate.json"):
            bundle.json[file]["queries"][0]["group"] = name

    return change


def row(**new):
    return lambda bundle: bundle.json["certificate.json"]["queries"][0].update(new)


def options(**new):
    return lambda bundle: bundle.json["case.json"]["certificate"]["options"].update(new)


def shifted(bundle):
    """A flux with another constant, in all of its numbers."""
    bundle.arrays["system/constants"] = np.array(bundle.arrays["system/constants"]) + 1.0
    one = bundle.json["certificate.json"]["queries"][0]
    one.update(value=one["value"] + 1.0, center=one["center"] + 1.0)
    ends = [np.nextafter(one["center"] + s * one["radius"], s * np.inf) for s in (-1.0, 1.0)]
    one.update(lower=float(ends[0]), upper=float(ends[1]))


def bounds(share):
    """Bounds of the data that are smaller than the data's distance."""

    def change(bundle):
        bundle.arrays["source/f_rest"] = share * np.array(bundle.arrays["source/f_rest"])

    return change


FORGED = [
    *((name, bounds(share)) for name in ("kink", "kinks", "bump") for share in (0.2, 0.7)),
    *((name, problem(kind=kind)) for name in ("linear", "continuous", "cubic") for kind in ("parabolic", "elasticity")),
    ("linear", problem(kind="semilinear", cubic=20.0)),
    ("linear", problem(diffusion=1.001)),
    ("linear", problem(reaction=1.001)),
    ("linear", problem(source="1")),
    ("linear", problem(dirichlet={"boundary": 1.0})),
    ("linear", problem(dirichlet={"left": 0.0})),
    ("linear", problem(neumann={"rihgt": 1.0})),
    ("cubic", problem(cubic=20.1)),
    ("beam", problem(young=3.001)),
    ("beam", problem(poisson=0.31)),
    ("beam", problem(plane="strain")),
    ("beam", problem(body=[0.0, -1.1])),
    ("beam", problem(neumann={"right": [0.0, "y"]})),
    ("beam", problem(dirichlet={"left": [0.0, 0.0], "bottom": ["free", "0.1*x"]})),
    ("beam", problem(dirichlet={"left": [0.0, "free"], "bottom": ["free", "0.2*x"]})),
    *((name, mesh(generate=kind)) for name in ("linear", "continuous") for kind in ("bracket", "lshape", "dumbbell")),
    *((name, mesh(cells=4)) for name in ("linear", "continuous")),
    ("frame", mesh(generate="lshape")),
    ("patch", group("rihgt")),
    ("flux", shifted),
    ("polished", row(residual_norm=1e-3)),
    ("polished", row(sensitivity=2.0)),
    ("polished", options(polish=2)),
    ("polished, continuous", row(residual_norm=1e-9)),
    ("linear", lambda bundle: [options(polish=1)(bundle), row(residual_norm=1e-9)(bundle)]),
]


@pytest.mark.parametrize("number", range(len(FORGED)))
def test_another_system_than_the_case_has_is_refused(number, verify):
    name, change = FORGED[number]
    assert not verify(name, change)


def test_a_side_of_a_named_domain_is_whole(made):
    bundle = made("patch")
    nodes, facets = bundle.arrays["mesh/nodes"], bundle.arrays["mesh/facets0"]
    sides_agree(nodes, {"right": facets}, bundle.json["case.json"])
    with pytest.raises(Refused, match="whole side"):
        sides_agree(nodes, {"right": facets[:2]}, bundle.json["case.json"])
