"""The wait for an answer, beside what others need for the same problem in the same run, and beside what is aimed at.

    python benchmarks/latency.py [--quick] [--only NAME ...]

Processor seconds unless a row says otherwise. *Cold* is the first call of a process after its imports, *warm* the least
of several. `run.py` prints the same rows among its own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse.linalg as spla

import pinnpoint as pp
from pinnpoint.mesh.topology import Topology
from pinnpoint.systems.queries import Point
from pinnpoint.taylor.bernstein import pairs
from pinnpoint.transfer.energy.estimator import Side
from pinnpoint.transfer.flux.equilibration import equilibrate
from pinnpoint.transfer.goals import functional

SOURCE = "exp(x)*(2*x*(1-x) + y*(1-y)*(x+3)*x)"
ONE = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
"""One thread: of several, each but one waits by turning round, and processor time says nothing."""
ONE.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed is byte code, and compiled code that was kept


def cpu(work):
    """Processor seconds of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def least_cpu(work, repeat=7):
    """Least processor seconds of one call, after a warm-up."""
    work()
    return min(cpu(work) for _ in range(repeat))


def rounded(row):
    """Four digits are more than a clock has."""
    return {key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in row.items()}


def plane_points(count):
    """Places inside the unit square."""
    return np.random.default_rng(2).uniform(0.15, 0.85, (count, 2))


def weighted_estimate(linear, quadratic, at):
    """Values of linear elements and dual-weighted estimates of their errors, with duals from quadratic elements."""

    def reduced(problem):
        free = np.asarray(problem.space.free)
        return free, problem.A.tocsr()[free][:, free]

    free, A = reduced(linear)
    u = np.zeros(linear.system.N)
    u[free] = spla.splu(A.tocsc()).solve(linear.b[free])
    inner, A2 = reduced(quadratic)
    rest = (quadratic.b - quadratic.A @ quadratic.extract(u).U)[inner]  # the same function among quadratics
    z = spla.splu(A2.tocsc()).solve(quadratic.points(at).L[:, inner].toarray().T)
    return linear.points(at).L @ u, z.T @ rest


def side(which, cells, count):
    """The work of one side of `beside_estimate`, on problems that are assembled, as in docs/comparison.md."""
    mesh, at = pp.io.generate("square", cells), plane_points(count)
    linear, quadratic = (pp.fem.ReactionDiffusion(mesh, source=SOURCE, degree=k) for k in (1, 2))
    if which == "estimate":
        return lambda: weighted_estimate(linear, quadratic, at)
    problem = {"1": linear, "2": quadratic}[which]
    return lambda: pp.certify(problem, problem.space.U0, problem.points(at))


def fresh(*arguments, env=None):
    """What a new process of this file prints, as JSON."""
    command = [sys.executable, __file__, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**ONE, **(env or {})})
    return json.loads(done.stdout)


def beside_estimate(_, cells, *, aim):
    """Intervals at 24 points, against the dual-weighted estimates of the same points."""
    found = {which: [fresh("--side", which, cells, 24) for _ in range(3)] for which in ("estimate", "1", "2")}
    cold, warm = ({which: min(row[i] for row in rows) for which, rows in found.items()} for i in (0, 1))
    row = {"cells": 2 * cells * cells, "points": 24}
    for name, spent in (("cold", cold), ("warm", warm)):
        row[f"estimate, {name} [s]"] = spent["estimate"]
        for degree in (1, 2):
            row[f"P{degree}, {name} [s]"] = spent[str(degree)]
            row[f"P{degree} / estimate, {name} (aim {aim[degree]})"] = spent[str(degree)] / spent["estimate"]
    return rounded(row)


