"""Ranges of data on boxes."""

from __future__ import annotations

import numpy as np

from pinnpoint.boxes.parts import Part
from pinnpoint.boxes.suprema import bounds_of, extremes, modelled
from pinnpoint.taylor.models import constant, reciprocal


def test_boxes_without_a_bound_are_cut_until_they_have_one():
    """Over the whole box the model divides by what it cannot tell from zero; over smaller ones it can."""

    def data(at):
        x = at[0] * at[0]
        return reciprocal(x * x + constant(-1.0) * x + constant(0.27))  # 0.02 + (x² − ½)²

    part = Part("data", data, (0,), when="start")
    ends = np.array([[-1.0]]), np.array([[1.0]])
    assert not np.isfinite(bounds_of(part, modelled(part, *ends, 0.0, [None]))).all()
    low, high = extremes(part, *ends, 0.0, [None])
    assert 0.0 < low <= 1.0 / 0.27
    assert 50.0 <= high <= 60.0
