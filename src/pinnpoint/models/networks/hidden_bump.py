"""A trained PINN that satisfies its equation at every collocation point and is wrong between them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector, point_list, vector
from pinnpoint.base.brief import brief
from pinnpoint.models.networks.mlp import MLP, entry, entry_text, read_arrays

FILE = "hidden_bump.npz"


@dataclass(frozen=True, eq=False)
class HiddenBump:
    """−Δu = f on the unit square, u = 0 on its boundary, and a network trained on it at finitely many points.

    The paper's proposition made real: finitely many collocation samples do not control unsampled point values.
    ``studies/train_hidden_bump.py`` made the weights and says how.

    Attributes
    ----------
    network
        The PINN.
    collocation
        The points of its training loss, (n, 2).
    source_text, exact_text
        f and the true solution u* as text in x and y.
    worst_point
        Where the network is furthest from u*, on a fine grid.
    description
        One sentence for people.
    """

    network: MLP
    collocation: Vector
    source_text: str
    exact_text: str
    worst_point: Vector
    description: str

    __repr__ = brief

    @property
    def loss(self) -> float:
        """The training loss: the mean of (Δu + f)² over the collocation points."""
        r = self.network.laplacian(self.collocation) + self.source(self.collocation)
        return float(np.mean(r * r))

    @staticmethod
    def source(X: Vector) -> Vector:
        """The source f at points (N, 2)."""
        return np.asarray(2.0 * np.pi**2 * HiddenBump.exact(X))

    @staticmethod
    def exact(X: Vector) -> Vector:
        """The true solution at points (N, 2)."""
        return np.asarray(np.sin(np.pi * X[:, 0]) * np.sin(np.pi * X[:, 1]))


def load() -> HiddenBump:
    """The network that comes with the package."""
    with as_file(files("pinnpoint") / "data" / FILE) as path:
        arrays: dict[str, Any] = read_arrays(path)
    points = entry(arrays, "collocation")
    return HiddenBump(
        network=MLP.from_arrays(arrays),
        collocation=point_list("collocation", points, len(points)),
        source_text=entry_text(arrays, "source_text"),
        exact_text=entry_text(arrays, "exact_text"),
        worst_point=vector("worst_point", entry(arrays, "worst_point"), 2),
        description=entry_text(arrays, "description"),
    )
