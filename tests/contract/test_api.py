"""The public names and how they are called: they may grow, and break nobody."""

from __future__ import annotations

import copy
import json
import runpy

from tests import ROOT

api = runpy.run_path(str(ROOT / "scripts" / "api.py"))
STORED = json.loads((ROOT / "tests" / "contract" / "api.json").read_text(encoding="utf-8"))


def test_nothing_of_the_last_release_is_gone_or_called_otherwise():
    assert len(STORED) > 150
    assert api["broken"](STORED, api["public"]()) == []


def test_what_would_break_callers_is_noticed():
    name = "pp.certify"
    for spoil, message in (
        (lambda now: now.pop(name), "is gone"),
        (lambda now: now[name].pop(0), "argument"),
        (lambda now: now[name].reverse(), "by position"),
        (lambda now: now[name].append(["new", "keyword-only", True]), "new argument new is required"),
        (lambda now: now[name][-1].__setitem__(2, True), "has become required"),
    ):
        now = copy.deepcopy(STORED)
        spoil(now)
        assert any(message in line for line in api["broken"](STORED, now)), message
