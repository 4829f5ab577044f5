"""Consistent forgeries of bundles of all kinds: refused, or still true, or told as declared; none may verify a lie.

Narrow features of sources and networks are forged too, with claims that they make false.

Run: python studies/forgeries.py [COUNT] (20 of each kind unless told, minutes); writes studies/results/forgeries.json.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.soundness.test_bundle_property import FINE, KINDS, truths  # noqa: E402
from tests.support.forging import (  # noqa: E402
    checked,
    false_claims,
    forge,
    is_told,
    kept_claims,
    narrow_neurons,
    narrow_source,
)

STILL = {"diffusion in a plane, l2-error, exact, continuous", "diffusion in a plane, everywhere, exact, continuous"}
"""Claims about the prediction's error that a source elsewhere may leave true."""


def main(count: int) -> int:
    """Forge, count what became of it, and store the counts; 1 where a lie was verified."""
    whole: dict[str, dict[str, int]] = {}
    lies = []
    with tempfile.TemporaryDirectory() as folder:
        for k, name in enumerate(FINE):
            bundle = KINDS[name].bundle(Path(folder) / str(k))
            _, honest, _ = checked(bundle)
            known, found = truths(name, bundle), Counter[str]()
            for seed in range(count):
                one = forge(bundle, Path(folder) / "f", 100_000 * (1 + k) + seed)
                if one is None:
                    continue
                if not one.verified:
                    found["refused"] += 1
                    continue
                told, lie = is_told(one, honest), false_claims(one, known)
                found[("false, " if lie else "true, ") + ("told" if told else "not told")] += 1
                lies += [f"{name}: {one.what}"] if lie and not told else []
            for seed, change in enumerate((narrow_source, narrow_source, narrow_neurons, narrow_neurons)):
                one = kept_claims(bundle, Path(folder) / "f", 100_000 * (1 + k) + seed, change)
                if one is not None and not (name in STILL and change is narrow_source):
                    found["narrow, verified" if one.verified else "narrow, refused"] += 1
                    lies += [f"{name}: {one.what}"] if one.verified else []
            whole[name] = dict(sorted(found.items()))
            print(f"{name}: {whole[name]}", flush=True)
    total = sum((Counter(one) for one in whole.values()), Counter[str]())
    print(f"all, {sum(total.values())}: {dict(total)}")
    for line in lies:
        print(f"VERIFIED A LIE: {line}")
    stored = {"kinds": whole, "all": dict(sorted(total.items())), "lies": lies}
    path = ROOT / "studies" / "results" / "forgeries.json"
    path.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return int(bool(lies))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20))
