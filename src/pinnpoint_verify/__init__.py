"""`pinnpoint verify`: a certificate re-checked by code that shares nothing with what made it."""

from pinnpoint_verify.claims import main, verify
from pinnpoint_verify.reader import Refused

__all__ = ["Refused", "main", "verify"]
