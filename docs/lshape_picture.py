"""Draw docs/lshape.svg from real certificates: python docs/lshape_picture.py.

The points and values are those of the tutorial docs/tutorials/reference.md, which this runs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
W, H, LEFT, TOP, WIDTH, HEIGHT, HIGH = 760, 362, 62, 66, 660, 226, 0.16


def main() -> None:
    """Run the tutorial's code and draw the file's values and the intervals of both equations."""
    text = (HERE / "tutorials" / "reference.md").read_text(encoding="utf-8")
    code = "\n".join(part.split("```")[0] for part in text.split("```python\n")[1:])
    found: dict[str, object] = {}
    exec(code, found)
    x, file, demo, other = (found[name] for name in ("x", "file", "demo", "other"))
    px = lambda v: LEFT + WIDTH * (v + 1.0) / 2.0  # noqa: E731
    py = lambda v: TOP + HEIGHT * (1.0 - v / HIGH)  # noqa: E731
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {W} {H}" font-family="sans-serif" font-size="13">',
        f'<rect width="{W}" height="{H}" fill="white"/>',
        f'<text x="{LEFT}" y="24" font-size="15" font-weight="600">The reference is off, and here is the proof</text>',
        f'<text x="{LEFT}" y="44" fill="#555">DeepXDE’s Poisson_Lshape at 99b6620, −Δu = 1, u = 0 around; '
        "values along y = −0.1875</text>",
    ]
    for v in np.arange(0.0, HIGH + 0.01, 0.04):
        out.append(f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{py(v):.1f}" y2="{py(v):.1f}" stroke="#e3e6ea"/>')
        out.append(f'<text x="{LEFT - 8}" y="{py(v) + 4:.1f}" text-anchor="end" fill="#555">{v:.2f}</text>')
    for v in np.linspace(-1.0, 1.0, 9):
        out.append(f'<text x="{px(v):.1f}" y="{py(0) + 20:.1f}" text-anchor="middle" fill="#555">{v:g}</text>')
    out.append(f'<text x="{px(0.0)}" y="{py(0) + 36}" text-anchor="middle" fill="#333">x (−)</text>')
    for color, cert, dash in (("#00507a", demo, ""), ("#8a8f98", other, ' stroke-dasharray="5 4"')):
        ends = " ".join(f"{px(a):.1f},{py(b):.1f}" for a, b in zip([-1, *x, 1], [0, *cert.center, 0], strict=True))
        out.append(f'<polyline points="{ends}" fill="none" stroke="{color}" stroke-width="1.5"{dash}/>')
    for a, low, high in zip(x, demo.lower, demo.upper, strict=True):
        tall = max(py(low) - py(high), 2.0)
        out.append(
            f'<rect x="{px(a) - 5:.1f}" y="{py(high) - 1:.1f}" width="10" height="{tall + 2:.1f}" fill="#00507a"/>'
        )
    for a, v in zip(x, file, strict=True):
        out.append(f'<circle cx="{px(a):.1f}" cy="{py(v):.1f}" r="4.5" fill="#d1495b"/>')
    out.append(
        f'<text x="{px(x[4]) + 12:.1f}" y="{py(demo.upper[4]) - 8:.1f}" fill="#00507a">'
        f"proved: {demo.lower[4]:.4f} to {demo.upper[4]:.4f}; the file says {file[4]:.4f}</text>"
    )
    legend = (
        ("#d1495b", "the reference file"),
        ("#00507a", "proved interval of the demo’s −Δu = 1"),
        ("#8a8f98", "solution of −Δu + u = 1"),
    )
    at = LEFT
    for color, words in legend:
        out.append(f'<circle cx="{at + 5}" cy="{H - 10}" r="5" fill="{color}"/>')
        out.append(f'<text x="{at + 15}" y="{H - 6}" fill="#333">{words}</text>')
        at += 32 + 6.6 * len(words)
    (HERE / "lshape.svg").write_text("\n".join([*out, "</svg>"]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
