"""A first-order deck of tetrahedra, in small field, made one of second order with tractions for forces at nodes."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np

from tests.support.written import large, value_of

EDGES = ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))


def fields(line: str) -> list[str]:
    """Of a card in small field."""
    return [line[k : k + 8].strip() for k in range(8, max(len(line), 8), 8)]


def second_order(text: str) -> str:
    """The same part: nodes in the middles of edges, held faces held there too, loaded faces under an even traction.

    The traction has the sum of the forces at nodes, all along x.
    """
    head, bulk = text.split("BEGIN BULK\n")
    kept: list[str] = []
    grid, cells = dict[int, Any](), dict[int, list[int]]()
    held, pushed, force, last, part = list[int](), set[int](), 0.0, "", 1
    for line in bulk.splitlines():
        name = line[:8].strip() or last
        last, row = name, fields(line)
        if name == "GRID":
            grid[int(row[0])] = np.array([float(value_of(v)) for v in row[2:5]])
        elif name == "CTETRA":
            cells[int(row[0])], part = [int(v) for v in row[2:6]], int(row[1])
        elif name == "FORCE":
            pushed.add(int(row[1]))
            force += float(value_of(row[3]))
            continue
        elif name == "SPC1" and (row[1] == "123456" or line[:8].strip() == ""):
            held += [int(v) for v in (row[2:] if row[1] == "123456" else row) if v]
            continue
        if name not in ("CTETRA", "ENDDATA"):
            kept.append(line)
    middle = {edge: max(grid) + 1 + k for k, edge in enumerate(sorted({e for c in cells.values() for e in edges(c)}))}
    lines = [large("GRID", n, "", *(0.5 * (grid[a] + grid[b])).tolist()) for (a, b), n in middle.items()]
    lines += [large("CTETRA", e, part, *c, *(middle[key] for key in edges(c))) for e, c in cells.items()]
    lines += tractions(grid, cells, pushed, force)
    ends = outer(cells, set(held))
    held += sorted({middle[tuple(sorted(pair))] for face in ends for pair in combinations(face, 2)})
    lines.append(large("SPC1", 1, 123456, *held))
    return head + "BEGIN BULK\n" + "\n".join([*kept, *lines, "ENDDATA", ""])


def edges(cell: list[int]) -> list[tuple[int, int]]:
    """In the deck's order."""
    return [tuple(sorted((cell[a], cell[b]))) for a, b in EDGES]


def outer(cells: dict[int, list[int]], nodes: set[int]) -> list[frozenset[int]]:
    """Boundary faces all of whose vertices are among the nodes."""
    count = Counter(frozenset(c) - {v} for c in cells.values() for v in c)
    return [face for face, n in count.items() if n == 1 and face <= nodes]


def tractions(grid: dict[int, Any], cells: dict[int, list[int]], pushed: set[int], force: float) -> list[str]:
    """PLOAD4 along x on the faces between pushed nodes, with so much force in all."""
    faces = set(outer(cells, pushed))
    places = [(e, v, frozenset(c) - {v}) for e, c in cells.items() for v in c if frozenset(c) - {v} in faces]
    corners = [[grid[v] for v in face] for _, _, face in places]
    area = sum(0.5 * float(np.linalg.norm(np.cross(b - a, c - a))) for a, b, c in corners)
    way = (0, 1.0, 0.0, 0.0)
    return [large("PLOAD4", 1, e, force / area, "", "", "", min(face), v, *way) for e, v, face in places]
