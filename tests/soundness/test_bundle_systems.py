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
from pinnpoint_verify.rules import stored_rule

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


HERE, CORNER = POINT.format("[0.4, 0.55]"), POINT.format("[0.4, 0.5, 0.6]")
ZERO = {"prediction": "zero = true"}


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
    "oscillating": text(LINEAR.replace("1+x", "exp(x)*sin(3*y) + 2*sin(60*x)") + "\ndegree = 2"),
    "steep": text(LINEAR.replace("1+x", "exp(x)*sin(3*y) + 10*(1+tanh(1000*(x-0.45)))")),
    "rough rule": text(LINEAR.replace("1+x", "x*x"), more="quadrature = 1"),
    "rough rule, continuous": text(LINEAR.replace("1+x", "x*x"), more="quadrature = 1", target="continuous"),
    "fine rule": text(LINEAR.replace("1+x", "exp(9*x)"), more="quadrature = 20", mesh="cube", query=CORNER, **ZERO),
    "varying reaction": text(LINEAR.replace("1.0", '"1 + 50*exp(-300*(x-0.4)**2)"') + "\ndegree = 2"),
    "fluxes": text(edge='left = 0.0\n[problem.neumann]\ntop = "x*(1-x)"\nright = 2.0'),
    "inexact beam": text(BEAM.replace('"0"', '"x*y"'), "left = 0.0", HERE + '\ncomponent = "y"', **ZERO),
    "pushed": text(
        BEAM.replace('"0"', '"tanh(30*x)"'),
        'left = 0.0\n[problem.neumann]\nright = [0.5, "y"]\n[problem.force]\ntop = [0.0, -2.0]\n'
        "bottom = { force = [1.0, 0.5], moment = [0.1], at = [0.2, 0.3] }",
        HERE + '\ncomponent = "y"',
        **ZERO,
    ),
    "kink in a cube": text(
        LINEAR.replace("1+x", "max(0,y-0.667)+1").replace("1.0", '"1+abs(z-0.3)"') + "\ndegree = 2",
        'left = 0.0\n[problem.neumann]\nright = "abs(y-z)"',
        CORNER,
        mesh="cube",
        cells=2,
        **ZERO,
    ),
    "narrow lift": text(
        edge='left = "y*(1-y)"\nright = 0.0',
        query='kind = "average"\nat = [0.6, 0.5]\nradius = 0.2',
        target="continuous",
        more='lift = "anyway"',
        prediction='expression = "y*(1-y)*(1-x)+0.3*exp(-3000*((x-0.71)**2+(y-0.23)**2))"',
    ),
    "narrow source": text(
        LINEAR.replace("1+x", "9*exp(-2000*((x-0.31)**2+(y-0.43)**2)) + abs(x-y)"), target="continuous"
    ),
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


def force(group, **new):
    def change(bundle):
        for name in ("case.json", "certificate.json"):
            bundle.json[name]["problem"]["force"][group].update(new)

    return change


def array(name, change):
    def forge(bundle):
        bundle.arrays[name] = change(np.array(bundle.arrays[name]))

    return forge


def turned(bundle):
    """A rule of order 1 where order 4 is asked for."""
    bundle.arrays["rule/cells_at"], bundle.arrays["rule/cells_w"] = np.full((1, 3), 1.0 / 3.0), np.ones(1)


def constant(by):
    """Another ∫fΦ."""

    def change(bundle):
        bundle.json["proof.json"]["goals"][0]["constant"] += by

    return change


