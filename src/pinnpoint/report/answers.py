"""Whether predictions are good enough, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pinnpoint.report.markup import data as number
from pinnpoint.report.markup import name
from pinnpoint.report.numbers import above, below, short
from pinnpoint.report.verdict import decided, off, truth

MOST_NAMED = 12
"""So many queries are named for each verdict."""
ANSWERS = {
    "beyond": ("negative", "proved beyond", "The prediction is proved to be off the {} by more than is accepted at"),
    "undecided": (
        "declared",
        "undecided",
        "Neither is proved, because the interval of the {} reaches to both sides, is unbounded or an estimate; a "
        "narrower proof may decide at",
    ),
    "within": ("verified", "proved within", "The prediction is proved to be off the {} by no more than is accepted at"),
}
MARKS = {"within": ("yes", "✓ proved within"), "beyond": ("no", "✗ proved beyond"), "undecided": ("", "? undecided:")}


def judgement(row: Mapping[str, Any]) -> str:
    """The verdict of one query, with what is accepted."""
    word = decided(row)
    if word is None:
        return "not asked"
    css, sign = MARKS[word]
    return f'<b class="{css}">{sign}</b> {number(row["accept"], short(row["accept"]))}'


def verdicts(data: Mapping[str, Any]) -> str:
    """Which predictions are good enough; nothing where nobody asked."""
    rows, items = [r for r in data["queries"] if decided(r)], []
    for word, (css, badge, words) in ANSWERS.items():
        mine = [r for r in rows if decided(r) == word]
        named = ", ".join(f"‘{name(r['name'])}’{_apart(r)}" for r in mine[:MOST_NAMED])
        more = f" and {len(mine) - MOST_NAMED} more" if len(mine) > MOST_NAMED else ""
        if mine:
            said = f"<b>{words.format(truth(mine[0]))}</b> {named}{more}."
            items.append(f'<li class="{css}"><span class="badge">{badge}</span><span>{said}</span></li>')
    return f'<ul class="claims answers">{"".join(items)}</ul>' if items else ""


def _apart(row: Mapping[str, Any]) -> str:
    """How far off, against what is accepted."""
    least, most = off(row)
    limit = short(row["accept"])
    if decided(row) == "beyond":
        return f" (off by at least {below(least)}, accepted {limit})"
    return f" (off by at most {above(most)}, accepted {limit})"
