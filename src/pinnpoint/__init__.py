"""pinnpoint: intervals that provably hold the true value behind a neural PDE prediction."""

from pinnpoint.certificate import Certificate, CertificateBatch, Claim, Guarantee
from pinnpoint.certifiers.exact import Exact
from pinnpoint.certifiers.inexact import Inexact
from pinnpoint.certifiers.localized import Localized
from pinnpoint.certifiers.norm import Norm
from pinnpoint.certifiers.randomized import Randomized
from pinnpoint.certify import certify
from pinnpoint.errors import CertificationError, DependencyMissingError, InputError, PinnpointError
from pinnpoint.orders import observed_orders
from pinnpoint.queries import Queries
from pinnpoint.rounding.coercivity import Coercivity, verify_coercivity
from pinnpoint.spaces import AdmissibleSpace, Projection
from pinnpoint.systems import LinearSystem
from pinnpoint.transfer.comparison import Comparison
from pinnpoint.version import __version__

__all__ = [
    "AdmissibleSpace",
    "Certificate",
    "CertificateBatch",
    "CertificationError",
    "Claim",
    "Coercivity",
    "Comparison",
    "DependencyMissingError",
    "Exact",
    "Guarantee",
    "Inexact",
    "InputError",
    "LinearSystem",
    "Localized",
    "Norm",
    "PinnpointError",
    "Projection",
    "Queries",
    "Randomized",
    "__version__",
    "certify",
    "observed_orders",
    "verify_coercivity",
]
