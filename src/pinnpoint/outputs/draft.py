"""What a certified case leaves behind: certificate, table, field, bundle and report, all of them or none."""

from __future__ import annotations

import os
import shutil
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.base.threads import begin
from pinnpoint.cases.specs import Case
from pinnpoint.cases.study import Result, Study, provenance
from pinnpoint.certificates.evidence import Evidence
from pinnpoint.certificates.json import identified, write_json
from pinnpoint.certifiers.base import AbstractCertifier
from pinnpoint.certifiers.exact import Exact
from pinnpoint.certifiers.protocols import Certifier, Problem
from pinnpoint.fem.lifts.lifted import AbstractLifted
from pinnpoint.fem.parabolic.asking import MovingQueries
from pinnpoint.io.meshes.vtu import UNKNOWN, stamp, write_vtu
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.outputs.bundle import begin_bundle, write_bundle
from pinnpoint.outputs.bundle.document import Document
from pinnpoint.outputs.bundle.files import Writer, foreign
from pinnpoint.outputs.bundle.write import unchecked
from pinnpoint.outputs.fields import BAND, Fields
from pinnpoint.outputs.moments import drawn_times, require_moments_folder
from pinnpoint.outputs.tables import labels, write_csv
from pinnpoint.report import Scene, View, write_report
from pinnpoint.report.units import labelled

FILES = ("certificate.json", "certificate.csv", "field.vtu", "bundle", "report.html")
MOVING = ("field.pvd", "field")
"""Where the solution moves: the list of moments for viewers, and the folder with one file for each."""
GREEN = "witness/green"
MAPPED_FROM = 2**24
"""Bytes from which Green vectors are mapped from the bundle's file, which else would be a copy of them."""
SAFE = hasattr(os, "posix_fallocate")
"""Whether room for a mapped file can be had beforehand."""
SWEPT, RADII = 12, 41
"""Local and tail parts are shown for so many queries at most, at so many radii."""


@dataclass(frozen=True)
class Begun:
    """Fields, the view of them, and their file, on their way in threads."""

    fields: Future[Fields]
    view: Future[View]
    written: Future[Path]


