"""Radii at points where coefficients vary, turn, drift or are below zero, quadratic elements on 32 × 32 squares.

    python studies/radii.py [--quick] [--only NAME]

Known solutions, sources written out by the product rule. Prints each case with its largest radius, the largest distance
from the truth and the processor time, and keeps them in results/radii.json; 1 if an interval missed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import pinnpoint as pp
from pinnpoint.formulas.expressions import parse

OUT = Path(__file__).parent / "results" / "radii.json"
CENTRE = ((0.5, 0.5),)
THREE = ((0.5, 0.5), (0.37, 0.52), (0.71, 0.36))

BUMP = "exp(-20*((x-0.6)**2+(y-0.4)**2))"
BOX = "8*x*(1-x)*y*(1-y)"


@dataclass(frozen=True)
class Known:
    """A solution with its derivatives, as text."""

    u: str
    ux: str
    uy: str
    uxx: str
    uxy: str
    uyy: str


def bumpy() -> Known:
    """The sum of sin πx sin 2πy, xy and a bump that vanishes on the boundary; the elements meet xy."""
    px, py, dx, dy = "(x*(1-x))", "(y*(1-y))", "(1-2*x)", "(1-2*y)"
    a, b = "(-40*(x-0.6))", "(-40*(y-0.4))"
    return Known(
        f"sin(pi*x)*sin(2*pi*y)+x*y+8*{px}*{py}*{BUMP}",
        f"pi*cos(pi*x)*sin(2*pi*y)+y+8*{py}*({dx}+{px}*{a})*{BUMP}",
        f"2*pi*sin(pi*x)*cos(2*pi*y)+x+8*{px}*({dy}+{py}*{b})*{BUMP}",
        f"-pi**2*sin(pi*x)*sin(2*pi*y)+8*{py}*(-2+2*{dx}*{a}+{px}*({a}**2-40))*{BUMP}",
        f"2*pi**2*cos(pi*x)*cos(2*pi*y)+1+8*({dx}+{px}*{a})*({dy}+{py}*{b})*{BUMP}",
        f"-4*pi**2*sin(pi*x)*sin(2*pi*y)+8*{px}*(-2+2*{dy}*{b}+{py}*({b}**2-40))*{BUMP}",
    )


def drifting() -> Known:
    """The product sin πx sin πy (1 + x/2)."""
    s, c, t, k, m = "sin(pi*x)", "cos(pi*x)", "sin(pi*y)", "cos(pi*y)", "(1+x/2)"
    return Known(
        f"{s}*{t}*{m}",
        f"(pi*{c}*{m}+{s}/2)*{t}",
        f"pi*{s}*{k}*{m}",
        f"(-pi**2*{s}*{m}+pi*{c})*{t}",
        f"pi*(pi*{c}*{m}+{s}/2)*{k}",
        f"-pi**2*{s}*{t}*{m}",
    )


def source(v: Known, A: tuple[str, str, str], slopes: tuple[str, str], b: tuple[str, str], c: str) -> str:
    """−∇·(A∇u) + b·∇u + cu, A given by its entries 11, 12, 22 and the divergences of its rows."""
    second = f"({A[0]})*({v.uxx})+2*({A[1]})*({v.uxy})+({A[2]})*({v.uyy})"
    first = f"(({b[0]})-({slopes[0]}))*({v.ux})+(({b[1]})-({slopes[1]}))*({v.uy})"
    return f"-({second})+{first}+({c})*({v.u})"


def cases() -> Iterator[tuple[str, float | None, dict[str, Any], Known, str, tuple[tuple[float, float], ...]]]:
    """Name, wanted radius, coefficients, solution, source and points."""
    v, none = bumpy(), ("0", "0")
    k, turn = "exp(sin(3*x+2*y))", "(2*x+4*y)"
    slope = f"cos(3*x+2*y)*{k}"
    f = source(v, (k, "0", k), (f"3*{slope}", f"2*{slope}"), none, "0")
    yield "κ = exp sin(3x + 2y)", 5e-6, {"diffusion": k}, v, f, CENTRE
    A = ("4", "3", "7")
    yield (
        "A = [[4, 3], [3, 7]]",
        1e-5,
        {"diffusion": [[4.0, 3.0], [3.0, 7.0]]},
        v,
        source(v, A, none, none, "0"),
        CENTRE,
    )
    A = (f"5.5-4.5*cos{turn}", f"-4.5*sin{turn}", f"5.5+4.5*cos{turn}")
    bend = (f"9*sin{turn}-18*cos{turn}", f"-9*cos{turn}-18*sin{turn}")
    given = {"diffusion": [[A[0], A[1]], [A[1], A[2]]]}
    yield "A(x) 1:10, turning by x + 2y", 4e-4, given, v, source(v, A, bend, none, "0"), CENTRE
    v, b = drifting(), ("1+y/2", "0.5-x/4")
    for peclet, wanted in ((10, 1e-5), (100, 8e-4), (1000, None), (10000, None)):
        kappa = 1.0 / peclet
        f = source(v, (repr(kappa), "0", repr(kappa)), none, b, "0")
        yield f"Péclet {peclet}", wanted, {"diffusion": kappa, "convection": b}, v, f, CENTRE
    v = Known(
        "sin(pi*x)*sin(2*pi*y)+0.3*sin(3*pi*x)*sin(pi*y)+" + BOX,
        "0",
        "0",
        "-pi**2*sin(pi*x)*sin(2*pi*y)-2.7*pi**2*sin(3*pi*x)*sin(pi*y)-16*y*(1-y)",
        "0",
        "-4*pi**2*sin(pi*x)*sin(2*pi*y)-0.3*pi**2*sin(3*pi*x)*sin(pi*y)-16*x*(1-x)",
    )
    for k2, wanted in ((10.0, 2e-5), (30.0, 3e-5), (60.0, 7e-5)):
        f = source(v, ("1", "0", "1"), none, none, repr(-k2))
        yield f"−Δu − {k2:g}u", wanted, {"reaction": -k2}, v, f, THREE


def run(n: int, only: str) -> dict[str, dict[str, Any]]:
    """All rows whose names begin so."""
    table = {}
    for name, wanted, given, known, f, X in cases():
        if not name.startswith(only):
            continue
        start = time.process_time()
        data = "x*y" if "x*y" in known.u.split("+") else 0.0
        mesh = pp.io.generate("square", n)
        p = pp.fem.ReactionDiffusion(mesh, source=f, dirichlet={"boundary": data}, degree=2, **given)
        found = pp.certify(p, p.space.U0, p.points(np.array(X)))
        truth = parse(known.u)(np.array(X))
        table[name] = {
            "cells": n,
            "guarantee": str(found.guarantee),
            "radius": float(found.radius.max()),
            "wanted": wanted,
            "off": float(np.abs(found.center - truth).max()),
            "missed": int(np.sum(~found.contains(truth))),
            "seconds": round(time.process_time() - start, 1),
        }
        print(name, table[name], flush=True)
    return table


def main() -> None:
    """Run, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="12 × 12 squares, as the tests run it")
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    kept = json.loads(given.out.read_text(encoding="utf-8")) if given.out.exists() else {}
    kept |= run(12 if given.quick else 32, given.only)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.exit(1 if any(row["missed"] for row in kept.values()) else 0)


if __name__ == "__main__":
    main()
