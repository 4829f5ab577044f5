"""The tests: of one room each in unit/, of the proofs in soundness/, of promises in contract/, of pages in docs/."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
