"""Load families: prepare once for all combinations of given loads, then certify by the thousand."""

from pinnpoint.certifiers.families.batch import FamilyBatch
from pinnpoint.certifiers.families.certifier import FamilyCertifier, ReducedCertifier
from pinnpoint.certifiers.families.loads import LoadFamily

__all__ = ["FamilyBatch", "FamilyCertifier", "LoadFamily", "ReducedCertifier"]
