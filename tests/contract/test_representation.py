"""The representation of anything public is one short line, whatever arrays it holds."""

from __future__ import annotations

import dataclasses
import importlib.util
import inspect
from pathlib import Path

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.base.brief import MOST, brief
from pinnpoint.cases.read import read_case
from pinnpoint.fem.extraction import NodeValues
from pinnpoint.models.networks.hidden_bump import load as hidden_bump
from pinnpoint.monitoring.conformal import StatisticalBand, calibrate

DECK = """SOL 101
CEND
SPC = 1
LOAD = 2
BEGIN BULK
GRID,1,,0.,0.,0.
GRID,2,,1.,0.,0.
GRID,3,,0.,1.,0.
GRID,4,,0.,0.,1.
CTETRA,1,1,1,2,3,4
PSOLID,1,1
MAT1,1,2.1E5,,0.3
SPC1,1,123,1,2,3
FORCE,2,4,,1.0,0.,0.,1.
ENDDATA
"""
CASE = """[mesh]
generate = "square"
cells = 4
[problem]
kind = "reaction-diffusion"
source = "1"
[problem.dirichlet]
boundary = 0.0
[prediction]
zero = true
[[query]]
at = [0.5, 0.5]
"""


def problems():
    square, cube = pp.io.generate("square", 6), pp.io.generate("cube", 2)
    poisson = pp.fem.ReactionDiffusion(square, source="1", dirichlet={"boundary": 0.0})
    yield poisson
    yield poisson.lifted(hidden_bump().network)
    yield pp.fem.Elasticity(cube, young=1.0, poisson=0.3, fixed={"left": 0.0}, traction={"right": [0.0, 0.0, 1.0]})
    yield pp.fem.Semilinear(square, cubic=1.0, source="1", dirichlet={"boundary": 0.0})


def certified():
    """A problem with what belongs to it: queries, methods, certifiers, certificates, families, monitors."""
    poisson = next(problems())
    queries = poisson.points(np.full((60, 2), 0.37) + np.linspace(0, 0.2, 60)[:, None]) + poisson.averages(
        [[0.5, 0.5]], 0.2
    )
    system, U = poisson.system, poisson.space.U0
    centres = poisson.points([[0.5, 0.5]])
    yield from (queries, queries.goals[-1], queries.samples)
    yield pp.certify(poisson, U, centres)
    yield pp.certify(poisson, lambda X: X[:, 0], queries, target="discrete", accept=0.1)
    yield pp.certify_to(poisson, U, centres, 1.0)
    for method in (pp.Exact(), pp.Norm(), pp.Inexact(), pp.Localized(radius=0.2), pp.Randomized()):
        certifier = method.prepare(system, queries)
        yield from (method, certifier, certifier.certify_many(np.stack([U, U])))
    yield pp.Localized(projectors=np.ones((60, 49), dtype=bool))
    family = poisson.family([np.ones(49), np.arange(49.0)])
    prepared = family.prepare(queries)
    batch = prepared.certify_many(np.stack([U] * 30), np.ones((30, 2)))
    monitor = pp.Monitor(prepared, 1.0)
    yield from (family, prepared, batch, batch[0], prepared.reduced(np.zeros((49, 2))))
    yield from (monitor, monitor.check(U, mu=[1.0, 1.0]))
    truth = np.zeros(batch.center.shape)
    overlay = calibrate(batch, truth, confidence=0.8)
    yield from (overlay, overlay.band(batch))
    yield pp.verify_coercivity(system.A[system.space.free][:, system.space.free])


