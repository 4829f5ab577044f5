"""The bracket at full size: from its mesh file to a certificate, online, and as a family, each beside its peer.

    python benchmarks/bracket.py [--dofs 386000] [--only PART ...] [--out benchmarks/bracket.json]
    python benchmarks/bracket.py --growth [--sizes 50000 100000 200000 400000 1000000]

Needs Gmsh (extra ``mesh``) and one of CHOLMOD, PARDISO and CVXOPT; each part runs in a process of its own, so that its
peak memory is its own. Compare ratios only, and on a quiet machine.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse.linalg as spla

import pinnpoint as pp
from pinnpoint.base.arrays import set_fields
from pinnpoint.cli.main import main as command
from pinnpoint.fem.elastic.bracket_loads import LOADS as CASES
from pinnpoint.mesh import bracket as generator
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.rounding import matrices
from pinnpoint.solvers.amg import Multigrid
from pinnpoint.solvers.choice import installed
from pinnpoint.solvers.cholmod import Cholmod
from pinnpoint.solvers.pardiso import Pardiso
from pinnpoint.solvers.wheel_cholmod import WheelCholmod

HERE = Path(__file__).parent
QUERIES, STATES = 28, 256


def prepare_case(folder, dofs):
    """Mesh file, rough prediction and case of a bracket with so many dofs, made once."""
    folder.mkdir(parents=True, exist_ok=True)
    mesh_file, case = folder / f"bracket-{dofs}.msh", folder / f"bracket-{dofs}.toml"
    if case.exists():
        return case
    gmsh = generator.import_gmsh()
    with generator._session(gmsh):
        walls, aim = generator._build(gmsh), float(dofs)
        for _ in range(generator.TRIES):
            mesh = generator._mesh(gmsh, generator.edge_length(aim), walls)
            found = generator.free_dofs(mesh)
            if abs(found / dofs - 1.0) <= generator.WITHIN:
                break
            aim *= dofs / found
        for k, (name, surfaces) in enumerate(walls.items()):
            gmsh.model.addPhysicalGroup(2, surfaces, k + 1, name)
        gmsh.model.addPhysicalGroup(3, [tag for _, tag in gmsh.model.getEntities(3)], 100, "solid")
        gmsh.option.setNumber("Mesh.MshFileVersion", 4.1)
        gmsh.option.setNumber("Mesh.Binary", 1)
        gmsh.write(str(mesh_file))
    mesh = pp.io.read_mesh(mesh_file)
    rng = np.random.default_rng(0)
    X = mesh.points
    np.savez(mesh_file.with_suffix(".npz"), values=1e-3 * np.sin(X / 20.0) + 1e-4 * rng.normal(size=X.shape))
    rows = []
    for group, component in (("pin", "x"), ("pin", "y"), ("pin", "z"), ("base", "z")):
        rows.append(f'name="{group} {component}"\nkind="patch"\ngroup="{group}"\ncomponent="{component}"\n')
    outside = mesh.facets("surface")[rng.choice(len(mesh.facets("surface")), 16, replace=False)]
    inside = mesh.cells[rng.choice(len(mesh.cells), 8, replace=False)]
    places = [X[outside].mean(axis=1), X[inside].mean(axis=1)]
    for k, x in enumerate(np.concatenate(places)):
        rows.append(f'name="{"surface" if k < 16 else "inside"} {k}"\nat={x.tolist()}\ncomponent="{"xyz"[k % 3]}"\n')
    force = CASES["vertical"]
    case.write_text(
        f'title="Bracket"\nunits="mm"\n[mesh]\nfile="{mesh_file.name}"\n'
        '[problem]\nkind="elasticity"\nyoung=113800.0\npoisson=0.342\n[problem.dirichlet]\nbolts=0.0\n'
        f"[problem.force.pin]\nforce={list(force.force)}\nmoment=[0.0, 0.0, 0.0]\nat={list(force.at)}\n"
        f'[prediction]\nfile="{mesh_file.with_suffix(".npz").name}"\n'
        + "".join(f"[[query]]\n{row}" for row in rows)
        + '[certificate]\ntarget="discrete"\n'
    )
    return case


def opened(case):
    """Problem, queries and the rough state of a case."""
    from pinnpoint.cases.read import read_case
    from pinnpoint.cases.study import build

    study = build(read_case(case, []), lambda what: None)
    return study.problem, study.queries, study.problem.extract(study.prediction).U


def cholesky(B, points):
    """The Cholesky package that is there: of SuiteSparse's headers, of MKL or of wheels."""
    if installed("cholmod"):
        return Cholmod(B)
    return Pardiso(B) if installed("pardiso") else WheelCholmod(B, points)


