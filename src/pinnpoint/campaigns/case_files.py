"""Case files as a campaign."""

from __future__ import annotations

from collections.abc import Sequence

from pinnpoint.base.files import PathLike
from pinnpoint.cases.read import read_case
from pinnpoint.cases.study import build
from pinnpoint.certificates.certificate import Certificate


def certify_case(path: PathLike, overrides: Sequence[str]) -> Certificate:
    """A task for `campaigns.run`: certify a case with ``key=value`` overrides, as ``pinnpoint certify --set`` does."""
    return build(read_case(path, overrides)).certify().certificate
