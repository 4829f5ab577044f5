"""Curved domains: a campaign of random problems, and radii on finer meshes: studies/curved.py [--quick] [--first SEED].

Discs, rings and squares with a hole, round or stretched into ellipses, with random centres, sizes, κ, c, solutions and
boundary conditions on each curve; values at points are compared with the solutions. "missed" counts intervals that do
not hold the truth or are not proved.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import iv

import pinnpoint as pp
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.round import disc_mesh, ring_mesh

OUT = Path(__file__).parent / "results" / "curved.json"
PARTS, COUNT = 10, 40
"""Of the campaign: so many parts of so many problems."""
POINTS = 3
KINDS = ["dirichlet", "neumann", "robin"]


def exact(rng: np.random.Generator) -> tuple[str, Any, Any, float]:
    """A formula, its values, its gradient's formulas, and μ with −Δu = μu."""
    a, b, t = rng.uniform(0.5, 1.5), rng.uniform(0.5, 2.5), rng.uniform(-1.0, 1.0)
    text = f"(2 + exp({a!r}*x)*sin({b!r}*y + {t!r}))" if t >= 0 else f"(2 + exp({a!r}*x)*sin({b!r}*y - {-t!r}))"

    def value(X: Any) -> Any:
        return 2.0 + np.exp(a * X[:, 0]) * np.sin(b * X[:, 1] + t)

    sign = f"+ {t!r}" if t >= 0 else f"- {-t!r}"
    slopes = (f"{a!r}*exp({a!r}*x)*sin({b!r}*y {sign})", f"{b!r}*exp({a!r}*x)*cos({b!r}*y {sign})")
    return text, value, slopes, b * b - a * a


@dataclass(frozen=True)
class Domain:
    """A random domain: its mesh, curves and their outward normals by group, and points well inside."""

    mesh: Mesh
    geometry: dict[str, Any]
    normals: dict[str, tuple[str, str]]
    points: Any


