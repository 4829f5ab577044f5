"""Broken decks: cut short, with junk, with huge numbers. Each is read, or refused in words; nothing else happens."""

from __future__ import annotations

import time

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.base.errors import InputError
from tests.support.decks import Beam, Part
from tests.support.written import free, large, small

HUGE = [b"9" * 30, b"1.E308", b"-1.E308", b"99999999", b"1.+999", b"-1", b"0", b"NAN", b"THRU", b"*", b"+", b",", b"$"]


def rigid(beam, card):
    tip = [int(i) for i in beam.ids[np.flatnonzero(beam.X[:, 2] < 0.3)]]
    return [
        *beam.usual(card),
        card("GRID", 1, "", 1.0, 1.0, -0.5),
        card("RBE2", 800, 1, 123456, *tip),
        card("RBE3", 801, "", 2, 123, 1.0, 123, *[int(i) for i in beam.ids[beam.top[2:5]]]),
        card("GRID", 2, "", 1.0, 3.0, 2.0),
        card("MOMENT", 1, 1, "", 1.0, 1.0, 2.0, 3.0),
        card("CORD2R", 5, "", 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0),
    ]


def decks():
    for card in (small, large, free):
        beam = Beam((2, 1, 2))
        yield ".bdf", beam.deck(card, cards=rigid(beam, card)).encode()
    yield ".inp", Part((2, 1, 2)).abaqus().encode()


def broken(data, rng):
    """One of several kinds of damage."""
    kind = rng.integers(7)
    at = int(rng.integers(len(data)))
    if kind == 0:
        return data[:at]
    if kind == 1:
        junk = rng.integers(0, 256, int(rng.integers(1, 40)), dtype=np.uint8).tobytes()
        return data[:at] + junk + data[at:]
    if kind == 2:
        return data[:at] + data[at + int(rng.integers(1, 200)) :]
    if kind == 3:
        word = HUGE[int(rng.integers(len(HUGE)))]
        return data[:at] + word + data[at + len(word) :]
    lines = data.split(b"\n")
    k = int(rng.integers(len(lines)))
    if kind == 4:
        lines.insert(k, lines[int(rng.integers(len(lines)))])
    elif kind == 5:
        del lines[k]
    else:
        words = lines[k].split(b",")
        words[int(rng.integers(len(words)))] = HUGE[int(rng.integers(len(HUGE)))]
        lines[k] = b",".join(words)
    return b"\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("which", range(4))
def test_broken_decks_are_read_or_refused_in_words(tmp_path, which):
    suffix, data = list(decks())[which]
    rng = np.random.default_rng(which)
    path = tmp_path / f"a{suffix}"
    path.write_bytes(data)
    whole = pp.io.read_deck(path)
    assert len(whole.mesh.points) == 18
    assert whole.subcases
    refused = unnamed = 0
    for _ in range(150):
        path.write_bytes(broken(data, rng))
        begin = time.process_time()
        for reader in (pp.io.read_deck, pp.io.read_mesh):
            try:
                reader(path)
            except InputError as error:
                refused += str(path) in str(error)
                unnamed += str(path) not in str(error)
        assert time.process_time() - begin < 5.0
    assert refused > 60
    assert not unnamed


@pytest.mark.parametrize("data", [b"\0" * 500, b"BEGIN BULK\n" + b"GRID," * 400, bytes(range(256)) * 20, b"*" * 3000])
@pytest.mark.parametrize("suffix", [".bdf", ".inp", ".fem"])
def test_junk_is_refused(tmp_path, data, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(data)
    with pytest.raises(InputError):
        pp.io.read_deck(path)


def test_ranges_do_not_blow_up(tmp_path):
    """A range over all numbers, and many cards around one long one, cost what the deck holds."""
    beam = Beam((2, 1, 2))
    more = ["SPC1,3,456,1,THRU,99999999"] * 3 + [free("SPC1", 3, 456, *([int(beam.ids[0])] * 20000))]
    more += ["SPC1,3,456,5"] * 2000
    path = tmp_path / "a.bdf"
    path.write_text(beam.deck(cards=[*beam.usual(small), *more]))
    begin = time.process_time()
    assert pp.io.read_deck(path).problem(1).system.n
    assert time.process_time() - begin < 10.0
