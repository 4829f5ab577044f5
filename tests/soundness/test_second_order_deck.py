"""Real decks made of second order, forces at nodes made tractions: the solids themselves are certified."""

from pathlib import Path

import numpy as np
import pytest

import pinnpoint as pp
from tests.support import solids
from tests.support.decks import BENDING, Beam, read
from tests.support.second_order import second_order
from tests.support.written import small


def moved(problem):
    """The elements' own mean displacement of the loaded group, which is that of the load's work: from below."""
    queries = problem.patch(next(iter(problem.conditions["traction"])), "x")
    return pp.certify(problem, problem.space.U0, queries, target="discrete").center[0]


def certified(solid):
    """How far the pulled face moves, along x, by its mean and by the work of the load."""
    queries = solid.patch("pull 1", "x", "face") + solid.compliance("work")
    found = pp.certify(solid, solid.space.U0, queries)
    assert found.guarantee == "deterministic"
    return found


@pytest.mark.skipif(not BENDING, reason="set PINNPOINT_SOLID_BENDING to the folder of pyNastran's solid_bending")
def test_solid_bending_of_second_order(tmp_path):
    """A block 1 × 2 × 3, clamped at z = 3, 23,000 along x over the face x = 1: another mesh of it is inside."""
    text = (Path(BENDING) / "solid_bending.bdf").read_text(encoding="utf-8")
    deck = read(tmp_path, second_order(text))
    solid = deck.solid()
    np.testing.assert_allclose(solid.total_load, [23000.0, 0.0, 0.0], rtol=1e-9, atol=1e-6)
    found = certified(solid)
    mesh = solids.block((4, 6, 9), lambda X: X * [1.0, 2.0, 3.0])
    pull = {"right": (23000.0 / 6.0, 0.0, 0.0)}
    other = moved(pp.fem.Elasticity(mesh, 3.0e7, 0.3, None, {"back": 0.0}, pull, degree=2))
    assert found.contains([other, 23000.0 * other]).all()
    assert np.all(found.radius <= 0.05 * np.abs(found.center))
    with pytest.raises(pp.InputError, match="forces at nodes 9, 10, 11, 12, 13 and 18 more have no meaning"):
        pp.io.read_deck(Path(BENDING) / "solid_bending.bdf").solid()


def test_a_beam_of_second_order(tmp_path):
    """The tests' own part of this form: its elements' value on a finer mesh is inside."""
    beam = Beam((2, 2, 3))
    deck = read(tmp_path, second_order(beam.deck(small).replace("+       ", " " * 8)))
    solid = deck.solid()
    found = certified(solid)
    fine = solids.bisected(solid, 3)
    assert found.contains([moved(fine), fine.total_load[0] * moved(fine)]).all()
    assert np.all(found.radius <= 0.1 * np.abs(found.center))
