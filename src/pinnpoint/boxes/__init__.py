"""Boxes: what a network leaves of an equation, against the heat kernels of a box. No mesh, no solve."""

from pinnpoint.boxes.box import Box
from pinnpoint.boxes.burgers import Burgers
from pinnpoint.boxes.region import Region
from pinnpoint.boxes.union import Boxes
from pinnpoint.boxes.wave import Wave

__all__ = ["Box", "Boxes", "Burgers", "Region", "Wave"]
