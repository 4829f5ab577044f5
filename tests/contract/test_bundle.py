"""Bundles: honest ones verify, anywhere; altered ones do not, and hostile ones are not obeyed."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from flint import arb

import pinnpoint as pp
import pinnpoint_verify as verifier
from pinnpoint.base.errors import CertificationError
from pinnpoint.cases.read import read_case
from pinnpoint.cases.study import build
from pinnpoint.cli.main import main
from pinnpoint.outputs import draft as outputs
from pinnpoint_verify import claims
from pinnpoint_verify.samples import Samples
from tests.support.continua import interval, layered, smooth, strip
from tests.support.exactly import solve_arb
from tests.support.forged import sealed
from tests.support.newton import Cubic

CASE = """[mesh]
generate = "{mesh}"
cells = {cells}
[problem]
kind = "{kind}"
{more}
reaction = {reaction}
source = "{source}"
[problem.dirichlet]
boundary = {edge}
[prediction]
expression = "{prediction}"
[[query]]
name = "a"
kind = "point"
at = {at}
[[query]]
name = "b"
kind = "average"
at = {at}
radius = 0.2
[certificate]
target = "{target}"
method = "{method}"
"""
AXES = {
    1: ("interval", "exp(x)", "x*(1-x)*(1+x)", [0.4]),
    2: ("square", "exp(x)*sin(3*y)", "x*(1-x)*y*(1-y)*(1+x)", [0.4, 0.55]),
    3: ("cube", "exp(x)*sin(3*y)+z", "x*(1-x)*y*(1-y)*z*(1-z)", [0.4, 0.55, 0.5]),
}
BEAM = """[mesh]
generate = "square"
cells = 6
[problem]
kind = "elasticity"
young = 3.0
poisson = 0.3
body = ["0", "-1"]
[problem.dirichlet]
left = [0.0, 0.0]
[problem.neumann]
right = ["0.5", "0"]
[prediction]
zero = true
[[query]]
name = "a"
kind = "point"
at = [0.4, 0.55]
component = "y"
[certificate]
target = "discrete"
"""


def text(d=2, cells=6, kind="reaction-diffusion", more="", reaction=2.0, target="discrete", method="exact", edge="0.0"):
    mesh, source, prediction, at = AXES[d]
    return CASE.format(**locals())


CUBIC = {"kind": "semilinear", "more": "cubic = 20.0"}
CASES = {
    **{m: text(method=m) for m in ("exact", "norm", "inexact", "randomized")},
    "localized": text(method="localized") + "radius = 0.3\n",
    "m-matrix": text(reaction=0.0),
    "large": text(cells=28),
    "without rounding": text() + "rounding = false\n",
    "elements": text(more="degree = 2"),
    "elasticity": BEAM,
    "line": text(d=1),
    "solid": text(d=3, cells=3),
    "root": text(**CUBIC, method="root"),
    "stationary": text(**CUBIC, method="stationary"),
    "continuous 1D": text(d=1, target="continuous"),
    "continuous 2D": text(target="continuous"),
    "continuous 3D": text(d=3, cells=3, target="continuous"),
    "continuous 1D quadratic": text(d=1, more="degree = 2", target="continuous"),
    "continuous 2D quadratic": text(more="degree = 2", target="continuous"),
    "continuous 3D quadratic": text(d=3, cells=2, more="degree = 2", target="continuous"),
    "continuous norm": text(target="continuous", method="norm"),
    "continuous without reaction": text(reaction=0.0, target="continuous"),
    "uneven boundary values": text(target="continuous", edge='"exp(x-y)"'),
    "continuous root 1D": text(d=1, **CUBIC, target="continuous", method="root"),
    "continuous root 2D": text(**CUBIC, target="continuous", method="root"),
    "continuous root 3D": text(d=3, cells=2, **CUBIC, target="continuous", method="stationary"),
    "continuous root mixed": text(**CUBIC, target="continuous", method="root").replace("boundary = 0.0", "left = 0.0"),
    "continuous root free": text(d=1, **CUBIC, target="continuous", method="root").replace("boundary = 0.0", ""),
    "lift": text(target="continuous") + "lift = true\n",
    "lift 1D quadratic": text(d=1, more="degree = 2", target="continuous") + "lift = true\n",
    "tolerance": text(target="continuous", cells=4) + "tolerance = 1e-2\n",
    "mixed": text(target="continuous").replace("boundary = 0.0", 'left = "y**3"\n[problem.neumann]\nright = "1+y"')
    + '[[query]]\nname = "p"\nkind = "patch"\ngroup = "right"\n',
    "flux": text(target="continuous").replace("boundary = 0.0", "left = 0.0")
    + '[[query]]\nname = "p"\nkind = "flux"\ngroup = "left"\n',
    "ends": text(d=1, target="continuous").replace("boundary = 0.0", "left = 1.0")
    + '[[query]]\nname = "p"\nkind = "point"\nat = [1.0]\n[[query]]\nname = "q"\nkind = "point"\nat = [0.0]\n',
}


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A bundle of a case by its name, made once."""
    root = tmp_path_factory.mktemp("bundles")

    @cache
    def make(name: str) -> Path:
        path = root / f"{list(CASES).index(name)}.toml"
        path.write_text(CASES[name])
        assert main(["certify", str(path), "--quiet"]) == 0, name
        return path.with_suffix("") / "bundle"

    return make


