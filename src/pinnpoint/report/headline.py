"""The first lines of a report: what was proved, and how far off the prediction is."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pinnpoint.report.markup import name, text
from pinnpoint.report.numbers import above, below, interval, near, percent
from pinnpoint.report.surety import chance, share
from pinnpoint.systems.targets import BY_TARGET, MESH

MARKS = {"good": "✓", "bad": "!", "open": "?", "off": "≠"}
FAR = 0.01
"""A prediction that is proved to be off by this share of the largest value is worth the first line."""
SHARP = 1e-6
"""An interval narrower than this share of its value is told by its radius."""
ERRORS = {
    "everywhere": "largest error",
    "l2-error": "error in the mean",
    "energy-error": "error in the energy norm",
}
"""Queries whose intervals hold an error of the prediction, and what it is called."""
OF = {"continuous": "", "discrete": " of the discrete system"}
"""What a headline's intervals are of, by target, where no mesh is known."""
WORTH = {
    "deterministic": "by proof",
    "probabilistic": "all together with the stated confidence, over the method’s own random draws",
    "estimate": "as an estimate: at least one ingredient is not proved",
}


@dataclass(frozen=True)
class Verdict:
    """In one word, one line, and a sentence."""

    kind: str
    headline: str
    story: str

    def html(self) -> str:
        """The card at the top."""
        mark = f'<span class="mark" aria-hidden="true">{MARKS[self.kind]}</span>'
        return (
            f'<section class="verdict {self.kind}" aria-labelledby="verdict">{mark}<div>'
            f'<h2 id="verdict">{self.headline}'
            f"</h2><p>{self.story}</p></div></section>"
        )


def said(row: Mapping[str, Any]) -> float | None:
    """What the prediction says: the model's own output, or that of its projection."""
    value: float | None = row["value"] if row.get("raw") is None else row["raw"]
    return value


def an_error(row: Mapping[str, Any]) -> str | None:
    """What a row's interval holds, where it is an error of the prediction and no value of the solution."""
    return ERRORS.get(row.get("kind", ""))


def stated(row: Mapping[str, Any]) -> float | None:
    """What the prediction says, to be shown; of its own error it says nothing."""
    return None if an_error(row) else said(row)


def truth(row: Mapping[str, Any]) -> str:
    """What an interval holds."""
    return "true value" if row["target"] == "continuous" else "exact discrete value"


def off(row: Mapping[str, Any]) -> tuple[float, float | None]:
    """The prediction is off by at least, and at most; no upper bound is None."""
    here = said(row)
    if row["radius"] is None or here is None:
        return 0.0, None
    apart = min(abs(here - row["center"]), sys.float_info.max)
    least = apart * (1.0 - 2.0**-50) - row["radius"] * (1.0 + 2.0**-50)
    most = (apart + row["radius"]) * (1.0 + 2.0**-50)  # of derived quantities, which have no radius there
    return max(0.0, least), row.get("value_radius", most) if row.get("raw") is None else row["raw_radius"]


def missed(row: Mapping[str, Any]) -> bool:
    """Whether an interval is wider than its tolerance, or unbounded."""
    tolerance = row.get("tolerance")
    return row["radius"] is None or (tolerance is not None and row["radius"] > tolerance)


def decided(row: Mapping[str, Any], asked: str = "accept") -> str | None:
    """The verdict on the prediction, or with "limit" on the true value; None: not asked."""
    verdict: str | None = row.get("verdicts", {}).get(asked)
    return verdict


def asking(data: Mapping[str, Any], asked: str) -> list[Mapping[str, Any]]:
    """Queries and derived quantities that were asked for a verdict."""
    return [row for row in (*data["queries"], *data.get("derived", [])) if decided(row, asked)]


