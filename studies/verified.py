"""Which kinds of certificates verify: every problem, query, method and target of tests/support/kinds.py.

Run: python studies/verified.py (a minute); writes studies/results/verified.json, of which docs/trust.md has a table.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.soundness.test_every_kind_verifies import KINDS, STORED, outcome  # noqa: E402


def main() -> None:
    """Certify, write, verify, and store the verdicts."""
    found = {}
    for name, kind in KINDS.items():
        with tempfile.TemporaryDirectory() as folder:
            found[name] = outcome(kind, Path(folder))
        print(f"{name}: {found[name][:100]}", flush=True)
    STORED.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
