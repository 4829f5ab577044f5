"""Bundles of boxes in time: honest ones verify, and what is changed in them is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.models import Lift
from pinnpoint.models.networks.mlp import MLP
from pinnpoint_verify import Refused, box_claims, boxes, verify
from tests.soundness.test_boxes import of_task, truth_of
from tests.support.copies import copied
from tests.support.forged import sealed

MIXED = {"boundary": [("neumann", "dirichlet")], "dirichlet": {"x+": "1 + t"}, "neumann": {"x-": "sin(t)"}}
BOXES = {
    "heat": (([0, 1],), {"end": 0.05, "initial": "sin(pi*x)"}, "exp(-pi**2*t)*sin(pi*x)*(1 + 0.1*t)", [[0.4]]),
    "drift": (
        ([0, 1],),
        {"end": 0.3, "convection": [3.0], "reaction": 2.0, "source": "exp(-t)*cos(x)", "initial": "x"}
        | {"dirichlet": {"x+": "1 + t"}},
        "x*(1+t) + t*x*(1-x)",
        [[0.4], [0.9]],
    ),
    "mixed": (
        ([0, 2],),
        {"end": 0.3, "diffusion": 0.3, "source": "tanh(x)", "initial": "x**2/2"} | MIXED,
        "x*(1+t)",
        [[1.9]],
    ),
    "let through": (  # slopes at faces of what bends across them, with another diffusion along each axis
        ([0, 1], [0, 2]),
        {"end": 0.1, "diffusion": [1.0, 3.0], "initial": "cos(y)*sin(pi*x)", "boundary": ["dirichlet", "neumann"]},
        "exp(-(pi**2 + 3)*t)*sin(pi*x)*cos(y)*(1 + 0.1*t)",
        [[0.4, 0.8]],
    ),
    "square": (
        ([0, 1], [0, 1]),
        {"end": 0.02, "initial": "sin(pi*x)*sin(pi*y)"},
        "exp(-2*pi**2*t)*sin(pi*x)*sin(pi*y)*(1 + 0.5*t)",
        [[0.4, 0.55]],
    ),
}


def made(folder, name, prediction=None):
    sides, given, guess, X = BOXES[name]
    box = pp.Box(*sides, **given)
    u = guess if prediction is None else prediction
    asked = box.points(X)
    found = pp.certify(box, u, asked, accept=1e-2, budget=2000)
    pp.write_bundle(folder, found, box, u, asked)
    return found


def written(tmp_path, name="heat", prediction=None):
    folder = tmp_path / "bundle"
    return copied(folder, made, name, prediction), folder


def network(seed=0):
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=s) for s in ((6, 2), (6, 6), (1, 6))]
    return Lift(
        MLP(weights, [rng.normal(size=len(W)) for W in weights]), "t*x*(1-x)", "sin(pi*x)", variables=("x", "t")
    )


def changed(folder, file, change):
    """The bundle with one file changed, and the manifest made right."""
    path = folder / file
    if file.endswith(".npy"):
        a = np.load(path)
        np.save(path, change(a))
    else:
        data = json.loads(path.read_text())
        change(data)
        path.write_text(json.dumps(data))
        if file == "case.json":  # its problem stands in the certificate too
            told = json.loads((folder / "certificate.json").read_text())
            (folder / "certificate.json").write_text(json.dumps(told | {"problem": data["problem"]}))
    sealed(folder)


@pytest.mark.parametrize("name", BOXES)
def test_honest_bundles_verify(name, tmp_path):
    found, folder = written(tmp_path, name)
    lines = verify(folder)
    assert sum("proved" in line for line in lines) == len(found.center)
    assert any(line.startswith("declared: the case and the prediction") for line in lines)


@pytest.mark.parametrize("activation", ["tanh", "sin", "silu"])
def test_networks_verify_by_their_weights(activation, tmp_path):
    made = network()
    u = Lift(
        MLP(made.prediction.weights, made.prediction.biases, activation), "t*x*(1-x)", "sin(pi*x)", variables=("x", "t")
    )
    _, folder = written(tmp_path, "heat", u)
    verify(folder)
    changed(folder, "lift/w1.npy", lambda a: a + 1e-3 * (a == a[0, 0]))
    with pytest.raises(Refused, match=r"prediction's own|is proved"):
        verify(folder)


def test_the_shipped_network_in_the_plane_verifies_from_a_small_budget(tmp_path):
    task, box, lift = of_task("heat_2d")
    asked = box.points([[0.4, 0.55]])
    found = pp.certify(box, lift, asked, budget=60)
    folder = pp.write_bundle(tmp_path / "bundle", found, box, lift, asked)
    assert any("proved" in line for line in verify(folder))
    assert found.contains(truth_of(task, np.array([[0.4, 0.55]]), task.end)).all()


PHYSICS = {
    "sides": [[0.0, 1.001]],
    "ends": [["neumann", "dirichlet"]],
    "diffusion": [1.001],
    "convection": [0.01],
    "reaction": 1e-3,
    "source": "1e-4",
    "initial": "sin(pi*x) + 1e-4*x",
    "faces": {"x-": 0.0, "x+": "1e-3*t"},
}


@pytest.mark.parametrize("key", PHYSICS)
def test_other_physics_is_refused(key, tmp_path):
    _, folder = written(tmp_path)
    changed(folder, "case.json", lambda data: data["problem"].update({key: PHYSICS[key]}))
    with pytest.raises(Refused, match="is proved"):
        verify(folder)


def shifted(row, by):
    for key in ("center", "lower", "upper"):
        row[key] += by
    row["lower"], row["upper"] = (
        np.nextafter(row["center"] - row["radius"], -9),
        np.nextafter(row["center"] + row["radius"], 9),
    )
    row["value_radius"] = row["raw_radius"] = abs(row["value"] - row["center"]) + row["radius"]


@pytest.mark.parametrize("by", [0.5, -0.9, 3.0])
def test_a_moved_interval_is_refused_unless_it_stays_true(by, tmp_path):
    """Moved by shares of its radius: refused where the truth is no longer inside by the checker's own enclosure."""
    found, folder = written(tmp_path)
    truth = np.sin(0.4 * np.pi) * np.exp(-(np.pi**2) * 0.05)
    move = by * found.radius[0]
    changed(folder, "certificate.json", lambda data: shifted(data["queries"][0], move))
    if abs(found.center[0] + move - truth) < 0.95 * found.radius[0]:
        verify(folder)
        return
    with pytest.raises(Refused, match="is proved"):
        verify(folder)


