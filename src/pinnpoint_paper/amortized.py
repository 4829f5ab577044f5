"""Amortized load families: linear reduced surrogates and coefficient networks by output rank."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint_paper import bracket_case, family_case
from pinnpoint_paper.bracket_given import GENERATED, NUMBER, Which
from pinnpoint_paper.plots import BLUE, GOLD, GREEN, GREY, PURPLE, RED, canvas, label, legend, ticks, whole
from pinnpoint_paper.predictions import TRAINED
from pinnpoint_paper.study import Check, Drawing, Part, Results, Row, Study, having, ranged, tell

PATCHES = slice(0, 4)


def _numbers(which: Which, rank: int, predict: Any) -> dict[str, Any]:
    prepared, _ = family_case.certifier(which)
    test, truth = family_case.loads("test"), family_case.truth(which)
    batch = prepared.reduced(family_case.basis(which, rank)).certify_many(predict, test)
    sigma = np.asarray(prepared.certifier.green.sigma)
    error = np.abs(batch.value - truth)[:, PATCHES].max(axis=1)
    signed = np.abs(batch.correction)[:, PATCHES].max(axis=1)
    norm = (np.outer(batch.residual_norm, sigma))[:, PATCHES].max(axis=1)
    inside = np.abs(batch.center - truth) <= batch.radius + 1e-11 * np.abs(truth).max(axis=0)
    return {
        "about": bracket_case.make(which).about(),
        "rank": rank,
        "error": float(np.quantile(error, 0.95)),
        "signed": float(np.quantile(signed, 0.95)),
        "norm": float(np.quantile(norm, 0.95)),
        "residual": float(np.mean(np.asarray(batch.residual_norm) ** 2)),
        "held": float(inside.mean()),
    }


def _linear(which: Which, rank: int) -> dict[str, Any]:
    return _numbers(which, rank, partial(family_case.galerkin, which, rank))


def _neural(which: Which, rank: int, epochs: int) -> dict[str, Any]:
    predict, kind, told = family_case.network(which, rank, epochs)
    return {"kind": kind, "history": told, **_numbers(which, rank, predict)}


def _parts(form: str, folder: Path | None = None, number: str = NUMBER) -> dict[str, Part]:
    which = Which(form, folder, number)
    found: dict[str, Part] = {f"linear, rank {r}": partial(_linear, which, r) for r in (1, 2, 3)}
    epochs = 40 if which.quick else 1200
    return found | {f"network, rank {r}": partial(_neural, which, r, epochs) for r in (2, 3, 4)}


def _by_rank(parts: list[Any], name: str) -> Any:
    return np.array([p[name] for p in parts])


def _checks(results: Results) -> list[Check]:
    linear, neural = having(results, "linear"), having(results, "network")
    each = linear + neural
    error, signed, norm = (_by_rank(each, k) for k in ("error", "signed", "norm"))
    close = np.abs(signed - error) <= 1e-6 * error.max()
    drop, energy = _by_rank(linear, "signed"), _by_rank(linear, "residual")
    two, three = (next(p for p in neural if p["rank"] == r) for r in (2, 3))
    return [
        Check(
            "more ranks, smaller certified quantities and residuals",
            np.all(np.diff(drop) < 0) and np.all(np.diff(energy) < 0),
            f"q95 correction {', '.join(tell(v) for v in drop)} mm for ranks 1, 2, 3",
        ),
        Check(
            "the signed correction is the actual error",
            np.all(close),
            f"largest distance {tell(float(np.abs(signed - error).max()))} mm",
        ),
        Check(
            "norm-only widths are wider",
            np.all(norm >= signed),
            f"{ranged(norm[signed > 1e-12] / signed[signed > 1e-12])} times",
        ),
        Check(
            "networks: rank three is far better than rank two",
            three["signed"] < 0.5 * two["signed"] and three["residual"] < 0.5 * two["residual"],
            f"q95 correction {tell(two['signed'])} and {tell(three['signed'])} mm",
        ),
        Check(
            "every interval holds the target",
            all(p["held"] == 1.0 for p in each),
            f"{len(each)} models, 7168 values each",
        ),
    ]


def _rows(results: Results) -> list[Row]:
    linear, neural = having(results, "linear"), having(results, "network")
    how = (
        "networks, 3 × 128 GELU, AdamW"
        if neural[0]["kind"] == TRAINED
        else "no networks (torch is not installed): linear, one per cent off"
    )
    return [
        Row(
            "linear surrogate, q95 of the largest correction by rank 1, 2, 3 (mm)",
            ", ".join(tell(p["signed"]) for p in linear),
            "amortized-rank",
            f"{linear[0]['about']}; the four loads span three directions, so that rank 3 is exact",
        ),
        Row(
            "linear surrogate, q95 norm-only width (mm)",
            ", ".join(tell(p["norm"]) for p in linear),
            "amortized-rank",
            "",
        ),
        Row(
            "network, q95 of the largest correction by rank 2, 3, 4 (mm)",
            ", ".join(tell(p["signed"]) for p in neural),
            "amortized-network",
            how,
        ),
        Row(
            "network, mean residual energy by rank (N²)",
            ", ".join(tell(p["residual"]) for p in neural),
            "amortized-network",
            "the fourth basis vector is gravity's, which no load excites",
        ),
    ]


def _draw(results: Results) -> list[Drawing]:
    linear, neural = having(results, "linear"), having(results, "network")
    figure, axes = canvas(2, 2, (9.0, 6.4))
    for ax, parts, title in ((axes[0, 0], linear, "linear surrogate"), (axes[0, 1], neural, "networks")):
        rank = [p["rank"] for p in parts]
        for name, style, color, text in (
            ("norm", "D-", GOLD, "norm-only width"),
            ("signed", "o-", BLUE, "signed correction"),
            ("error", "x", RED, "actual error"),
        ):
            ax.plot(
                rank,
                np.maximum(_by_rank(parts, name), 1e-16),
                style,
                color=color,
                label=text,
                ms=7 if style == "x" else 4.5,
            )
        ax.set_yscale("log")
        label(ax, "output rank", "q95 of the largest over patches (mm)", title)
        ticks(ax, rank)
        legend(ax)
    ax = axes[1, 0]
    for parts, color, text in ((linear, GREEN, "linear surrogate"), (neural, PURPLE, "networks")):
        ax.plot(
            [p["rank"] for p in parts], np.maximum(_by_rank(parts, "residual"), 1e-18), "o-", color=color, label=text
        )
    ax.set_yscale("log")
    label(ax, "output rank", "mean ‖r‖² (N²)", "residual energy")
    ticks(ax, (1, 2, 3, 4))
    legend(ax)
    ax = axes[1, 1]
    told = neural[1]["history"]
    if told:
        at = np.arange(len(told["loss"])) * told["step"]
        ax.plot(at, told["loss"], color=BLUE, label="training")
        ax.plot(at, told["validation"], color=RED, label="validation")
        ax.set_yscale("log")
        legend(ax)
    else:
        ax.text(0.5, 0.5, "no training: torch is not installed", ha="center", color=GREY, transform=ax.transAxes)
    whole(ax)
    label(ax, "epoch", "normalised residual loss", "training, rank 3")
    return [
        Drawing(
            "amortized",
            figure,
            f"Amortized load families on {linear[0]['about']}: 95th percentiles over 256 test loads by output "
            "rank, residual energies, and the losses of the rank-3 network.",
        )
    ]


STUDY = Study(
    "amortized",
    "Amortized load families by rank",
    "States of the load family from few coefficients: the linear reduced surrogate, and networks trained on the "
    "compatible residual, 512 training, 128 validation and 256 test loads. Each state is certified with its signed "
    f"correction and its norm-only width. {GENERATED}",
    "app. exp-amortized, figs. simjeb-amortized-family, simjeb-amortized-nn",
    _parts,
    _checks,
    _rows,
    _draw,
)
