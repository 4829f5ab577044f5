"""Bundles of heated bodies and of forces by cells: honest ones verify, altered ones do not."""

import json
import shutil

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.cli.main import main
from pinnpoint.fem import Elasticity
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from pinnpoint_verify.claims import main as verify
from tests.support.forged import sealed


def square(cells=3):
    mesh = generate("square", cells)
    low = mesh.points[mesh.cells].mean(axis=1)[:, 1] < 0.5
    return Mesh(mesh.points, mesh.cells, {"low": low, "high": ~low}, mesh.facet_groups)


def averages(problem):
    asked = problem.stress("low", "yy", "s") + problem.stress("low", "xy", "t") + problem.strain("low", "yy", "e")
    return asked + problem.mean("x", "m") + problem.patch("right", "x", "p") + problem.reaction("left", "x", "r")


def curved(degree):
    problem = Elasticity(
        square(), 2.0, 0.3, [0.0, -1.0], {"left": 0.0}, expansion=0.1, temperature="sin(x)*y", degree=degree
    )
    return problem, averages(problem)


def even(degree):
    given = {"expansion": {"low": 0.1, "high": 0.2}, "temperature": 3.0, "plane": "stress", "degree": degree}
    problem = Elasticity(square(), 2.0, 0.3, None, {"left": 0.0}, **given)
    at = [[0.4, 0.3]]
    asked = averages(problem) + problem.stress(at, "xx", ["ps"]) + problem.points(at, "y", ["pu"])
    return problem, asked + problem.strain(at, "yy", ["pe"])


def vertices(degree):
    mesh = square()
    T = mesh.points[:, 0] - 2 * mesh.points[:, 1] ** 2
    problem = Elasticity(mesh, 2.0, 0.3, None, {"left": 0.0}, expansion=0.1, temperature=T, degree=degree)
    return problem, averages(problem)


def heavy(degree):
    body = {"low": [0.0, -1.0], "high": [0.5, -3.0]}
    problem = Elasticity(square(4), 2.0, 0.3, body, {"left": 0.0}, degree=degree)
    asked = averages(problem) + problem.points([[0.4, 0.3]], "y", ["pu"]) + problem.stress([[0.4, 0.3]], "yy", ["ps"])
    return problem, asked + problem.compliance("work")


def rows(degree):
    mesh = square()
    problem = Elasticity(mesh, 2.0, 0.3, mesh.points[mesh.cells].mean(axis=1), {"left": 0.0}, degree=degree)
    return problem, problem.mean("x", "m")


CASES = {f"{f.__name__} {k}": (f, k) for f in (curved, even, vertices, heavy, rows) for k in (1, 2)}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root, done = tmp_path_factory.mktemp("heat"), {}

    def make(name):
        if name not in done:
            f, k = CASES[name]
            problem, queries = f(k)
            certificate = pp.certify(problem, problem.space.U0, queries)
            done[name] = root / name.replace(" ", "_")
            pp.write_bundle(done[name], certificate, problem, problem.space.U0, queries)
        return done[name]

    return make


@pytest.mark.parametrize("name", CASES)
def test_honest_bundles_verify(name, made, capsys):
    assert verify(str(made(name))) == 0, capsys.readouterr().out


def array(name, change):
    def forge(folder):
        path = folder / f"{name}.npy"
        np.save(path, change(np.load(path)))

    return forge


def text(file, change):
    def forge(folder):
        data = json.loads((folder / file).read_text(encoding="utf-8"))
        change(data)
        (folder / file).write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")

    return forge


def goal(i, **new):
    return text("proof.json", lambda data: data["goals"][i].update(new))


FORGERIES = {
    "half of the thermal stress": ("curved 2", array("source/s_beta", lambda a: 0.5 * a)),
    "another expansion": ("curved 2", array("continuous/expansion", lambda a: 2.0 * a)),
    "another temperature": ("curved 2", text("proof.json", lambda d: d["solid"].update(temperature="sin(x)*y*2"))),
    "no temperature": ("curved 2", text("proof.json", lambda d: d["solid"].pop("temperature"))),
    "no thermal mean": ("curved 2", goal(0, constant=0.0)),
    "a thermal mean of a shear": ("curved 2", goal(1, constant=-0.1, error=0.2)),
    "a thermal mean of a strain": ("curved 2", goal(2, constant=-0.1)),
    "no thermal stress at a point": ("even 2", goal(6, constant=0.0, error=1e-9)),
    "a pull at a point": ("even 2", goal(7, constant=0.1, error=1e-9)),
    "expansion of the other half": ("even 2", array("continuous/expansion", lambda a: a[::-1].copy())),
    "other vertices": ("vertices 2", array("continuous/temperature", lambda a: a + 0.5)),
    "lighter": ("heavy 2", array("continuous/weights", lambda a: 0.5 * a)),
    "other weights": ("heavy 2", array("continuous/weights", lambda a: a[::-1].copy())),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_bundles_do_not_verify(name, made, tmp_path, capsys):
    case, forge = FORGERIES[name]
    copy = tmp_path / "forged"
    shutil.copytree(made(case), copy)
    forge(copy)
    sealed(copy)
    assert verify(str(copy)) != 0, capsys.readouterr().out


def test_points_where_the_temperature_varies_are_refused_with_the_reason(tmp_path):
    problem, _ = curved(2)
    queries = problem.points([[0.4, 0.3]], "x", ["u"])
    certificate = pp.certify(problem, problem.space.U0, queries)
    with pytest.raises(pp.InputError, match="query 'u': values at points of a body whose temperature"):
        pp.write_bundle(tmp_path / "b", certificate, problem, problem.space.U0, queries)


CASE = """[mesh]
generate = "square"
cells = 3
[problem]
kind = "elasticity"
young = 1.0
poisson = 0.3
expansion = 0.1
temperature = {}
[problem.dirichlet]
left = 0
[prediction]
zero = true
[[query]]
name = "end"
kind = "patch"
group = "right"
component = "x"
[[query]]
name = "work"
kind = "reaction"
group = "left"
component = "x"
"""


@pytest.mark.parametrize("theta", ["5", '"5"', '"5 + x"'])
def test_case_files_of_heated_bodies_verify(tmp_path, theta):
    (tmp_path / "case.toml").write_text(CASE.format(theta))
    assert main(["certify", str(tmp_path / "case.toml"), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    assert main(["verify", str(tmp_path / "out" / "bundle")]) == 0
    assert main(["check", str(tmp_path / "case.toml")]) == 0
