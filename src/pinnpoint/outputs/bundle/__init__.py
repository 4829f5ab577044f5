"""Bundles: a certificate with the witnesses that prove it, for `pinnpoint verify` or anyone else to re-check."""

from pinnpoint.outputs.bundle.write import begin_bundle, write_bundle

__all__ = ["begin_bundle", "write_bundle"]
