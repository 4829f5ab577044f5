"""Bundles: a certificate with the witnesses that prove it, for `pinnpoint verify` or anyone else to re-check."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
from collections.abc import Mapping
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.arrays import Vector
from pinnpoint.bernstein import Density
from pinnpoint.certificate import Certificate
from pinnpoint.cubic import CubicSystem
from pinnpoint.errors import CertificationError, InputError
from pinnpoint.expressions import Expression
from pinnpoint.queries import Ball, Flux, Patch, Point, Queries
from pinnpoint.rounding.arithmetic import UNIT
from pinnpoint.rounding.coercivity import equilibration, lu_defect, scaled, symmetric_part, verify_coercivity, z_part
from pinnpoint.solvers.direct import factorize
from pinnpoint.solvers.protocol import Solver, answer, is_accurate
from pinnpoint.systems import LinearSystem
from pinnpoint.threads import begin
from pinnpoint.transfer.facets import FacetLoad
from pinnpoint.transfer.monotone import Monotone

SCHEMA = "pinnpoint-bundle/1"
SAFETY = 1e-6
"""Stored coercivity bounds are this much smaller than computed ones, so that another rounding also proves them."""


ROWS = 65_536
"""Rows whose residuals are made at a time, in extended precision."""
CLOSE = 1e-8
"""Coercivity bounds below this are close to rounding."""
SMALL_STEP = 1e-9
"""A correction of a state that is relatively smaller leaves nothing to the next one: its error is as small again."""


class Writer:
    """Writes files into a folder and remembers what the manifest says about them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: dict[str, Any] = {}
        self._begun: dict[str, tuple[Any, Future[None]]] = {}
        folder.mkdir()

    def begin(self, name: str, a: Any) -> None:
        """Write an array in a thread of its own; `array` then waits for it, where it is given the same one.

        One that is mapped from this very file is there already.
        """
        self._begun[name] = (a, begin(lambda: self._array(name, a)))

    def wait(self) -> None:
        """Wait for what was begun."""
        wait([future for _, future in self._begun.values()])

    def discard(self) -> None:
        """Remove the folder."""
        self.wait()
        shutil.rmtree(self.folder)

    def array(self, name: str, a: Any) -> None:
        """Floats or integers as .npy, little endian."""
        given, future = self._begun.pop(name, (None, None))
        if future is not None:
            future.result()
        if future is None or given is not a:
            self._array(name, a)

    def _array(self, name: str, a: Any) -> None:
        path = self.path(f"{name}.npy")
        mapped = isinstance(a, np.memmap) and a.filename is not None and Path(a.filename) == path.absolute()
        a = np.asarray(a)
        a = np.ascontiguousarray(a, dtype="<f8" if a.dtype.kind == "f" else "<i8")
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(a))
        pieces = (head.getvalue(), a.reshape(-1).view(np.uint8).data)
        if not mapped:
            with path.open("wb") as stream:
                stream.writelines(pieces)
        self._note(f"{name}.npy", *pieces, dtype=a.dtype.str, shape=list(a.shape))

    def sparse(self, name: str, A: Any) -> None:
        """A matrix as the three arrays of its CSR form."""
        A = sp.csr_array(A)
        if not A.has_canonical_format:
            A = A.copy()
            A.sum_duplicates()
        for part in ("data", "indices", "indptr"):
            self.array(f"{name}_{part}", getattr(A, part))

    def json(self, name: str, data: Any) -> None:
        """Strict JSON."""
        text = json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False).encode() + b"\n"
        self.path(name).write_bytes(text)
        self._note(name, text)

    def close(self, versions: Any) -> None:
        """Write the manifest."""
        said = {"schema": SCHEMA, "versions": versions, "files": dict(sorted(self.files.items()))}
        (self.folder / "manifest.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")

    def path(self, name: str) -> Path:
        """Where a file goes; its folder is made."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        return path

    def _note(self, name: str, *pieces: bytes | memoryview, **more: Any) -> None:
        digest = hashlib.sha256()
        for piece in pieces:
            digest.update(piece)
        self.files[name] = {"sha256": digest.hexdigest(), "bytes": sum(map(len, pieces)), **more}


def write_bundle(
    folder: str | os.PathLike[str],
    certificate: Certificate,
    problem: Any,
    prediction: Any,
    queries: Queries,
    *,
    options: Mapping[str, Any] | None = None,
    said: Mapping[str, Any] | None = None,
    case: Mapping[str, Any] | None = None,
    solver: Solver | None = None,
    green: Any = None,
    positive: Vector | None = None,
    state: Vector | None = None,
    coercivity: float | None = None,
    partial: bool = False,
    begun: Writer | None = None,
) -> Path:
    """Write everything that makes a certificate true into a new folder, for ``pinnpoint verify``.

    For finite-element problems, and for systems whose spaces fix entries (or none), with any of the methods. Systems
    with general Z, least squares and reactions that are not monotone are refused.

    Parameters
    ----------
    problem
        The problem or system that was certified.
    options
        Of the method, where the checker needs them: probes, delta and seed of `Randomized`.
    said, case
        The content of certificate.json, and the resolved case; made from the other arguments by default.
    solver, green, positive, state
        Of the reduced matrix, Green vectors as rows, the positive vector that proves coercivity, and a state that was
        solved for, where they are at hand.
    coercivity
        A bound that was proved at linear cost, where a witness would need a factorization; the checker takes it as
        declared, and says so.
    begun
        The writer of this folder, where Green vectors are being written already.
    partial
        Write what cannot be re-checked without witnesses, with the reason in it, instead of refusing it.
    """
    system = getattr(problem, "system", problem)
    U = problem.extract(prediction).U if hasattr(problem, "extract") else np.asarray(prediction, dtype=np.float64)
    against = obstacle(certificate, system)
    if against and not partial:
        raise InputError(against)
    said = _said(certificate, queries) if said is None else said
    case = _case(certificate, problem, said, queries, options) if case is None else case
    if begun is not None and (against or not isinstance(system, LinearSystem) or certificate.target != "discrete"):
        begun.discard()
        begun = None
    out = Writer(Path(folder)) if begun is None else begun
    try:
        _write(out, certificate, problem, queries, U, against, said, case, solver, green, positive, state, coercivity)
    except CertificationError as error:  # a witness that cannot be found although the method needs none
        out.discard()
        if not partial:
            raise InputError(f"certificate: a witness for the checker could not be made ({error})") from error
        _write(Writer(Path(folder)), certificate, problem, queries, U, str(error), said, case, None, None)
    except BaseException:
        out.discard()
        raise
    return Path(folder)


def _write(
    out: Writer,
    certificate: Certificate,
    problem: Any,
    queries: Queries,
    U: Vector,
    against: str,
    said: Mapping[str, Any],
    case: Mapping[str, Any],
    solver: Solver | None,
    green: Any,
    positive: Vector | None = None,
    state: Vector | None = None,
    coercivity: float | None = None,
) -> None:
    system = getattr(problem, "system", problem)
    out.json("certificate.json", said)
    out.json("case.json", case)
    proof: dict[str, Any] = {
        "target": certificate.target,
        "method": certificate.method,
        "radius_terms": list(certificate.radius_terms),
    }
    if against:
        proof = {"unsupported": against}
    elif certificate.target == "continuous":
        proof |= _system(out, problem, system, queries, U)
        proof |= _continuous(out, certificate.details["witness"], problem, queries)
    elif isinstance(system, LinearSystem):
        proof |= _system(out, problem, system, queries, U)
        proof |= _linear(out, system, queries, solver, green, positive, state, coercivity)
    else:
        proof |= _system(out, problem, system, queries, U)
        proof |= _cubic(out, system, queries, U)
    out.json("proof.json", proof)
    out.close(said["versions"])


def obstacle(certificate: Certificate, system: Any) -> str:
    """Why the checker cannot prove a certificate; empty where it can."""
    if not isinstance(system, LinearSystem) and not (isinstance(system, CubicSystem) and system.monotone):
        return "problem: bundles are for linear systems and for cubic reactions with λ ≥ 0"
    if system.space.free is None or system.A.shape != (system.space.N, system.space.N):
        return (
            "problem: bundles are for square systems whose space fixes entries, AdmissibleSpace.dirichlet, or none; "
            "got a general Z or more rows than unknowns"
        )
    if certificate.target == "continuous" and "witness" not in certificate.details:
        return (
            "certificate: its transfer leaves no witnesses; bundles of the continuous target are for the problem's own "
            "transfer, certify(problem, …, target='continuous')"
        )
    if not np.all(np.isfinite(certificate.radius)):
        return "certificate: an interval is unbounded; leave out that query"
    return ""


def _said(certificate: Certificate, queries: Queries) -> dict[str, Any]:
    data = certificate.to_dict()
    goals = queries.goals or (None,) * len(queries)
    for row, goal in zip(data["queries"], goals, strict=True):
        row["kind"] = "functional" if goal is None else _KINDS[type(goal)].replace("ball", "average")
        if isinstance(goal, Point | Ball):
            row["at"] = [float(x) for x in goal.at]
        else:
            row.pop("at", None)
    return data


def _case(
    certificate: Certificate, problem: Any, said: Mapping[str, Any], queries: Queries, options: Any
) -> dict[str, Any]:
    given = getattr(problem, "given", {})
    data: dict[str, Any] = {"source": _text(given["source"]) if "source" in given else None}
    for key in ("dirichlet", "neumann"):
        if getattr(problem, "components", 2) == 1 and key in given:
            data[key] = {group: _text(value) for group, value in given[key].items()}
    asked = [{k: row.get(k) for k in ("name", "kind", "at")} for row in said["queries"]]
    for row, goal in zip(asked, queries.goals or (), strict=False):
        row |= {"radius": goal.radius} if isinstance(goal, Ball) else {}
    return {
        "problem": data,
        "queries": asked,
        "certificate": {
            "method": certificate.method,
            "target": certificate.target,
            "lift": getattr(problem, "lift", None) is not None,
            "options": dict(options or {}),
        },
    }


def _system(out: Writer, problem: Any, system: Any, queries: Queries, U: Vector) -> dict[str, Any]:
    space, components = system.space, getattr(problem, "components", 1)
    if hasattr(problem, "mesh"):
        out.array("mesh/nodes", problem.nodes.points)
        out.array("mesh/cells", np.sort(problem.mesh.cells, axis=1))
    out.sparse("system/a", system.free_rows if isinstance(system, LinearSystem) else sp.csr_array(system.A)[space.free])
    out.array("system/b", system.b[space.free])
    out.array("system/free", space.free)
    out.array("system/fixed", space.U0[space.fixed])
    out.array("system/u", U)
    out.sparse("system/l", queries.L)
    out.array("system/constants", queries.constants)
    if isinstance(system, CubicSystem):
        out.array("system/cubic", system.w)
    return {
        "components": components,
        "degree": getattr(problem, "degree", 1) if components == 1 else 1,
        "weighted": system.weight is not None,
    }


def _linear(
    out: Writer,
    system: LinearSystem,
    queries: Queries,
    solver: Solver | None,
    green: Any,
    positive: Vector | None,
    state: Vector | None,
    coercivity: float | None,
) -> dict[str, Any]:
    """A solved state, Green vectors and a coercivity witness; they prove any linear method's claim."""
    free = system.space.free
    assert free is not None
    B = None if coercivity is not None and solver is not None else system.free_block
    if solver is None or not (is_accurate(solver) or B is None):
        solver = factorize(B)
    solved = state is not None and is_accurate(solver)
    y = np.asarray(state)[free] if solved else np.zeros(len(free))
    for _ in range(1 if solved else 3):
        step = answer(solver.solve, _plain_residual(system, system.space.vector_of(y)))
        y = y - step
        if float(np.max(np.abs(step))) <= SMALL_STEP * float(np.max(np.abs(y))):
            break
    out.array("witness/state", system.space.vector_of(y))
    if green is None or green.dtype != np.float64 or green.shape != (len(queries), len(free)):
        green = answer(solver.solve_transposed, np.ascontiguousarray(queries.L[:, free].toarray().T)).T
    out.array("witness/green", green)
    if B is None:
        return {"coercivity": {"how": "declared", "alpha": coercivity}}
    return {"coercivity": _coercive(out, B, solver, positive)}


