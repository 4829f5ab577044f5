"""What people already have: assembled matrices, scikit-fem bases, PETSc and DOLFINx matrices, PyVista grids.

Nothing is imported here but numpy and scipy; objects are taken by what they offer.
"""

from pinnpoint.adapters.assembled import Treatment, from_assembled
from pinnpoint.adapters.petsc import from_petsc
from pinnpoint.adapters.pyvista import Grid, from_pyvista
from pinnpoint.adapters.skfem import Assembled, from_skfem

__all__ = ["Assembled", "Grid", "Treatment", "from_assembled", "from_petsc", "from_pyvista", "from_skfem"]
