"""Time, memory and tightness, measured in one run and reported as ratios where machines differ.

    python benchmarks/run.py [--quick] [--only NAME ...] [--out FILE] [--history FILE]

Each measurement runs in a process of its own, so that peak memory is its own, and is printed beside its peer, measured
in the same process, and the pace of memory right after it (`peers.py`). Results go to benchmarks/latest.json; a line
with the machine, its load, the pace of its memory and the versions is added to benchmarks/history.jsonl, of which
docs/benchmarks.svg is drawn.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import latency  # noqa: E402
import pinnpoint as pp  # noqa: E402
from peers import figure, lines_of, said  # noqa: E402
from pinnpoint.certificates.evidence import Evidence  # noqa: E402
from pinnpoint.cli.peak import moving_bytes  # noqa: E402
from pinnpoint.fem.corrected import solved  # noqa: E402
from pinnpoint.mesh.topology import Topology  # noqa: E402
from pinnpoint.rounding import matrices  # noqa: E402
from pinnpoint.solvers.direct import factorize  # noqa: E402
from pinnpoint.transfer.energy.estimator import Side  # noqa: E402
from pinnpoint.transfer.everywhere.crouzeix_raviart import assemble  # noqa: E402
from pinnpoint.transfer.everywhere.level_sets import level_sets  # noqa: E402
from pinnpoint.transfer.everywhere.local_band import local  # noqa: E402
from pinnpoint.transfer.everywhere.setting import measured  # noqa: E402
from tests.support import gallery  # noqa: E402

PROBLEMS = {"poisson": gallery.poisson_2d, "elasticity": gallery.elasticity_2d}
SIZES = {"poisson": 633, "elasticity": 448}
QUICK = {"poisson": 100, "elasticity": 70}
QUERIES = 8


def median_time(f, repeat=15):
    """Median seconds of one call, after a warm-up."""
    f()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def least_cpu(f, repeat=7):
    """Least processor seconds of one call, after a warm-up: what one core needs, whatever else it is doing."""
    f()
    times = []
    for _ in range(repeat):
        start = time.process_time()
        f()
        times.append(time.process_time() - start)
    return min(times)


def point_queries(case, count=QUERIES):
    at = np.random.default_rng(0).choice(case.free, count, replace=False)
    return pp.Queries(sp.csr_array((np.ones(count), (np.arange(count), at)), shape=(count, case.b.size))), at


def online(problem, cells, *, numba=True):
    """`prepare` and `certify` with 8 queries, in sparse products."""
    if not numba:
        matrices._compiled_tried = True
    case = PROBLEMS[problem](cells)
    system = case.system()
    queries, _ = point_queries(case)
    start = time.perf_counter()
    certifier = pp.Exact().prepare(system, queries)
    prepare = time.perf_counter() - start
    plain = pp.Exact(rounding=False).prepare(system, queries)
    U = case.space.project(np.random.default_rng(1).uniform(size=case.b.size)).U
    A, _ = case.reduced()
    y = U[case.free]
    product = median_time(lambda: A @ y)
    covered = median_time(lambda: certifier.certify(U))
    uncovered = median_time(lambda: plain.certify(U))
    return {
        "free dofs": int(A.shape[0]),
        "numba": matrices.compiled() is not None,
        "prepare [s]": round(prepare, 2),
        "sparse product [ms]": round(1e3 * product, 2),
        "certify [ms]": round(1e3 * covered, 2),
        "certify [sparse products]": round(covered / product, 1),
        "certify, rounding not covered [ms]": round(1e3 * uncovered, 2),
    }


def coercive(problem, cells):
    """Verified α against Lanczos, and its cost against one factorization."""
    A, _ = PROBLEMS[problem](cells).reduced()
    start = time.perf_counter()
    spla.splu(A.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    factor = time.perf_counter() - start
    start = time.perf_counter()
    bound = pp.verify_coercivity(A)
    spent = time.perf_counter() - start
    exact = spla.eigsh(sp.csc_matrix((A + A.T) * 0.5), k=1, sigma=0.0, tol=1e-10)[0][0]
    return {
        "free dofs": int(A.shape[0]),
        "how": bound.how,
        "alpha / lambda_min": round(bound.alpha / exact, 5),
        "time [s]": round(spent, 2),
        "time [factorizations]": round(spent / factor, 1),
    }


def verified(problem, cells):
    """Re-checking a bundle against 5 online certifications plus one coercivity check; the checker's own memory."""
    case = PROBLEMS[problem](cells)
    system, (queries, _) = case.system(), point_queries(case, 28)
    certifier = pp.Exact().prepare(system, queries)
    U = case.space.project(np.random.default_rng(1).uniform(size=case.b.size)).U
    online_time = median_time(lambda: certifier.certify(U), 5)
    A, _ = case.reduced()
    start = time.perf_counter()
    pp.verify_coercivity(A)
    coercivity = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "bundle"
        start = time.perf_counter()
        pp.write_bundle(
            place, certifier.certify(U), system, U, queries, evidence=Evidence(solver=certifier.ground.solver)
        )
        writing = time.perf_counter() - start
        size = sum(f.stat().st_size for f in place.rglob("*") if f.is_file())
        code = (
            "import sys, time, resource; import pinnpoint_verify as verifier; t = time.perf_counter(); "
            "code = verifier.main(sys.argv[1]); t = time.perf_counter() - t; "
            "print(code, t, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)"
        )
        done = subprocess.run([sys.executable, "-c", code, place], capture_output=True, text=True, check=True)
    failed, spent, memory = (float(x) for x in done.stdout.splitlines()[-1].split())
    assert not failed, done.stdout
    return {
        "free dofs": int(A.shape[0]),
        "online certification [ms]": round(1e3 * online_time, 1),
        "coercivity check [s]": round(coercivity, 2),
        "bundle [GB]": round(size / 1e9, 2),
        "write [s]": round(writing, 2),
        "verify [s]": round(spent, 2),
        "verify / (5 online + coercivity)": round(spent / (5.0 * online_time + coercivity), 2),
        "verify, peak memory [GB]": round(memory, 2),
    }


