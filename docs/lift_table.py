"""Print the table of docs/lift.md, what a PINN is worth: python docs/lift_table.py [--cells 16 32].

Certifies the benchmark at one point without a network and with each of the three, and checks every interval.
"""

from __future__ import annotations

import argparse

import numpy as np

import pinnpoint as pp
from pinnpoint.models.networks import benchmark

AT = np.array([[0.37, 0.52]])


def main() -> None:
    """One row a mesh."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, nargs="+", default=[16, 32])
    asked = parser.parse_args()
    given = benchmark.load()
    exact, line = float(given.exact(AT)[0]), (np.arange(200) + 0.5) / 200
    fine = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    sizes = [np.sqrt(np.mean(given.residual(u, fine) ** 2)) for u in given.networks]
    print("rms residuals:", ", ".join(f"{r:.2g}" for r in sizes))
    print("| elements | n | no network | rough | fair | good | gain of the good one | quadrature / radius |")
    print("|---|---|---|---|---|---|---|---|")
    for degree in (1, 2):
        for n in asked.cells:
            problem = pp.fem.ReactionDiffusion(pp.io.generate("square", n), source=given.source_text, degree=degree)
            queries = problem.points(AT)
            radii = [pp.certify(problem, problem.space.U0, queries).radius[0]]
            for network in given.networks:
                found = pp.certify(problem.lifted(network), network, queries)
                assert found.guarantee.value == "deterministic"
                assert abs(found.center[0] - exact) <= found.radius[0]
                radii.append(found.radius[0])
            numbers = " | ".join(f"{r:.1e}" for r in radii)
            share = found.terms["quadrature"][0] / found.radius[0]
            print(f"| P{degree} | {n} | {numbers} | {radii[0] / radii[-1]:.0f} | {share:.1%} |", flush=True)


if __name__ == "__main__":
    main()
