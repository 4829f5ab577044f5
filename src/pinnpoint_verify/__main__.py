"""``python -m pinnpoint_verify BUNDLE [--inputs DIR]``: the verdict, with numpy and scipy alone."""

from __future__ import annotations

import argparse
import sys

from pinnpoint_verify.claims import main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m pinnpoint_verify")
    parser.add_argument("bundle", metavar="BUNDLE")
    parser.add_argument("--inputs", metavar="DIR")
    given = parser.parse_args()
    sys.exit(main(given.bundle, given.inputs))
