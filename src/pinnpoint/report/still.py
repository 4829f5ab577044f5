"""A still picture of a surface, for browsers without WebGL or scripts and for paper."""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.report.colours import colour
from pinnpoint.report.cuts import AXIS
from pinnpoint.report.surface import Surface

Bytes = NDArray[np.uint8]
WIDTH, HEIGHT, MARGIN = 640, 420, 24
EYE = (0.58, -0.95, 0.62)
"""Where a part in space is looked at from; the viewer starts there too."""
CHUNK = 2_000_000
LEVEL = 4
"""Of compression: half the time of the usual level for the same size, give or take a twentieth."""
SLACK = 1e-9
SHADES = 16
"""Steps of brightness; with the colours they share a palette of 256."""


@dataclass(frozen=True, eq=False)
class Still:
    """Which triangle each pixel shows, with its barycentric coordinates and brightness."""

    triangles: Index
    axes: Vector
    """Rows: right, up, towards the eye; in units of the part."""
    scale: float
    shift: Vector
    pixels: Index
    triangle: Index
    weights: Vector
    light: Vector

    def place(self, at: Vector) -> Vector:
        """Points of space, (K, 3), in pixels."""
        flat = at @ self.axes[:2].T
        return np.stack([self.shift[0] + self.scale * flat[:, 0], self.shift[1] - self.scale * flat[:, 1]], axis=1)

    @cached_property
    def corners(self) -> Index:
        """The nodes about each pixel, (pixels, 3)."""
        return np.asarray(self.triangles[self.triangle])

    @cached_property
    def shades(self) -> tuple[Vector, Index]:
        """Steps of brightness that are there, and which of them each pixel has."""
        steps = np.rint(self.light * SHADES).astype(np.intp)
        there = np.flatnonzero(np.bincount(steps))
        return there / SHADES, np.searchsorted(there, steps)

    def png(self, t: Vector, kind: str) -> str:
        """A field from 0 to 1 at the nodes as a data URI; the ground is transparent."""
        nodal = np.einsum("pk,pk->p", t[self.corners], self.weights)
        light, shade = self.shades
        steps = 255 // len(light)
        image = np.zeros(HEIGHT * WIDTH, dtype=np.uint8)
        image[self.pixels] = 1 + shade * steps + np.rint(nodal.clip(0.0, 1.0) * (steps - 1)).astype(np.intp)
        table = colour(np.linspace(0.0, 1.0, steps), kind) * light[:, None, None]
        palette = np.rint(table).clip(0, 255).astype(np.uint8).reshape(-1, 3)
        return "data:image/png;base64," + base64.b64encode(encode(image.reshape(HEIGHT, WIDTH), palette)).decode(
            "ascii"
        )


def still(surface: Surface, *, opened: bool = False) -> Still:
    """Look at a surface: from above in 2D, from a corner in 3D, without perspective; a solid can be cut open."""
    triangles = surface.triangles
    if opened and surface.cuts:
        level, face = surface.cuts[0]
        behind = surface.points[triangles, AXIS].mean(axis=1) > level
        triangles = np.concatenate([triangles[behind], face])
    size = max(float(np.abs(surface.points).max()), 1e-300)  # areas neither vanish nor overflow
    axes = (np.eye(3) if surface.dim == 2 else frame(EYE)) / size
    X = surface.points @ axes.T
    lo, hi = X.min(axis=0), X.max(axis=0)
    room = np.array([WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN])
    scale = float(np.min(room / np.maximum(hi[:2] - lo[:2], 1e-300)))
    middle = 0.5 * (lo + hi)
    shift = np.array([WIDTH / 2 - scale * middle[0], HEIGHT / 2 + scale * middle[1]])
    flat = np.stack([shift[0] + scale * X[:, 0], shift[1] - scale * X[:, 1]], axis=1)
    pixels, triangle, weights = visible(flat, X[:, 2], triangles)
    light = np.ones(len(pixels)) if surface.dim == 2 else 0.55 + 0.5 * facing(X[triangles])[triangle]
    return Still(triangles, axes, scale, shift, pixels, triangle, weights, light)