def ten_points(kind, cells, *, degree, aim):
    """Ten continuous point values, against one plain solve with scikit-fem's assembly and SuperLU."""
    import skfem
    from skfem.helpers import dot, grad

    mesh, at = pp.io.generate(kind, cells), plane_points(10)
    stiff = skfem.BilinearForm(lambda u, v, _: dot(grad(u), grad(v)))
    load = skfem.LinearForm(lambda v, w: source(w.x) * v)

    def source(x):
        return np.exp(x[0]) * (2.0 * x[0] * (1.0 - x[0]) + x[1] * (1.0 - x[1]) * (x[0] + 3.0) * x[0])

    def plain():
        element = skfem.ElementTriP1() if degree == 1 else skfem.ElementTriP2()
        basis = skfem.Basis(skfem.MeshTri(mesh.points.T.copy(), mesh.cells.T.copy()), element)
        A, b = stiff.assemble(basis), load.assemble(basis)
        inner = basis.complement_dofs(basis.get_dofs())
        return spla.splu(A[inner][:, inner].tocsc()).solve(b[inner])

    def certified():
        problem = pp.fem.ReactionDiffusion(mesh, source=SOURCE, degree=degree)
        return pp.certify(problem, problem.space.U0, problem.points(at))

    first = time.process_time()
    certificate = certified()
    first = time.process_time() - first
    repeat = 3 if cells > 100 else 7
    solve, ours = least_cpu(plain, repeat), least_cpu(certified, repeat)
    return rounded(
        {
            "cells": len(mesh.cells),
            "plain solve [s]": solve,
            "first certificate [s]": first,
            "certificate [s]": ours,
            f"ratio (aim {aim})": ours / solve,
            "median radius": float(np.median(certificate.radius)),
        }
    )


CASE = """title = "square"
[mesh]
generate = "square"
cells = {cells}
[problem]
kind = "reaction-diffusion"
source = "exp(x)*sin(3*y)"
degree = {degree}
[problem.dirichlet]
boundary = 0.0
[prediction]
zero = true
"""
THREE = ([0.31, 0.42], [0.62, 0.55], [0.47, 0.73])


def case_file(folder, cells, at, degree=1):
    """A case file with point queries."""
    asked = "".join(f'[[query]]\nname = "q{i}"\nat = {[float(x) for x in p]}\n' for i, p in enumerate(at))
    path = Path(folder) / "case.toml"
    path.write_text(CASE.format(cells=cells, degree=degree) + asked, encoding="utf-8")
    return str(path)


def spent_by(command, repeat, env=None):
    """Least wall seconds of a process, and least processor seconds."""
    wall, used = [], []
    for _ in range(repeat):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(command, capture_output=True, check=False, env={**ONE, **(env or {})})
        wall.append(time.perf_counter() - start)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        if done.returncode not in (0, 1):
            raise SystemExit(done.stderr.decode())
    return min(wall), min(used)


def start_up(_, cells):
    """Processes of their own: version, help, and a small case with all its outputs."""
    row, program = {}, [sys.executable, "-m", "pinnpoint"]
    bare = spent_by([sys.executable, "-c", ""], 5)
    row["python alone, wall [s]"] = bare[0]
    for word in ("--version", "--help"):
        row[f"{word}, wall [s] (aim 0.2)"] = spent_by([*program, word], 5)[0]
    imports = spent_by([sys.executable, "-c", "import numpy, scipy.sparse.linalg"], 3)
    row["import of numpy and scipy.sparse.linalg [s]"] = imports[1]
    with tempfile.TemporaryDirectory() as folder:
        path = case_file(folder, cells, THREE)
        wall, used = spent_by([*program, "certify", path, "--out", f"{folder}/out", "--quiet"], 5)
    row[f"certify, square {cells}, all outputs, wall [s] (aim 1)"] = wall
    row["the same, processor time [s]"] = used
    return rounded(row)


WITHOUT = "import sys; sys.modules['numba'] = None; "
FIRST = """
import time
import numpy as np
import pinnpoint as pp
problem = pp.fem.ReactionDiffusion(pp.io.generate("square", {cells}), source="exp(x)*sin(3*y)", degree=2)
pp.certify(problem, problem.space.U0, problem.points({at}))
print(time.process_time())
"""


