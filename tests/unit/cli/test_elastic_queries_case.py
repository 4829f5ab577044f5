"""Kinds of queries of elastic bodies in case files: certified, written, verified; and what is refused."""

import json

import meshio
import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.cases.read import read_case
from pinnpoint.cases.study import build
from pinnpoint.cli.main import main
from tests.support.forged import sealed

HEAD = """
title = "Block"
units = {length = "mm", force = "N"}
[mesh]
generate = "DOMAIN"
cells = 2
[problem]
kind = "elasticity"
degree = 2
young = 10.0
poisson = 0.3
body = BODY
[problem.fixed]
left = 0.0
[problem.traction]
right = BODY
[prediction]
PREDICTION
[certificate]
target = "discrete"
"""
KINDS = """
[[query]]
name = "end"
kind = "patch"
group = "right"
component = "normal"
[[query]]
name = "along"
kind = "patch"
group = "top"
component = ALONG
[[query]]
name = "s"
kind = "stress"
at = AT
component = "yx"
[[query]]
name = "e"
kind = "strain"
at = AT
component = "yy"
[[query]]
name = "vm"
kind = "von-mises"
at = AT
accept = 0.1
[[query]]
name = "p"
kind = "principal"
at = AT
[[query]]
name = "u"
kind = "magnitude"
at = AT
tolerance = 1e-3
[[query]]
name = "all"
kind = "mean"
component = "y"
"""
NOWHERE = """
[[query]]
name = "R"
kind = "reaction"
group = "left"
component = "y"
[[query]]
name = "W"
kind = "compliance"
"""


def text(d, queries, prediction="zero = true"):
    parts = {"DOMAIN": "square" if d == 2 else "cube", "BODY": str(["0"] * (d - 1) + ["-1"]).replace("'", '"')}
    parts |= {"ALONG": str([1.0, 2.0, -1.0][:d]), "AT": str([0.4, 0.52, 0.51][:d]), "PREDICTION": prediction}
    found = HEAD + queries
    for word, value in parts.items():
        found = found.replace(word, value)
    return found


def run(tmp_path, content, *more):
    path = tmp_path / "case.toml"
    path.write_text(content, encoding="utf-8")
    return main(["certify", str(path), "--quiet", "--out", str(tmp_path / "out"), *more])


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("queries", [KINDS, KINDS + NOWHERE], ids=["places", "all"])
def test_every_kind_is_certified_and_verified(tmp_path, capsys, d, queries):
    assert run(tmp_path, text(d, queries)) == 4  # the von Mises stress of nothing is beyond
    data = json.loads((tmp_path / "out" / "certificate.json").read_text(encoding="utf-8"))
    study = build(read_case(tmp_path / "case.toml"))
    problem, names = study.problem, [row["name"] for row in data["queries"]]
    pairs = ["xx", "xy", "yy"] if d == 2 else ["xx", "xy", "xz", "yy", "yz", "zz"]
    assert names[4 : 4 + len(pairs)] == [f"vm {w}" for w in pairs]
    again = pp.certify(problem, problem.space.U0, study.queries, target="discrete")
    assert np.allclose([row["center"] for row in data["queries"]], again.center, rtol=1e-9, atol=1e-12)
    rows = {row["name"]: row for row in data["derived"]}
    assert list(rows) == ["vm", *(f"p {k + 1}" for k in range(d)), "u"]
    assert rows["vm"]["verdicts"] == {"accept": "beyond"}
    assert rows["vm"].get("poisson") == (0.3 if d == 2 else None)
    direct = pp.certify(problem, problem.space.U0, problem.von_mises([[0.4, 0.52, 0.51][:d]]), target="discrete")
    assert rows["vm"]["lower"] == pytest.approx(direct.derived[0].lower, rel=1e-9)
    limit = next(row["tolerance"] for row in data["queries"] if row["name"] == "u x")
    assert limit == pytest.approx(1e-3 / np.sqrt(d), rel=1e-6)
    table = (tmp_path / "out" / "certificate.csv").read_text(encoding="utf-8").splitlines()
    assert len(table) == 1 + len(names) + len(rows)
    assert next(line for line in table if line.startswith("vm,")).endswith(f"N/mm²,{data['id']}")
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "of 1 prediction 1 proved beyond what is accepted" in report
    assert "von-mises of" in report
    if queries is not KINDS:
        units = {line.split(",")[0]: line.split(",")[-2] for line in table}
        assert (units["R"], units["W"]) == (("N/mm", "N") if d == 2 else ("N", "N·mm"))
    capsys.readouterr()
    assert main(["verify", str(tmp_path / "out" / "bundle")]) == 0
    assert "vm: follows from vm xx" in capsys.readouterr().out


