"""Train the three PINNs that the package ships for the neural lift, and say how good each is. Needs torch.

    python studies/train_lift.py [--quick] [--out src/pinnpoint/data]

−Δu = f on the unit square, u = 0 on its boundary: the paper's benchmark, a narrow bump and a wave. The network is a
tanh perceptron (2, 32, 32, 32, 1) times x(1−x)y(1−y), in double precision. The loss is the mean of (Δu + f)² over 2,048
Sobol points and nothing else: no value of the solution is used. One training, kept at three moments: after 500 steps of
Adam, after 3,000, and after L-BFGS from there. One core, a few minutes; the same seed gives the same files on the same
machine.
"""

from __future__ import annotations

import argparse
import math
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch

from pinnpoint.formulas.expressions import parse
from pinnpoint.models.networks.benchmark import EXACT, NAMES, SOURCE
from pinnpoint.models.networks.mlp import MLP

SEED = 0
WIDTHS = (2, 32, 32, 32, 1)
STEEPNESS = 4.0  # deviation of the first layer's weights: the bump is 0.12 wide
POINTS = 2048
RATE = 4e-3
OUT = Path(__file__).parent.parent / "src" / "pinnpoint" / "data"
Tensor = torch.Tensor


class Network(torch.nn.Module):
    """Linear layers with tanh between them, times x(1−x)y(1−y)."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(n, m) for n, m in pairwise(WIDTHS))
        with torch.no_grad():
            for k, layer in enumerate(self.layers):
                layer.weight.copy_(torch.randn(layer.weight.shape) * (STEEPNESS if k == 0 else layer.in_features**-0.5))
                layer.bias.zero_()
            first = self.layers[0]  # each unit of the first layer bends somewhere inside the square
            first.bias.copy_(-(first.weight * torch.rand(first.weight.shape)).sum(dim=1))

    def forward(self, X: Tensor) -> Tensor:
        """Values at points (N, 2)."""
        h = X
        for layer in self.layers[:-1]:
            h = torch.tanh(layer(h))
        return self.layers[-1](h)[:, 0] * (X * (1.0 - X)).prod(dim=1)

    def laplacian(self, X: Tensor) -> Tensor:
        """Δu at points (N, 2): value, slopes and Laplacian go through the layers together."""
        h, s = X, torch.zeros_like(X)
        g = torch.eye(2).expand(len(X), 2, 2)
        for k, layer in enumerate(self.layers):
            h, g, s = layer(h), g @ layer.weight.T, s @ layer.weight.T
            if k < len(self.layers) - 1:
                h = torch.tanh(h)
                slope = 1.0 - h * h
                s = slope * (s - 2.0 * h * (g * g).sum(dim=1))
                g = slope[:, None, :] * g
        p, q = X * (1.0 - X), 1.0 - 2.0 * X
        w, dw, ddw = p.prod(dim=1), q * p.flip(1), -2.0 * p.sum(dim=1)
        return w * s[:, 0] + 2.0 * (dw * g[:, :, 0]).sum(dim=1) + ddw * h[:, 0]

    def plain(self) -> MLP:
        """The same network without torch."""
        weights = [layer.weight.detach().numpy().copy() for layer in self.layers]
        return MLP(weights, [layer.bias.detach().numpy().copy() for layer in self.layers], "tanh", "unit-box")


def check_source(X: Tensor) -> None:
    """The formula of f against automatic differentiation of the one of u*, and Δu against that of the network."""
    X = X.detach().requires_grad_(True)
    x, y = X[:, 0], X[:, 1]
    bump = x * (1 - x) * y * (1 - y) * torch.exp(-((x - 0.7) ** 2 + (y - 0.35) ** 2) / 0.12**2)
    u = bump + 0.1 * torch.sin(3 * math.pi * x) * torch.sin(2 * math.pi * y)
    points = X.detach().numpy()
    assert np.abs(parse(EXACT, name="u")(points) - u.detach().numpy()).max() < 1e-14
    assert np.abs(parse(SOURCE, name="f")(points) + laplacian_of(u, X)).max() < 1e-11
    network = Network()
    assert np.abs(network.laplacian(X).detach().numpy() - laplacian_of(network(X), X)).max() < 1e-11


def laplacian_of(u: Tensor, X: Tensor) -> np.ndarray:
    """Δu by automatic differentiation."""
    (gradient,) = torch.autograd.grad(u.sum(), X, create_graph=True)
    second = [torch.autograd.grad(gradient[:, i].sum(), X, retain_graph=True)[0][:, i] for i in range(2)]
    return sum(second).detach().numpy()


def train(X: Tensor, steps: tuple[int, int, int]) -> list[MLP]:
    """The network after two counts of Adam steps and after L-BFGS."""
    f = torch.as_tensor(parse(SOURCE, name="f")(X.numpy()))
    u, kept, start = Network(), [], time.perf_counter()

    def loss() -> Tensor:
        return ((u.laplacian(X) + f) ** 2).mean()

    def keep(name: str) -> None:
        kept.append(u.plain())
        print(f"{name}: loss {loss().item():.3g}, {time.perf_counter() - start:.0f} s", flush=True)

    adam = torch.optim.Adam(u.parameters(), lr=RATE)
    slower = torch.optim.lr_scheduler.ExponentialLR(adam, 0.05 ** (1.0 / steps[1]))
    for step in range(1, steps[1] + 1):
        adam.zero_grad()
        loss().backward()
        adam.step()
        slower.step()
        if step in steps[:2]:
            keep(f"{step} steps of Adam")
    lbfgs = torch.optim.LBFGS(
        u.parameters(),
        max_iter=steps[2],
        max_eval=2 * steps[2],
        history_size=100,
        tolerance_grad=1e-14,
        tolerance_change=0.0,
        line_search_fn="strong_wolfe",
    )

    def closure() -> Tensor:
        lbfgs.zero_grad()
        value = loss()
        value.backward()
        return value

    lbfgs.step(closure)
    keep(f"{steps[2]} steps of L-BFGS after them")
    return kept


def main() -> None:
    """Train, report, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer steps; writes only to --out")
    parser.add_argument("--out", type=Path, default=None, help="the folder to write to; by default the package's own")
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(SEED)
    X = torch.quasirandom.SobolEngine(2, scramble=True, seed=SEED).draw(POINTS, dtype=torch.float64)
    check_source(X)
    networks = train(X, (50, 200, 100) if given.quick else (500, 3000, 4000))
    out = given.out or (None if given.quick else OUT)
    line = (np.arange(200) + 0.5) / 200
    fine = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    for name, network in zip(NAMES, networks, strict=True):
        r = network.laplacian(fine) + parse(SOURCE, name="f")(fine)
        error = network(fine) - parse(EXACT, name="u")(fine)
        print(f"{name}: rms residual {np.sqrt(np.mean(r * r)):.3g}, largest error {np.abs(error).max():.3g}")
        if out:
            path = network.save(out / f"{name}.npz")
            print(f"Wrote {path.name}, {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
