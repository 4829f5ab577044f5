"""docs/assumptions.json, what each route of the checker rests on: whole, and in the checker's own words."""

from __future__ import annotations

import json
import re

import pytest

from tests import ROOT

DATA = json.loads((ROOT / "docs" / "assumptions.json").read_text(encoding="utf-8"))
FOLDER = ROOT / "src" / "pinnpoint_verify"
SOURCE = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py")}
TEXT = re.sub(r'"\s*\n\s*f?"', "", "\n".join(SOURCE.values()))
"""With texts that go over two lines in one piece."""


def test_every_file_of_the_checker_belongs_to_a_route():
    named = {file for route in DATA["routes"] for file in route["checker"]}
    named |= {file for files in DATA["shared"].values() for file in files}
    assert named == set(SOURCE)


@pytest.mark.parametrize("route", DATA["routes"], ids=lambda route: route["route"])
def test_routes_have_pages_and_print_what_they_declare(route):
    assert all((ROOT / "docs" / page).is_file() for page in route["pages"])
    assert {a["status"] for a in route["assumes"]} <= {"proved again", "compared", "declared"}
    for one in route["assumes"]:
        assert ("printed" in one) == (one["status"] == "declared"), one
        assert one.get("printed", "") in TEXT, one


def test_what_is_declared_fits_on_half_a_page():
    """Different things that are declared, whatever the route: the list is short."""
    claims = {one["printed"] for route in DATA["routes"] for one in route["assumes"] if one["status"] == "declared"}
    assert len(claims) <= 20