def _plain_residual(system: Any, U: Vector) -> Vector:
    """A U − b on the free rows, in extended precision where the machine has it."""
    A, free, found = sp.csr_array(system.A), system.space.free, np.empty(len(system.b))
    for a in range(0, A.shape[0], ROWS):
        start = A.indptr[a : a + ROWS + 1]
        part = slice(start[0], start[-1])
        terms = A.data[part].astype(np.longdouble) * U[A.indices[part]]
        rows = np.add.reduceat(np.append(terms, np.longdouble(0.0)), start[:-1] - start[0])
        rows[start[1:] == start[:-1]] = 0.0
        found[a : a + ROWS] = rows - system.b[a : a + ROWS]
    return np.asarray(found[free])


def _cubic(out: Writer, system: CubicSystem, queries: Any, U: Vector) -> dict[str, Any]:
    """A root of the discrete system by Newton's method, Green vectors there, and a coercivity witness for A."""
    y, free = system.space.require_member(U), system.space.free
    right = np.ascontiguousarray(queries.L[:, free].toarray().T)
    out.array("witness/base", answer(factorize(system.jacobian(y, rounding=False)[0]).solve_transposed, right).T)
    for _ in range(150):  # from afar λu³ lets Newton's method come nearer by a third at a time
        J = system.jacobian(y, rounding=False)[0]
        step = answer(factorize(J).solve, system.residual(y).hi)
        y = y - step
        if float(np.max(np.abs(step))) <= 1e-15 * max(1e-300, float(np.max(np.abs(y)))):
            break
    solver = factorize(system.jacobian(y, rounding=False)[0])
    q = np.asarray(answer(solver.solve_transposed, right).T)
    out.array("witness/state", system.space.vector_of(y))
    out.array("witness/green", q)
    B = sp.csr_array(system.A[free][:, free])
    return {"coercivity": _coercive(out, B, factorize(B))}


