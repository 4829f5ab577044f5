"""Conformal bands: right for their population, wrong beyond it, and always told apart from proofs."""

from __future__ import annotations

import json

import numpy as np
import pytest

import pinnpoint as pp

pytest.importorskip("crepes", reason="pip install 'pinnpoint[conformal]'")

from pinnpoint.monitoring.conformal import StatisticalBand, calibrate, features

pytestmark = pytest.mark.optional


def setting(method, count, shift=0.0, seed=0):
    """Loads of a family, rough states of a linear surrogate, and the exact answers."""
    rng = np.random.default_rng(seed)
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 6), source=0.0)
    family = problem.family([{"source": "x"}, {"source": "sin(3*x)*y"}, {"source": "exp(y)"}])
    queries = problem.points([[0.3, 0.4], [0.71, 0.62]])
    mu = rng.uniform(0.5, 1.5, (count, 3)) + shift
    exact = family.prepare(queries).certify_raw(np.zeros((count, 2)), mu).center
    bend = np.prod(np.sin(np.pi * problem.nodes.points), axis=1)
    wave = np.prod(np.sin(3 * np.pi * problem.nodes.points), axis=1)
    right = (mu[:, 0] * 0.02 + mu[:, 1] * 0.02 + mu[:, 2] * 0.07)[:, None]
    wrong = 0.002 * (mu - 1.0)[:, :1] ** 2 + 0.001 * rng.normal(size=(count, 1))
    states = right * bend[None, :] + wrong * wave[None, :]
    states = np.stack([problem.space.project(u).U for u in states])
    raw = (queries.L @ states.T).T
    certifier = method.prepare(problem.system, queries)
    return certifier.certify_many(states, loads=np.array([family.vector(m) for m in mu]), raw=raw), exact


def test_bands_cover_their_population_and_are_sharper():
    calibration, truth = setting(pp.Localized(radius=0.25), 240)
    fresh, fresh_truth = setting(pp.Localized(radius=0.25), 300, seed=1)
    for difficulty, sharper in (("features", 0.8), ("radius", 0.95), (None, 1.0)):
        overlay = calibrate(calibration, truth, confidence=0.9, difficulty=difficulty)
        band = overlay.band(fresh)
        covered = band.covers(fresh_truth)
        assert 0.82 <= covered.mean() <= 0.97
        assert np.all(fresh_truth >= fresh.lower - 1e-12)  # the proof, at every load
        assert np.all(fresh_truth <= fresh.upper + 1e-12)
        assert np.median(band.upper - band.lower) < sharper * np.median(fresh.upper - fresh.lower)
    assert features(calibration[0]).shape[0] == 2
    assert np.all(features(calibration[0]) >= 0.0)


def test_beyond_the_population_only_the_proof_holds():
    calibration, truth = setting(pp.Exact(), 200)
    beyond, beyond_truth = setting(pp.Exact(), 100, shift=3.0, seed=2)
    band = calibrate(calibration, truth, at="raw", difficulty=None).band(beyond)
    assert band.covers(beyond_truth).mean() < 0.7
    radius = np.stack([c.raw_radius for c in beyond])
    raw = np.stack([c.raw for c in beyond])
    assert np.all(np.abs(raw - beyond_truth) <= radius + 1e-12)


def test_bands_are_told_apart_from_proofs():
    calibration, truth = setting(pp.Norm(), 60)
    band = calibrate(calibration, truth, confidence=0.9).band(calibration)
    assert isinstance(band, StatisticalBand)
    assert band.kind == "statistical"
    text = band.beside(calibration, 3)
    assert "statistical, not proved" in text
    assert text.index("proved: lower") < text.index("statistical: lower")
    data = json.loads(json.dumps(band.to_dict()))
    assert set(data) == {"statistical"}
    assert "not proved" in data["statistical"]["claim"]
    assert "statistical" not in json.dumps(calibration[0].to_dict())
    assert not hasattr(band, "guarantee")


