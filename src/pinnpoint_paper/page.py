"""One page that needs no network: every figure beside the paper's numbers and ours."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path
from typing import Any

from pinnpoint_paper import paper
from pinnpoint_paper.plots import captions
from pinnpoint_paper.registry import STUDIES
from pinnpoint_paper.results import FILE, code, read, replace
from pinnpoint_paper.study import Study

FORMS = {"quick": "the quick form: fewer meshes, seeds and epochs", "full": "the full form"}
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1c2430; max-width: 74rem; margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.7rem; }
h2 { font-size: 1.3rem; margin-top: 3rem; border-top: 1px solid #d5dae1; padding-top: 1.5rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .7rem; border-bottom: 1px solid #e3e7ec; }
th { background: #f3f5f8; } .place { color: #5b6675; font-size: .85em; } figure { margin: 1.4rem 0; }
img { max-width: 100%; height: auto; border: 1px solid #e3e7ec; } figcaption { color: #3b4554; font-size: .92rem; }
.yes { color: #1d7a46; font-weight: 600; } .no { color: #b3261e; font-weight: 600; } code { background: #f3f5f8; }
"""


def write(out: Path) -> Path:
    """The page over every study that has results in the folder."""
    found = [(study, read(out / study.name / FILE)) for study in STUDIES]
    shown = [(study, data) for study, data in found if data is not None and "rows" in data]
    body = [_head(shown), *(_study(study, data, out / study.name) for study, data in shown)]
    text = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>The paper, reproduced</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>'
        f"<body>\n{chr(10).join(body)}\n</body></html>\n"
    )
    replace(out / "index.html", text.encode())
    return out / "index.html"


def _head(shown: list[tuple[Study, dict[str, Any]]]) -> str:
    lines = [
        "<h1>The paper, reproduced</h1>",
        f"<p>The experiments of <em>{escape(paper.title())}</em>, computed anew. In every table the paper's column "
        "cites what the paper reports and where; ours was computed by this program. Nothing of ours is copied.</p>",
        "<table><tr><th>study</th><th>in the paper</th><th>claims that hold</th><th>form</th><th>seconds</th>"
        "<th>of a processor</th></tr>",
    ]
    for study, data in shown:
        held, total = sum(c["holds"] for c in data["claims"]), len(data["claims"])
        kind = "yes" if held == total else "no"
        lines.append(
            f'<tr><td><a href="#{study.name}">{escape(study.title)}</a></td><td class="place">{escape(study.where)}'
            f'</td><td class="{kind}">{held} of {total}</td><td>{data["form"]}</td><td>{data["seconds"]:.1f}</td>'
            f"<td>{_processor(data)}</td></tr>"
        )
    lines += ["</table>", _map(shown)]
    return "\n".join(lines)


def _processor(data: dict[str, Any]) -> str:
    """Processor seconds where every part has them; older results have none."""
    spent = [part.get("processor") for part in data["parts"].values()]
    return "–" if None in spent else f"{sum(spent):.1f}"


def _map(shown: list[tuple[Study, dict[str, Any]]]) -> str:
    """The paper's experiment map, and which study answers for each of its rows."""
    lines = [
        "<h3>The paper's experiment map</h3>",
        "<table><tr><th>claim</th><th>theory</th><th>benchmark of the paper</th><th>here</th></tr>",
    ]
    for name, row in paper.experiment_map().items():
        here = [f'<a href="#{s.name}">{s.name}</a>' for s, _ in shown if name in s.claims]
        lines.append(
            f'<tr><td>{escape(row.claim)}</td><td class="place">{escape(row.theory)}</td>'
            f"<td>{escape(row.benchmark)}</td><td>{', '.join(here) or 'not run in this folder'}</td></tr>"
        )
    return "\n".join([*lines, "</table>"])


def _study(study: Study, data: dict[str, Any], folder: Path) -> str:
    about = f"{FORMS[data['form']]}, {data['seconds']:.1f} s" + ("" if data["complete"] else "; not all parts are done")
    about += "" if data["code"] == code() else "; numbers of another version of the code"
    lines = [
        f'<h2 id="{study.name}">{escape(study.title)}</h2>',
        f'<p class="place">{escape(study.where)} · {about} · <a href="{study.name}/{FILE}">numbers</a></p>',
        f"<p>{escape(data.get('about', study.about))}</p>",
    ]
    lines += [_figure(folder, study.name, c) for c in captions(folder)]
    lines.append(
        "<table><tr><th>quantity</th><th>the paper reports</th><th>ours</th><th>what differs, and why</th></tr>"
    )
    for row in data["rows"]:
        lines.append(
            f"<tr><td>{escape(row['quantity'])}</td><td>{_reported(row['paper'])}</td>"
            f"<td>{escape(row['ours'])}</td><td>{escape(row['note'])}</td></tr>"
        )
    lines.append("</table><table><tr><th>claim, checked on these numbers</th><th></th><th>seen</th></tr>")
    for c in data["claims"]:
        sign = '<span class="yes">holds</span>' if c["holds"] else '<span class="no">does not hold</span>'
        lines.append(f"<tr><td>{escape(c['claim'])}</td><td>{sign}</td><td>{escape(c['seen'])}</td></tr>")
    return "\n".join([*lines, "</table>"])


def _reported(name: str) -> str:
    if not name:
        return "–"
    what = paper.reported()[name]
    return f'{escape(what.says)} <span class="place">[{escape(what.where)}]</span>'


def _figure(folder: Path, study: str, caption: dict[str, str]) -> str:
    image = base64.b64encode((folder / f"{caption['name']}.png").read_bytes()).decode()
    return (
        f'<figure><img alt="{escape(caption["caption"])}" src="data:image/png;base64,{image}">'
        f'<figcaption>{escape(caption["caption"])} <a href="{study}/{caption["name"]}.svg">SVG</a></figcaption>'
        "</figure>"
    )