class Draft:
    """The outputs of a case: what is known of them early is made in threads beside the certification.

    ``with`` it, nothing is left in the folder but whole outputs.
    """

    def __init__(self, study: Study, out: Path) -> None:
        require_place(out)
        self.out = Path(out)
        self._made: list[Path] = []
        self._study = study
        self._moves = isinstance(study.problem, MovingQueries)
        frames = (
            1 if not isinstance(study.problem, MovingQueries) else len(drawn_times(study.problem.grid, study.queries))
        )
        self._scene = draw(study.problem.mesh, study.problem.components, study.queries.points, frames)
        self._bundle: Writer | None = None
        self._begun: Begun | None = None

    def __enter__(self) -> Draft:
        return self

    def __exit__(self, *error: object) -> None:
        if self._begun is not None:
            wait([self._begun.written])
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

    def green_file(self) -> Path | None:
        """Where Green vectors are to be computed to, straight into the bundle; None where they are not large."""
        study, method = self._study, self._study.method
        if study.case.certificate.target != "discrete" or not SAFE or not isinstance(study.problem, Problem):
            return None
        if self._moves or 8 * len(study.queries) * study.problem.system.n < MAPPED_FROM:
            return None
        if not isinstance(method, Exact) or method.file is not None or method.storage != "float64":
            return None
        with suppress(OSError):  # `write` tells of it
            self._bundle = begin_bundle(self.part / FILES[3], study.problem, study.queries)
            return self._bundle.path(f"{GREEN}.npy")
        return None

    def prepared(self, certifier: Certifier) -> None:
        """Begin to hash the Green vectors, and to pack and write the fields."""
        self._begun = self._begin(self._study, certifier)

    def _begin(
        self, study: Study, certifier: Certifier, shares: Vector | None = None, band: Vector | None = None
    ) -> Begun:
        if self._bundle is not None and isinstance(certifier, AbstractCertifier) and certifier.green is not None:
            self._bundle.begin(GREEN, certifier.green.q)
        problem, at, path = study.problem, study.queries.points, self.part / FILES[2]
        fields = begin(lambda: Fields.of(study, certifier, shares, band))

        def view() -> View:
            moments, scene = fields.result().moments, self._scene.result()
            if moments is not None:
                frames = moments.frames(drawn_times(problem.grid, study.queries))
                return View.of(problem.mesh, frames, at, scene, moments=True)
            drawn = View.of(problem.mesh, fields.result().by_name, at, scene)
            if problem.mesh.dim > 1:
                _ = drawn.packed
            return drawn

        cellwise = None if band is None else {BAND: band}

        def write() -> Path:
            if (moments := fields.result().moments) is not None:
                moments.write(self.part / MOVING[0], problem.mesh, problem.nodes)
            drawn = fields.result().by_name
            return write_vtu(path, problem.mesh, drawn, cellwise, nodes=problem.nodes, certificate=UNKNOWN)

        return Begun(fields, begin(view), begin(write))

    def write(self, result: Result) -> list[Path]:
        """Write all outputs into the folder; they appear together, once every one of them is complete."""
        out, part = self.out, self.part
        whole = isinstance(result.study.problem, Problem)  # of many processes no one has the matrix of a bundle
        names = [name for name in FILES if whole or name != FILES[3]] + list(MOVING if self._moves else ())
        try:
            self._write(result, whole=whole)
            out.mkdir(exist_ok=True)
            for name in (FILES[3], MOVING[1]):  # folders are not replaced in one step: move the old one away first
                if name in names and (out / name).is_dir():
                    os.replace(out / name, part / f"old {name}")
            for name in names:
                os.replace(part / name, out / name)
        except OSError as error:
            raise InputError(f"--out: '{out}' could not be written ({error.strerror}); choose another place") from error
        return [out / name for name in names]

    def _write(self, result: Result, *, whole: bool) -> None:
        study, certificate = result.study, result.certificate
        if self._begun is None:
            self._begun = self._begin(study, result.certifier, certificate.evidence.indicators, certificate.band)
        begun, data, kind = self._begun, record(result, bundled=whole), study.case.kind
        with ThreadPoolExecutor(2) as pool:  # hashing and writing leave Python's lock to the report
            bundle = pool.submit(self._write_bundle, result, data, begun.fields.result().evidence) if whole else None
            stamped = pool.submit(self._stamp, begun, data["id"])
            write_json(self.part / FILES[0], data)
            write_csv(self.part / FILES[1], certificate, labels(study.case, study.problem.mesh.dim), data["id"])
            shown = labelled(data, kind.quantities, study.problem.mesh.dim) | {"refines": kind.refines}
            view, named = begun.view.result(), FILES[3] if whole else None
            write_report(self.part / FILES[4], shown, view, sweep=sweep(result), bundle=named)
            if bundle is not None:
                bundle.result()
            stamped.result()

    def _stamp(self, begun: Begun, certificate: str) -> None:
        """Put the certificate's id into the fields once they are written."""
        for path in [begun.written.result(), *sorted((self.part / MOVING[1]).glob("*.vtu"))]:
            stamp(path, certificate)

    def _write_bundle(self, result: Result, data: dict[str, Any], evidence: Evidence) -> None:
        """With what the certifier has at hand; a lifted problem's state is not the one that is drawn."""
        study, certificate = result.study, result.certificate
        moves = self._moves and certificate.target == "discrete"
        corrected = None if isinstance(study.problem, AbstractLifted) else evidence.corrected
        write_bundle(
            self.part / FILES[3],
            certificate,
            study.problem,
            study.prediction,
            study.queries,
            evidence=replace(evidence, state=certificate.evidence.state, corrected=corrected),
            document=Document(of=data["id"]) if moves else document(study.case, data),
            partial=True,
            begun=self._bundle,
        )


