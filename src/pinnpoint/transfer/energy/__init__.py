"""Bounds in the energy norm: what a state and a flux leave over, cell by cell."""
