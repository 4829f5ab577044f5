"""PETSc's conjugate gradients with algebraic multigrid; nothing that it returns is trusted."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.distributed.rows import Rows

TOLERANCE = 1e-12
WEAK = 0.02
"""Couplings of an elastic body that coarsening ignores: it spares a third of the iterations."""


class Solver:
    """A x = b over all processes: CG and GAMG, told the rigid motions, unless PETSc's options say else."""

    def __init__(self, rows: Rows, points: Vector, components: int, nodes: Any, axes: Any) -> None:
        """`points` are the nodes' places, `nodes` and `axes` the node and the component of each own free unknown."""
        petsc, A = rows.team.petsc, rows.reduced.A
        n = len(rows.mine)
        self.petsc = petsc
        columns = rows.numbers[A.indices].astype(petsc.IntType)
        csr = (A.indptr.astype(petsc.IntType), columns, A.data)
        self.matrix = petsc.Mat().createAIJ(((n, rows.n), (n, rows.n)), csr=csr, comm=petsc.COMM_WORLD)
        whole = (
            components > 1
            and n % components == 0
            and np.array_equal(np.tile(np.arange(components), n // components), axes)
        )
        if rows.team.least(float(whole)) > 0.5:
            self.matrix.setBlockSize(components)
        self.x, self.y = self.matrix.createVecs()
        X = points[nodes]
        middle = np.sum(rows.team.comm.allgather(X.sum(axis=0)), axis=0) / rows.n
        motions = self._orthonormal(rigid_motions(X - middle, axes, components))
        self.matrix.setNearNullSpace(petsc.NullSpace().create(vectors=motions, comm=petsc.COMM_WORLD))
        self.matrix.setOption(petsc.Mat.Option.SYMMETRIC, True)
        self.matrix.setOption(petsc.Mat.Option.SPD, True)
        self.ksp = petsc.KSP().create(petsc.COMM_WORLD)
        self.ksp.setOperators(self.matrix)
        self.ksp.setType("cg")
        self.ksp.getPC().setType("gamg")
        self.ksp.setTolerances(rtol=TOLERANCE, max_it=2000)
        options, name = petsc.Options(), "pc_gamg_threshold"
        ours = components > 1 and not options.hasName(name)
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
