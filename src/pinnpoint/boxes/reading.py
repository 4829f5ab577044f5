"""What is said of a box, as it is read: sides, conditions at the ends, numbers for each axis, and data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pinnpoint.base.arrays import number
from pinnpoint.base.errors import InputError
from pinnpoint.boxes.equation import NAMES
from pinnpoint.boxes.kernels import Axis
from pinnpoint.formulas.expressions import parse
from pinnpoint.taylor.inputs import Data, enclosed

KINDS = ("dirichlet", "neumann", "periodic")
Given = float | str | Mapping[str, float | str]


def ends_of(boundary: str | Sequence[Any], d: int) -> list[tuple[str, str]]:
    """The condition at both ends of every axis."""
    each = [boundary] * d if isinstance(boundary, str) else list(boundary)
    if len(each) != d:
        raise InputError(f"boundary: give one kind, or one for each of the {d} axes; got {len(each)}")
    found = []
    for one in each:
        pair = (one, one) if isinstance(one, str) else tuple(one)
        if len(pair) != 2 or any(end not in KINDS for end in pair) or (("periodic" in pair) and pair[0] != pair[1]):
            raise InputError(f"boundary: must be {', '.join(map(repr, KINDS))}, or two of the first; got {one!r}")
        found.append((str(pair[0]), str(pair[1])))
    return found


def each_of(name: str, given: Any, d: int) -> list[float]:
    """One number for each axis."""
    each = list(given) if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str) else [given] * d
    if len(each) != d:
        raise InputError(f"{name}: give one number for each of the {d} axes; got {len(each)}")
    return [number(f"{name}[{i}]", v, above=0.0 if name == "diffusion" else None) for i, v in enumerate(each)]


def axis_of(i: int, side: Sequence[float], ends: tuple[str, str], kappa: float = 1.0, drift: float = 0.0) -> Axis:
    """One axis, or a refusal."""
    if not isinstance(side, Sequence | np.ndarray) or len(side) != 2:
        raise InputError(f"sides[{i}]: must be a pair [low, high]; got {side!r}")
    low, high = number(f"sides[{i}][0]", side[0]), number(f"sides[{i}][1]", side[1])
    if not low < high:
        raise InputError(f"sides[{i}]: must increase; got [{low:g}, {high:g}]")
    if drift and "neumann" in ends:
        raise InputError(f"convection[{i}]: must be 0 along an axis with Neumann ends; no kernel is known there")
    peclet = abs(drift) * (high - low) / kappa
    if drift and ends[0] == "dirichlet" and peclet > 60.0:
        raise InputError(
            f"convection[{i}]: |b|L/κ = {peclet:.15g} is above 60 between Dirichlet ends, where images would cancel; "
            f"take a side of at most {60.0 * kappa / abs(drift):.4g}, or a mesh, pinnpoint.fem.Parabolic"
        )
    return Axis(low, high, ends, kappa, drift)


def data_of(name: str, given: Any, variables: Sequence[str]) -> Any:
    """A number or formula; other functions cannot be enclosed."""
    if isinstance(given, str | int | float) and not isinstance(given, bool):
        return parse(given, variables, name=name)
    if not enclosed(given):
        raise InputError(f"{name}: must be a number or a formula in {', '.join(variables)}; got {type(given).__name__}")
    return given


def faces_of(
    axes: Sequence[Axis], names: Sequence[str], dirichlet: Given, neumann: Given
) -> dict[tuple[int, bool], Data]:
    """Data of every face that is not periodic."""
    found: dict[tuple[int, bool], Data] = {}
    known: dict[str, set[str]] = {"dirichlet": set(), "neumann": set()}
    for i, axis in enumerate(axes):
        for upper in (False, True):
            kind = axis.ends[int(upper)]
            if kind == "periodic":
                continue
            said, face = (dirichlet if kind == "dirichlet" else neumann), f"{NAMES[i]}{'+' if upper else '-'}"
            known[kind].add(face)
            value = said.get(face, 0.0) if isinstance(said, Mapping) else said
            found[i, upper] = data_of(f"{kind} on {face}", value, names)
    for kind, said in (("dirichlet", dirichlet), ("neumann", neumann)):
        for face in said if isinstance(said, Mapping) else ():
            if face not in known[kind]:
                raise InputError(f"{kind}: {face!r} is no {kind} face of this box; these are {sorted(known[kind])}")
    return found
