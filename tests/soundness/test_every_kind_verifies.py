"""Everything that is certified is verified, or is refused with the reason when its bundle is written."""

from __future__ import annotations

import contextlib
import io
import json
from types import SimpleNamespace

import numpy as np
import pytest

import pinnpoint as pp
import pinnpoint_verify as verifier
from pinnpoint_verify.lengths import WHOLE
from pinnpoint_verify.varying import is_supported
from tests import ROOT
from tests.support.kinds import kinds

STORED = ROOT / "studies" / "results" / "verified.json"
KINDS = kinds()


def outcome(kind, folder):
    """The verdict on a kind: "verified", or why there is no bundle."""
    found = kind.certified()
    try:
        bundle = kind.bundle(folder / "b", found)
    except pp.InputError as error:
        return str(error).partition(";")[0]
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = verifier.main(bundle)
    return "verified" if code == 0 else said.getvalue()


def test_the_table_has_every_kind():
    assert list(json.loads(STORED.read_text(encoding="utf-8"))) == list(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_what_certifies_verifies_or_says_why_not(name, tmp_path):
    assert outcome(KINDS[name], tmp_path) in ("verified", json.loads(STORED.read_text(encoding="utf-8"))[name])


@pytest.mark.parametrize("query", ["maximum", "minimum"])
def test_extreme_values_cannot_be_narrowed_or_moved(query, tmp_path):
    """The checker proves about what is claimed: a fifth less of it, or a fifth further on, is refused."""
    from tests.support.forged import Forger, moved, narrower

    bundle = KINDS[f"diffusion in a plane, {query}, exact, continuous"].bundle(tmp_path / "b")
    for k, change in enumerate([narrower(0, 0.2), moved(0, 0.2), moved(0, -0.2)]):
        folder = Forger(bundle, tmp_path / f"f{k}").json("certificate", change).seal()
        with contextlib.redirect_stdout(io.StringIO()) as said:
            assert verifier.main(folder) == 1
        assert "is claimed" in said.getvalue()
    state = Forger(bundle, tmp_path / "s").array("continuous/state", lambda a: 1.01 * a).seal()
    with contextlib.redirect_stdout(io.StringIO()):
        assert verifier.main(state) == 1


@pytest.mark.parametrize("kind", WHOLE)
def test_what_has_no_theorem_beside_coefficients_that_vary_is_refused(kind):
    medium = SimpleNamespace(convective=False, floor=np.zeros(1))
    proof = {"mismatch": 0.0, "range": None, "goals": [{"kind": kind}], "raised": None}
    with pytest.raises(verifier.Refused, match="no theorem for such queries"):
        is_supported(SimpleNamespace(cubic=np.zeros(1), reaction=None, medium=medium), proof)
