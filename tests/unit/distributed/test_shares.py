"""A mesh shared among processes, all of them here: fluxes, bounds and intervals are those of one process."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.cases.read import read_case
from pinnpoint.distributed import certify as discrete
from pinnpoint.distributed.continuous import require_fit
from pinnpoint.distributed.crew import Crew, Hand
from pinnpoint.distributed.partition import owners
from pinnpoint.distributed.shares import Share
from pinnpoint.distributed.team import Team


class Here:
    """The mail of processes that all are this one."""

    def __init__(self, size):
        self.rank, self.size = 0, size
        self.hands = [Hand(None) for _ in range(size)]
        self.answers = {}

    def send(self, message, dest):
        job, share = message
        self.answers[dest] = self.hands[dest].answer(job, share)

    def recv(self, source):
        return self.answers.pop(source)


def crew_of(size):
    return Crew(Team(Here(size), SimpleNamespace()))


def problem_of(dim, degree, cells):
    mesh = pp.io.generate("square" if dim == 2 else "cube", cells)
    dirichlet, neumann = {"left": "y*(1-y)", "bottom": 0.0}, {"right": "y"}
    return pp.fem.ReactionDiffusion(mesh, "1 + sin(3*x)*y", 2.0, 1.5, dirichlet, neumann, degree=degree)


@pytest.mark.parametrize(("dim", "degree", "cells", "size"), [(2, 1, 9, 3), (2, 2, 6, 4), (3, 1, 4, 2), (3, 2, 3, 4)])
def test_intervals_are_those_of_one_process(dim, degree, cells, size):
    problem = problem_of(dim, degree, cells)
    middle = np.full((1, dim), 0.47)
    queries = problem.points(middle) + problem.averages(middle, [0.2]) + problem.patch("right") + problem.mean()
    one = pp.certify(problem, problem.space.U0, queries)
    found = pp.certify(problem.shared(crew_of(size)), problem.space.U0, queries)
    assert np.all(np.abs(found.center - one.center) <= 1e-9 * one.radius)
    assert np.allclose(found.radius, one.radius, rtol=1e-9, atol=0.0)
    assert [a.claim for a in found.assumptions] == [a.claim for a in one.assumptions]
    assert np.allclose(found.evidence.indicators, one.evidence.indicators, rtol=1e-6)


@pytest.mark.parametrize("size", [2, 5])
def test_every_cell_and_vertex_has_one_owner_and_patches_are_whole(size):
    problem = problem_of(3, 2, 3)
    model = problem.continuum(problem.topology)
    T, owner = model.topology, owners(model.points, size)
    shares = [Share.of(T, model.cell_nodes, owner, rank) for rank in range(size)]
    assert np.array_equal(np.sort(np.concatenate([s.own_cells for s in shares])), np.arange(len(T.cells)))
    assert np.array_equal(np.sort(np.concatenate([s.vertices[s.vertex] for s in shares])), np.arange(len(T.points)))
    for share in shares:
        mine = share.vertices[share.vertex]
        about = np.flatnonzero(np.isin(T.cells, mine).any(axis=1))
        assert np.array_equal(share.cells, about)
        assert set(share.own_cells) <= set(about)


def test_a_flux_that_one_process_falsifies_widens_the_interval():
    """What is put together is measured, whoever made it."""

    class Careless(Here):
        def send(self, message, dest):
            super().send(message, dest)
            if message[0] == "fluxes":
                ok, t, seconds = self.answers[dest]
                self.answers[dest] = ok, 1.5 * t, seconds

    problem = problem_of(2, 1, 8)
    queries = problem.points([[0.47, 0.52]])
    one = pp.certify(problem, problem.space.U0, queries)
    wrong = pp.certify(problem.shared(Crew(Team(Careless(2), SimpleNamespace()))), problem.space.U0, queries)
    assert wrong.radius[0] > 3.0 * one.radius[0]
    assert np.abs(wrong.center - one.center)[0] <= wrong.radius[0] + one.radius[0]


def test_a_refusal_of_another_process_is_told():
    crew = crew_of(2)
    crew.team.comm.hands[1].jobs["look"] = lambda *given: (_ for _ in ()).throw(InputError("source: too steep"))
    problem = problem_of(2, 1, 4)
    with pytest.raises(InputError, match="source: too steep"):
        pp.certify(problem.shared(crew), problem.space.U0, problem.mean())
    crew.team.comm.hands[1].jobs["look"] = lambda *given: (_ for _ in ()).throw(CertificationError("no"))
    with pytest.raises(CertificationError):
        pp.certify(problem.shared(crew), problem.space.U0, problem.mean())


CASE = """
[mesh]
generate = "square"
cells = 4
[problem]
kind = "reaction-diffusion"
[problem.dirichlet]
left = 0.0
[prediction]
zero = true
[[query]]
name = "inside"
at = [0.5, 0.5]
"""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"[prediction]": '[certificate]\nmethod = "norm"\n[prediction]'}, "certificate.method: is not available"),
        ({"[prediction]": "[certificate]\ntolerance = 0.1\n[prediction]"}, "certificate.tolerance: is not available"),
        ({"[prediction]": "[certificate]\nrounding = false\n[prediction]"}, "certificate.rounding: is not available"),
        ({"at = [0.5, 0.5]": "at = [0.5, 0.5]\ntolerance = 0.1"}, "query.tolerance: is not available"),
        ({"at = [0.5, 0.5]": 'kind = "maximum"'}, "query.kind: over several processes"),
        ({'diffusion"': 'diffusion"\ndiffusion = "1 + x"'}, "not spread over processes"),
        ({'diffusion"': 'diffusion"\nconvection = ["1", "0"]'}, "not spread over processes"),
        ({'diffusion"': 'diffusion"\nreaction = "1 + x"'}, "problem.reaction: over several processes"),
        ({'diffusion"': 'diffusion"\nreaction = -1.0'}, "problem.reaction: over several processes"),
        (
            {"left = 0.0": "left = 0.0\n[problem.robin]\nright = { coefficient = 1.0, value = 0.0 }"},
            "problem.robin: is",
        ),
        ({"left = 0.0": 'bottom = 0.0\n[problem.periodic]\nleft = "right"'}, "problem.periodic: is certified by one"),
    ],
)
def test_what_is_not_shared_is_refused_by_name(change, words, tmp_path):
    text = CASE
    for old, new in change.items():
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "case.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        require_fit(read_case(tmp_path / "case.toml"))


def test_the_discrete_way_never_takes_a_continuous_case(tmp_path):
    (tmp_path / "case.toml").write_text(CASE, encoding="utf-8")
    with pytest.raises(InputError, match=r"certificate\.target: over several processes it must be 'discrete'"):
        discrete.require_fit(read_case(tmp_path / "case.toml"))
