"""The paper's benchmark on the unit square, with three PINNs of increasing quality."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.formulas.expressions import parse
from pinnpoint.models.networks.mlp import MLP

NAMES = ("benchmark_rough", "benchmark_fair", "benchmark_good")
BUMP = "exp(-((x-0.7)**2+(y-0.35)**2)/0.12**2)"
EXACT = f"x*(1-x)*y*(1-y)*{BUMP}+0.1*sin(3*pi*x)*sin(2*pi*y)"
SOURCE = (
    f"{BUMP}*(2*(x*(1-x)+y*(1-y))+4/0.12**2*((1-2*x)*y*(1-y)*(x-0.7)+(1-2*y)*x*(1-x)*(y-0.35)"
    "+x*(1-x)*y*(1-y)*(1-((x-0.7)**2+(y-0.35)**2)/0.12**2)))+1.3*pi**2*sin(3*pi*x)*sin(2*pi*y)"
)


@dataclass(frozen=True, eq=False)
class Benchmark:
    """−Δu = f on the unit square, u = 0 on its boundary, and networks trained on the residual alone.

    ``studies/train_lift.py`` made the weights and says how.

    Attributes
    ----------
    rough, fair, good
        The PINN after 500 steps of Adam, after 3,000, and after L-BFGS from there; exactly zero on the boundary.
    source_text, exact_text
        f and the true solution as text in x and y.
    """

    rough: MLP
    fair: MLP
    good: MLP
    source_text: str = SOURCE
    exact_text: str = EXACT

    __repr__ = brief

    @property
    def networks(self) -> tuple[MLP, MLP, MLP]:
        """The three, worst first."""
        return self.rough, self.fair, self.good

    def exact(self, X: Vector) -> Vector:
        """The true solution at points (N, 2)."""
        return np.asarray(parse(self.exact_text, name="exact_text")(X))

    def residual(self, network: MLP, X: Vector) -> Vector:
        """Δu + f of a network at points (N, 2), in floating point."""
        return np.asarray(network.laplacian(X) + parse(self.source_text, name="source_text")(X))


def load() -> Benchmark:
    """The networks that come with the package."""
    found = []
    for name in NAMES:
        with as_file(files("pinnpoint") / "data" / f"{name}.npz") as path:
            found.append(MLP.load(path))
    rough, fair, good = found
    return Benchmark(rough, fair, good)
