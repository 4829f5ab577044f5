"""`verify --inputs` holds a bundle against the files that it names; `sign` and `verify --key` say whose it is."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tomllib
from itertools import pairwise

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.cli.main import main
from pinnpoint_verify.case_file import case_agrees, filed
from pinnpoint_verify.mesh_files import Unread, msh
from pinnpoint_verify.reader import Refused, strict_json
from tests.soundness.test_bundle_forged import Forger

CASE = """title = "two materials"
[mesh]
file = "part.msh"
[problem]
kind = "reaction-diffusion"
diffusion = { iron = 1.0, air = 5.0 }
source = "1+x"
[problem.dirichlet]
left = 0.0
[problem.neumann]
right = 1.0
[prediction]
file = "f.npz"
[[query]]
name = "a"
at = [0.4, 0.55]
"""
ALL = "title, units, words of mesh and prediction, problem, queries and certificate"
GROUPS = '$PhysicalNames\n4\n1 3 "left"\n1 4 "right"\n2 1 "iron"\n2 2 "air"\n$EndPhysicalNames\n'


def simplices(n: int):
    """Points, triangles with their materials and edges with their sides, of 2n × n squares of side 1/n."""
    mesh = pp.io.generate("square", n)
    points = np.concatenate([mesh.points, mesh.points + np.eye(2)[0]])
    places, number = np.unique(points, axis=0, return_inverse=True)
    cells = number.ravel()[np.concatenate([mesh.cells, mesh.cells + len(mesh.points)])]
    sides = []
    for tag, x in ((3, 0.0), (4, 2.0)):
        on = np.flatnonzero(places[:, 0] == x)
        on = on[np.argsort(places[on, 1])]
        sides += [(tag, a, b) for a, b in pairwise(on)]
    return places, cells, 1 + (places[cells].mean(axis=1)[:, 0] > 1.0), sides


def old(n: int) -> str:
    """An .msh file of version 2.2."""
    X, T, material, sides = simplices(n)
    lines = [f"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n{GROUPS}$Nodes", str(len(X))]
    lines += [f"{i + 1} {x!r} {y!r} 0" for i, (x, y) in enumerate(X.tolist())] + ["$EndNodes", "$Elements"]
    rows = [f"1 2 {tag} {tag} {a + 1} {b + 1}" for tag, a, b in sides]
    rows += [f"2 2 {m} {m} {a + 1} {b + 1} {c + 1}" for m, (a, b, c) in zip(material, T, strict=True)]
    lines += [str(len(rows)), *(f"{i + 1} {row}" for i, row in enumerate(rows)), "$EndElements"]
    return "\n".join(lines) + "\n"


def new(n: int) -> str:
    """An .msh file of version 4.1."""
    X, T, material, sides = simplices(n)
    lines = [f"$MeshFormat\n4.1 0 8\n$EndMeshFormat\n{GROUPS}$Entities", "0 2 2 0"]
    lines += [f"{tag} 0 0 0 2 1 0 1 {tag} 0" for tag in (3, 4)] + [f"{m} 0 0 0 2 1 0 1 {m} 0" for m in (1, 2)]
    lines += ["$EndEntities", "$Nodes", f"1 {len(X)} 1 {len(X)}", f"2 1 0 {len(X)}"]
    lines += (
        [str(i + 1) for i in range(len(X))] + [f"{x!r} {y!r} 0" for x, y in X.tolist()] + ["$EndNodes", "$Elements"]
    )
    lines.append(f"4 {len(sides) + len(T)} 1 {len(sides) + len(T)}")
    number = iter(range(1, 10**6))
    for tag in (3, 4):
        some = [(a, b) for t, a, b in sides if t == tag]
        lines += [f"1 {tag} 1 {len(some)}", *(f"{next(number)} {a + 1} {b + 1}" for a, b in some)]
    for m in (1, 2):
        some = T[material == m].tolist()
        lines += [f"2 {m} 2 {len(some)}", *(f"{next(number)} {a + 1} {b + 1} {c + 1}" for a, b, c in some)]
    return "\n".join([*lines, "$EndElements"]) + "\n"


@pytest.fixture(params=[old, new], ids=["2.2", "4.1"])
def made(tmp_path, request):
    """The folder of a case with its result."""
    (tmp_path / "part.msh").write_text(request.param(4))
    mesh = pp.io.read_mesh(tmp_path / "part.msh")
    np.savez(tmp_path / "f.npz", values=0.3 * mesh.points[:, 0])
    (tmp_path / "case.toml").write_text(CASE)
    assert main(["certify", str(tmp_path / "case.toml"), "--out", str(tmp_path / "o"), "--quiet"]) == 0
    return tmp_path


def verdict(folder, capsys, *more: str) -> tuple[int, str]:
    capsys.readouterr()
    code = main(["verify", str(folder / "o/bundle"), *more])
    return code, capsys.readouterr().out


def test_the_files_are_the_certificates(made, capsys):
    code, out = verdict(made, capsys, "--inputs", str(made))
    assert code == 0, out
    assert f"verified: case case.toml: its SHA-256, {ALL} as stored" in out
    assert "verified: mesh part.msh: its SHA-256, cells, group 'left', group 'right', diffusion of groups" in out
    assert "verified: prediction f.npz: its SHA-256, values at the nodes" in out
    assert "declared: mesh and prediction" not in out
    assert "declared: mesh and prediction" in verdict(made, capsys)[1]


@pytest.mark.parametrize("name", ["part.msh", "f.npz", "case.toml"])
def test_another_file_or_none_is_refused(made, capsys, name):
    path = made / name
    path.write_bytes(path.read_bytes() + b"\n")
    code, out = verdict(made, capsys, "--inputs", str(made))
    assert code == 1
    assert f"'{name}' has the SHA-256" in out
    path.unlink()
    assert f"'{name}' is not in the folder" in verdict(made, capsys, "--inputs", str(made))[1]


def swapped(text: str) -> str:
    """Left is right."""
    return text.replace('3 "left"', '3 "l"').replace('4 "right"', '4 "left"').replace('3 "l"', '3 "right"')


def renamed(text: str) -> str:
    """Iron is air."""
    return text.replace('"iron"', '"x"').replace('"air"', '"iron"').replace('"x"', '"air"')


OTHERS = {
    "part.msh": {
        "other sides": (swapped, "group 'left'"),
        "other materials": (renamed, "diffusion is not"),
        "another mesh": (lambda s: old(3), "cells|nodes"),
    },
    "case.toml": {
        "another source": (lambda s: s.replace("1+x", "2+x"), "problem.source"),
        "a source that ends as the stored one": (lambda s: s.replace("1+x", "7/1+x"), "problem.source"),
        "no flux": (lambda s: s.replace("[problem.neumann]\nright = 1.0\n", ""), "nothing of problem.neumann"),
        "one more side": (lambda s: s.replace("left = 0.0", "left = 0.0\ntop = 0.0"), "problem.dirichlet"),
        "one side less": (lambda s: s.replace("{ iron = 1.0, air = 5.0 }", "{ iron = 1.0 }"), "problem.diffusion"),
        "a tolerance": (lambda s: s.replace("0.55]", "0.55]\naccept = 1.0"), "another accept"),
        "another point": (lambda s: s.replace("0.55", "0.56"), "another at"),
    },
}


@pytest.mark.parametrize(("name", "what"), [(name, what) for name, kinds in OTHERS.items() for what in kinds])
def test_another_content_under_a_digest_that_fits_is_refused(made, capsys, name, what):
    change, words = OTHERS[name][what]
    data = change((made / name).read_text()).encode()
    (made / name).write_bytes(data)
    forger = Forger(made / "o/bundle")
    word = {"part.msh": "mesh", "case.toml": "case"}[name]
    forger.json("certificate.json", lambda d: d["inputs"][word].update(sha256=hashlib.sha256(data).hexdigest()))
    forger.seal()
    code, out = verdict(made, capsys, "--inputs", str(made))
    assert code == 1
    assert any(part in out for part in words.split("|")), out


def test_other_values_under_a_digest_that_fits_are_refused(made, capsys):
    values = np.load(made / "f.npz")["values"]
    np.savez(made / "f.npz", values=values + 1e-9)
    data = (made / "f.npz").read_bytes()
    forger = Forger(made / "o/bundle")
    forger.json("certificate.json", lambda d: d["inputs"]["prediction"].update(sha256=hashlib.sha256(data).hexdigest()))
    forger.seal()
    assert "does not have the values" in verdict(made, capsys, "--inputs", str(made))[1]


def test_what_is_no_plain_mesh_of_simplices_is_said_so():
    with pytest.raises(Unread, match="plain text"):
        msh("$MeshFormat\n4.1 1 8\n$EndMeshFormat\n")
    with pytest.raises(Unread, match="no simplices"):
        msh(old(2).replace("1 2 3 3", "8 2 3 3", 1))


def test_bundles_made_in_python_name_no_files(tmp_path, capsys):
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), 1.0, dirichlet={"boundary": 0.0})
    certificate = pp.certify(problem, problem.space.U0, problem.mean())
    (tmp_path / "o").mkdir()
    pp.write_bundle(tmp_path / "o/bundle", certificate, problem, problem.space.U0, problem.mean())
    code, out = verdict(tmp_path, capsys, "--inputs", str(tmp_path))
    assert code == 1
    assert "made in Python and names no files" in out


@pytest.mark.optional
def test_a_signature_is_its_owners(tmp_path, capsys):
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), 1.0, dirichlet={"boundary": 0.0})
    certificate = pp.certify(problem, problem.space.U0, problem.mean())
    bundle = tmp_path / "o/bundle"
    bundle.parent.mkdir()
    pp.write_bundle(bundle, certificate, problem, problem.space.U0, problem.mean())
    for name in ("mine", "other"):
        key = ed25519.Ed25519PrivateKey.generate()
        plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        (tmp_path / f"{name}.pem").write_bytes(key.private_bytes(*plain))
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        (tmp_path / f"{name}.pub").write_bytes(public)
    assert main(["verify", str(bundle), "--key", str(tmp_path / "mine.pub")]) == 2
    assert "bundle.sig': no such file" in capsys.readouterr().err
    assert main(["sign", str(bundle), "--key", str(tmp_path / "mine.pem")]) == 0
    code, out = verdict(tmp_path, capsys, "--key", str(tmp_path / "mine.pub"))
    assert code == 0
    assert "verified: signed by the key with the SHA-256" in out
    code, out = verdict(tmp_path, capsys, "--key", str(tmp_path / "other.pub"))
    assert code == 1
    assert "not that of this bundle by this key" in out
    assert main(["sign", str(bundle), "--key", str(tmp_path / "mine.pub")]) == 2
    shutil.copytree(bundle, tmp_path / "p/bundle")
    shutil.copy(tmp_path / "o/bundle.sig", tmp_path / "p/bundle.sig")
    forger = Forger(tmp_path / "p/bundle")
    forger.json("case.json", lambda d: d.update(title="another"))
    forger.json("certificate.json", lambda d: d.update(title="another"))
    forger.seal()
    code, out = verdict_of(tmp_path / "p/bundle", tmp_path / "mine.pub", capsys)
    assert code == 1
    assert "not that of this bundle by this key" in out


def verdict_of(bundle, key, capsys) -> tuple[int, str]:
    capsys.readouterr()
    return main(["verify", str(bundle), "--key", str(key)]), capsys.readouterr().out


def test_queries_without_a_name_and_points_on_mid_side_nodes_are_held_against_their_case(tmp_path, capsys):
    """The point is the middle of the diagonal: ℓ has one entry, at no vertex."""
    (tmp_path / "case.toml").write_text(
        """[mesh]