def tightness(problem, cells):
    """Radius over true error of the centre or value, for a state with 10 % noise."""
    case = PROBLEMS[problem](cells)
    A, b = case.reduced()
    y = spla.spsolve(A.tocsc(), b)
    rng = np.random.default_rng(2)
    queries, at = point_queries(case)
    truth = y[np.searchsorted(case.free, at)]
    U = case.space.vector_of(y * (1 + 0.1 * rng.standard_normal(y.size)))
    system = case.system(row_points=case.points)
    queries = pp.Queries(queries.L, points=case.points[at])
    methods = {
        "exact: relative radius": pp.Exact(),
        "exact, refined: relative radius": pp.Exact(refine=True),
        "inexact 1e-6: relative radius": pp.Inexact(),
        "norm: radius / error": pp.Norm(),
        "localized 0.25: radius / error": pp.Localized(radius=0.25),
        "randomized 16: sigma / exact sigma": pp.Randomized(),
    }
    row = {"free dofs": int(A.shape[0])}
    sigma = None
    for name, method in methods.items():
        c = pp.certify(system, U, queries, method)
        sigma = c.sigma if sigma is None else sigma
        if "relative" in name:
            value = np.median(c.radius / np.abs(c.center))
        elif "sigma" in name:
            value = np.median(c.sigma / sigma)
        else:
            value = np.median(c.radius / np.abs(c.center - truth))
        row[name] = float(f"{value:.3g}")
    return row


CERTIFY = """
from pinnpoint.cli.main import main
start = now()
main(["certify", {case!r}, "--out", {out!r}, "--quiet"])
"""
ONCE = """
from pinnpoint.cli.main import main
from pinnpoint.base.workspace import keep_memory
import pinnpoint as pp
from pinnpoint.solvers.direct import factorize
start = now()
keep_memory()
made = pp.fem.ReactionDiffusion(pp.io.generate("square", {cells}), source="exp(x)*sin(3*y)")
free = made.space.free
factorize(made.A[free][:, free])
"""
TIMED = """
import time
def now():
    return time.perf_counter(), time.process_time()
{}
print(*(b - a for a, b in zip(start, now())))
"""


