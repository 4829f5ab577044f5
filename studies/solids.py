"""How narrow the intervals of solids are, and their price: studies/solids.py [--quick] [--only TEXT] [--out FILE].

Known benchmarks of structural analysis at several sizes, uniform and refined by `certify_to`, and the bracket at the
paper's loads. Rows of an earlier run are kept where --only leaves them out. The table of docs/solids.md is made of what
this writes. Times are processor
seconds of one thread, for all of a row's queries together, assembly included.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

import pinnpoint as pp
from pinnpoint.certifiers.tolerance import certify_to
from pinnpoint.mesh.mesh import Mesh
from tests.support import solids

OUT = Path(__file__).parent / "results" / "solids.json"
Asked = Callable[[Any], Any]
CENTRE = [[1.0, 0.5, 0.5]]
FORCE = (0.0, 0.0, 35585.77)
"""The vertical load of the bracket, as an even traction on the walls of its pin hole."""


def row(problem: Any, certificate: Any, seconds: float, **more: Any) -> dict[str, Any]:
    """What is kept of a certificate."""
    found = {
        name: {"lower": float(low), "upper": float(high), "relative": float(r / abs(c))}
        for name, low, high, c, r in zip(
            certificate.names,
            certificate.lower,
            certificate.upper,
            certificate.center,
            certificate.radius,
            strict=True,
        )
    }
    for derived in certificate.derived:
        low, high = derived.lower, derived.upper
        found[derived.name] = {"lower": low, "upper": high, "relative": (high - low) / (high + low)}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {
        "degree": problem.degree,
        "dofs": problem.space.N,
        "cells": len(problem.mesh.cells),
        "guarantee": certificate.guarantee,
        "seconds": round(seconds, 1),
        "memory [GB]": round(memory, 2),
        "queries": found,
        **more,
    }


def uniform(make: Callable[[], Any], ask: Asked) -> dict[str, Any]:
    """One mesh."""
    start = time.process_time()
    problem = make()
    certificate = pp.certify(problem, problem.space.U0, ask(problem))
    return row(problem, certificate, time.process_time() - start)


def adaptive(problem: Any, ask: Asked, tolerance: Any, most: int) -> dict[str, Any]:
    """Refined until the tolerance or the most unknowns."""
    start = time.process_time()
    found = certify_to(problem, problem.space.U0, ask(problem), tolerance, max_dofs=most)
    spent = time.process_time() - start
    return row(found.problem, found.certificate, spent, meshes=len(found.history), adaptive=True)


def tip(problem: Any) -> Any:
    """The mean deflection of the loaded end of Cook's membrane."""
    return problem.patch("right", "y", "mean v at x = 48")


def cook_point(problem: Any) -> Any:
    """A deflection within Cook's membrane."""
    return problem.points([[24.0, 37.0]], "y", ["v(24, 37)"])


def cook_all(problem: Any) -> Any:
    """Deflections and a stress of Cook's membrane."""
    return tip(problem) + cook_point(problem) + problem.stress([[24.0, 37.0]], "xx", ["σ_xx(24, 37)"])


def plate_all(problem: Any) -> Any:
    """Of the plate with a hole."""
    found = problem.patch("east", "x", "mean u_x at x = 1") + problem.points([[0.55, 0.55]], "x", ["u_x(.55, .55)"])
    found = found + problem.stress([[0.55, 0.55]], "xx", ["σ_xx(.55, .55)"])
    return found + problem.stress([[0.12, 0.32]], "xx", ["σ_xx(.12, .32)"])


def cantilever_all(problem: Any) -> Any:
    """Of the cantilever."""
    return problem.patch("right", "z", "mean u_z at the end") + problem.points(CENTRE, "z", ["u_z(1, ½, ½)"])


def near(problem: Any) -> Any:
    """Stresses over cells nearer and nearer to the point D of NAFEMS."""
    groups = [name for name, cells in problem.mesh.cell_groups.items() if len(cells)]
    each = [problem.stress(group, "yy", f"mean σ_yy {group}") for group in groups]
    found = each[0]
    for more in each[1:]:
        found = found + more
    return found


def membrane_all(problem: Any) -> Any:
    """And at points."""
    return near(problem) + problem.stress([[2.3, 0.3], [2.15, 0.15]], "yy", ["σ_yy(2.3, .3)", "σ_yy(2.15, .15)"])


def slab_all(problem: Any) -> Any:
    """Of the thick plate on simple supports."""
    middle = [[0.5, 0.5, 0.25]]
    return problem.mean("z", "mean u_z") + problem.points(middle, "z", ["u_z(½, ½, ¼)"])


def bracket(dofs: int | None, degree: int) -> Any:
    """The generated bracket under its vertical load; `rib` are the cells of the rib along one lug."""
    mesh = pp.io.generate("bracket", dofs=dofs)
    x, y, z = mesh.points[mesh.cells].mean(axis=1).T
    rib = (z > 11.0) & (x > 40.0) & (np.abs(y - 18.0) < 3.0)
    mesh = Mesh(mesh.points, mesh.cells, {"rib": rib}, mesh.facet_groups)
    return pp.fem.Elasticity(mesh, 113800.0, 0.342, None, {"bolts": 0.0}, force={"pin": FORCE}, degree=degree)


def pin(problem: Any) -> Any:
    """The pin's mean displacement."""
    return problem.patch("pin", "z", "mean u_z of the pin [mm]")