generate = "square"
cells = 1
[problem]
kind = "reaction-diffusion"
degree = 2
source = 1
[problem.dirichlet]
boundary = 0
[prediction]
zero = true
[[query]]
at = [0.5, 0.5]
[[query]]
kind = "mean"
"""
    )
    assert main(["certify", str(tmp_path / "case.toml"), "--out", str(tmp_path / "o"), "--quiet"]) == 0
    code, out = verdict(tmp_path, capsys, "--inputs", str(tmp_path))
    assert code == 0, out
    assert f"{ALL} as stored" in out


WORDS = """title = "disc"
units = { length = "m" }
[mesh]
generate = "disc"
cells = 2
[problem]
kind = "reaction-diffusion"
diffusion = 1.0
source = "4"
[problem.dirichlet]
boundary = 0.0
[prediction]
expression = "1-x**2-y**2"
[[query]]
name = "c"
at = [0.0, 0.0]
accept = 0.5
[certificate]
lift = true
limit = { below = 3.0 }
"""


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """The folder of a case on a generated domain whose prediction is lifted."""
    folder = tmp_path_factory.mktemp("words")
    (folder / "case.toml").write_text(WORDS)
    assert main(["certify", str(folder / "case.toml"), "--out", str(folder / "o"), "--quiet"]) == 0
    return folder


CHANGES = {
    "a curve": (("[certificate]", "[geometry]\nboundary = { circle = [0, 0], radius = 1 }\n[certificate]"), "geom"),
    "another domain": (('"disc"\ncells', '"square"\ncells'), "mesh.generate = 'square', stored is 'disc'"),
    "other cells": (("cells = 2", "cells = 9"), "mesh.cells = 9, stored is 2"),
    "no cells": (("cells = 2\n", ""), "nothing of mesh.cells"),
    "a mesh's file": (('generate = "disc"\ncells = 2', 'file = "b.msh"'), "mesh.file"),
    "straight": (("cells = 2", "cells = 2\nstraight = true"), "mesh.straight"),
    "another formula": (("1-x**2-y**2", "5*x+3"), "prediction.expression"),
    "no prediction": (('expression = "1-x**2-y**2"', "zero = true"), "prediction = 'zero', stored is 'expression'"),
    "a prediction's file": (('expression = "1-x**2-y**2"', 'file = "net.npz"'), "prediction = 'file'"),
    "a field": (("2-y**2", '2-y**2"\nfield = "v'), "prediction.field"),
    "two sources": (("2-y**2", '2-y**2"\nonnx = "v.onnx'), "expression and onnx"),
    "another title": (('title = "disc"', 'title = "ring"'), "title = 'ring'"),
    "no title": (('title = "disc"', ""), "title = 'case'"),
    "other units": (('"m"', '"mm"'), "units"),
    "no units": (('units = { length = "m" }', ""), "units = ''"),
    "a time": (("[certificate]", "[time]\nend = 1.0\nsteps = 3\n[certificate]"), "'time'"),
    "a box": (("[certificate]", "[box]\nsides = [[0, 1]]\n[certificate]"), "'box'"),
    "a table": (("[certificate]", "[foo]\na = 1\n[certificate]"), "'foo'"),
    "no kind": (('kind = "reaction-diffusion"\n', ""), "nothing of problem.kind"),
    "another kind": (('"reaction-diffusion"', '"semilinear"'), "problem.kind = 'semilinear'"),
    "g": (('source = "4"', 'source = "4"\ng = "sinh(u)"'), "problem.g = 'sinh(u)'"),
    "no source": (('source = "4"\n', ""), "nothing of problem.source"),
    "a picture": (("diffusion = 1.0", 'diffusion = { file = "k.npz", grid = "cells" }'), "problem.diffusion"),
    "no lift": (("lift = true\n", ""), "nothing of certificate.lift"),
    "a number for a flag": (("lift = true\n", "lift = 1\n"), "certificate.lift"),
    "a tolerance of all": (("lift = true\n", "lift = true\ntolerance = 0.1\n"), "certificate.tolerance"),
    "no limit": (("limit = { below = 3.0 }\n", ""), "another limit"),
    "one query more": (("[certificate]", "[[query]]\nkind = 'mean'\n[certificate]"), "query 'q1' is not stored"),
    "another kind of query": (("accept", "kind = 'average'\nradius = 0.1\naccept"), "another"),
}


def stored_words(folder):
    return strict_json((folder / "o/bundle/case.json").read_bytes(), "case.json")


def test_the_words_of_a_case_are_those_that_are_stored(words, capsys):
    code, out = verdict(words, capsys, "--inputs", str(words))
    assert code == 0, out
    assert f"{ALL} as stored" in out
    assert "mesh generate = 'disc', cells = 2: as the case has it; its cells are not made here" in out
    assert "declared: mesh and prediction are those" in out


@pytest.mark.parametrize("what", CHANGES)
def test_other_words_or_none_are_refused_by_their_name(words, what):
    (old_words, new_words), line = CHANGES[what]
    text, case = (words / "case.toml").read_text(), stored_words(words)
    assert case_agrees(tomllib.loads(text), case, "case")
    assert old_words in text
    with pytest.raises(Refused, match=re.escape(line)):
        case_agrees(tomllib.loads(text.replace(old_words, new_words)), case, "case")


@pytest.mark.parametrize("what", ["a curve", "another formula", "a table"])
def test_forged_digests_do_not_help_other_words(words, tmp_path, capsys, what):
    shutil.copytree(words / "o/bundle", tmp_path / "o/bundle")
    data = (words / "case.toml").read_text().replace(*CHANGES[what][0]).encode()
    (tmp_path / "case.toml").write_bytes(data)
    forger = Forger(tmp_path / "o/bundle")
    forger.json("certificate.json", lambda d: d["inputs"]["case"].update(sha256=hashlib.sha256(data).hexdigest()))
    forger.seal()
    code, out = verdict(tmp_path, capsys, "--inputs", str(tmp_path))
    assert code == 1
    assert CHANGES[what][1] in out


def test_every_default_and_second_name_of_a_case_is_known(tmp_path):
    """Nothing is stored of a group that the file does not have, also where that is a zero."""
    text = """[mesh]