@pytest.mark.parametrize(
    "key", ["value", "center", "radius", "lower", "upper", "at", "time", "guarantee", "confidence", "accept"]
)
def test_every_number_of_a_row_is_bound(key, tmp_path):
    _, folder = written(tmp_path)

    def change(data):
        row = data["queries"][0]
        row[key] = [0.41] if key == "at" else "estimate" if key == "guarantee" else row[key] * 0.999

    changed(folder, "certificate.json", change)
    with pytest.raises(Refused):
        verify(folder)


@pytest.mark.parametrize(
    ("given", "guess", "said"),
    [
        ({"boundary": "periodic"}, "sin(2*pi*x)", "periodic"),
        ({"nonlinear": "u**3"}, "0*x", "linear"),
        ({}, "abs(x-0.5)**3", "smooth functions"),
    ],
)
def test_what_the_checker_does_not_know_is_not_written(given, guess, said, tmp_path):
    box = pp.Box([0, 1], end=0.05, **given)
    asked = box.points([[0.4]])
    found = pp.certify(box, "0*x", asked, budget=100)
    with pytest.raises(pp.InputError, match=said):
        pp.write_bundle(tmp_path / "bundle", found, box, guess, asked)


def test_a_thin_bump_is_refused_by_a_budget_of_work(tmp_path, monkeypatch):
    """A source that no small number of boxes resolves: the bound reached counts, and is not enough."""
    _, folder = written(tmp_path)
    made, split = [], boxes.Part.split
    monkeypatch.setattr(boxes.Part, "split", lambda part, rows: (made.append(len(rows)), split(part, rows)))
    monkeypatch.setattr(box_claims, "WORK", 30_000)
    changed(folder, "case.json", lambda data: data["problem"].update(source="1e5*exp(-(1e6*(x-0.4567891))**2)"))
    with pytest.raises(Refused, match="budget"):
        verify(folder)
    assert 100 < sum(made) < 500
