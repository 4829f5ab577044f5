"""Print the table of docs/lift.md, what a PINN is worth: python docs/lift_table.py."""

from __future__ import annotations

import numpy as np

import pinnpoint as pp
from pinnpoint.models import benchmark

AT = np.array([[0.37, 0.52]])


def main() -> None:
    """Certify the benchmark at one point with each network on each mesh, and without any."""
    given = benchmark.load()
    print("| elements | n | no network | 500 Adam | 3,000 Adam | + L-BFGS | gain of the last | quadrature / radius |")
    print("|---|---|---|---|---|---|---|---|")
    for degree in (1, 2):
        for n in (16, 32, 64):
            problem = pp.fem.ReactionDiffusion(pp.io.generate("square", n), source=given.source_text, degree=degree)
            queries = problem.points(AT)
            radii = [pp.certify(problem, problem.space.U0, queries).radius[0]]
            for network in given.networks:
                found = pp.certify(problem.lifted(network), network, queries)
                assert abs(found.center[0] - given.exact(AT)[0]) <= found.radius[0]
                radii.append(found.radius[0])
            numbers = " | ".join(f"{r:.1e}" for r in radii)
            share = found.terms["quadrature"][0] / found.radius[0]
            print(f"| P{degree} | {n} | {numbers} | {radii[0] / radii[-1]:.0f} | {share:.1%} |", flush=True)


if __name__ == "__main__":
    main()
