"""How sure a verdict is, in words: what is proved, and what holds with a confidence alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DECIDED = {"within": "within", "beyond": "beyond", "holds": "to hold", "violated": "violated"}
"""What is proved, by verdict."""


def sure(word: str, confidence: float | None = None, limit: str = "") -> str:
    """A verdict in words: proved, or with a confidence where one is given; undecided is neither.

    `limit` says what the prediction is within, or beyond.
    """
    if word not in DECIDED:
        return word
    proved, what = (f"{w} {limit}" if limit else w for w in (DECIDED[word], word))
    return f"proved {proved}" if confidence is None else f"{what} with confidence {share(confidence)}"


def bounds(limit: Mapping[str, float]) -> str:
    """A limit in words, with all digits of its ends: "0 to 0.2", "above 0", "below 0.2"."""
    ends = {word: repr(float(x)).removesuffix(".0") for word, x in limit.items()}
    return f"{ends['above']} to {ends['below']}" if len(ends) == 2 else " ".join(*ends.items())


def share(confidence: float) -> str:
    """A confidence; what is below 1 is not shown as 1."""
    short = f"{confidence:.12g}"
    return repr(float(confidence)) if short == "1" else short


def chance(row: Mapping[str, Any]) -> float | None:
    """The confidence of a certificate's row; None where its interval does not hang on a draw."""
    return float(row["confidence"]) if row["guarantee"] == "probabilistic" else None
