"""What people already have: assembled matrices, scikit-fem bases, PETSc and DOLFINx matrices, PyVista grids.

Nothing is imported here but numpy and scipy; objects are taken by what they offer.
"""

from pinnpoint.io.adapters.assembled import Treatment, from_assembled
from pinnpoint.io.adapters.petsc import from_petsc
from pinnpoint.io.adapters.pyvista import Grid, from_pyvista
from pinnpoint.io.adapters.skfem import Assembled, from_skfem

__all__ = ["Assembled", "Grid", "Treatment", "from_assembled", "from_petsc", "from_pyvista", "from_skfem"]