def whole_case(problem, cells):
    """From a case file to its written certificate, 100 point queries, against assembling and factorising once.

    Each side runs five times, in turn and each time in a fresh process: seconds after the same imports, and seconds
    of the whole process; the best of each counts. The same solver factorises on both sides.
    """
    import tempfile

    rng = np.random.default_rng(3)
    rows = "".join(f'[[query]]\nname="q{i}"\nat={rng.uniform(0.1, 0.9, 2).round(4).tolist()}\n' for i in range(100))
    text = (
        f'[mesh]\ngenerate="square"\ncells={cells}\n[problem]\nkind="reaction-diffusion"\nsource="exp(x)*sin(3*y)"\n'
        f'[problem.dirichlet]\nboundary=0.0\n[prediction]\nzero=true\n{rows}[certificate]\ntarget="discrete"\n'
    )
    best = {}
    with tempfile.TemporaryDirectory() as folder:
        case = Path(folder) / "case.toml"
        case.write_text(text)
        sides = {"once": ONCE.format(cells=cells), "certify": CERTIFY.format(case=str(case), out=folder + "/out")}
        for _ in range(5):
            for side, script in sides.items():
                start = time.perf_counter()
                done = subprocess.run(
                    [sys.executable, "-c", TIMED.format(script)], check=True, capture_output=True, text=True
                )
                spent = (*map(float, done.stdout.split()), time.perf_counter() - start)
                best[side] = np.minimum(best.get(side, np.inf), spent)
    ratio = best["certify"] / best["once"]
    return {
        "triangles": 2 * cells * cells,
        "mesh, assemble and factorise once [s]": round(best["once"][0], 2),
        "file to certificate [s]": round(best["certify"][0], 2),
        "ratio": round(ratio[0], 2),
        "ratio of processor time": round(ratio[1], 2),
        "the same as processes of their own [s]": round(best["certify"][2], 2),
        "ratio of processes": round(ratio[2], 2),
        "peak memory of both [GB]": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20, 2),
    }


class Diagonal:
    """Green vectors of no use, for the cost of having them."""

    accurate = True

    def __init__(self, d):
        self.d = d

    def solve(self, b):
        """Divide by the diagonal."""
        return (b.T / self.d).T

    solve_transposed = solve


def triad():
    """Bytes a second of a sum of two arrays into one of them, on one core."""
    a, b = np.ones(20_000_000), np.ones(20_000_000)
    return 3 * a.nbytes / median_time(lambda: np.add(a, b, out=a), 5)


def solid(problem, cells):
    """States of a solid with 28 queries, online, against one pass over matrix and Green vectors at the triad's pace."""
    made = pp.fem.Elasticity(
        pp.io.generate("cube", cells), young=113800.0, poisson=0.342, body=[0, 0, -1.0], fixed={"left": 0.0}
    )
    free, K, states = made.space.free, 28, 64
    queries = made.points(np.random.default_rng(0).uniform(0.3, 0.9, (K, 3)), component="z")
    solver = Diagonal(made.A.diagonal()[free])
    U = made.space.project(np.random.default_rng(1).uniform(size=made.space.N)).U
    pace = triad()
    once = (12 * made.A.nnz + 8 * K * len(free)) / pace
    row = {"free dofs": len(free), "triad [GB/s]": round(pace / 1e9, 1), "one pass [ms]": round(1e3 * once, 1)}
    for name, rounding in (("rounding not covered", False), ("rounding covered", True)):
        certifier = pp.Exact(rounding=rounding, solver=solver, coercivity=1e-3).prepare(made.system, queries)
        if rounding:
            matrices.compiled()
        spent = median_time(lambda c=certifier: c.certify(U), 7)
        row[f"certify, {name} [ms]"] = round(1e3 * spent, 1)
        row[f"certify, {name} [passes]"] = round(spent / once, 1)
        if not rounding:
            batch = np.tile(U, (states, 1))
            spent = median_time(lambda c=certifier, V=batch: c.certify_many(V), 3) / states
            row[f"{states} states, {name} [ms each]"] = round(1e3 * spent, 2)
    return row


