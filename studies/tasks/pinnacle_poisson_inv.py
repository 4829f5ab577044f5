"""PINNacle's PoissonInv, given its a: is its u right? With the source that a and u have, and with that of its code."""

from __future__ import annotations

import pinnpoint as pp

MEDIUM = "1/(1 + x**2 + y**2 + (x-1)**2 + (y-1)**2)"
GUESS = "sin(pi*x)*sin(pi*y)"
SHIFTS = {"the source of its a and u": -1, "the source of its code": 1}
PLACES = [(0.2, 0.3), (0.5, 0.5), (0.7, 0.6), (0.35, 0.8)]


def source(shift: int) -> str:
    """−∇·(a∇u), with (2x − 1) and (2y − 1) where a needs them, or (2x + 1) and (2y + 1) as in the code."""
    along = f"(2*x + ({shift}))*cos(pi*x)*sin(pi*y) + (2*y + ({shift}))*sin(pi*x)*cos(pi*y)"
    return f"2*pi**2*({MEDIUM})*{GUESS} + 2*pi*({MEDIUM})**2*({along})"


def main() -> None:
    """Certify its u at four points, twice."""
    for name, shift in SHIFTS.items():
        mesh = pp.io.generate("square", 24)
        problem = pp.fem.ReactionDiffusion(mesh, source=source(shift), diffusion=MEDIUM, degree=2)
        found = pp.certify(problem, GUESS, problem.points(PLACES))
        off = abs(found.raw - found.center)
        print(f"{name}: off by {(off - found.radius).clip(0).max():.2g} to {(off + found.radius).max():.2g}")


if __name__ == "__main__":
    main()
