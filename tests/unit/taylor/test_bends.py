"""Formulas with abs, min and max: their slopes almost everywhere, and the smooth formulas that they are on a set."""

from __future__ import annotations

import numpy as np
import pytest

from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import parse
from pinnpoint.taylor.branches import Bend, branch
from pinnpoint.taylor.jets import jet_of
from pinnpoint.taylor.models import TaylorModel
from pinnpoint.taylor.spaces import space


def box(centre, half):
    S, X = space(2, 4), []
    for i, a in enumerate(centre):
        C = np.zeros((S.size, 1))
        C[0], C[int(np.flatnonzero((S.degree == 1) & (S.powers[:, i] == 1))[0])] = a, half
        X.append(TaylorModel(S, C, np.zeros(1)))
    return X


BENT = ["abs(x-0.5)*y", "max(x, y)**2", "min(x*y, 0.3) + abs(x-y)", "1+abs(0.5-x)", "min(x, y)"]


@pytest.mark.parametrize("text", BENT)
def test_slopes_of_formulas_that_bend_are_those_almost_everywhere(text):
    """On boxes with and without the bend in them; second derivatives may be anything."""
    formula, h = parse(text), 1e-6
    rng = np.random.default_rng(0)
    for centre, half in (((0.3, 0.7), 0.05), ((0.5, 0.5), 0.2), ((0.8, 0.2), 0.1)):
        jet = jet_of(formula, box(centre, half), bends=True)
        P = np.array(centre) + half * rng.uniform(-1.0, 1.0, (400, 2))
        for i in range(2):
            step = h * np.eye(2)[i]
            slope = (formula(P + step) - formula(P - step)) / (2.0 * h)
            low, high = (float(b[0]) for b in jet.gradient[i].bounds)
            assert np.all((slope >= low - 1e-8) & (slope <= high + 1e-8))
            assert high - low < (6.0 if half == 0.2 else 1.5)
        assert np.isinf(jet.laplacian.e).all()
    with pytest.raises(InputError, match="no second derivatives"):
        jet_of(formula, box((0.5, 0.5), 0.2))


@pytest.mark.parametrize("text", BENT)
def test_branches_are_the_formula_where_they_were_made(text):
    formula, rng = parse(text), np.random.default_rng(0)
    for centre in ((0.3, 0.7), (0.8, 0.2), (0.2, 0.9)):
        found = branch(formula, box(centre, 0.05))
        P = np.array(centre) + 0.05 * rng.uniform(-1.0, 1.0, (200, 2))
        assert not isinstance(found, Bend)
        np.testing.assert_allclose(found(P), formula(P), rtol=1e-14)
        assert not any(word in found.text for word in ("abs", "min", "max"))
    told = branch(formula, box((0.5, 0.5), 0.2))
    assert isinstance(told, Bend)
    assert told.low < 0.0 < told.high
