"""What surrounds a point: diffusion κ(x) or a constant matrix A, drift b(x) and reaction c(x).

−∇·(κA∇u) + b·∇u + c u = f there, with A = I where κ is not constant. For y = x − x₀, s = yᵀA⁻¹y/R², b₀ = b(x₀),
κ₀ = κ(x₀), β = A⁻¹b₀/(2κ₀) and g = e^{−β·y}/√(κκ₀ det A), the kernel Ψ = gΦ(s) of `weights` needs

    E = κν² + κβᵀAβ − b·β − ½Δκ + |∇κ|²/(4κ) + ∇·b − b·∇κ/(2κ) − c,      V = (b − κb₀/κ₀)ᵀA⁻¹y.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import Expression
from pinnpoint.rounding.arithmetic import UNIT, up
from pinnpoint.taylor import functions
from pinnpoint.taylor.inputs import Enclosed as Data
from pinnpoint.taylor.inputs import fixed, model_of
from pinnpoint.taylor.jets import ZERO, Jet, jet_of, plus, times
from pinnpoint.taylor.models import TaylorModel, constant, reciprocal
from pinnpoint.taylor.simplices import enclose
from pinnpoint.taylor.spaces import space
from pinnpoint.transfer.points.decimals import Enclosed, precision

DIGITS = 40
Number = tuple[float, float]
"""A float and a bound of its error."""
Models = Sequence[TaylorModel]
Table = tuple[tuple[float | Expression, ...], ...]


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The coefficients about a point.

    Attributes
    ----------
    at
        x₀.
    kappa
        κ: a number or a formula with second derivatives.
    matrix
        A, symmetric and positive definite, by numbers with bounds of their errors; None for the unit matrix.
    table
        A(x) where it varies; the matrix is then A(x₀).
    bent
        A formula with abs, min or max that κ is a smooth branch of, about x₀.
    convection
        b: d numbers or formulas with derivatives; None for none.
    reaction
        c: a number, a formula or smooth data.
    """

    at: tuple[float, ...]
    kappa: float | Expression = 1.0
    matrix: tuple[tuple[Number, ...], ...] | None = None
    convection: tuple[float | Expression, ...] | None = None
    reaction: float | Data = 0.0
    table: Table | None = None
    bent: Expression | None = None

    __repr__ = brief

    @property
    def d(self) -> int:
        """Dimension."""
        return len(self.at)

    @cached_property
    def steady(self) -> bool:
        """Whether κ and b are constant."""
        return fixed(self.kappa) is not None and all(fixed(v) is not None for v in self.convection or ())

    @cached_property
    def uniform(self) -> bool:
        """Whether c is, too."""
        c = self.reaction
        return self.steady and (not callable(c) or (isinstance(c, Expression) and fixed(c) is not None))

    @cached_property
    def local(self) -> Local:
        """The numbers at x₀."""
        x0 = np.array(self.at)[None, :]

        def value(f: float | Expression) -> Enclosed:
            v, e = enclose(f, x0)
            if not math.isfinite(e[0]):
                raise InputError(f"coefficients: have no value at {list(self.at)}")
            return Enclosed.of(float(v[0])).widened(float(e[0]))

        with precision(DIGITS):
            kappa = value(self.kappa)
            if kappa.sign() <= 0:
                raise InputError(f"diffusion: must be positive; at {list(self.at)} it is {float(kappa.value):.6g}")
            d, unit = self.d, self.matrix is None
            A = [[Enclosed.of(int(i == j)) for j in range(d)] for i in range(d)]
            if self.matrix is not None:
                A = [[Enclosed.of(v).widened(e) for v, e in row] for row in self.matrix]
            L = A if unit else cholesky(A)
            root = Enclosed.of(1)
            for i in range(d):
                root = root * L[i][i]
            inverse = A if unit else inverted(L)
            b = None if self.convection is None else [value(v) for v in self.convection]
            beta = None if b is None else [_dot(row, b) / (kappa * 2) for row in inverse]
            return Local(kappa, A, L, inverse, root, b, beta)

    @property
    def peclet(self) -> float:
        """About |b₀|/κ₀, the Péclet number of a length 1."""
        return 0.0 if self.local.beta is None else 2.0 * math.hypot(*(float(v.value) for v in self.local.beta))

    def exponent(self) -> float:
        """ν² for which E vanishes at x₀, or would but for a negative reaction; any value is allowed."""
        x0 = np.array(self.at)
        point = self.jets([constant(v) for v in x0])
        E = self.bracket(point, 0.0)
        value = float(E.C[0, 0])
        kappa = float(self.local.kappa.value)
        return max(0.0, -value / kappa) if math.isfinite(value) else 0.0  # kernels.md, step 4a

    def jets(self, X: Models) -> Around:
        """Models of κ, b and c with what is needed of their derivatives, from models of the coordinates."""

        def jet(f: float | Expression, *, bends: bool = False) -> Jet:
            if isinstance(f, Expression) and f.variables_used:
                return jet_of(f, X, bends=bends)
            v, e = fixed(f) or (math.nan, math.inf)
            return Jet.constant(constant(v, e), self.d)

        reaction, c = ZERO, self.reaction
        if not callable(c) or isinstance(c, Expression):
            known = fixed(c)
            if known is None:
                reaction = model_of(c, X) if callable(c) else ZERO
            elif known != (0.0, 0.0):
                reaction = constant(*known)
        else:
            reaction = model_of(c, X)
        drift = None if self.convection is None else [jet(v, bends=True) for v in self.convection]
        return Around(jet(self.kappa), drift, reaction)

    def weight(self, around: Around, Y: Models) -> TaylorModel:
        """g, from the coefficients and y."""
        at, found = self.local, ZERO
        if at.beta is not None:
            for v, y in zip(at.beta, Y, strict=True):
                found = plus(found, constant(*_pair(-v)) * y)
            found = functions.exp(found)
        with precision(DIGITS):
            scale = Enclosed.of(1) / (at.kappa.sqrt() * at.root)
            if around.kappa.flat:
                scale = scale / at.kappa.sqrt()
        g = constant(*_pair(scale))
        if not around.kappa.flat:
            g = g * reciprocal(functions.sqrt(around.kappa.value))
        return g if found is ZERO else g * found  # kernels.md, step 1a

    def bracket(self, around: Around, nu2: float) -> TaylorModel:
        """The model of E."""
        k, at = around.kappa, self.local
        E = times(constant(nu2), k.value) if nu2 else ZERO
        if around.reaction is not ZERO:
            E = plus(E, -around.reaction)
        if not k.flat:
            square = ZERO
            for slope in k.gradient:
                square = plus(square, times(slope, slope))
            bend = plus(times(constant(-0.5), k.laplacian), times(constant(0.25), times(square, reciprocal(k.value))))
            E = plus(E, bend)  # kernels.md, step 1c
        if around.drift is not None and at.b is not None and at.beta is not None:
            with precision(DIGITS):
                length = _dot(at.b, at.beta) / (at.kappa * 2)
            E = plus(E, times(constant(*_pair(length)), k.value))
            half = ZERO if k.flat else times(constant(0.5), reciprocal(k.value))
            for i, v in enumerate(around.drift):
                E = plus(E, times(constant(*_pair(-at.beta[i])), v.value))  # kernels.md, step 1c
                E = plus(E, v.gradient[i])
                E = plus(E, -times(times(v.value, k.gradient[i]), half))
        return constant(0.0) + E

    def turning(self, around: Around, Y: Models) -> TaylorModel:
        """V; not needed where κ and b are constant."""
        V, at = ZERO, self.local
        if self.steady or around.drift is None or at.b is None:
            return V
        with precision(DIGITS):
            first = [v / at.kappa for v in at.b]
        gaps = []
        for v, f in zip(around.drift, first, strict=True):
            gaps.append(plus(v.value, -times(constant(*_pair(f)), around.kappa.value)))
        for i, j in product(range(self.d), repeat=2):
            if self.matrix is None and i != j:
                continue
            V = plus(V, times(times(constant(*_pair(at.inverse[i][j])), gaps[i]), Y[j]))  # kernels.md, step 1d
        return V

    def box(self, radius: float, pieces: int = 1) -> list[TaylorModel]:
        """The coordinates on a box around the ellipsoid |L⁻¹y| ≤ R, or on so many pieces of it along each axis."""
        S, models = space(self.d, 2), []
        middles = (2.0 * np.arange(pieces) + 1.0) / pieces - 1.0  # exact, as pieces is a power of 2
        corners = np.stack(np.meshgrid(*[middles] * self.d, indexing="ij")).reshape(self.d, -1)
        for i, a in enumerate(self.at):
            C = np.zeros((S.size, corners.shape[1]))
            half = float(up(radius * math.sqrt(self.local.A[i][i].size()), 8))
            C[0] = a + half * corners[i]
            C[int(np.flatnonzero((S.degree == 1) & (S.powers[:, i] == 1))[0])] = half / pieces
            slip = 0.0 if pieces == 1 else float(up(4.0 * UNIT * (abs(a) + half)))
            models.append(TaylorModel(S, C, np.full(corners.shape[1], slip)))
        return models

    def distance(self, Y: Models, radius: float) -> TaylorModel:
        """The model of s."""
        at, s = self.local, ZERO
        with precision(DIGITS):
            R = Enclosed.of(radius)
            M = [[_pair(v / R / R) for v in row] for row in at.inverse]
        for i in range(self.d):
            square = Y[i] * Y[i]
            s = plus(s, times(constant(*M[i][i]), square))
            for j in range(i):
                if self.matrix is not None:
                    s = plus(s, times(constant(2.0 * M[i][j][0], 2.0 * M[i][j][1]), Y[i] * Y[j]))
        return TaylorModel(s.space, s.C, s.e, 0.0)  # kernels.md, step 1b

    def lipschitz(self, around: Around) -> float:
        """Λ with |V| ≤ Λ yᵀA⁻¹y, from models over a convex set that holds x₀."""
        if self.steady or around.drift is None or self.local.b is None:
            return 0.0
        total, at = 0.0, self.local
        for i, v in enumerate(around.drift):
            with precision(DIGITS):
                f = constant(*_pair(at.b[i] / at.kappa)) if at.b is not None else ZERO
            for a, b in zip(v.gradient, around.kappa.gradient, strict=True):
                total = float(up(total + largest(plus(a, -times(f, b))) ** 2, 8))
        spread = [sum(x.size() ** 2 for row in rows for x in row) for rows in (at.A, at.inverse)]
        return float(up(math.sqrt(total) * (1.0 if self.matrix is None else (spread[0] * spread[1]) ** 0.25), 64))


