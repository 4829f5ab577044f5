"""`python -m pinnpoint`."""

from pinnpoint.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
