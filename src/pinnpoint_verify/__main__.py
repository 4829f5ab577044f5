"""``python -m pinnpoint_verify BUNDLE``: the verdict on a bundle, with numpy and scipy alone."""

from __future__ import annotations

import sys

from pinnpoint_verify.claims import main

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m pinnpoint_verify BUNDLE")
    sys.exit(main(sys.argv[1]))
