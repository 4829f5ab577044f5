"""Draw docs/tolerance.svg, radius against unknowns, from real certificates: python docs/tolerance_plots.py."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

import pinnpoint as pp

W, H, LEFT, TOP, WIDTH, HEIGHT, STEP = 1080, 400, 70, 62, 262, 262, 340
HERE = Path(__file__).parent
PANELS: dict[str, tuple[str, list[float], dict[int, tuple[int, ...]], int, float]] = {
    "frame at (¾, ¾)": ("frame", [0.75, 0.75], {1: (4, 8, 16, 32, 64), 2: (4, 8, 16, 32)}, 12_000, 1e-6),
    "unit cube at its centre": ("cube", [0.5, 0.5, 0.5], {1: (3, 6, 12, 20), 2: (3, 6, 10)}, 12_000, 1e-5),
    "Fichera at (−.4, −.4, .4)": ("fichera", [-0.4, -0.4, 0.4], {1: (2, 4, 8, 12), 2: (2, 4, 6)}, 30_000, 1e-4),
}
"""Title: domain, point, cells of the uniform meshes by degree, limit of the unknowns, tolerance."""
COLOURS = {(1, "uniform"): "#e8a2ac", (1, "adaptive"): "#d1495b", (2, "uniform"): "#8fb8d4", (2, "adaptive"): "#00507a"}
Curve = list[tuple[int, float]]


def curves(kind: str, at: list[float], sizes: dict[int, tuple[int, ...]], most: int, limit: float) -> dict[str, Curve]:
    """Unknowns and radius of −Δu = 1, u = 0 on the boundary, on each mesh."""

    def problem(n: int, degree: int) -> Any:
        return pp.fem.ReactionDiffusion(pp.io.generate(kind, n), source=1.0, degree=degree)

    found: dict[str, Curve] = {}
    for degree, cells in sizes.items():
        line: Curve = []
        for n in cells:
            p = problem(n, degree)
            line.append((len(p.space.free), float(pp.certify(p, p.space.U0, p.points([at])).radius[0])))
        found[f"P{degree} uniform"] = line
        p = problem(cells[0], degree)
        steps = pp.certify_to(p, p.space.U0, p.points([at]), limit, max_dofs=most).history
        found[f"P{degree} adaptive"] = [(step.dofs, float(step.radius[0])) for step in steps]
    return found


def panel(number: int, title: str, lines: dict[str, Curve]) -> list[str]:
    """One logarithmic plot."""
    x = np.log10([n for line in lines.values() for n, _ in line])
    y = np.log10([r for line in lines.values() for _, r in line])
    low, high = (math.floor(x.min()), math.floor(y.min())), (math.ceil(x.max()), math.ceil(y.max()))
    left = LEFT + STEP * number

    def px(v: float) -> float:
        return left + WIDTH * (v - low[0]) / (high[0] - low[0])

    def py(v: float) -> float:
        return TOP + HEIGHT * (high[1] - v) / (high[1] - low[1])

    out = [f'<text x="{left}" y="{TOP - 12}" font-weight="600">{title}</text>']
    for k in range(low[1], high[1] + 1):
        out.append(f'<line x1="{left}" x2="{left + WIDTH}" y1="{py(k):.1f}" y2="{py(k):.1f}" stroke="#e3e6ea"/>')
        out.append(f'<text x="{left - 8}" y="{py(k) + 4:.1f}" text-anchor="end" fill="#555">1e{k}</text>')
    for k in range(low[0], high[0] + 1):
        out.append(f'<line x1="{px(k):.1f}" x2="{px(k):.1f}" y1="{TOP}" y2="{TOP + HEIGHT}" stroke="#e3e6ea"/>')
        out.append(f'<text x="{px(k):.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle" fill="#555">1e{k}</text>')
    for name, line in lines.items():
        degree, how = int(name[1]), name[3:]
        points = " ".join(f"{px(math.log10(n)):.1f},{py(math.log10(r)):.1f}" for n, r in line)
        dash = ' stroke-dasharray="5 4"' if how == "uniform" else ""
        colour = COLOURS[degree, how]
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        out += [
            f'<circle cx="{px(math.log10(n)):.1f}" cy="{py(math.log10(r)):.1f}" r="2.6" fill="{colour}"/>'
            for n, r in line
        ]
    out.append(f'<text x="{left + WIDTH / 2}" y="{TOP + HEIGHT + 38}" text-anchor="middle">unknowns (−)</text>')
    return out


def main() -> None:
    """Compute, draw, and write the numbers beside the picture."""
    data = {title: curves(*what) for title, what in PANELS.items()}
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {W} {H}" font-family="sans-serif" font-size="13">',
        f'<rect width="{W}" height="{H}" fill="white"/>',
        f'<text x="{LEFT}" y="26" font-size="15" font-weight="600">Proved radius of u(x₀) for −Δu = 1, u = 0 on the '
        "boundary, against unknowns</text>",
        f'<text x="18" y="{TOP + HEIGHT / 2}" transform="rotate(-90 18 {TOP + HEIGHT / 2})" text-anchor="middle">'
        "radius (−, as u)</text>",
    ]
    for number, (title, lines) in enumerate(data.items()):
        out += panel(number, title, lines)
    for j, ((degree, how), colour) in enumerate(COLOURS.items()):
        out.append(f'<rect x="{LEFT + 150 * j}" y="{H - 22}" width="12" height="12" fill="{colour}"/>')
        out.append(f'<text x="{LEFT + 18 + 150 * j}" y="{H - 11}" fill="#333">P{degree} {how}</text>')
    out.append("</svg>")
    (HERE / "tolerance.svg").write_text("\n".join(out) + "\n", encoding="utf-8")
    for title, lines in data.items():
        for name, line in lines.items():
            print(title, "|", name, "|", json.dumps([[n, float(f"{r:.2e}")] for n, r in line]))


if __name__ == "__main__":
    main()