def _coercive(out: Writer, B: Any, solver: Solver, positive: Vector | None = None) -> dict[str, Any]:
    """α and D with (B + Bᵀ)/2 ⪰ αD⁻²: a vector w of an M-matrix, or a shift to factorise at."""
    S = symmetric_part(B).S
    D = equilibration(S)
    out.array("witness/scale", D)
    C = scaled(S, D)
    w, ratio = _positive(C, solver, D, positive)
    if w is not None:
        out.array("witness/w", w)
        return {"how": "m-matrix", "alpha": ratio * (1.0 - SAFETY)}
    theta = verify_coercivity(B, equilibrate=True, method="shift", solve=solver.solve).alpha
    alpha = theta * (1.0 - 1e-3)
    if theta < CLOSE:  # then rounding is a part of it, and the checker's is another one
        alpha -= 3.0 * (lu_defect(C, theta, None) + 8.0 * UNIT * float((abs(C) @ np.ones(len(D))).max()))
    if not alpha > 0.0:
        raise CertificationError("coercivity: too small to be proved twice")
    return {"how": "shift", "theta": theta, "alpha": alpha}


def _positive(C: Any, solver: Solver, D: Vector, given: Vector | None) -> tuple[Vector | None, float]:
    """W > 0 with C w ≥ ratio · w, in plain floats; None where C is no M-matrix to speak of.

    Without a given one the first is kept: the states are solved so well that a sharper bound would narrow nothing.
    """
    Z, excess = z_part(C)
    if 2.0 * excess > 1e-10:
        return None, 0.0
    w = np.abs(answer(solver.solve, 1.0 / D) / D) if given is None else given
    w = w / float(w.max())
    if not float(w.min()) > 0.0:
        return None, 0.0
    ratio = float(np.min((Z @ w - 1e-14 * (abs(Z) @ w)) / w)) - 2.0 * excess
    return (w, ratio) if ratio > 0.0 else (None, 0.0)


