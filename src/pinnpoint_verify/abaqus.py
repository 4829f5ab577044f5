"""Abaqus files, read by the checker: nodes, elements, sets and surfaces; one step of forces at nodes of tetrahedra."""

from __future__ import annotations

import numpy as np

from pinnpoint_verify.decks import Solid, directions
from pinnpoint_verify.mesh_files import FACES, MeshFile, Unread
from pinnpoint_verify.reader import need

MESH = {"NODE", "ELEMENT", "NSET", "ELSET", "SURFACE", "HEADING", "PREPRINT"}
PHYSICS = {"SOLIDSECTION", "MATERIAL", "ELASTIC", "DENSITY", "BOUNDARY", "STEP", "STATIC", "CLOAD", "ENDSTEP"}
WRITTEN = {"NODEFILE", "ELFILE", "NODEPRINT", "ELPRINT", "OUTPUT", "NODEOUTPUT", "ELEMENTOUTPUT", "RESTART"}
"""Keywords of Abaqus that ask for output."""


class Keywords:
    """Keywords of an Abaqus file with their options and lines of data."""

    def __init__(self, text: str) -> None:
        self.found: list[tuple[str, dict[str, str], list[list[str]]]] = []
        for line in text.splitlines():
            if line.startswith("**") or not line.strip():
                continue
            words = [x.strip() for x in line.split(",")]
            if line.startswith("*"):
                pairs = [x.partition("=") for x in words[1:] if x]
                options = {k.strip().upper(): v.strip() for k, _, v in pairs}
                self.found.append((words[0][1:].replace(" ", "").upper(), options, []))
            else:
                need(self.found, "deck: data before the first keyword")
                self.found[-1][2].append(words)

    def mesh(self) -> MeshFile:
        """Nodes, elements, sets and surfaces; names are not told apart by their case."""
        file, self.names = MeshFile(), dict[str, str]()
        self.members: dict[tuple[str, str], list[int]] = {}
        self.elements: dict[int, tuple[int, ...]] = {}
        for name, options, lines in self.found:
            if name not in MESH | PHYSICS | WRITTEN or "INPUT" in options or "SYSTEM" in options:
                raise Unread(f"*{name}")
            numbers = [[x for x in line if x] for line in lines]
            if name == "NODE":
                need(not file.at, "deck: *NODE twice")
                points = [[float(x) for x in row[1:4]] + [0.0] * (4 - len(row)) for row in numbers]
                file.number([int(row[0]) for row in numbers], np.array(points))
                self._put("NSET", options.get("NSET"), [int(row[0]) for row in numbers])
            elif name == "ELEMENT":
                width = {"C3D4": 4, "CPS3": 3, "CPE3": 3}.get(options.get("TYPE", "").upper())
                if width is None or any(len(row) != width + 1 for row in numbers):
                    raise Unread(f"elements of type {options.get('TYPE')}")
                for row in numbers:
                    self.elements[int(row[0])] = tuple(int(x) for x in row[1:])
                self._put("ELSET", options.get("ELSET"), [int(row[0]) for row in numbers])
            elif name in ("NSET", "ELSET"):
                self._put(name, options.get(name), self._listed(name, options, numbers))
        self._groups(file)
        return file

    def _listed(self, kind: str, options: dict[str, str], lines: list[list[str]]) -> list[int]:
        if "GENERATE" in options:
            rows = [[int(x) for x in line] for line in lines]
            return [k for row in rows for k in range(row[0], row[1] + 1, *row[2:])]
        return [k for line in lines for x in line for k in self._set(kind, x)]

    def _set(self, kind: str, word: str) -> list[int]:
        """A number, or the members of a set."""
        return [int(word)] if word.isdigit() else self.members[kind, word.upper()]

    def _put(self, kind: str, name: str | None, numbers: list[int]) -> None:
        if name:
            self.names.setdefault(name.upper(), name)
            self.members.setdefault((kind, name.upper()), []).extend(numbers)

    def _groups(self, file: MeshFile) -> None:
        """Groups of cells, of nodes, and of faces."""
        file.add(self.elements.values(), [])
        for (kind, key), numbers in self.members.items():
            if kind == "ELSET":
                rows = [[file.at[n] for n in self.elements[k]] for k in sorted(set(numbers))]
                file.groups.setdefault((self.names[key], len(rows[0]) - 1), []).append(np.array(rows))
            else:
                file.nodes[self.names[key]] = {file.at[k] for k in numbers}
        for name, options, lines in self.found:
            if name == "SURFACE":
                if options.get("TYPE", "ELEMENT").upper() != "ELEMENT":
                    raise Unread("surfaces of nodes")
                rows = [
                    [file.at[self.elements[k][j]] for j in FACES[len(self.elements[k])][int(line[1][1:]) - 1]]
                    for line in lines
                    for k in self._set("ELSET", line[0])
                ]
                file.groups.setdefault((options["NAME"], len(rows[0]) - 1), []).append(np.array(rows))

    def solid(self) -> Solid:
        """The whole deck: one step of forces at nodes."""
        mesh, law, material = self.mesh(), dict[str, tuple[float, float]](), ""
        cells = np.array([[mesh.at[n] for n in row] for row in self.elements.values()])
        if cells.shape[1] != 4 or sum(name == "STEP" for name, _, _ in self.found) != 1:
            raise Unread("a deck that is not of tetrahedra, or has several steps")
        place = {k: i for i, k in enumerate(self.elements)}
        found = Solid(mesh, cells, np.full(len(cells), np.nan), np.full(len(cells), np.nan))
        for name, options, lines in self.found:
            if name == "MATERIAL":
                material = options["NAME"].upper()
            elif name == "ELASTIC":
                if len(lines) != 1 or options:
                    raise Unread("*ELASTIC of another kind")
                law[material] = (float(lines[0][0]), float(lines[0][1]))
        for name, options, lines in self.found:
            if name == "SOLIDSECTION":
                some = [place[k] for k in self.members["ELSET", options["ELSET"].upper()]]
                found.young[some], found.poisson[some] = law[options["MATERIAL"].upper()]
            elif name in ("BOUNDARY", "CLOAD"):
                if options:
                    raise Unread(f"*{name} with options")
                for line in lines:
                    self._condition(found, name, line)
        return found

    def _condition(self, found: Solid, name: str, line: list[str]) -> None:
        """A line of *BOUNDARY or *CLOAD."""
        nodes, words = [found.mesh.at[k] for k in self._set("NSET", line[0])], line[1:]
        if name == "CLOAD":
            need(words[0] in ("1", "2", "3"), "deck: a moment at a node of a solid")
            for node in nodes:
                found.push(node, int(words[0]) - 1, float(words[1]))
            return
        names = {"ENCASTRE": "123", "PINNED": "123", "XSYMM": "1", "YSYMM": "2", "ZSYMM": "3"}
        if len(words) > 2 and words[2] and float(words[2]):
            raise Unread("displacements that are not zero")
        axes = names.get(words[0].upper()) or "".join(
            map(str, range(int(words[0]), int((*words, "", "")[1] or words[0]) + 1))
        )
        found.held |= {(node, k) for node in nodes for k in directions(axes)}
