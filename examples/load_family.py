"""One part, four loads, one report: Green vectors are computed once, and the page shows every load."""

import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse.linalg as spla

import pinnpoint as pp
from pinnpoint.mesh.mesh import Mesh

cube = pp.io.generate("cube", 8)
mesh = Mesh(cube.points * np.array([4.0, 1.0, 1.0]), cube.cells, {}, cube.facet_groups)
tractions = {
    "down": [0, 0, -0.02],
    "sideways": [0, 0.02, 0],
    "pull": [1, 0, 0],
    "twist": ["0", "0.3*(z-0.5)", "-0.3*(y-0.5)"],
}
problems = [pp.fem.Elasticity(mesh, 210.0, 0.3, None, {"left": 0.0}, {"right": t}) for t in tractions.values()]
first = problems[0]
queries = (
    first.points([[4, 0.5, 0.5]], "z", ["tip, z"])
    + first.points([[4, 0.5, 1]], "y", ["top of the tip, y"])
    + first.patch("right", "x", name="end face, x")
)
certifier = pp.Exact(refine=True).prepare(first.system, queries)

free, X = first.space.free, mesh.points
factors = spla.splu(first.A[free][:, free].tocsc())
solved = np.zeros((len(problems), first.system.N))
solved[:, free] = [factors.solve(p.b.ravel()[free]) for p in problems]
dent = X[:, :1] * np.exp(-((X - [2.5, 0.0, 1.0]) ** 2).sum(axis=1, keepdims=True) / 0.1) * [0.0, 0.01, -0.01]
predictions = 1.03 * solved + np.abs(solved).max(axis=1, keepdims=True) * dent.ravel()  # 3 % stiff, and a dent
batch = certifier.certify_many(predictions, loads=[p.b.ravel() for p in problems])

shape = (len(X), 3)
fields = [
    {"prediction": u.reshape(shape), "corrected": v.reshape(shape), "error": (u - v).reshape(shape)}
    for u, v in zip(predictions, solved, strict=True)
]
path = Path(tempfile.mkdtemp()) / "report.html"
batch.to_html(
    path, list(tractions), mesh=mesh, fields=fields, title="Cantilever, four loads", units="mm", tolerance=1e-9
)
print(f"{path}: {len(batch)} loads, {batch.radius.size} intervals, the widest ±{batch.radius.max():.1e}")

assert np.all(np.abs(batch.center - solved @ queries.L.T) <= batch.radius + 1e-11)