def adjoints(problem, cells):
    """28 adjoint solves of a solid with every solver that is installed, against conjugate gradients with Jacobi."""
    from pinnpoint.solvers.amg import Multigrid
    from pinnpoint.solvers.choice import installed
    from pinnpoint.solvers.cholmod import Cholmod
    from pinnpoint.solvers.pardiso import Pardiso
    from pinnpoint.solvers.wheel_cholmod import WheelCholmod

    made = pp.fem.Elasticity(
        pp.io.generate("cube", cells), young=113800.0, poisson=0.342, body=[0, 0, -1.0], fixed={"left": 0.0}
    )
    system, free = made.system, made.space.free
    A = sp.csr_array(made.A[free][:, free])
    queries = made.points(np.random.default_rng(0).uniform(0.3, 0.9, (28, 3)), component="z")
    B = np.ascontiguousarray(queries.L[:, free].toarray().T)
    d = A.diagonal()
    M = spla.LinearOperator(A.shape, matvec=lambda v: v.ravel() / d, dtype=float)
    start = time.perf_counter()
    spla.cg(A, B[:, 0], rtol=1e-10, M=M)
    jacobi = 28 * (time.perf_counter() - start)
    row = {"free dofs": len(free), "28 Jacobi-CG solves [s]": round(jacobi, 2)}
    backends = {"cholmod": Cholmod, "pardiso": Pardiso}
    backends["cvxopt"] = lambda A: WheelCholmod(A, system.row_points)
    backends["superlu"] = lambda A: factorize(A, system.row_points)
    backends["amg"] = lambda A: Multigrid(A, system.modes, system.node_size, tolerance=1e-10)
    for name, make in backends.items():
        if not installed(name) or (name == "superlu" and len(free) > 15_000):
            continue
        start = time.perf_counter()
        solver = make(A)
        middle = time.perf_counter()
        X = solver.solve(B)
        spent = time.perf_counter() - middle
        row[f"{name} setup [s]"], row[f"{name} 28 solves [s]"] = round(middle - start, 2), round(spent, 2)
        row[f"{name} times faster"] = round(jacobi / spent, 1)
        row[f"{name} residual"] = float(f"{np.linalg.norm(A @ X - B) / np.linalg.norm(B):.1e}")
    return row


def elastic_assembly(problem, cells):
    """3D elasticity against scikit-fem's default form assembly."""
    import skfem
    from skfem.helpers import ddot, eye, sym_grad, trace

    from pinnpoint.fem.assembling import assembly
    from pinnpoint.fem.assembling.elements import Nodes

    mesh = pp.io.generate("cube", cells)
    one = np.ones(len(mesh.cells))
    start = time.perf_counter()
    A = assembly.elasticity_matrix(mesh, one, one, assembly.pattern(Nodes(mesh)))
    ours = time.perf_counter() - start
    start = time.perf_counter()
    basis = skfem.Basis(
        skfem.MeshTet(mesh.points.T, np.sort(mesh.cells, axis=1).T), skfem.ElementVector(skfem.ElementTetP1())
    )
    form = skfem.BilinearForm(lambda u, v, w: ddot(eye(trace(sym_grad(u)), 3) + 2 * sym_grad(u), sym_grad(v)))
    B = form.assemble(basis)
    theirs = time.perf_counter() - start
    return {
        "tetrahedra": len(mesh.cells),
        "assembly [s]": round(ours, 2),
        "scikit-fem [s]": round(theirs, 2),
        "times faster": round(theirs / ours, 1),
        "largest difference of the diagonals": float(abs(np.sort(A.diagonal()) - np.sort(B.diagonal())).max()),
    }


def lift(problem, cells):
    """Models of residuals of order 8 over a mesh of the unit square: a 3 × 32 tanh network, and a formula."""
    from pinnpoint.models import MLP, Lift
    from pinnpoint.models.networks import benchmark
    from pinnpoint.taylor.simplices import density

    rng = np.random.default_rng(0)
    W = [rng.normal(size=shape) * 1.2 / np.sqrt(shape[1]) for shape in ((32, 2), (32, 32), (32, 32), (1, 32))]
    network = MLP(W, [rng.normal(size=len(w)) * 0.3 for w in W], factor="unit-box")
    mesh = pp.io.generate("square", cells)
    V = mesh.points[mesh.cells]
    row = {"triangles": len(V)}
    for name, what, unit in (("network", network, 1e3), ("formula", "sin(pi*x)*sin(pi*y)*exp(x*y)", 1e6)):
        r = Lift(what).residual("2*pi**2*sin(pi*x)*sin(pi*y)", 1.0)
        seconds = least_cpu(lambda r=r: density(r, V, order=8))
        row[f"{name} [{'ms' if unit == 1e3 else 'µs'} an element]"] = round(unit * seconds / len(V), 3)
        row[f"{name}: largest remainder"] = float(f"{density(r, V, order=8).error2.max():.1e}")
    trained = benchmark.load()
    rest = pp.fem.ReactionDiffusion(mesh, source=trained.source_text).lifted(trained.good).rest
    topology = Topology.of(mesh)
    seconds = least_cpu(lambda: rest.continuum(topology).load, repeat=2)
    row["trained network, to the accuracy of a certificate [ms an element]"] = round(1e3 * seconds / len(V), 3)
    found = rest.continuum(topology).load
    row["trained network: largest remainder"] = float(f"{found.error2.max():.1e}")
    return row


