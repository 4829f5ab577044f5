"""pinnpoint: intervals that provably hold the true value behind a neural PDE prediction.

Importing this package loads nothing: each public name is imported when it is first used.
"""

from pinnpoint.version import __version__

TYPE_CHECKING = False  # as type checkers know it; to import `typing` would take longer than all the rest
if TYPE_CHECKING:  # what type checkers see; a test compares it with the table below
    from pinnpoint import adapters as adapters
    from pinnpoint import campaigns as campaigns
    from pinnpoint import conformal as conformal
    from pinnpoint import fem as fem
    from pinnpoint import io as io
    from pinnpoint import models as models
    from pinnpoint import training as training
    from pinnpoint.adaptivity import Refined, certify_to
    from pinnpoint.batch import CertificateBatch
    from pinnpoint.bundles import write_bundle
    from pinnpoint.certificate import Certificate, Claim, Guarantee
    from pinnpoint.certification import certify
    from pinnpoint.certifiers.exact import Exact
    from pinnpoint.certifiers.inexact import Inexact
    from pinnpoint.certifiers.localized import Localized
    from pinnpoint.certifiers.norm import Norm
    from pinnpoint.certifiers.randomized import Randomized
    from pinnpoint.certifiers.root import Root
    from pinnpoint.certifiers.stationary import Stationary
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

_PACKAGES = ("adapters", "campaigns", "conformal", "fem", "io", "models", "training")
_HOMES = {
    "AdmissibleSpace": "spaces",
    "Certificate": "certificate",
    "CertificateBatch": "batch",
    "CertificationError": "errors",
    "Claim": "certificate",
    "Coercivity": "rounding.bounds",
    "Comparison": "transfer.comparison",
    "Decision": "monitor",
    "DependencyMissingError": "errors",
    "DirectRoute": "transfer.interval",
    "Exact": "certifiers.exact",
    "External": "transfer.external",
    "Guarantee": "certificate",
    "Inexact": "certifiers.inexact",
    "InputError": "errors",
    "Interpolation": "transfer.interpolation",
    "LinearSystem": "systems",
    "LoadFamily": "families.loads",
    "Localized": "certifiers.localized",
    "Monitor": "monitor",
    "NonlinearSystem": "nonlinear",
    "Norm": "certifiers.norm",
    "PinnpointError": "errors",
    "Projection": "spaces",
    "Queries": "queries",
    "Randomized": "certifiers.randomized",
    "Refined": "adaptivity",
    "Root": "certifiers.root",
    "Stationary": "certifiers.stationary",
    "certify": "certification",
    "certify_to": "adaptivity",
    "observed_orders": "orders",
    "verify_coercivity": "rounding.coercivity",
    "write_bundle": "bundles",
}
"""The module that each public name comes from."""

if not TYPE_CHECKING:  # a type checker would take every misspelt name for Any

    def __getattr__(name):
        """Import a public name when it is first used."""
        import importlib

        if name in _PACKAGES:
            return importlib.import_module(f"pinnpoint.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module 'pinnpoint' has no attribute {name!r}")
        found = getattr(importlib.import_module(f"pinnpoint.{_HOMES[name]}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES, *(name for name in globals() if name.startswith("__"))})


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