def test_labels_tell_the_whole_confidence_and_data_are_strict_json():
    """99.9 % is not told as 100 %, and an unbounded end is null."""
    one = np.ones((1, 1))
    for confidence, words in ((0.9, "for 90% of"), (0.995, "for 99.5% of"), (0.9999, "for 99.99% of")):
        band = StatisticalBand(("q",), one, -np.inf * one, np.inf * one, confidence, 5000)
        assert words in band.claim
        data = json.loads(json.dumps(band.to_dict(), allow_nan=False))["statistical"]
        assert (data["lower"], data["center"], data["upper"]) == ([[None]], [[1.0]], [[None]])
    calibration, truth = setting(pp.Exact(), 25)
    with pytest.raises(pp.InputError, match="certificates: there are none"):
        calibrate(calibration, truth, confidence=0.9, difficulty=None).band([])


def test_too_few_loads_and_bad_options_are_refused():
    calibration, truth = setting(pp.Exact(), 25)
    for options, words in (
        ({}, "at least 20 calibration loads .half"),
        ({"difficulty": None, "confidence": 0.99}, "at least 100"),
        ({"at": "middle"}, "at: must be one of"),
        ({"difficulty": "much"}, "difficulty"),
        ({"difficulty": lambda c: np.zeros(2), "confidence": 0.9}, "difficulty: must be finite and > 0"),
        ({"confidence": 1.5}, "confidence"),
    ):
        with pytest.raises(pp.InputError, match=words):
            calibrate(calibration, truth, **options)
    with pytest.raises(pp.InputError, match="truth"):
        calibrate(calibration, truth[:3])
    with pytest.raises(pp.InputError, match="none"):
        calibrate([], truth)
    other = pp.Exact().prepare(pp.LinearSystem(np.eye(2), np.ones(2)), pp.Queries(np.eye(2), names=["a", "b"]))
    with pytest.raises(pp.InputError, match="must all be of the queries"):
        calibrate(calibration, truth, confidence=0.9, difficulty=None).band([other.certify([1.0, 1.0])])


@pytest.mark.parametrize("difficulty", ["features", "radius", None])
def test_too_few_loads_are_refused(difficulty):
    calibration, truth = setting(pp.Localized(radius=0.25), 3)
    for count in (1, 2, 3):
        with pytest.raises(pp.InputError, match="certificates: 95% needs at least 20 calibration loads"):
            calibrate(calibration[:count], truth[:count], difficulty=difficulty)
    with pytest.raises(pp.InputError, match="needs at least 2 calibration loads"):
        calibrate(calibration[:1], truth[:1], confidence=1e-18, difficulty=difficulty)


def test_certificates_of_another_method_are_refused_by_features():
    calibration, truth = setting(pp.Localized(radius=0.25), 60)
    overlay = calibrate(calibration, truth, confidence=0.9)
    others, _ = setting(pp.Exact(), 4)
    with pytest.raises(pp.InputError, match="which the bands were calibrated by; take the same method"):
        overlay.band(others)
    with pytest.raises(pp.InputError, match="difficulty: must give 2 numbers"):
        calibrate(calibration, truth, confidence=0.9, difficulty=lambda certificate: np.ones(3))


def test_bands_stand_beside_the_certificates_that_made_them_alone():
    calibration, truth = setting(pp.Localized(radius=0.25), 60)
    band = calibrate(calibration, truth, confidence=0.9).band(calibration[:20])
    assert "proved: lower" in band.beside(calibration[:20], 3)
    with pytest.raises(pp.InputError, match="certificates: must be the 20 of the bands; got 7"):
        band.beside(calibration[:7])
    with pytest.raises(pp.InputError, match="certificates: are of other loads"):
        band.beside(calibration[20:40])
    with pytest.raises(pp.InputError, match="load: must be below 20"):
        band.beside(calibration[:20], 20)


@pytest.mark.parametrize("difficulty", ["features", "radius", None])
def test_overlays_are_pickled(difficulty):
    import pickle

    calibration, truth = setting(pp.Localized(radius=0.25), 60)
    overlay = calibrate(calibration, truth, confidence=0.9, difficulty=difficulty)
    again = pickle.loads(pickle.dumps(overlay))
    np.testing.assert_array_equal(again.band(calibration).upper, overlay.band(calibration).upper)
