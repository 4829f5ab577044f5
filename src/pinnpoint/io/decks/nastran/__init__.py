"""Nastran and OptiStruct decks."""
