"""PINNacle's Wave2d-MS, u_tt = u_xx + 2u_yy: the solution that its code states, held against its own equation.

The code gives u = sin πx sinh πy cos πt + sinh 3πx sin 2πy cos πt at the start and around, for t ≤ 100, and nothing of
u_t(0), which is zero for this u and taken so. With η = y/√2 the equation is u_tt = Δu, and at points whose past does
not reach the sides the start alone decides: there the stated u is certified as a prediction.
"""

from __future__ import annotations

from common import Row, main, scored

import pinnpoint as pp

START = "sin(pi*x)*sinh(pi*sqrt(2)*y) + sinh(3*pi*x)*sin(2*pi*sqrt(2)*y)"


def stated(quick: bool) -> Row:
    """What the code calls the solution, at points in x and η."""
    wave = pp.boxes.Wave([0, 1], [0, 0.707], end=0.3, initial=START)
    asked = wave.points([[0.5, 0.35], [0.4, 0.3]], time=0.2) + wave.points([[0.5, 0.35]], time=0.3)
    told = {"loss": None, "trained": "no network: the code's own formula", "training [s]": 0.0}
    definition = (
        "u_tt = u_xx + 2u_yy on (0, 1)², at rest at the start; t ≤ 0.3; no network: the solution that its code states"
    )
    return scored(wave, f"({START})*cos(pi*t)", asked, None, told, definition, budget=500 if quick else None)


if __name__ == "__main__":
    main({"PINNacle Wave2d-MS": stated})
