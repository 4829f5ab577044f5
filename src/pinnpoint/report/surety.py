"""How sure a verdict is, in words: what is proved, and what holds with a confidence alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DECIDED = ("within", "beyond")


def sure(word: str, confidence: float | None = None, limit: str = "") -> str:
    """A verdict in words: proved, or with a confidence where one is given; undecided is neither.

    `limit` says what the prediction is within, or beyond.
    """
    if word not in DECIDED:
        return word
    what = f"{word} {limit}" if limit else word
    return f"proved {what}" if confidence is None else f"{what} with confidence {share(confidence)}"


def share(confidence: float) -> str:
    """A confidence; what is below 1 is not shown as 1."""
    short = f"{confidence:.12g}"
    return repr(float(confidence)) if short == "1" else short


def chance(row: Mapping[str, Any]) -> float | None:
    """The confidence of a certificate's row; None where its interval does not hang on a draw."""
    return float(row["confidence"]) if row["guarantee"] == "probabilistic" else None
