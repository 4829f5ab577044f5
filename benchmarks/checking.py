"""What re-checking costs: processor time of `verify` over that of certifying, for formulas in 1D, 2D and 3D.

    python benchmarks/checking.py [--quick] [--only WORD ...] [--out benchmarks/checking.json]

Each line runs in a process of its own, after a small case of its kind that loads what is needed. Certifying is the
making of the problem and `pinnpoint.certify`, without outputs; the bundle that is verified is written in between.
"""

import argparse
import contextlib
import io
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pinnpoint as pp
import pinnpoint_verify as verifier

WAVE = {1: "sin(3*x)*exp(x)", 2: "sin(3*x)*cos(2*y) + exp(-20*((x-0.4)**2+(y-0.6)**2))", 3: "exp(x*y)*cos(2*z)"}
SIDE = {1: "1+x", 2: "sin(2*x)*exp(y)", 3: "sin(2*x)*exp(y)*cos(z)"}
DATA = {
    "source": lambda d: {"dirichlet": {"boundary": 0.0}},
    "dirichlet": lambda d: {"dirichlet": {"boundary": SIDE[d]}},
    "neumann": lambda d: {"dirichlet": {"left": 0.0}, "neumann": {"right": SIDE[d]}},
    "robin": lambda d: {"dirichlet": {"left": 0.0}, "robin": {"right": (2.0, SIDE[d])}},
    "varying": lambda d: {"dirichlet": {"boundary": 0.0}, "diffusion": "1 + x*x/2"},
}
DOMAIN = {1: "interval", 2: "square", 3: "cube"}
SIZES = {1: {1: (64, 512), 2: (64, 512)}, 2: {1: (16, 64), 2: (16, 48)}, 3: {1: (6, 16), 2: (4, 8)}}
WARM = {1: 8, 2: 4, 3: 3}


def problem_of(d, kind, n, degree):
    """A problem whose data are formulas."""
    given = {"source": WAVE[d]} | DATA[kind](d)
    return pp.fem.ReactionDiffusion(pp.io.generate(DOMAIN[d], n), degree=degree, **given)


def asked_of(problem, d, kind, count):
    """One point; or six points, two averages and two means."""
    places = [[0.31 + 0.07 * k, 0.62 - 0.05 * k, 0.43 + 0.03 * k][:d] for k in range(6)]
    if count == 1:
        return problem.points(places[:1])
    asked = problem.points(places) + problem.averages(places[:2], 0.1, names=["average 0", "average 1"])
    return asked + problem.mean() + (problem.patch("right") if d > 1 else problem.points([[0.9]], names=["last"]))


def measured(d, kind, n, degree, count):
    """Seconds to certify, to write and to verify, the verdict, and the peak of memory."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        problem = problem_of(d, kind, n, degree)
        asked = asked_of(problem, d, kind, count)
        found = pp.certify(problem, problem.space.U0, asked, target="continuous")
        certified = time.process_time()
        bundle = pp.write_bundle(Path(folder, "b"), found, problem, problem.space.U0, asked)
        written = time.process_time()
        with contextlib.redirect_stdout(io.StringIO()):
            code = verifier.main(bundle)
        checked = time.process_time()
    return [certified - start, written - certified, checked - written, code, len(problem.mesh.cells)]


def line(words):
    """One case in this process: the lesser of two runs."""
    d, kind, n, degree, count = int(words[0]), words[1], *map(int, words[2:])
    measured(d, kind, WARM[d], degree, count)
    runs = [measured(d, kind, n, degree, count) for _ in range(2)]
    certify, write, verify = (min(run[k] for run in runs) for k in range(3))
    return {
        "d": d, "data": kind, "n": n, "cells": runs[0][4], "degree": degree, "queries": count,
        "certify [s]": round(certify, 3), "bundle [s]": round(write, 3), "verify [s]": round(verify, 3),
        "ratio": round(verify / certify, 1), "verified": all(run[3] == 0 for run in runs),
        "peak [GiB]": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }  # fmt: skip


def cases(quick):
    """All lines; for a quick look the small meshes and one query."""
    for d, kind, degree in ((d, kind, degree) for d in DOMAIN for kind in DATA for degree in (1, 2)):
        for n in SIZES[d][degree][: 1 if quick else 2]:
            for count in (1,) if quick else (1, 10):
                yield [str(x) for x in (d, kind, n, degree, count)]


def main():
    """Every case in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--line", nargs=5, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.line:
        print(json.dumps(line(arguments.line)))
        return
    found = []
    for words in cases(arguments.quick):
        if all(
            word in (words[1], f"{words[0]}d", f"p{words[3]}", f"n{words[2]}", f"q{words[4]}")
            for word in arguments.only
        ):
            done = subprocess.run([sys.executable, __file__, "--line", *words], capture_output=True, text=True)
            found.append(
                json.loads(done.stdout) if done.returncode == 0 else {"failed": words, "why": done.stderr[-600:]}
            )
            print(found[-1], flush=True)
            if arguments.out:
                arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
