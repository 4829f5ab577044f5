"""1, 2 and 4 processes: the intervals of one machine for the PDE's own solution, and bundles that verify."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

SQUARE = """
[mesh]
generate = "square"
cells = 14
[problem]
kind = "reaction-diffusion"
source = "1 + sin(3*x)*y"
reaction = 2.0
[problem.dirichlet]
left = 0.0
bottom = "x*(1-x)"
[problem.neumann]
right = "y"
[prediction]
expression = "x*(1-x) + y"
[[query]]
name = "inside"
at = [0.51, 0.47]
[[query]]
name = "disc"
kind = "average"
at = [0.4, 0.6]
radius = 0.2
[[query]]
name = "side"
kind = "patch"
group = "right"
[[query]]
name = "mean"
kind = "mean"
"""
CUBE = """
[mesh]
generate = "cube"
cells = 5
[problem]
kind = "reaction-diffusion"
source = "6*(y*(1-y)*z*(1-z) + x*(1-x)*z*(1-z) + x*(1-x)*y*(1-y))"
diffusion = 3.0
[problem.dirichlet]
boundary = 0.0
[prediction]
zero = true
[[query]]
name = "inside"
at = [0.51, 0.47, 0.53]
[[query]]
name = "ball"
kind = "average"
at = [0.5, 0.5, 0.5]
radius = 0.2
"""
PLATE = """
[mesh]
generate = "square"
cells = 8
[problem]
kind = "elasticity"
young = 200.0
poisson = 0.3
plane = "stress"
body = ["0", "-1 - x"]
[problem.dirichlet]
left = 0.0
bottom = ["free", 0.0]
[problem.neumann]
right = [1.0, "y"]
[prediction]
zero = true
[[query]]
name = "inside"
at = [0.6, 0.45]
component = "y"
[[query]]
name = "end"
kind = "patch"
group = "right"
component = "x"
"""
BLOCK = """
[mesh]
generate = "cube"
cells = 3
[problem]
kind = "elasticity"
young = 200.0
poisson = 0.3
body = ["0", "0", "-1"]
[problem.dirichlet]
left = 0.0
[prediction]
zero = true
[[query]]
name = "inside"
at = [0.6, 0.45, 0.55]
component = "z"
"""


def quadratic(text):
    return text.replace("[problem]\n", "[problem]\ndegree = 2\n")


CASES = {
    "square": (SQUARE, (1, 2, 4)),
    "quadratic square": (quadratic(SQUARE), (3,)),
    "cube": (CUBE, (2,)),
    "quadratic cube": (quadratic(CUBE), (4,)),
    "plate": (PLATE, (2,)),
    "quadratic plate": (quadratic(PLATE), (3,)),
    "block": (BLOCK, (2,)),
}


def alone(text, folder):
    """The certificate of one process, as it runs without mpirun."""
    case, out = folder / "alone.toml", folder / "alone"
    case.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pinnpoint.cli.main", "certify", case, "--out", out, "--quiet"]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return json.loads((out / "certificate.json").read_text(encoding="utf-8"))


def numbers(certificate, key):
    return np.array([query[key] for query in certificate["queries"]])


@pytest.mark.parametrize("name", CASES)
def test_the_intervals_of_one_machine(name, certify, tmp_path):
    text, ranks = CASES[name]
    one = alone(text, tmp_path)
    for n in ranks:
        found = certify(text, n, bundle=True)
        assert [q["guarantee"] for q in found["queries"]] == [q["guarantee"] for q in one["queries"]]
        assert np.all(np.abs(numbers(found, "center") - numbers(one, "center")) <= 1e-7 * numbers(one, "radius"))
        assert np.allclose(numbers(found, "radius"), numbers(one, "radius"), rtol=1e-7, atol=0.0)
        assert {q["target"] for q in found["queries"]} == {"continuous"}
    checked = subprocess.run(
        [sys.executable, "-m", "pinnpoint.cli.main", "verify", str(tmp_path / f"out{n}" / "bundle")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "VERIFIED" in checked.stdout


def test_a_poor_solver_only_widens(certify, tmp_path):
    """u = x(1−x)y(1−y)z(1−z) solves the cube's equation."""
    good = alone(CUBE, tmp_path)["queries"][0]
    poor = certify(CUBE, 2, "--petsc", "-ksp_max_it 1 -pc_type none", bundle=True)["queries"][0]
    x, y, z = 0.51, 0.47, 0.53
    truth = x * (1 - x) * y * (1 - y) * z * (1 - z)
    for found in (good, poor):
        assert found["lower"] <= truth <= found["upper"]
    assert poor["radius"] > 1.01 * good["radius"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--set", "certificate.tolerance=1e-3"), "certificate.tolerance: is not available over several processes"),
        (("--set", "query.0.at=[2.0, 0.5]"), "outside"),
        (("--petsc", "-pc_type nonsense"), "--petsc: "),
    ],
)
def test_refused_once_by_all(certify, arguments, words):
    """Before the work is shared, by the first process in the midst of it, and by all of them."""
    done = certify(SQUARE, 2, *arguments, refused=True)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("pinnpoint: ") == 1
    assert words in done.stderr
    assert not done.stdout