def telling(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """A row that says what the intervals are worth: a bounded one, where there is one."""
    return next((row for row in rows if row["radius"] is not None), rows[0])


def judge(data: Mapping[str, Any]) -> Verdict:
    """From the rows of a certificate."""
    rows = data["queries"]
    wide, endless = [r for r in rows if missed(r)], [r for r in rows if r["radius"] is None]
    asked = [r for r in rows if r.get("tolerance") is not None]
    guarantee = telling(rows)["guarantee"]
    noun = ("interval" if len(rows) == 1 else "intervals") + _of(data)
    if endless:
        headline = f"{len(endless)} of {len(rows)} {noun} could not be bounded"
    elif wide:
        headline = f"{len(wide)} of {len(rows)} {noun} {'is' if len(wide) == 1 else 'are'} wider than asked"
    else:
        word = {"deterministic": "proved", "probabilistic": "certified"}.get(guarantee, "estimated")
        narrow = ", all within tolerance" if len(asked) == len(rows) > 1 else ", within tolerance" if asked else ""
        headline = f"{len(rows)} {noun} {word}{narrow}"
    accepted, limited = ([str(decided(row, asked)) for row in asking(data, asked)] for asked in ("accept", "limit"))
    words = {*accepted, *limited}
    kind = "open" if guarantee == "estimate" or "undecided" in words else "good"
    kind = "bad" if wide or words & {"beyond", "violated"} else kind
    if accepted:
        headline += f"; {_decisions(accepted, len(rows) + len(data.get('derived', [])), chance(telling(rows)))}"
    worst, share = _furthest(rows)
    if worst is not None and share >= FAR and guarantee != "estimate":
        kind = "off" if kind == "good" and not limited else kind
        headline += f"; at ‘{name(worst['name'])}’ the prediction is off by {percent(share)}"
    if limited:
        headline = f"{_limits(limited, chance(telling(rows)))}; {headline}"
    return Verdict(kind, headline, f"{_worst(rows)} {_worth(telling(rows), data)}{_left(rows)}")


def _of(data: Mapping[str, Any]) -> str:
    """What a headline's intervals are of, where it is not the PDE's solution."""
    return " of the discrete solution" if on_a_mesh(data) else OF.get(data["queries"][0]["target"], "")


def on_a_mesh(data: Mapping[str, Any]) -> bool:
    """Whether the intervals are of the discrete solution on a mesh, so that the mesh's own part is not in them."""
    return data.get("interval_of") == MESH


def left_by_mesh(row: Mapping[str, Any]) -> float | None:
    """The estimate of what the mesh leaves of a query."""
    estimate: float | None = row.get("mesh_estimate")
    return estimate


def _left(rows: list[Mapping[str, Any]]) -> str:
    """What the mesh leaves, where it is largest against the value."""
    known = [r for r in rows if left_by_mesh(r) is not None]
    if not known:
        return ""
    top = max(abs(r["center"]) for r in known)
    scale = {id(r): max(abs(r["center"]), 0.1 * top) or 1.0 for r in known}
    row = max(known, key=lambda r: r["mesh_estimate"] / scale[id(r)])
    share = percent(row["mesh_estimate"] / scale[id(row)])
    return (
        f" What the mesh leaves is not in them: at ‘{name(row['name'])}’ about <b>{near(row['mesh_estimate'], 2)}</b>, "
        f"{share} of the value, an estimate."
    )


def _decisions(verdicts: list[str], rows: int, confidence: float | None) -> str:
    """How many predictions are proved to be good enough, or not to be; or with which confidence they are."""
    count = {word: verdicts.count(word) for word in ("within", "beyond", "undecided")}
    if count["within"] == len(verdicts):
        where = " everywhere it was asked" if len(verdicts) > 1 else ""
        where = f" at {len(verdicts)} of {rows} queries, where it was asked" if len(verdicts) < rows else where
        if confidence is not None:
            return f"the prediction is good enough{where} with confidence {share(confidence)}"
        return f"the prediction is proved good enough{where}"
    proved, luck = ("proved ", "") if confidence is None else ("", f", with confidence {share(confidence)}")
    parts = [f"{count[w]} {proved}{w} what is accepted" for w in ("beyond", "within") if count[w]]
    parts += [f"{count['undecided']} undecided"] if count["undecided"] else []
    return f"of {len(verdicts)} prediction{'s' if len(verdicts) > 1 else ''} {', '.join(parts)}{luck}"


def _limits(verdicts: list[str], confidence: float | None) -> str:
    """How many limits are proved to hold, or to be violated; or with which confidence."""
    proved, luck = ("proved ", "") if confidence is None else ("", f" with confidence {share(confidence)}")
    if set(verdicts) == {"holds"}:
        one = len(verdicts) == 1
        holds = ("holds" if one else "hold") if luck else f"{'is' if one else 'are'} proved to hold"
        return f"{'the limit' if one else f'all {len(verdicts)} limits'} {holds}{luck}"
    words = {"violated": f"{proved}violated", "holds": "proved to hold" if proved else "held", "undecided": "undecided"}
    parts = [f"{verdicts.count(word)} {text}" for word, text in words.items() if word in verdicts]
    return f"of {len(verdicts)} limit{'s' if len(verdicts) > 1 else ''} {', '.join(parts)}{luck}"


def _furthest(rows: list[Mapping[str, Any]]) -> tuple[Mapping[str, Any] | None, float]:
    """The query without `accept` where the prediction is proved to be furthest off, by which share of the value there.

    Where the value is small against the others, they are what counts.
    """
    bounded = [r for r in rows if r["radius"] is not None and not an_error(r)]
    row = max((r for r in bounded if not decided(r)), key=lambda r: off(r)[0], default=None)
    if row is None:
        return None, 0.0
    scale = max(abs(row["center"]), 0.1 * max(abs(r["center"]) for r in bounded))
    return row, off(row)[0] / scale if scale > 0.0 else 0.0


def _worst(rows: list[Mapping[str, Any]]) -> str:
    """Where the prediction is proved to be furthest off."""
    bounded = [r for r in rows if r["radius"] is not None]
    if not bounded:
        return "Nothing is proved about the prediction."
    whole = next((r for r in bounded if r.get("kind") == "everywhere"), None)
    if whole is not None or all(map(an_error, bounded)):
        return _own_error(bounded[0] if whole is None else whole)
    bounded = [r for r in bounded if not an_error(r)]
    row = max(bounded, key=lambda r: off(r)[0])
    least = off(row)[0]
    if least <= 0.0:
        row = max(bounded, key=lambda r: off(r)[1] or 0.0)
        return (
            f"The prediction lies inside every interval; it is off by at most <b>{above(off(row)[1])}</b>, "
            f"at ‘{name(row['name'])}’."
        )
    scale = abs(row["center"])
    if row["radius"] < SHARP * scale:
        truth_words = f"is {near(row['center'])}, known to ±{above(row['radius'], 2)}"
    else:
        truth_words = "lies between {} and {}".format(*interval(row["lower"], row["upper"]))
    share = f", {percent(least / scale)} of the value" if scale > 0.0 and 1e-3 < least / scale < 100.0 else ""
    return (
        f"At ‘{name(row['name'])}’ the prediction says {near(said(row))}, and the {truth(row)} {truth_words}: "
        f"it is off by at least <b>{below(least)}</b>{share}."
    )


def _own_error(row: Mapping[str, Any]) -> str:
    """How wrong the prediction is over the whole domain."""
    lower, upper = interval(row["lower"], row["upper"])
    lies = f"is at most <b>{upper}</b>" if row["lower"] <= 0.0 else f"lies between <b>{lower}</b> and <b>{upper}</b>"
    return f"The prediction’s {an_error(row)}, over the whole domain, {lies}."


def _worth(row: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    sure = f" (confidence {share(row['confidence'])})" if row["guarantee"] == "probabilistic" else ""
    rounding = "rounding included" if row["rounding"] == "covered" else "rounding not covered"
    target = text(data.get("interval_of") or BY_TARGET[row["target"]][0])
    return f"The intervals hold {target}, {WORTH.get(row['guarantee'], '')}{sure}, {rounding}."
