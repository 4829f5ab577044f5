"""The public home is told in one place, and until then nowhere."""

from __future__ import annotations

import runpy
import shutil
import tomllib

import pytest

from tests import ROOT

FILES = ("pyproject.toml", "README.md", "CITATION.cff")
home = runpy.run_path(str(ROOT / "scripts" / "home.py"))


def test_an_address_is_written_into_all_files_and_replaced(tmp_path):
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path / name)
    before = [(tmp_path / name).read_text(encoding="utf-8") for name in FILES]
    home["written"](tmp_path, "https://example.org/a/b")
    once = [(tmp_path / name).read_text(encoding="utf-8") for name in FILES]
    urls = tomllib.loads(once[0])["project"]["urls"]
    assert urls["Source"] == "https://example.org/a/b"
    assert tomllib.loads(once[0])["project"]["scripts"] == tomllib.loads(before[0])["project"]["scripts"]
    assert all("https://example.org/a/b" in text for text in once)
    assert once[1].startswith("# pinnpoint\n\n<!-- home -->\n")
    home["written"](tmp_path, "https://example.org/c/d")
    twice = [(tmp_path / name).read_text(encoding="utf-8") for name in FILES]
    assert twice == [text.replace("example.org/a/b", "example.org/c/d") for text in once]


@pytest.mark.parametrize("address", ["http://a/b", "example.org/a/b", 'https://a/b"c'])
def test_what_is_no_address_is_refused(address, tmp_path):
    with pytest.raises(SystemExit, match="address: must look like"):
        home["written"](tmp_path, address)
