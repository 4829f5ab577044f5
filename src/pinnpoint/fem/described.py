"""What the intervals of a finite-element problem are of, and what the mesh leaves, told in the certificate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pinnpoint.base.arrays import Vector
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.fem.mesh_estimate import mesh_estimate
from pinnpoint.mesh.curves import curve_notes
from pinnpoint.systems.queries import Queries
from pinnpoint.systems.targets import DOMAINS, MESH, TRANSFERRED


def described(
    certificate: Certificate, problem: Any, queries: Queries, U: Vector, certifier: Any, *, own: bool
) -> Certificate:
    """The same intervals with what they are of, notes on curved boundaries, and an estimate of the mesh's part.

    Parameters
    ----------
    U
        The state that was certified.
    own
        Whether the problem's own transfer led to the PDE's solution.
    """
    notes = curve_notes(problem.mesh)
    if certificate.target == "continuous":
        of = DOMAINS[problem.mesh.dim] if own else TRANSFERRED
        return replace(certificate, interval_of=of, notes=(*notes, *certificate.details.get("remarks", ())))
    found = mesh_estimate(problem, queries, U, certifier, certificate.details.get("state"))
    if found.sizes is None:
        notes = (*notes, f"what the mesh leaves of these values was not estimated: {found.why}")
    return replace(certificate, interval_of=MESH, notes=notes, mesh_estimate=found.sizes)
