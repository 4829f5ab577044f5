"""Coordinate systems of decks: CORD2R, CORD2C and CORD2S, in terms of each other, to the basic one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError
from pinnpoint.io.decks.nastran.cards import Cards

KINDS = ("CORD2R", "CORD2C", "CORD2S")


@dataclass(frozen=True, eq=False)
class System:
    """Origin and axes (rows) in the basic system, and the kind: R, C or S."""

    kind: str
    origin: Vector
    axes: Vector

    def to_basic(self, X: Vector) -> Vector:
        """Points (n, 3); angles are in degrees."""
        if self.kind == "C":
            angle = np.radians(X[:, 1])
            X = np.stack([X[:, 0] * np.cos(angle), X[:, 0] * np.sin(angle), X[:, 2]], axis=1)
        elif self.kind == "S":
            theta, phi = np.radians(X[:, 1]), np.radians(X[:, 2])
            flat = X[:, 0] * np.sin(theta)
            X = np.stack([flat * np.cos(phi), flat * np.sin(phi), X[:, 0] * np.cos(theta)], axis=1)
        return np.asarray(self.origin + X @ self.axes)


BASIC = System("R", np.zeros(3), np.eye(3))


def read_systems(cards: dict[str, Cards]) -> dict[int, System]:
    """All systems by number; 0 is the basic one."""
    todo: dict[int, tuple[Cards, int, int, Vector]] = {}
    for name in KINDS:
        table = cards.get(name)
        if table is None:
            continue
        points = np.stack([table.real(k, 0.0) for k in range(2, 11)], axis=1).reshape(-1, 3, 3)
        for i, (number, basis) in enumerate(zip(table.whole(0), table.whole(1, 0), strict=True)):
            if int(number) in todo or number < 1:
                raise table.refuse(i, f"system {int(number)} is given twice or is not positive")
            todo[int(number)] = (table, i, int(basis), points[i])
    done = {0: BASIC}
    while todo:
        ready = [number for number, (_, _, basis, _) in todo.items() if basis in done]
        if not ready:
            table, i, basis, _ = next(iter(todo.values()))
            raise table.refuse(i, f"its system {basis} is not given, or leads back to itself")
        for number in ready:
            table, i, basis, corners = todo.pop(number)
            a, b, c = done[basis].to_basic(corners)
            z = b - a
            y = np.cross(z, c - a)
            with np.errstate(all="ignore"):
                z, y = z / np.linalg.norm(z), y / np.linalg.norm(y)
            if not (np.all(np.isfinite(z)) and np.all(np.isfinite(y))):
                raise table.refuse(i, "its three points lie on a line")
            done[number] = System(table.name[-1], a, np.stack([np.cross(y, z), y, z]))
    return done


def system_of(systems: dict[int, System], number: int, what: str) -> System:
    """A system by number."""
    if number not in systems:
        raise InputError(f"{what}: the coordinate system {number} is not given as {', '.join(KINDS)}")
    return systems[number]
