"""The kinds of PDEs that case files know; docs/kinds.md says how to add one."""

from __future__ import annotations

from typing import Any

from pinnpoint.base.errors import InputError
from pinnpoint.cases.kinds import elasticity, parabolic, reaction_diffusion, semilinear
from pinnpoint.cases.kinds.base import LINEAR, NONLINEAR, Kind, ProblemSpec, Setting, TimeSpec

__all__ = ["KINDS", "LINEAR", "NONLINEAR", "Kind", "ProblemSpec", "Setting", "TimeSpec", "register"]
MODULES = (reaction_diffusion, elasticity, semilinear, parabolic)
KINDS: dict[str, Kind[Any]] = {module.KIND.name: module.KIND for module in MODULES}
"""By name."""


def register(kind: Kind[Any]) -> Kind[Any]:
    """Make a kind known to case files, in this process."""
    if not isinstance(kind, Kind):
        raise InputError(f"kind: must be a Kind; got {type(kind).__name__}")
    if kind.name in KINDS:
        raise InputError(f"kind: '{kind.name}' is known already; choose another name")
    KINDS[kind.name] = kind
    return kind