@pytest.fixture
def copied(made, tmp_path):
    """A copy that may be spoilt."""

    def copy(name: str, how="b") -> Path:
        shutil.copytree(made(name), tmp_path / str(how))
        return tmp_path / str(how)

    return copy


def verdict(folder, capsys):
    """Exit code and lines."""
    capsys.readouterr()
    code = verifier.main(folder)
    out = capsys.readouterr().out.splitlines()
    assert (out[-1] == "VERIFIED") == (code == 0)
    assert code == 0 or (len(out) == 1 and out[0].startswith("NOT VERIFIED: ")), out
    return code, out


def proved(out):
    """The checker's own intervals."""
    found = [re.search(r": proved (\S+) ± (\S+); claimed", line) for line in out]
    return [(float(m[1]), float(m[2])) for m in found if m]


def refused(folder, capsys, what, line=""):
    code, out = verdict(folder, capsys)
    assert code == 1, what
    assert line in out[0], (what, out)
    return out[0]


@pytest.mark.parametrize("name", CASES)
def test_every_kind_verifies_and_claims_no_less_than_is_proved(name, made, capsys, monkeypatch):
    """Where the claim is the witnesses' own interval, the two programs that find it agree to a hundred-thousandth."""
    code, out = verdict(made(name), capsys)
    assert code == 0, out
    widths, holds = [], claims.holds
    monkeypatch.setattr(claims, "holds", lambda row, c, r: widths.append((c, r)) or holds(row, c, r))
    monkeypatch.setattr(Samples, "prove", lambda self, p, rows: None)  # with the bounds of data that are stored
    monkeypatch.setattr(Samples, "prove_point", lambda self, i, query, goal, row: None)
    monkeypatch.setattr(Samples, "prove_constant", lambda self, i, query, goal, row: None)
    code, out = verdict(made(name), capsys)
    assert code == 0, out
    said = json.loads((made(name) / "certificate.json").read_text())
    rows = said["queries"]
    if rows[0]["target"] == "continuous" and said["method"] in claims.ALONE:
        assert all(q["radius"] <= (1.0 + 1e-5) * r + 1e-12 * abs(c) for q, (c, r) in zip(rows, widths, strict=True))
    own = proved(out)
    assert len(own) == len(rows)
    if name == "without rounding":
        assert any("rounding is negligible" in line for line in out)
        return
    for (c, r), row in zip(own, rows, strict=True):
        r *= 1.0 - 1e-3  # as printed
        assert row["lower"] <= c - r <= c + r <= row["upper"]


def exact_values(folder):
    """ℓᵀU* of the stored linear system in 400-bit arithmetic: fixed entries as rows of their own."""

    def load(name):
        return np.load(folder / "system" / f"{name}.npy")

    u, free, b, constants = load("u"), load("free"), load("b"), load("constants")
    A, L = (
        sp.csr_array((load(f"{k}_data"), load(f"{k}_indices"), load(f"{k}_indptr")), shape=(n, len(u))).toarray()
        for k, n in (("a", len(free)), ("l", len(constants)))
    )
    M, right = np.eye(len(u)), u.copy()
    M[free], right[free] = A, b
    x = solve_arb(M, right)
    return [
        sum((arb(float(a)) * v for a, v in zip(row, x, strict=True)), arb(float(k)))
        for row, k in zip(L, constants, strict=True)
    ]


