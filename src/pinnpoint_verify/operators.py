"""Re-check one instance of a family of diffusion coefficients from its witness: states, facet fluxes, and claims.

A witness is an .npz file. On a triangulation with −∇·(κ∇u) = f, κ and f one number a cell, u = 0 on the boundary, it
holds any state, any flux by its facets, and for each query a dual state and flux. Proofs are in docs/operators.md,
sections 1 to 3; here every number is a ball, and ν comes from Friedrichs' inequality alone.
"""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint_verify.checker import PI, Ball, ball, length, up
from pinnpoint_verify.cover import covers_once
from pinnpoint_verify.reader import MOST_BYTES, Array, larger, need

KEYS = {"points", "cells", "kappa", "source", "prediction", "state", "flux", "energies", "center", "radius", "sizes"}
DUALS = {"members", "duals", "dual_fluxes", "has_dual"}
TRUTHS, WHOLE = {"members", "has_dual"}, {"cells", "sizes"}


class Triangles:
    """A mesh: areas, gradients of barycentric coordinates, and which facet lies opposite each vertex."""

    def __init__(self, points: Array, cells: Array) -> None:
        need(points.ndim == 2 and points.shape[1] == 2 and np.all(np.isfinite(points)), "points: must be finite pairs")
        need(cells.ndim == 2 and cells.shape[1] == 3 and cells.dtype.kind in "iu", "cells: must be triples of numbers")
        need(cells.size > 0 and cells.min() >= 0 and cells.max() < len(points), "cells: numbers of no vertex")
        self.points, self.cells, C = points, np.sort(cells, axis=1), len(cells)
        need(len(np.unique(self.cells)) == len(points), "points: some belong to no cell")
        X = [Ball(points[self.cells[:, i]]) for i in range(3)]
        self.edges = [X[(i + 2) % 3] - X[(i + 1) % 3] for i in range(3)]  # opposite vertex i
        e, f = X[1] - X[0], X[2] - X[0]
        det = e[:, 0] * f[:, 1] - e[:, 1] * f[:, 0]
        need(np.all(np.abs(det.m) > 2.0 * det.r), "cells: one has no area")
        self.sign = np.sign(det.m)
        self.area = Ball(np.abs(det.m), det.r) * 0.5
        slopes = [(f[:, 1] / det, -f[:, 0] / det), (-e[:, 1] / det, e[:, 0] / det)]
        self.slopes = [tuple(-(a + b) for a, b in zip(*slopes, strict=True)), *slopes]
        pairs = np.stack([np.delete(self.cells, i, axis=1) for i in range(3)], axis=1).reshape(-1, 2)
        facets, number, count = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
        self.facets, self.number = facets, number.reshape(C, 3)
        need(count.max() <= 2, "cells: three share a facet")
        first = np.full(len(facets), C)
        np.minimum.at(first, self.number.ravel(), np.repeat(np.arange(C), 3))
        self.outward = np.where(first[self.number] == np.arange(C)[:, None], 1.0, -1.0)
        self._require_sides(count)
        covers_once(points, self.cells)
        self.rim = np.unique(facets[count == 1])
        squares = sum((d * d for edge in self.edges for d in (edge[:, 0], edge[:, 1])), Ball(np.zeros(C)))
        self.spread = self.area * squares / 36.0  # operators.md, step 1b

    def _require_sides(self, count: Array) -> None:
        """The two cells of a facet lie on its two sides: in sorted cells the orientation tells on which."""
        turn = self.sign[:, None] * np.array([1.0, -1.0, 1.0])
        both = np.bincount(self.number.ravel(), turn.ravel(), minlength=len(count))
        need(np.all((count == 1) | (both == 0.0)), "cells: neighbours overlap")

    def gradient(self, v: Array) -> tuple[Ball, Ball]:
        """∇v of values at the vertices, exact floats."""
        corner = [Ball(v[self.cells[:, i]]) for i in range(3)]
        rise = corner[1] - corner[0], corner[2] - corner[0]
        x, y = (self.slopes[1][k] * rise[0] + self.slopes[2][k] * rise[1] for k in range(2))
        return x, y

    def flux(self, t: Array) -> tuple[Ball, Ball, Ball]:
        """σ at the centroids and ∇·σ, of the field with these facet fluxes."""
        need(t.shape == (len(self.facets),) and np.all(np.isfinite(t)), "flux: must have one number a facet")
        s = [Ball(t[self.number[:, i]] * self.outward[:, i]) for i in range(3)]
        x, y = (
            sum((s[i] * (self.edges[(i + 2) % 3][:, k] - self.edges[(i + 1) % 3][:, k]) for i in range(3)), ball(0.0))
            / (self.area * 6.0)
            for k in range(2)
        )  # operators.md, step 1b: 3(x̄ − v_i) is a difference of edges
        return x, y, (s[0] + s[1] + s[2]) / self.area