def once(case):
    """Our assembly, one factorization, 28 back-solves."""
    mesh = pp.io.read_mesh(case.with_suffix(".msh"))
    start = time.perf_counter()
    problem = pp.fem.bracket("vertical", mesh=mesh)
    assembled = time.perf_counter()
    solver = cholesky(problem.system.free_block, problem.system.row_points)
    factored = time.perf_counter()
    solver.solve(np.asfortranarray(np.random.default_rng(0).normal(size=(problem.system.n, QUERIES))))
    solved = time.perf_counter()
    return {
        "dofs": problem.system.n,
        "entries": int(problem.system.free_block.nnz),
        "solver": solver.name,
        "assembly [s]": round(assembled - start, 2),
        "factorization [s]": round(factored - assembled, 2),
        f"{QUERIES} back-solves [s]": round(solved - factored, 2),
        "sum [s]": round(solved - start, 2),
    }


def certify(case):
    """The command, from the mesh file to all outputs."""
    with tempfile.TemporaryDirectory(dir=case.parent) as folder:
        start = time.perf_counter()
        code = command(["certify", str(case), "--out", f"{folder}/out", "--quiet"])
        spent, peak = time.perf_counter() - start, peak_memory()
        said = json.loads(Path(folder, "out", "certificate.json").read_text())
        begin = time.perf_counter()
        verified = command(["verify", f"{folder}/out/bundle"])
        checked = time.perf_counter() - begin
    wide = max(row["radius"] / max(abs(row["center"]), 1e-300) for row in said["queries"])
    return {
        "mesh file to certificate [s]": round(spent, 2),
        "exit codes of certify and verify": [code, verified],
        "peak memory of certify [GiB]": peak,
        "verify [s]": round(checked, 2),
        "largest radius / |value|": float(f"{wide:.1e}"),
    }


def peak_memory():
    """Of this process so far, in GiB."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2)


def triad():
    """Bytes a second of a sum of two arrays into a third, on all cores."""
    from pinnpoint.base.threads import CORES, on_all_cores

    n = 10_000_000
    parts = [(np.ones(n), np.ones(n), np.ones(n)) for _ in range(CORES)]
    best = min(_timed(lambda: on_all_cores(lambda p: np.add(p[0], p[1], out=p[2]), parts)) for _ in range(12))
    return 24 * n * CORES / best


def _timed(f):
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def online(case, *, tolerance=1e-10):
    """Adjoints against conjugate gradients; one state, and a family, against the memory's pace."""
    problem, queries, U = opened(case)
    system, free = problem.system, np.asarray(problem.space.free)
    B = system.free_block
    solver = cholesky(B, system.row_points)
    right = np.asfortranarray(queries.L[:, free].toarray().T)
    adjoints = min(_timed(lambda: solver.solve(right)) for _ in range(2))
    bound = pp.fem.path_coercivity(problem)
    pace = triad()
    once_through = (12 * B.nnz + 8 * QUERIES * len(free)) / pace
    row = {
        "dofs": len(free),
        f"{QUERIES} adjoints [s]": round(adjoints, 2),
        "triad [GB/s]": round(pace / 1e9, 1),
        "one pass over K and G [ms]": round(1e3 * once_through, 1),
    }
    matrices.compiled()
    for name, method in (
        ("rounding not covered", pp.Exact(rounding=False, solver=solver, coercivity=bound)),
        ("rounding covered", pp.Exact(solver=solver, coercivity=bound, refine=True)),
        ("rounding covered, unrefined", pp.Exact(solver=solver, coercivity=bound)),
    ):
        certifier = method.prepare(system, queries)
        spent = min(_timed(lambda c=certifier: c.certify(U)) for _ in range(12))
        row[f"one state, {name} [ms]"] = round(1e3 * spent, 1)
        row[f"one state, {name} [passes]"] = round(spent / once_through, 2)
    family = problem.family([{"force": {"pin": load}} for load in CASES.values()])
    prepared = family.prepare(queries, pp.Exact(solver=solver, coercivity=bound, refine=True))
    mu = np.random.default_rng(1).normal(size=(STATES, len(CASES)))
    states = np.tile(U, (STATES, 1))
    spent = min(_timed(lambda: prepared.certify_many(states, mu, residuals=True)) for _ in range(2))
    row[f"{STATES} states with residual norms [ms each]"] = round(1e3 * spent / STATES, 2)
    many = np.random.default_rng(2).normal(size=(200_000, len(CASES)))
    outputs = np.zeros((len(many), len(queries)))
    row["raw outputs [loads/s]"] = float(
        f"{len(many) / min(_timed(lambda: prepared.certify_raw(outputs, many)) for _ in range(3)):.2g}"
    )
    d, count = B.diagonal(), [0]
    M = spla.LinearOperator(B.shape, matvec=lambda v: v.ravel() / d, dtype=float)
    load = problem.b[free]
    start = time.perf_counter()
    x, _ = spla.cg(B, load, rtol=tolerance, M=M, callback=lambda _: count.__setitem__(0, count[0] + 1))
    jacobi = time.perf_counter() - start
    row |= {
        "one Jacobi-CG solve [s]": round(jacobi, 1),
        "its iterations": count[0],
        "its true residual": float(f"{np.linalg.norm(B @ x - load) / np.linalg.norm(load):.1e}"),
        "adjoints, times faster than Jacobi-CG": round(QUERIES * jacobi / adjoints),
        "one state, times faster than Jacobi-CG": round(jacobi / (1e-3 * row["one state, rounding covered [ms]"])),
    }
    return row


