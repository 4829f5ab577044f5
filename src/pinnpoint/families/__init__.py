"""Load families: prepare once for all combinations of given loads, then certify by the thousand."""

from pinnpoint.families.batch import FamilyBatch
from pinnpoint.families.certifier import FamilyCertifier
from pinnpoint.families.loads import LoadFamily
from pinnpoint.families.reduced import ReducedCertifier

__all__ = ["FamilyBatch", "FamilyCertifier", "LoadFamily", "ReducedCertifier"]