class Instance:
    """A coefficient and a load on a mesh, with Friedrichs' constant of the bounding box."""

    def __init__(self, mesh: Triangles, kappa: Array, source: Array) -> None:
        C = len(mesh.cells)
        fits = kappa.shape == (C,) and np.all(np.isfinite(kappa)) and kappa.min() > 0.0
        need(fits, "kappa: must be > 0 on each cell")
        need(source.shape == (C,) and np.all(np.isfinite(source)), "source: must be one number a cell")
        self.mesh, self.kappa, self.source = mesh, Ball(kappa), Ball(source)
        width = up(mesh.points.max(axis=0) - mesh.points.min(axis=0))
        constant = 1.0 / (PI * math.sqrt(float(np.sum(1.0 / width**2)) * (1.0 - 1e-12)))
        self.reach = float(up(up(constant) / math.sqrt(kappa.min()) * (1.0 + 1e-12)))  # continuous.md, step 2f

    def require_admissible(self, v: Array, name: str) -> None:
        """Zero on the boundary, to the last bit."""
        shape = (len(self.mesh.points),)
        need(v.shape == shape and np.all(np.isfinite(v)), f"{name}: must have one number a vertex")
        need(not np.any(v[self.mesh.rim]), f"{name}: must vanish on the boundary")

    def left(self, v: Array, t: Array, load: Ball) -> tuple[tuple[Ball, Ball], Ball, Ball, float]:
        """δ at the centroids, ∇·σ, A = ∫κ⁻¹|δ|², and ν."""
        gx, gy = self.mesh.gradient(v)
        sx, sy, D = self.mesh.flux(t)
        dx, dy = sx - self.kappa * gx, sy - self.kappa * gy
        tail = D * D * self.mesh.spread / 4.0
        A = ((self.mesh.area * (dx * dx + dy * dy) + tail) / self.kappa).total()  # operators.md, step 1b
        rest = load + D
        nu = length(np.asarray(up(rest.top * np.sqrt(self.mesh.area.top)))) * self.reach  # operators.md, step 1c
        return (dx, dy), D, A, float(up(nu))

    def energy(self, u: Array, v: Array) -> Ball:
        """∫ κ∇u·∇v."""
        (a, b), (c, d) = self.mesh.gradient(u), self.mesh.gradient(v)
        return (self.mesh.area * self.kappa * (a * c + b * d)).total()

    def work(self, load: Ball, v: Array) -> Ball:
        """∫ load v."""
        corners = [Ball(v[self.mesh.cells[:, i]]) for i in range(3)]
        return (self.mesh.area * load * (corners[0] + corners[1] + corners[2]) / 3.0).total()


def ends(x: Ball) -> tuple[float, float]:
    """Lower and upper end."""
    wide = float(up(x.r)) + 4e-16 * abs(float(x.m))
    return float(x.m) - wide, float(x.m) + wide


def root(x: float, *, high: bool) -> float:
    """A bound of √max(x, 0)."""
    y = math.sqrt(larger(x, 0.0))
    return y * (1.0 + 1e-14) if high else y * (1.0 - 1e-14)


def energies(one: Instance, given: dict[str, Any]) -> tuple[list[float], tuple[float, float], Any]:
    """Error of the prediction from above and below, ‖u‖_a from above and below; ‖u‖_a²; and what the state leaves."""
    u, guess, t = given["state"], given["prediction"], given["flux"]
    one.require_admissible(u, "state")
    one.require_admissible(guess, "prediction")
    own, other = one.left(u, t, one.source), one.left(guess, t, one.source)
    nu = own[3]
    top, (least, most) = ends(own[2])[1], ends(other[2])
    high = root(most, high=True) + nu  # operators.md, step 2b
    low = larger(0.0, root((least - top) * (1.0 - 1e-14), high=False) - nu)  # operators.md, step 2c
    middle = one.work(one.source, u) * 2.0 - one.energy(u, u)  # operators.md, step 7c
    floor, ceiling = ends(middle)
    eta = root(top, high=True) + nu
    square = larger(0.0, floor), (larger(0.0, ceiling) + eta * eta) * (1.0 + 1e-14)
    norm = root(square[1], high=True), root(square[0], high=False)
    return [high * (1.0 + 1e-14), low * (1.0 - 1e-14), *norm], square, own


