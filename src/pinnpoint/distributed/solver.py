"""PETSc's conjugate gradients with algebraic multigrid; nothing that it returns is trusted."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Matrix, Vector
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.distributed.rows import Rows
from pinnpoint.distributed.team import Team

TOLERANCE = 1e-12
WEAK = 0.02
"""Couplings of an elastic body that coarsening ignores: it spares a third of the iterations."""


class Solver:
    """A x = b over all processes: CG and GAMG, told the rigid motions, unless PETSc's options say else."""

    def __init__(
        self,
        team: Team,
        A: Matrix,
        numbers: Index,
        total: int,
        motions: list[Vector],
        block: int = 1,
        tolerance: float = TOLERANCE,
    ) -> None:
        """Rows A of this process, with the numbers of its columns among all `total` unknowns.

        `motions` are what the operator hardly sees, at these rows; `block` is the unknowns of a node, where every node
        of every process has them all, in order.
        """
        petsc, n = team.petsc, A.shape[0]
        self.petsc = petsc
        columns = numbers[A.indices].astype(petsc.IntType)
        csr = (A.indptr.astype(petsc.IntType), columns, A.data)
        self.matrix = petsc.Mat().createAIJ(((n, total), (n, total)), csr=csr, comm=petsc.COMM_WORLD)
        if block > 1:
            self.matrix.setBlockSize(block)
        self.x, self.y = self.matrix.createVecs()
        vectors = self._orthonormal(motions)
        self.matrix.setNearNullSpace(petsc.NullSpace().create(vectors=vectors, comm=petsc.COMM_WORLD))
        self.matrix.setOption(petsc.Mat.Option.SYMMETRIC, True)
        self.matrix.setOption(petsc.Mat.Option.SPD, True)
        self.ksp = petsc.KSP().create(petsc.COMM_WORLD)
        self.ksp.setOperators(self.matrix)
        self.ksp.setType("cg")
        self.ksp.getPC().setType("gamg")
        self.ksp.setTolerances(rtol=tolerance, max_it=2000)
        options, name = petsc.Options(), "pc_gamg_threshold"
        ours = len(motions) > 1 and not options.hasName(name)
        try:
            if ours:
                options[name] = WEAK
            self.ksp.setFromOptions()
        except petsc.Error as error:
            said = str(error).strip().splitlines()[-1].split("] ")[-1]
            raise InputError(f"--petsc: PETSc refuses its options ({said})") from error
        finally:
            if ours:
                options.delValue(name)
        self.iterations = 0

    @classmethod
    def of(cls, rows: Rows, points: Vector, components: int, nodes: Any, axes: Any) -> Solver:
        """`points` are the nodes' places, `nodes` and `axes` the node and the component of each own free unknown."""
        team, n = rows.team, len(rows.mine)
        whole = n % components == 0 and np.array_equal(np.tile(np.arange(components), n // components), axes)
        block = components if team.least(float(whole)) > 0.5 else 1
        X = points[nodes]
        middle = np.sum(team.comm.allgather(X.sum(axis=0)), axis=0) / rows.n
        motions = rigid_motions(X - middle, axes, components)
        return cls(team, rows.reduced.A, rows.numbers, rows.n, motions, block)

    def _orthonormal(self, columns: list[Vector]) -> list[Any]:
        found: list[Any] = []
        for column in columns:
            v = self.x.duplicate()
            v.array[:] = column
            for _ in range(2):
                for w in found:
                    v.axpy(-w.dot(v), w)
            if v.norm() > 1e-8:
                v.scale(1.0 / v.norm())
                found.append(v)
        return found

    def solve(self, b: Vector) -> Vector:
        """An approximate solution, by each process's own entries; zero where PETSc came to nothing finite."""
        self.y.array[:] = b
        self.x.set(0.0)
        try:
            self.ksp.solve(self.y, self.x)
        except self.petsc.Error as error:
            said = str(error).strip().splitlines()[-1].split("] ")[-1]
            raise CertificationError(f"--petsc: PETSc stopped ({said}); check its options") from error
        self.iterations += int(self.ksp.getIterationNumber())
        if not np.isfinite(self.x.norm()):
            return np.zeros_like(b)
        return np.array(self.x.array)


def rigid_motions(points: Vector, axes: Any, components: int) -> list[Vector]:
    """Translations and rotations, or the constant, at unknowns with the given places and components."""
    moves = [np.asarray(axes == k, dtype=np.float64) for k in range(components)]
    for i in range(components):
        for j in range(i + 1, components):
            moves.append(np.where(axes == i, -points[:, j], 0.0) + np.where(axes == j, points[:, i], 0.0))
    return moves
