"""Limits of true values: what a value must not fall below, and what it must not exceed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from pinnpoint.base.arrays import number
from pinnpoint.base.errors import InputError

WORDS = ("above", "below")
FORM = "{'above': …, 'below': …} with one of them or both, or a pair (above, below)"


class Limit(NamedTuple):
    """above ≤ value ≤ below; infinite where there is no such end."""

    above: float = -math.inf
    below: float = math.inf

    def said(self) -> dict[str, float]:
        """As certificates and cases have it: the finite ends."""
        return {word: end for word, end in zip(WORDS, self, strict=True) if math.isfinite(end)}


def as_limit(name: str, given: Any) -> Limit | None:
    """A limit from a mapping or a pair; None where nothing is asked."""
    if isinstance(given, Mapping):
        for word in given:
            if word not in WORDS:
                close = get_close_matches(str(word), WORDS, 1)
                hint = f"; did you mean '{close[0]}'?" if close else ""
                raise InputError(f"{name}.{word}: unknown key{hint} (known: above, below)")
        if not given:
            raise InputError(f"{name}: is empty; give above, below or both")
        pair = [given.get(word) for word in WORDS]
        for word, end, none in zip(WORDS, pair, Limit(), strict=True):
            if isinstance(end, float) and end == none:
                raise InputError(
                    f"{name}.{word}: must be a finite number; got {end!r}, which limits nothing; leave it out"
                )
    elif isinstance(given, Sequence | np.ndarray) and not isinstance(given, str | bytes) and len(given) == 2:
        pair = list(given)
    elif given is None:
        return None
    else:
        raise InputError(f"{name}: must be {FORM}; got {str(given)[:60]!r}")
    found = Limit(*(_end(f"{name}.{w}", x, none) for w, x, none in zip(WORDS, pair, Limit(), strict=True)))
    if found.above > found.below:
        raise InputError(
            f"{name}: above = {found.above!r} is larger than below = {found.below!r}, and no value is between them"
        )
    return found if found.said() else None


def is_one(given: Any) -> bool:
    """Whether this is one limit, not one per query: a mapping, or a pair with a number in it."""
    if isinstance(given, Mapping | Limit):
        return True
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str | bytes) or len(given) != 2:
        return False
    flat = [x is None or (np.ndim(x) == 0 and not isinstance(x, Mapping)) for x in given]
    return all(flat) and any(x is not None for x in given)


def _end(name: str, given: Any, none: float) -> float:
    """A finite number, or no end."""
    nothing = given is None or (isinstance(given, float | np.floating) and given == none)
    return none if nothing else number(name, given)
