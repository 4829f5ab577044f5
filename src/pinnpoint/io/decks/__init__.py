"""Decks: mesh, materials, supports and loads from one file of another program."""
