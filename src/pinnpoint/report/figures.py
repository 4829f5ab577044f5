"""The plots and pictures of a report: convergence, local and tail parts, curves over an interval, the still view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pinnpoint.report.charts import Line, Plot
from pinnpoint.report.colours import MAPS
from pinnpoint.report.markup import SERIES, clip, text
from pinnpoint.report.moments import moment_of, series_of
from pinnpoint.report.numbers import above, near, short
from pinnpoint.report.sections import urgency
from pinnpoint.report.still import HEIGHT, WIDTH
from pinnpoint.report.units import bracketed, common, label, of_field, of_row
from pinnpoint.report.view import Field, View

MOST_LINES = 8
MOST_PINS = 200
MARKED = "Proved at the marked times; between them lines only lead the eye."
DEPTH = 1e-5
"""Parts of a sweep that are smaller than this share of the largest are not drawn."""


def foremost(rows: list[Mapping[str, Any]], most: int) -> list[int]:
    """The queries that are worth a line or a pin when there are too many."""
    order = sorted(range(len(rows)), key=lambda i: -urgency(rows[i]))[:most]
    return sorted(order)


def convergence(data: Mapping[str, Any]) -> str:
    """Radii over unknowns, mesh by mesh, with the tolerances."""
    course = data.get("refinement")
    if not course or len(course["steps"]) < 2:
        return ""
    rows, steps = data["queries"], course["steps"]
    dofs = np.array([s["dofs"] for s in steps], dtype=float)
    radii = np.array([[np.nan if r is None else r for r in s["radius"]] for s in steps])
    shown = foremost(rows, MOST_LINES)
    lines = [
        Line(rows[i]["name"], dofs, radii[:, i], SERIES[k % len(SERIES)], marks=True, key=f"q-{i}")
        for k, i in enumerate(shown)
    ]
    levels = sorted({t for i in shown if (t := rows[i].get("tolerance")) is not None})
    marks = [(t, f"tolerance {short(t)}") for t in levels[:4]]
    unit = bracketed(common(data))
    title = "Radius of each interval over the number of unknowns"
    picture = Plot(title, "unknowns", f"radius{unit}", lines, True, True, marks).svg()
    ended = f'<p class="note">Refinement stopped early: {text(course["stopped"])}.</p>' if course.get("stopped") else ""
    return f'<div class="plots"><div>{picture}</div>{_steps(steps, unit)}</div>{ended}'


def _steps(steps: list[Mapping[str, Any]], unit: str) -> str:
    """The meshes in numbers."""
    body = "".join(
        f'<tr><th scope="row">{i + 1}</th><td>{s["dofs"]}</td><td>{s["cells"]}</td>'
        f"<td>{above(_widest(s['radius']))}</td></tr>"
        for i, s in enumerate(steps)
    )
    head = "".join(f'<th scope="col">{c}</th>' for c in ("Mesh", "Unknowns", "Cells", f"Widest radius{text(unit)}"))
    return f'<div><table class="steps"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _widest(radii: list[float | None]) -> float | None:
    return None if any(r is None for r in radii) else max(r for r in radii if r is not None)


def sweep(data: Mapping[str, Any]) -> str:
    """The local correction and the bound of the tail over the radius of the ball."""
    found = data.get("sweep")
    if not found:
        return ""
    rows, radii = data["queries"], np.asarray(found["radii"], dtype=float)
    length, plots = bracketed(label(data.get("units", ""), "length")), []
    for i in foremost(rows, 4):
        local, tail = np.abs(np.asarray(found["local"])[:, i]), np.asarray(found["tail"])[:, i]
        proved = np.asarray(found["radius"])[:, i]
        least = DEPTH * max(float(np.max(v[np.isfinite(v)], initial=0.0)) for v in (local, proved))
        lines = [
            Line(label, radii, np.where(v >= least, v, np.nan), colour, dashed, key=f"q-{i}")
            for label, v, colour, dashed in (
                ("local part, computed", local, SERIES[0], False),
                ("tail, bounded", tail, SERIES[1], False),
                ("radius that would be proved", proved, SERIES[7], True),
            )
        ]
        title = f"{rows[i]['name']}: local part and tail over the radius of the ball"
        picture = Plot(
            title, f"radius of the ball{length}", f"size{bracketed(of_row(data, rows[i]))}", lines, log_y=True
        ).svg()
        if picture:
            plots.append(f"<div><h3><bdi>{text(rows[i]['name'])}</bdi></h3>{picture}</div>")
    return f'<div class="plots">{"".join(plots)}</div>' if plots else ""


def over_time(data: Mapping[str, Any]) -> str:
    """What is proved of one place at several times, as a band, beside the prediction."""
    rows, plots = data["queries"], []
    for some in series_of(rows)[:MOST_LINES]:
        if any(rows[i]["lower"] is None or rows[i]["upper"] is None for i in some):
            continue
        t, low, high, mid, said = (
            np.array([np.nan if rows[i].get(key) is None else rows[i][key] for i in some], dtype=float)
            for key in ("time", "lower", "upper", "center", "value")
        )
        raw = [rows[i].get("raw") for i in some]
        said = np.where(
            [r is None for r in raw], said, np.array([np.nan if r is None else r for r in raw], dtype=float)
        )
        lines = [
            Line("centre of the proved interval", t, mid, SERIES[0], marks=True),
            Line("prediction", t, said, SERIES[1], dashed=True, marks=True),
        ]
        pins = [(float(t[k]), float(mid[k]), str(i + 1), f"q-{i}") for k, i in enumerate(some)]
        title = f"{rows[some[0]]['name']} and {len(some) - 1} more: proved intervals over time"
        y = f"u{bracketed(of_row(data, rows[some[0]]))}"
        picture = Plot(title, "time", y, lines, pins=pins, bands=[(t, low, high)]).svg()
        names = ", ".join(str(rows[i]["name"]) for i in some)
        plots.append(f"<div><h3><bdi>{text(clip(names, 60))}</bdi></h3>{picture}</div>")
    return f'<div class="plots">{"".join(plots)}</div>' if plots else ""


def moments(data: Mapping[str, Any], view: View) -> str:
    """Curves over an interval at every moment; a slider shows one of them, the last without it."""
    x, rows, plots = view.surface.points[:, 0], data["queries"], []
    unit, length = bracketed(of_field(data)), bracketed(label(data.get("units", ""), "length"))
    plain = [f for f in view.fields if f.name in ("prediction", "corrected")]
    ends = min(float(f.values.min()) for f in plain), max(float(f.values.max()) for f in plain)
    for k, time in enumerate(view.times):
        lines = [
            Line(f.label, x, f.values[:, 0], SERIES[i % len(SERIES)], dashed=f.name == "prediction")
            for i, f in enumerate(f for f in plain if f.load == time)
        ]
        pins = [
            (row["at"][0], row["center"], str(i + 1), f"q-{i}")
            for i, row in enumerate(rows)
            if row.get("at") and moment_of(row, view.times) == time
        ]
        picture = Plot(f"Fields, {time}", f"x{length}", f"u{unit}", lines, pins=pins, within=ends).svg()
        hidden = "" if k == len(view.times) - 1 else " hidden"
        plots.append(f'<div class="moment" data-moment="{k}" data-time="{text(time)}"{hidden}>{picture}</div>')
    most = len(view.times) - 1
    slider = (
        '<p class="view-tools" id="moments" hidden><label class="menu"><span>Time</span>'
        f'<input type="range" min="0" max="{most}" step="1" value="{most}" aria-label="Time"></label>'
        f'<output class="when">{text(view.times[-1])}</output></p>'
    )
    title = "<h3>Prediction and corrected field, with the proved values</h3>"
    return f'{slider}{title}<div class="plots"><div>{"".join(plots)}</div></div>'


def curves(data: Mapping[str, Any], view: View) -> str:
    """Fields over an interval: what was predicted and corrected, their difference, the influences."""
    if view.times:
        return moments(data, view)
    x, rows = view.surface.points[:, 0], data["queries"]
    unit, length = bracketed(of_field(data)), bracketed(label(data.get("units", ""), "length"))
    plain = [f for f in view.fields if f.query is None and f.name != "error"]
    shown = set(foremost(rows, 40))
    pins = [
        (row["at"][0], row["center"], str(i + 1), f"q-{i}")
        for i, row in enumerate(rows)
        if row.get("at") and i in shown
    ]

    def lines(fields: list[Field]) -> list[Line]:
        names = {row["name"]: f"q-{i}" for i, row in enumerate(rows)}
        return [
            Line(
                f.query if f.query is not None else f.label,
                x,
                f.values[:, 0],
                SERIES[k % len(SERIES)],
                dashed=f.name == "prediction",
                key=names.get(f.query or "", ""),
            )
            for k, f in enumerate(fields)
        ]

    groups = [
        ("Prediction and corrected field, with the proved values", plain, f"u{unit}", pins),
        ("Difference", [f for f in view.fields if f.name == "error"], f"prediction − corrected{unit}", []),
        ("Influence of each query", [f for f in view.fields if f.query is not None][:MOST_LINES], "Green function", []),
    ]
    found = [
        f"<div><h3>{title}</h3>{Plot(title, f'x{length}', y, lines(fields), pins=marks).svg()}</div>"
        for title, fields, y, marks in groups
        if fields
    ]
    return f'<div class="plots">{"".join(found)}</div>'


def picture(data: Mapping[str, Any], view: View) -> str:
    """Still pictures of the fields with their pins as links; the viewer takes their place where it can."""
    still = view.still
    if still is None:
        return ""
    load = view.times[-1] if view.times else view.fields[0].load
    fields = [f for f in view.fields if f.query is None and f.load == load][:3]
    images = [
        f'<image data-field="{text(f.label)}" width="{WIDTH}" height="{HEIGHT}" href="{still.png(f.unit, _map(f))}"'
        f"{'' if k == 0 else ' visibility=' + chr(34) + 'hidden' + chr(34)}/>"
        for k, f in enumerate(fields)
    ]
    rows = data["queries"]
    pins = []
    for i in foremost(rows, MOST_PINS):
        at = rows[i].get("at")
        if at and rows[i].get("load") == load:
            ((x, y),) = still.place(np.array([[*at, 0.0, 0.0][:3]]))
            pins.append(
                f'<a href="#q-{i}" class="pin" data-row="q-{i}" aria-label="Query {i + 1}"><circle cx="{x:.1f}" '
                f'cy="{y:.1f}" r="11"/><text x="{x:.1f}" y="{y + 4.5:.1f}">{i + 1}</text></a>'
            )
    scales = "".join(_scale(f, data, k) for k, f in enumerate(fields))
    what = f"The part, coloured by the {fields[0].label.lower()}"
    return (
        f'<figure class="still"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{text(what)}">'
        f"{''.join(images)}{''.join(pins)}</svg>{scales}</figure>"
    )


def _map(field: Field) -> str:
    return "signs" if field.signed else "sizes"


def _scale(field: Field, data: Mapping[str, Any], k: int) -> str:
    V = field.sizes
    lo, hi = float(V.min()), float(V.max())
    if field.signed:
        hi = max(abs(lo), abs(hi))
        lo = -hi
    stops = MAPS[_map(field)]
    key = f"ramp-{k}"
    colours = "".join(
        f'<stop offset="{i / (len(stops) - 1):.3f}" stop-color="rgb({r},{g},{b})"/>'
        for i, (r, g, b) in enumerate(stops)
    )
    unit = text(bracketed(of_field(data)))
    size = ", length" if field.values.shape[1] > 1 else ""
    return (
        f'<figcaption class="still-scale"{" hidden" if k else ""}><span>{near(lo, 4)}</span>'
        f'<svg width="160" height="10" aria-hidden="true"><defs><linearGradient id="{key}">{colours}'
        f'</linearGradient></defs><rect width="160" height="10" fill="url(#{key})"/></svg>'
        f"<span>{near(hi, 4)}</span> {text(field.label)}{size}{unit}</figcaption>"
    )
