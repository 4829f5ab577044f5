"""Plots as SVG: axes, lines, and the small pictures of a table row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.report.markup import SERIES, clip, text

WIDTH, HEIGHT = 460, 290
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 14, 44
MOST_POINTS = 700
HUGE = 1e300
"""Larger numbers are drawn at the edge."""


@dataclass(frozen=True)
class Line:
    """A curve, or a level where it has no x."""

    label: str
    x: Vector
    y: Vector
    colour: str = SERIES[0]
    dashed: bool = False
    marks: bool = False
    joined: bool = True
    """Whether its points are joined; else they are marks alone."""
    key: str = ""
    """The query it belongs to."""


@dataclass(frozen=True)
class Plot:
    """Axes with lines."""

    title: str
    x: str
    y: str
    lines: Sequence[Line]
    log_x: bool = False
    log_y: bool = False
    levels: Sequence[tuple[float, str]] = field(default_factory=tuple)
    pins: Sequence[tuple[float, float, str, str]] = field(default_factory=tuple)
    """x, y, what to write, where to go."""
    bands: Sequence[tuple[Vector, Vector, Vector]] = field(default_factory=tuple)
    """x, and between which values of y an area is filled; finite."""
    within: tuple[float, float] | None = None
    """Values of y that the axis holds besides."""

    def svg(self) -> str:
        """The picture; lines that are nowhere finite or, on a logarithmic axis, positive are left out."""
        lines = [(line, *self._kept(line)) for line in self.lines]
        lines = [found for found in lines if len(found[1])]
        if not lines:
            return ""
        xs = np.concatenate([x for _, x, _ in lines] + [np.array([p[0] for p in self.pins])])
        levels = [v for v, _ in self.levels if math.isfinite(v) and (v > 0.0 or not self.log_y)]
        more = [np.array(levels), np.array([p[1] for p in self.pins]), np.array(self.within or ())]
        more += [y for band in self.bands for y in band[1:]]
        ys = np.concatenate([y for _, _, y in lines] + more)
        across, down = Axis.of(xs, self.log_x), Axis.of(ys, self.log_y, 0.05)
        parts = [f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{text(self.title)}">']
        parts += _grid(across, down, self.x, self.y)
        for value, name in self.levels:
            if value in levels:
                at = _y(down, value)
                parts.append(f'<line class="level" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}"/>')
                parts.append(f'<text class="tick" x="{LEFT + 4}" y="{at - 4}">{text(name)}</text>')
        for band in self.bands:
            parts.append(_band(*band, across, down))
        for line, x, y in lines:
            parts.append(_line(line, x, y, across, down))
        for px, py, mark, target in self.pins:
            cx, cy = _x(across, px), _y(down, py)
            parts.append(
                f'<a href="#{target}" class="pin" data-row="{target}"><circle cx="{cx}" cy="{cy}" r="9"/>'
                f'<text x="{cx}" y="{cy + 4}">{text(mark)}</text></a>'
            )
        return "".join([*parts, "</svg>", _legend([found[0] for found in lines])])

    def _kept(self, line: Line) -> tuple[Vector, Vector]:
        x, y = np.asarray(line.x, dtype=float), np.asarray(line.y, dtype=float)
        good = np.isfinite(x) & np.isfinite(y) & ((x > 0.0) | (not self.log_x)) & ((y > 0.0) | (not self.log_y))
        return thinned(x[good], y[good])


@dataclass(frozen=True)
class Axis:
    """From numbers to the unit interval."""

    lo: float
    hi: float
    log: bool

    @classmethod
    def of(cls, values: Vector, log: bool, pad: float = 0.0) -> Axis:
        """One that holds all values."""
        v = np.log10(values) if log else values.clip(-HUGE, HUGE)
        lo, hi = float(v.min()), float(v.max())
        if hi - lo <= 1e-12 * max(abs(lo), abs(hi)):
            spread = 0.5 if log else (abs(lo) * 0.5 or 1.0)
            lo, hi = lo - spread, hi + spread
        extra = pad * (hi - lo)
        return cls(lo - extra, hi + extra, log)

    def __call__(self, value: float) -> float:
        """Where a number lies."""
        v = math.log10(value) if self.log else min(max(value, -HUGE), HUGE)
        return (v - self.lo) / (self.hi - self.lo)

    def ticks(self) -> list[tuple[float, str]]:
        """About five round numbers."""
        if self.log:
            return self._powers()
        raw = (self.hi - self.lo) / 5.0
        base = 10.0 ** math.floor(math.log10(raw))
        step = next((s * base for s in (1.0, 2.0, 5.0) if s * base >= raw), 10.0 * base)
        values = [k * step for k in range(math.ceil(self.lo / step), math.floor(self.hi / step) + 1)]
        digits = max(3, math.ceil(math.log10(max(abs(self.lo), abs(self.hi)) / step)) + 1)
        return [(v, f"{v:.{digits}g}".replace("-", "\N{MINUS SIGN}")) for v in values]

    def _powers(self) -> list[tuple[float, str]]:
        span = self.hi - self.lo
        if span < 0.8:
            return [(v, f"{v:.2g}") for v in np.geomspace(10.0**self.lo, 10.0**self.hi, 4)[1:-1].tolist()]
        steps = (1.0, 2.0, 5.0) if span < 2.5 else (1.0,)
        every = range(math.floor(self.lo), math.ceil(self.hi) + 1, max(1, math.ceil(span / 6.0)))
        fine = [m * 10.0**p for p in every for m in steps]
        inside = [v for v in fine if v > 0.0 and self.lo - 1e-9 <= math.log10(v) <= self.hi + 1e-9]
        return [
            (v, f"{v:g}" if 1e-3 <= v < 1e5 else f"{v:.0e}".replace("e-0", "e-").replace("e+0", "e")) for v in inside
        ]


def thinned(x: Vector, y: Vector) -> tuple[Vector, Vector]:
    """Few enough points, with the extremes of every stretch among them."""
    if len(x) <= MOST_POINTS:
        return x, y
    edges = np.linspace(0, len(x), MOST_POINTS // 2 + 1).astype(int)
    kept = [0, len(x) - 1]
    for a, b in pairwise(edges.tolist()):
        kept += [a + int(np.argmin(y[a:b])), a + int(np.argmax(y[a:b]))]
    order = np.unique(kept)
    return x[order], y[order]


def _x(axis: Axis, value: float) -> float:
    return round(LEFT + axis(value) * (WIDTH - LEFT - RIGHT), 1)


def _y(axis: Axis, value: float) -> float:
    return round(TOP + (1.0 - axis(value)) * (HEIGHT - TOP - BOTTOM), 1)


def _grid(across: Axis, down: Axis, x: str, y: str) -> list[str]:
    base, end = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = []
    for value, mark in down.ticks():
        at = _y(down, value)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{end}" y1="{at}" y2="{at}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 6}" y="{at + 4}" text-anchor="end">{mark}</text>')
    for value, mark in across.ticks():
        at = _x(across, value)
        parts.append(f'<line class="grid" x1="{at}" x2="{at}" y1="{base}" y2="{base + 4}"/>')
        parts.append(f'<text class="tick" x="{at}" y="{base + 17}" text-anchor="middle">{mark}</text>')
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{end}" y1="{base}" y2="{base}"/>')
    parts.append(f'<text class="name" x="{(LEFT + end) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{text(x)}</text>')
    middle = (TOP + base) / 2
    turn = f'transform="rotate(-90 13 {middle})"'
    parts.append(f'<text class="name" x="13" y="{middle}" text-anchor="middle" {turn}>{text(y)}</text>')
    return parts


def _band(x: Vector, lower: Vector, upper: Vector, across: Axis, down: Axis) -> str:
    ends = [*zip(x.tolist(), upper.tolist(), strict=True), *reversed([*zip(x.tolist(), lower.tolist(), strict=True)])]
    path = " ".join(f"{_x(across, a):g},{_y(down, b):g}" for a, b in ends)
    return f'<polygon class="band" points="{path}"/>'


def _line(line: Line, x: Vector, y: Vector, across: Axis, down: Axis) -> str:
    points = [(_x(across, a), _y(down, b)) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    path = " ".join(f"{a:g},{b:g}" for a, b in points)
    dash = ' stroke-dasharray="5 4"' if line.dashed else ""
    key = f' data-row="{line.key}"' if line.key else ""
    drawn = f'<polyline class="line" points="{path}" stroke="{line.colour}"{dash}/>' if line.joined else ""
    if line.marks or not line.joined:
        drawn += "".join(f'<circle cx="{a:g}" cy="{b:g}" r="3" fill="{line.colour}"/>' for a, b in points)
    return f"<g{key}><title>{text(line.label)}</title>{drawn}</g>"


def _legend(lines: Sequence[Line]) -> str:
    if len(lines) < 2:
        return ""
    items = []
    for line in lines:
        dash = ' stroke-dasharray="5 4"' if line.dashed else ""
        stroke = f'<line x1="0" x2="18" y1="6" y2="6" stroke="{line.colour}" stroke-width="2.5"{dash}/>'
        mark = f'<svg width="18" height="12" aria-hidden="true">{stroke}</svg>'
        items.append(f"<li>{mark}<bdi>{text(clip(line.label, 40))}</bdi></li>")
    return f'<ul class="legend">{"".join(items)}</ul>'


def bar(shares: Sequence[tuple[float, str, str]]) -> str:
    """A stacked bar: share, colour, title; it stretches with the page."""
    at, parts = 0.0, []
    for share, colour, title in shares:
        rect = f'<rect x="{100 * at:.3f}%" width="{100 * share:.3f}%" height="100%" fill="{colour}"/>'
        parts.append(f"<g><title>{text(title)}</title>{rect}</g>")
        at += share
    return f'<svg class="bar" role="img" aria-label="{text("; ".join(t for _, _, t in shares))}">{"".join(parts)}</svg>'


def whisker(lower: float | None, upper: float | None, said: float | None) -> str:
    """The proved interval and what the prediction says, on one line."""
    if lower is None or upper is None:
        return (
            '<svg class="whisker" aria-hidden="true"><line class="endless" x1="4%" x2="96%" y1="50%" y2="50%"/></svg>'
        )
    values = [lower, upper] + ([] if said is None else [said])
    lo, hi = min(values), max(values)
    span = hi - lo

    def at(v: float) -> float:
        return 50.0 if span <= 0.0 else 8.0 + 84.0 * (v / span - lo / span)

    parts = ['<line class="rail" x1="3%" x2="97%" y1="50%" y2="50%"/>']
    left, wide = at(lower), at(upper) - at(lower)
    if wide < 2.0:
        left, wide = left + 0.5 * wide - 1.0, 2.0
    parts.append(f'<rect class="proved" x="{left:.2f}%" width="{wide:.2f}%" y="25%" height="50%" rx="2"/>')
    if said is not None:
        css = "said" if lower <= said <= upper else "said off"
        parts.append(f'<circle class="{css}" cx="{at(said):.2f}%" cy="50%" r="5"/>')
    return f'<svg class="whisker" aria-hidden="true">{"".join(parts)}</svg>'
