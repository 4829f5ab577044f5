"""Time `prepare` and `certify` on a large 2D Poisson system, as multiples of one sparse product.

python benchmarks/online.py [--cells 632] [--queries 8] [--no-numba]
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import gallery
import pinnpoint as pp
from pinnpoint.rounding import matrices


def median_time(f, repeat=15):
    f()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=632)
    parser.add_argument("--queries", type=int, default=8)
    parser.add_argument("--no-numba", action="store_true")
    args = parser.parse_args()
    if args.no_numba:
        matrices._compiled_tried = True
    case = gallery.poisson_2d(args.cells)
    system = case.system()
    rng = np.random.default_rng(0)
    at = rng.choice(case.free, args.queries, replace=False)
    L = sp.csr_array((np.ones(args.queries), (np.arange(args.queries), at)), shape=(args.queries, case.b.size))
    queries = pp.Queries(L)

    start = time.perf_counter()
    certifier = pp.Exact().prepare(system, queries)
    prepare = time.perf_counter() - start
    plain = pp.Exact(rounding=False).prepare(system, queries)

    U = case.space.project(rng.uniform(size=case.b.size)).U
    A, _ = case.reduced()
    y = U[case.free]
    product = median_time(lambda: A @ y)
    online = median_time(lambda: certifier.certify(U))
    unenclosed = median_time(lambda: plain.certify(U))
    certificate = certifier.certify(U)
    print(
        json.dumps(
            {
                "free dofs": int(A.shape[0]),
                "queries": args.queries,
                "numba": matrices.compiled() is not None,
                "prepare [s]": round(prepare, 2),
                "sparse product [ms]": round(1e3 * product, 3),
                "certify, rounding covered [ms]": round(1e3 * online, 2),
                "certify, in sparse products": round(online / product, 1),
                "certify, rounding not covered [ms]": round(1e3 * unenclosed, 2),
                "largest relative radius": float(np.max(certificate.radius / np.abs(certificate.center))),
                "peak memory [GB]": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
