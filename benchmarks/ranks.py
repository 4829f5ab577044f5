"""The bracket at full size over 1, 2 and 4 processes of MPI, beside one process with a direct solver.

    python benchmarks/ranks.py --mpi .venv-mpi/bin/python [--case FILE.toml] [--ranks 1 2 4]

`make test-mpi` makes the environment that ``--mpi`` names. Without a case it is meshed as by `bracket.py`, with Gmsh.
Agreement is of intervals, in rational arithmetic: each pair must overlap, and each must meet what one process with a
direct solver gives for the same system.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

HERE = Path(__file__).parent
SETTINGS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}


def spent():
    """CPU seconds and peak memory of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {"cpu [s]": round(used.ru_utime + used.ru_stime, 1), "memory [GiB]": round(used.ru_maxrss / 2**20, 2)}


def one_rank(folder, case):
    """One process of a run; it leaves what it used beside the outputs."""
    from pinnpoint.cli.main import main as command

    code = command(["certify", case, "--out", f"{folder}/out", "--petsc", ""])
    Path(folder, f"rank-{os.environ.get('OMPI_COMM_WORLD_RANK', '0')}.json").write_text(json.dumps(spent()))
    raise SystemExit(code)


def system(folder, case):
    """The system as the Python of the ranks assembles it: other versions of numpy round otherwise."""
    import numpy as np
    import scipy.sparse as sp

    from pinnpoint.cases.read import read_case
    from pinnpoint.cases.study import build
    from pinnpoint.fem import path_coercivity

    study = build(read_case(case, []), lambda what: None)
    problem = study.problem
    for name, M in (("A", problem.A), ("L", study.queries.L)):
        sp.save_npz(Path(folder, f"{name}.npz"), M)
    fixed = np.setdiff1d(np.arange(problem.space.N), problem.space.free)
    U, alpha = problem.extract(study.prediction).U, path_coercivity(problem).alpha
    np.savez(Path(folder, "rest.npz"), b=problem.b, fixed=fixed, U=U, alpha=alpha)


def direct(folder):
    """The direct solver: intervals of the given state, and of a corrected one, which are hardly wider than floats."""
    import numpy as np
    import scipy.sparse as sp

    import pinnpoint as pp
    from pinnpoint.fem.data.conditions import admissible

    D = np.load(Path(folder, "rest.npz"))
    b, U, fixed = D["b"], D["U"], D["fixed"]
    A, L = (sp.csr_array(sp.load_npz(Path(folder, f"{name}.npz"))) for name in "AL")
    system = pp.LinearSystem(A, b, space=admissible(len(b), fixed, U[fixed]), reduction="galerkin")
    certifier = pp.Exact(coercivity=float(D["alpha"]), refine=True).prepare(system, pp.Queries(L))
    rows, free = {"given": certifier.certify(U)}, np.asarray(system.space.free)
    for _ in range(2):
        U[free] -= certifier.ground.solver.solve((A @ U - b)[free])
    rows["corrected"] = certifier.certify(U)
    said = {name: np.stack([c.center, c.radius], axis=1).tolist() for name, c in rows.items()}
    Path(folder, "direct.json").write_text(json.dumps(said | spent()))


def meet(one, two):
    """Whether all intervals of two lists have common points."""
    pairs = zip(one, two, strict=True)
    return all(abs(Fraction(a) - Fraction(b)) <= Fraction(r) + Fraction(s) for (a, r), (b, s) in pairs)


def widest(rows):
    """The largest radius against its value."""
    return float(f"{max(r / abs(x) for x, r in rows):.1e}")


def over(ranks, python, case, folder):
    """Certify over some processes: the row, intervals included."""
    root = ["--allow-run-as-root"] if os.getuid() == 0 else []
    command = [shutil.which("mpirun"), *root, "--oversubscribe", "-n", str(ranks), python, __file__]
    start, load = time.perf_counter(), os.getloadavg()[0]
    env = os.environ | SETTINGS
    done = subprocess.run(
        [*command, "one_rank", folder, str(case)], text=True, capture_output=True, check=False, env=env
    )
    wall = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    used = [json.loads(Path(folder, f"rank-{k}.json").read_text()) for k in range(ranks)]
    said = json.loads(Path(folder, "out", "certificate.json").read_text())
    rows = [[q["center"], q["radius"]] for q in said["queries"]]
    stages = dict(line.rsplit(": ", 1) for line in done.stderr.splitlines() if line.endswith(" s") and ": " in line)
    return {
        "ranks": ranks,
        "dofs": said["dofs"],
        "wall [s]": round(wall, 1),
        "others' load before": round(load, 1),
        "cpu of each [s]": [u["cpu [s]"] for u in used],
        "memory of each [GiB]": [u["memory [GiB]"] for u in used],
        "wall of stages [s]": {name: float(text.split()[0]) for name, text in stages.items()},
        "largest radius / |value|": widest(rows),
        "intervals": rows,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpi", default=str(HERE.parent / ".venv-mpi/bin/python"), help="a Python with petsc4py")
    parser.add_argument("--case", type=Path)
    parser.add_argument("--ranks", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--out", type=Path, default=HERE / "ranks.json")
    args = parser.parse_args()
    if args.case is None:
        from bracket import prepare_case

        args.case = prepare_case(Path(tempfile.gettempdir()) / "pinnpoint-bracket", 386_000)
    stored = json.loads(args.out.read_text()) if args.out.exists() else {"ranks": []}
    with tempfile.TemporaryDirectory() as folder:
        if "direct" not in stored:
            subprocess.run([args.mpi, __file__, "system", folder, str(args.case)], check=True)
            subprocess.run([sys.executable, __file__, "direct", folder], check=True)
            stored["direct"] = json.loads(Path(folder, "direct.json").read_text())
        for ranks in args.ranks:
            row = over(ranks, args.mpi, args.case, f"{folder}")
            shutil.rmtree(f"{folder}/out")
            stored["ranks"] = sorted(
                [r for r in stored["ranks"] if r["ranks"] != ranks] + [row], key=lambda r: r["ranks"]
            )
            for r in stored["ranks"]:
                r["meets direct"] = {k: meet(r["intervals"], stored["direct"][k]) for k in ("given", "corrected")}
                r["meets all ranks"] = all(meet(r["intervals"], other["intervals"]) for other in stored["ranks"])
            print(json.dumps({k: v for k, v in row.items() if k != "intervals"}, indent=1), flush=True)
            args.out.write_text(json.dumps(stored) + "\n")


if __name__ == "__main__":
    roles = {"one_rank": one_rank, "system": system, "direct": direct}
    roles[sys.argv[1]](*sys.argv[2:]) if sys.argv[1:2] and sys.argv[1] in roles else main()
