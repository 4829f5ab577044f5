"""DeepXDE's demo Poisson_Robin_1d: u″ = 2 on (−1, 1), u(−1) = 0, u′(1) = u(1).

Its condition feeds u instead of holding it, and no coercive problem has it. It says u(1), though: ∫u″(x + 1) is
2u′(1) − u(1), which is u(1), and ∫2(x + 1) is 4. The same u has u(1) = 4 instead, and is certified so.
"""

from __future__ import annotations

import deepxde as dde
from common import Row, main, scored, trained, weights

import pinnpoint as pp


def robin(quick: bool) -> Row:
    """Train as the demo does, and certify."""
    line = dde.geometry.Interval(-1, 1)
    left = lambda x, on_boundary: on_boundary and dde.utils.isclose(x[0], -1)  # noqa: E731
    right = lambda x, on_boundary: on_boundary and dde.utils.isclose(x[0], 1)  # noqa: E731
    ends = [dde.icbc.DirichletBC(line, lambda x: (x + 1) ** 2, left), dde.icbc.RobinBC(line, lambda x, y: y, right)]
    net = dde.nn.FNN([1] + [50] * 3 + [1], "tanh", "Glorot uniform")
    said = trained(dde.data.PDE(line, lambda x, y: dde.grad.hessian(y, x) - 2, ends, 16, 2), net, 300, 300, quick)
    box = pp.Box([-1, 1], source=-2.0, dirichlet="2*(x + 1)")
    definition = "u″ = 2 on (−1, 1), u(−1) = 0, u′(1) = u(1), which says u(1) = 4 and is certified so"
    return scored(box, weights(net), box.points([-0.5, 0.1, 0.7]), "(x + 1)**2", said, definition)


if __name__ == "__main__":
    main({"DeepXDE Poisson_Robin_1d": robin})
