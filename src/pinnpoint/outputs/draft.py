"""What a certified case leaves behind: certificate, table, field, bundle and report, all of them or none."""

from __future__ import annotations

import csv
import os
import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.base.threads import begin
from pinnpoint.base.units import bracketed, labelled, of_query
from pinnpoint.cases.specs import Case
from pinnpoint.cases.study import Result, Study, provenance
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.json import write_json
from pinnpoint.certifiers.exact import Exact
from pinnpoint.certifiers.protocols import Certifier
from pinnpoint.io.meshes.vtu import write_vtu
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.outputs.bundle import begin_bundle, write_bundle
from pinnpoint.outputs.bundle.files import Writer, foreign
from pinnpoint.report import Scene, View, write_report

FILES = ("certificate.json", "certificate.csv", "field.vtu", "bundle", "report.html")
GREEN = "witness/green"
MAPPED_FROM = 2**24
"""Bytes from which Green vectors are mapped from the bundle's file, which else would be a copy of them."""
SAFE = hasattr(os, "posix_fallocate")
"""Whether room for a mapped file can be had beforehand."""
GREEN_LIMIT = 20
"""At most so many Green vectors go into field.vtu."""
SWEPT, RADII = 12, 41
"""Local and tail parts are shown for so many queries at most, at so many radii."""


class Draft:
    """The outputs of a case: what is known of them early is made in threads beside the certification.

    ``with`` it, nothing is left in the folder but whole outputs.
    """

    def __init__(self, study: Study, out: Path, scene: Future[Scene] | None = None) -> None:
        require_place(out)
        self.out = Path(out)
        self._made: list[Path] = []
        self._study = study
        self._scene = scene or draw(study.problem.mesh, study.problem.components, study.queries.points)
        self._bundle: Writer | None = None
        self._seen: Future[dict[str, Vector]] | None = None
        self._view: Future[View] | None = None
        self._shown: Future[Path] | None = None

    def __enter__(self) -> Draft:
        return self

    def __exit__(self, *error: object) -> None:
        if self._shown is not None:
            wait([self._shown])
        if self._bundle is not None:
            self._bundle.wait()
        for k, folder in enumerate(reversed(self._made)):
            with suppress(OSError):  # folders above are kept where something is in them
                shutil.rmtree(folder) if k == 0 else folder.rmdir()

    @cached_property
    def part(self) -> Path:
        """A folder for outputs that are not whole yet."""
        try:
            above = [p for p in self.out.absolute().parents if not p.exists()]
            self.out.parent.mkdir(parents=True, exist_ok=True)
            place = self.out if self.out.is_dir() else self.out.parent
            self._made = [*reversed(above), Path(tempfile.mkdtemp(prefix=".pinnpoint-", dir=place))]
        except OSError as error:
            raise InputError(
                f"--out: '{self.out}' could not be made ({error.strerror}); choose another place"
            ) from error
        return self._made[-1]

    def placed(self, study: Study) -> Study:
        """The study, its Green vectors computed straight into the bundle where they are large."""
        method, size = study.method, 8 * len(study.queries) * getattr(study.problem.system, "n", 0)
        if study.case.certificate.target != "discrete" or size < MAPPED_FROM or not SAFE:
            return study
        if not isinstance(method, Exact) or method.file is not None or method.storage != "float64":
            return study
        with suppress(OSError):  # `write` tells of it
            self._bundle = begin_bundle(self.part / FILES[3], study.problem, study.queries)
            return replace(study, method=replace(method, file=self._bundle.path(f"{GREEN}.npy")))
        return study

    def prepared(self, certifier: Any) -> None:
        """Begin to hash the Green vectors, and to pack and write the fields."""
        if self._bundle is not None:
            self._bundle.begin(GREEN, certifier.green.q)
        problem, at, path = self._study.problem, self._study.queries.points, self.part / FILES[2]
        seen = begin(lambda: fields(self._study, certifier))

        def view() -> View:
            found = View.of(problem.mesh, seen.result(), at, self._scene.result())
            if problem.mesh.dim > 1:
                _ = found.packed
            return found

        self._seen, self._view = seen, begin(view)
        self._shown = begin(lambda: write_vtu(path, problem.mesh, seen.result(), nodes=problem.nodes))

    def write(self, result: Result) -> list[Path]:
        """Write all outputs into the folder; they appear together, once every one of them is complete."""
        out, part, study = self.out, self.part, result.study
        whole = hasattr(study.problem, "system")  # over many processes no one has the matrix that a bundle holds
        names = [name for name in FILES if whole or name != FILES[3]]
        try:
            self._write(result, whole=whole)
            out.mkdir(exist_ok=True)
            if (out / FILES[3]).is_dir():  # folders are not replaced in one step: move the old one away first
                os.replace(out / FILES[3], part / "old")
            for name in names:
                os.replace(part / name, out / name)
        except OSError as error:
            raise InputError(f"--out: '{out}' could not be written ({error.strerror}); choose another place") from error
        return [out / name for name in names]

    def _write(self, result: Result, *, whole: bool) -> None:
        study, certificate, certifier = result.study, result.certificate, result.certifier
        if self._shown is None:
            self._study = study
            self.prepared(certifier)
        assert self._seen is not None
        assert self._view is not None
        assert self._shown is not None
        said, seen = summary(result), self._seen.result()
        solved = "corrected" in seen and getattr(study.problem, "lift", None) is None
        ground = getattr(certifier, "ground", None)
        proof = getattr(getattr(ground, "proof", None), "stability", None)
        with ThreadPoolExecutor(1) as pool:  # hashing and writing leave Python's lock to the report
            bundle = whole and pool.submit(
                write_bundle,
                self.part / FILES[3],
                certificate,
                study.problem,
                study.prediction,
                study.queries,
                said=said,
                case=study.case.to_dict(),
                solver=getattr(ground, "solver", None),
                green=getattr(getattr(certifier, "green", None), "q", None),
                positive=getattr(proof, "witness", None),
                state=seen["corrected"].ravel()
                if solved and certificate.evidence.state is None
                else certificate.evidence.state,
                coercivity=_rough(certifier),
                partial=True,
                begun=self._bundle,
            )
            write_json(self.part / FILES[0], said)
            write_csv(self.part / FILES[1], certificate, labels(study.case))
            view = self._view.result()
            kind = study.case.kind
            shown = labelled(said, kind.quantities) | {"refines": kind.refines}
            write_report(self.part / FILES[4], shown, view, sweep=sweep(result), bundle=FILES[3] if whole else None)
            if bundle:
                bundle.result()
            self._shown.result()