def refinement(kind, cells):
    """Bisecting a tenth of the cells, then all, against making the mesh; and the price of checking the result."""
    from pinnpoint.mesh.mesh import Mesh
    from pinnpoint.mesh.refine import Refiner

    start = time.perf_counter()
    mesh = pp.io.generate(kind, cells)
    made = time.perf_counter() - start
    start = time.perf_counter()
    refiner = Refiner(mesh)
    row = {"cells": len(mesh.cells), "mesh [s]": round(made, 2), "tags [s]": round(time.perf_counter() - start, 2)}
    rng = np.random.default_rng(0)
    for share in (0.001, 0.1, 1.0):
        before = len(refiner.mesh.cells)
        marked = rng.choice(before, int(share * before), replace=False)
        start = time.perf_counter()
        refiner.refine(marked)
        spent = time.perf_counter() - start
        row[f"{share:.1%} marked [s]"] = round(spent, 2)
        row[f"{share:.1%} marked [µs per new cell]"] = round(1e6 * spent / (len(refiner.mesh.cells) - before), 2)
    start = time.perf_counter()
    Mesh(refiner.mesh.points, refiner.mesh.cells, {}, refiner.mesh.facet_groups)
    return row | {"cells at the end": len(refiner.mesh.cells), "their check [s]": round(time.perf_counter() - start, 2)}


def semilinear(kind, cells):
    """A root certificate of −Δu + 20u³ = f at ten points, from a prediction one per cent off, in Newton steps."""
    wave = "sin(pi*x)*sin(pi*y)"
    mesh = pp.io.generate(kind, cells)
    problem = pp.fem.Semilinear(mesh, cubic=20.0, source=f"2*pi**2*{wave} + 20*({wave})**3")
    X = mesh.points
    U = problem.space.project(np.prod(np.sin(np.pi * X), axis=1) * (1.0 + 0.01 * np.sin(3.0 * X[:, 0]))).U
    queries = problem.points(np.random.default_rng(0).uniform(0.1, 0.9, (10, 2)))
    system, y = problem.system, U[problem.space.free]

    def newton():
        J, _ = system.jacobian(y, rounding=False)
        return y - factorize(J).solve(system.residual(y, rounding=False).hi)

    def root():
        return pp.certify(problem, U, queries, pp.Root(), target="discrete")

    certificate = root()
    step, spent = median_time(newton, 5), median_time(root, 5)
    return {
        "unknowns": system.n,
        "Newton step [s]": round(step, 3),
        "root certificate [s]": round(spent, 3),
        "Newton steps": round(spent / step, 2),
        "largest radius": float(f"{certificate.radius.max():.3g}"),
    }


def in_time(kind, cells):
    """A point's certificate of the heat equation in time, against one forward sweep; as many steps as cells."""

    def problem(n):
        mesh = pp.io.generate(kind, n)
        return pp.fem.Parabolic(mesh, initial="sin(pi*x)*sin(pi*y)", end=0.1, steps=n)

    small = problem(8)
    pp.certify(small, small.states(), small.points([[0.4, 0.55]]))  # loads what is loaded once
    heat, spent = problem(cells), []
    queries = heat.points([[0.4, 0.55]])
    for work in (heat.states, lambda: spent.append(pp.certify(heat, heat.states(), queries))):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    sweep, found, certify = spent
    told = moving_bytes(heat, 1, discrete=False) / 2**30
    return {
        "cells": len(heat.mesh.cells),
        "steps": cells,
        "sweep [s]": round(sweep, 3),
        "certify / sweep": round(certify / sweep, 2),
        "radius": float(f"{found.radius[0]:.3g}"),
        "told memory [GB]": round(told, 2),
    }


