"""certificate.json says every number to its last bit, and its ends hold what centre and radius say exactly."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

pytest.importorskip("hypothesis", reason="pip install hypothesis")

from hypothesis import given
from hypothesis import strategies as st

import pinnpoint as pp
from pinnpoint.base.files import numbers as numbers_in
from tests.support.properties import numbers, same, sizes


@cache
def certificate():
    return pp.certify(pp.LinearSystem(np.eye(2), np.ones(2)), np.zeros(2), pp.Queries(np.eye(2)))


@same
@given(st.tuples(numbers, numbers), st.tuples(sizes, sizes | st.just(math.inf)), st.text())
def test_numbers_come_back_to_the_bit_and_ends_are_rounded_outward(tmp_path_factory, center, radius, title):
    path = tmp_path_factory.mktemp("json") / "certificate.json"
    written = replace(certificate(), center=np.array(center), radius=np.array(radius))
    data = json.loads(written.to_json(path, title=title).read_bytes(), parse_constant=pytest.fail)
    assert data["title"] == title
    for row, c, r in zip(data["queries"], center, radius, strict=True):
        assert (row["center"], math.copysign(1.0, row["center"])) == (c, math.copysign(1.0, c))
        if math.isinf(r):
            assert row["radius"] is row["lower"] is row["upper"] is None
        else:
            assert row["radius"] == r
            assert Fraction(row["lower"]) <= Fraction(c) - Fraction(r)
            assert Fraction(row["upper"]) >= Fraction(c) + Fraction(r)


@same
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_of_a_text_file_are_read_to_the_bit(values):
    assert numbers_in(" ".join(map(repr, values))).tobytes() == np.array(values).tobytes()