def draw(mesh: Mesh, components: int, at: Any = None) -> Future[Scene]:
    """Begin to draw a mesh for the report, cut at some points where it is solid."""

    def drawn() -> Scene:
        scene = Scene(mesh, 3 * components, at)
        _ = scene.opened if components == 1 else scene.closed
        return scene

    return begin(drawn)


def write_outputs(result: Result, out: Path) -> list[Path]:
    """Write all outputs into a folder."""
    with Draft(result.study, out) as draft:
        return draft.write(result)


def _rough(certifier: Any) -> float | None:
    """The bound of a certifier that was proved at linear cost."""
    proof = getattr(getattr(certifier, "ground", None), "proof", None)
    return float(proof.stability.form.alpha) if proof is not None and proof.rough else None


def require_place(out: Path) -> None:
    """Refuse a folder that cannot be made or written, before anything is computed."""
    place = Path(out).absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise InputError(f"--out: '{place}' is a file; name a folder")
    if not os.access(place, os.W_OK | os.X_OK):
        raise InputError(f"--out: '{place}' cannot be written to; choose another place")
    _require_ours(Path(out))


def _require_ours(out: Path) -> None:
    """Refuse to replace what is not an output."""
    bundle = out / FILES[3]
    for path in (out / name for name in FILES if name != FILES[3]):
        if path.is_dir():
            raise InputError(f"--out: '{path}' is a folder, and a file is to go there; choose another place")
    if os.path.lexists(bundle) and (bundle.is_symlink() or not bundle.is_dir()):
        raise InputError(
            f"--out: '{bundle}' is no folder that a certificate has left; move it, or choose another place"
        )
    if bundle.is_dir() and (name := foreign(bundle)):
        raise InputError(
            f"--out: '{bundle}' would be replaced, and '{name}' in it belongs to no bundle; move it, or choose another "
            "place"
        )


def summary(result: Result) -> dict[str, Any]:
    """The content of certificate.json."""
    study, certificate = result.study, result.certificate
    case = study.case
    kept = ("extraction", "projection_mismatch", "matching_distance", "model")
    made = {k: certificate.details[k] for k in kept if k in certificate.details}
    data = certificate.to_dict(
        title=case.title,
        units=case.units,
        inputs=provenance(case),
        problem={**case.to_dict()["problem"], "quadrature": study.problem.quadrature},
        prediction={"source": case.prediction.source, **made},
        **({"refinement": _refinement(result)} if result.history else {}),
    )
    narrowing = certificate.narrowing
    for i, (row, query) in enumerate(zip(data["queries"], case.queries, strict=True)):
        row["kind"] = query.kind
        row |= {} if query.at is None else {"at": [float(x) for x in query.at]}
        asked = {"component": query.component, "group": query.group, "ball": query.radius}
        asked["tolerance"] = _finite(study.limits[i])
        row |= {key: value for key, value in asked.items() if value is not None}
        if narrowing is not None:
            row["narrowing"] = _finite(narrowing[i])
    return data