def band(kind, cells, *, degree):
    """The mesh constant against one factorization of linear elements, and the band against fluxes and their bounds.

    The constant is the one that `everywhere` uses unless it is told to be thorough; where it is refused as too costly
    there is no band, and level sets alone are timed.
    """
    problem = pp.fem.ReactionDiffusion(pp.io.generate(kind, cells), source="exp(x)*sin(5*y)", degree=degree)
    setting = replace(solved(problem), thorough=False)
    model, side = setting.model, setting.side
    space = assemble(model.topology, model.kappa, model.kind == 1)
    linear = least_cpu(lambda: factorize(sp.csr_array(space.linear_stiffness)), 3)

    def constant_of():
        return replace(model, budget=model.budget).mesh_constant(thorough=False)  # nothing kept from before

    constant, known = least_cpu(constant_of, 3), constant_of()

    def bounded():
        flux = model.fluxes(side.nodal[None, :], [model.load], [None])[..., 0]
        model.estimator.measure(Side(side.nodal, model.load, flux), [])

    def everywhere():
        one = replace(measured(model, side), thorough=False)
        level_sets(one), local(one)

    fluxes, found = least_cpu(bounded, 5), local(setting)
    bounds = least_cpu(everywhere, 5) - least_cpu(lambda: model.estimator.measure(side, []), 5)
    return {
        "cells": len(model.kappa),
        "linear factor [s]": round(linear, 4),
        "mesh constant [s]": round(constant, 3),
        "mesh constant / linear factor": round(constant / linear, 1),
        "fluxes and their bounds [s]": round(fluxes, 4),
        "level sets and band [s]": round(bounds, 4),
        "level sets and band / fluxes": round(bounds / fluxes, 2),
        "mesh constant · cells per side": known if isinstance(known, str) else round(known.value * cells, 3),
        "largest of the band": float(f"{found[0].largest:.3g}") if found else None,
    }


def solid_continuous(kind, cells, *, degree):
    """Stresses in equilibrium and energy bounds of a solid, against assembling and one multigrid solve to 1e-10.

    Processor seconds: cores are shared. `ratio` is what the first state needs, all that belongs to the mesh included;
    `a further query` what each dual state adds beside its own solve.
    """
    from pinnpoint.fem.elastic.solids import solid_of
    from pinnpoint.solvers.amg import Multigrid
    from pinnpoint.transfer.elastic.equilibrium import Equilibrium
    from pinnpoint.transfer.elastic.product import Products

    mesh, clock, times = pp.io.generate(kind, cells), time.process_time, {}

    def timed(name, work):
        start = clock()
        found = work()
        times[name] = clock() - start
        return found

    given = ({"left": 0.0}, {"right": (0.0, 0.0, 1.0)})
    problem = timed("assembling", lambda: pp.fem.Elasticity(mesh, 1.0, 0.3, None, *given, degree=degree))
    free = problem.space.free
    A, b = sp.csr_array(problem.A[free][:, free]), problem.b[free]
    modes = problem.system.modes
    modes = modes[free] if len(modes) != len(free) else modes
    solver = timed("setup", lambda: Multigrid(A, modes, mesh.dim, tolerance=1e-10))
    y = timed("solve", lambda: solver.solve(b))
    before = latency.peak()

    def increment(r):
        w = np.zeros(problem.space.N)
        w[free] = solver.solve(r[free])
        return w

    def prepared():
        solid = solid_of(problem, Topology.of(mesh))
        found = Equilibrium(solid)
        _ = solid.load, solid.cell_nodes, found.tree, found.space.norm_factor, found._start, found._modes
        return found

    equilibrium = timed("mesh", prepared)
    solid = equilibrium.solid
    state = problem.space.vector_of(y).reshape(-1, mesh.dim)
    side = timed("stress", lambda: equilibrium.side(state, solid.load, increment))
    products = Products(solid, equilibrium.space)
    bounds, _ = timed("bounds", lambda: products.measure(side, []))
    base = times["assembling"] + times["setup"] + times["solve"]
    state_time = times["stress"] + times["bounds"]
    return {
        "cells": len(mesh.cells),
        "unknowns": len(free),
        **{f"{name} [s]": round(spent, 2) for name, spent in times.items()},
        "ratio": round((times["mesh"] + state_time) / base, 2),
        "ratio of a further query": round(state_time / base, 2),
        "memory ratio": round(latency.peak() / before, 2),
        "energy bound": float(f"{products.energy(bounds):.4g}"),
    }


