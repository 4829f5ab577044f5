"""Newton–Kantorovich: one number says whether a root is near (paper, prop. newton_kantorovich_verified_ball)."""

from __future__ import annotations

import math

from pinnpoint.base.errors import CertificationError
from pinnpoint.rounding.arithmetic import at_most, down, up


class NotVerifiedError(CertificationError):
    """2Lη ≥ 1 in one norm."""

    def __init__(self, norm: str, product: float) -> None:
        self.norm, self.product = norm, product
        super().__init__(f"2Lη = {product:.3g} ≥ 1 in the {norm} norm")


def radius(eta: float, lipschitz: float, norm: str) -> float:
    """The radius t = (1 − √(1 − 2Lη))/L, rounded up, from upper bounds of η and of L on the ball of radius 2η.

    t = 2η/(1 + √(1 − 2Lη)) ≤ 2η, so the ball lies where L holds.
    """
    product = at_most(up(2.0 * at_most(lipschitz) * at_most(eta)))
    if not product < 1.0:
        raise NotVerifiedError(norm, product)
    root = max(0.0, float(down(math.sqrt(max(0.0, float(down(1.0 - product)))))))
    return float(up(2.0 * eta / (1.0 + root), 8))  # proofs.md, step 6f; paper, eq. B.31


def refusal(tried: list[CertificationError], polish: int) -> CertificationError:
    """One message out of what was tried, with the numbers and what to do."""
    products = [e.product for e in tried if isinstance(e, NotVerifiedError)]
    said = "; ".join(dict.fromkeys(str(e) for e in tried))
    steps = polish + (1 if products and min(products) < 2.0 else 3)
    word = "step" if steps == 1 else "steps"
    advice = f"take {steps} Newton {word} first, polish={steps}, or start from a better prediction"
    return CertificationError(f"{said}: no root verified; {advice}")
