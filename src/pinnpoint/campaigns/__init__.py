"""Many instances of one kind of certificate: over any executor, streamed to a table, resumed after a kill."""

from typing import Any

from pinnpoint.campaigns.runner import Summary, run


def __getattr__(name: str) -> Any:
    """Import what needs finite elements when it is first used; workers start faster without."""
    if name == "certify_case":
        from pinnpoint.campaigns.case_files import certify_case

        return certify_case
    raise AttributeError(f"module 'pinnpoint.campaigns' has no attribute {name!r}")


__all__ = ["Summary", "certify_case", "run"]
