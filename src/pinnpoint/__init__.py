"""pinnpoint: intervals that provably hold the true value behind a neural PDE prediction."""

import importlib
from typing import Any

from pinnpoint.adaptivity import Refined, certify_to
from pinnpoint.batch import CertificateBatch
from pinnpoint.bundles import write_bundle
from pinnpoint.certificate import Certificate, Claim, Guarantee
from pinnpoint.certifiers.exact import Exact
from pinnpoint.certifiers.inexact import Inexact
from pinnpoint.certifiers.localized import Localized
from pinnpoint.certifiers.norm import Norm
from pinnpoint.certifiers.randomized import Randomized
from pinnpoint.certifiers.root import Root
from pinnpoint.certifiers.stationary import Stationary
from pinnpoint.certify import certify
from pinnpoint.errors import CertificationError, DependencyMissingError, InputError, PinnpointError
from pinnpoint.families.loads import LoadFamily
from pinnpoint.monitor import Decision, Monitor
from pinnpoint.nonlinear import NonlinearSystem
from pinnpoint.orders import observed_orders
from pinnpoint.queries import Queries
from pinnpoint.rounding.bounds import Coercivity
from pinnpoint.rounding.coercivity import verify_coercivity
from pinnpoint.spaces import AdmissibleSpace, Projection
from pinnpoint.systems import LinearSystem
from pinnpoint.transfer.comparison import Comparison
from pinnpoint.transfer.external import External
from pinnpoint.transfer.interpolation import Interpolation
from pinnpoint.transfer.interval import DirectRoute
from pinnpoint.version import __version__

_LAZY = ("adapters", "campaigns", "conformal", "fem", "io", "models", "training")


def __getattr__(name: str) -> Any:
    """Import what needs more than numpy and scipy when it is first used."""
    if name in _LAZY:
        return importlib.import_module(f"pinnpoint.{name}")
    raise AttributeError(f"module 'pinnpoint' has no attribute {name!r}")


__all__ = [
    "AdmissibleSpace",
    "Certificate",
    "CertificateBatch",
    "CertificationError",
    "Claim",
    "Coercivity",
    "Comparison",
    "Decision",
    "DependencyMissingError",
    "DirectRoute",
    "Exact",
    "External",
    "Guarantee",
    "Inexact",
    "InputError",
    "Interpolation",
    "LinearSystem",
    "LoadFamily",
    "Localized",
    "Monitor",
    "NonlinearSystem",
    "Norm",
    "PinnpointError",
    "Projection",
    "Queries",
    "Randomized",
    "Refined",
    "Root",
    "Stationary",
    "__version__",
    "certify",
    "certify_to",
    "observed_orders",
    "verify_coercivity",
    "write_bundle",
]
