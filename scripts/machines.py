"""Run the tests whose last bits depend on the machine as other machines would: python scripts/machines.py [--here].

OpenBLAS has kernels for several processors, and runs those of any that this one understands; numpy's own loops can be
told to do without wide vectors. Once also without numba. `--here` runs them as this machine does, and once.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
CORES = ("Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX")
FILES = {
    "unit/rounding": "kernels slices coercivity",
    "soundness": "rounding sabotage sabotage_continuous sabotage_elastic elastic checker_terms two_programs",
    "contract": "bundle",
    "docs": "docs",
}
LEFT_OUT = "site or studies or edited or touched or 100k"
"""Tests of these files that take long and have no last bits: the site, studies, forgeries, and a large matrix."""
SLOW = "compiled or test_elastic or test_sabotage_elastic"
"""What is about numba, or takes minutes without it."""
PROBE = "import numpy as np, scipy.linalg as sl; A = np.eye(300) + 0.1; sl.lu_factor(A @ A); sl.cholesky(A @ A)"
FEATURES = """
import numpy as np
core = np._core if hasattr(np, "_core") else np.core
found = core._multiarray_umath
print(*(name for name in found.__cpu_dispatch__ if found.__cpu_features__.get(name)))
"""


def cores() -> list[str]:
    """The kernels of OpenBLAS that run here, each once: some names stand for the kernels of another."""
    found: dict[str, str] = {}
    for name in CORES:
        environment = {**os.environ, "OPENBLAS_CORETYPE": name, "OPENBLAS_VERBOSE": "2"}
        done = subprocess.run([sys.executable, "-c", PROBE], env=environment, capture_output=True, text=True)
        said = re.search(r"Core: (\w+)", done.stdout + done.stderr)
        if done.returncode == 0 and said:  # else an instruction was missing
            found.setdefault(said[1], name)
    return list(found.values())


def narrow() -> str:
    """The wide vectors of this processor that numpy can do without."""
    return subprocess.run([sys.executable, "-c", FEATURES], capture_output=True, text=True, check=True).stdout.strip()


def machines() -> list[tuple[str, dict[str, str]]]:
    """Names and environments. The oldest processor also has no wide vectors for numpy."""
    found = [(name, {"OPENBLAS_CORETYPE": name}) for name in cores()]
    if found:
        found[0][1]["NPY_DISABLE_CPU_FEATURES"] = narrow()
    return found


def run(name: str, environment: dict[str, str], *, numba: bool) -> bool:
    """The tests on one machine; one line is printed."""
    files = [f"tests/{folder}/test_{name}.py" for folder, names in FILES.items() for name in names.split()]
    without = [] if numba else ["--without-numba"]
    chosen = f"not ({LEFT_OUT}{'' if numba else f' or {SLOW}'})"
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", "-k", chosen, *without, *files]
    start = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True)
    last = done.stdout.strip().rpartition("\n")[2]
    print(f"{name:12} {'with' if numba else 'without':7} numba  {time.monotonic() - start:4.0f} s  {last}", flush=True)
    if done.returncode:
        print(done.stdout, done.stderr, sep="\n", flush=True)
    return done.returncode == 0


def main(arguments: list[str]) -> None:
    """Exit code 1 if a test failed anywhere."""
    here = "--here" in arguments
    some = [("this machine", {})] if here else machines()
    some = some or [("this machine", {})]
    if not here and len(some) < 3:
        print(f"only {len(some)} kinds of kernels run here: {', '.join(name for name, _ in some)}", flush=True)
    plan = [(name, environment, True) for name, environment in some]
    plan += [] if here else [(*some[0], False)]
    passed = [run(name, environment, numba=numba) for name, environment, numba in plan]
    raise SystemExit(not all(passed))


if __name__ == "__main__":
    main(sys.argv[1:])
