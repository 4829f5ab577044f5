"""All studies, in the order of the paper."""

from __future__ import annotations

from difflib import get_close_matches

from pinnpoint.base.errors import InputError
from pinnpoint_paper import (
    amortized,
    beyond,
    bracket,
    bracket_family,
    compatibility,
    inexact,
    linear_calibration,
    localization,
    nonlinear_root,
    nonlinear_stationary,
    points_3d,
    randomized,
    raw_corrected,
    scoreboard,
    transfer_1d,
)
from pinnpoint_paper.study import Study

STUDIES: tuple[Study, ...] = (
    compatibility.STUDY,
    linear_calibration.STUDY,
    transfer_1d.STUDY,
    points_3d.STUDY,
    bracket.STUDY,
    bracket_family.STUDY,
    localization.STUDY,
    randomized.STUDY,
    nonlinear_root.STUDY,
    nonlinear_stationary.STUDY,
    inexact.STUDY,
    raw_corrected.STUDY,
    amortized.STUDY,
    beyond.STUDY,
    scoreboard.STUDY,
)


def find(names: list[str]) -> list[Study]:
    """Studies by name, in the order of the paper; unknown names are refused."""
    known = {study.name: study for study in STUDIES}
    for name in names:
        if name not in known:
            close = get_close_matches(name, known, 1)
            hint = f"; did you mean '{close[0]}'?" if close else ""
            raise InputError(f"study: unknown name '{name}'{hint} (known: {', '.join(known)})")
    return [study for study in STUDIES if study.name in names]
