"""`pinnpoint init MESH`: a commented case file for a mesh, with its own groups and a first question."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError
from pinnpoint.base.files import write_whole
from pinnpoint.cli.check import groups
from pinnpoint.io.meshes.read import read_mesh
from pinnpoint.mesh.mesh import BOUNDARY, CELLS, Mesh

CASE = """title = {title}
units = "1"                         # a label, carried to every table and axis; nothing is converted

{seen}
[mesh]
file = {file}

[problem]
kind = {kind}          # or {other}
{coefficients}

[problem.dirichlet]                 # where the solution is given; "boundary" is the whole boundary
{held}

[problem.neumann]                   # where its {flux} is given; zero where nothing is said of a facet
{free}
[prediction]                        # exactly one of these
zero = true                         # nothing predicted yet: certifies the solution itself
# file = "field.npz"                # `values` in mesh-node order; matched by coordinates where `points` is given
# expression = "x*(1-x)"
# onnx = "net.onnx"

[[query]]
name = "middle"
kind = "point"
at = [{at}]
{component}
{largest}
[certificate]
# tolerance = 1e-4                  # refine the mesh until the proof is that narrow
# accept = 1e-2                     # how wrong the prediction may be: proved within, proved beyond, or undecided
# limit = {{ below = 0.2 }}           # where the true value must lie: holds, violated, or undecided
"""
SCALAR = """diffusion = 1.0                     # number, formula in x, y, z, matrix, or group = number
source = "1"                        # never evaluated as code"""
SOLID = """young = 210e3
poisson = 0.3
body = [{zeros}]"""


def run(arguments: argparse.Namespace) -> int:
    """Write the case beside the mesh, or where it was told to; an existing file is kept."""
    path = arguments.out or arguments.mesh.with_suffix(".toml")
    if path.exists():
        raise InputError(f"--out: {path} exists already; name another file, or remove it")
    mesh = read_mesh(arguments.mesh)
    write_whole(path, [case_for(mesh, arguments.mesh, path.parent, solid=arguments.solid).encode("utf-8")])
    print(f"{path}: {mesh.dim}D, {len(mesh.cells)} {CELLS[mesh.dim]}, {len(mesh.points)} nodes")
    print(f"edit it, then: pinnpoint check {path}")
    return 0


def case_for(mesh: Mesh, file: Path, folder: Path, *, solid: bool = False) -> str:
    """The text of a case for a mesh: a field that is given all around, or a body that its first group holds."""
    names = [name for name in mesh.facet_groups if name != BOUNDARY]
    held = names[0] if names and solid else BOUNDARY
    others = [name for name in names if name != held]
    zero = "[" + ", ".join(["0.0"] * mesh.dim) + "]" if solid else "0.0"
    try:
        named = file.resolve().relative_to(folder.resolve())
    except ValueError:
        named = file.resolve()
    largest = '[[query]]\nname = "largest error"\nkind = "everywhere"\n'
    return CASE.format(
        title=_text(file.stem),
        seen="\n".join(f"# {line}" for line in groups(mesh, "")),
        file=_text(named.as_posix()),
        kind='"elasticity"' if solid else '"reaction-diffusion"',
        other='"reaction-diffusion"' if solid else '"elasticity"',
        coefficients=SOLID.format(zeros=", ".join(["0.0"] * mesh.dim)) if solid else SCALAR,
        held="\n".join([f"{_text(held)} = {zero}", *([] if solid else [f"# {_text(n)} = {zero}" for n in others])]),
        flux="traction" if solid else "flux",
        free="".join(f"# {_text(name)} = {zero}\n" for name in others),
        at=", ".join(repr(float(x)) for x in _middle(mesh)),
        component='component = "x"\n' if solid else "",
        largest="" if solid else largest,
    )


def _middle(mesh: Mesh) -> Vector:
    """The centre of the cell that is nearest to the middle of the mesh: inside, and on no edge."""
    centres = mesh.points[mesh.cells].mean(axis=1)
    weights = mesh.volumes / mesh.volumes.sum()
    return np.asarray(centres[np.argmin(((centres - weights @ centres) ** 2).sum(axis=1))])


def _text(words: str) -> str:
    """A TOML string."""
    quoted = words.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}"'
