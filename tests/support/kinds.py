"""Small certificates of every kind that there is: problem × query × method × target, a fraction of a second each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import pinnpoint as pp
from pinnpoint.mesh.round import disc_mesh

METHODS: dict[str, Callable[[], Any]] = {
    "exact": pp.Exact,
    "norm": pp.Norm,
    "inexact": pp.Inexact,
    "localized": lambda: pp.Localized(radius=0.3),
    "randomized": lambda: pp.Randomized(probes=8, delta=0.05, seed=0),
}
ROOTS: dict[str, Callable[[], Any]] = {"root": pp.Root, "stationary": pp.Stationary}
OPTIONS = {"randomized": {"probes": 8, "delta": 0.05, "seed": 0}}
AT = {1: [[0.4]], 2: [[0.4, 0.55]], 3: [[0.4, 0.52, 0.51]]}


@dataclass(frozen=True)
class Kind:
    """A certificate to be made: a name, and what makes the problem, the prediction and the queries."""

    problem: str
    query: str
    method: str
    target: str
    make: Callable[[], Any]
    ask: Callable[[Any], Any]
    prediction: Any = None
    lift: bool = False
    transfer: Callable[[Any], Any] | None = None

    @property
    def name(self) -> str:
        """All four words."""
        return f"{self.problem}, {self.query}, {self.method}, {self.target}"

    def certified(self) -> tuple[Any, Any, Any, Any]:
        """Certificate, problem, prediction and queries."""
        problem = self.make()
        asked = self.ask(problem)
        given = self.prediction
        if given is None:
            given = problem.space.U0
        how = {**METHODS, **ROOTS}.get(self.method)
        more: dict[str, Any] = {} if how is None else {"method": how()}
        if self.target and self.transfer is None:
            more["target"] = self.target
        if self.transfer is not None:
            more["transfer"] = self.transfer(problem)
        if self.lift:
            more["lift"] = True
        return pp.certify(problem, given, asked, **more), problem, given, asked

    def bundle(self, folder: Any, found: tuple[Any, Any, Any, Any] | None = None) -> Any:
        """The bundle of what was certified; raises what `write_bundle` says against one."""
        certificate, problem, given, asked = self.certified() if found is None else found
        return pp.write_bundle(folder, certificate, problem, given, asked, options=OPTIONS.get(self.method))


def plane(n: int = 4, domain: str = "square", **given: Any) -> Callable[[], Any]:
    """A scalar problem."""
    data = {"source": "1+x", "dirichlet": {"boundary": 0.0}} | given
    return lambda: pp.fem.ReactionDiffusion(pp.io.generate(domain, n), **data)


def solid(n: int = 3, domain: str = "square", **given: Any) -> Callable[[], Any]:
    """An elastic problem, clamped at its left side."""
    d = {"square": 2, "cube": 3}[domain]
    data = {"young": 3.0, "poisson": 0.3, "body": [0.0] * (d - 1) + [-1.0], "fixed": {"left": 0.0}} | given
    return lambda: pp.fem.Elasticity(pp.io.generate(domain, n), **data)


def cubic(n: int = 4, **given: Any) -> Callable[[], Any]:
    """A problem with a cubic reaction."""
    data = {"source": "1+x", "cubic": 5.0, "dirichlet": {"boundary": 0.0}} | given
    return lambda: pp.fem.Semilinear(pp.io.generate("square", n), **data)


def points(p: Any) -> Any:
    return p.points(AT[p.mesh.dim])


SCALAR: dict[str, Callable[[Any], Any]] = {
    "point": points,
    "average": lambda p: p.averages(AT[p.mesh.dim], 0.2),
    "mean": lambda p: p.mean(),
    "cells": lambda p: p.cells(AT[p.mesh.dim], side=0.3),
    "gradient": lambda p: p.gradients(AT[p.mesh.dim], "x"),
    "flux at a point": lambda p: p.fluxes(AT[p.mesh.dim], "x"),
}
SIDES: dict[str, Callable[[Any], Any]] = {"patch": lambda p: p.patch("right"), "flux": lambda p: p.flux("left")}
WHOLE: dict[str, Callable[[Any], Any]] = {
    "everywhere": lambda p: p.everywhere(checked=True),
    "maximum": lambda p: p.maximum(checked=True),
    "minimum": lambda p: p.minimum(checked=True),
    "l2-error": lambda p: p.l2_error(),
    "energy-error": lambda p: p.energy_error(),
}
ELASTIC: dict[str, Callable[[Any], Any]] = {
    "point": lambda p: p.points(AT[p.mesh.dim], "x"),
    "average": lambda p: p.averages(AT[p.mesh.dim], 0.2, "x"),
    "patch": lambda p: p.patch("right", "x"),
    "mean": lambda p: p.mean("x"),
    "stress": lambda p: p.stress(AT[p.mesh.dim], "xy"),
    "strain": lambda p: p.strain(AT[p.mesh.dim], "xx"),
    "von-mises": lambda p: p.von_mises(AT[p.mesh.dim]),
    "magnitude": lambda p: p.magnitude(AT[p.mesh.dim]),
    "principal": lambda p: p.principal(AT[p.mesh.dim]),
    "reaction": lambda p: p.reaction("left", "y"),
    "compliance": lambda p: p.compliance(),
}
ALONE = {"left": 0.0, "bottom": 0.0, "top": 0.0}
HELD = {"dirichlet": {"left": 0.0}, "neumann": {"right": 1.0}}
FORMULA = "x*(1-x)*y*(1-y)"


def network(activation: str) -> Any:
    """A small network that vanishes on the boundary."""
    rng = np.random.default_rng(1)
    W, b = [rng.normal(size=(4, 2)), rng.normal(size=(1, 4))], [rng.normal(size=4), np.ones(1)]
    return pp.models.Lift(pp.models.MLP(W, b, activation), FORMULA)


def round_side() -> Any:
    """A disc."""
    disc = disc_mesh(3)
    geometry = {group: pp.Circle((0.0, 0.0), 1.0) for group in disc.facet_groups}
    return pp.fem.ReactionDiffusion(disc, source="1+x", dirichlet=dict.fromkeys(geometry, 0.0), geometry=geometry)


def _scalar() -> Iterator[Kind]:
    for query, ask in SCALAR.items():
        for target in ("discrete", "continuous"):
            yield Kind("diffusion in a plane", query, "exact", target, plane(), ask)
    for method in ("norm", "inexact", "localized", "randomized"):
        yield Kind("diffusion in a plane", "point", method, "discrete", plane(), points)
    for query, ask in SIDES.items():
        yield Kind("diffusion in a plane", query, "exact", "discrete", plane(**HELD), ask)
        yield Kind("diffusion in a plane", query, "exact", "continuous", plane(**HELD), ask)
    for query, ask in WHOLE.items():
        yield Kind("diffusion in a plane", query, "exact", "continuous", plane(), ask)
    sides: dict[str, dict[str, Any]] = {
        "Neumann data": {"dirichlet": ALONE, "neumann": {"right": "1+y"}},
        "a Robin side": {"dirichlet": ALONE, "robin": {"right": (2.0, 1.0)}},
        "reaction below zero": {"reaction": -3.0},
    }
    for problem, given in sides.items():
        for query, ask in WHOLE.items():
            yield Kind(problem, query, "exact", "continuous", plane(6, **given), ask)
    for method in ("norm", "inexact", "localized", "randomized"):
        yield Kind("diffusion in a plane", "point", method, "continuous", plane(), points)
    others: dict[str, Callable[[], Any]] = {
        "a line": plane(8, "interval"),
        "quadratic elements": plane(3, degree=2),
        "formula of diffusion": plane(diffusion="1+x*y"),
        "a drift": plane(convection=("1", "0.5")),
        "a Robin side": plane(dirichlet={"left": 0.0}, robin={"right": (2.0, 1.0)}),
        "reaction below zero": plane(6, reaction=-3.0),
        "boundary data by a formula": plane(dirichlet={"boundary": "y**3"}),
        "a function as source": plane(source=lambda X: 1.0 + X[:, 0]),
        "periodic": plane(periodic={"left": "right"}, dirichlet={"bottom": 0.0, "top": 0.0}),
        "a round side": round_side,
    }
    for problem, make in others.items():
        for target in ("discrete", "continuous"):
            yield Kind(problem, "point", "exact", target, make, points)
    for target in ("discrete", "continuous"):
        yield Kind("a space", "mean", "exact", target, plane(2, "cube"), SCALAR["mean"])
    yield Kind("a lift by a formula", "point", "exact", "continuous", plane(), points, FORMULA, True)
    yield Kind("a lift by a network", "point", "exact", "continuous", plane(), points, network("tanh"), True)
    varied = plane(3, diffusion="1+x*y", dirichlet={"left": 0.0})
    yield Kind("a network in a medium", "mean", "exact", "continuous", varied, SCALAR["mean"], network("gelu"), True)


def _others() -> Iterator[Kind]:
    for query in ("point", "mean"):
        for method in ROOTS:
            for target in ("discrete", "continuous"):
                yield Kind("cubic reaction", query, method, target, cubic(), SCALAR[query])
    yield Kind("reaction by a formula", "point", "root", "continuous", cubic(3, cubic=None, g="sinh(u)"), points)
    for query, ask in ELASTIC.items():
        for target in ("discrete", "continuous"):
            yield Kind("a solid in a plane", query, "exact", target, solid(), ask)
    for method in ("norm", "inexact", "localized", "randomized"):
        yield Kind("a solid in a plane", "mean", method, "discrete", solid(), ELASTIC["mean"])
    for target in ("discrete", "continuous"):
        yield Kind(
            "a solid with a curved load",
            "patch",
            "exact",
            target,
            solid(traction={"right": ["y**2", "0"]}),
            ELASTIC["patch"],
        )
        yield Kind("a solid in space", "mean", "exact", target, solid(2, "cube"), ELASTIC["mean"])
        warm = solid(expansion=0.1, temperature="1+x")
        yield Kind("a warm solid", "mean", "exact", target, warm, ELASTIC["mean"])
        yield Kind("heat in time", "point", "exact", target, moving, lambda p: p.points(AT[2]))
        yield Kind("heat in time", "mean", "exact", target, moving, lambda p: p.mean())
    yield Kind("a box in time", "point", "box", "", box, lambda b: b.points([[0.4]], time=0.1), "sin(pi*x)*exp(-9.8*t)")
    yield Kind("a box in time", "everywhere", "box", "", box, lambda b: b.everywhere(), "sin(pi*x)*exp(-9.8*t)")
    yield from _systems()


def moving() -> Any:
    """A problem in time."""
    return pp.fem.Parabolic(
        pp.io.generate("square", 3), source="1+x", initial="0", dirichlet={"boundary": 0.0}, end=0.1, steps=2
    )


def box() -> Any:
    """A line in time, without a mesh."""
    return pp.Box([0, 1], end=0.2, diffusion=1.0, source="0", initial="sin(pi*x)")


def _matrix(n: int = 8) -> Any:
    return 2.2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)


def _systems() -> Iterator[Kind]:
    """Matrices that belong to no mesh."""
    L = np.eye(8)[:2]
    bare = lambda: pp.LinearSystem(_matrix(), np.arange(8.0))  # noqa: E731
    drift = lambda: pp.LinearSystem(_matrix() + 0.3 * (np.eye(8, k=1) - np.eye(8, k=-1)), np.arange(8.0))  # noqa: E731
    tall = lambda: pp.LinearSystem(np.vstack([_matrix(), np.ones((1, 8))]), np.arange(9.0))  # noqa: E731

    def tied() -> Any:
        Z = np.zeros((8, 4))
        Z[np.arange(8), np.arange(8) // 2] = 1.0
        return pp.LinearSystem(_matrix(), np.arange(8.0), space=pp.AdmissibleSpace(np.zeros(8), Z))

    for problem, make in (("a matrix", bare), ("a matrix that is not symmetric", drift), ("least squares", tall)):
        for method in METHODS:
            if method != "localized":
                yield Kind(problem, "functional", method, "", make, lambda s: pp.Queries(L), np.zeros(8))
    yield Kind("a general Z", "functional", "exact", "", tied, lambda s: pp.Queries(L), np.zeros(8))


def kinds() -> dict[str, Kind]:
    """All, by name."""
    return {kind.name: kind for kind in (*_scalar(), *_others())}
