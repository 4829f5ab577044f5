"""Curved domains: a campaign of random problems, and radii on finer meshes: studies/curved.py [--quick] [--out FILE].

Discs, rings and discs stretched into ellipses with random centres, sizes, κ, c, boundary conditions and solutions, by
curves and by second-order meshes; values at points are compared with the solutions.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import pinnpoint as pp
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.round import disc_mesh, ring_mesh

OUT = Path(__file__).parent / "results" / "curved.json"
COUNTS = {"quick": 12, "whole": 100}


def exact(rng: np.random.Generator) -> tuple[str, Any, Any, float]:
    """A formula, its values, its gradient's formulas, and μ with −Δu = μu."""
    a, b, t = rng.uniform(0.5, 1.5), rng.uniform(0.5, 2.5), rng.uniform(-1.0, 1.0)
    text = f"(2 + exp({a!r}*x)*sin({b!r}*y + {t!r}))" if t >= 0 else f"(2 + exp({a!r}*x)*sin({b!r}*y - {-t!r}))"

    def value(X: Any) -> Any:
        return 2.0 + np.exp(a * X[:, 0]) * np.sin(b * X[:, 1] + t)

    sign = f"+ {t!r}" if t >= 0 else f"- {-t!r}"
    slopes = (f"{a!r}*exp({a!r}*x)*sin({b!r}*y {sign})", f"{b!r}*exp({a!r}*x)*cos({b!r}*y {sign})")
    return text, value, slopes, b * b - a * a


def problem(rng: np.random.Generator) -> tuple[Any, Any, Any, str]:
    """A random problem, points in it, the truth there, and what it is."""
    text, value, (gx, gy), mu = exact(rng)
    kappa, c = float(rng.choice([0.1, 1.0, 10.0])), float(rng.choice([0.0, 3.0]))
    centre, size = rng.uniform(-0.5, 0.5, 2), float(rng.uniform(0.6, 1.2))
    cx, cy = (float(v) for v in centre)
    source = f"{kappa!r}*({mu!r})*({text} - 2) + {c!r}*{text}"
    shape, degree = str(rng.choice(["disc", "ring", "ellipse"])), 2 if rng.uniform() < 0.8 else 1
    given: dict[str, Any] = {}
    if shape == "ring":
        inner = float(rng.uniform(0.25, 0.45)) * size
        plain = ring_mesh(inner, size, 14, 60)
        mesh = Mesh(plain.points + centre, plain.cells, {}, dict(plain.facet_groups))
        geometry: dict[str, Any] = {"hole": pp.Circle((cx, cy), inner), "outer": pp.Circle((cx, cy), size)}
        given["dirichlet"], kind = {"outer": text}, str(rng.choice(["dirichlet", "neumann", "robin"]))
        flux = f"-{kappa!r}*(({gx})*(x - ({cx!r})) + ({gy})*(y - ({cy!r})))/{inner!r}"
        if kind == "dirichlet":
            given["dirichlet"]["hole"] = text
        elif kind == "neumann":
            given["neumann"] = {"hole": flux}
        else:
            given["robin"] = {"hole": (1.5, f"{flux} + 1.5*{text}")}
        r, angle = rng.uniform(0.45 * inner + 0.55 * size, 0.25 * inner + 0.75 * size, 3), rng.uniform(0.0, 6.28, 3)
    else:
        ratio = float(rng.uniform(0.6, 0.9)) if shape == "ellipse" else 1.0
        plain, kind = disc_mesh(13), "dirichlet"
        mesh = Mesh(plain.points * [size, ratio * size] + centre, plain.cells, {}, dict(plain.facet_groups))
        curve = pp.Circle((cx, cy), size) if ratio == 1.0 else pp.Ellipse((cx, cy), (size, ratio * size))
        geometry, given["dirichlet"] = {"rim": curve}, {"rim": text}
        r, angle = rng.uniform(0.0, 0.5 * ratio * size, 3), rng.uniform(0.0, 6.28, 3)
    X = centre + r[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    made = pp.fem.ReactionDiffusion(
        mesh, source=source, diffusion=kappa, reaction=c, degree=degree, geometry=geometry, **given
    )
    return made, X, value(X), f"{shape}, {kind}, degree {degree}"


def campaign(count: int, seed: int) -> dict[str, Any]:
    """So many random problems with three points each."""
    rng, rows = np.random.default_rng(seed), []
    for _ in range(count):
        made, X, truth, what = problem(rng)
        found = pp.certify(made, made.space.U0, made.points(X))
        off = np.abs(found.center - truth) / found.radius
        rows += [
            {"what": what, "missed": bool(m), "radius": float(r), "share": float(r / abs(t)), "off": float(o)}
            for m, r, t, o in zip(~found.contains(truth), found.radius, truth, off, strict=True)
        ]
    share = [row["share"] for row in rows]
    return {
        "intervals": len(rows),
        "missed": sum(row["missed"] for row in rows),
        "narrower than 1 %": sum(s < 0.01 for s in share),
        "median share": float(np.median(share)),
        "worst off/radius": max(row["off"] for row in rows),
        "kinds": sorted({row["what"] for row in rows}),
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


def main(arguments: list[str]) -> dict[str, Any]:
    """The campaign and the table, printed and written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int)
    asked = parser.parse_args(arguments)
    count = asked.count or COUNTS["quick" if asked.quick else "whole"]
    found = {
        "campaign": campaign(count, asked.seed),
        "ring": ring_table([(7, 44)] if asked.quick else [(8, 44), (16, 88), (28, 148)]),
    }
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