def _continuous(out: Writer, witness: Any, problem: Any, queries: Any) -> dict[str, Any]:
    """States, fluxes and data of the transfer, with every query's bounded form."""
    route, model = witness.route, witness.route.model
    cubic = getattr(getattr(route, "term", None), "cubic", np.zeros(len(model.kappa)))
    for name, a in (("kappa", model.kappa), ("reaction", model.reaction), ("cubic", cubic), ("kind", model.kind)):
        out.array(f"continuous/{name}", a)
    primal = witness.primal()
    out.array("continuous/state", primal.nodal)
    out.array("continuous/flux", primal.flux)
    _density(out, "source/f", primal.source)
    _load(out, "source/g", primal.load)
    for k, (facets, _) in enumerate(model.dirichlet):
        out.array(f"continuous/d{k}", np.sort(facets))
    for k, (facets, _) in enumerate(model.neumann):
        out.array(f"continuous/n{k}", np.sort(facets))
    lift = getattr(problem, "lift", None)
    own = None if lift is None else problem.own_values(queries)
    said = []
    for i, (J, goal) in enumerate(zip(route.goals, queries.goals, strict=True)):
        about: dict[str, Any] = {
            "kind": _KINDS[type(goal)],
            "known": J.known,
            "acts": J.acts and not J.known,
            "constant": J.constant,
            "error": J.error,
            "scale": J.scale,
            "radius": J.ball if np.isfinite(J.ball) else None,
            "kappa": None if J.kernel is None else J.kernel.kappa,
            "own": None if own is None else [float(own[0][i]), float(own[1][i])],
        }
        if isinstance(goal, Point | Ball):
            about["at"], about["average"] = list(goal.at), getattr(goal, "radius", 0.0)
        if about["acts"]:
            side = witness.dual(i)
            out.array(f"dual/z{i}", side.nodal)
            out.array(f"dual/t{i}", side.flux)
            _density(out, f"dual/w{i}", side.source)
            _load(out, f"dual/g{i}", side.load)
            if isinstance(route, Monotone):
                zero = Density.constant(np.zeros(len(cubic)), model.d)
                _density(out, f"dual/m{i}", J.source or zero)
                _density(out, f"dual/phi{i}", witness.potential(i) or zero)
        if isinstance(goal, Patch | Flux):
            out.array(f"dual/facets{i}", np.sort(route.facets_of(goal.group)))
        said.append(about)
    return {
        "goals": said,
        "lift": None if lift is None else True,
        "source": _text(model.source),
        "mismatch": witness.mismatch,
        "dirichlet": [_text(given) for _, given in model.dirichlet],
        "neumann": [_text(given) for _, given in model.neumann],
    }


_KINDS = {Point: "point", Ball: "ball", Patch: "patch", Flux: "flux"}


def _text(given: Any) -> Any:
    """What the case says; None for what is no formula, such as the residual of a network."""
    if isinstance(given, Expression):
        return given.text
    return None if callable(given) else float(given)


def _density(out: Writer, name: str, what: Density, at: Any = None) -> None:
    """Coefficients, bounds and the cells or facets they belong to; where all are zero nothing is stored."""
    beta, rest = what.coefficients, np.stack([what.high, what.error1, what.error2], axis=1)
    where = np.arange(len(beta)) if what.cells is None else what.cells
    where = where if at is None else at
    keep = np.nonzero(np.any(beta, axis=1) | np.any(rest > 0.0, axis=1))[0] if at is None else np.arange(len(beta))
    keep = keep[np.argsort(where[keep])]
    for part, a in (("at", where[keep]), ("beta", beta[keep]), ("rest", rest[keep])):
        out.array(f"{name}_{part}", a)


def _load(out: Writer, name: str, load: FacetLoad | None) -> None:
    if load is not None:
        _density(out, name, load.density, load.facets)
