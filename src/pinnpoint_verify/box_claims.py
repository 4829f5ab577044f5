"""What a bundle of a box in time claims, against what the checker encloses from its case and prediction alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pinnpoint_verify.boxes import MOST, ROUNDS, WORK, Part, Prediction, left_inside, value_at
from pinnpoint_verify.checker import UNIT, Ball, up
from pinnpoint_verify.fields import plain
from pinnpoint_verify.heat import Axis
from pinnpoint_verify.model_jets import Jet, formula, jets
from pinnpoint_verify.models import Model
from pinnpoint_verify.reader import Array, Bundle, larger, need, smaller
from pinnpoint_verify.rows import is_number, keys_agree, near, numbers_agree, same, verdict_agrees

Row = dict[str, Any]
PROBLEM = {"kind", "sides", "ends", "diffusion", "convection", "reaction", "end", "source", "initial", "faces"}
CASE = {"title", "units", "problem", "queries", "certificate"}
CERTIFICATE = {"schema", "title", "units", "versions", "method", "dofs", "radius_terms", "interval_of", "assumptions"}
CLAIMS = (
    "continuous target: the solution on the box itself",
    "no mesh and no system: what the prediction leaves of the equation against the box's heat kernel (box.md)",
    "weights of networks, numbers and formulas are exactly as given",
)
LEFT_OUT = "the largest error, which was asked for as well, is no part of this bundle: it is about the points alone"
ASKED = {"name", "kind", "at", "time", "accept", "limit"}
"""What is asked of a box."""
ROW = {"target": "continuous", "guarantee": "deterministic", "confidence": 1.0, "rounding": "covered", "kind": "point"}
ROW |= {"sensitivity": None, "residual_norm": None}
FACES = {f"{x}{end}": (i, end == "+") for i, x in enumerate("xy") for end in "-+"}


class Box:
    """u_t − ∇·(κ∇u) + b·∇u + c u = f on a box, by what the case says."""

    def __init__(self, said: Row) -> None:
        need(said.keys() == PROBLEM and said["kind"] == "box", "case.json: no box in time, or with other keys")
        self.said, d = said, len(said["sides"])
        need(1 <= d <= 2 and all(len(said[k]) == d for k in ("ends", "diffusion", "convection")), "box: wrong axes")
        self.d, self.end, self.c = d, said["end"], said["reaction"]
        numbers = [x for pair in said["sides"] for x in pair] + [
            *said["diffusion"],
            *said["convection"],
            self.end,
            self.c,
        ]
        need(all(map(is_number, numbers)) and self.end > 0.0, "box: sides, coefficients or end that are no numbers")
        for (low, high), ends, kappa, b in zip(
            *(said[k] for k in ("sides", "ends", "diffusion", "convection")), strict=True
        ):
            kinds = len(ends) == 2 and all(end in ("dirichlet", "neumann") for end in ends)
            need(low < high and kappa > 0.0 and kinds, "box: an axis that is none")
            need(not b or "neumann" not in ends, "box: a drift along an axis with Neumann ends, where images are false")
        faces = {face for face, (i, _) in FACES.items() if i < d}
        need(said["faces"].keys() == faces, "box: data of other faces than it has")
        self.names = (*"xy"[:d], "t")

    def axes(self, at: Array) -> list[Axis]:
        """With the point that they are seen from."""
        keys = (self.said[k] for k in ("sides", "ends", "diffusion", "convection"))
        made = []
        for (low, high), ends, kappa, b, x in zip(*keys, at, strict=True):
            made.append(Axis(float(low), float(high), (ends[0], ends[1]), float(kappa), float(b), float(x)))
        need(all(a.low < a.x0 < a.high for a in made), "box: a point that is not inside")
        return made

    def data(self, given: Any, X: list[Jet]) -> Model:
        """A formula of the case."""
        return formula(given, X, self.names).v

    def residual(self, u: Prediction, M: list[Model]) -> Model:
        """What is left inside, f − u_t + ∇·(κ∇u) − b·∇u − c u."""
        said = self.said
        return left_inside(u, said["source"], said["diffusion"], said["convection"], float(self.c), M)

    def start(self, u: Prediction, M: list[Model]) -> Model:
        """u₀ − u_θ at the start."""
        X = jets(M, self.d)
        return self.data(self.said["initial"], X) + -u(X).v

    def face(self, u: Prediction, i: int, upper: bool, M: list[Model]) -> Model:
        """What is off on a face: g − u_θ at a Dirichlet end, g − κ∂_n u_θ at a Neumann end."""
        X, name = jets(M, self.d), f"{'xy'[i]}{'+' if upper else '-'}"
        J, given = u(X), self.data(self.said["faces"][name], X)  # box.md, step 1b
        if self.said["ends"][i][int(upper)] == "dirichlet":
            return given + -J.v
        slope = J.g[i]
        kappa = float(self.said["diffusion"][i]) * (1.0 if upper else -1.0)
        return given if slope is None else given + slope.scaled(Ball(-kappa))

    def parts(self, u: Prediction, at: Array, time: float) -> list[Part]:
        """What the prediction leaves: inside, at the start, and on the faces."""
        axes, c, block = self.axes(at), float(self.c), larger(16, 2048 // u.widest)
        found = [Part(lambda M: self.residual(u, M), axes, axes, None, None, True, time, c, block=block)]
        found.append(Part(lambda M: self.start(u, M), axes, axes, None, None, False, time, c, block=block))
        for i, upper in (place for place in FACES.values() if place[0] < self.d):
            rest = [a for k, a in enumerate(axes) if k != i]
            made: Any = lambda M, i=i, upper=upper: self.face(u, i, upper, M)  # noqa: E731
            found.append(Part(made, rest, axes, (axes[i], upper), (i, upper), True, time, c, block=block))
        return found


def enclosed(parts: list[Part], u: Ball, lower: float, upper: float) -> tuple[float, float]:
    """Centre and radius of the true value, boxes cut until it lies between two numbers or the budget is spent."""
    goal, idle, best, work = 0.15 * (upper - lower), 0, math.inf, 0
    for _ in range(ROUNDS):
        sums = [part.found() for part in parts]
        value = math.fsum([float(u.m), *(s[0] for s in sums)])
        radius = float(up(u.r + sum(s[1] for s in sums) + 8.0 * UNIT * (abs(value) + abs(float(u.m)))))
        if lower + radius < value < upper - radius or not lower - radius <= value <= upper + radius:
            break  # inside, or apart
        idle, best = (idle + 1 if radius > 0.9 * best else 0), smaller(best, radius)
        left = np.concatenate([part.open for part in parts])
        order = np.argsort(left)
        goal = goal if float(np.sum(left)) > goal else 0.25 * goal
        small = np.cumsum(left[order]) <= 0.5 * goal
        if small.all() or len(left) >= MOST or idle > 4 or work >= WORK:
            break
        limit = larger(float(left[order][~small][0]), 1e-3 * float(left.max()) if np.isfinite(left).all() else 0.0)
        for part in parts:
            rows = np.flatnonzero(part.open >= limit)[: MOST // 4]
            work += 2 * len(rows) * len(part.S.degree)
            if len(rows) and part.D:
                part.split(rows)
    return value, radius


def header(certificate: Row, case: Row, proof: Row) -> None:
    """The certificate's own words."""
    need(proof.keys() == {"target", "method", "radius_terms", "lift"}, "proof.json: a key is missing, or too many")
    need(
        case.keys() == CASE and case["certificate"] == {"method": "box", "target": "continuous"},
        "case.json: wrong keys",
    )
    keys = certificate.keys() - {"notes", "id", "problem"}
    need(keys == CERTIFICATE | {"queries"}, "certificate.json: a key is missing, or too many")
    need(same(certificate.get("problem", case["problem"]), case["problem"]), "certificate: another problem")
    need(certificate.get("notes", [LEFT_OUT]) == [LEFT_OUT], "certificate: notes that a box does not have")
    need(certificate["schema"] == "pinnpoint-certificate/1", "certificate.json: unknown schema")
    fits = certificate["method"] == proof["method"] == "box" and proof["target"] == "continuous"
    need(fits and certificate["dofs"] == 0, "certificate: another method, or unknowns")
    need(all(same(certificate[k], case[k]) for k in ("title", "units")), "certificate: another title or other units")
    need(same(certificate["radius_terms"], proof["radius_terms"]), "certificate: other radius_terms than the proof's")
    need(certificate["interval_of"] == "the PDE's solution on the box", "certificate: its intervals are of the box")
    said = [{"claim": claim, "status": "verified"} for claim in CLAIMS]
    need(certificate["assumptions"] == said, "certificate: other assumptions than a box has")
    need(len(certificate["queries"]) == len(case["queries"]) > 0, "certificate: another number of queries")