def first_certificate(_, cells):
    """Three points with quadratic elements in a new process whose compiled code is nowhere kept; imports counted."""
    row = {}
    for name, before in (("with numba", ""), ("without numba", WITHOUT)):
        spent = []
        for _ in range(3):
            with tempfile.TemporaryDirectory() as folder:
                code = before + FIRST.format(cells=cells, at=[list(p) for p in THREE])
                spent.append(spent_by([sys.executable, "-c", code], 1, {"NUMBA_CACHE_DIR": folder})[1])
        row[f"{name}, whole process [s] (aim 2.5)"] = min(spent)
    return rounded(row)


def amg(A, b):
    """One solve to 1e-10 with PyAMG, set up included; without it, conjugate gradients."""
    try:
        import pyamg
    except ImportError:
        return spla.cg(A, b, rtol=1e-10)[0]
    make = pyamg.ruge_stuben_solver if A.nnz < 8 * A.shape[0] else pyamg.smoothed_aggregation_solver
    return make(A).solve(b, tol=1e-10, accel="cg")


def peak():
    """Largest resident size so far [GB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def continuous(kind, cells):
    """One point value with all that it needs but solves, against assembling and one AMG solve; −Δu = 1, degree 1."""
    exact = {"square": 0.0736713532815138, "cube": 0.0562128298294354}[kind]
    small = pp.fem.ReactionDiffusion(pp.io.generate(kind, 4), source=1.0)
    tiny = small.continuum(Topology.of(small.mesh))
    slopes, rest = np.zeros((len(tiny.kappa), 1, tiny.d, 2)), np.zeros((len(tiny.kappa), len(pairs(tiny.d)), 2))
    equilibrate(tiny.topology, tiny.kappa, slopes, rest, tiny.kind, compiled=True)  # loads the compiled kernel
    mesh, times = pp.io.generate(kind, cells), {}

    def timed(name, work):
        start = time.process_time()
        found = work()
        times[name] = time.process_time() - start
        return found

    def prepared():
        model = problem.continuum(Topology.of(mesh))
        _ = model.anchors, model.load, model.cell_nodes, model.topology.gradients
        return model

    def bounded():
        primal, (pair,) = model.estimator.measure(Side(u, model.load, t[..., 0]), [(Side(z, w, t[..., 1]), 1.0, True)])
        return pair, *model.estimator.product_bound(primal, pair)[:2]

    problem = timed("assembling", lambda: pp.fem.ReactionDiffusion(mesh, source=1.0))
    free = problem.space.free
    A, b = problem.A[free][:, free].tocsr(), problem.b[free]
    y = timed("AMG solve", lambda: amg(A, b))
    before = peak()
    model = timed("mesh", prepared)
    J = timed("mollifier", lambda: functional(model, Point((0.5,) * mesh.dim), "centre", None))
    q = timed("AMG solve of the dual", lambda: amg(A, model.vector(J.source, None)[free]))
    u, z, w = problem.space.vector_of(y), problem.space.vector_of(q), J.source.on_all(len(model.kappa))
    t = timed("fluxes", lambda: model.fluxes(np.stack([u, z]), [model.load, w], [None, None]))
    pair, low, high = timed("bounds", bounded)
    center, radius = pair.value + J.constant + 0.5 * (low + high), 0.5 * (high - low)
    base = times["assembling"] + times["AMG solve"]
    ours = sum(times[name] for name in ("mesh", "mollifier", "fluxes", "bounds"))
    return {
        "cells": len(mesh.cells),
        "unknowns": len(free),
        **{f"{name} [s]": round(spent, 2) for name, spent in times.items()},
        "ratio, all but the dual's solve (aim 1)": round(ours / base, 2),
        "ratio, the dual's solve counted": round((ours + times["AMG solve of the dual"]) / base, 2),
        "memory ratio": round(peak() / before, 2),
        "radius": float(f"{radius:.3g}"),
        "radius / error of the value": round(radius / abs(pair.value + J.constant - exact), 2),
        "radius / error of the centre": round(radius / abs(center - exact), 2),
    }


ONCE = """
import pinnpoint as pp
import pinnpoint.fem
import pinnpoint.io
from pinnpoint.solvers.direct import factorize
from pinnpoint.base.workspace import keep_memory
import time
keep_memory()
start = time.process_time(), time.perf_counter()
made = pp.fem.ReactionDiffusion(pp.io.generate("square", {cells}), source="exp(x)*sin(3*y)")
free = made.space.free
factorize(made.A[free][:, free])
print(time.process_time() - start[0], time.perf_counter() - start[1])
"""
HUNDRED = """
import time
from pinnpoint.cli.main import main
from pinnpoint.solvers.direct import factorize
import pinnpoint.fem
import pinnpoint.io
start = time.process_time(), time.perf_counter()
main(["certify", {case!r}, "--out", {out!r}, "--quiet"])
print(time.process_time() - start[0], time.perf_counter() - start[1])
"""


def hundred_points(_, cells):
    """From a case file to all outputs with 100 continuous points, against mesh, assembly and factorization."""
    at = np.random.default_rng(3).uniform(0.1, 0.9, (100, 2)).round(4)
    best = {}
    with tempfile.TemporaryDirectory() as folder:
        path = case_file(folder, cells, at)
        sides = {"once": (ONCE.format(cells=cells), 3), "ours": (HUNDRED.format(case=path, out=f"{folder}/out"), 1)}
        for name, (code, repeat) in sides.items():
            for _ in range(repeat):
                done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=ONE)
                best[name] = np.minimum(best.get(name, np.inf), [float(x) for x in done.stdout.split()[-2:]])
    ratio = best["ours"] / best["once"]
    return rounded(
        {
            "triangles": 2 * cells * cells,
            "mesh, assembly and factorization [s]": float(best["once"][0]),
            "file to outputs, 100 continuous points [s]": float(best["ours"][0]),
            "ratio (aim 6)": float(ratio[0]),
            "ratio of wall time": float(ratio[1]),
            "peak memory of both [GB]": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20,
        }
    )


def plan(*, quick):
    """Name of each measurement, and the call."""
    yield "start-up", (start_up, "square", 6 if quick else 24, {})
    yield "first certificate", (first_certificate, "square", 6 if quick else 64, {})
    yield "beside estimates", (beside_estimate, "square", 6 if quick else 32, {"aim": {1: 6, 2: 10}})
    for degree in (1, 2):
        for size, aim in ((8, 8),) if quick else ((64, 8), (256, 5)):
            yield f"ten points P{degree}, {size} x {size}", (ten_points, "square", size, {"degree": degree, "aim": aim})
    yield "continuous 2D", (continuous, "square", 60 if quick else 500, {})
    yield "continuous 3D", (continuous, "cube", 8 if quick else 46, {})
    yield "hundred points", (hundred_points, "square", 20 if quick else 317, {})


def main():
    """Run each measurement in its own process, and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, as the tests run it")
    parser.add_argument("--only", nargs="*", help="names of measurements")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--side", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    jobs = dict(plan(quick=args.quick))
    if args.side:
        work = side(args.side[0], *map(int, args.side[1:]))
        print(json.dumps([cpu(work), least_cpu(work, 5)]))
    elif args.one:
        f, kind, cells, options = jobs[args.one]
        print(json.dumps(f(kind, cells, **options)))
    else:
        for name in args.only or jobs:
            row = fresh("--one", name, *(["--quick"] if args.quick else []))
            print(f"{name}:", *(f"  {k}: {v}" for k, v in row.items()), sep="\n", flush=True)


if __name__ == "__main__":
    main()
