"""What was asked, whether predictions are good enough and whether limits are kept, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pinnpoint.report.headline import asking, decided, off, truth
from pinnpoint.report.markup import data as number
from pinnpoint.report.markup import name
from pinnpoint.report.numbers import above, below, interval, short
from pinnpoint.report.surety import bounds, chance, share, sure

MOST_NAMED = 12
"""So many queries are named for each verdict."""
NEITHER = (
    "declared",
    "Neither is proved, because the interval of the {truth} reaches to both sides, is unbounded or an estimate; a "
    "narrower proof may decide at",
)
ANSWERS = {
    "accept": {
        "beyond": ("negative", "The prediction is {surely}off the {truth} by more than is accepted at"),
        "undecided": NEITHER,
        "within": ("verified", "The prediction is {surely}off the {truth} by no more than is accepted at"),
    },
    "limit": {
        "violated": ("negative", "The {truth} is {surely}beyond its limit at"),
        "undecided": NEITHER,
        "holds": ("verified", "The {truth} is {surely}within its limit at"),
    },
}
MARKS = {"within": ("yes", "✓ {}"), "beyond": ("no", "✗ {}"), "undecided": ("", "? {}:")}
MARKS |= {"holds": MARKS["within"], "violated": MARKS["beyond"]}


def judgement(row: Mapping[str, Any], asked: str = "accept") -> str:
    """The verdict of one query, with what is accepted, or with the limit."""
    word = decided(row, asked)
    if word is None:
        return "not asked"
    css, sign = MARKS[word]
    what = bounds(row["limit"]) if asked == "limit" else number(row["accept"], short(row["accept"]))
    return f'<b class="{css}">{sign.format(sure(word, chance(row)))}</b> {what}'


def verdicts(data: Mapping[str, Any], asked: str = "accept") -> str:
    """Which predictions are good enough, or which limits are kept; nothing where nobody asked."""
    rows, items = asking(data, asked), []
    for word, (css, words) in ANSWERS[asked].items():
        mine = [r for r in rows if decided(r, asked) == word]
        named = ", ".join(f"‘{name(r['name'])}’{_apart(r, asked)}" for r in mine[:MOST_NAMED])
        more = f" and {len(mine) - MOST_NAMED} more" if len(mine) > MOST_NAMED else ""
        if mine:
            luck = chance(mine[0])
            surely = "proved to be " if luck is None else f"with confidence {share(luck)} "
            said = f"<b>{words.format(truth=truth(mine[0]), surely=surely)}</b> {named}{more}."
            badge = f'<span class="badge">{sure(word, luck)}</span>'
            items.append(f'<li class="{css}">{badge}<span>{said}</span></li>')
    return f'<ul class="claims answers">{"".join(items)}</ul>' if items else ""


def _apart(row: Mapping[str, Any], asked: str) -> str:
    """How far off, against what is accepted; or the interval, against the limit."""
    if asked == "limit":
        lower, upper = interval(row["lower"], row["upper"])
        where = "unbounded" if row["radius"] is None else f"between {lower} and {upper}"
        return f" ({where}, limit: {bounds(row['limit'])})"
    least, most = off(row)
    limit = short(row["accept"])
    if decided(row) == "beyond":
        return f" (off by at least {below(least)}, accepted {limit})"
    return f" (off by at most {above(most)}, accepted {limit})"