@pytest.mark.parametrize("name", ["exact", "m-matrix", "elements", "line", "elasticity", "norm", "randomized"])
def test_what_is_proved_holds_the_exact_discrete_value(name, made, capsys):
    _, out = verdict(made(name), capsys)
    for (c, r), truth in zip(proved(out), exact_values(made(name)), strict=True):
        assert bool(abs(arb(c) - truth) <= arb(r) * arb("1.001"))  # three digits of r are printed
        assert r < 1e-12


def test_what_is_proved_holds_the_root(made, tmp_path, capsys):
    (tmp_path / "c.toml").write_text(CASES["root"])
    study = build(read_case(tmp_path / "c.toml"))
    system = study.problem.system
    cubic = Cubic(system)
    state = np.load(made("root") / "witness" / "state.npy")
    root = cubic.root(state[system.space.free])
    _, out = verdict(made("root"), capsys)
    U = cubic.full(root)
    for i, (c, r) in enumerate(proved(out)):
        row = study.queries.L[[i]]
        truth = sum((arb(float(a)) * U[int(j)] for a, j in zip(row.data, row.indices, strict=True)), arb(0))
        assert bool(abs(arb(c) - truth) <= arb(r) * arb("1.001"))


FAMILIES = {
    "interval 1": lambda rng: interval(rng, 1),
    "interval 2": lambda rng: interval(rng, 2),
    "smooth 2D 1": lambda rng: smooth(rng, 2, 1),
    "smooth 2D 2": lambda rng: smooth(rng, 2, 2),
    "smooth 3D 1": lambda rng: smooth(rng, 3, 1),
    "strip 2D 2": lambda rng: strip(rng, 2, 2),
    "layers 2D 1": lambda rng: layered(rng, 2, 1),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_proved_holds_the_solution_of_the_pde(family, tmp_path, capsys):
    """Random problems with known solutions, made in Python."""
    for seed in range(2):
        known = FAMILIES[family](np.random.default_rng(700 + seed))
        U = known.solved()
        certificate = pp.certify(known.problem, U, known.queries)
        folder = pp.write_bundle(tmp_path / str(seed), certificate, known.problem, U, known.queries)
        code, out = verdict(folder, capsys)
        assert code == 0, (known.label, out)
        for (c, r), truth in zip(proved(out), known.truths, strict=True):
            assert not bool(abs(arb(c) - truth) > arb(r) * arb("1.001")), known.label


def test_systems_made_in_python_verify(tmp_path, capsys):
    n = 30
    A = sp.diags_array([-1.0, 2.5, -1.2], offsets=[-1, 0, 1], shape=(n, n), format="csr")
    rng = np.random.default_rng(3)
    space = pp.AdmissibleSpace.dirichlet(n, [0, n - 1], [1.0, -0.5])
    queries = pp.Queries(rng.standard_normal((3, n)), names=["p", "q", "r"])
    U = space.project(rng.standard_normal(n)).U
    for i, weight in enumerate((None, sp.diags_array(rng.uniform(1.0, 2.0, n - 2)))):
        system = pp.LinearSystem(A, rng.standard_normal(n), space=space, weight=weight)
        for method in (pp.Exact(), pp.Norm(), pp.Inexact(), pp.Randomized(probes=9, seed=4)):
            certificate = pp.certify(system, U, queries, method)
            options = {"probes": 9, "seed": 4} if certificate.method == "randomized" else None
            folder = tmp_path / f"{certificate.method}{i}"
            pp.write_bundle(folder, certificate, system, U, queries, options=options)
            code, out = verdict(folder, capsys)
            assert code == 0, (certificate.method, out)
            assert any("weight" in line for line in out) == (weight is not None)


def test_what_cannot_be_re_checked_is_refused_and_says_so(tmp_path, capsys):
    (tmp_path / "c.toml").write_text(text(kind="semilinear", more="cubic = -0.5", reaction=0.0, method="root"))
    if main(["certify", str(tmp_path / "c.toml"), "--quiet"]) == 0:
        refused(tmp_path / "c" / "bundle", capsys, "λ < 0", "cannot be re-checked")


@pytest.mark.parametrize("prediction", ["formula", "network", "lift"])
def test_a_lifted_certificate_is_written_with_what_its_prediction_leaves(prediction, tmp_path, capsys):
    rng, problem = np.random.default_rng(0), pp.fem.ReactionDiffusion(pp.io.generate("square", 4), source="1+x")
    weights = [rng.normal(size=(5, 2)), rng.normal(size=(1, 5))]
    net = pp.models.MLP(weights, [rng.normal(size=5), rng.normal(size=1)], "tanh")
    lift = pp.models.Lift(net, factor="x*(1-x)", offset="y")
    u = {"formula": "0.1*sin(pi*x)*sin(pi*y)", "network": net, "lift": lift}[prediction]
    asked = problem.points([[0.4, 0.6]], names=["a"])
    certificate = pp.certify(problem, u, asked, lift="anyway")
    pp.write_bundle(tmp_path / "b", certificate, problem, u, asked)
    code, out = verdict(tmp_path / "b", capsys)
    assert code == 0, out
    pp.write_bundle(tmp_path / "c", certificate, problem.lifted(u), u, asked)
    assert verdict(tmp_path / "c", capsys)[0] == 0
    with pytest.raises(pp.InputError, match=r"problem\.lifted\(prediction\)"):
        pp.write_bundle(tmp_path / "d", certificate, problem.system, problem.space.U0, asked)


def test_a_bundle_that_cannot_be_made_is_refused_in_one_line(tmp_path):
    problem = pp.fem.ReactionDiffusion(pp.io.generate("interval", 3), source=1.0)
    asked = problem.points([[0.4]], names=["a"])
    certificate = pp.certify(problem, problem.space.U0, asked, target="discrete")
    for folder in (tmp_path / "none" / "b", tmp_path):
        with pytest.raises(pp.InputError, match=r"folder: .* could not be made"):
            pp.write_bundle(folder, certificate, problem, problem.space.U0, asked)
    asked = problem.points([[0.4]], names=["a" * 1001])
    certificate = pp.certify(problem, problem.space.U0, asked, target="discrete")
    with pytest.raises(pp.InputError, match="at most 1000 characters"):
        pp.write_bundle(tmp_path / "b", certificate, problem, problem.space.U0, asked)


SHORT = """title = "{title}"
units = "{units}"
[mesh]
generate = "square"
cells = 3
[problem]
kind = "reaction-diffusion"
source = "{source}"
[problem.dirichlet]
boundary = 0.0
[prediction]
zero = true
[[query]]
name = "{name}"
at = [0.5, 0.5]
[certificate]
target = "{target}"
"""


@pytest.mark.parametrize(("key", "most"), [("name", 1000), ("title", 4000), ("units", 4000)])
def test_texts_are_as_long_as_a_bundle_may_hold(key, most, tmp_path, capsys):
    words = {"title": "t", "units": "m", "source": "1", "name": "q", "target": "discrete"}
    path = tmp_path / "case.toml"
    path.write_text(SHORT.format(**words | {key: "x" * (most + 1)}))
    assert main(["certify", str(path), "--quiet"]) == 2
    assert f"at most {most} characters; got {most + 1}" in capsys.readouterr().err
    path.write_text(SHORT.format(**words | {key: "x" * most}))
    assert main(["certify", str(path), "--quiet"]) == 0
    assert verdict(tmp_path / "case" / "bundle", capsys)[0] == 0


@pytest.mark.parametrize("source", ["sqrt(x)", "1/(x+1e-9)", "exp(700*x)"])
def test_unbounded_witnesses_of_a_small_budget_are_said_to_be_none(source, tmp_path, capsys):
    words = {"title": "t", "units": "m", "name": "q", "target": "continuous"}
    path = tmp_path / "case.toml"
    path.write_text(SHORT.format(**words, source=source) + "budget = 1\n")
    assert main(["certify", str(path), "--quiet"]) in (0, 1)
    capsys.readouterr()
    code, out = verdict(tmp_path / "case" / "bundle", capsys)
    assert code == 0 or "cannot be re-checked" in out[0], out


def test_a_moved_bundle_verifies_with_another_python(copied, capsys):
    folder = copied("continuous 2D", "elsewhere")
    assert main(["verify", str(folder)]) == 0
    command = [sys.executable, "-P", "-m", "pinnpoint.cli.main", "verify", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder.parent)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "VERIFIED"


@pytest.mark.parametrize("wrong", [["nowhere"], ["case.json"], [".", "--inputs", "nowhere"], ["nowhere.npz"]])
def test_what_is_no_bundle_is_an_input_that_is_refused(copied, capsys, wrong):
    """Nothing was checked: that is no verdict."""
    folder = copied("exact")
    wrong = [word if word.startswith("--") else str(folder / word) for word in wrong]
    for command in ([*wrong], [*wrong, "--key", str(folder / "nokey")]):
        assert main(["verify", *command]) == 2
        said = capsys.readouterr()
        assert not said.out
        assert len(said.err.splitlines()) == 1
        assert "nowhere" in said.err or "case.json" in said.err or "--key" in said.err


@pytest.mark.parametrize("name", ["exact", "root", "continuous 2D", "continuous root 1D"])
def test_files_cannot_be_touched(name, copied, capsys):
    """Bit flips, truncation and removal of each file; files that do not belong."""
    folder = copied(name)
    for path in [p for p in folder.rglob("*") if p.is_file()]:
        whole = path.read_bytes()
        for at in (0, len(whole) * 2 // 3, len(whole) - 1):
            changed = bytearray(whole)
            changed[at] ^= 0x10
            path.write_bytes(changed)
            refused(folder, capsys, (path.name, at))
        path.write_bytes(whole[:-1])
        refused(folder, capsys, path.name)
        path.unlink()
        refused(folder, capsys, path.name, "manifest.json")
        path.write_bytes(whole)
    assert verdict(folder, capsys)[0] == 0
    (folder / "extra.npy").write_bytes(b"")
    refused(folder, capsys, "extra", "extra.npy")
    rehashed = folder / "extra.npy"
    np.save(rehashed, np.ones(3))
    sealed(folder)
    refused(folder, capsys, "extra with a hash", "is part of no proof")


HARMLESS = {("system/a_data.npy", "swapped")}
"""In a row of the discrete system, coefficients of two entries that are fixed at zero."""


def altered(a: np.ndarray):
    """Arrays of the same shape and type with other numbers."""
    if a.dtype.kind == "f":
        yield "zeros", np.zeros_like(a)
        one = a.copy().ravel()
        if one.size:
            one[np.argmax(np.abs(one))] *= 1.01
        yield "one entry", one.reshape(a.shape)
    if len(a) > 3:
        yield "swapped", np.concatenate([a[:1], a[2:3], a[1:2], a[3:]])
    else:
        yield "reversed", a[::-1].copy()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "exact",
        "m-matrix",
        "elasticity",
        "root",
        "continuous 2D",
        "continuous 1D",
        "continuous root 1D",
        "mixed",
        "flux",
    ],
)
def test_arrays_cannot_be_edited(name, copied, capsys):
    """Zeros, single entries, swaps and reversals, with the manifest hashed anew: only the mathematics is left.

    An edit of error bounds may pass where the claim stays proved: the checker's own interval must then be the same to a
    hundredth of its radius. Discrete targets do not depend on the mesh away from the queries.
    """
    folder = copied(name)
    before = proved(verdict(folder, capsys)[1])
    discrete = not (folder / "continuous").exists()
    tried, escaped, passed = 0, [], []
    for path in sorted(folder.rglob("*.npy")):
        whole, a, rel = path.read_bytes(), np.load(path), path.relative_to(folder).as_posix()
        for how, b in altered(a):
            if np.allclose(a, b, rtol=1e-12, atol=0.0):
                continue
            np.save(path, b)
            sealed(folder)
            tried += 1
            code, out = verdict(folder, capsys)
            if code == 0:
                pairs = zip(proved(out), before, strict=True)
                same = all(abs(p[0] - q[0]) <= 0.01 * q[1] and p[1] <= 1.01 * q[1] for p, q in pairs)
                fine = rel.endswith(("_rest.npy", "raised/error.npy")) or (discrete and (rel, how) in HARMLESS)
                fine = fine or (rel.startswith("dual/z") and how == "one entry")  # any dual state proves an interval
                fine = fine or (
                    rel == "continuous/state.npy" and how == "one entry"
                )  # nor does a state have to be best
                fine = fine or (rel.startswith("rule/") and how in ("swapped", "reversed"))  # the same points
                (passed if same and fine else escaped).append((rel, how))
        path.write_bytes(whole)
    sealed(folder)
    assert verdict(folder, capsys)[0] == 0
    if discrete:
        escaped = [e for e in escaped if not e[0].startswith("mesh/")]
    assert not escaped, f"{len(escaped)} of {tried}: {escaped}"
    assert tried - len(passed) > 20


