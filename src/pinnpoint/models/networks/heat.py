"""Space-time networks that come with the package: heat in one and two dimensions, and an Allen–Cahn front.

studies/train_heat.py trained them on the residual alone; u = offset + factor · N meets initial and boundary values.
The true solutions are known, so that every interval can be compared with the truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files

from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.models.networks.mlp import MLP


@dataclass(frozen=True)
class HeatTask:
    """An equation u_t − κΔu + g(u) = f on a box, its true solution, and the form of a network for it.

    Attributes
    ----------
    variables
        Names of the coordinates, time last.
    factor, offset
        u = offset + factor · N.
    nonlinear
        g, a formula in u.
    """

    name: str
    domain: tuple[tuple[float, float], ...]
    end: float
    diffusion: float
    source: str
    exact: str
    initial: str
    factor: str
    offset: str
    nonlinear: str = "0*u"
    dirichlet: str = "0"
    width: int = 32
    steps: int = 1000

    __repr__ = brief

    @property
    def variables(self) -> tuple[str, ...]:
        """The coordinates, time last."""
        return (*"xyz"[: len(self.domain)], "t")

    def network(self) -> MLP:
        """N, as it comes with the package."""
        with as_file(files("pinnpoint") / "data" / f"{self.name}.npz") as path:
            return MLP.load(path)


def _modes(d: int) -> tuple[str, str, str]:
    """Source, exact solution and initial values of sin πx(…)(1 + sin 5t) + 0.3 sin 3πx(…) cos 3t."""
    rest = "*sin(pi*y)" if d == 2 else ""
    a, b = f"sin(pi*x){rest}", f"sin(3*pi*x){rest}"
    exact = f"{a}*(1 + sin(5*t)) + 0.3*{b}*cos(3*t)"
    source = f"{a}*(5*cos(5*t) + {d}*pi**2*(1 + sin(5*t))) + 0.3*{b}*({8 + d}*pi**2*cos(3*t) - 3*sin(3*t))"
    return source, exact, f"{a} + 0.3*{b}"


def _front(x: str, t: str) -> str:
    """½(1 − tanh((ξ − 3τ/√2)/(2√2))), ξ = (x − 0.2)√(γ/κ), τ = γt, of u_t = κu_xx + γ(u − u³), γ = 5, κ = 0.05."""
    return f"(0.5 - 0.5*tanh(sqrt(12.5)*({x} - 0.2) - 3.75*{t}))"


def _tasks() -> dict[str, HeatTask]:
    one, two = _modes(1), _modes(2)
    start, left, right = _front("x", "0"), [_front("0", t) for t in ("t", "0")], [_front("1", t) for t in ("t", "0")]
    offset = f"{start} + (1 - x)*({left[0]} - {left[1]}) + x*({right[0]} - {right[1]})"
    unit = ((0.0, 1.0),)
    found = (
        HeatTask("heat_1d", unit, 0.5, 1.0, *one, "t*x*(1-x)", one[2], steps=1500),
        HeatTask("heat_2d", unit * 2, 0.5, 1.0, *two, "t*x*(1-x)*y*(1-y)", two[2], steps=700),
        HeatTask(
            "allen_cahn",
            unit,
            0.3,
            0.05,
            "0*x",
            _front("x", "t"),
            start,
            "t*x*(1-x)",
            offset,
            nonlinear="5*(u**3 - u)",
            dirichlet=_front("x", "t"),
            steps=1000,
        ),
    )
    return {task.name: task for task in found}


TASKS = _tasks()


def heat_task(name: str) -> HeatTask:
    """One of the tasks by its name."""
    if name not in TASKS:
        raise InputError(f"name: must be one of {', '.join(TASKS)}; got {name!r}")
    return TASKS[name]
