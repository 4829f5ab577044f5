"""The large-scale study: a bracket at the paper's size, four patch queries, and everything the paper shows on it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from pinnpoint.reproduce.bracket_case import PATCHES
from pinnpoint.reproduce.bracket_parts import ITERATIONS, inexact, localization, randomized, state
from pinnpoint.reproduce.plots import BLUE, GOLD, GREEN, GREY, PURPLE, RED, canvas, label, legend, logs, ticks
from pinnpoint.reproduce.study import Check, Drawing, Part, Results, Row, Study, ranged, tell

COLORS = (RED, GREEN, GOLD, BLUE)
OURS = "generated at SimJEB's material, supports and loads; another shape, so that sizes differ"


def _parts(form: str) -> dict[str, Part]:
    return {
        "state": partial(state, form),
        "localization": partial(localization, form),
        "inexact": partial(inexact, form),
        "randomized": partial(randomized, form),
    }


def _checks(results: Results) -> list[Check]:
    s, sweep, stopped, probed = (results[k] for k in ("state", "localization", "inexact", "randomized"))
    error, norm = np.abs(np.array(s["error"])), np.array(s["norm"])
    scale = float(np.max(np.abs(s["target"])))
    ratio, half = norm / error, np.array(s["half_mass"])
    mixed, local, tail, actual = (np.array(sweep[k]) for k in ("mixed", "local", "tail", "error"))
    shift, allowance = np.array(stopped["shift"]), np.array(stopped["allowance"])
    median = [row["median"] for row in probed["rows"]]
    return [
        Check(
            "the signed correction is the actual error at all four patches",
            max(s["gap"]) <= 1e-9 * scale and s["guarantee"] == "deterministic",
            f"largest distance {tell(max(s['gap']))} mm, reference residual {tell(s['reference_residual'])}",
        ),
        Check("norm widths are conservative, differently by query", np.all(ratio > 1.0), f"{ranged(ratio)} times"),
        Check(
            "Green functions concentrate differently by query",
            float(half.max() / half.min()) > 1.5,
            "half of ‖g‖² within " + ", ".join(f"{v:.0f}" for v in half) + " mm",
        ),
        Check(
            "the comparison identity of a released field holds",
            max(s["released_gap"]) <= 1e-11 * max(1.0, scale),
            f"largest gap {tell(max(s['released_gap']))} mm, worst bias "
            f"{tell(float(np.max(np.abs(s['released_bias']))))} mm",
        ),
        Check(
            "the norm bound of that comparison is valid and wider",
            np.all(np.array(s["released_norm"]) >= np.abs(np.array(s["released_bias"]))),
            f"{ranged(s['released_norm'])} mm",
        ),
        Check(
            "local plus tail bounds the error at every radius; each alone does not",
            np.all(mixed >= actual * (1 - 1e-9))
            and np.all(np.any(local < actual * (1 - 1e-6), axis=0))
            and np.all(np.any(tail < actual, axis=0)),
            f"{mixed.size} bounds",
        ),
        Check(
            "early-stopped corrections: the allowance stays above the shift, both fall",
            np.all(shift <= allowance + np.array(stopped["slack"])) and allowance[-1].max() < allowance[0].max(),
            f"allowance {ranged(allowance.max(axis=1))} mm, shift {ranged(shift.max(axis=1))} mm",
        ),
        Check(
            "probed sensitivities: coverage not below nominal beyond chance, falling inflation",
            all(row["covered"] >= 0.8 * probed["trials"] for row in probed["rows"])
            and bool(np.all(np.diff(median) < 0.0)),
            f"{ranged([row['covered'] / probed['trials'] for row in probed['rows']])} of {probed['trials']} trials, "
            f"median inflation {ranged(median)}",
        ),
    ]


def _rows(results: Results) -> list[Row]:
    s, stopped, probed = (results[k] for k in ("state", "inexact", "randomized"))
    error = np.abs(np.array(s["error"]))

    def each(values: Any) -> str:
        return ", ".join(f"{name}: {tell(x)}" for name, x in zip(PATCHES, values, strict=True))

    return [
        Row("which bracket", s["about"], "bracket-size", OURS),
        Row("actual error of the state (mm)", each(error), "bracket-signed", f"{ITERATIONS} CG steps from zero"),
        Row(
            "signed correction against it",
            f"at most {tell(max(s['gap']))} mm",
            "bracket-signed",
            "the reference is an independent solve; the certificate's own radius is "
            f"{tell(max(s['radius']))} mm, rounding included",
        ),
        Row("norm-only width over the error", each(np.array(s["norm"]) / error), "bracket-norm", ""),
        Row(
            "released field: identity gap",
            f"{tell(max(s['released_gap']))} mm",
            "released-gap",
            "the released field is our own solution rounded to seven digits, as SimJEB's files are",
        ),
        Row("released field: worst bias", f"{tell(float(np.max(np.abs(s['released_bias']))))} mm", "released-bias", ""),
        Row("released field: norm bounds (mm)", each(s["released_norm"]), "released-norm", ""),
        Row(
            "early stopping: worst allowance",
            f"{ranged(np.max(stopped['allowance'], axis=1))} mm over "
            f"{stopped['steps'][0]} to {stopped['steps'][-1]} steps",
            "bracket-inexact",
            "Jacobi-preconditioned",
        ),
        Row(
            "probing: median inflation with 4, 8, 16 probes",
            ", ".join(tell(r["median"]) for r in probed["rows"]),
            "random-inflation",
            f"{probed['trials']} trials, 4 queries",
        ),
        Row(
            "time to prepare, and to certify a state",
            f"{tell(s['offline'])} s, {tell(s['online'])} s",
            "",
            "mesh, assembly, four Green vectors and a proof of coercivity; then one residual and four products",
        ),
    ]


def _seen(ax: Any, s: Any, values: Any, title: str, text: str = "", log: bool = False) -> Any:
    """Visible surface nodes."""
    X, v = np.array(s["places"]), np.array(values)
    v = np.log10(np.maximum(v, 1e-3 * v.max())) if log else v
    size = float(np.clip(25000.0 / X.shape[1], 8.0, 30.0))
    shown = ax.scatter(*X, c=v, s=size, cmap="viridis", linewidths=0)
    shown.set_rasterized(True)
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_title(title, loc="left")
    if text:
        ax.figure.colorbar(shown, ax=ax, label=text, shrink=0.7)
    return shown


def _draw(results: Results) -> list[Drawing]:
    s = results["state"]
    which = s["about"]
    return [
        Drawing(
            "green",
            _greens(s),
            f"Queries and Green functions on {which}. Left: bolts and pin hole. Then normalized sizes "
            "of the Green vectors of the four patch averages of u_z.",
        ),
        Drawing(
            "decomposition",
            _decomposition(s),
            f"Left: the actual error after {ITERATIONS} CG steps, the signed "
            "correction, and the norm-only width at four patches. Right: the same for a released field. Vertical load, "
            f"{which}.",
        ),
        Drawing(
            "fields",
            _fields(s),
            f"Displacement after {ITERATIONS} CG steps, corrected (the discrete target), and their "
            f"difference; {which}.",
        ),
        Drawing(
            "densities",
            _densities(s),
            "Where the certificate's terms come from, query by query: |g·r| of the signed "
            f"correction, and |g||r| of the norm-only width (decimal logarithms); {which}.",
        ),
        Drawing("localization", _sweeps(results["localization"]), f"Radius sweeps at the four patches; {which}."),
        Drawing(
            "solvers",
            _solvers(results),
            f"Left and middle: early-stopped corrections, shift and certified allowance. "
            f"Right: probed sensitivities of one trial with 16 probes; {which}.",
        ),
    ]


def _greens(s: Any) -> Any:
    figure, axes = canvas(2, 3, (11.0, 5.6))
    _seen(axes[0, 0], s, s["kind"], "0 surface, 1 bolts, 2 pin", "group")
    for ax, values, name in zip((axes[0, 1], axes[0, 2], axes[1, 0], axes[1, 1]), s["green"], PATCHES, strict=True):
        _seen(ax, s, values, name, "log₁₀ |g| / max", log=True)
    axes[1, 2].bar(range(4), s["half_mass"], color=COLORS)
    axes[1, 2].set_xticks(range(4), [n.replace(" ", "\n") for n in PATCHES])
    label(axes[1, 2], "", "radius with half of ‖g‖² (mm)", "concentration")
    return figure


def _decomposition(s: Any) -> Any:
    figure, ((left, right),) = canvas(1, 2, (9.4, 3.8))
    for ax, names, title in (
        (left, ("error", "signed", "norm"), "early-stopped state"),
        (right, ("released_bias", "released_signed", "released_norm"), "released field"),
    ):
        for k, (name, color, text) in enumerate(
            zip(names, (RED, BLUE, GOLD), ("actual", "signed term", "norm width"), strict=True)
        ):
            ax.bar(np.arange(4) + 0.27 * (k - 1), np.maximum(np.abs(s[name]), 1e-18), 0.25, color=color, label=text)
        ax.set_yscale("log")
        ax.set_xticks(range(4), [n.replace(" ", "\n") for n in PATCHES])
        label(ax, "", "patch average of u_z (mm)", title)
        legend(ax, 30.0, ncols=3)
    return figure


def _fields(s: Any) -> Any:
    figure, (axes,) = canvas(1, 3, (11.0, 3.2))
    for ax, values, title in zip(
        axes, s["fields"], (f"after {ITERATIONS} CG steps", "corrected", "difference"), strict=True
    ):
        _seen(ax, s, values, title, "|u| (mm)")
    return figure


def _densities(s: Any) -> Any:
    figure, axes = canvas(2, 4, (12.0, 5.0))
    for i, name in enumerate(PATCHES):
        _seen(axes[0, i], s, np.array(s["density"][i]) + 1e-300, f"{name}: |g·r|", "log₁₀ (mm)", log=True)
        _seen(axes[1, i], s, np.array(s["norm_density"][i]) + 1e-300, "|g||r|", "log₁₀ (mm)", log=True)
    return figure


def _sweeps(p: Any) -> Any:
    figure, axes = canvas(2, 2, (9.0, 6.4))
    for i, (ax, name) in enumerate(zip(axes.ravel(), PATCHES, strict=True)):
        for key, style, color, text in (
            ("pure_norm", "-.", PURPLE, "norms only"),
            ("mixed", "-", GREEN, "local + tail, certified"),
            ("local", "--", BLUE, "local only"),
            ("tail", ":", GOLD, "tail only"),
        ):
            ax.plot(p["radii"], np.maximum(np.array(p[key])[:, i], 1e-15), style, color=color, label=text)
        ax.axhline(p["error"][i], color=GREY, lw=1.0, label="actual error")
        ax.set_yscale("log")
        ax.set_ylim(1e-3 * p["error"][i], 3.0 * float(np.array(p["pure_norm"])[:, i].max()))
        label(ax, "radius (mm)", "u_z average (mm)", name)
    legend(axes[0, 0], loc="lower center")
    return figure


def _solvers(results: Results) -> Any:
    stopped, probed = results["inexact"], results["randomized"]
    figure, ((a, b, c),) = canvas(1, 3, (11.0, 3.6))
    for ax, key, title in ((a, "shift", "actual shift of the centre"), (b, "allowance", "certified allowance")):
        for i, name in enumerate(PATCHES):
            ax.plot(
                stopped["steps"], np.maximum(np.array(stopped[key])[:, i], 1e-18), "o-", color=COLORS[i], label=name
            )
        logs(ax, "CG steps of the correction", "u_z average (mm)", title)
        ticks(ax, stopped["steps"])
    legend(a)
    c.plot(probed["rows"][-1]["one"], "o", color=BLUE, label="randomized upper bound, 16 probes")
    c.plot(probed["exact"], "x", color=RED, label="exact")
    c.set_yscale("log")
    c.set_xticks(range(4), [n.replace(" ", "\n") for n in PATCHES])
    label(c, "", "sensitivity σ (mm/N)", "one trial")
    legend(c, 6.0)
    return figure


STUDY = Study(
    "bracket",
    "Large-scale validation on a bracket",
    "Three-dimensional elasticity on a jet-engine-type bracket in titanium, bolt holes clamped, SimJEB's vertical "
    "load at "
    "the pin. The state is twelve steps of conjugate gradients from zero; the queries are averages of u_z over four "
    "surface patches. The bracket is generated: it is not SimJEB's number 148, which may not be shipped.",
    "sec. exp-simjeb; app. exp-simjeb-extra, exp-inexact, exp-randomized",
    _parts,
    _checks,
    _rows,
    _draw,
    claims=("large-scale", "tail", "randomized"),
)
