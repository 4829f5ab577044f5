"""What follows from several queries: one row each, under the intervals that it follows from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pinnpoint.report.answers import judgement
from pinnpoint.report.charts import whisker
from pinnpoint.report.markup import data as number
from pinnpoint.report.markup import name, text
from pinnpoint.report.numbers import above, interval, near
from pinnpoint.report.units import bracketed

NOTE = (
    "By interval arithmetic over the components' intervals: as sure as the least sure of these, and wider than a proof "
    "of the quantity itself could be."
)
ASKED = {"accept": "Accepted", "limit": "Limit"}


def derived(data: Mapping[str, Any]) -> str:
    """Derived quantities with what they are made of."""
    rows = data.get("derived", [])
    if not rows:
        return ""
    asked = [key for key in ASKED if any(key in row["verdicts"] for row in rows)]
    columns = ["Quantity", "Prediction says", "Lies between", "", "± radius", *(ASKED[key] for key in asked)]
    head = "".join(f'<th scope="col">{c}</th>' if c else "<td></td>" for c in columns)
    body = "".join(_row(row, columns, asked) for row in rows)
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Derived"><table class="intervals">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row(row: Mapping[str, Any], columns: list[str], asked: list[str]) -> str:
    lower, upper = interval(row["lower"], row["upper"])
    bounded = row["radius"] is not None
    ends = f"{number(row['lower'], lower)}<span class='to'> … </span>{number(row['upper'], upper)}"
    cells = [
        number(row["value"], near(row["value"]), "said"),
        ends if bounded else "unbounded",
        whisker(row["lower"], row["upper"], row["value"]),
        number(row["radius"], above(row["radius"])),
    ]
    cells += [judgement({**row, "raw": None}, key) for key in asked]
    made = f"{text(row['kind'])} of {', '.join(name(part) for part in row['derived_from'])}"
    unit = text(bracketed(str(row.get("unit", ""))))
    first = f'<th scope="row">{name(row["name"])}{unit}<span class="where">{made}</span></th>'
    rest = "".join(
        f'<td data-label="{text(c)}"><div>{cell}</div></td>' for c, cell in zip(columns[1:], cells, strict=True)
    )
    return f"<tr>{first}{rest}</tr>"
