"""Who watches a case on the command line: stages and notes on stderr, memory, and outputs that begin early."""

from __future__ import annotations

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.workspace import have_ready
from pinnpoint.certifiers.protocols import Certifier, Events, Step
from pinnpoint.cli.progress import Stages
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.outputs.draft import Draft

LARGE = 150_000
"""Unknowns from which memory is dearer than the time to get it."""


class Watch(Events):
    """Tells stages; with a draft of the outputs it also tells of refinement, and begins what can be begun."""

    def __init__(self, stages: Stages, draft: Draft | None = None, limits: Vector | None = None) -> None:
        self.stages, self.draft, self.limits = stages, draft, limits

    def stage(self, text: str) -> None:
        """One line."""
        self.stages(text)

    def meshed(self, mesh: Mesh) -> None:
        """Memory for what is assembled next."""
        if len(mesh.points) <= LARGE:
            have_ready(len(mesh.points))

    def prepared(self, certifier: Certifier) -> None:
        """Fields and Green vectors can be written beside the certification."""
        if self.draft is not None:
            self.draft.prepared(certifier)

    def refined(self, step: Step) -> None:
        """How far refinement has come."""
        if self.limits is not None:
            self.stages.note(falling(step, self.limits))


def falling(step: Step, limits: Vector) -> str:
    """How far refinement has come, and where it is expected to end."""
    worst = int(np.argmax(step.radius / limits))
    ahead = f", {limits[worst]:.1e} expected at {step.expected:.0f}" if np.isfinite(step.expected) else ""
    return f"{step.dofs} unknowns: worst radius {step.radius[worst]:.2e}{ahead}"
