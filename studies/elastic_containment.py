"""Do intervals of solids hold the truth? python studies/elastic_containment.py [--cases 1050] [--first 0] [--add].

Random problems with closed forms, in turn: polynomials, waves, Lamé's ring, layers up to 1:1000, Kirsch's plate,
Timoshenko's beam, thick plates; degrees 1 and 2, two and three dimensions, ν from −0.2 to 0.499, distorted meshes,
predictions from nothing to the elements' own solution. What comes out is stored by kind; a miss is stored whole.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.support import elastic_campaign as campaign

WORST = "largest distance of the middle from the truth, in radii"
OUT = Path(__file__).parent / "results" / "elastic_containment.json"


def joined(one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
    """Counts of two sets of cases together."""
    return {key: max(value, two[key]) if key == WORST else value + two[key] for key, value in one.items()}


def counts(row: dict[str, Any]) -> dict[str, Any]:
    """Those of one case."""
    return {
        "cases": 1,
        "intervals": row["intervals"],
        "missed": row["missed"],
        "narrower than 1 %": row["narrow"],
        WORST: round(row["worst"], 3),
        "deterministic": int(row["guarantee"] == "deterministic"),
        "seconds": row["seconds"],
    }


def main() -> None:
    """Run the cases, a line each, and store the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1050)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--add", action="store_true", help="to the counts that are stored")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    kinds = list(campaign.KINDS)
    found: dict[str, Any] = json.loads(given.out.read_text(encoding="utf-8")) if given.add else {}
    for seed in range(given.first, given.first + given.cases):
        row = campaign.run(kinds[seed % len(kinds)], seed)
        print(json.dumps(row, ensure_ascii=False), flush=True)
        for key in ("all", row["kind"]):
            found[key] = joined(counts(row), found[key]) if key in found else counts(row)
    for part in found.values():
        part["seconds"] = round(part["seconds"])
    given.out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(found["all"], indent=1, ensure_ascii=False))
    sys.exit(1 if found["all"]["missed"] else 0)


if __name__ == "__main__":
    main()
