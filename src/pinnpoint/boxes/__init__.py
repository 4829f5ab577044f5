"""Boxes: what a network leaves of an equation, against the heat kernels of a box. No mesh, no solve."""
