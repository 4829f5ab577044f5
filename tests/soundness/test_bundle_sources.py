"""Bundles of sources by groups of cells: the checker proves them again, and refuses what was altered."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.mesh import Mesh
from pinnpoint_verify.claims import verify
from pinnpoint_verify.reader import Refused
from tests.soundness.test_bundle_forged import Forger
from tests.support.copies import copied


def parted(kind: str, n: int) -> Mesh:
    """A mesh with the groups a and b, left and right of x = ½."""
    mesh = pp.io.generate(kind, n)
    left = mesh.points[mesh.cells].mean(axis=1)[:, 0] < 0.5
    return Mesh(mesh.points, mesh.cells, {"a": np.flatnonzero(left), "b": np.flatnonzero(~left)}, mesh.facet_groups)


def written(folder, kind="square", n=6, diffusion=1.0):
    problem = pp.fem.ReactionDiffusion(parted(kind, n), {"a": 1.0, "b": "6*x"}, diffusion, dirichlet={"boundary": 0.0})
    at = np.full((1, problem.mesh.dim), 0.45)
    at[0, 0] = 0.25
    queries = problem.flux("boundary") + problem.mean() + problem.points(at)
    certificate = pp.certify(problem, problem.space.U0, queries)
    pp.write_bundle(folder, certificate, problem, problem.space.U0, queries)
    return certificate


@pytest.mark.parametrize(("kind", "n"), [("interval", 8), ("square", 6), ("cube", 2)])
@pytest.mark.parametrize("diffusion", [1.0, "1+x"])
def test_the_checker_proves_them(tmp_path, kind, n, diffusion):
    certificate = written(tmp_path / "b", kind, n, diffusion)
    lines = verify(tmp_path / "b")
    assert sum("proved" in line for line in lines) >= len(certificate.names)
    assert any("which cells are in the groups of the source" in line for line in lines)


def swapped(forger):
    forger.array("source/region", lambda a: 1 - a)


def shifted(forger):
    def change(a):
        a = a.copy()
        a[0] = 1 - a[0]
        return a

    forger.array("source/region", change)


def proof(change):
    return lambda forger: forger.json("proof.json", change)


def other(data):
    data["source"][1] = "6.01*x"


def fewer(data):
    data["source"] = data["source"][:1]


def plain(data):
    data["source"] = "6*x"


def constant(data):
    data["goals"][2]["constant"] += 1e-3


def case(forger):
    def change(data):
        data["problem"]["source"]["b"] = "7*x"

    forger.json("case.json", change)


FORGED = {
    "groups swapped": swapped,
    "one cell in the other group": shifted,
    "another formula": proof(other),
    "a formula left out": proof(fewer),
    "one formula for all": proof(plain),
    "the data's part of a point": proof(constant),
    "another case": case,
}


@pytest.mark.parametrize("what", FORGED)
@pytest.mark.parametrize("diffusion", [1.0, "1+x"])
def test_what_was_altered_is_refused(tmp_path, what, diffusion):
    copied(tmp_path / "b", written, diffusion=diffusion)
    forger = Forger(tmp_path / "b")
    FORGED[what](forger)
    forger.seal()
    with pytest.raises(Refused):
        verify(tmp_path / "b")


def test_functions_of_groups_are_refused_when_they_are_written(tmp_path):
    mesh = parted("square", 4)
    problem = pp.fem.ReactionDiffusion(mesh, {"a": 1.0, "b": lambda X: X[:, 0]}, dirichlet={"boundary": 0.0})
    certificate = pp.certify(problem, problem.space.U0, problem.mean())
    with pytest.raises(pp.InputError, match="numbers and formulas"):
        pp.write_bundle(tmp_path / "b", certificate, problem, problem.space.U0, problem.mean())
