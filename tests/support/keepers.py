"""Keepers, which see what is measured on cells."""


class Watching:
    """A keeper, with which sides are measured as those of any degree."""

    def take(self, *shown):
        """Nothing is kept."""
