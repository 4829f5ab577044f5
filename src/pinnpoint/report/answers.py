"""Whether predictions are good enough, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pinnpoint.report.markup import data as number
from pinnpoint.report.markup import name
from pinnpoint.report.numbers import above, below, short
from pinnpoint.report.surety import chance, share, sure
from pinnpoint.report.verdict import decided, off, truth

MOST_NAMED = 12
"""So many queries are named for each verdict."""
ANSWERS = {
    "beyond": ("negative", "The prediction is {surely}off the {truth} by more than is accepted at"),
    "undecided": (
        "declared",
        "Neither is proved, because the interval of the {truth} reaches to both sides, is unbounded or an estimate; a "
        "narrower proof may decide at",
    ),
    "within": ("verified", "The prediction is {surely}off the {truth} by no more than is accepted at"),
}
MARKS = {"within": ("yes", "✓ {}"), "beyond": ("no", "✗ {}"), "undecided": ("", "? {}:")}


def judgement(row: Mapping[str, Any]) -> str:
    """The verdict of one query, with what is accepted."""
    word = decided(row)
    if word is None:
        return "not asked"
    css, sign = MARKS[word]
    return f'<b class="{css}">{sign.format(sure(word, chance(row)))}</b> {number(row["accept"], short(row["accept"]))}'


def verdicts(data: Mapping[str, Any]) -> str:
    """Which predictions are good enough; nothing where nobody asked."""
    rows, items = [r for r in data["queries"] if decided(r)], []
    for word, (css, words) in ANSWERS.items():
        mine = [r for r in rows if decided(r) == word]
        named = ", ".join(f"‘{name(r['name'])}’{_apart(r)}" for r in mine[:MOST_NAMED])
        more = f" and {len(mine) - MOST_NAMED} more" if len(mine) > MOST_NAMED else ""
        if mine:
            luck = chance(mine[0])
            surely = "proved to be " if luck is None else f"with confidence {share(luck)} "
            said = f"<b>{words.format(truth=truth(mine[0]), surely=surely)}</b> {named}{more}."
            badge = f'<span class="badge">{sure(word, luck)}</span>'
            items.append(f'<li class="{css}">{badge}<span>{said}</span></li>')
    return f'<ul class="claims answers">{"".join(items)}</ul>' if items else ""


def _apart(row: Mapping[str, Any]) -> str:
    """How far off, against what is accepted."""
    least, most = off(row)
    limit = short(row["accept"])
    if decided(row) == "beyond":
        return f" (off by at least {below(least)}, accepted {limit})"
    return f" (off by at most {above(most)}, accepted {limit})"
