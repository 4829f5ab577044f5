"""What acts on a solid: J(v) = ∫ b·v + ∫_Γ t·v + ∫ S : ε(v), with every part known to a proved error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import up
from pinnpoint.taylor.bernstein import Density
from pinnpoint.transfer.boundary.facets import FacetLoad


@dataclass(frozen=True, eq=False)
class StressLoad:
    """S = ω T: a weight that is known on cells, times a tensor that is constant on each.

    Attributes
    ----------
    weight
        ω.
    tensor
        T by the rows of ω, (n, ns): the tensor's own entries xx, xy, …
    """

    weight: Density
    tensor: Vector

    __repr__ = brief

    def on_all(self, count: int) -> StressLoad:
        """The same with a row for every cell."""
        if self.weight.cells is None:
            return self
        tensor = np.zeros((count, self.tensor.shape[1]))
        tensor[self.weight.cells] = self.tensor
        return StressLoad(self.weight.on_all(count), tensor)


@dataclass(frozen=True, eq=False)
class Traction:
    """One component of a traction on facets.

    Attributes
    ----------
    on
        The facets, and t_c on them.
    flat
        Whether t_c is constant on each facet, and so what is not known of it: then linear moments are all of it.
    """

    component: int
    on: FacetLoad
    flat: bool = False

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Load:
    """The right-hand side of a primal or of a dual problem.

    Attributes
    ----------
    body
        b by components; None where there is none.
    traction
        t on facets that are free in a component.
    stress
        S, whose work is ∫ S : ε(v): of a query for strains or stresses, or of thermal expansion.
    """

    body: tuple[Density | None, ...] | None = None
    traction: tuple[Traction, ...] = ()
    stress: StressLoad | None = None

    __repr__ = brief

    @property
    def acts(self) -> bool:
        """Whether there is anything."""
        return self.body is not None or bool(self.traction) or self.stress is not None

    @property
    def proved(self) -> bool:
        """False where an ingredient is an estimate."""
        parts = [f for f in self.body or () if f is not None] + [t.on.density for t in self.traction]
        parts += [] if self.stress is None else [self.stress.weight]
        return all(part.proved for part in parts)

    def on_all(self, count: int) -> Load:
        """The same with a row for every cell."""
        body = None if self.body is None else tuple(f if f is None else f.on_all(count) for f in self.body)
        return Load(body, self.traction, None if self.stress is None else self.stress.on_all(count))

    def varies(self, count: int) -> NDArray[np.bool_]:
        """Cells on which the body force or the stress is not constant."""
        found = np.zeros(count, dtype=bool)
        for f in [f for f in self.body or () if f is not None] + ([self.stress.weight] if self.stress else []):
            found[slice(None) if f.cells is None else f.cells] |= np.ptp(f.coefficients, axis=1) != 0.0
        return found


def root_mean_square(weight: Density) -> Vector:
    """Upper bounds of the root mean square of a density on its cells."""
    return np.asarray(up(np.abs(weight.coefficients).max(axis=1) + weight.high + weight.error2, 4))
