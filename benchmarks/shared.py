"""The continuous target over 1, 2 and 4 processes: CPU time along the longest path, memory and agreement.

    python benchmarks/shared.py --mpi .venv-mpi/bin/python [--cells 44] [--degree 1] [--ranks 1 2 4]

The path is the first process's own work and, of every job that was shared, the longest share; on a quiet machine with a
core for each process it is the wall time but for the mail. `make test-mpi` makes the environment that ``--mpi`` names.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
SETTINGS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
CASE = """
[mesh]
generate = "cube"
cells = {cells}
[problem]
kind = "reaction-diffusion"
degree = {degree}
source = "1 + x*y"
[problem.dirichlet]
boundary = 0.0
[prediction]
expression = "x*(1-x)*y*(1-y)*z*(1-z)"
[[query]]
name = "a"
at = [0.51, 0.47, 0.43]
[[query]]
name = "b"
at = [0.31, 0.67, 0.53]
[[query]]
name = "ball"
kind = "average"
at = [0.6, 0.4, 0.5]
radius = 0.2
"""


def one_rank(folder):
    """One process of a run; the first one leaves what it and the others needed."""
    from pinnpoint.cli.main import main as command
    from pinnpoint.distributed import continuous, crew

    kept, inside = [], []

    class Timed(crew.Crew):
        def __init__(self, team):
            super().__init__(team)
            kept.append(self)

        def ask(self, job, shares):
            start = time.process_time()
            try:
                return super().ask(job, shares)
            finally:
                inside.append(time.process_time() - start)

    continuous.Crew = Timed
    start, clock = time.process_time(), time.perf_counter()
    code = command(["certify", f"{folder}/case.toml", "--out", f"{folder}/out", "--petsc", "", "--quiet"])
    if kept:
        alone = time.process_time() - start - sum(inside)
        row = {
            "ranks": kept[0].team.size,
            "alone [s]": round(alone, 1),
            "path [s]": round(alone + sum(max(each) for each in kept[0].spent), 1),
            "wall [s]": round(time.perf_counter() - clock, 1),
            "load": round(os.getloadavg()[0], 1),
            "memory of the first [GiB]": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        }
        Path(folder, "row.json").write_text(json.dumps(row))
    raise SystemExit(code)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpi", default=str(HERE.parent / ".venv-mpi/bin/python"), help="a Python with petsc4py")
    parser.add_argument(
        "--cells", type=int, default=44, help="along each side of the cube, which has six times its cube"
    )
    parser.add_argument("--degree", type=int, default=1)
    parser.add_argument("--ranks", type=int, nargs="*", default=[1, 2, 4])
    args = parser.parse_args()
    root = ["--allow-run-as-root"] if os.getuid() == 0 else []
    first = None
    for ranks in args.ranks:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "case.toml").write_text(CASE.format(cells=args.cells, degree=args.degree))
            command = [shutil.which("mpirun"), *root, "--oversubscribe", "-n", str(ranks), args.mpi, __file__]
            subprocess.run([*command, "one_rank", folder], check=True, env=os.environ | SETTINGS)
            row = json.loads(Path(folder, "row.json").read_text())
            found = json.loads(Path(folder, "out", "certificate.json").read_text())["queries"]
        first = found if first is None else first
        off = [abs(a["center"] - b["center"]) / a["radius"] for a, b in zip(first, found, strict=True)]
        off += [abs(a["radius"] / b["radius"] - 1.0) for a, b in zip(first, found, strict=True)]
        row["apart from the first, in radii"] = max(off)
        print(json.dumps(row, indent=1), flush=True)


if __name__ == "__main__":
    import sys

    one_rank(sys.argv[2]) if sys.argv[1:2] == ["one_rank"] else main()
