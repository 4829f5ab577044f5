"""Projected neural certification of a load family on the bracket."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint_paper import bracket_case, family_case
from pinnpoint_paper.bracket_given import GENERATED, NUMBER, Which
from pinnpoint_paper.family_case import KIND_OF, KINDS
from pinnpoint_paper.plots import BLUE, GOLD, GREEN, GREY, RED, canvas, label, legend, logs
from pinnpoint_paper.predictions import TRAINED
from pinnpoint_paper.study import Check, Drawing, Part, Results, Row, Study, tell

RANK = 3


def _best(work: Any) -> float:
    """Seconds of processor time, the best of three."""
    times = []
    for _ in range(3):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def _family(which: Which) -> dict[str, Any]:
    prepared, offline = family_case.certifier(which)
    test, truth = family_case.loads("test"), family_case.truth(which)
    predict, kind, told = family_case.network(which, RANK, 30 if which.quick else 1200)
    reduced = prepared.reduced(family_case.basis(which, RANK))
    states = reduced.states
    # what a deployed network gives: single precision all the way
    low = predict(test).astype(np.float32) @ states.values.T.astype(np.float32) + states.constant.astype(np.float32)
    raw = low.astype(np.float64)
    batch = reduced.certify_many(predict, test, raw=raw)
    error, scale = np.abs(raw - truth), np.abs(truth).max(axis=0)
    slack = 1e-12 * scale
    held = error <= batch.raw_radius + slack
    coarse = low.astype(np.float16).astype(np.float64)
    half = reduced.certify_many(predict, test, raw=coarse)
    off = np.abs(coarse - truth)
    each = _best(lambda: reduced.certify_many(predict, test, raw=raw)) / len(test)
    cg, steps = family_case.fresh_solve(which)
    rng = np.random.default_rng(0)
    some = rng.choice(error.size, min(900, error.size), replace=False)
    return {
        "about": bracket_case.make(which).about(),
        "kind": kind,
        "best_loss": told.get("best", 0.0),
        "evaluations": int(error.size),
        "coverage": float(held.mean()),
        "coverage_by_kind": [float(held[:, KIND_OF == k].mean()) for k in range(3)],
        "error": [float(np.median(error)), float(np.quantile(error, 0.95))],
        "radius": [float(np.median(batch.raw_radius)), float(np.quantile(batch.raw_radius, 0.95))],
        "mismatch": [[float(np.quantile(batch.mismatch[:, KIND_OF == k], q)) for q in (0.5, 0.95)] for k in range(3)],
        "mismatch_all": float(np.quantile(batch.mismatch, 0.95)),
        "half": {
            "coverage": float((off <= half.raw_radius + slack).mean()),
            "error": [float(np.median(off)), float(np.quantile(off, 0.95))],
            "radius": [float(np.median(half.raw_radius)), float(np.quantile(half.raw_radius, 0.95))],
            "mismatch": float(np.quantile(half.mismatch, 0.95)),
        },
        "center": float(np.abs(batch.center - truth).max()),
        "scale": float(scale.max()),
        "seconds_each": each,
        "cg": cg,
        "cg_steps": steps,
        "speedup": cg / each,
        "offline": offline,
        "some": [error.ravel()[some], np.asarray(batch.raw_radius).ravel()[some], np.tile(KIND_OF, len(test))[some]],
    }


def _parts(form: str, folder: Path | None = None, number: str = NUMBER) -> dict[str, Part]:
    which = Which(form, folder, number)
    return {"family": partial(_family, which)}


def _checks(results: Results) -> list[Check]:
    p = results["family"]
    return [
        Check(
            "intervals around the raw outputs hold the discrete target",
            p["coverage"] == 1.0 and p["half"]["coverage"] == 1.0,
            f"{p['evaluations']} query evaluations in single precision, and as many in half",
        ),
        Check(
            "the radius is little more than the error",
            p["radius"][0] <= 1.05 * p["error"][0] + 1e-15,
            f"median error {tell(p['error'][0])}, median radius {tell(p['radius'][0])} mm",
        ),
        Check(
            "the corrected centre is the target to the solver's accuracy",
            p["center"] <= 1e-9 * p["scale"],
            f"largest distance {tell(p['center'])} of {tell(p['scale'])} mm",
        ),
        Check("the mismatch of projection is not zero", p["mismatch_all"] > 0.0, f"q95 {tell(p['mismatch_all'])} mm"),
        Check("certifying a load is much cheaper than solving it", p["speedup"] > 20.0, f"{tell(p['speedup'])} times"),
    ]


def _rows(results: Results) -> list[Row]:
    p = results["family"]
    predictor = (
        "coefficient network, 3 × 128 GELU, rank 3, outputs in single precision"
        if p["kind"] == TRAINED
        else "no network (torch is not installed): the linear surrogate, one per cent off, in single precision"
    )
    return [
        Row("coverage", f"{p['coverage']:.4f} of {p['evaluations']}", "family-coverage", f"{p['about']}; {predictor}"),
        Row("median and q95 raw error (mm)", ", ".join(tell(v, 4) for v in p["error"]), "family-error", ""),
        Row(
            "median and q95 raw radius (mm)",
            ", ".join(tell(v, 4) for v in p["radius"]),
            "family-radius",
            "error and radius differ by the proved radius of the centre, which includes rounding",
        ),
        Row(
            "q95 mismatch (mm)",
            tell(p["mismatch_all"], 4),
            "family-mismatch",
            "our network's outputs differ from its projected state by single precision alone",
        ),
        Row(
            "outputs rounded to half precision: coverage, median error and radius, q95 mismatch (mm)",
            ", ".join(
                tell(v, 4)
                for v in (p["half"]["coverage"], p["half"]["error"][0], p["half"]["radius"][0], p["half"]["mismatch"])
            ),
            "family-mismatch",
            "what the projection does not see is counted in the radius",
        ),
        Row(
            "largest corrected-centre error (mm)", tell(p["center"]), "family-center", "limited by the reference solve"
        ),
        Row(
            "processor seconds a load, of a fresh CG solve, speed-up",
            f"{tell(p['seconds_each'])}, {tell(p['cg'])} ({p['cg_steps']} steps), {tell(p['speedup'])}",
            "family-speed",
            "certified from reduced coefficients in blocks, residual norms included; CG with Jacobi to 1e-10",
        ),
    ]


def _draw(results: Results) -> list[Drawing]:
    p = results["family"]
    figure, axes = canvas(2, 2, (9.0, 6.6))
    a, b, c, d = axes.ravel()
    error, radius, kind = (np.array(v) for v in p["some"])
    for k, (name, color) in enumerate(zip(KINDS, (BLUE, GREEN, GOLD), strict=True)):
        a.plot(np.maximum(error[kind == k], 1e-14), radius[kind == k], ".", color=color, label=name, ms=4)
    ends = np.array([max(error[error > 0].min(), 1e-14), radius.max()])
    a.plot(ends, ends, "--", color=GREY)
    logs(a, "raw error (mm)", "certified radius (mm)", "A: error and radius")
    legend(a)
    b.bar(KINDS, p["coverage_by_kind"], color=[BLUE, GREEN, GOLD], width=0.6)
    b.set_ylim(0.9, 1.005)
    label(b, "", "share of intervals that hold", "B: coverage")
    at = np.arange(3)
    for j, (text, color) in enumerate((("median", BLUE), ("95th percentile", RED))):
        c.bar(at + 0.36 * (j - 0.5), [m[j] for m in p["mismatch"]], 0.34, color=color, label=text)
    c.set_yscale("log")
    c.set_xticks(at, KINDS)
    label(c, "", "mismatch ζ (mm)", "C: raw output and projected state")
    legend(c, 5.0)
    bars = d.bar(["certify a load", "fresh CG solve"], [p["seconds_each"], p["cg"]], color=[GREEN, GREY], width=0.5)
    d.bar_label(bars, [f"{v:.2g} s" for v in (p["seconds_each"], p["cg"])], padding=2)
    d.set_yscale("log")
    d.set_ylim(top=10.0 * p["cg"])
    label(d, "", "processor seconds a load", f"D: {p['speedup']:.0f} times faster")
    return [
        Drawing(
            "family",
            figure,
            f"Projected neural certification of 256 test loads and 28 queries on {p['about']}. A: certified "
            "radius of the raw output against its error, a sample. B: coverage. C: representation mismatch. D: time.",
        )
    ]


STUDY = Study(
    "bracket-family",
    "Projected neural certification of a load family",
    "All combinations of four loads on a bracket. A network maps the four coefficients to a state; its raw outputs are "
    "certified after projection, against the compatible discrete target, for 256 test loads and 28 queries. "
    f"{GENERATED}",
    "sec. exp-simjeb-projected-neural, tab. simjeb-projected-neural",
    _parts,
    _checks,
    _rows,
    _draw,
    claims=("raw-output",),
)
