"""The documentation site: `make docs` builds it into docs/_build/html."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from pinnpoint.base.version import __version__

project = "pinnpoint"
author = "The pinnpoint authors"
copyright = "the pinnpoint authors, BSD-3-Clause"
version = release = __version__

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton", "typeset", "first_use"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
highlight_language = "none"
default_role = "code"
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"
autodoc_preserve_defaults = True
autodoc_default_options = {"exclude-members": "__new__"}
napoleon_google_docstring = False
napoleon_use_ivar = True
python_use_unqualified_type_names = True
suppress_warnings = ["ref.python"]  # plain words in docstrings that are also names
copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "pinnpoint"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "pinnpoint"},
    "show_toc_level": 2,
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {name: [] for name in ("index", "choose", "comparison", "trust", "api")}

KEPT = re.compile(r"(``.+?``|`[^`]+`|\*[A-Z][a-z]+:\*)", flags=re.S)


def escape(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Docstrings are plain text with formulas: |x|, U* and x_ are no markup; `names` and *Cost:* are."""
    parts = KEPT.split("\n".join(lines))
    parts[::2] = [re.sub(r"\*|\||(?<=\w)_(?!\w)", r"\\\g<0>", part) for part in parts[::2]]
    lines[:] = "".join(parts).split("\n")


def setup(app: object) -> None:
    """Before napoleon, which reads the sections."""
    app.connect("autodoc-process-docstring", escape, priority=400)  # type: ignore[attr-defined]