def pin_and_rib(problem: Any) -> Any:
    """And the von Mises stress of the rib's mean stress."""
    return pin(problem) + problem.von_mises("rib", "von Mises in the rib [MPa]")


def strength(near: Any) -> Asked:
    """The pin's displacement and the rib's von Mises stress, with a query along a stress near the rib's."""
    return lambda problem: pin(problem) + problem.von_mises("rib", "von Mises in the rib [MPa]", near=near)


def bracket_refined(most: int) -> dict[str, Any]:
    """Refined for the strength of the rib, whose stress on the first mesh says along what."""
    problem, start = bracket(None, 2), time.process_time()
    first = pp.certify(problem, problem.space.U0, pin_and_rib(problem))
    ask = strength(first.center[1:])
    found = certify_to(problem, problem.space.U0, ask(problem), [4e-3, *[None] * 7, 5.2], max_dofs=most)
    spent = time.process_time() - start
    return row(found.problem, found.certificate, spent, meshes=len(found.history), adaptive=True)


def discrete(dofs: int) -> dict[str, Any]:
    """The paper's kind of number: the linear elements' own value."""
    problem, start = bracket(dofs, 1), time.process_time()
    certificate = pp.certify(problem, problem.space.U0, pin(problem), target="discrete")
    return row(problem, certificate, time.process_time() - start, discrete=True)


def plan(quick: bool) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Names of rows, and how they come about."""
    for degree, sizes in ((1, (16, 32, 64)), (2, (16, 32, 64))):
        for n in sizes[: 1 if quick else 3]:
            yield (
                f"Cook's membrane, P{degree}, {n}",
                lambda n=n, k=degree: uniform(lambda: solids.cook(n, degree=k), cook_all),
            )
    most = 1000 if quick else 50_000
    yield "Cook's membrane, adaptive", lambda: adaptive(solids.cook(4), tip, 1e-9 if quick else 2.3e-5, most)
    most = 1000 if quick else 70_000
    yield "Cook's membrane, adaptive for a point", lambda: adaptive(solids.cook(4), cook_point, 2e-5, most)
    for nu in (0.3, 0.49, 0.499, 0.4999):
        name = f"Cook's membrane, plane strain, ν = {nu}"
        n = 4 if quick else 32
        yield name, lambda nu=nu, n=n: uniform(lambda: solids.cook(n, poisson=nu, plane="strain"), tip)
    yield "Cook's membrane, E 1:100", lambda: uniform(lambda: solids.cook(4 if quick else 32, young=(1.0, 100.0)), tip)
    for n in (16,) if quick else (16, 32, 64):
        yield f"plate with a hole, {n}", lambda n=n: uniform(lambda: solids.plate(n), plate_all)
    for degree, n in ((1, 2), (2, 2)) if quick else ((1, 12), (2, 4), (2, 8), (2, 12)):
        name = f"cantilever, P{degree}, {n}"
        yield name, lambda n=n, k=degree: uniform(lambda: solids.cantilever(n, degree=k), cantilever_all)
    aims = [1.4e-4, 9.9e-5]
    most = 1500 if quick else 70_000
    yield "cantilever, adaptive", lambda: adaptive(solids.cantilever(2), cantilever_all, aims, most)
    yield "elliptic membrane (LE1)", lambda: uniform(lambda: solids.membrane(4 if quick else 64), membrane_all)
    across = 3 if quick else 12
    yield "thick plate under a sine of load", lambda: uniform(lambda: solids.slab(across)[0], slab_all)
    thick = (2, 1) if quick else (16, 4)
    yield "thick plate (LE10's kind)", lambda: uniform(lambda: solids.thick_plate(*thick), near)
    yield from bracket_rows(quick)


def bracket_rows(quick: bool) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """The bracket: discrete values, and intervals of the solid."""
    for dofs in () if quick else (5_000, 80_000, 386_000):
        yield f"bracket, the linear elements' own value, {dofs}", lambda n=dofs: discrete(n)
    if quick:
        yield "bracket, P1, 5000", lambda: uniform(lambda: bracket(None, 1), pin)
        return
    for degree, dofs in ((1, 80_000), (2, 20_000)):
        yield f"bracket, P{degree}, {dofs}", lambda n=dofs, k=degree: uniform(lambda: bracket(n, k), pin_and_rib)
    yield "bracket, P2, 80000", lambda: uniform(lambda: bracket(80_000, 2), pin)
    aims = [4e-3, *[None] * 6, 5.0]
    yield "bracket, adaptive", lambda: adaptive(bracket(None, 2), pin_and_rib, aims, 560_000)
    yield "bracket, adaptive along the rib's stress", lambda: bracket_refined(450_000)


def main() -> None:
    """Each row in a process of its own, so that memory is its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, as the tests run it")
    parser.add_argument("--only", default="", help="rows whose names begin so")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    rows = dict(plan(given.quick))
    if given.one:
        print(json.dumps(rows[given.one](), ensure_ascii=False))
        return
    found = json.loads(given.out.read_text(encoding="utf-8")) if given.out.exists() else {}
    for name in rows:
        if not name.startswith(given.only):
            continue
        command = [sys.executable, __file__, "--one", name, *(["--quick"] if given.quick else [])]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found[name] = json.loads(done.stdout.splitlines()[-1])
        print(name, {k: f"{v['relative']:.1e}" for k, v in found[name]["queries"].items()}, flush=True)
        given.out.parent.mkdir(parents=True, exist_ok=True)
        kept = {name: found[name] for name in rows if name in found}
        given.out.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