def turned(rng: np.random.Generator, r: Any) -> Any:
    """Points at these distances from the origin."""
    angle = rng.uniform(0.0, 6.28, len(r))
    return r[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def normal_of(centre: Any, a: float, b: float, side: float) -> tuple[str, str]:
    """The unit normal of an ellipse with these half axes, away from it or (side −1) towards it."""
    x, y = f"((x - ({float(centre[0])!r}))/{a * a!r})", f"((y - ({float(centre[1])!r}))/{b * b!r})"
    length = f"sqrt({x}**2 + {y}**2)"
    return f"({side!r}*{x}/{length})", f"({side!r}*{y}/{length})"


def placed(mesh: Mesh, scale: Any, centre: Any) -> Mesh:
    """The mesh stretched and moved."""
    return Mesh(mesh.points * scale + centre, mesh.cells, {}, dict(mesh.facet_groups))


def disc(rng: np.random.Generator, centre: Any, size: float, ratio: float) -> Domain:
    """A disc, or an ellipse with this ratio of its axes."""
    curve = pp.Circle(tuple(centre), size) if ratio == 1.0 else pp.Ellipse(tuple(centre), (size, ratio * size))
    X = turned(rng, rng.uniform(0.0, 0.5 * ratio * size, POINTS))
    mesh = placed(disc_mesh(13), [size, ratio * size], centre)
    return Domain(mesh, {"rim": curve}, {"rim": normal_of(centre, size, ratio * size, 1.0)}, centre + X)


def ring(rng: np.random.Generator, centre: Any, size: float, ratio: float) -> Domain:
    """A ring, or one between two ellipses."""
    inner = float(rng.uniform(0.25, 0.45))
    geometry, normals = {}, {}
    for group, r, side in (("hole", inner * size, -1.0), ("outer", size, 1.0)):
        given = pp.Circle(tuple(centre), r) if ratio == 1.0 else pp.Ellipse(tuple(centre), (r, ratio * r))
        geometry[group], normals[group] = given, normal_of(centre, r, ratio * r, side)
    X = turned(rng, rng.uniform(0.45 * inner + 0.55, 0.25 * inner + 0.75, POINTS)) * [size, ratio * size]
    return Domain(placed(ring_mesh(inner, 1.0, 14, 60), [size, ratio * size], centre), geometry, normals, centre + X)


def plate(rng: np.random.Generator, centre: Any, size: float, ratio: float) -> Domain:
    """A square with a hole, round or an ellipse, whose centre is somewhere about the middle."""
    inner, off = float(rng.uniform(0.25, 0.4)), rng.uniform(-0.08, 0.08, 2)
    plain = ring_mesh(1.0, 2.0, 12, 56)
    unit = plain.points / np.hypot(*plain.points.T)[:, None]
    share = (np.hypot(*plain.points.T) - 1.0)[:, None]
    wall = unit / np.abs(unit).max(axis=1)[:, None]
    X = (1.0 - share) * (unit * [inner, ratio * inner] + off) + share * wall
    a, b, middle = inner * size, ratio * inner * size, centre + size * off
    curve = pp.Circle(tuple(middle), a) if ratio == 1.0 else pp.Ellipse(tuple(middle), (a, b))
    place = centre + size * turned(rng, rng.uniform(0.66, 0.76, POINTS))
    mesh = Mesh(X * size + centre, plain.cells, {}, dict(plain.facet_groups))
    return Domain(mesh, {"hole": curve}, {"hole": normal_of(middle, a, b, -1.0)}, place)


SHAPES = {"disc": disc, "ring": ring, "square with a hole": plate}


def problem(rng: np.random.Generator) -> tuple[Any, Any, Any, str]:
    """A random problem, points in it, the truth there, and what it is."""
    text, value, slopes, mu = exact(rng)
    kappa, c = float(rng.choice([0.1, 1.0, 10.0])), float(rng.choice([0.0, 3.0]))
    shape, ratio = str(rng.choice(list(SHAPES))), float(rng.choice([1.0, rng.uniform(0.6, 0.9)]))
    here = SHAPES[shape](rng, rng.uniform(-0.5, 0.5, 2), float(rng.uniform(0.6, 1.2)), ratio)
    degree = 2 if rng.uniform() < 0.8 else 1
    given: dict[str, Any] = {"dirichlet": {}, "neumann": {}, "robin": {}}
    kinds = []
    for group in here.mesh.facet_groups:
        kind = str(rng.choice(KINDS)) if group in here.geometry else "dirichlet"
        if kind == "neumann" and c == 0.0 and shape == "disc":
            kind = "robin"
        kinds.append(kind)
        if kind == "dirichlet":
            given[kind][group] = text
            continue
        flux = " + ".join(f"{kappa!r}*({g})*{n}" for g, n in zip(slopes, here.normals[group], strict=True))
        given[kind][group] = flux if kind == "neumann" else (1.5, f"{flux} + 1.5*{text}")
    if kinds == ["neumann", "neumann"] and c == 0.0:
        given["dirichlet"]["outer"] = text
        del given["neumann"]["outer"]
    made = pp.fem.ReactionDiffusion(
        here.mesh,
        source=f"{kappa!r}*({mu!r})*({text} - 2) + {c!r}*{text}",
        diffusion=kappa,
        reaction=c,
        degree=degree,
        geometry=here.geometry,
        **given,
    )
    words = shape if ratio == 1.0 else f"{shape}, stretched"
    conditions = " and ".join(sorted({kind for kind, table in given.items() if table}))
    return made, here.points, value(here.points), f"{words}, {conditions}, degree {degree}"


def part(seed: int, count: int) -> list[dict[str, Any]]:
    """So many random problems with three points each: a row for each interval."""
    rng, rows = np.random.default_rng(seed), []
    for _ in range(count):
        made, X, truth, what = problem(rng)
        found = pp.certify(made, made.space.U0, made.points(X))
        off = np.abs(found.center - truth) / found.radius
        proved = found.guarantee == "deterministic"
        rows += [
            {"what": what, "missed": bool(m or not proved), "share": float(r / abs(t)), "off": float(o)}
            for m, r, t, o in zip(~found.contains(truth), found.radius, truth, off, strict=True)
        ]
    return rows


def campaign(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What intervals say, all of them and by kind."""
    kinds = sorted({row["what"] for row in rows})
    return {"all": summary(rows)} | {what: summary([row for row in rows if row["what"] == what]) for what in kinds}


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Of intervals."""
    share = [row["share"] for row in rows]
    return {
        "intervals": len(rows),
        "missed": sum(row["missed"] for row in rows),
        "narrower than 1 %": sum(s < 0.01 for s in share),
        "median share": float(np.median(share)),
        "widest share": max(share),
        "worst off/radius": max(row["off"] for row in rows),
    }


def ring_table(sizes: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """−Δu = 1 on the ring 0.3–1 at (0.6, 0.2)."""
    r = math.hypot(0.6, 0.2)
    truth, rows = (1.0 - r * r) / 4.0 + 0.91 / 4.0 * math.log(r) / math.log(1.0 / 0.3), []
    for layers, around in sizes:
        mesh, start = ring_mesh(0.3, 1.0, layers, around), time.process_time()
        geometry = {"hole": pp.Circle((0, 0), 0.3), "outer": pp.Circle((0, 0), 1.0)}
        p = pp.fem.ReactionDiffusion(mesh, source=1.0, degree=2, geometry=geometry)
        c = pp.certify(p, p.space.U0, p.points([[0.6, 0.2]]))
        rows.append(
            {
                "cells": len(mesh.cells),
                "radius": float(c.radius[0]),
                "holds": bool(c.contains([truth])[0]),
                "off": abs(float(c.center[0]) - truth),
                "seconds": time.process_time() - start,
            }
        )
    return rows


def demanded(n: int, layers: int, around: int) -> list[dict[str, Any]]:
    """The disc with −Δu + 9u = 1, and u = exp(x) sin(2y + 0.3) in the unit square with a hole of radius 0.2."""
    rows, P = [], np.array([[0.3, 0.2]])
    truth = (1.0 - iv(0, 3.0 * np.hypot(*P.T)) / iv(0, 3.0)) / 9.0
    round_ = {"rim": pp.Circle((0, 0), 1)}
    bessel = pp.fem.ReactionDiffusion(disc_mesh(n), source=1.0, reaction=9.0, degree=2, geometry=round_)
    rows.append(row("disc, Bessel", bessel, P, truth))
    plain, u = ring_mesh(1.0, 2.0, layers, around), "exp(x)*sin(2*y + 0.3)"
    r = np.hypot(*plain.points.T)[:, None]
    unit = plain.points / r
    X = 0.5 + (2.0 - r) * 0.2 * unit + (r - 1.0) * 0.5 * unit / np.abs(unit).max(axis=1)[:, None]
    mesh, Q = Mesh(X, plain.cells, {}, dict(plain.facet_groups)), np.array([[0.82, 0.55], [0.3, 0.8]])
    out = f"-((x - 0.5)*{u} + 2*(y - 0.5)*exp(x)*cos(2*y + 0.3))/0.2"
    for kind in ("dirichlet", "neumann"):
        given = {"dirichlet": {"outer": u, "hole": u}} if kind == "dirichlet" else {"dirichlet": {"outer": u}}
        given |= {"neumann": {"hole": out}} if kind == "neumann" else {}
        hole = {"hole": pp.Circle((0.5, 0.5), 0.2)}
        made = pp.fem.ReactionDiffusion(mesh, source=f"3*{u}", degree=2, geometry=hole, **given)
        rows.append(row(f"square with a hole, {kind}", made, Q, np.exp(Q[:, 0]) * np.sin(2.0 * Q[:, 1] + 0.3)))
    return rows


def row(what: str, made: Any, X: Any, truth: Any) -> dict[str, Any]:
    """One line of the table."""
    found = pp.certify(made, made.space.U0, made.points(X))
    T = made.mesh.points[made.mesh.cells]
    longest = max(float(np.hypot(*(T[:, i] - T[:, i - 1]).T).max()) for i in range(3))
    holds = bool(found.contains(truth).all()) and found.guarantee == "deterministic"
    return {
        "what": what,
        "cells": len(T),
        "longest edge": longest,
        "radius": float(found.radius.max()),
        "holds": holds,
    }


def main(arguments: list[str]) -> dict[str, Any]:
    """The campaign and the table, printed and written; parts that are kept already are not run again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--parts", type=int, default=PARTS, help="so many parts of the campaign, kept one by one")
    parser.add_argument("--first", type=int, default=1, help="the seed of the first part")
    asked = parser.parse_args(arguments)
    before = json.loads(asked.out.read_text(encoding="utf-8")) if asked.out.exists() else {}
    parts, table, others = dict(before.get("parts", {})), before.get("ring", []), before.get("demanded", [])
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = before
    for seed in range(asked.first, asked.first + (1 if asked.quick else asked.parts)):
        if str(seed) not in parts:
            parts[str(seed)] = part(seed, 12 if asked.quick else COUNT)
        if not table:
            table = ring_table([(7, 44)] if asked.quick else [(8, 44), (16, 88), (28, 148)])
        if not others:
            others = demanded(*((4, 8, 56) if asked.quick else (20, 12, 112)))
        rows = [each for rows in parts.values() for each in rows]
        found = {"campaign": campaign(rows), "ring": table, "demanded": others, "parts": parts}
        asked.out.write_text(json.dumps(found) + "\n", encoding="utf-8")
    print(json.dumps({name: found[name] for name in ("campaign", "ring", "demanded")}, indent=1))
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
