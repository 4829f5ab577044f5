"""Training of numerical PINNs (extra ``torch``): networks whose loss is the residual of the certified system itself."""

from pinnpoint.base.errors import DependencyMissingError

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise DependencyMissingError("pinnpoint.training needs torch: pip install 'pinnpoint[torch]'") from error

from pinnpoint.training.certified import Certified, Check
from pinnpoint.training.collocation import train_collocation
from pinnpoint.training.deepxde import deepxde_callback
from pinnpoint.training.family import TrainedFamily, reduced_basis, train_family
from pinnpoint.training.field import TrainedField, train_field
from pinnpoint.training.gaps import EnergyGap
from pinnpoint.training.polarized import Polarized
from pinnpoint.training.residuals import compatible_residual
from pinnpoint.training.trainer import History, Settings
from pinnpoint.training.two_heads import TwoHeads

__all__ = [
    "Certified",
    "Check",
    "EnergyGap",
    "History",
    "Polarized",
    "Settings",
    "TrainedFamily",
    "TrainedField",
    "TwoHeads",
    "compatible_residual",
    "deepxde_callback",
    "reduced_basis",
    "train_collocation",
    "train_family",
    "train_field",
]
