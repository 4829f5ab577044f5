"""NumPy first: when compiled code is taken."""

from __future__ import annotations

import logging
import os
import sys

import pytest

from pinnpoint.taylor import meter as metered
from pinnpoint.taylor.meter import NUMBA, Meter


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A module that numba can be told to have compiled."""
    monkeypatch.setattr(metered, "find_spec", lambda name: name)
    monkeypatch.setitem(sys.modules, "numba", metered)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    path = tmp_path / "room" / "loops.py"
    path.parent.mkdir()
    path.write_text("", encoding="utf-8")
    return path


def keep(folder, source):
    folder.mkdir(parents=True)
    made = folder / f"{source.stem}.add-1.py311.nbi"
    made.write_text("", encoding="utf-8")
    return made


def test_compiled_code_waits_until_it_spares_its_compilation_and_then_stays(source, caplog):
    caplog.set_level(logging.INFO)
    meter = Meter(source, load=0.5, make=8.0)
    assert not meter.worth(7.0)
    assert not caplog.records
    assert meter.worth(1.5)
    assert "compiling loops, once, for about 8 s" in caplog.text
    assert meter.worth(0.0)


@pytest.mark.parametrize("where", ["beside", "told", "home"])
def test_what_is_kept_is_loaded_sooner(source, where, tmp_path, caplog):
    caplog.set_level(logging.INFO)
    folders = {"beside": source.parent / "__pycache__", "told": tmp_path / "cache" / "room_1f"}
    made = keep(folders.get(where, tmp_path / "home" / "numba" / "room_1f"), source)
    meter = Meter(source, load=0.5, make=8.0)
    assert not meter.worth(0.4)
    assert meter.worth(0.2)
    assert not caplog.records
    os.utime(made, (1.0, 1.0))  # older than the source: to be compiled again
    metered.kept.cache_clear()
    assert not Meter(source, load=0.5, make=8.0).worth(1.0)


def test_to_import_numba_counts(source, monkeypatch):
    keep(source.parent / "__pycache__", source)
    monkeypatch.delitem(sys.modules, "numba")
    meter = Meter(source, load=0.5, make=8.0)
    assert not meter.worth(0.5 + 0.9 * NUMBA)
    assert meter.worth(0.2 * NUMBA)


def test_without_numba_nothing_is_compiled(source, monkeypatch):
    monkeypatch.setattr(metered, "find_spec", lambda name: None)
    assert not Meter(source, load=0.5, make=8.0).worth(1e9)


def test_what_is_known_to_come_counts_once(source):
    meter = Meter(source, load=0.5, make=8.0)
    assert not any(meter.worth(0.01, ahead=7.0) for _ in range(5))
    assert meter.worth(0.01, ahead=8.5)
