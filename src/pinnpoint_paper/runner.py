"""Runs studies: part by part, resumable, figures and the page at the end of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pinnpoint.base.errors import InputError
from pinnpoint_paper import page, plots
from pinnpoint_paper.results import FILE, SCHEMA, code, read, versions, write
from pinnpoint_paper.study import Check, Drawing, Study

Report = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """What became of a study."""

    name: str
    checks: tuple[Check, ...]
    seconds: float
    folder: Path
    resumed: int
    """Parts that were there already."""

    @property
    def held(self) -> int:
        """Claims that our numbers bear out."""
        return sum(bool(c.holds) for c in self.checks)


def run(
    studies: Sequence[Study],
    out: Path,
    form: str = "full",
    *,
    fresh: bool = False,
    redraw: bool = False,
    figures: bool = True,
    report: Report = lambda _: None,
) -> list[Outcome]:
    """Run studies into a folder each, and write one page over all that are there.

    Parts that the same code has computed in the same form are kept unless `fresh`; `redraw` computes nothing.
    """
    if figures:
        plots.require()
    found = []
    for study in studies:
        found.append(_one(study, Path(out) / study.name, form, fresh=fresh, redraw=redraw, report=report))
        if figures:
            report(f"{study.name}: figures")
            stored = read(found[-1].folder / FILE)
            plots.save(_drawings(study, stored), found[-1].folder)
        page.write(Path(out))
    return found


def _one(study: Study, folder: Path, form: str, *, fresh: bool, redraw: bool, report: Report) -> Outcome:
    path = folder / FILE
    stored = None if fresh else read(path)
    same = stored is not None and (stored["form"], stored["code"], stored.get("subject", "")) == (
        form,
        code(),
        study.subject,
    )
    if redraw and stored is not None:
        form, same = stored["form"], True
    wanted = study.parts(form)
    kept = dict(stored["parts"]) if stored is not None and same else {}
    kept = {key: kept[key] for key in wanted if key in kept}
    if redraw and len(kept) < len(wanted):
        raise InputError(f"--redraw: '{folder}' does not hold all parts of {study.name}; run it without --redraw first")
    data: dict[str, Any] = {
        "schema": SCHEMA,
        "study": study.name,
        "form": form,
        "about": stored.get("about", study.about) if stored is not None and redraw else study.about,
        "subject": stored.get("subject", "") if stored is not None and redraw else study.subject,
        "code": stored["code"] if stored is not None and redraw else code(),
        "versions": stored["versions"] if stored is not None and redraw else versions(),
        "complete": False,
    }
    resumed = len(kept)
    if not redraw:
        for key, part in wanted.items():
            if key in kept:
                continue
            report(f"{study.name}: {key}")
            start, worked = time.perf_counter(), time.process_time()
            numbers = part()
            spent = {"seconds": time.perf_counter() - start, "processor": time.process_time() - worked}
            kept[key] = {name: round(value, 3) for name, value in spent.items()} | numbers
            write(path, data | {"parts": {k: kept[k] for k in wanted if k in kept}})
    parts = {key: kept[key] for key in wanted if key in kept}
    write(path, data | {"parts": parts})
    results = read(path)
    assert results is not None
    checks = study.checks(results["parts"])
    data |= {
        "complete": len(parts) == len(wanted),
        "seconds": round(sum(p["seconds"] for p in parts.values()), 2),
        "claims": [asdict(c) for c in checks],
        "rows": [asdict(r) for r in study.rows(results["parts"])],
        "parts": parts,
    }
    write(path, data)
    return Outcome(study.name, tuple(checks), data["seconds"], folder, resumed)


def _drawings(study: Study, stored: dict[str, Any] | None) -> list[Drawing]:
    assert stored is not None
    with plots.styled():
        return study.draw(stored["parts"])
