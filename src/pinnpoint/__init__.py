"""pinnpoint: intervals that provably hold the true value behind a neural PDE prediction.

Importing this package loads nothing: each public name is imported when it is first used.
"""

from pinnpoint.base.version import __version__

TYPE_CHECKING = False  # as type checkers know it; to import `typing` would take longer than all the rest
if TYPE_CHECKING:  # what type checkers see; a test compares it with the table below
    from pinnpoint import boxes as boxes
    from pinnpoint import campaigns as campaigns
    from pinnpoint import fem as fem
    from pinnpoint import io as io
    from pinnpoint import models as models
    from pinnpoint import training as training
    from pinnpoint.base.errors import CertificationError, DependencyMissingError, InputError, PinnpointError
    from pinnpoint.boxes.box import Box
    from pinnpoint.boxes.union import Boxes
    from pinnpoint.certificates.batch import CertificateBatch
    from pinnpoint.certificates.certificate import Certificate
    from pinnpoint.certificates.claims import Claim, Guarantee
    from pinnpoint.certificates.population import Population
    from pinnpoint.certificates.rates import observed_orders
    from pinnpoint.certifiers.exact import Exact
    from pinnpoint.certifiers.families.loads import LoadFamily
    from pinnpoint.certifiers.inexact import Inexact
    from pinnpoint.certifiers.localized import Localized
    from pinnpoint.certifiers.nonlinear.root import Root
    from pinnpoint.certifiers.nonlinear.stationary import Stationary
    from pinnpoint.certifiers.norm import Norm
    from pinnpoint.certifiers.randomized import Randomized
    from pinnpoint.certifiers.tolerance import Refined, certify_to
    from pinnpoint.certifiers.verb import certify
    from pinnpoint.io import adapters as adapters
    from pinnpoint.mesh.bent.shapes import Circle, Cylinder, Ellipse, LevelSet, Sphere
    from pinnpoint.monitoring import conformal as conformal
    from pinnpoint.monitoring.monitor import Decision, Monitor
    from pinnpoint.outputs.bundle import write_bundle
    from pinnpoint.outputs.population_tables import report_table
    from pinnpoint.outputs.populations import write_population
    from pinnpoint.rounding.bounds import Coercivity
    from pinnpoint.rounding.coercivity import verify_coercivity
    from pinnpoint.systems.linear import LinearSystem
    from pinnpoint.systems.nonlinear import NonlinearSystem
    from pinnpoint.systems.queries import Queries
    from pinnpoint.systems.spaces import AdmissibleSpace, Projection
    from pinnpoint.transfer.declared.comparison import Comparison
    from pinnpoint.transfer.declared.external import External
    from pinnpoint.transfer.declared.interpolation import Interpolation
    from pinnpoint.transfer.line.interval import DirectRoute

_PACKAGES = {
    "adapters": "io.adapters",
    "boxes": "boxes",
    "campaigns": "campaigns",
    "conformal": "monitoring.conformal",
    "fem": "fem",
    "io": "io",
    "models": "models",
    "training": "training",
}
"""Public packages and modules, and where they are."""
_HOMES = {
    "AdmissibleSpace": "systems.spaces",
    "Box": "boxes.box",
    "Boxes": "boxes.union",
    "Certificate": "certificates.certificate",
    "CertificateBatch": "certificates.batch",
    "CertificationError": "base.errors",
    "Circle": "mesh.bent.shapes",
    "Claim": "certificates.claims",
    "Coercivity": "rounding.bounds",
    "Comparison": "transfer.declared.comparison",
    "Cylinder": "mesh.bent.shapes",
    "Decision": "monitoring.monitor",
    "DependencyMissingError": "base.errors",
    "DirectRoute": "transfer.line.interval",
    "Ellipse": "mesh.bent.shapes",
    "Exact": "certifiers.exact",
    "External": "transfer.declared.external",
    "Guarantee": "certificates.claims",
    "Inexact": "certifiers.inexact",
    "InputError": "base.errors",
    "Interpolation": "transfer.declared.interpolation",
    "LevelSet": "mesh.bent.shapes",
    "LinearSystem": "systems.linear",
    "LoadFamily": "certifiers.families.loads",
    "Localized": "certifiers.localized",
    "Monitor": "monitoring.monitor",
    "NonlinearSystem": "systems.nonlinear",
    "Norm": "certifiers.norm",
    "PinnpointError": "base.errors",
    "Population": "certificates.population",
    "Projection": "systems.spaces",
    "Queries": "systems.queries",
    "Randomized": "certifiers.randomized",
    "Refined": "certifiers.tolerance",
    "Root": "certifiers.nonlinear.root",
    "Sphere": "mesh.bent.shapes",
    "Stationary": "certifiers.nonlinear.stationary",
    "certify": "certifiers.verb",
    "certify_to": "certifiers.tolerance",
    "observed_orders": "certificates.rates",
    "report_table": "outputs.population_tables",
    "verify_coercivity": "rounding.coercivity",
    "write_bundle": "outputs.bundle",
    "write_population": "outputs.populations",
}
"""The module that each public name comes from."""

if not TYPE_CHECKING:  # a type checker would take every misspelt name for Any

    def __getattr__(name):
        """Import a public name when it is first used."""
        import importlib

        if name in _PACKAGES:
            return importlib.import_module(f"pinnpoint.{_PACKAGES[name]}")
        if name not in _HOMES:
            raise AttributeError(f"module 'pinnpoint' has no attribute {name!r}")
        found = getattr(importlib.import_module(f"pinnpoint.{_HOMES[name]}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES, *(name for name in globals() if name.startswith("__"))})


__all__ = [
    "AdmissibleSpace",
    "Box",
    "Boxes",
    "Certificate",
    "CertificateBatch",
    "CertificationError",
    "Circle",
    "Claim",
    "Coercivity",
    "Comparison",
    "Cylinder",
    "Decision",
    "DependencyMissingError",
    "DirectRoute",
    "Ellipse",
    "Exact",
    "External",
    "Guarantee",
    "Inexact",
    "InputError",
    "Interpolation",
    "LevelSet",
    "LinearSystem",
    "LoadFamily",
    "Localized",
    "Monitor",
    "NonlinearSystem",
    "Norm",
    "PinnpointError",
    "Population",
    "Projection",
    "Queries",
    "Randomized",
    "Refined",
    "Root",
    "Sphere",
    "Stationary",
    "__version__",
    "certify",
    "certify_to",
    "observed_orders",
    "report_table",
    "verify_coercivity",
    "write_bundle",
    "write_population",
]
