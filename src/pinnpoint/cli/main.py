"""Entry point; nothing is imported before Ctrl-C is minded."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    0 done, every interval within its tolerance and every verdict that was asked for positive; 1 done, an interval wider
    than its tolerance or a verdict undecided; 2 input refused; 3 internal error; 4 done, a verdict negative. Without
    arguments it is the process's own: its streams and signals are minded, and it ends where it was told to.
    """
    try:
        from pinnpoint.cli.dispatch import dispatch
        from pinnpoint.cli.process import take_streams

        if argv is not None:
            return dispatch(argv)
        take_streams()
        return dispatch(sys.argv[1:], alone=True)
    except KeyboardInterrupt as stop:
        from pinnpoint.cli.process import leave

        number = getattr(stop, "number", 2)
        if argv is None:
            leave(number)  # without waiting for threads whose work nobody wants any more
        print("pinnpoint: interrupted", file=sys.stderr)
        return 128 + int(number)


if __name__ == "__main__":
    raise SystemExit(main())