def facing(P: Vector) -> Vector:
    """How much triangles with these corners, (T, 3, 3), are seen from the front: from 0 to 1."""
    normal = np.cross(P[:, 1] - P[:, 0], P[:, 2] - P[:, 0])
    return np.asarray(np.abs(normal[:, 2]) / np.maximum(np.linalg.norm(normal, axis=1), 1e-300))


def frame(eye: tuple[float, float, float]) -> Vector:
    """Right, up and towards the eye, with z upwards."""
    towards = np.array(eye) / np.linalg.norm(eye)
    right = np.cross([0.0, 0.0, 1.0], towards)
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(towards, right), towards])


def visible(flat: Vector, depth: Vector, triangles: Index) -> tuple[Index, Index, Vector]:
    """The nearest triangle of every covered pixel, and where in it the pixel lies."""
    P = flat[triangles]
    first = np.maximum(np.ceil(P.min(axis=1) - 0.5), 0.0).astype(np.intp)
    last = np.minimum(np.floor(P.max(axis=1) - 0.5), [WIDTH - 1, HEIGHT - 1]).astype(np.intp)
    size = np.maximum(last - first + 1, 0)
    count = size[:, 0] * size[:, 1]
    planes = barycentric(P)
    nearest = np.full(WIDTH * HEIGHT, -np.inf)
    owner = np.zeros(WIDTH * HEIGHT, dtype=np.intp)
    weight = np.zeros((WIDTH * HEIGHT, 3))
    ends = np.cumsum(count)
    cuts = np.searchsorted(ends, np.arange(0, ends[-1] if len(ends) else 0, CHUNK), side="left")
    for begin, stop in zip(cuts, [*cuts[1:], len(count)], strict=True):
        some = np.arange(begin, stop)
        T = np.repeat(some, count[begin:stop])
        k = np.arange(len(T)) - np.repeat(
            ends[begin:stop] - count[begin:stop] - (ends[begin] - count[begin]), count[some]
        )
        x, y = first[T, 0] + k % size[T, 0], first[T, 1] + k // size[T, 0]
        u, v = (c[T, 0] * x + c[T, 1] * y + c[T, 2] for c in planes)
        inside = np.flatnonzero((u >= -SLACK) & (v >= -SLACK) & (u + v <= 1.0 + SLACK))
        T, x, y, u, v = T[inside], x[inside], y[inside], u[inside], v[inside]
        w = np.stack([1.0 - u - v, u, v], axis=1)
        z = np.einsum("pk,pk->p", depth[triangles[T]], w)
        pixel = y * WIDTH + x
        better = np.flatnonzero(z > nearest[pixel])
        better = better[np.argsort(z[better], kind="stable")]  # the last one written is the nearest
        at = pixel[better]
        nearest[at], owner[at], weight[at] = z[better], T[better], w[better]
    seen = np.flatnonzero(np.isfinite(nearest))
    return seen, owner[seen], weight[seen]


def barycentric(P: Vector) -> tuple[Vector, Vector]:
    """The second and third barycentric coordinate as planes over pixel numbers; nowhere inside without area."""
    e, f = P[:, 1] - P[:, 0], P[:, 2] - P[:, 0]
    area = e[:, 0] * f[:, 1] - f[:, 0] * e[:, 1]
    flat = area == 0.0
    area = np.where(flat, 1.0, area)
    at = 0.5 - P[:, 0]  # pixels are seen at their middle
    planes = []
    for a, b in ((f[:, 1], -f[:, 0]), (-e[:, 1], e[:, 0])):
        a, b = a / area, b / area
        planes.append(np.stack([a, b, np.where(flat, -np.inf, a * at[:, 0] + b * at[:, 1])], axis=1))
    return planes[0], planes[1]


def encode(image: Bytes, palette: Bytes) -> bytes:
    """PNG with a palette, whose colour 0 is the transparent ground."""
    height, width = image.shape
    body = np.concatenate([np.zeros((height, 1), dtype=np.uint8), image], axis=1).tobytes()

    def chunk(tag: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + tag + content + struct.pack(">I", zlib.crc32(tag + content))

    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    pieces = [(b"IHDR", head), (b"PLTE", b"\0\0\0" + palette.tobytes()), (b"tRNS", b"\0")]
    pieces += [(b"IDAT", zlib.compress(body, LEVEL)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(tag, content) for tag, content in pieces)
