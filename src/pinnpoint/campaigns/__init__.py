"""Many instances of one kind of certificate: over any executor, streamed to a table, resumed after a kill."""

from typing import TYPE_CHECKING

from pinnpoint.campaigns.runner import Summary, run

if TYPE_CHECKING:
    from pinnpoint.campaigns.case_files import certify_case
    from pinnpoint.campaigns.populations import Stored, run_population

if not TYPE_CHECKING:  # a type checker would take every misspelt name for Any

    def __getattr__(name):
        """Import what needs finite elements when it is first used; workers start faster without."""
        if name == "certify_case":
            from pinnpoint.campaigns.case_files import certify_case

            return certify_case
        if name in ("Stored", "run_population"):
            from pinnpoint.campaigns import populations

            return {"Stored": populations.Stored, "run_population": populations.run_population}[name]
        raise AttributeError(f"module 'pinnpoint.campaigns' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})


__all__ = ["Stored", "Summary", "certify_case", "run", "run_population"]
