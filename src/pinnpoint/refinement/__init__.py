"""Local refinement: which cells, and how."""

from pinnpoint.refinement.marking import dorfler
from pinnpoint.refinement.refiner import Refiner

__all__ = ["Refiner", "dorfler"]