@dataclass(frozen=True, eq=False)
class Local:
    """κ₀, A = LLᵀ, A⁻¹, √det A, b₀ and β."""

    kappa: Enclosed
    A: list[list[Enclosed]]
    L: list[list[Enclosed]]
    inverse: list[list[Enclosed]]
    root: Enclosed
    b: list[Enclosed] | None
    beta: list[Enclosed] | None

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Around:
    """Models of κ and b with derivatives, and of c."""

    kappa: Jet
    drift: list[Jet] | None
    reaction: TaylorModel

    __repr__ = brief


def cholesky(A: list[list[Enclosed]]) -> list[list[Enclosed]]:
    """L with LLᵀ = A; refuses what is not proved positive definite."""
    d = len(A)
    L = [[Enclosed.of(0)] * d for _ in range(d)]
    for i in range(d):
        for j in range(i + 1):
            rest = A[i][j]
            for k in range(j):
                rest = rest - L[i][k] * L[j][k]
            if i == j and rest.sign() <= 0:
                raise InputError(
                    f"diffusion: the matrix must be positive definite; its pivot {i + 1} is {float(rest.value):.6g}"
                )
            L[i][j] = rest.sqrt() if i == j else rest / L[j][j]  # kernels.md, step 2a
    return L


def inverted(L: list[list[Enclosed]]) -> list[list[Enclosed]]:
    """(LLᵀ)⁻¹ by substitutions."""
    d = len(L)
    N = [[Enclosed.of(0)] * d for _ in range(d)]
    for j in range(d):
        for i in range(j, d):
            rest = Enclosed.of(int(i == j))
            for k in range(j, i):
                rest = rest - L[i][k] * N[k][j]
            N[i][j] = rest / L[i][i]
    return [[_dot([N[k][i] for k in range(d)], [N[k][j] for k in range(d)]) for j in range(d)] for i in range(d)]


def _dot(a: Sequence[Enclosed], b: Sequence[Enclosed]) -> Enclosed:
    total = Enclosed.of(0)
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def _pair(x: Enclosed) -> Number:
    return x.rounded()


def largest(x: TaylorModel) -> float:
    """Upper bound of |f| over all elements."""
    low, high = x.bounds
    return float(np.max(np.maximum(high, -low)))
