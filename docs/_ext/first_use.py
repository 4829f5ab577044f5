"""Words of the glossary, linked where a page uses them first."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

GLOSSARY = Path(__file__).parents[1] / "glossary.md"
NOT_ON = frozenset({"glossary", "api", "architecture", "paper", "case"})
PLURAL = r"(?:s|es)?"


def words() -> list[str]:
    """The terms, those of several words first: they hold others."""
    text = GLOSSARY.read_text(encoding="utf-8")
    block = re.search(r"```\{glossary\}\n(.*?)```", text, flags=re.S)
    found = [] if block is None else [line.strip() for line in block[1].splitlines() if re.match(r"\S", line)]
    return sorted(found, key=len, reverse=True)


def link(app: Any, doctree: Any) -> None:
    """Replace the first use of each word in the running text of a page by a reference."""
    from docutils import nodes

    if app.env.docname in NOT_ON or app.env.docname.startswith("decisions/"):
        return
    left = {word: re.compile(rf"(?<![\w-]){re.escape(word)}{PLURAL}(?![\w-])", flags=re.I) for word in words()}
    for text in list(doctree.findall(nodes.Text)):
        if isinstance(text.parent, nodes.paragraph | nodes.list_item | nodes.emphasis | nodes.strong) and not _inside(
            text
        ):
            _linked(text, left, app.env.docname)


def _inside(text: Any) -> bool:
    """Whether a text is part of a heading, a link or code."""
    from docutils import nodes

    parent = text.parent
    while parent is not None:
        if isinstance(
            parent, nodes.title | nodes.reference | nodes.literal | nodes.literal_block | nodes.caption | nodes.thead
        ):
            return True
        if parent.__class__.__name__ == "pending_xref":
            return True
        parent = parent.parent
    return False


def _linked(text: Any, left: dict[str, re.Pattern[str]], page: str) -> None:
    """A text with references for the words in it that were not used before."""
    from docutils import nodes
    from sphinx import addnodes

    plain = str(text)
    hits: list[tuple[int, int, str]] = []
    for word, pattern in list(left.items()):
        match = pattern.search(plain)
        if match and all(match.end() <= a or b <= match.start() for a, b, _ in hits):
            hits.append((match.start(), match.end(), word))
            del left[word]
    if not hits:
        return
    parts, place = [], 0
    for a, b, word in sorted(hits):
        parts.append(nodes.Text(plain[place:a]))
        target = {"refdomain": "std", "reftype": "term", "reftarget": word, "refexplicit": True, "refwarn": True}
        reference = addnodes.pending_xref("", refdoc=page, **target)
        reference += nodes.inline("", plain[a:b], classes=["first-use"])
        parts.append(reference)
        place = b
    text.parent.replace(text, [*parts, nodes.Text(plain[place:])])


def setup(app: Any) -> dict[str, Any]:
    """For Sphinx."""
    app.connect("doctree-read", link)
    return {"parallel_read_safe": True, "env_version": 3}
