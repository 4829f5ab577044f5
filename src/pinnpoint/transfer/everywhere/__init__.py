"""Bounds that hold at every point of the domain."""
