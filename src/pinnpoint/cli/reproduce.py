"""`pinnpoint reproduce`: the paper's experiments, each beside the paper's own numbers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pinnpoint.base.errors import InputError
from pinnpoint.cli.progress import Stages


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1 where a claim does not hold."""
    import pinnpoint_paper as reproduce

    if arguments.all and arguments.names:
        raise InputError("reproduce: give names or --all, not both")
    if not arguments.all and not arguments.names:
        print("Studies (pinnpoint reproduce NAME ..., or --all; --quick for small forms):")
        for study in reproduce.STUDIES:
            print(f"  {study.name:22} {study.title}")
        return 0
    if arguments.out.exists() and not arguments.out.is_dir():
        raise InputError(f"--out: '{arguments.out}' is a file; give a folder")
    chosen = list(reproduce.STUDIES) if arguments.all else reproduce.find(arguments.names)
    if arguments.simjeb is not None:
        chosen = _on_simjeb(chosen, arguments.simjeb, arguments.bracket)
    form = "quick" if arguments.quick else "full"
    steps = sum(len(study.parts(form)) + 1 for study in chosen)
    with Stages(steps, quiet=arguments.quiet) as stage:
        found = reproduce.run(
            chosen,
            arguments.out,
            form,
            fresh=arguments.fresh,
            redraw=arguments.redraw,
            figures=not arguments.no_figures,
            report=stage,
        )
    for outcome in found:
        print(f"{outcome.name:22} {outcome.held} of {len(outcome.checks)} claims hold  {outcome.seconds:8.1f} s")
        for check in outcome.checks:
            if not check.holds:
                print(f"  does not hold: {check.claim} ({check.seen})")
    print(f"Open {arguments.out / 'index.html'}")
    return 0 if all(outcome.held == len(outcome.checks) for outcome in found) else 1


def _on_simjeb(chosen: list[Any], folder: Path, number: str) -> list[Any]:
    from pinnpoint_paper.bracket_given import on_simjeb

    if not (folder / f"{number}.fem").is_file():
        raise InputError(
            f"--simjeb: '{folder}' holds no '{number}.fem'; give the folder of the files, and --bracket ID"
        )
    found = [on_simjeb(study, folder, number) for study in chosen]
    if not any(study.subject for study in found):
        raise InputError("--simjeb: none of the chosen studies is on a bracket (bracket, bracket-family, amortized)")
    return found
