"""The report of a population: how many predictions are good enough, how wrong they are, and where the worst one is."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.files import write_whole
from pinnpoint.report.charts import Line, Plot, bar
from pinnpoint.report.markup import SERIES, name, text
from pinnpoint.report.numbers import above, below, near, percent, short
from pinnpoint.report.page import asset, document
from pinnpoint.report.plane import Plane
from pinnpoint.report.sections import section

GOOD, BAD, OPEN, REFUSED = "#1d7a46", "#b3391f", "#d9a521", "#8a929c"
BINS = 40
MOST_DOTS = 600
MOST_REFUSED = 20


@dataclass(frozen=True, eq=False)
class Worst:
    """One instance in pictures.

    Attributes
    ----------
    points, cells
        Of the mesh, (N, 2) and (C, 3).
    kappa
        On the cells.
    prediction
        At the nodes.
    wrong
        Share of each cell in the error, (C,), which add up to one.
    wrong_note
        What these shares are.
    """

    points: Vector
    cells: Index
    kappa: Vector
    prediction: Vector
    wrong: Vector
    wrong_note: str

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class PopulationView:
    """What the report shows: plain numbers, one entry an instance.

    Attributes
    ----------
    title
        Of the page.
    what
        What the error is of, such as "relative energy error".
    accept
        How wrong a prediction may be.
    verdicts
        "within", "beyond", "undecided" or "refused".
    upper, lower
        Proved bounds of the error.
    numbers
        Of the instances.
    features
        Columns to draw the error against.
    queries
        Name, median and largest radius, median and largest distance of the prediction's value from the centre.
    refused
        Instance and reason.
    remedy
        What would decide more of them.
    notes
        What holds for all.
    told
        Where it comes from, as words.
    """

    title: str
    what: str
    accept: float
    verdicts: Sequence[str]
    upper: Vector
    lower: Vector
    numbers: Index
    features: Mapping[str, Vector] = field(default_factory=dict)
    queries: Sequence[tuple[str, float, float, float, float]] = ()
    refused: Sequence[tuple[int, str]] = ()
    remedy: str = ""
    notes: Sequence[str] = ()
    told: Mapping[str, str] = field(default_factory=dict)
    worst: Worst | None = None

    __repr__ = brief

    @property
    def counts(self) -> dict[str, int]:
        """Instances of each verdict."""
        return {word: sum(v == word for v in self.verdicts) for word in ("within", "beyond", "undecided", "refused")}

    @property
    def furthest(self) -> int | None:
        """The row with the largest proved error, or where none is above zero the largest bound."""
        known = np.isfinite(self.upper)
        if not known.any():
            return None
        score = np.where(known, self.lower, -1.0)
        if score.max() <= 0.0:
            score = np.where(known, self.upper, -1.0)
        return int(np.argmax(score))


def write_population_report(path: str | os.PathLike[str], view: PopulationView) -> Path:
    """One HTML file that needs nothing else, whole or not at all."""
    return write_whole(path, [render_population(view).encode("utf-8")])


def render_population(view: PopulationView) -> str:
    """The page."""
    parts = [
        _verdict(view),
        section("shares", "How many are good enough?", _shares(view)),
        section("errors", "How wrong are they?", _histogram(view), _bounds_note(view)),
        section("features", "What makes them wrong?", _features(view)),
        section("worst", "The worst of them", _worst(view)),
        section(
            "remedy", "What would decide more", f'<p class="advice">{text(view.remedy)}</p>' if view.remedy else ""
        ),
        section("queries", "Values that were asked for", _queries(view)),
        section("refused", "What was refused", _refused(view)),
        section("notes", "What it rests on", _list(view.notes)),
        section("origin", "Where it comes from", _told(view.told)),
    ]
    return document(view.title, parts, asset("page.js"), first="shares")


def _verdict(view: PopulationView) -> str:
    n, S = view.counts, len(view.verdicts)
    if n["within"] == S:
        css, mark, words = "", "✓", f"All {S} predictions are proved good enough"
    elif n["beyond"]:
        css, mark, words = " bad", "!", f"{n['beyond']} of {S} predictions are proved not to be good enough"
    else:
        css, mark, words = " open", "?", f"{n['within']} of {S} predictions are proved good enough, the others are open"
    i = view.furthest
    more = "Nothing is proved of any of them."
    if i is not None:
        more = (
            f"The worst one, number {int(view.numbers[i])}, is off by at least <b>{below(float(view.lower[i]))}</b> "
            f"and at most <b>{above(float(view.upper[i]))}</b>: the {text(view.what)}, proved, rounding included."
        )
    said = f"<div><h2>{words}</h2><p>{more}</p></div>"
    return f'<section class="verdict{css}"><span class="mark">{mark}</span>{said}</section>'


def _shares(view: PopulationView) -> str:
    n, S = view.counts, max(len(view.verdicts), 1)
    kinds = (
        ("within", GOOD, f"proved to be at most {short(view.accept)}"),
        ("undecided", OPEN, "undecided"),
        ("beyond", BAD, f"proved to be above {short(view.accept)}"),
        ("refused", REFUSED, "refused"),
    )
    parts = [(n[word] / S, colour, f"{n[word]} {words}") for word, colour, words in kinds if n[word]]
    items = "".join(
        f'<li><svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" fill="{colour}"/></svg>'
        f"{n[word]} ({percent(n[word] / S)}) {words}</li>"
        for word, colour, words in kinds
        if n[word]
    )
    return f'{bar(parts)}<ul class="legend">{items}</ul>'


def _bounds_note(view: PopulationView) -> str:
    known = view.upper[np.isfinite(view.upper)]
    if not len(known):
        return ""
    middle = float(np.median(known)), float(np.median(view.lower[np.isfinite(view.upper)]))
    return (
        f"The {text(view.what)} of each prediction lies between a lower and an upper bound, both proved. Medians: "
        f"{below(middle[1])} and {above(middle[0])}."
    )


def _histogram(view: PopulationView) -> str:
    known = np.isfinite(view.upper)
    if not known.any():
        return ""
    upper, lower = view.upper[known], view.lower[known]
    top = float(upper.max())
    edges = np.linspace(0.0, top if top > 0.0 else 1.0, BINS + 1)
    lines = []
    for label, values, colour in (("at most", upper, SERIES[0]), ("at least", lower, SERIES[1])):
        count = np.histogram(values, edges)[0]
        x, y = np.repeat(edges, 2), np.concatenate([[0], np.repeat(count, 2), [0]])
        lines.append(Line(f"proved to be {label}", x, y.astype(float), colour))
    level = Line(
        f"accepted, {short(view.accept)}", np.full(2, view.accept), np.array([0.0, lines[0].y.max()]), OPEN, True
    )
    lines += [level] if view.accept <= 1.5 * top else []
    picture = Plot(f"Instances over the {view.what}", view.what, "instances", lines).svg()
    return f'<div class="plots"><div>{picture}</div>{_quantiles(upper, lower)}</div>'


def _quantiles(upper: Vector, lower: Vector) -> str:
    shown = ((0.05, "5 %"), (0.5, "half"), (0.95, "95 %"), (1.0, "all"))
    rows = "".join(
        f'<tr><th scope="row">{words}</th><td>{below(float(np.quantile(lower, q)))}</td>'
        f"<td>{above(float(np.quantile(upper, q)))}</td></tr>"
        for q, words in shown
    )
    head = '<th scope="col">of them below</th><th scope="col">lower bound</th><th scope="col">upper bound</th>'
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _features(view: PopulationView) -> str:
    known = np.isfinite(view.upper)
    drawn = _some(view, known)
    plots = []
    for label, values in view.features.items():
        x = np.asarray(values, dtype=float)[drawn]
        if len(x) < 3 or float(np.ptp(x)) <= 1e-9 * float(np.abs(x).max(initial=0.0)):
            continue
        lines = [
            Line("at most", x, view.upper[drawn], SERIES[0], joined=False),
            Line("at least", x, view.lower[drawn], SERIES[1], joined=False),
        ]
        title = f"The {view.what} over the {label}"
        plots.append(f"<div><h3>{text(label.capitalize())}</h3>{Plot(title, label, view.what, lines).svg()}</div>")
    return f'<div class="plots">{"".join(plots)}</div>' if plots else ""


def _some(view: PopulationView, known: Vector) -> Index:
    """Instances to draw when there are too many: the worst, and others evenly."""
    rows = np.flatnonzero(known)
    if len(rows) <= MOST_DOTS:
        return rows
    order = rows[np.argsort(-view.upper[rows], kind="stable")]
    rest = order[MOST_DOTS // 10 :]
    even = rest[np.linspace(0, len(rest) - 1, MOST_DOTS - MOST_DOTS // 10).astype(int)]
    return np.sort(np.concatenate([order[: MOST_DOTS // 10], even]))


def _worst(view: PopulationView) -> str:
    i, worst = view.furthest, view.worst
    if i is None or worst is None:
        return ""
    plane = Plane.of(worst.points, worst.cells)
    figures = [
        plane.figure(worst.kappa, "κ"),
        plane.figure(worst.prediction, "prediction"),
        plane.figure(np.sqrt(worst.wrong), "where it is wrong"),
    ]
    features = ", ".join(f"{text(k)} {near(float(v[i]), 4)}" for k, v in view.features.items())
    return (
        f"<p>Number {int(view.numbers[i])}: {text(view.what)} between {below(float(view.lower[i]))} and "
        f"{above(float(view.upper[i]))}{'; ' + features if features else ''}.</p>"
        f'<div class="plots three">{"".join(f"<div>{f}</div>" for f in figures)}</div>'
        f'<p class="note">{text(worst.wrong_note)}</p>'
    )


def _queries(view: PopulationView) -> str:
    if not view.queries:
        return ""
    heads = ("Query", "± radius, median", "± radius, largest", "prediction from the centre, median", "largest")
    head = "".join(f'<th scope="col">{h}</th>' for h in heads)
    rows = "".join(
        f'<tr><th scope="row">{name(q)}</th>{"".join(f"<td>{_bound(v)}</td>" for v in numbers)}</tr>'
        for q, *numbers in view.queries
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _bound(value: float) -> str:
    return above(value if math.isfinite(value) else None)


def _refused(view: PopulationView) -> str:
    if not view.refused:
        return ""
    rows = [f"number {int(i)}: {why}" for i, why in view.refused[:MOST_REFUSED]]
    left = len(view.refused) - len(rows)
    return _list(rows) + (f'<p class="note">and {left} more, in the table</p>' if left > 0 else "")


def _list(items: Sequence[str]) -> str:
    return f'<ul class="notes">{"".join(f"<li>{text(item)}</li>" for item in items)}</ul>' if items else ""


def _told(told: Mapping[str, str]) -> str:
    rows = "".join(f'<tr><th scope="row">{text(k)}</th><td>{text(v)}</td></tr>' for k, v in told.items())
    return f"<table><tbody>{rows}</tbody></table>" if rows else ""