def edit(folder, name, change):
    data = json.loads((folder / name).read_text())
    change(data)
    (folder / name).write_text(json.dumps(data))
    sealed(folder)


def shrink(factor, shift=0.0):
    """A consistently narrower or moved interval."""

    def change(data):
        for row in data["queries"]:
            row["radius"] *= factor
            row["center"] += shift * row["radius"]
            row["terms"] = {k: v * factor for k, v in row["terms"].items()}
            row["terms"]["mismatch"] = abs(row["raw"] - row["value"]) if row["raw"] is not None else 0.0
            row["lower"] = float(np.nextafter(row["center"] - row["radius"], -np.inf))
            row["upper"] = float(np.nextafter(row["center"] + row["radius"], np.inf))
            row["value_radius"] = abs(row["center"] - row["value"]) + row["radius"]
            if row["raw"] is not None:
                row["raw_radius"] = abs(row["center"] - row["raw"]) + row["radius"]

    return change


def row(key, factor):
    def change(data):
        data["queries"][0][key] = data["queries"][0][key] * factor

    return change


def put(*path):
    def change(data):
        for key in path[:-2]:
            data = data[key]
        data[path[-2]] = path[-1]

    return change


ELSEWHERE = [0.41, 0.55]
EDITS = [
    ("certificate.json", shrink(0.99)),
    ("certificate.json", shrink(1.0, 0.01)),
    *(
        ("certificate.json", row(k, 1.01))
        for k in ("value", "radius", "center", "lower", "upper", "value_radius", "raw")
    ),
    *(("certificate.json", row(k, 1.01)) for k in ("residual_norm", "raw_radius")),
    ("certificate.json", put("queries", 0, "at", ELSEWHERE)),
    ("certificate.json", put("queries", 0, "terms", "transfer", 0.0)),
    ("certificate.json", put("queries", 0, "target", "discrete")),
    ("certificate.json", put("dofs", 7)),
    ("certificate.json", put("versions", "numpy", "1.0")),
    ("proof.json", put("goals", 0, "at", ELSEWHERE)),
    ("proof.json", put("goals", 0, "constant", 0.0)),
    ("proof.json", put("goals", 0, "radius", 0.3)),
    ("proof.json", put("goals", 0, "radius", 0.41)),
    ("proof.json", put("goals", 0, "kappa", 1.1)),
    ("proof.json", put("goals", 0, "error", -1.0)),
    ("proof.json", put("goals", 0, "scale", -1.0)),
    ("proof.json", put("goals", 0, "own", [0.0, -1.0])),
    ("proof.json", put("goals", 0, "known", True)),
    ("proof.json", put("goals", 1, "average", 0.19)),
    ("proof.json", put("goals", 1, "kind", "point")),
    ("proof.json", put("source", "exp(x)*sin(4*y)")),
    ("proof.json", put("source", None)),
    ("proof.json", put("mismatch", -1.0)),
    ("proof.json", put("degree", 2)),
    ("proof.json", put("radius_terms", [])),
    ("proof.json", put("target", "discrete")),
    ("proof.json", put("method", "norm")),
    ("case.json", put("problem", "source", "exp(x)")),
    ("case.json", put("problem", "diffusion", 1.1)),
    ("case.json", put("problem", "reaction", 1.9)),
    ("case.json", put("queries", 0, "at", ELSEWHERE)),
]