generate = "square"
cells = 2
[problem]
kind = "elasticity"
young = { a = 2, b = 3.0 }
poisson = 0.3
[problem.fixed]
left = [0, "free"]
[problem.traction]
right = ["1+x", 0.0]
[problem.force]
top = [0, 1]
bottom = { moment = 1.0 }
[prediction]
zero = true
[[query]]
name = "p"
kind = "principal"
at = [0.4, 0.6]
[certificate]
accept = 2
"""
    case = {
        "title": "t",
        "units": "",
        "mesh": {"generate": "square", "cells": 2},
        "problem": {
            "kind": "elasticity",
            "degree": 1,
            "young": {"a": 2.0, "b": 3.0},
            "poisson": 0.3,
            "dirichlet": {"left": [0.0, "free"]},
            "neumann": {"right": ["1+x", 0.0]},
            "force": {
                "top": {"force": [0.0, 1.0], "even": True},
                "bottom": {"force": [0.0, 0.0], "moment": [1.0], "even": False},
            },
        },
        "prediction": {"source": "zero"},
        "queries": [{"name": f"p {w}", "kind": "stress", "at": [0.4, 0.6]} for w in ("xx", "xy", "yy")],
        "derived": [
            {
                "name": f"p {k}",
                "kind": "principal",
                "order": k,
                "derived_from": ["p xx", "p xy", "p yy"],
                "at": [0.4, 0.6],
                "accept": 2.0,
            }
            for k in (1, 2)
        ],
        "certificate": {"target": "continuous", "method": "exact", "rounding": True, "lift": False, "accept": 2.0}
        | {"options": {}},
    }
    assert case_agrees(tomllib.loads(text), case, "t")
    for key, group in (("dirichlet", "up"), ("neumann", "up"), ("young", "c"), ("force", "up")):
        more = json.loads(json.dumps(case))
        more["problem"][key][group] = 0.0
        with pytest.raises(Refused, match=f"problem.{key}"):
            case_agrees(tomllib.loads(text), more, "t")
    for old_words, new_words in (("moment = 1.0", "moment = 2.0"), ("top = [0, 1]", "top = { force = [0, 1] }")):
        with pytest.raises(Refused, match=r"problem\.force"):
            case_agrees(tomllib.loads(text.replace(old_words, new_words)), case, "t")
    with pytest.raises(Refused, match="another number of queries"):
        case_agrees(tomllib.loads(text), case | {"queries": [*case["queries"], {"name": "z", "kind": "mean"}]}, "t")


@pytest.mark.parametrize(
    ("value", "stored", "fits"),
    [
        ("a.msh", "a.msh", True),
        ("./m/a.msh", "m/a.msh", True),
        ("m\\a.msh", "m/a.msh", True),
        ("/w/m/a.msh", "m/a.msh", True),
        ("/w/m/a.msh", "a.msh", True),
        ("b.msh", "a.msh", False),
        ("xa.msh", "a.msh", False),
        ("n/a.msh", "m/a.msh", False),
        ("/w/xa.msh", "a.msh", False),
        (3, "a.msh", False),
    ],
)
def test_a_stored_file_is_the_one_that_the_case_names(value, stored, fits):
    assert filed(value, stored) is fits


MOVES = """[mesh]
generate = "interval"
cells = 4
[time]
end = 0.1
steps = 2
[problem]
kind = "parabolic"
source = 1.0
[problem.dirichlet]
boundary = 0.0
[prediction]
zero = true
[[query]]
name = "all"
kind = "mean"
[certificate]
target = "{}"
"""
SAID = {"continuous": "a solution in time stores no names or SHA-256", "discrete": "is about steps in time as a system"}


@pytest.mark.parametrize("target", SAID)
def test_in_time_there_is_nothing_to_compare_files_with_and_that_is_said(tmp_path, capsys, target):
    (tmp_path / "case.toml").write_text(MOVES.format(target))
    assert main(["certify", str(tmp_path / "case.toml"), "--out", str(tmp_path / "o"), "--quiet"]) == 0
    assert verdict(tmp_path, capsys)[0] == 0
    code, out = verdict(tmp_path, capsys, "--inputs", str(tmp_path))
    assert code == 1
    assert SAID[target] in out
    assert "made in Python" not in out


def test_straight_sides_are_stored(tmp_path, capsys):
    (tmp_path / "part.msh").write_text(old(2))
    text = CASE.replace('"part.msh"', '"part.msh"\nstraight = true').replace('file = "f.npz"', "zero = true")
    (tmp_path / "case.toml").write_text(text)
    assert main(["certify", str(tmp_path / "case.toml"), "--out", str(tmp_path / "o"), "--quiet"]) == 0
    code, out = verdict(tmp_path, capsys, "--inputs", str(tmp_path))
    assert code == 0, out
    with pytest.raises(Refused, match=r"nothing of mesh\.straight"):
        case_agrees(tomllib.loads(text.replace("straight = true", "")), stored_words(tmp_path), "case")
