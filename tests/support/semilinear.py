"""Semilinear problems with coefficients that vary and known solutions, by symbolic differentiation."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy

import pinnpoint as pp

DOMAINS = {1: "interval", 2: "square", 3: "cube"}


def known(d: int, n: int, degree: int, u: str, kappa: Any, c: str, g: str, *, free: bool = False) -> tuple[Any, Any]:
    """The problem whose solution is u, and u of points; values are given, on the right fluxes where `free`."""
    x = sympy.symbols("x y z")[:d]
    U, C = sympy.sympify(u), sympy.sympify(c)
    A = sympy.Matrix(kappa) if isinstance(kappa, list) else sympy.sympify(kappa) * sympy.eye(d)
    flux = A * sympy.Matrix([sympy.diff(U, v) for v in x])
    f = -sum(sympy.diff(flux[i], x[i]) for i in range(d)) + C * U + sympy.sympify(g).subs("u", U)
    values: dict[str, Any] = {"boundary": u}
    more: dict[str, Any] = {"dirichlet": values}
    if free:
        sides = ["left", "bottom", "top", "front", "back"][: 2 * d - 1]
        more = {"dirichlet": dict.fromkeys(sides, u), "neumann": {"right": str(flux[0])}}
    given = [[str(v) for v in row] for row in kappa] if isinstance(kappa, list) else kappa
    problem = pp.fem.Semilinear(
        pp.io.generate(DOMAINS[d], n), g=g, source=str(f), diffusion=given, reaction=c, degree=degree, **more
    )
    exact = sympy.lambdify(x, U, "numpy")
    return problem, lambda X: np.asarray(exact(*np.asarray(X).T), dtype=float)