def average(one: Instance, members: Array, own: Any, given: dict[str, Any], k: int) -> tuple[float, float]:
    """The interval of the average over some cells, with a dual state and flux."""
    area, (cells,) = one.mesh.area, np.nonzero(members)
    size = Ball(area.m[cells], area.r[cells]).total()
    inside = members.astype(float)
    load = Ball(inside) / Ball(np.broadcast_to(size.m, inside.shape), np.broadcast_to(size.r, inside.shape))
    u, z, t = given["state"], given["duals"][k], given["dual_fluxes"][k]
    one.require_admissible(z, "dual")
    dual, (delta, D, A, nu) = one.left(z, t, load), own
    both = (delta[0] * dual[0][0] + delta[1] * dual[0][1]) * area + D * dual[1] * one.mesh.spread / 4.0
    product = (both / one.kappa).total()
    value = one.work(load, u) + one.work(one.source, z) - one.energy(u, z) + product * 0.5  # operators.md, step 3b
    a, b = root(ends(A)[1], high=True), root(ends(dual[2])[1], high=True)
    radius = up(0.5 * a * b + nu * (b + dual[3]) + a * dual[3])  # operators.md, step 3c
    low, high = ends(value)
    return low - float(radius), high + float(radius)


def read(path: Path) -> dict[str, Any]:
    """The arrays of a witness, each with the type and the shape that it must have."""
    need(path.is_file() and not path.is_symlink(), f"{str(path)!r}: is no file")
    with zipfile.ZipFile(path) as stored:
        sizes = {entry.filename: entry.file_size for entry in stored.infolist()}
    need(set(sizes) == {f"{name}.npy" for name in KEYS | DUALS}, f"witness: has not the keys {sorted(KEYS | DUALS)}")
    need(sum(sizes.values()) <= MOST_BYTES, f"witness: larger than {MOST_BYTES} bytes")
    with np.load(path, allow_pickle=False) as stored:
        given = {name: stored[name] for name in stored.files}
    for name, array in given.items():
        kind = "b" if name in TRUTHS else "i" if name in WHOLE else "f"
        need(array.dtype.kind == kind and array.dtype.itemsize in (1, 8), f"{name}: has another type of numbers")
        need(kind == "b" or np.all(np.isfinite(array)), f"{name}: must be finite")
    N, C, Q = (len(given[name]) for name in ("points", "cells", "center"))
    need(np.array_equal(given["sizes"], [N, C, Q]), "sizes: must be those of points, cells and queries")
    shapes = {"energies": (4,), "center": (Q,), "radius": (Q,), "has_dual": (Q,), "members": (Q, C)}
    for name, shape in shapes.items():
        need(given[name].shape == shape, f"{name}: must have the shape {shape}; it has {given[name].shape}")
    count = int(given["has_dual"].sum())
    need(given["duals"].shape == (count, N), "duals: must be a state for each query that has one")
    need(given["dual_fluxes"].shape[:1] == (count,), "dual_fluxes: must be a flux for each query that has a dual")
    need(np.all(given["members"].any(axis=1)), "members: a query has no cell")
    return given


def check(path: Any) -> list[str]:
    """What was proved again, and what is only said; raises `Refused` where a claim is not proved."""
    given = read(Path(path))
    mesh = Triangles(given["points"], given["cells"])
    one = Instance(mesh, given["kappa"], given["source"])
    found, square, own = energies(one, given)
    claimed = given["energies"]
    for name, mine, said, upper in zip(
        ("error", "error from below", "size", "size from below"), found, claimed, (1, 0, 1, 0), strict=True
    ):
        need(mine <= said if upper else mine >= said, f"{name}: {said!r} is claimed, {mine!r} is proved")
    count = len(given["center"])
    lines = [f"{len(mesh.cells)} cells: error between {found[1]:.6g} and {found[0]:.6g} in energy, proved again"]
    for q in range(count):
        if given["has_dual"][q]:
            low, high = average(one, given["members"][q], own, given, int(given["has_dual"][:q].sum()))
        else:
            f = float(given["source"][0])
            need(f != 0.0 and np.all(given["source"] == f) and np.all(given["members"][q]), "mean: needs one source")
            size = one.mesh.area.total() * f
            two = sorted(float(s) / float(size.m) for s in square)
            slip = (float(size.r) / abs(float(size.m)) + 1e-14) * larger(map(abs, two))  # operators.md, step 2f
            low, high = two[0] - slip, two[1] + slip
        center, radius = float(given["center"][q]), float(given["radius"][q])
        fits = center - radius <= low and high <= center + radius
        need(fits, f"query {q}: {center!r} ± {radius!r} is claimed, [{low!r}, {high!r}] is proved")
        lines.append(f"query {q}: within [{low:.9g}, {high:.9g}]")
    said = (
        "mesh, κ, source, prediction and the cells of each query are those that the file holds, and its "
        f"{count} queries are all that were asked for"
    )
    return [*(f"verified: {line}" for line in lines), f"declared: {said}"]
