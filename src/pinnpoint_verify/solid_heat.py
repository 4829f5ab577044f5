"""Thermal expansion and forces by cells of a solid: loads that cells have, and what of a stress is known from them.

σ(u) = Cε(u) − κϑ I with κ = Eα/(1 − 2ν), in plane stress Eα/(1 − ν): L has ∫ κϑ div w, and averages of stresses are
those of Cε(u) less the mean of κϑ (docs/elasticity.md, section 12).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnpoint_verify.checker import Ball, Density, Shape, means, mix, up
from pinnpoint_verify.reader import Array, Bundle, larger, need
from pinnpoint_verify.rows import Row, is_number, same
from pinnpoint_verify.solid_data import Data
from pinnpoint_verify.solids import Body, Load

HEAT = {"temperature"}
"""What proof.json says besides where there is thermal expansion."""


def weights(bundle: Bundle, body: Body, said: Row, load: Load) -> Array | None:
    """Force densities that are constant on each cell, put in the place of the body force."""
    if "continuous/weights" not in bundle:
        return None
    w = bundle("continuous/weights", body.C, body.d)
    need(all(f == 0.0 for f in said["body"]), "weights: beside another body force")
    for c in range(body.d):
        load.f[c] = w[:, c] if np.any(w[:, c]) else None
    return np.asarray(w)


class Heat:
    """κ and κϑ of a solid; `given` is False where there is none."""

    def __init__(self, bundle: Bundle, body: Body, said: Row, data: Data) -> None:
        self.body, self.given = body, "temperature" in said
        stored = [name for name in ("continuous/expansion", "source/s_at") if name in bundle]
        need(len(stored) == (2 if self.given else 0), "expansion: some of it is missing, or too much")
        if not self.given:
            return
        E, nu, alpha = (Ball(bundle(f"continuous/{k}", body.C)) for k in ("young", "poisson", "expansion"))
        flat = body.d == 2 and said["plane"] == "stress"
        kappa = E * alpha / (1.0 - nu if flat else 1.0 - 2.0 * nu)
        self.kappa, self.theta = kappa.m, said["temperature"]
        self.omega = Density(bundle, "source/s", body.d, body.C)
        need(np.array_equal(self.omega.at, np.arange(body.C)), "source/s: not on all cells")
        at_vertices = "continuous/temperature" in bundle
        need(at_vertices == (self.theta is None), "temperature: neither a formula nor values at vertices")
        given = bundle("continuous/temperature", body.n)[body.cells] if at_vertices else self.theta
        self.omega = data.thermal(self.omega, kappa, given, body.points[body.cells])

    def acts(self, load: Load) -> None:
        """S of the load."""
        if self.given:
            load.weight = self.omega
            load.tensor = np.broadcast_to(np.eye(self.body.d), load.tensor.shape).copy()

    def jumps(self, one: Array, two: Array) -> Any:
        """Where balls stop."""
        return self.kappa[one] != self.kappa[two] if self.given else np.zeros(len(one), dtype=bool)

    def known(self, row: Row, cells: Array, goal: Row) -> None:
        """The constant of an average of stresses is minus the mean of κϑ, where i = j."""
        body, letters = self.body, row["component"]
        mean = Ball(0.0)
        error = 0.0
        if row["kind"] == "stress" and isinstance(letters, str) and letters[0] == letters[1]:
            vol = Shape(body.points[body.cells[cells]]).vol
            beta, _, e1, _ = (x[cells] for x in self.omega.on(0, body.C))
            mean = (mix("njk,jk->n", Ball(beta), means(body.d, 2)) * vol).total() / vol.total()
            error = float(np.max(e1))
        far = abs(float(mean.m) + goal["constant"])
        small = far <= goal["error"] + 1e-13 * abs(goal["constant"])
        need(small, f"{row['name']!r}: another mean of the thermal stress")
        goal["error"] = larger(float(goal["error"]), float(up(far + mean.r + error)))

    def at_point(self, row: Row, cell: int, goal: Row) -> None:
        """At a point of a body that is evenly warm the constant is −κϑ of a normal stress, and else nothing."""
        name = row["name"]
        need(is_number(self.theta), f"{name!r}: at a point where the temperature varies")
        normal = row["kind"] == "stress" and row["component"][0] == row["component"][1]
        wanted = -float(self.kappa[cell]) * float(self.theta) if normal else 0.0
        far = abs(goal["constant"] - wanted)
        need(far <= goal["error"] + 1e-13 * abs(wanted), f"{name!r}: another thermal stress at the point")


def heat_agrees(said: Row, problem: Row, bundle: Bundle, body: Body, blind: list[str]) -> None:
    """Expansion, temperature and forces by cells are the case's."""
    given, theta = problem.get("expansion"), problem.get("temperature")
    need((given is None) == ("temperature" not in said), "expansion: not that of the case")
    if given is not None:
        own = bundle("continuous/expansion", body.C)
        known = list(given.values()) if isinstance(given, dict) else [given]
        if all(map(is_number, known)):
            need(np.all(np.isin(own, np.array(known, dtype=float))), "expansion: not that of the case")
        else:
            blind.append("expansion by cells")
        if said["temperature"] is None:
            blind.append("temperatures at vertices")
        else:
            need(same(said["temperature"], theta), "temperature: not that of the case")
    by = problem.get("body")
    if isinstance(by, dict):
        need("continuous/weights" in bundle, "body: by cells, and they are missing")
        rows = np.array(list(by.values()), dtype=float)
        own = bundle("continuous/weights", body.C, body.d)
        need(rows.ndim == 2 and all((own == row).all(axis=1).any() for row in rows), "body: not that of the case")
        need(np.all((own[:, None] == rows[None]).all(axis=2).any(axis=1)), "body: not that of the case")
        blind.append("which cells the groups of body are")
    elif "continuous/weights" in bundle:
        need(by is None, "body: not by cells in the case")
        blind.append("body by cells")
