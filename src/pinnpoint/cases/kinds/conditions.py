"""Values on boundary groups, as the tables of all kinds give them."""

from __future__ import annotations

from pinnpoint.base.errors import InputError
from pinnpoint.cases.tables import SPACE, Table, Value, components
from pinnpoint.formulas.expressions import Expression


def read_conditions(
    table: Table, *, vector: bool = False, free: bool = False, variables: tuple[str, ...] = SPACE
) -> dict[str, Value]:
    """Group → number, formula or one for each component; with `free`, components may be left alone."""
    conditions: dict[str, Value] = {}
    for group in table.data:
        value = table.take(group)
        if isinstance(value, list) and not vector:
            raise InputError(f"{table.key(group)}: has one component; give a number or a formula, not a list")
        conditions[group] = components(table.key(group), value, free=free, variables=variables)
        if isinstance(value, list) and all(v is None for v in conditions[group]):  # type: ignore[union-attr]
            raise InputError(f"{table.key(group)}: every component is free, so nothing is fixed; remove it")
    return conditions


def read_robin(table: Table, variables: tuple[str, ...] = SPACE) -> dict[str, tuple[Expression, Expression]]:
    """Group → coefficient and value, each a number or a formula; the value may have further variables."""
    found = {}
    for group in table.data:
        inner = Table(table.key(group), table.take(group), table.folder)
        found[group] = (inner.expression("coefficient"), inner.expression("value", 0.0, variables))
        inner.done()
    return found


def read_periodic(table: Table) -> dict[str, str]:
    """Group → the group it is glued to."""
    return {group: table.text(group) for group in table.data}


def word_used(table: Table, word: str, other: str) -> str:
    """Which of two names for the same thing the file uses."""
    if table.has(word):
        table.refuse([other], f"is another word for {table.key(word)}; give one of them")
    table.known.extend((word, other))
    return other if table.has(other) else word
