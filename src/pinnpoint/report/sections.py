"""The parts of a report: intervals, widths, what they rest on, where they come from."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from pinnpoint.report.answers import judgement
from pinnpoint.report.charts import bar, whisker
from pinnpoint.report.headline import an_error, decided, left_by_mesh, missed, off, stated, telling, truth
from pinnpoint.report.markup import data as number
from pinnpoint.report.markup import name, text
from pinnpoint.report.numbers import above, below, interval, near, percent, short
from pinnpoint.report.terms import TERMS, advise, label, shares
from pinnpoint.report.units import bracketed, common, own

MOST_BARS = 60
"""Widths are drawn for so many queries, those furthest from their tolerance."""
NOTHING = 1e-200
"""Terms below this guard against underflow and say nothing."""


def section(key: str, title: str, body: str, note: str = "") -> str:
    """A part with its heading; nothing where it has no body."""
    intro = f'<p class="note">{note}</p>' if note else ""
    return f'<section aria-labelledby="{key}"><h2 id="{key}">{title}</h2>{intro}{body}</section>' if body else ""


def intervals(data: Mapping[str, Any]) -> str:
    """One row per query: what was said, what is proved, how far apart."""
    rows, unit = data["queries"], text(bracketed(common(data)))
    lies = "is estimated" if telling(rows)["guarantee"] == "estimate" else "lies"
    tolerances, judged = any(r.get("tolerance") is not None for r in rows), any(map(decided, rows))
    limited = any(decided(r, "limit") for r in rows)
    columns = [
        "",
        "Query",
        f"Prediction says{unit}",
        f"{truth(rows[0]).capitalize()} {lies} between{unit}",
        "",
        f"± radius{unit}",
    ]
    meshed = any("mesh_estimate" in r for r in rows)
    columns += [f"Tolerance of the radius{unit}"] if tolerances else []
    columns += [f"The mesh leaves about (estimate){unit}"] if meshed else []
    columns += [f"Prediction is {'off' if lies == 'lies' else 'estimated to be off'} by{unit}"]
    columns += [f"Accepted{unit}"] if judged else []
    columns += [f"Limit{unit}"] if limited else []
    head = "".join(f'<th scope="col">{c}</th>' if c else "<td></td>" for c in columns)
    body, load = [], None
    for i, row in enumerate(rows):
        if row.get("load") != load:
            load = row.get("load")
            body.append(f'<tr class="load"><th colspan="{len(columns)}" scope="rowgroup">{name(load)}</th></tr>')
        shown = (tolerances, meshed, judged, limited)
        body.append(_interval(i, row, columns, shown, text(bracketed(own(data, row)))))
    many = " many" if len(rows) > 30 else ""
    return (
        f'<div class="scroll{many}" tabindex="0" role="region" aria-label="Intervals"><table class="intervals">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
        '<p class="tools"><button type="button" id="digits" aria-pressed="false" hidden>All digits</button></p>'
    )


def _interval(
    i: int, row: Mapping[str, Any], columns: Sequence[str], shown: tuple[bool, bool, bool, bool], unit: str
) -> str:
    tolerances, meshed, judged, limited = shown
    lower, upper = interval(row["lower"], row["upper"])
    least, most = off(row)
    between = (
        f"{number(row['lower'], lower)}<span class='to'> … </span>{number(row['upper'], upper)}"
        if row["radius"] is not None
        else "unbounded"
    )
    if most is None:
        apart = "unbounded"
    elif least > 0.0:
        apart = f"{number(least, below(least))}<span class='to'> … </span>{number(most, above(most))}"
    else:
        apart = f"≤ {number(most, above(most))}"
    cells = [
        number(stated(row), near(stated(row)), "said"),
        between,
        whisker(row["lower"], row["upper"], stated(row)),
        number(row["radius"], above(row["radius"])),
    ]
    if tolerances:
        cells.append(_mark(row))
    if meshed:
        left = left_by_mesh(row)
        cells.append("not known" if left is None else f"~ {number(left, near(left, 2))}")
    cells.append(apart)
    if judged:
        cells.append(judgement(row))
    if limited:
        cells.append(judgement(row, "limit"))
    called = name(row["query"] if row.get("load") is not None else row["name"]) + unit
    first = (
        f'<td class="count">{i + 1}</td><th scope="row"><button type="button" class="pick" aria-pressed="false">'
        f'{called}</button><span class="where">{_where(row)}</span></th>'
    )
    labels = [text(c) for c in columns[2:]]
    rest = "".join(f'<td data-label="{t}"><div>{c}</div></td>' for t, c in zip(labels, cells, strict=True))
    return f'<tr id="q-{i}"{" class=missed" if missed(row) else ""}>{first}{rest}</tr>'


def _mark(row: Mapping[str, Any]) -> str:
    tolerance = row.get("tolerance")
    if tolerance is None:
        return "none" if row["radius"] is not None else "<b>✗ unbounded</b>"
    sign = '<b class="no">✗ wider than</b>' if missed(row) else '<b class="yes">✓ within</b>'
    return f"{sign} {number(tolerance, short(tolerance))}"


def _where(row: Mapping[str, Any]) -> str:
    kind = an_error(row) or row.get("kind", "")
    parts = [text(kind)] if kind else []
    if row.get("component") is not None:
        given = row["component"]
        parts.append(f"component {text(given if isinstance(given, str) else ', '.join(f'{v:g}' for v in given))}")
    if row.get("group") is not None:
        parts.append(f"group {name(row['group'])}")
    elif row.get("at"):
        parts.append("at (" + ", ".join(f"{c:.4g}" for c in row["at"]) + ")")
    if row.get("ball") is not None:
        parts.append(f"radius {row['ball']:.4g}")
    if row.get("side") is not None:
        parts.append(f"side {row['side']:.4g}")
    if row.get("spread") is not None:
        parts.append(f"spread {row['spread']:.4g}")
    if row.get("time") is not None:
        parts.append(f"time {row['time']:.4g}")
    return ", ".join(parts)


def widths(data: Mapping[str, Any]) -> str:
    """Stacked bars of each radius, and the action that would shrink it most."""
    rows, counted = data["queries"], list(data["radius_terms"])
    order = sorted(range(len(rows)), key=lambda i: -urgency(rows[i]))
    drawn = sorted(order[:MOST_BARS])
    worst = advise(rows[order[0]], data)
    used: dict[str, None] = {}
    items = []
    for i in drawn:
        row, parts = rows[i], shares(rows[i], counted)
        used |= {part.term: None for part in parts}
        strips = [(p.share, _colour(p.term), f"{label(p.term)} {_size(p.size)} ({percent(p.share)})") for p in parts]
        advice = advise(row, data)
        chips = "".join(
            f"<li>{_swatch(p.term)}{text(label(p.term))} {_size(p.size)}</li>"
            for p in parts
            if p.size is None or p.size > NOTHING
        )
        items.append(
            f'<li data-row="q-{i}"><div class="head"><a href="#q-{i}">{name(row["name"])}</a>'
            f"<span>±{number(row['radius'], above(row['radius']))}</span></div>{bar(strips)}"
            f'<ul class="legend">{chips}</ul><p><b>{text(advice.action)}</b>'
            f'<span class="why">: {text(advice.why)}.</span></p></li>'
        )
    keys = "".join(
        f"<li>{_swatch(t)}<b>{text(label(t))}</b> <span>{text(TERMS[t][2]) if t in TERMS else ''}</span></li>"
        for t in used
    )
    more = f'<p class="note">The {MOST_BARS} widest of {len(rows)} are drawn.</p>' if len(rows) > MOST_BARS else ""
    mesh = (left_by_mesh(rows[order[0]]) or 0.0) > (rows[order[0]]["radius"] or 0.0)
    aim = "What would help most" if mesh or any(map(missed, rows)) else "What would narrow it further"
    hint = f"; {text(worst.hint)}" if worst.hint else ""
    first = f'<p class="advice"><span>{aim}</span> <b>{text(worst.action)}:</b> {text(worst.why)}{hint}.</p>'
    return f'{first}<ol class="widths">{"".join(items)}</ol>{more}<ul class="legend terms">{keys}</ul>{_terms(data)}'


def urgency(row: Mapping[str, Any]) -> float:
    """How much an interval wants to be narrower: against its tolerance, else against its value."""
    if row["radius"] is None:
        return float("inf")
    if row.get("tolerance"):
        return 1e6 * float(row["radius"] / row["tolerance"])
    return float(row["radius"] / (abs(row["center"]) or 1.0))


def _terms(data: Mapping[str, Any]) -> str:
    """Every term of every query, those too that are not part of the radius."""
    rows, counted = data["queries"], data["radius_terms"]
    every = list(dict.fromkeys([*counted, *(t for r in rows for t in r["terms"])]))
    every = [t for t in every if any(t in r["terms"] for r in rows)]
    head = "".join(f'<th scope="col">{text(t)}{"" if t in counted else " *"}</th>' for t in every)
    body = "".join(
        f'<tr><th scope="row">{name(r["name"])}</th>'
        + "".join(f"<td>{number(r['terms'][t], above(r['terms'][t])) if t in r['terms'] else ''}</td>" for t in every)
        + "</tr>"
        for r in rows
    )
    return (
        '<details><summary>All terms</summary><div class="scroll" tabindex="0" role="region" aria-label="All terms">'
        f'<table class="plain"><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        '<p class="note">* moves the centre, or belongs to the interval around the prediction; not in the radius.</p>'
        "</details>"
    )


def _swatch(term: str) -> str:
    square = f'<rect width="11" height="11" rx="2" fill="{_colour(term)}"/>'
    return f'<svg width="11" height="11" aria-hidden="true">{square}</svg>'


def _colour(term: str) -> str:
    return TERMS[term][1] if term in TERMS else "#808894"


def _size(size: float | None) -> str:
    return "unbounded" if size is None else f"±{above(size, 2)}"


def notes(data: Mapping[str, Any]) -> str:
    """What a reader must keep in mind beside the intervals."""
    items = "".join(f"<li>{text(note[:1].upper() + note[1:])}.</li>" for note in data.get("notes") or [])
    return f'<ul class="notes">{items}</ul>' if items else ""


def assumptions(data: Mapping[str, Any]) -> str:
    """What the intervals rest on: proved here, or somebody's word."""
    items = [
        f'<li class="{text(a["status"])}"><span class="badge">{text(a["status"])}</span>'
        f"<span>{text(a['claim'])}</span></li>"
        for a in sorted(data["assumptions"], key=lambda a: a["status"])
    ]
    return f'<ul class="claims">{"".join(items)}</ul>' if items else ""