def test_no_less_can_be_claimed_than_is_proved(copied, capsys):
    """The checker's own radius is the limit: a claim just above it verifies, one just below it does not."""
    folder = copied("continuous 2D")
    own = proved(verdict(folder, capsys)[1])
    claimed = [row["radius"] for row in json.loads((folder / "certificate.json").read_text())["queries"]]
    ratio = max(r / c for (_, r), c in zip(own, claimed, strict=True))
    assert 0.99 < ratio < 1.0
    edit(folder, "certificate.json", shrink(ratio * (1.0 - 1e-5)))
    refused(folder, capsys, ratio)


def test_numbers_cannot_be_edited(made, tmp_path, capsys):
    folder = tmp_path / "b"
    for i, (name, change) in enumerate(EDITS):
        shutil.copytree(made("continuous 2D"), folder)
        edit(folder, name, change)
        refused(folder, capsys, (i, name))
        shutil.rmtree(folder)


def test_a_query_cannot_be_moved_everywhere_at_once(copied, capsys):
    """Certificate, case and proof agree on another point; the mollifier does not."""
    folder = copied("continuous 2D")
    for name, change in (
        ("certificate.json", put("queries", 0, "at", ELSEWHERE)),
        ("case.json", put("queries", 0, "at", ELSEWHERE)),
        ("proof.json", put("goals", 0, "at", ELSEWHERE)),
    ):
        edit(folder, name, change)
    refused(folder, capsys, "moved")