def asks(row: Row, query: Row, box: Box, proof: Row) -> None:
    """A row asks what the case asks, and its numbers fit together."""
    name = row["name"]
    need(query.keys() <= ASKED, f"{name!r}: unknown keys in the case")
    keys_agree(row, ASKED)
    for key in sorted(ASKED):
        need(same(row.get(key), query.get(key)), f"{name!r}: another {key} than in the case")
    fits = all(same(row.get(k), v) for k, v in ROW.items()) and row.get("accept", 1.0) > 0.0
    need(fits, f"{name!r}: labels that a box does not have")
    need(is_number(row["time"]) and 0.0 < row["time"] <= box.end, f"{name!r}: a time that is not after the start")
    need(len(row["at"]) == box.d and all(map(is_number, row["at"])), f"{name!r}: no point")
    numbers_agree(row, proof)
    verdict_agrees(row)


@np.errstate(all="ignore")
def verify_box(bundle: Bundle, certificate: Row, case: Row, proof: Row) -> list[str]:
    """Lines of the report."""
    header(certificate, case, proof)
    box = Box(case["problem"])
    u = Prediction(bundle, proof["lift"], box.names)
    need(set(bundle.arrays) == bundle.used, "arrays: some are part of no proof")
    lines = ["verified: every file has its SHA-256, dtype, shape and finite numbers"]
    lines.append(
        "verified: what the prediction leaves of the case's equation, integrated against the kernel of its box"
    )
    for row, query in zip(certificate["queries"], case["queries"], strict=True):
        asks(row, query, box, proof)
        at, time = np.array(row["at"], dtype=float), float(row["time"])
        own = value_at(u, at, time)
        fits = near(row["value"], float(own.m), 1e-12, 4.0 * float(own.r)) and same(row["raw"], row["value"])
        need(fits, f"{row['name']!r}: its value is not the prediction's own, {float(own.m)!r}")
        c, r = enclosed(box.parts(u, at, time), own, row["lower"], row["upper"])
        line = f"{row['name']!r}: [{row['lower']!r}, {row['upper']!r}] is claimed, {c!r} ± {r!r} is proved"
        need(
            math.isfinite(r), f"{row['name']!r}: with the checker's budget what is left of the equation is not bounded"
        )
        need(row["lower"] <= c - r and c + r <= row["upper"], line)
        lines.append(f"{row['name']}: proved {c!r} ± {r:.3e}; claimed [{row['lower']!r}, {row['upper']!r}]")
    lines += [f"note: {note}" for note in certificate.get("notes", [])]
    lines.append("declared: the terms that a radius is split into")
    lines.append("declared: the case and the prediction, as stored, are those that were meant")
    told = [("case", key, case[key]) for key in case] + [("proof", "lift", proof["lift"])]
    told += [("certificate", key, certificate[key]) for key in ("versions",)]
    return lines + [f"declared: {file}, {key}: {plain(value)}" for file, key, value in told]