def plan(sizes, fewer):
    """Name of each measurement, and the call."""
    for problem, cells in sizes.items():
        yield f"online {problem}", (online, problem, cells, {})
        yield f"online {problem}, numpy only", (online, problem, cells, {"numba": False})
        yield f"coercivity {problem}", (coercive, problem, fewer[problem] if sizes is not fewer else cells, {})
        yield f"verify {problem}", (verified, problem, cells, {})
        yield f"tightness {problem}", (tightness, problem, min(cells, 100), {})
    quick = sizes is QUICK
    yield "whole case", (whole_case, "poisson", 60 if quick else 317, {})
    yield "solid, online", (solid, "elasticity", 8 if quick else 50, {})
    yield "solid, adjoints", (adjoints, "elasticity", 8 if quick else 24, {})
    yield "lift", (lift, "poisson", 8 if quick else 32, {})
    yield "3D assembly", (elastic_assembly, "elasticity", 8 if quick else 47, {})
    yield "semilinear root", (semilinear, "square", 40 if quick else 317, {})
    yield from latency.plan(quick=quick)
    yield "point in time 2D", (in_time, "square", 12 if quick else 64, {})
    for degree in (1, 2):
        yield f"band P{degree}", (band, "square", 12 if quick else 64, {"degree": degree})
    yield "band, corner", (band, "lshape", 6 if quick else 48, {"degree": 1})
    yield "band 3D", (band, "cube", 3 if quick else 8, {"degree": 1})
    for degree in (1, 2):
        yield f"solid, continuous P{degree}", (solid_continuous, "cube", 6 if quick else 26, {"degree": degree})
    yield "refinement 2D", (refinement, "square", 60 if quick else 708, {})
    yield "refinement 3D", (refinement, "cube", 8 if quick else 44, {})


def remember(path, results, sizes):
    """Add a line: when, on what machine at what pace of memory and load, with what versions, and the results."""
    versions = {name: importlib.metadata.version(name) for name in ("pinnpoint", "numpy", "scipy")}
    for name in ("numba", "scikit-fem", "pyamg", "cvxopt", "scikit-sparse", "pypardiso"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    row = {
        "when": time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime()),
        "machine": f"{platform.machine()}, {os.cpu_count()} processors, {platform.system()}",
        "triad [GB/s]": round(triad() / 1e9, 1),
        "load": round(os.getloadavg()[0], 1),
        "sizes": sizes,
        "versions": {"python": platform.python_version(), **versions},
        "results": results,
    }
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    whole = path.with_suffix(".part")  # a history is never left with half a line
    whole.write_text(before + json.dumps(row, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(whole, path)


def main():
    """Run each measurement in its own process and collect."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, as the tests run it")
    parser.add_argument("--only", nargs="*", help="names of measurements")
    parser.add_argument("--out", type=Path, default=HERE / "latest.json")
    parser.add_argument("--history", type=Path, help="a line is added to it (history.jsonl, but not with --quick)")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    sizes = QUICK if args.quick else SIZES
    jobs = dict(plan(sizes, QUICK if args.quick else {"poisson": 318, "elasticity": 225}))
    if args.one:
        f, problem, cells, options = jobs[args.one]
        row = f(problem, cells, **options)
        row["peak memory [GB]"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2)
        row["triad [GB/s]"] = round(triad() / 1e9, 1)
        print(json.dumps(row))
        return
    results = {}
    for name in jobs:
        if args.only and name not in args.only:
            continue
        command = [sys.executable, __file__, "--one", name, *(["--quick"] if args.quick else [])]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{name} failed:\n{done.stderr}")
        results[name] = json.loads(done.stdout)
        print(said(name, results[name]), flush=True)
    args.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if args.history or not args.quick:
        history = args.history or HERE / "history.jsonl"
        remember(history, results, "quick" if args.quick else "full")
        if args.history is None:
            (HERE.parent / "docs" / "benchmarks.svg").write_text(figure(lines_of(history)), encoding="utf-8")


if __name__ == "__main__":
    main()
