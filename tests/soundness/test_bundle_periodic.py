"""Bundles of periodic problems: the checker glues the sides itself, and refuses other pairs."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.base.errors import InputError
from pinnpoint_verify import checker
from pinnpoint_verify.claims import verify
from pinnpoint_verify.reader import Refused
from tests.soundness.test_bundle_forged import Forger
from tests.support.copies import copied
from tests.support.periodic import random_case, shuffled


def written(folder, degree=1, target="continuous", seed=3, **more):
    """A tube whose sides have vertices in different orders, with a point next to a side, a mean and groups."""
    mesh = shuffled(np.random.default_rng(seed), pp.io.generate("square", 5))
    given = {"dirichlet": {"top": 0.0}, "periodic": {"left": "right"}} | more
    problem = pp.fem.ReactionDiffusion(mesh, "1 + sin(2*pi*x)*y", degree=degree, **given)
    queries = problem.points([[0.93, 0.4], [0.5, 0.5]]) + problem.mean() + problem.patch("bottom")
    queries = queries if target == "discrete" or more else queries + problem.flux("top")
    certificate = pp.certify(problem, problem.space.U0, queries, target=target)
    pp.write_bundle(folder, certificate, problem, problem.space.U0, queries)
    return certificate


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("target", ["continuous", "discrete"])
def test_random_tubes_and_tori_are_proved_again(tmp_path, d, target):
    for i in {1: (0, 2), 2: (1, 2, 4), 3: (3,)}[d]:
        problem, queries, truth, label = random_case(np.random.default_rng([d, i]), d)
        queries = problem.mean() if d == 3 else queries  # points take the checker a while there
        certificate = pp.certify(problem, problem.space.U0, queries, target=target)
        folder = tmp_path / str(i)
        pp.write_bundle(folder, certificate, problem, problem.space.U0, queries)
        lines = verify(folder)
        assert sum(": proved " in line for line in lines) == len(queries), label
        assert target == "discrete" or d == 3 or certificate.contains(truth).all()


MEDIA = {
    "numbers": {},
    "varies": {"diffusion": "1 + 0.5*sin(2*pi*x)*y", "reaction": "1 + y"},
    "drifts": {"convection": ("1+y", "0")},
    "matrix": {"diffusion": [["2", "1"], ["1", "3"]], "robin": {"top": ("1+x*(1-x)", "y")}, "dirichlet": {}},
    "robin": {"robin": {"top": (2.0, 1.0)}, "neumann": {"bottom": "x*(1-x)"}, "dirichlet": {}},
}


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("medium", MEDIA)
def test_beside_every_medium(tmp_path, medium, degree):
    certificate = written(tmp_path / "b", degree, **MEDIA[medium])
    assert sum(": proved " in line for line in verify(tmp_path / "b")) == len(certificate.names)


def test_case_files(tmp_path):
    from pinnpoint.cli.main import main

    (tmp_path / "c.toml").write_text(
        '[mesh]\ngenerate = "square"\ncells = 5\n[problem]\nkind = "reaction-diffusion"\nsource = "1"\ndegree = 2\n'
        '[problem.dirichlet]\nbottom = 0.5\ntop = 0.0\n[problem.periodic]\nleft = "right"\n[prediction]\nzero = true\n'
        '[[query]]\nname = "a"\nkind = "point"\nat = [0.95, 0.5]\n'
    )
    for k, target in enumerate(("continuous", "discrete")):
        out = ["--quiet", "--out", str(tmp_path / f"o{k}"), "--set", f"certificate.target={target}"]
        assert main(["certify", str(tmp_path / "c.toml"), *out]) == 0
        assert main(["verify", str(tmp_path / f"o{k}" / "bundle")]) == 0


def turned(forger):
    forger.array("mesh/pair0", lambda a: np.stack([a[:, 0], a[::-1, 1, ::-1]], axis=1))


def fewer(forger):
    forger.array("mesh/pair0", lambda a: a[1:])


def twice(forger):
    forger.array("mesh/pair0", lambda a: np.concatenate([a, a[:1]]))


def inside(forger):
    cells = forger.array("mesh/cells")
    forger.array("mesh/pair0", lambda a: np.concatenate([a, np.stack([cells[:1, :2], cells[1:2, :2]], axis=1)]))


def apart(forger):
    forger.remove("mesh/pair0.npy")


def of_no_case(forger):
    forger.json("case.json", lambda d: d["problem"].pop("periodic"))


def exchanged(forger):
    """Sides in each other's place: facets have other numbers."""
    forger.array("mesh/pair0", lambda a: np.ascontiguousarray(a[:, ::-1]))


def flowing(forger):
    forger.array("continuous/flux", lambda t: t + 1e-2)


@pytest.mark.parametrize("change", [turned, fewer, twice, inside, apart, of_no_case, exchanged, flowing])
def test_other_pairs_are_refused(tmp_path, change):
    copied(tmp_path / "b", written, 2)
    forger = Forger(tmp_path / "b")
    change(forger)
    forger.seal()
    with pytest.raises((Refused, LookupError, ValueError)):
        verify(tmp_path / "b")


def test_vertices_must_have_one_order(tmp_path, monkeypatch):
    """Cells that read a flux in different orders prove less than is claimed."""
    copied(tmp_path / "b", written, 2)
    own = checker.glue

    def wrong(grid, pairs):
        same = pairs.same
        pairs.same = np.arange(len(same))
        own(grid, pairs)
        pairs.same = same

    monkeypatch.setattr(checker, "glue", wrong)
    with pytest.raises(Refused):
        verify(tmp_path / "b")


def test_balls_do_not_cross_pairs(tmp_path):
    """A larger ball around a point next to a side would ask for the solution beyond it."""
    copied(tmp_path / "b", written, 2)
    forger = Forger(tmp_path / "b")
    forger.json("proof.json", lambda d: d["goals"][0].update(radius=0.2))
    forger.seal()
    with pytest.raises(Refused, match="the ball leaves"):
        verify(tmp_path / "b")


def test_drift_that_jumps_at_a_pair_is_refused(tmp_path):
    with pytest.raises(InputError, match="convection"):
        written(tmp_path / "b", convection=("x", "0"), reaction=1.0)


def test_norms_of_errors_have_no_witnesses_there(tmp_path):
    mesh = pp.io.generate("square", 4)
    problem = pp.fem.ReactionDiffusion(mesh, 1.0, 1.0, 1.0, periodic={"left": "right"})
    queries = problem.energy_error()
    certificate = pp.certify(problem, problem.space.U0, queries)
    with pytest.raises(InputError, match="norms of the error"):
        pp.write_bundle(tmp_path / "p", certificate, problem, problem.space.U0, queries)
