"""Case files as a campaign."""

from __future__ import annotations

from collections.abc import Sequence

from pinnpoint.cases import build
from pinnpoint.certificate import Certificate
from pinnpoint.io.cases import read_case
from pinnpoint.io.files import PathLike


def certify_case(path: PathLike, overrides: Sequence[str]) -> Certificate:
    """A task for `campaigns.run`: certify a case with ``key=value`` overrides, as ``pinnpoint certify --set`` does."""
    return build(read_case(path, overrides)).certify().certificate
