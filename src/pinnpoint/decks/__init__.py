"""Decks as finite-element problems: `read_deck`, and SimJEB's brackets."""

from pinnpoint.decks.problems import Deck, read_deck

__all__ = ["Deck", "read_deck"]
