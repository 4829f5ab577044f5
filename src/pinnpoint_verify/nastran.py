"""Nastran decks of tetrahedra, read by the checker: GRID, CTETRA, PSOLID, MAT1, SPC, SPC1, SPCADD, FORCE and LOAD."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from pinnpoint_verify.decks import Solid, directions
from pinnpoint_verify.mesh_files import MeshFile, Unread
from pinnpoint_verify.reader import Array, need

NUMBER = re.compile(r"([0-9.])([+-][0-9]+)$")
"""A number of Nastran without the letter of its exponent."""
CARDS = {"GRID", "CTETRA", "PSOLID", "MAT1", "SPC", "SPC1", "SPCADD", "FORCE", "LOAD"}
QUIET = {"PARAM", "CONM2"}
"""Cards without effect on a static solution; of PARAM those of output."""
OUTPUT = {"POST", "PRTMAXIM", "GRDPNT", "AUTOSPC", "OUGCORD", "OGEOM"}
CONTROL = {
    "SOL",
    "CEND",
    "ECHO",
    "TITLE",
    "SUBTITLE",
    "LABEL",
    "SUBCASE",
    "LOAD",
    "SPC",
    "SET",
    "STRESS",
    "DISPLACEMENT",
}
CONTROL |= {"DISP", "STRAIN", "SPCFORCES", "OLOAD", "ID", "TIME", "ESE", "GPFORCE"}


def real(text: str) -> float:
    """A number of Nastran, such as 3.0+7."""
    return float(NUMBER.sub(r"\1e\2", text.upper().replace("D", "E")) if "E" not in text.upper() else text)


class Bulk:
    """Cards of a Nastran deck as lists of fields, and what a subcase takes."""

    def __init__(self, text: str) -> None:
        head, found, body = re.sub(r"\$[^\n]*", "", text.upper()).partition("BEGIN BULK")
        self.head, body = (head, body) if found else ("", head)
        self.cards: dict[str, list[list[str]]] = {}
        last: list[str] | None = None
        for line in body.splitlines():
            if not line.strip():
                continue
            name, fields = self._line(line)
            if name.startswith("ENDDATA"):
                break
            if not name or name[0] in "+*":
                need(last is not None, "deck: a continuation without a card")
                assert last is not None
                last += [""] * (-len(last) % (4 if name[:1] == "*" else 8)) + fields
            else:
                last = fields
                self.cards.setdefault(name.rstrip("*"), []).append(last)

    @staticmethod
    def _line(line: str) -> tuple[str, list[str]]:
        """Name and fields of a line: with commas, of 16 columns, or of 8."""
        if "," in line:
            cut = [x.strip() for x in line.split(",")]
            most = 4 if "*" in (cut[0][:1], cut[0][-1:]) else 8
            fields = cut[1 : 1 + most]
            if fields and fields[-1][:1] in ("+", "*") and not fields[-1][1:2].isdigit():
                fields[-1] = ""
            return cut[0], fields + [""] * (most - len(fields))
        if "\t" in line:
            raise Unread("tabs in a deck")
        line = line.ljust(80)
        name = line[:8].strip()
        width = 16 if "*" in (name[:1], name[-1:]) else 8
        return name, [line[k : k + width].strip() for k in range(8, 72, width)]

    def of(self, name: str) -> list[list[str]]:
        """All cards of a name, each with at least eight fields."""
        return [card + [""] * (8 - len(card)) for card in self.cards.get(name, [])]

    def grids(self) -> tuple[list[int], Array]:
        """Numbers and places of the nodes; in the basic system alone."""
        rows = self.of("GRID")
        if "GRDSET" in self.cards or any(row[1] not in ("", "0") or row[5] not in ("", "0") for row in rows):
            raise Unread("nodes in other coordinate systems")
        places = [[real(x) if x else 0.0 for x in row[2:5]] for row in rows]
        return [int(row[0]) for row in rows], np.array(places, dtype=float).reshape(-1, 3)

    def mesh(self) -> MeshFile:
        """Nodes and elements, grouped by property."""
        file = MeshFile()
        file.number(*self.grids())
        others = [name for name in self.cards if name[:1] == "C" and name not in ("CTETRA", "CTRIA3", "CONM2")]
        if others:
            raise Unread(f"{others[0]} elements")
        for name, count in (("CTETRA", 4), ("CTRIA3", 3)):
            for card in self.of(name):
                if any(card[2 + count :]):
                    raise Unread("elements of second order")
                file.add([card[2 : 2 + count]], [card[1]])
        return file

    def taken(self, subcase: Any) -> dict[str, int]:
        """LOAD and SPC of a subcase; those before the first one are for all."""
        found, here, goes_on = dict[str, int](), None, False
        for line in self.head.splitlines():
            words = line.split()
            if not words or goes_on:
                goes_on = bool(words) and line.rstrip().endswith(",")
                continue
            name = re.split(r"[\s=(,]", line.strip(), maxsplit=1)[0]
            goes_on = name == "SET" and line.rstrip().endswith(",")
            if name not in CONTROL or (name == "SOL" and words[1:] not in (["101"], ["SESTATIC"])):
                raise Unread(f"{name} in case control")
            if name == "SUBCASE":
                here = int(words[1])
            if name in ("LOAD", "SPC") and here in (None, subcase):
                found[name] = int(line.partition("=")[2])
        return found

    def solid(self, subcase: Any) -> Solid:
        """The whole deck."""
        odd = sorted(set(self.cards) - CARDS - QUIET)
        if odd or any(row[0] not in OUTPUT for row in self.of("PARAM")):
            raise Unread(f"the card {odd[0] if odd else 'PARAM'}")
        mesh, laws = self.mesh(), dict[str, tuple[float, float]]()
        material = {row[0]: row for row in self.of("MAT1")}
        for row in self.of("PSOLID"):
            own = material[row[1]]
            need(own[1] and own[3], "deck: a material without E or ν")
            laws[row[0]] = (real(own[1]), real(own[3]))
        table = np.array([laws[row[1]] for row in self.of("CTETRA")])
        found = Solid(mesh, np.concatenate(mesh.cells[3]), table[:, 0], table[:, 1])
        taken = self.taken(subcase)
        sets = {taken.get("SPC")}
        for row in self.of("SPCADD"):
            sets |= {int(x) for x in row[1:] if x} if int(row[0]) in sets else set()
        for row in self.of("SPC1"):
            if int(row[0]) in sets:
                found.held |= {(n, k) for n in self._nodes(row[2:], mesh) for k in directions(row[1])}
        for row in self.of("SPC"):
            for node, axes, value in (row[1:4], row[4:7]):
                if int(row[0]) in sets and node:
                    if value and real(value):
                        raise Unread("displacements that are not zero")
                    found.held |= {(mesh.at[int(node)], k) for k in directions(axes)}
        self._forces(found, taken.get("LOAD"))
        return found

    def _nodes(self, fields: list[str], mesh: MeshFile) -> list[int]:
        """Nodes of a list with THRU."""
        words = [x for x in fields if x]
        if words[1:2] == ["THRU"]:
            return [mesh.at[n] for n in range(int(words[0]), int(words[2]) + 1) if n in mesh.at]
        if "THRU" in words:
            raise Unread("lists with THRU in the middle")
        return [mesh.at[int(x)] for x in words]

    def _forces(self, found: Solid, load: int | None) -> None:
        """Forces at nodes of a set, or of a sum of sets."""
        shares = {load: 1.0}
        for row in self.of("LOAD"):
            if int(row[0]) == load:
                pairs = [(row[k], row[k + 1]) for k in range(2, len(row) - 1, 2) if row[k + 1]]
                shares = {}
                for size, one in pairs:
                    shares[int(one)] = shares.get(int(one), 0.0) + real(row[1]) * real(size)
        for row in self.of("FORCE"):
            if int(row[0]) in shares:
                if row[2] not in ("", "0"):
                    raise Unread("forces in other coordinate systems")
                for k in range(3):
                    along = real(row[4 + k]) if row[4 + k] else 0.0
                    found.push(found.mesh.at[int(row[1])], k, shares[int(row[0])] * real(row[3]) * along)
