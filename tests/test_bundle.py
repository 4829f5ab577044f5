"""Bundles: honest ones verify, anywhere; altered ones do not, and hostile ones are not obeyed."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from pinnpoint import verifier
from pinnpoint.cli.main import main

CASE = """[mesh]
generate = "{mesh}"
cells = {cells}
[problem]
kind = "{kind}"
{more}
reaction = {reaction}
source = "{source}"
[problem.dirichlet]
boundary = 0.0
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


def text(d=2, cells=8, kind="reaction-diffusion", more="", reaction=2.0, target="discrete", method="exact"):
    mesh, source, prediction, at = AXES[d]
    return CASE.format(**locals())


CASES = {
    **{m: text(method=m) for m in ("exact", "norm", "inexact", "randomized")},
    "localized": text(method="localized") + "radius = 0.3\n",
    "m-matrix": text(reaction=0.0),
    "large": text(cells=28),
    "elements": text(more="degree = 2"),
    "line": text(d=1),
    "solid": text(d=3, cells=4),
    "root": text(kind="semilinear", more="cubic = 20.0", method="root"),
    "stationary": text(kind="semilinear", more="cubic = 20.0", method="stationary"),
    "continuous 1D": text(d=1, target="continuous"),
    "continuous 2D": text(target="continuous"),
    "continuous 3D": text(d=3, cells=4, target="continuous"),
    "continuous 2D quadratic": text(more="degree = 2", target="continuous"),
    "continuous norm": text(target="continuous", method="norm"),
    "continuous without reaction": text(reaction=0.0, target="continuous"),
    "continuous root 1D": text(d=1, kind="semilinear", more="cubic = 20.0", target="continuous", method="root"),
    "continuous root 2D": text(kind="semilinear", more="cubic = 20.0", target="continuous", method="root"),
    "continuous root 3D": text(
        d=3, cells=4, kind="semilinear", more="cubic = 5.0", target="continuous", method="stationary"
    ),
    "lift": text(target="continuous") + "lift = true\n",
    "lift 1D quadratic": text(d=1, more="degree = 2", target="continuous") + "lift = true\n",
    "tolerance": text(target="continuous", cells=4) + "tolerance = 1e-2\n",
    "mixed": text(target="continuous").replace("boundary = 0.0", 'left = "y**3"\n[problem.neumann]\nright = "1+y"')
    + '[[query]]\nname = "p"\nkind = "patch"\ngroup = "right"\n',
    "flux": text(target="continuous").replace("boundary = 0.0", "left = 0.0")
    + '[[query]]\nname = "p"\nkind = "flux"\ngroup = "left"\n',
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Every case's bundle, made once."""
    root, found = tmp_path_factory.mktemp("bundles"), {}
    for i, (name, case) in enumerate(CASES.items()):
        path = root / f"c{i}.toml"
        path.write_text(case)
        assert main(["certify", str(path), "--quiet"]) == 0, name
        found[name] = root / f"c{i}" / "bundle"
    return found


def verdict(folder, capsys):
    """Exit code and last line."""
    code = verifier.main(folder)
    out = capsys.readouterr().out.splitlines()
    assert (out[-1] == "VERIFIED") == (code == 0)
    assert code == 0 or (out[-1].startswith("NOT VERIFIED: ") and len(out) == 1)
    return code, out


def rehash(folder: Path):
    """A manifest that fits the files again: only the mathematics is left to notice."""
    files = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() or name.startswith("manifest."):
            continue
        data = path.read_bytes()
        files[name] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        if name.endswith(".npy"):
            a = np.load(path)
            files[name] |= {"dtype": a.dtype.str, "shape": list(a.shape)}
    said = json.loads((folder / "manifest.json").read_text()) | {"files": files}
    seal(folder, json.dumps(said))


def seal(folder: Path, manifest: str):
    (folder / "manifest.json").write_text(manifest)
    (folder / "manifest.sha256").write_text(hashlib.sha256(manifest.encode()).hexdigest() + "\n")


def test_every_kind_verifies_and_the_proved_interval_is_inside(made, capsys):
    for name, folder in made.items():
        code, out = verdict(folder, capsys)
        assert code == 0, (name, out)
        rows = json.loads((folder / "certificate.json").read_text())["queries"]
        proved = [line for line in out if ": proved " in line]
        assert len(proved) == len(rows)
        for line, row in zip(proved, rows, strict=True):
            c, r = line.split(": proved ")[1].split(";")[0].split(" ± ")
            assert (
                row["lower"] - 1e-3 * float(r)
                <= float(c) - float(r)
                <= float(c) + float(r)
                <= row["upper"] + 1e-3 * float(r)
            )


def test_a_moved_bundle_verifies_by_the_command(made, tmp_path, capsys):
    shutil.copytree(made["continuous 2D"], tmp_path / "elsewhere")
    assert main(["verify", str(tmp_path / "elsewhere")]) == 0
    assert main(["verify", str(tmp_path / "nowhere")]) == 1
    assert "is not a folder" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["exact", "root", "continuous 2D"])
