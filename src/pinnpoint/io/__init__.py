"""Files in and out: meshes, fields, case files."""

from pinnpoint.io.generate import generate
from pinnpoint.io.meshes import read_mesh

__all__ = ["generate", "read_mesh"]
