"""Pictures of a plane mesh, coloured by a number for each cell or each node."""

from __future__ import annotations

import base64
from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.report.colours import SIZES, colour
from pinnpoint.report.markup import text
from pinnpoint.report.numbers import near
from pinnpoint.report.still import HEIGHT, MARGIN, WIDTH, encode, visible

STEPS = 250
"""Colours of a picture."""


@dataclass(frozen=True, eq=False)
class Plane:
    """Which triangle each pixel of a picture shows, with its barycentric coordinates."""

    triangles: Index
    pixels: Index
    triangle: Index
    weights: Vector
    columns: slice

    __repr__ = brief

    @classmethod
    def of(cls, points: Vector, triangles: Index) -> Plane:
        """Seen from above, as large as the picture allows."""
        lo, hi = points.min(axis=0), points.max(axis=0)
        scale = float(np.min((np.array([WIDTH, HEIGHT]) - 2 * MARGIN) / np.maximum(hi - lo, 1e-300)))
        flat = (points - 0.5 * (lo + hi)) * [scale, -scale] + [0.5 * WIDTH, 0.5 * HEIGHT]
        pixels, triangle, weights = visible(flat, np.zeros(len(points)), triangles)
        x = pixels % WIDTH
        columns = slice(int(x.min()), int(x.max()) + 1) if len(x) else slice(0, WIDTH)
        return cls(triangles, pixels, triangle, weights, columns)

    def figure(self, values: Vector, title: str) -> str:
        """A figure with its scale; `values` has one number for each cell or each node."""
        cells = len(values) == len(self.triangles)
        lo, hi = float(values.min()), float(values.max())
        t = (values - lo) / (hi - lo) if hi > lo else np.zeros(len(values))
        at = t[self.triangle] if cells else np.einsum("pk,pk->p", t[self.triangles[self.triangle]], self.weights)
        image = np.zeros(WIDTH * HEIGHT, dtype=np.uint8)
        image[self.pixels] = 1 + np.rint(at.clip(0.0, 1.0) * (STEPS - 1)).astype(np.intp)
        palette = np.rint(colour(np.linspace(0.0, 1.0, STEPS), "sizes")).astype(np.uint8)
        used = image.reshape(HEIGHT, WIDTH)[MARGIN:-MARGIN, self.columns]
        png = base64.b64encode(encode(np.ascontiguousarray(used), palette)).decode("ascii")
        high, wide = used.shape
        stops = "".join(
            f'<stop offset="{i / (len(SIZES) - 1):.3f}" stop-color="rgb({r},{g},{b})"/>'
            for i, (r, g, b) in enumerate(SIZES)
        )
        key = "ramp-" + "".join(c if c.isalnum() else "-" for c in title)
        return (
            f'<figure class="still"><figcaption>{text(title)}</figcaption><svg viewBox="0 0 {wide} {high}" role="img" '
            f'aria-label="{text(title)}"><image width="{wide}" height="{high}" href="data:image/png;base64,{png}"/>'
            f'</svg><figcaption class="still-scale"><span>{near(lo, 3)}</span>'
            f'<svg width="120" height="10" aria-hidden="true"><defs><linearGradient id="{key}">{stops}'
            f"</linearGradient></defs>"
            f'<rect width="120" height="10" fill="url(#{key})"/></svg><span>{near(hi, 3)}</span></figcaption></figure>'
        )