def origin(data: Mapping[str, Any]) -> str:
    """The certificate's id, inputs with their hashes, versions, and the problem."""
    own = data.get("id")
    rows = [f'<tr><th scope="row">certificate</th><td><code>{text(own)}</code></td></tr>'] if own else []
    for what, entry in (data.get("inputs") or {}).items():
        items = entry.items() if isinstance(entry, Mapping) else [("", entry)]
        details = "".join(
            f"<div><span>{text(key)}</span> "
            f"<code>{text(value if isinstance(value, str) else json.dumps(value))}</code></div>"
            for key, value in items
        )
        rows.append(f'<tr><th scope="row">{text(what)}</th><td>{details}</td></tr>')
    versions = ", ".join(f"{text(k)} {text(v)}" for k, v in (data.get("versions") or {}).items())
    unknowns = "" if data.get("dofs") is None else f"; {data['dofs']:,} unknowns".replace(",", "\N{THIN SPACE}")
    rows.append(f'<tr><th scope="row">made by</th><td>{versions}; method {text(data["method"])}{unknowns}</td></tr>')
    if data.get("problem"):
        shown = text(json.dumps(data["problem"], indent=1, ensure_ascii=False))
        folded = f"<details><summary>as certified</summary><pre>{shown}</pre></details>"
        rows.append(f'<tr><th scope="row">problem</th><td>{folded}</td></tr>')
    return f'<table class="origin"><tbody>{"".join(rows)}</tbody></table>'


def recheck(data: Mapping[str, Any], bundle: str | None) -> str:
    """How somebody else can see for themselves."""
    commands = []
    if bundle:
        why = "proves every interval again with code of its own and prints the certificate's id, or says what it "
        why += "cannot check"
        why = f"cannot prove these intervals again: {data['unchecked']}" if data.get("unchecked") else why
        commands.append((f"pinnpoint verify {bundle}", why))
    inputs = {k: v for k, v in (data.get("inputs") or {}).items() if isinstance(v, Mapping) and "file" in v}
    files = [shlex.quote(str(v["file"])) for v in inputs.values() if "sha256" in v]
    if files:
        commands.append((f"sha256sum {' '.join(files)}", "must print the hashes above"))
    if "case" in inputs:
        commands.append((f"pinnpoint certify {shlex.quote(str(inputs['case']['file']))}", "makes all of this again"))
    if not commands:
        return ""
    items = "".join(f"<dt><code>{text(c)}</code></dt><dd>{text(why)}</dd>" for c, why in commands)
    return f'<dl class="commands">{items}</dl>'
