"""A family of right-hand sides b_μ = b₀ + Σ μ_k F_k of one system."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, distinct_names, floats, set_fields, vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certifiers.base import AbstractMethod
from pinnpoint.certifiers.exact import Exact
from pinnpoint.certifiers.families.certifier import FamilyCertifier, prepare
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.queries import Queries


@dataclass(frozen=True, eq=False)
class LoadFamily:
    """All loads b_μ = b₀ + Σ μ_k F_k, the sum taken in real arithmetic.

    Parameters
    ----------
    system
        Gives operator, space and weight; its own right-hand side is not used unless passed as `base`.
    loads
        F, shape (p, rows): any number of right-hand sides.
    base
        b₀, zero by default. Prescribed nonzero boundary values act with every μ.
    names
        One per load; f0, f1, … by default.
    """

    system: LinearSystem
    F: Vector
    base: Vector
    names: tuple[str, ...]

    __repr__ = brief

    def __init__(
        self,
        system: LinearSystem,
        loads: ArrayLike,
        base: ArrayLike | None = None,
        *,
        names: Sequence[str] | None = None,
    ) -> None:
        if not isinstance(system, LinearSystem):
            raise InputError(f"system: must be a LinearSystem; got {type(system).__name__}; families are linear")
        rows = system.b.size
        F = floats("loads", loads)
        F = F[None, :] if F.ndim == 1 else F
        if F.ndim != 2 or F.shape[0] == 0 or F.shape[1] != rows:
            raise InputError(f"loads: must have shape (number of loads, {rows}); got {F.shape}")
        if not np.all(np.isfinite(F)):
            raise InputError(f"loads: load {int(np.argmin(np.isfinite(F).all(axis=1)))} holds NaN or infinity")
        names = [f"f{k}" for k in range(len(F))] if names is None else names
        set_fields(
            self,
            system=system,
            F=F,
            base=np.zeros(rows) if base is None else vector("base", base, rows),
            names=distinct_names(names, len(F)),
        )

    def __len__(self) -> int:
        return len(self.F)

    def vector(self, mu: ArrayLike) -> Vector:
        """b_μ, rounded."""
        return np.asarray(self.base + vector("mu", mu, len(self)) @ self.F)

    def prepare(self, queries: Queries, method: AbstractMethod | None = None) -> FamilyCertifier:
        """Everything that no μ changes: the method's own preparation, and p + 1 certified solves."""
        method = Exact() if method is None else method
        if not isinstance(method, AbstractMethod):
            raise InputError(f"method: must be a linear method such as pinnpoint.Exact(); got {method!r}")
        return prepare(method.prepare(self.system, queries), self.F, self.base)


def vectors(assemble: Callable[..., Vector], loads: Any) -> Vector:
    """Stack vectors and tables of arguments of a problem's `load`."""
    if isinstance(loads, Mapping):
        raise InputError("loads: must be a list of loads, each a vector or a table; got one table; put it in a list")
    if isinstance(loads, np.ndarray):
        return floats("loads", loads)
    rows = []
    for k, given in enumerate(loads):
        if not isinstance(given, Mapping):
            rows.append(floats(f"loads[{k}]", given).ravel())
            continue
        try:
            rows.append(assemble(**given))
        except TypeError as error:
            raise InputError(f"loads[{k}]: {error}; give the arguments of problem.load") from error
    if not rows or len({row.size for row in rows}) > 1:
        raise InputError(f"loads: must be vectors of one length; got lengths {sorted({row.size for row in rows})}")
    return np.stack(rows)
