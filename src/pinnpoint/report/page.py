"""The whole report as one file that asks nobody for anything."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from pinnpoint.base.files import write_whole
from pinnpoint.report import figures
from pinnpoint.report.answers import verdicts
from pinnpoint.report.derived import NOTE as DERIVED
from pinnpoint.report.derived import derived
from pinnpoint.report.headline import judge
from pinnpoint.report.markup import name, text
from pinnpoint.report.moments import moment_of
from pinnpoint.report.sections import assumptions, intervals, notes, origin, recheck, section, widths
from pinnpoint.report.units import of_field
from pinnpoint.report.view import View

MOST_PINS = 200


def write_report(
    path: str | os.PathLike[str],
    data: Mapping[str, Any],
    view: View | None = None,
    *,
    sweep: Mapping[str, Any] | None = None,
    bundle: str | None = None,
) -> Path:
    """Write report.html, whole or not at all; the arguments are those of `render`."""
    return write_whole(path, [render(data, view, sweep=sweep, bundle=bundle).encode("utf-8")])


def render(
    data: Mapping[str, Any],
    view: View | None = None,
    *,
    sweep: Mapping[str, Any] | None = None,
    bundle: str | None = None,
) -> str:
    """One HTML page.

    Parameters
    ----------
    data
        The content of certificate.json.
    view
        The part with its fields.
    sweep
        Of a localized method: ``radii``, and over radii and queries ``local``, ``tail`` and ``radius``.
    bundle
        The folder that ``pinnpoint verify`` takes, as seen from the report.
    """
    script = asset("page.js" if view is None or view.surface.dim == 1 else "viewer.js")
    data = {**data, "sweep": sweep}
    title = data.get("title") or "Certificate"
    parts = [
        judge(data).html(),
        section("limits", "Are the limits kept?", verdicts(data, "limit")),
        section("accepted", "Is the prediction good enough?", verdicts(data)),
        section("notes", "Keep in mind", notes(data)),
        section("intervals", "Intervals", intervals(data)),
        section("times", "Over time", figures.over_time(data), figures.MARKED),
        section("derived", "Derived", derived(data), DERIVED),
        section("part", "The part", _view(data, view)),
        section("widths", "Where the widths come from", widths(data)),
        section(
            "sweep",
            "Near and far",
            figures.sweep(data),
            "Inside the ball the error is computed, outside it is bounded; the discrete target.",
        ),
        section("convergence", "Mesh by mesh", figures.convergence(data)),
        section("assumptions", "What it rests on", assumptions(data)),
        section("origin", "Where it comes from", origin(data)),
        section("recheck", "See for yourself", recheck(data, bundle)),
    ]
    return document(title, parts, script, _payload(data, view))


def document(title: str, parts: Sequence[str], script: str, payload: str = "", first: str = "intervals") -> str:
    """A page of its own: parts, what its script reads, and a policy that lets nothing else in."""
    style = asset("report.css")
    policy = (
        f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = [
        "<!doctype html>\n",
        f'<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">',
        '<link rel="icon" href="data:,">',
        f"<title>{text(title)} · pinnpoint</title><style>{style}</style></head><body>",
        f'<a class="skip" href="#{first}">To the {first}</a>',
        f"<header><p>pinnpoint report</p><h1>{name(title)}</h1></header><main>",
    ]
    return "".join([*head, *parts, "</main>", payload, f"<script>{script}</script></body></html>\n"])


def _view(data: Mapping[str, Any], view: View | None) -> str:
    if view is None:
        return ""
    if view.surface.dim == 1:
        return figures.curves(data, view)
    notes = []
    drawn, whole = int(view.surface.triangles.max()) + 1, view.surface.whole
    if drawn < whole:
        notes.append(f"Drawn with {drawn} of {whole} nodes; the numbers use all of them.")
    if view.left_out:
        notes.append(f"The influences of {view.left_out} more queries are in field.vtu.")
    below = f'<p class="note">{" ".join(notes)}</p>' if notes else ""
    return f'<div id="viewer" class="viewer">{figures.picture(data, view)}</div>{below}'


def _payload(data: Mapping[str, Any], view: View | None) -> str:
    if view is None or view.surface.dim == 1:
        return ""
    packed, block = view.packed
    rows = data["queries"]
    queries = [
        {
            "row": f"q-{i}",
            "mark": i + 1,
            "name": row.get("query", row["name"]),
            "at": row.get("at"),
            "ball": row.get("ball"),
            "load": row.get("load") if not view.times else moment_of(row, view.times),
        }
        for i in figures.foremost(rows, MOST_PINS)
        for row in (rows[i],)
    ]
    content = {"units": of_field(data), "queries": queries, "view": packed}
    return (
        f'<script type="application/json" id="view-data">{embedded(content)}</script>'
        f'<script type="text/plain" id="view-bytes">{block}</script>'
    )


def embedded(content: Any) -> str:
    """Strict JSON that no string inside can end early."""
    plain = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def asset(file: str) -> str:
    """A file that travels with the package."""
    return (resources.files("pinnpoint.report") / "assets" / file).read_text(encoding="utf-8")


@cache
def digest(content: str) -> str:
    """What the content security policy knows a script or a style by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode("ascii")
