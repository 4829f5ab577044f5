"""Draw docs/hidden-bump.svg from a real certificate: python docs/picture.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import pinnpoint as pp

W, H, LEFT, TOP, WIDTH, HEIGHT = 760, 330, 62, 44, 660, 226


def main() -> None:
    """Certify a prediction with a bump between its collocation points and plot what was proved."""
    x = np.linspace(0.0, 1.0, 129)
    mesh = pp.io.generate("interval", 128)
    problem = pp.fem.ReactionDiffusion(mesh, source=1.0, dirichlet={"boundary": 0.0})
    bump = np.where(np.abs(x - 0.55) < 0.045, 0.045 * np.cos(np.pi * (x - 0.55) / 0.09) ** 2, 0.0)
    prediction = 0.5 * x * (1.0 - x) + bump
    at = np.r_[8:72:8, 70, 80:128:8]
    exact = pp.certify(problem, np.interp(mesh.points[:, 0], x, prediction), problem.points(x[at, None]))
    assert str(exact.target) == "continuous"
    assert exact.contains(0.5 * x[at] * (1.0 - x[at])).all()
    top = 0.2
    px = lambda v: LEFT + WIDTH * v  # noqa: E731
    py = lambda v: TOP + HEIGHT * (1.0 - v / top)  # noqa: E731
    line = lambda v: " ".join(f"{px(a):.1f},{py(b):.1f}" for a, b in zip(x, v, strict=True))  # noqa: E731
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {W} {H}" font-family="sans-serif" font-size="13">',
        f'<rect width="{W}" height="{H}" fill="white"/>',
        f'<text x="{LEFT}" y="24" font-size="15" font-weight="600">'
        "Zero collocation loss at the ticks, and wrong in between: the intervals say where</text>",
    ]
    for v in (0.0, 0.05, 0.1, 0.15, 0.2):
        out.append(f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{py(v):.1f}" y2="{py(v):.1f}" stroke="#e3e6ea"/>')
        out.append(f'<text x="{LEFT - 8}" y="{py(v) + 4:.1f}" text-anchor="end" fill="#555">{v:.2f}</text>')
    for v in np.linspace(0.0, 1.0, 11):
        out.append(f'<line x1="{px(v):.1f}" x2="{px(v):.1f}" y1="{py(0):.1f}" y2="{py(0) + 6:.1f}" stroke="#555"/>')
        out.append(f'<text x="{px(v):.1f}" y="{py(0) + 20:.1f}" text-anchor="middle" fill="#555">{v:.1f}</text>')
    out.append(f'<text x="{LEFT + WIDTH / 2}" y="{H - 12}" text-anchor="middle" fill="#333">x (−)</text>')
    out.append(
        f'<text x="18" y="{TOP + HEIGHT / 2}" transform="rotate(-90 18 {TOP + HEIGHT / 2})" text-anchor="middle" '
        'fill="#333">u (−)</text>'
    )
    out.append(f'<polyline points="{line(prediction)}" fill="none" stroke="#d1495b" stroke-width="2"/>')
    for i, k in enumerate(at):
        out.append(
            f'<line x1="{px(x[k]):.1f}" x2="{px(x[k]):.1f}" '
            f'y1="{py(exact.value[i]):.1f}" y2="{py(exact.center[i]):.1f}" '
            'stroke="#00507a" stroke-width="2" stroke-dasharray="4 3"/>'
        )
        out.append(f'<circle cx="{px(x[k]):.1f}" cy="{py(exact.center[i]):.1f}" r="4" fill="#00507a"/>')
    worst = int(np.argmax(np.abs(exact.value - exact.center)))
    out.append(
        f'<text x="{px(x[at[worst]]) + 14:.1f}" y="{py(exact.value[worst]) + 6:.1f}" fill="#00507a">'
        f"proved: {exact.center[worst]:.6f} ± {exact.radius[worst]:.0e}</text>"
    )
    legend = (
        ("#d1495b", "prediction"),
        ("#00507a", "proved interval of the PDE's own solution, rounding included: too narrow to draw"),
    )
    for j, (colour, text) in enumerate(legend):
        out.append(f'<rect x="{LEFT + 12 + 110 * j}" y="{TOP + 4}" width="12" height="12" fill="{colour}"/>')
        out.append(f'<text x="{LEFT + 30 + 110 * j}" y="{TOP + 15}" fill="#333">{text}</text>')
    out.append("</svg>")
    Path(__file__).with_name("hidden-bump.svg").write_text("\n".join(out) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