def test_groups_of_cells_are_verified(tmp_path, capsys):
    mesh = pp.io.generate("square", 3)
    low = mesh.points[mesh.cells].mean(axis=1)[:, 0] < 0.5
    file = meshio.Mesh(np.pad(mesh.points, ((0, 0), (0, 1))), [("triangle", mesh.cells), ("line", mesh.facets("left"))])
    tags = [np.where(low, 1, 2), np.full(len(mesh.facets("left")), 3)]
    file.cell_data = {"gmsh:physical": tags, "gmsh:geometrical": tags}
    file.field_data = {"soft": np.array([1, 2]), "stiff": np.array([2, 2]), "left": np.array([3, 1])}
    file.write(tmp_path / "a.msh", file_format="gmsh22", binary=False)
    queries = "".join(
        f'[[query]]\nname = "{kind}"\nkind = "{kind}"\ngroup = "soft"\n{more}'
        for kind, more in (
            ("cells", 'component = "x"\n'),
            ("stress", 'component = "xy"\n'),
            ("strain", 'component = "yy"\n'),
            ("von-mises", ""),
            ("principal", ""),
        )
    )
    content = text(2, queries).replace('generate = "square"\ncells = 2', 'file = "a.msh"')
    content = content.replace("poisson = 0.3", "poisson = {soft = 0.3, stiff = 0.1}")
    content = content.replace('[problem.traction]\nright = ["0", "-1"]\n', "")
    assert run(tmp_path, content) == 0
    data = json.loads((tmp_path / "out" / "certificate.json").read_text(encoding="utf-8"))
    assert data["derived"][0]["poisson"] == 0.3
    assert main(["verify", str(tmp_path / "out" / "bundle")]) == 0


def forged(folder, change):
    """A changed certificate, under seal."""
    file = folder / "certificate.json"
    data = json.loads(file.read_text(encoding="utf-8"))
    change(data)
    file.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sealed(folder)


def narrower(row):
    row["upper"] = row["upper"] - 0.9 * row["radius"]


FORGED = {
    "an upper end": (lambda d: narrower(d["derived"][0]), "does not hold what its components allow"),
    "a principal stress": (lambda d: narrower(d["derived"][1]), "does not hold what its components allow"),
    "a lower end": (lambda d: d["derived"][-1].update(lower=d["derived"][-1]["center"]), "does not hold"),
    "another component": (lambda d: d["derived"][0]["derived_from"].reverse(), "another derived_from"),
    "a ratio": (lambda d: d["derived"][0].update(poisson=0.2), "another poisson"),
    "a value": (lambda d: d["derived"][0].update(value=1.0), "value is not that of its components"),
    "a guarantee": (lambda d: d["derived"][0].update(guarantee="estimate"), "guarantee"),
    "a verdict": (lambda d: d["derived"][0].update(verdicts={"accept": "within"}), "verdict"),
    "one left out": (lambda d: d["derived"].pop(), "another number of derived quantities"),
    "a component's name": (lambda d: d["queries"][2].update(component="xx"), "component"),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_quantities_are_refused(tmp_path, capsys, name):
    change, words = FORGED[name]
    run(tmp_path, text(2, KINDS))
    forged(tmp_path / "out" / "bundle", change)
    capsys.readouterr()
    assert main(["verify", str(tmp_path / "out" / "bundle")]) == 1
    assert words in capsys.readouterr().out


REFUSED = {
    "a pair for a point": ('at = [0.5, 0.5]\ncomponent = "xy"', "component: 'xy' is not known"),
    "an axis for a stress": ('kind = "stress"\nat = [0.5, 0.5]\ncomponent = "x"', "'x' is not known"),
    "no component": ('kind = "stress"\nat = [0.5, 0.5]', "needs a component, two axes such as 'xy'"),
    "both places": ('kind = "stress"\nat = [0.5, 0.5]\ngroup = "left"\ncomponent = "xy"', "at or group, not both"),
    "a radius": ('kind = "stress"\nat = [0.5, 0.5]\nradius = 0.1\ncomponent = "xy"', "does not belong to a stress"),
    "a component of a norm": (
        'kind = "von-mises"\nat = [0.5, 0.5]\ncomponent = "x"',
        "does not belong to kind = 'von-mises'",
    ),
    "a place for the work": ('kind = "compliance"\nat = [0.5, 0.5]', "does not belong to the compliance"),
    "a group for the mean": ('kind = "mean"\ngroup = "left"\ncomponent = "x"', "does not belong to kind = 'mean'"),
    "a free group": ('kind = "reaction"\ngroup = "right"\ncomponent = "x"', "are not held in x"),
    "a boundary group": ('kind = "stress"\ngroup = "left"\ncomponent = "xy"', "no such cell group"),
    "a space point": ('kind = "magnitude"\nat = [0.5, 0.5, 0.5]', "must have 2 coordinates"),
    "a typing error": ('kind = "von-mieses"\nat = [0.5, 0.5]', "did you mean 'von-mises'"),
    "a flux": ('kind = "flux"\ngroup = "left"', "ask for the reaction of a held group"),
    "a wrong vector": ('kind = "patch"\ngroup = "right"\ncomponent = [1.0]', "component"),
    "a space component": (
        'kind = "stress"\nat = [0.5, 0.5]\ncomponent = "xz"',
        "component: must be one of 'xx', 'xy', 'yy'",
    ),
    "a name twice": (
        'name = "a xx"\nkind = "stress"\nat = [0.5, 0.6]\ncomponent = "xx"\n[[query]]\nname = "a"\n'
        'kind = "von-mises"\nat = [0.5, 0.5]',
        "have this name",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(tmp_path, capsys, name):
    query, words = REFUSED[name]
    assert run(tmp_path, text(2, f"[[query]]\n{query}\n")) == 2
    assert words in capsys.readouterr().err


def test_scalar_problems_have_none_of_them(tmp_path, capsys):
    content = '[mesh]\ngenerate = "square"\n[problem]\nkind = "reaction-diffusion"\nsource = "1"\n[problem.dirichlet]\n'
    content += 'boundary = 0.0\n[prediction]\nzero = true\n[[query]]\nkind = "von-mises"\nat = [0.5, 0.5]\n'
    assert run(tmp_path, content) == 2
    assert "'von-mises' does not fit kind = 'reaction-diffusion'" in capsys.readouterr().err
