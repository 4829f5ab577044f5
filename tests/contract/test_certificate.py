"""The result object: JSON, tables, intervals and words."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import pinnpoint as pp
from tests.support import exactly, gallery


@pytest.fixture
def certificate():
    case = gallery.poisson_2d(6)
    index = case.free[[3, 7]]
    queries = pp.Queries(np.eye(case.b.size)[index], names=["left", "right"], points=case.points[index])
    return pp.certify(case.system(), case.space.U0, queries, raw=[0.1, 0.2])


def test_json_is_strict_and_complete(certificate, tmp_path):
    path = certificate.to_json(tmp_path / "certificate.json", title="T", units="SI", inputs={"a": 1})
    assert list(tmp_path.iterdir()) == [path]
    data = json.loads(path.read_text(), parse_constant=lambda c: pytest.fail(f"{c} in JSON"))
    assert data["schema"] == "pinnpoint-certificate/1"
    assert data["title"] == "T"
    assert data["units"] == "SI"
    assert data["dofs"] == 25
    assert set(data["versions"]) >= {"pinnpoint", "numpy", "scipy", "python"}
    assert all(a["status"] in ("verified", "declared") for a in data["assumptions"])
    q = data["queries"][0]
    assert q["name"] == "left"
    assert q["guarantee"] == "deterministic"
    assert q["target"] == "discrete"
    assert q["rounding"] == "covered"
    assert q["confidence"] == 1.0
    assert q["lower"] <= q["center"] <= q["upper"]
    assert q["raw"] == 0.1
    assert q["raw_radius"] >= abs(0.1 - q["center"])
    assert q["value_radius"] >= abs(q["value"] - q["center"])
    assert q["sensitivity"] > 0
    assert q["residual_norm"] > 0
    assert {"correction", "algebra", "rounding", "mismatch"} <= set(q["terms"])
    assert len(q["at"]) == 2


def test_unbounded_radius_is_null_not_nan(certificate, tmp_path):
    wide = replace(certificate, radius=np.array([np.inf, 1.0]))
    q = json.loads(wide.to_json(tmp_path / "c.json").read_text())["queries"]
    assert q[0]["radius"] is None
    assert q[0]["lower"] is None
    assert wide.contains(1e300)[0]
    for bad in (np.nan, -1.0):
        with pytest.raises(pp.CertificationError, match="radius"):
            replace(certificate, radius=np.array([bad, 1.0]))
    with pytest.raises(pp.CertificationError, match="center"):
        replace(certificate, center=np.array([np.nan, 1.0]))


def test_frame_and_text(certificate):
    frame = certificate.to_frame()
    assert list(frame.index) == ["left", "right"]
    assert frame.loc["left", "lower"] == certificate.lower[0]
    assert frame.loc["right", "raw_radius"] == certificate.raw_radius[1]
    text = str(certificate)
    assert "left" in text
    assert "deterministic" in text
    assert len(certificate) == 2


def test_intervals_hold_their_centres_and_nothing_beyond_their_ends(certificate):
    for kind in ("corrected", "prediction", "raw"):
        interval = certificate.interval(kind)
        assert interval.shape == (2, 2)
        assert np.all(interval[:, 0] <= certificate.center)
        assert np.all(certificate.center <= interval[:, 1])
    assert np.array_equal(certificate.contains(certificate.center), [True, True])
    assert not certificate.contains(certificate.upper + 1e-9).any()
    with pytest.raises(pp.InputError, match="'corrected', 'prediction' or 'raw'"):
        certificate.interval("other")


def test_missing_intervals_say_why():
    case = gallery.poisson_1d(8)
    queries = pp.Queries(np.eye(9)[[4]])
    norm = pp.certify(case.system(), np.zeros(9), queries, pp.Norm())
    with pytest.raises(pp.CertificationError, match="no correction"):
        norm.interval("corrected")
    with pytest.raises(pp.CertificationError, match="pass raw="):
        norm.interval("raw")


def test_coefficient_bound_matches_the_paper():
    """‖U − U*‖₂ ≤ ‖Z‖ λ_min(Ĥ)^(−½) ‖r‖_W, attained within a factor for the worst residual."""
    case = gallery.poisson_1d(12)
    A, b = case.reduced()
    values, vectors = np.linalg.eigh(A.toarray())
    y = np.linalg.solve(A.toarray(), b)
    for weight in (None, "energy"):
        system = pp.LinearSystem(A, b, weight=weight)
        c = pp.certify(system, y + vectors[:, 0], pp.Queries(np.eye(11)[:1]))
        assert 1.0 <= c.coefficient_bound <= 1.2
        c = pp.certify(system, y + vectors[:, -1], pp.Queries(np.eye(11)[:1]))
        assert 1.0 <= c.coefficient_bound <= 1.2 * values[-1] / values[0]


def test_coefficient_bound_counts_the_basis():
    """U = 10 y: an error of 1 in y is one of 10 in U."""
    system = pp.LinearSystem([[3.0]], [6.0], space=pp.AdmissibleSpace([0.0], [[10.0]]))
    assert pp.certify(system, [12.0], pp.Queries([[1.0]])).coefficient_bound >= 10.0


def test_ends_are_rounded_outward(certificate):
    for center, radius in ((1.0, 2.0**-55), (1.0, 0.1), (-3.0, 1e-20), (0.1, 0.3)):
        c = replace(certificate, center=np.full(2, center), radius=np.full(2, radius))
        middle, half = exactly.rational(center), exactly.rational(radius)
        assert exactly.rational(c.lower[0]) <= middle - half
        assert exactly.rational(c.upper[0]) >= middle + half