@pytest.mark.parametrize("name", ["exact", "m-matrix", "large", "elasticity"])
def test_coercivity_cannot_be_raised(name, copied, capsys):
    folder = copied(name)
    edit(folder, "proof.json", lambda p: p["coercivity"].update(alpha=1.01 * p["coercivity"]["alpha"]))
    refused(folder, capsys, name, "coercivity")


@pytest.mark.parametrize("name", ["exact", "root", "inexact", "randomized", "localized", "norm", "stationary"])
def test_intervals_of_the_discrete_target_cannot_be_moved(name, copied, capsys):
    folder = copied(name)
    edit(folder, "certificate.json", shrink(1.0, 3.0))
    refused(folder, capsys, name)


def test_fluxes_must_be_equilibrated_and_states_belong_to_the_mesh(made, copied, capsys):
    folder = copied("continuous 2D")
    flux = np.load(folder / "continuous" / "flux.npy")
    np.save(folder / "continuous" / "flux.npy", flux + 1e-4 * np.abs(flux).max())
    sealed(folder)
    refused(folder, capsys, "flux", "is claimed")
    folder = copied("exact", "u")
    shutil.copy(made("large") / "system" / "u.npy", folder / "system" / "u.npy")
    sealed(folder)
    refused(folder, capsys, "another mesh's U")


