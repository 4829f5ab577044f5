"""Figures of the study `bracket`."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnpoint_paper.bracket_case import seen
from pinnpoint_paper.bracket_given import PATCHES
from pinnpoint_paper.bracket_parts import ITERATIONS
from pinnpoint_paper.plots import BLUE, GOLD, GREEN, GREY, PURPLE, RED, canvas, label, legend, logs, ticks
from pinnpoint_paper.study import Drawing, Results

COLORS = (RED, GREEN, GOLD, BLUE)


def tail_radius(sweep: Any) -> Any:
    """The first radius of each query whose tail is below a tenth of the width by norms alone."""
    tail, width = np.array(sweep["tail"]), np.array(sweep["pure_norm"])[-1]
    return np.array(sweep["radii"])[np.argmax(tail <= 0.1 * width, axis=0)]


def _seen(
    ax: Any, s: Any, values: Any, title: str, text: str = "", *, log: bool = False, top: float | None = None
) -> Any:
    """Visible surface nodes; in logarithms three decades below the largest value or `top`, and zeros in grey."""
    X, v = np.array(s["places"]), np.array(values)
    size = float(np.clip(25000.0 / X.shape[1], 8.0, 30.0))
    limits: dict[str, float] = {}
    if log:
        most = float(v.max()) if top is None else top
        limits = {"vmin": np.log10(1e-3 * most), "vmax": np.log10(most)}
        ax.scatter(*X[:, v <= 0.0], c="#d9dde3", s=size, linewidths=0).set_rasterized(True)
        X, v = X[:, v > 0.0], np.log10(v[v > 0.0])
    shown = ax.scatter(*X, c=v, s=size, cmap="viridis", linewidths=0, **limits)
    shown.set_rasterized(True)
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_title(title, loc="left")
    if text:
        ax.figure.colorbar(shown, ax=ax, label=text, shrink=0.7)
    return shown


def draw(results: Results) -> list[Drawing]:
    """All figures of the study."""
    s = results["state"]
    which = s["about"]
    return [
        Drawing(
            "green",
            _greens(s),
            f"Queries and Green functions on {which}. First: bolts, pin hole and the middles of the four query "
            "patches. Then normalized sizes of the Green vectors of the patch averages of u_z, and how concentrated "
            "they are.",
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
            _densities(s, tail_radius(results["localization"])),
            "Where the certificate's terms come from, query by query: |g·r| of the signed correction; |g||r| within "
            "the query's radius; the same outside, the tail; |g||r| unsplit. Grey: nothing of the term. The radius is "
            f"the first with a tail below a tenth of the norm width; {which}.",
        ),
        Drawing("localization", _sweeps(results["localization"]), f"Radius sweeps at the four patches; {which}."),
        Drawing(
            "inexact",
            _stopped(results["inexact"]),
            f"Early-stopped corrections at the four patches and the largest over them: the actual shift of the centre, "
            f"and the certified allowance; {which}.",
        ),
        Drawing(
            "randomized",
            _probed(results["randomized"]),
            "Probed sensitivities: all-query coverage over trials, inflation over the exact sensitivities, time of a "
            f"preparation, and one trial with {results['randomized']['rows'][-1]['probes']} probes; {which}.",
        ),
    ]


def _greens(s: Any) -> Any:
    figure, axes = canvas(2, 3, (11.0, 5.6))
    _part(axes[0, 0], s)
    for ax, values, name in zip((axes[0, 1], axes[0, 2], axes[1, 0], axes[1, 1]), s["green"], PATCHES, strict=True):
        _seen(ax, s, values, name, "log₁₀ |g| / max", log=True)
    axes[1, 2].bar(range(4), s["half_mass"], color=COLORS)
    axes[1, 2].set_xticks(range(4), [n.replace(" ", "\n") for n in PATCHES])
    label(axes[1, 2], "", "radius with half of ‖g‖² (mm)", "concentration")
    return figure


def _part(ax: Any, s: Any) -> None:
    """Bolts, pin and the middles of the query patches."""
    X, kind = np.array(s["places"]), np.array(s["kind"])
    size = float(np.clip(25000.0 / X.shape[1], 8.0, 30.0))
    for k, color, text in ((0, "#c9ced6", "free surface"), (1, PURPLE, "bolts, held"), (2, "#1c2430", "pin, loaded")):
        ax.scatter(*X[:, kind == k], color=color, s=size, linewidths=0, label=text).set_rasterized(True)
    for at, color, name in zip(seen(np.array(s["middles"])), COLORS, PATCHES, strict=True):
        ax.plot(*at, "*", color=color, ms=13, mec="white", mew=0.8, label=name)
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_title("part and queries", loc="left")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=3, fontsize=7.0, columnspacing=0.8)


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


def _densities(s: Any, radius: Any) -> Any:
    figure, axes = canvas(4, 4, (12.0, 8.4))
    for i, name in enumerate(PATCHES):
        norm, inside = np.array(s["norm_density"][i]), np.array(s["distance"][i]) <= radius[i]
        terms = (
            (np.array(s["density"][i]), f"{name}: |g·r|"),
            (np.where(inside, norm, 0.0), f"|g||r| within {radius[i]:.0f} mm"),
            (np.where(inside, 0.0, norm), "|g||r| outside"),
            (norm, "|g||r|"),
        )
        for k, (ax, (values, title)) in enumerate(zip(axes[i], terms, strict=True)):
            scale = "log₁₀ (mm)" if k in (0, 3) else ""  # one scale for the three by norms
            _seen(ax, s, values, title, scale, log=True, top=norm.max() if k else None)
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
    legend(axes[0, 0], loc="lower right")
    return figure


def _stopped(p: Any) -> Any:
    figure, ((a, b),) = canvas(1, 2, (9.4, 3.8))
    for ax, key, title in ((a, "shift", "actual shift of the centre"), (b, "allowance", "certified allowance")):
        values = np.maximum(np.array(p[key]), 1e-18)
        for i, name in enumerate(PATCHES):
            ax.plot(p["steps"], values[:, i], "o-", color=COLORS[i], label=name)
        ax.plot(p["steps"], values.max(axis=1), ":", color=GREY, lw=2.4, label="largest")
        logs(ax, "CG steps of the correction", "u_z average (mm)", title)
        ticks(ax, p["steps"])
    legend(a)
    return figure


def _probed(p: Any) -> Any:
    figure, axes = canvas(2, 2, (9.4, 6.2))
    a, b, c, d = axes.ravel()
    probes = [row["probes"] for row in p["rows"]]
    a.plot(probes, [row["covered"] / p["trials"] for row in p["rows"]], "o-", color=BLUE, label="all four queries")
    a.axhline(0.95, color=GREY, lw=1.0, ls="--", label="nominal, 95 %")
    a.set_ylim(0.0, 1.1)
    label(a, "probes", f"share of {p['trials']} trials", "coverage")
    b.plot(probes, [row["median"] for row in p["rows"]], "o-", color=BLUE, label="median")
    b.plot(probes, [row["q95"] for row in p["rows"]], "s-", color=RED, label="95th percentile")
    b.axhline(1.0, color=GREY, lw=1.0, ls="--", label="exact")
    b.set_ylim(bottom=0.0)
    label(b, "probes", "bound over exact σ", "inflation")
    c.plot(probes, [row["best_seconds"] for row in p["rows"]], "o-", color=GREEN, label="fastest trial")
    c.set_ylim(bottom=0.0)
    label(c, "probes", "processor seconds", "probe solves with proved defects")
    for ax in (a, b, c):
        ax.set_xscale("log")
        ticks(ax, probes)
        legend(ax, loc="best")
    d.plot(p["rows"][-1]["one"], "o", color=BLUE, label=f"randomized upper bound, {probes[-1]} probes")
    d.plot(p["exact"], "x", color=RED, label="exact", ms=7)
    d.set_yscale("log")
    d.set_xticks(range(4), [n.replace(" ", "\n") for n in PATCHES])
    label(d, "", "sensitivity σ (mm/N)", "one trial")
    legend(d, 6.0)
    return figure
