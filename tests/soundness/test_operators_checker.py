"""Witnesses of instances are proved again by the checker, and forged ones are not."""

from dataclasses import replace

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.cli.main import main
from pinnpoint.transfer.operators import prepared, sums
from pinnpoint_verify.operators import DUALS, KEYS

ZERO = {"boundary": 0.0}
PARTS = ["center", "radius", "energies0", "energies1", "energies2", "energies3", "state", "prediction", "duals", "rim"]
PARTS += ["points", "kappa", "source", "flux", "dual_fluxes", "members", "has_dual", "cells", "sizes", "none", "wide"]
PARTS += [f"without {key}" for key in sorted(KEYS | DUALS)]


def made(kind, n, tmp_path):
    """A witness file of one instance."""
    rng = np.random.default_rng(4)
    p = pp.fem.ReactionDiffusion(pp.io.generate(kind, n), source=1.0, dirichlet=ZERO)
    queries = p.mean() + p.cells(np.arange(5, 30), name="some") + p.cells([7], name="one")
    kappa = rng.uniform(1.0, 20.0, len(p.mesh.cells))
    witness = p.operators().prepare(queries, dual_steps=2).witness(kappa, 1e-3 * rng.normal(size=len(p.mesh.points)))
    return witness.save(tmp_path / "one.npz")


@pytest.mark.parametrize("kind", ["square", "lshape", "frame"])
def test_claims_are_proved_again_by_the_same_command(kind, tmp_path, capsys):
    assert main(["verify", str(made(kind, 6, tmp_path))]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["verified"] * 4 + ["declared", "VERIFIED"]
    assert "proved again" in lines[0]


def forged(stored, name):
    """The same witness with one thing made other than it is."""
    given = {key: np.array(value) for key, value in stored.items()}
    rng = np.random.default_rng(1)
    if name in ("center", "radius"):
        given[name] = given[name] * (1.001 if name == "center" else 0.99)
    elif name.startswith("energies"):
        k = int(name[-1])
        given["energies"][k] *= 0.999 if k % 2 == 0 else 1.001
    elif name in ("state", "prediction", "duals"):
        inside = np.flatnonzero(given["state"])
        given[name][..., inside] += 1e-3 * rng.normal(size=given[name][..., inside].shape)
    elif name == "rim":
        given["state"][np.flatnonzero(given["state"] == 0.0)[0]] = 1e-9
    elif name == "points":
        given[name] = given[name] * 1.001
    elif name in ("kappa", "source", "flux", "dual_fluxes"):
        given[name] = given[name] * 1.003
    elif name == "members":
        given[name][1, 60:90] = True
    elif name == "has_dual":
        given[name] = ~given[name]
    elif name == "cells":
        given[name][3] = given[name][4]
    elif name == "sizes":
        given[name] = given[name] + 1
    elif name == "none":
        given["members"][2] = False
    elif name == "wide":  # an interval that says nothing
        given["radius"][1] = np.inf
    elif name.startswith("without "):
        del given[name.removeprefix("without ")]
    return given


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    with np.load(made("square", 8, tmp_path_factory.mktemp("witness"))) as stored:
        assert set(stored.files) == KEYS | DUALS
        return dict(stored)


@pytest.mark.parametrize("name", PARTS)
def test_forged_witnesses_are_refused(name, honest, tmp_path, capsys):
    np.savez(tmp_path / "forged.npz", **forged(honest, name))
    assert main(["verify", str(tmp_path / "forged.npz")]) == 1
    assert capsys.readouterr().out.startswith("NOT VERIFIED")


def lose(monkeypatch, part):
    """Let the proof forget one of its parts."""
    whole, real, both = sums.Weights.sums, prepared.norms, prepared.intervals
    table = ("tail", "product of tails")
    if part in table:
        monkeypatch.setattr(
            sums.Weights,
            "sums",
            lambda self, k: tuple(
                0.0 * x if name == part else x for name, x in zip((*table, ""), whole(self, k), strict=True)
            ),
        )
    elif part == "delta":
        monkeypatch.setattr(prepared, "norms", lambda own, *rest: real(replace(own, square=0.99 * own.square), *rest))
    elif part in ("cross", "form", "own"):
        monkeypatch.setattr(
            prepared,
            "intervals",
            lambda a, b, duals, *rest: both(a, b, replace(duals, **{part: 0.9 * vars(duals)[part]}), *rest),
        )
    elif part == "half":
        monkeypatch.setattr(prepared, "intervals", lambda *given: (both(*given)[0], 0.99 * both(*given)[1]))


@pytest.mark.parametrize("part", ["nothing", "tail", "product of tails", "delta", "cross", "form", "own", "half"])
def test_a_proof_that_forgets_a_part_is_not_proved_again(part, monkeypatch, tmp_path, capsys):
    lose(monkeypatch, part)
    assert main(["verify", str(made("lshape", 6, tmp_path))]) == (0 if part == "nothing" else 1)
    assert part == "nothing" or capsys.readouterr().out.startswith("NOT VERIFIED")


@pytest.mark.parametrize("what", ["text", "missing", "pickled", "cut"])
def test_what_is_no_witness_is_refused(what, honest, tmp_path, capsys):
    file = tmp_path / "x.npz"
    if what == "text":
        file.write_text("no archive")
    elif what == "pickled":
        np.savez(file, **(honest | {"center": np.array([None, 1, 2], dtype=object)}))
    elif what == "cut":
        np.savez(file, **honest)
        file.write_bytes(file.read_bytes()[:-40])
    assert main(["verify", str(file)]) == (2 if what == "missing" else 1)
    assert "Traceback" not in capsys.readouterr().err


def test_what_the_checker_cannot_prove_gets_no_witness():
    mesh = pp.io.generate("square", 4)
    guess, kappa = np.zeros(len(mesh.points)), np.ones(len(mesh.cells))
    wavy = pp.fem.ReactionDiffusion(mesh, source="sin(x)", dirichlet=ZERO)
    with pytest.raises(pp.InputError, match="one number a cell"):
        wavy.operators().prepare(wavy.mean()).witness(kappa, guess)
    p = pp.fem.ReactionDiffusion(mesh, source=1.0, dirichlet=ZERO)
    with pytest.raises(pp.InputError, match="averages over cells"):
        p.operators().prepare(p.averages([[0.5, 0.5]], 0.2)).witness(kappa, guess)


def test_that_the_queries_are_all_that_were_asked_for_is_only_said(honest, tmp_path, capsys):
    """What is left of a witness without its last query is true; how many it has is printed, and that it is a word."""
    less = {key: np.array(value) for key, value in honest.items()}
    for key in ("center", "radius", "members", "has_dual", "duals", "dual_fluxes"):
        less[key] = less[key][:-1]
    less["sizes"][2] -= 1
    for given, count in ((honest, 3), (less, 2)):
        np.savez(tmp_path / "some.npz", **given)
        assert main(["verify", str(tmp_path / "some.npz")]) == 0
        (declared,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("declared"))
        assert f"{count} queries are all that were asked for" in declared