def test_hostile_bundles_are_refused_and_not_obeyed(made, copied, tmp_path, capsys):
    secret = tmp_path / "secret.npy"
    np.save(secret, np.ones(3))
    said = json.loads((made("exact") / "manifest.json").read_text())
    files = said["files"]

    def seal(folder, manifest):
        (folder / "manifest.json").write_text(manifest + "\n")

    for i, name in enumerate(["../secret.npy", str(secret), "mesh/../../secret.npy", "mesh//x.npy", "."]):
        here = copied("exact", i)
        about = {"sha256": hashlib.sha256(secret.read_bytes()).hexdigest(), "bytes": 152, "dtype": "<f8", "shape": [3]}
        seal(here, json.dumps(said | {"files": files | {name: about}}))
        refused(here, capsys, name)
    here = copied("exact", "link")
    (here / "system" / "b.npy").rename(tmp_path / "b.npy")
    os.symlink(tmp_path / "b.npy", here / "system" / "b.npy")
    refused(here, capsys, "link", "symbolic link")
    here = copied("exact", "folder")
    shutil.move(here / "system", tmp_path / "system")
    os.symlink(tmp_path / "system", here / "system")
    refused(here, capsys, "linked folder", "symbolic link")
    here = copied("exact", "pipe")
    os.mkfifo(here / "pipe.npy")
    refused(here, capsys, "pipe", "regular file")
    here = copied("exact", "objects")
    np.save(here / "system" / "b.npy", np.array([print], dtype=object), allow_pickle=True)
    data = (here / "system" / "b.npy").read_bytes()
    about = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data), "dtype": "|O", "shape": [1]}
    seal(here, json.dumps(said | {"files": files | {"system/b.npy": about}}))
    refused(here, capsys, "objects", "dtype")
    here = copied("exact", "huge")
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1250000000,), }"
    data = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + bytes(80)
    (here / "system" / "b.npy").write_bytes(data)
    about = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data), "dtype": "<f8", "shape": [1250000000]}
    seal(here, json.dumps(said | {"files": files | {"system/b.npy": about}}))
    refused(here, capsys, "huge", "as long")
    here = copied("exact", "nan")
    b = np.load(here / "system" / "b.npy")
    b[0] = np.nan
    np.save(here / "system" / "b.npy", b)
    sealed(here)
    refused(here, capsys, "nan", "not finite")
    here = copied("exact", "single")
    np.save(here / "system" / "b.npy", np.load(here / "system" / "b.npy").astype(np.float32))
    sealed(here)
    refused(here, capsys, "float32", "dtype")
    here = copied("exact", "twice")
    seal(here, json.dumps(said)[:-1] + ', "files": {}}')
    refused(here, capsys, "twice", "twice")
    deep = {f"a{i}": 1 for i in range(3)} | {"files": [[]]}
    wrong = ["[" * 100_000, '{"a": NaN}', '{"a": 1e999}', "", "[]", '{"schema": 1' + "0" * 9999 + "}", json.dumps(deep)]
    for i, nonsense in enumerate(wrong):
        here = copied("exact", f"n{i}")
        seal(here, nonsense)
        refused(here, capsys, nonsense[:20])
    for name in ("certificate.json", "case.json", "proof.json"):
        for nonsense in ("[]", "{}", '{"queries": 3}', '{"queries": [{}]}', '{"queries": null, "schema": 1}'):
            here = copied("exact", f"{name}{hash(nonsense)}")
            (here / name).write_text(nonsense)
            sealed(here)
            refused(here, capsys, (name, nonsense))


