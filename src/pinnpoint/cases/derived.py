"""Queries of norms and principal values: what they follow from is known once the mesh is."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from pinnpoint.base.errors import InputError
from pinnpoint.cases.goals import AXES, require_different
from pinnpoint.cases.specs import Case, DerivedSpec, QuerySpec
from pinnpoint.systems.derived import DERIVED, MAGNITUDE, PRINCIPAL, VON_MISES, Derived, said
from pinnpoint.systems.queries import Queries

WIDEST = {
    MAGNITUDE: {2: math.sqrt(2.0), 3: math.sqrt(3.0)},
    VON_MISES: {2: 3.5, 3: math.sqrt(13.0)},
    PRINCIPAL: {2: 2.0, 3: 3.0},
}
"""By how much, at most, the interval of a derived quantity is wider than the widest one of its components."""


def expanded(case: Case, dim: int) -> Case:
    """The case with the components' queries in the place of derived ones, which are then listed by themselves."""
    if not any(query.kind in DERIVED for query in case.queries):
        return case
    queries, derived = list[QuerySpec](), list[DerivedSpec]()
    for query in case.queries:
        if query.kind not in DERIVED:
            queries.append(query)
            continue
        if query.at is not None and len(query.at) != dim:
            raise InputError(f"query '{query.name}': at: must have {dim} coordinates; got {list(query.at)}")
        parts = [_shared(queries, part) for part in components(query, dim, case.certificate.tolerance)]
        limits = (query.tolerance, case.certificate.accept if query.accept is None else query.accept)
        of = tuple(part.name for part in parts)
        derived.append(DerivedSpec(query.name, query.kind, query.at, query.group, *limits, of, query.limit))
    require_different([*(q.name for q in queries), *(one.name for one in quantities(derived, dim))])
    told = {
        "queries": [_plain(query) for query in queries],
        "derived": [row for one in derived for row in _rows(one, dim)],
    }
    return replace(case, queries=tuple(queries), derived=tuple(derived), resolved={**case.resolved, **told})


def _shared(queries: list[QuerySpec], part: QuerySpec) -> QuerySpec:
    """The same component of another derived quantity at the same place, with the narrower tolerance, or a new one."""
    for i, other in enumerate(queries):
        if replace(other, name=part.name, tolerance=part.tolerance) == part and other.name.endswith(
            f" {part.component}"
        ):
            limits = [limit for limit in (other.tolerance, part.tolerance) if limit is not None]
            queries[i] = replace(other, tolerance=min(limits, default=None))
            return queries[i]
    queries.append(part)
    return part


def components(query: QuerySpec, dim: int, common: float | None) -> list[QuerySpec]:
    """What a derived quantity is made of; its tolerance is met where all of theirs are."""
    limit = common if query.tolerance is None else query.tolerance
    limit = None if limit is None else limit / (WIDEST[query.kind][dim] * (1.0 + 1e-9))
    kind, words = "stress", [AXES[i] + AXES[j] for i in range(dim) for j in range(i, dim)]
    if query.kind == MAGNITUDE:
        kind, words = "point", list(AXES[:dim])
    return [
        QuerySpec(f"{query.name} {word}", kind, query.at, None, query.group, word, tolerance=limit) for word in words
    ]


def quantities(derived: list[DerivedSpec] | tuple[DerivedSpec, ...], dim: int) -> list[Derived]:
    """As certificates have them, but for Poisson's ratio; a query for principal values has one for each axis."""
    found = []
    for one in derived:
        asked: dict[str, Any] = {"accept": one.accept, "limit": one.limit}
        if one.kind == PRINCIPAL:
            found += [Derived(f"{one.name} {k}", one.kind, one.of, order=k, **asked) for k in range(1, dim + 1)]
        else:
            found.append(Derived(one.name, one.kind, one.of, **asked))
    return found


def told(case: Case, queries: Queries) -> Case:
    """The case with Poisson's ratios where they count."""
    if not case.derived:
        return case
    rows = zip(case.resolved["derived"], queries.derived, strict=True)
    return replace(case, resolved={**case.resolved, "derived": [row | said(one) for row, one in rows]})


def _rows(spec: DerivedSpec, dim: int) -> list[dict[str, Any]]:
    """As case.json has what follows from queries, but for Poisson's ratio."""
    own = {key: value for key, value in _plain(spec).items() if key in ("at", "group", "tolerance")}
    return [said(one) | own for one in quantities((spec,), dim)]


def _plain(spec: QuerySpec | DerivedSpec) -> dict[str, Any]:
    """As case.json has it."""
    found = {k: v for k, v in vars(spec).items() if v is not None}
    found |= {} if spec.limit is None else {"limit": spec.limit.said()}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}
