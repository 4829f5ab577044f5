"""`pinnpoint verify`: a certificate re-checked by code that shares nothing with what made it."""

from pinnpoint.verifier.claims import main, verify
from pinnpoint.verifier.reader import Refused

__all__ = ["Refused", "main", "verify"]