def test_files_cannot_be_touched(name, made, tmp_path, capsys):
    """Bit flips, truncation and removal of each file."""
    files = [p.relative_to(made[name]) for p in made[name].rglob("*") if p.is_file()]
    folder = tmp_path / "b"
    shutil.copytree(made[name], folder)
    for rel in files:
        whole = (folder / rel).read_bytes()
        for at in (0, len(whole) // 2, len(whole) - 1):
            changed = bytearray(whole)
            changed[at] ^= 0x10
            (folder / rel).write_bytes(changed)
            assert verdict(folder, capsys)[0] == 1, (rel, at)
        (folder / rel).write_bytes(whole[:-1])
        assert verdict(folder, capsys)[0] == 1, rel
        (folder / rel).unlink()
        assert verdict(folder, capsys)[0] == 1, rel
        (folder / rel).write_bytes(whole)
    assert verdict(folder, capsys)[0] == 0
    (folder / "extra.npy").write_bytes(b"")
    assert verdict(folder, capsys)[0] == 1


BOUNDS = ("error1", "error2", "high")
SAME = {"dual/facets2.npy", "dual/g2_facets.npy"}
"""Sets of facets, which mean the same in any order."""
NOT_USED = {"mesh/cells.npy", "mesh/nodes.npy", "system/cubic.npy"}
"""Of a discrete target: the mesh away from the queries is part of no claim, weights of the declared system."""


def altered(a: np.ndarray):
    """Arrays of the same shape and type with other numbers."""
    if a.dtype.kind == "f":
        yield "zeros", np.zeros_like(a)
        yield "doubled", 2.0 * a
        one = a.copy().ravel()
        if one.size:
            one[np.argmax(np.abs(one))] *= 1.01
        yield "one entry", one.reshape(a.shape)
    yield "reversed", a[::-1].copy()


@pytest.mark.parametrize("name", ["exact", "m-matrix", "root", "continuous 2D", "continuous 1D", "mixed"])
def test_arrays_cannot_be_edited(name, made, tmp_path, capsys):
    """Zeros, scalings, single entries and reversals, with the manifest hashed anew."""
    folder = tmp_path / "b"
    shutil.copytree(made[name], folder)
    tried, escaped = 0, []
    for path in sorted(folder.rglob("*.npy")):
        if path.stem.endswith(BOUNDS):
            continue
        whole, a = path.read_bytes(), np.load(path)
        for how, b in altered(a):
            if np.array_equal(a, b):
                continue
            np.save(path, b)
            rehash(folder)
            tried += 1
            rel = path.relative_to(folder).as_posix()
            harmless = (rel in SAME or rel == "witness/w.npy") and how == "reversed"
            if harmless or (rel in NOT_USED and "/" in rel and not (folder / "dual").exists()):
                continue
            if name == "mixed" and rel == "system/a_data.npy":
                continue  # A only says the residual norm there, to 1e-6
            if verdict(folder, capsys)[0] == 0:
                escaped.append((path.relative_to(folder).as_posix(), how))
        path.write_bytes(whole)
    rehash(folder)
    assert verdict(folder, capsys)[0] == 0
    assert not escaped, f"{len(escaped)} of {tried}: {escaped}"
    assert tried > 20


def edit(folder, name, change):
    data = json.loads((folder / name).read_text())
    change(data)
    (folder / name).write_text(json.dumps(data))
    rehash(folder)


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


CONTINUOUS = [
    ("certificate.json", shrink(0.99)),
    ("certificate.json", shrink(1.0, 0.01)),
    *(
        ("certificate.json", row(k, 1.01))
        for k in ("value", "radius", "center", "lower", "upper", "value_radius", "raw")
    ),
    *(("certificate.json", row(k, 1.01)) for k in ("sensitivity", "residual_norm", "raw_radius")),
    ("certificate.json", put("queries", 0, "at", [0.41, 0.55])),
    ("certificate.json", put("queries", 0, "terms", "transfer", 0.0)),
    ("certificate.json", put("dofs", 7)),
    ("proof.json", put("goals", 0, "at", [0.41, 0.55])),
    ("proof.json", put("goals", 0, "constant", 0.0)),
    ("proof.json", put("goals", 0, "radius", 0.3)),
    ("proof.json", put("goals", 0, "radius", 0.41)),
    ("proof.json", put("goals", 1, "average", 0.19)),
    ("proof.json", put("source", "exp(x)*sin(4*y)")),
    ("proof.json", put("radius_terms", [])),
    ("case.json", put("problem", "source", "exp(x)")),
    ("case.json", put("problem", "diffusion", 1.1)),
    ("case.json", put("queries", 0, "at", [0.41, 0.55])),
]


def test_numbers_cannot_be_edited(made, tmp_path, capsys):
    for i, (name, change) in enumerate(CONTINUOUS):
        folder = tmp_path / f"b{i}"
        shutil.copytree(made["continuous 2D"], folder)
        edit(folder, name, change)
        assert verdict(folder, capsys)[0] == 1, (i, name)


@pytest.mark.parametrize("name", ["exact", "m-matrix", "large"])
def test_coercivity_cannot_be_raised(name, made, tmp_path, capsys):
    shutil.copytree(made[name], tmp_path / "b")
    edit(tmp_path / "b", "proof.json", lambda p: p["coercivity"].update(alpha=1.01 * p["coercivity"]["alpha"]))
    code, out = verdict(tmp_path / "b", capsys)
    assert code == 1
    assert "coercivity" in out[0]


def test_intervals_of_the_discrete_target_cannot_be_moved(made, tmp_path, capsys):
    for i, name in enumerate(("exact", "root", "inexact", "randomized", "localized", "norm")):
        shutil.copytree(made[name], tmp_path / f"b{i}")
        edit(tmp_path / f"b{i}", "certificate.json", shrink(1.0, 3.0))
        assert verdict(tmp_path / f"b{i}", capsys)[0] == 1, name


def test_another_meshs_state_is_refused(made, tmp_path, capsys):
    shutil.copytree(made["exact"], tmp_path / "b")
    shutil.copy(made["large"] / "system" / "u.npy", tmp_path / "b" / "system" / "u.npy")
    rehash(tmp_path / "b")
    assert verdict(tmp_path / "b", capsys)[0] == 1


def test_hostile_bundles_are_refused_and_not_obeyed(made, tmp_path, capsys):
    def copy(i):
        shutil.copytree(made["exact"], tmp_path / f"h{i}")
        return tmp_path / f"h{i}"

    secret = tmp_path / "secret.npy"
    np.save(secret, np.ones(3))
    said = json.loads((made["exact"] / "manifest.json").read_text())
    for i, name in enumerate(["../secret.npy", str(secret), "mesh/../../secret.npy", "mesh//x.npy", "."]):
        here = copy(i)
        about = {"sha256": hashlib.sha256(secret.read_bytes()).hexdigest(), "bytes": 152, "dtype": "<f8", "shape": [3]}
        seal(here, json.dumps(said | {"files": said["files"] | {name: about}}))
        assert verdict(here, capsys)[0] == 1
    here = copy("link")
    (here / "system" / "b.npy").rename(tmp_path / "b.npy")
    os.symlink(tmp_path / "b.npy", here / "system" / "b.npy")
    assert "symbolic link" in verdict(here, capsys)[1][0]
    here = copy("objects")
    np.save(here / "system" / "b.npy", np.array([print], dtype=object), allow_pickle=True)
    files = said["files"]
    data = (here / "system" / "b.npy").read_bytes()
    about = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data), "dtype": "|O", "shape": [1]}
    seal(here, json.dumps(said | {"files": files | {"system/b.npy": about}}))
    assert "dtype" in verdict(here, capsys)[1][0]
    here = copy("huge")
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1250000000,), }"
    data = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + bytes(80)
    (here / "system" / "b.npy").write_bytes(data)
    about = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data), "dtype": "<f8", "shape": [1250000000]}
    seal(here, json.dumps(said | {"files": files | {"system/b.npy": about}}))
    assert "as long" in verdict(here, capsys)[1][0]
    here = copy("twice")
    seal(here, json.dumps(said)[:-1] + ', "files": {}}')
    assert "twice" in verdict(here, capsys)[1][0]
    for i, nonsense in enumerate(
        ["[" * 100_000, '{"a": NaN}', '{"a": 1e999}', "", "[]", '{"schema": 1' + "0" * 9999 + "}"]
    ):
        here = copy(f"n{i}")
        seal(here, nonsense)
        assert verdict(here, capsys)[0] == 1


def test_the_checker_shares_nothing_with_what_it_checks():
    allowed = {"numpy", "scipy"} | set(sys.stdlib_module_names)
    for node in ast.walk(ast.parse(Path(verifier.__file__).read_text(encoding="utf-8"))):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) else []
        assert all(n.partition(".")[0] in allowed for n in names), names