def record(result: Result, *, bundled: bool = True) -> dict[str, Any]:
    """The content of certificate.json; with a bundle beside it, why that cannot be re-checked where it cannot."""
    study, certificate = result.study, result.certificate
    case = study.case
    known = ("extraction", "projection_mismatch", "matching_distance", "model")
    made = {k: certificate.details[k] for k in known if k in certificate.details}
    data = certificate.to_dict(
        title=case.title,
        units=case.units,
        inputs=provenance(case),
        problem={**case.to_dict()["problem"], "quadrature": study.problem.quadrature},
        **({} if case.time is None else {"time": case.to_dict()["time"]}),
        prediction={"source": case.prediction.source, **made},
        **({"refinement": _refinement(result)} if result.history else {}),
    )
    why = unchecked(certificate, study.problem, study.prediction, study.queries) if bundled else ""
    data |= {"unchecked": why} if why else {}
    narrowing = certificate.narrowing
    for i, (row, query) in enumerate(zip(data["queries"], case.queries, strict=True)):
        row["kind"] = query.kind
        row |= {} if query.at is None else {"at": [float(x) for x in query.at]}
        asked = {"component": query.component, "group": query.group, "ball": query.radius, "side": query.side}
        asked |= {"spread": query.spread, "since": query.since}
        asked["tolerance"] = _finite(study.limits[i])
        row |= {key: value for key, value in asked.items() if value is not None}
        if narrowing is not None:
            row["narrowing"] = _finite(narrowing[i])
    return identified(data)


def _refinement(result: Result) -> dict[str, Any]:
    """Unknowns and radii of every mesh on the way."""
    steps = [{"dofs": s.dofs, "cells": s.cells, "radius": [_finite(r) for r in s.radius]} for s in result.history]
    limits = [_finite(t) for t in result.study.limits]
    until = {} if result.study.case.certificate.until is None else {"until": result.study.case.certificate.until}
    return {"tolerance": limits, "steps": steps, "stopped": result.stopped, **until}


def _finite(x: Any) -> float | None:
    """As strict JSON has it."""
    return float(x) if np.isfinite(x) else None


def sweep(result: Result) -> dict[str, Any] | None:
    """Local and tail parts over the radius of the ball, where the method is localized by distance."""
    study, certifier = result.study, result.certifier
    queries = study.queries
    if study.case.certificate.method != "localized" or queries.points is None or len(queries) > SWEPT:
        return None
    from pinnpoint.certifiers.localized import LocalizedCertifier  # only this method has balls

    if not isinstance(certifier, LocalizedCertifier):
        return None
    rows = study.problem.system.row_points
    reach = float(np.linalg.norm(np.ptp(rows, axis=0)))
    try:
        parts = certifier.sweep(study.problem.extract(study.prediction).U, np.linspace(0.0, reach, RADII))
    except CertificationError:
        return None
    return {"radii": parts.radii, "local": parts.local, "tail": parts.tail, "radius": parts.radius}


def document(case: Case, data: dict[str, Any]) -> Document:
    """The texts of a bundle; of a kind that the checker does not know the system counts as it is stored."""
    if case.kind.rechecked:
        return Document(data, case.to_dict())
    words = ("problem", "prediction", "inputs")
    return Document({key: value for key, value in data.items() if key not in words}, of=data["id"])


def draw(mesh: Mesh, components: int, at: Any = None, frames: int = 1) -> Future[Scene]:
    """Begin to draw a mesh for the report, cut at some points where it is solid."""

    def drawn() -> Scene:
        scene = Scene(mesh, 3 * components * frames, at)
        _ = scene.opened if components == 1 else scene.closed
        return scene

    return begin(drawn)


def write_outputs(result: Result, out: Path) -> list[Path]:
    """Write all outputs into a folder."""
    with Draft(result.study, out) as draft:
        return draft.write(result)


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
    require_moments_folder(out / MOVING[1])
    for path in (out / name for name in (*FILES, MOVING[0]) if name != FILES[3]):
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
