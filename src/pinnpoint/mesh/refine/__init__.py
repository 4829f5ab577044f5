"""Local refinement: which cells, and how."""

from pinnpoint.mesh.refine.marking import dorfler
from pinnpoint.mesh.refine.refiner import Refiner

__all__ = ["Refiner", "dorfler"]
