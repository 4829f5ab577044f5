"""The processes of one run: who they are, how they agree on errors, and how they add."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import CertificationError, DependencyMissingError, InputError, PinnpointError
from pinnpoint.rounding.arithmetic import at_most, dot_up, sum_up, up
from pinnpoint.rounding.balls import Ball

T = TypeVar("T")


def options_of(text: str) -> list[str]:
    """PETSc's options, one word each: names with a leading '-', each with one value at most."""
    example = "write e.g. --petsc '-ksp_rtol 1e-10 -ksp_monitor'"
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"--petsc: cannot be read ({error}); {example}") from error
    for before, word in zip(["", *words], words, strict=False):
        if not (word.startswith("-") or before.startswith("-")):
            raise InputError(f"--petsc: {word!r} is neither an option, which begins with '-', nor its value; {example}")
    return words


@dataclass(frozen=True, eq=False)
class Team:
    """All processes; everything here is collective, so every process must call it."""

    comm: Any
    petsc: Any

    @classmethod
    def assemble(cls, options: str = "") -> Team:
        """Start PETSc, with its options as one text; ``PETSC_OPTIONS`` is read as well.

        Options that cannot be read are left out: all processes refuse them together, see `options_of`.
        """
        try:
            words = options_of(options)
        except InputError:
            words = []
        try:
            import petsc4py
            from mpi4py import MPI  # begins MPI for threads, which take turns; PETSc alone would not

            petsc4py.init([sys.argv[0], *words])
            from petsc4py import PETSc
        except ImportError as error:
            raise DependencyMissingError(
                f"mpirun: runs over several processes need petsc4py and mpi4py ({error}); on Debian and Ubuntu: apt "
                "install python3-petsc4py python3-mpi4py, and see 'make test-mpi' for an environment around them"
            ) from error
        return cls(MPI.COMM_WORLD, PETSc)

    @property
    def rank(self) -> int:
        """Number of this process."""
        return int(self.comm.rank)

    @property
    def size(self) -> int:
        """Number of processes."""
        return int(self.comm.size)

    def leads(self) -> bool:
        """Whether this process reads and writes for all."""
        return self.rank == 0

    def from_lead(self, make: Callable[[], T]) -> T:
        """What the first process makes, for all; its refusal is everybody's."""
        found: Any = None
        if self.leads():
            found = attempt(make)
        ok, value = self.comm.bcast(found)
        if not ok:
            refuse(value)
        return value  # type: ignore[no-any-return]

    def scatter(self, make: Callable[[], Sequence[Any]]) -> Any:
        """The part of this process of what the first one makes."""
        found: Any = None
        if self.leads():
            ok, value = attempt(make)
            found = [(True, part) for part in value] if ok else [(False, value)] * self.size
        ok, part = self.comm.scatter(found)
        if not ok:
            refuse(part)
        return part

    def together(self, make: Callable[[], T]) -> T:
        """What every process makes for itself; the first refusal is everybody's."""
        ok, value = attempt(make)
        said = [v for v in self.comm.allgather(None if ok else value) if v is not None]
        if said:
            refuse(said[0])
        return value  # type: ignore[no-any-return]

    def most(self, x: float) -> float:
        """The largest of all; NaN counts as infinite."""
        return float(max(self.comm.allgather(at_most(x))))

    def least(self, x: float) -> float:
        """The smallest of all; NaN counts as −∞."""
        return -self.most(-float(x))

    def norm(self, x: Ball) -> float:
        """Upper bound of the Euclidean norm of a vector spread over the processes.

        Each sends an upper bound of its own sum of squares; their sum is rounded up, whatever its order.
        """
        m = x.magnitude()
        parts = np.array(self.comm.allgather(at_most(dot_up(m, m))))
        return at_most(up(np.sqrt(sum_up(parts))))

    def add(self, part: Ball) -> Ball:
        """Σ over processes of enclosed numbers: double-double sums in the order of the processes, each enclosed.

        All processes get the same bits. Another order would give other bits of the same enclosed number.
        """
        sent = np.stack([part.hi, *(np.zeros_like(part.hi) if x is None else x for x in (part.lo, part.err))])
        every = np.array(self.comm.allgather(sent))
        total = Ball(*every[0])
        for hi, lo, err in every[1:]:
            total = total + Ball(hi, lo, err)
        return total

    def gather(self, x: Vector) -> list[Vector] | None:
        """All parts, at the first process."""
        return self.comm.gather(x)  # type: ignore[no-any-return]


def attempt(make: Callable[[], Any]) -> tuple[bool, Any]:
    """What is made, or what its refusal says, so that it can be sent."""
    try:
        return True, make()
    except PinnpointError as error:
        return False, (type(error).__name__, str(error))


def refuse(said: tuple[str, str]) -> NoReturn:
    """Raise what a process refused."""
    kinds = {kind.__name__: kind for kind in (InputError, CertificationError, DependencyMissingError)}
    raise kinds.get(said[0], CertificationError)(said[1])
