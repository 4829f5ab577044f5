"""What meshio does not write of a mesh by itself."""

from __future__ import annotations

import numpy as np


def name_groups(path, names):
    """Add the field data that meshio does not write: each name with its number and dimension, as VTK writes them."""
    old, new = "<UnstructuredGrid>", "<UnstructuredGrid><FieldData>{}</FieldData>"
    row = '<DataArray type="Int64" Name="{}" format="ascii">{} {}</DataArray>'
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new.format("".join(row.format(k, *v.tolist()) for k, v in names.items()))))


def entities(mesh):
    """Each entity has a node at least, and the order of the nodes stays."""
    rows = np.tile([mesh.dim, 2], (len(mesh.points), 1))
    rows[:3] = [[mesh.dim - 1, 1], [mesh.dim - 1, 2], [mesh.dim, 1]]
    return rows