def grown(case):
    """Costs that grow with the dofs, with multigrid alone."""
    problem, queries, U = opened(case)
    row = {"dofs": problem.system.n, "entries": int(problem.system.free_block.nnz)}
    old = problem.mesh
    mesh = Mesh.trusted(old.points, old.cells, old.cell_groups, old.facet_groups)
    row["assembly [s]"] = round(_timed(lambda: pp.fem.bracket("vertical", mesh=mesh)), 2)
    start = time.perf_counter()
    bound = pp.fem.path_coercivity(problem)
    row["coercivity"] = float(f"{bound.alpha:.2e}")
    row["coercivity [s]"] = round(time.perf_counter() - start, 2)
    system = problem.system
    set_fields(system, floor=lambda: bound)  # not proved once more
    start = time.perf_counter()
    solver = Multigrid(system.free_block, system.modes, system.node_size)
    row["multigrid setup [s]"] = round(time.perf_counter() - start, 2)
    start = time.perf_counter()
    certifier = pp.Exact(solver=solver, states=1).prepare(system, queries)
    row[f"{QUERIES} adjoints [s]"] = round(time.perf_counter() - start, 2)
    start = time.perf_counter()
    found = certifier.certify(U)
    row["one state, corrected [s]"] = round(time.perf_counter() - start, 2)
    row["largest radius / |value|"] = float(f"{np.max(found.radius / np.abs(found.center)):.1e}")
    return row


PARTS = {"once": once, "certify": certify, "online": online}


def in_a_process(part, case):
    """The part's row with its peak memory."""
    script = "import sys; sys.path.insert(0, sys.argv[1]); import bracket; bracket.child(*sys.argv[2:])"
    done = subprocess.run(
        [sys.executable, "-c", script, str(HERE), part, str(case)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{part}: {done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def child(part, case):
    """Run one part and print its row."""
    row = {**PARTS, "growth": grown}[part](Path(case))
    row["peak memory [GiB]"] = peak_memory()
    print(json.dumps(row))


def fitted(rows, key):
    """The exponent p of key ≈ c dofs^p."""
    n, y = (np.array([row[k] for row in rows], dtype=float) for k in ("dofs", key))
    return round(float(np.polyfit(np.log(n), np.log(np.maximum(y, 1e-9)), 1)[0]), 2)


def plot(rows, path):
    """Cost against dofs, one curve a stage."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
    n = [row["dofs"] for row in rows]
    for key in (k for k in rows[0] if k.endswith("[s]")):
        left.loglog(n, [row[key] for row in rows], "o-", label=f"{key[:-4]}, n^{fitted(rows, key)}")
    left.set(xlabel="free dofs", ylabel="time [s]")
    left.legend(fontsize=7)
    right.loglog(n, [row["peak memory [GiB]"] for row in rows], "o-")
    right.set(xlabel="free dofs", ylabel="peak memory [GiB]")
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dofs", type=int, default=386_000)
    parser.add_argument("--only", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--growth", action="store_true", help="cost against dofs instead")
    parser.add_argument("--sizes", type=int, nargs="*", default=[50_000, 100_000, 200_000, 400_000, 1_000_000])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "pinnpoint-bracket")
    parser.add_argument("--out", type=Path, default=HERE / "bracket.json")
    args = parser.parse_args()
    stored = json.loads(args.out.read_text()) if args.out.exists() else {}
    if args.growth:
        for size in args.sizes:
            row = in_a_process("growth", prepare_case(args.folder, size))
            print(json.dumps(row, indent=1), flush=True)
            rows = [r for r in stored.get("growth", []) if r["dofs"] != row["dofs"]]
            stored["growth"] = sorted([*rows, row], key=lambda r: r["dofs"])
            args.out.write_text(json.dumps(stored, indent=1) + "\n")
        if len(stored["growth"]) > 1:
            keys = [k for k in stored["growth"][0] if k.endswith(("[s]", "[ms]", "[GiB]"))]
            stored["exponents"] = {key: fitted(stored["growth"], key) for key in keys}
            args.out.write_text(json.dumps(stored, indent=1) + "\n")
            plot(stored["growth"], HERE.parent / "docs" / "cost.svg")
        return
    case = prepare_case(args.folder, args.dofs)
    for part in args.only:
        row = in_a_process(part, case)
        print(json.dumps({part: row}, indent=1), flush=True)
        stored[part] = row
    if "once" in stored and "certify" in stored:
        stored["certify"]["ratio to assembly, factorization and back-solves"] = round(
            stored["certify"]["mesh file to certificate [s]"] / stored["once"]["sum [s]"], 2
        )
        print(json.dumps(stored["certify"]))
    args.out.write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    main()
