"""The section of a case file that says what curves boundary groups are."""

from __future__ import annotations

from typing import Any

from pinnpoint.base.errors import InputError
from pinnpoint.cases.kinds import Kind
from pinnpoint.cases.tables import Table
from pinnpoint.mesh.bent.shapes import Circle, Cylinder, Ellipse, LevelSet, Shape, Sphere

WORDS = ("circle", "ellipse", "level", "sphere", "cylinder")


def read_geometry(table: Table, kind: Kind[Any]) -> dict[str, Shape]:
    """Curves by group."""
    found = {group: _shape(Table(table.key(group), table.take(group), table.folder)) for group in table.data}
    if found and not kind.curved:
        raise InputError(
            f"geometry: curved boundaries are not supported for kind = '{kind.name}'; without it intervals are for the "
            "domain that the mesh covers, and the certificate says how far it is from curves"
        )
    return found


def _shape(table: Table) -> Shape:
    given = [word for word in WORDS if table.has(word)]
    if len(given) != 1:
        raise InputError(f"{table.name}: give exactly one of {', '.join(WORDS)}")
    word = given[0]
    made: Shape
    if word == "level":
        made = LevelSet(table.expression("level"))
    elif word == "ellipse":
        made = Ellipse(table.take("ellipse"), table.take("axes"), table.number("angle", 0.0))
    elif word == "cylinder":
        made = Cylinder(table.take("cylinder"), table.take("axis"), table.number("radius", sign="positive"))
    else:
        made = (Circle if word == "circle" else Sphere)(table.take(word), table.number("radius", sign="positive"))
    table.done()
    return made
