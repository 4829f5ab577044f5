"""Run the tests whose last bits depend on the machine as other machines would: python scripts/machines.py [--here].

OpenBLAS has kernels for several processors, and runs those of any that this one understands; numpy's own loops can be
told to do without wide vectors. Once also without numba. `--here` runs them as this machine does, and once; without it
this machine's own kernels are left to `make test`.
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


def core(environment: dict[str, str]) -> str | None:
    """The kernels that OpenBLAS takes in an environment; None where an instruction of theirs is missing here."""
    told = {**os.environ, **environment, "OPENBLAS_VERBOSE": "2"}
    done = subprocess.run([sys.executable, "-c", PROBE], env=told, capture_output=True, text=True)
    named = re.search(r"Core: (\w+)", done.stdout + done.stderr)
    return named[1] if done.returncode == 0 and named else None


def cores() -> list[str]:
    """The kernels of OpenBLAS that run here, each once: some names stand for the kernels of another.

    The oldest is always among them; not so what OpenBLAS takes by itself, with which `make test` has run everything.
    """
    by_kernels: dict[str, str] = {}
    for name in CORES:
        kernels = core({"OPENBLAS_CORETYPE": name})
        if kernels is not None:
            by_kernels.setdefault(kernels, name)
    own, oldest = core({}), next(iter(by_kernels), None)
    return [name for kernels, name in by_kernels.items() if kernels == oldest or kernels != own]


def narrow() -> str:
    """The wide vectors of this processor that numpy can do without."""
    return subprocess.run([sys.executable, "-c", FEATURES], capture_output=True, text=True, check=True).stdout.strip()


def machines() -> list[tuple[str, dict[str, str]]]:
    """Names and environments. The oldest processor also has no wide vectors for numpy."""
    named = [(name, {"OPENBLAS_CORETYPE": name}) for name in cores()]
    if named:
        named[0][1]["NPY_DISABLE_CPU_FEATURES"] = narrow()
    return named


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
    if not here and len(some) < 2:
        print(f"only {len(some)} other kind of kernels runs here: {', '.join(name for name, _ in some)}", flush=True)
    plan = [(name, environment, True) for name, environment in some]
    plan += [] if here else [(*some[0], False)]
    passed = [run(name, environment, numba=numba) for name, environment, numba in plan]
    raise SystemExit(not all(passed))


if __name__ == "__main__":
    main(sys.argv[1:])