STEP, BUMP = "10*(1+tanh(1000*(x-0.45)))", "500*exp(-2000*((x-0.3)**2+(y-0.61)**2))"
FORGED = [
    *(
        ("linear", problem(source=f"1+x + {more}"))
        for more in (STEP, BUMP, "30*max(0,0.05-abs(x-0.41))", "2*sin(60*x)")
    ),
    *(("linear", problem(reaction=c)) for c in ("100*exp(x)", "1 + 0.2*x", "1 + 1e-8*x")),
    ("varying reaction", problem(reaction="1 + 50*exp(-300*(x-0.4)**2) + 0.01*y")),
    ("varying reaction", problem(reaction=1.0)),
    ("linear", problem(source="1 + x + 1e-8*y")),
    ("fluxes", problem(neumann={"top": f"x*(1-x) + {STEP}", "right": 2.0})),
    ("fluxes", problem(neumann={"top": "x*(1-x) + 50*exp(-500*(x-0.57)**2)", "right": 2.0})),
    ("fluxes", problem(neumann={"right": "x*(1-x)", "top": 2.0})),
    ("fluxes", problem(neumann={"top": "x*(1-x)"})),
    ("pushed", force("top", force=[0.0, -2.5])),
    ("pushed", force("bottom", force=[1.0, 0.6])),
    ("pushed", force("bottom", moment=[0.2])),
    ("pushed", force("bottom", at=[0.2, 0.4])),
    ("pushed", force("bottom", even=True)),
    ("pushed", problem(neumann={"right": [0.5, "2*y"]})),
    ("pushed", problem(neumann={"right": [0.6, "y"]})),
    ("pushed", problem(body=["tanh(30*x)", "-1.1"])),
    ("pushed", problem(body=["tanh(40*x)", "-1"])),
    ("rough rule", problem(source="x*x + 0.01")),
    ("rough rule", lambda bundle: bundle.json["case.json"]["certificate"].pop("quadrature")),
    ("linear", lambda bundle: bundle.json["certificate.json"]["problem"].update(quadrature=1)),
    ("linear", turned),
    ("linear", array("rule/cells_w", lambda w: np.concatenate([[-w[0]], [w[1] + 2.0 * w[0]], w[2:]]))),
    ("linear", array("rule/cells_at", lambda x: x + np.array([1e-6, -1e-6, 0.0]))),
    *((name, constant(by)) for name in ("narrow lift", "narrow source") for by in (1e-2, -1e-3)),
    ("fluxes", array("mesh/load0", lambda f: f[:-1])),
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


WRONG_RULES = {
    "a weight that is not positive": ([[0.5, 0.5], [0.25, 0.75], [0.75, 0.25]], [2.0, -0.5, -0.5], "not positive"),
    "a weight of nothing": ([[0.5, 0.5], [1.0, 0.0]], [1.0, 0.0], "not positive"),
    "points outside": ([[-0.25, 1.25], [1.25, -0.25]], [0.5, 0.5], "outside the simplex"),
    "points that are none": ([[0.6, 0.5], [0.5, 0.5]], [0.5, 0.5], "outside the simplex"),
    "a rule off the middle": ([[0.25, 0.75]], [1.0], "not exact for linear functions"),
}


@pytest.mark.parametrize("name", WRONG_RULES)
def test_a_rule_whose_points_or_weights_are_wrong_is_refused_though_it_integrates(name):
    at, weights, words = WRONG_RULES[name]
    bundle = StoredRule({"rule/facets_at": np.array(at), "rule/facets_w": np.array(weights)})
    with pytest.raises(Refused, match=words):
        stored_rule(bundle, "facets", 1)


def test_a_stored_rule_has_the_degree_that_it_is_exact_for():
    """Gauß's two points: the means of 1, x, x², x³ over an interval are 1, 1/2, 1/3, 1/4, and no more."""
    x = 0.5 - np.sqrt(1.0 / 12.0)
    bundle = StoredRule({"rule/facets_at": np.array([[x, 1 - x], [1 - x, x]]), "rule/facets_w": np.full(2, 0.5)})
    assert stored_rule(bundle, "facets", 1).order == 3


class StoredRule(dict):
    """As much of a bundle as rules are read from."""

    def __call__(self, name, *shape):
        return self[name]


def test_a_side_of_a_named_domain_is_whole(made):
    bundle = made("patch")
    nodes, facets = bundle.arrays["mesh/nodes"], bundle.arrays["mesh/facets0"]
    sides_agree(nodes, {"right": facets}, bundle.json["case.json"])
    with pytest.raises(Refused, match="whole side"):
        sides_agree(nodes, {"right": facets[:2]}, bundle.json["case.json"])


def test_a_bundle_of_old_without_rules_says_that_b_was_only_sampled(made, monkeypatch):
    bundle = copy.copy(made("linear"))
    bundle.arrays = {k: v for k, v in bundle.arrays.items() if not k.startswith("rule/")}
    bundle.used = set()
    monkeypatch.setattr(claims, "Bundle", lambda path: bundle)
    assert "declared: b, for which no rule is stored, but for samples: not compared with the case" in claims.verify("")


def test_tables_of_groups_are_compared(tmp_path, monkeypatch, capsys):
    """Which cells a group has is the mesh's word; the numbers that they have are the case's."""
    points = np.array([[x, y] for y in (0.0, 0.5, 1.0) for x in (0.0, 0.5, 1.0)])
    cells = [c for a in (0, 1, 3, 4) for c in ([a, a + 1, a + 4], [a, a + 4, a + 3])]
    lines = [(1, 0, 3), (1, 3, 6), (2, 2, 5), (2, 5, 8)]
    rows = [f"{k + 1} 1 2 {g} {g} {a + 1} {b + 1}" for k, (g, a, b) in enumerate(lines)]
    rows += [f"{k + 5} 2 2 {3 + (k > 3)} 1 " + " ".join(str(v + 1) for v in c) for k, c in enumerate(cells)]
    names = ['1 1 "held"', '1 2 "pulled"', '2 3 "soft"', '2 4 "hard"']
    (tmp_path / "m.msh").write_text(
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n4\n" + "\n".join(names) + "\n$EndPhysicalNames\n"
        f"$Nodes\n{len(points)}\n"
        + "\n".join(f"{i + 1} {x} {y} 0" for i, (x, y) in enumerate(points))
        + "\n$EndNodes\n"
        f"$Elements\n{len(rows)}\n" + "\n".join(rows) + "\n$EndElements\n"
    )
    scalar = LINEAR.replace("1.0", "{ soft = 0.0, hard = 2.0 }") + "\ndiffusion = { soft = 1.0, hard = 5.0 }"
    elastic = BEAM.replace("3.0", "{ soft = 1.0, hard = 9.0 }")
    pull = "held = 0.0\n[problem.neumann]\npulled = {}\n[problem.force]\npulled = [0.0, 1.0]"
    asked = {"scalar": (scalar, 'held = 0.0\n[problem.neumann]\npulled = "y"', HERE)}
    asked["elastic"] = (elastic, pull.replace("[problem.neumann]\npulled = {}\n", ""), HERE + '\ncomponent = "x"')
    wrong = {
        "scalar": [
            problem(diffusion={"soft": 1.0, "hard": 6.0}),
            problem(reaction={"soft": 0.1, "hard": 2.0}),
            problem(neumann={"pulled": "2*y"}),
            array("system/diffusion", lambda k: k[::-1]),
        ],
        "elastic": [
            problem(young={"soft": 1.0, "hard": 8.0}),
            problem(force={"pulled": {"force": [0.0, 1.1], "even": True}}),
            array("system/young", lambda k: k[::-1]),
        ],
    }
    for name, (what, edge, query) in asked.items():
        path = tmp_path / f"{name}.toml"
        path.write_text(text(what, edge, query, **ZERO).replace('generate = "square"\ncells = 3', 'file = "m.msh"'))
        assert main(["certify", str(path), "--quiet"]) == 0, capsys.readouterr().err
        honest = Bundle(path.with_suffix("") / "bundle")
        for change in (None, *wrong[name]):
            bundle = copy.copy(honest)
            bundle.json, bundle.arrays, bundle.used = copy.deepcopy(honest.json), dict(honest.arrays), set()
            if change is not None:
                change(bundle)
            monkeypatch.setattr(claims, "Bundle", lambda path, bundle=bundle: bundle)
            if change is None:
                assert any("which cells the groups of" in line for line in claims.verify(""))
                continue
            with pytest.raises(Refused):
                claims.verify("")


def test_the_network_of_a_lift_is_that_of_the_case(tmp_path, monkeypatch, capsys):
    save_file = pytest.importorskip("safetensors.numpy", reason="pip install safetensors").save_file
    rng = np.random.default_rng(1)
    state = {"0.weight": (5, 2), "0.bias": (5,), "2.weight": (1, 5), "2.bias": (1,)}
    save_file({k: rng.normal(size=shape) for k, shape in state.items()}, tmp_path / "net.safetensors")
    network = 'torch = "net.safetensors"\nactivation = "tanh"\nfactor = "x*(1-x)*y*(1-y)"'
    path = tmp_path / "lift.toml"
    path.write_text(text(more='lift = "anyway"\naccept = 1.0', target="continuous", prediction=network))
    assert main(["certify", str(path), "--quiet"]) == 0, capsys.readouterr().err
    honest = Bundle(path.with_suffix("") / "bundle")

    def report(file=None, key=None, **new):
        bundle = copy.copy(honest)
        bundle.json, bundle.used = copy.deepcopy(honest.json), set()
        if file is not None:
            bundle.json[file][key].update(new)
        monkeypatch.setattr(claims, "Bundle", lambda path: bundle)
        return claims.verify("")

    assert "declared: the weights of the network, as stored, are those of the file named under inputs" in report()
    for new in ({"activation": "sin"}, {"factor": "x*(1-x)*y"}, {"factor": None}, {"source": "zero"}):
        with pytest.raises(Refused, match="prediction"):
            report("case.json", "prediction", **new)
    for new in ({"activation": "sin"}, {"offset": "x"}, {"inputs": ["x", "y"]}, {"box": True}, {"factor": "x"}):
        with pytest.raises(Refused, match="prediction"):
            report("proof.json", "lift", **new)