def test_the_checker_shares_nothing_with_what_it_checks_and_is_short():
    allowed = {"numpy", "scipy"} | set(sys.stdlib_module_names)
    here = Path(verifier.__file__).parent
    for path in here.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            own = [n for n in names if n.startswith("pinnpoint_verify.")]
            assert all(n in own or n.partition(".")[0] in allowed for n in names), names
    assert len((here / "checker.py").read_text(encoding="utf-8").splitlines()) < 600
    # what can only refuse is imported by the verdict alone
    proofs = (here / "checker.py").read_text(encoding="utf-8")
    assert not any(name in proofs for name in ("samples", "formulas", "reference"))


PLAIN = """
[mesh]
generate = "square"
cells = 12
[problem]
kind = "reaction-diffusion"
source = "x"
[problem.dirichlet]
boundary = 0.0
[prediction]
zero = true
[[query]]
name = "a"
at = [0.3, 0.4]
[[query]]
name = "b"
at = [0.7, 0.2]
[certificate]
target = "discrete"
"""


@pytest.mark.parametrize("mapped", [True, False])
def test_green_vectors_are_computed_into_the_bundle(mapped, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(outputs, "MAPPED_FROM", 0 if mapped else 10**9)
    (tmp_path / "case.toml").write_text(PLAIN)
    out = tmp_path / "new" / "out"
    for _ in range(2):  # the second one takes the first one's place
        assert main(["certify", str(tmp_path / "case.toml"), "--out", str(out), "--quiet"]) == 0
        assert sorted(p.name for p in out.iterdir()) == sorted(outputs.FILES)
        assert verifier.main(out / "bundle") == 0
    assert "VERIFIED" in capsys.readouterr().out


def test_nothing_is_left_of_a_certification_that_fails(tmp_path, monkeypatch):
    def fails(*_, **__):
        raise CertificationError("a reason")

    monkeypatch.setattr(outputs, "MAPPED_FROM", 0)
    monkeypatch.setattr("pinnpoint.certifiers.exact.green_vectors", fails)
    (tmp_path / "case.toml").write_text(PLAIN)
    assert main(["certify", str(tmp_path / "case.toml"), "--out", str(tmp_path / "a" / "b" / "out"), "--quiet"]) == 2
    assert [p.name for p in tmp_path.iterdir()] == ["case.toml"]