def sweep(result: Result) -> dict[str, Any] | None:
    """Local and tail parts over the radius of the ball, where the method is localized by distance."""
    study, certifier = result.study, result.certifier
    queries = study.queries
    if not hasattr(certifier, "sweep") or queries.points is None or len(queries) > SWEPT:
        return None
    rows = study.problem.system.row_points
    reach = float(np.linalg.norm(np.ptp(rows, axis=0)))
    try:
        found = certifier.sweep(study.problem.extract(study.prediction).U, np.linspace(0.0, reach, RADII))
    except CertificationError:
        return None
    return {"radii": found.radii, "local": found.local, "tail": found.tail, "radius": found.radius}


def _refinement(result: Result) -> dict[str, Any]:
    """Unknowns and radii of every mesh on the way."""
    steps = [{"dofs": s.dofs, "cells": s.cells, "radius": [_finite(r) for r in s.radius]} for s in result.history]
    limits = [_finite(t) for t in result.study.limits]
    return {"tolerance": limits, "steps": steps, "stopped": result.stopped}


def _finite(x: Any) -> float | None:
    """As strict JSON has it."""
    return float(x) if np.isfinite(x) else None


def _text(x: Any) -> str:
    """All digits of a number; nothing where there is none."""
    return "" if np.isnan(x) else repr(float(x))


def labels(case: Case) -> list[str]:
    """The unit of each query's value."""
    return [of_query(case.units, case.kind.quantities, query.kind) for query in case.queries]


def write_csv(path: Path, certificate: Certificate, units: Sequence[str]) -> None:
    """One row per query; what does not apply is left empty. Units that all queries share stand in the header too."""
    columns = ["value", "value_radius", "raw", "raw_radius", "center", "radius", "lower", "upper"]
    arrays = [getattr(certificate, c) for c in columns]
    left = certificate.mesh_estimate

    def mesh(i: int) -> list[str]:
        known = left is not None and np.isfinite(left[i])
        return [repr(float(left[i])) if known else "", certificate.interval_of]  # type: ignore[index]

    unit = bracketed(units[0]) if len(set(units)) == 1 else ""
    verdicts, accept = certificate.verdicts, certificate.accept
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        terms = list(certificate.terms)
        head = ["name", *(c + unit for c in columns), *(f"term {t}{unit}" for t in terms), "target", "guarantee"]
        writer.writerow([*head, f"accept{unit}", "verdict", f"mesh_estimate{unit}", "interval_of", "unit"])
        for i, name in enumerate(certificate.names):
            numbers = ["" if a is None else _text(a[i]) for a in arrays]
            parts = [_text(certificate.terms[t][i]) for t in terms]
            asked = (
                [repr(float(accept[i])), found["accept"]] if (found := verdicts[i]) and accept is not None else ["", ""]
            )
            writer.writerow(
                [name, *numbers, *parts, certificate.target, certificate.guarantees[i], *asked, *mesh(i), units[i]]
            )


def fields(study: Study, certifier: Certifier) -> dict[str, Vector]:
    """Prediction, corrected field, their difference, and each query's Green vector."""
    problem, given = study.problem, study.problem.extract(study.prediction)
    U = given.U
    space, n, count = problem.space, len(problem.mesh.points), problem.components
    evidence = certifier.evidence(U)

    def shape(V: Vector) -> Vector:
        return V if count == 1 else V.reshape(n, count)

    lift = getattr(problem, "lift", None)  # then U is what the prediction leaves over
    own = 0.0 if lift is None else np.asarray(lift.value(problem.nodes.points))
    predicted = given.given if given.by_nodes and given.given is not None else U  # as it was given, where it is nodal
    found = {"prediction": shape(predicted if lift is None else np.asarray(own))}
    if evidence.corrected is not None:
        corrected = evidence.corrected + own
        found |= {
            "corrected": shape(corrected),
            "error": shape(found["prediction"].reshape(corrected.shape) - corrected),
        }
    if evidence.green is not None:
        for name, q in list(zip(study.queries.names, evidence.green, strict=True))[:GREEN_LIMIT]:
            G = np.zeros(space.N)
            G[space.free] = q
            found[f"green {name}"] = shape(G)
    return found