def smaller():
    """Everything else that a user makes or gets."""
    n = 40
    A = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    space = pp.AdmissibleSpace.dirichlet(n, [0, n - 1], [1.0, 2.0])
    general = pp.AdmissibleSpace(np.zeros(n), np.eye(n)[:, :30])
    yield from (space, general, space.project(np.zeros(n)), pp.LinearSystem(A, np.ones(n), space=space))
    nonlinear = pp.NonlinearSystem(lambda U: A @ U, lambda U: A, space)
    yield from (nonlinear, pp.Root(), pp.Stationary())
    yield from (
        pp.Comparison(np.zeros(n), 1.0),
        pp.External(np.ones(60), "a bound from a book " * 40),
        pp.Claim("x " * 900),
    )
    bump = hidden_bump()
    yield from (bump, bump.network, pp.models.Lift(bump.network), pp.models.Lift("sin(x)*" * 200 + "1"))
    yield from (NodeValues(np.zeros((9, 2)), np.zeros(9)), pp.fem.Load((1.0, 0.0, 0.0), (0.0, 0.0, 1.0)))
    yield from (
        pp.fem.Reaction("u**3"),
        pp.campaigns.Summary(failed={str(k): "x" * 99 for k in range(99)}),
    )
    yield pp.models.Predictor(bump.network, "a network " * 100, 2, True)


def from_files(folder: Path):
    (folder / "part.bdf").write_text(DECK)
    (folder / "case.toml").write_text(CASE)
    deck = pp.io.read_deck(folder / "part.bdf")
    case = read_case(folder / "case.toml")
    yield from (deck, deck.data, deck.problem(), deck.mesh)
    yield from (case, case.problem, case.prediction, case.certificate, *case.queries)
    from pinnpoint.cases.study import build

    study = build(case)
    yield from (study, study.certify())


def inside(thing: object):
    """A record and the records in its fields."""
    yield thing
    if dataclasses.is_dataclass(thing):
        parts = [getattr(thing, f.name, None) for f in dataclasses.fields(thing)]
        for part in parts:
            for one in part if isinstance(part, list | tuple) and not hasattr(part, "_fields") else [part]:
                if type(one).__module__.startswith("pinnpoint") and not isinstance(one, dict):
                    yield from inside(one)


def require_short(thing: object) -> None:
    text = repr(thing)
    assert len(text) < 300, text
    assert len(text.splitlines()) == 1, text
    assert "array([" not in text
    assert type(thing).__name__ in text or type(thing).__module__ in text


@pytest.mark.parametrize("made", [problems, certified, smaller], ids=lambda f: f.__name__)
def test_everything_public_is_shown_in_a_line(made):
    seen = [one for thing in made() for one in inside(thing)]
    for one in seen:
        require_short(one)
    assert len(seen) > 15


def test_what_files_give_is_shown_in_a_line(tmp_path):
    for thing in from_files(tmp_path):
        for one in inside(thing):
            require_short(one)


def test_no_public_class_is_left_out():
    """Records that may hold arrays, texts or other records of any size have the short line, now and later."""
    plain = {"float", "int", "bool", "float | None", "int | None", "bool | None"}
    packages = [pp, pp.fem, pp.io, pp.models, pp.adapters, pp.campaigns, pp.conformal]
    packages += [pp.training] if importlib.util.find_spec("torch") else []
    for package in packages:
        for name in package.__all__ if hasattr(package, "__all__") else dir(package):
            one = getattr(package, name)
            if not (inspect.isclass(one) and dataclasses.is_dataclass(one)) or name == "Certificate":
                continue
            kinds = {str(f.type) for f in dataclasses.fields(one)}
            assert one.__repr__ is brief or kinds <= plain, f"{name}: say __repr__ = brief"


def test_the_line_says_what_matters():
    space = pp.AdmissibleSpace.dirichlet(3, [0], [0.0])
    assert repr(pp.LinearSystem(np.eye(3), np.ones(3), space=space)).startswith(
        "LinearSystem(A=sparse(3, 3), b=array(3,)"
    )
    assert repr(pp.Exact(rounding=False)).startswith("Exact(rounding=False")
    found = pp.certify(pp.LinearSystem(np.eye(3), np.ones(3)), np.zeros(3), pp.Queries(np.eye(3)))
    assert repr(found).startswith("Certificate(3 queries, exact, deterministic, target discrete, largest radius ")
    assert len(repr(StatisticalBand)) < 100
    assert len(repr(pp.Claim("\n" * 5000))) <= MOST + 1
    assert repr(pp.Queries(np.eye(3), ["a", "b", "c"])).startswith("Queries(L=sparse(3, 3), names=['a', 'b', 'c']")
