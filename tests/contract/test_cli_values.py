"""From file to certificate: the values against scikit-fem's own assembly and a direct solve."""

from __future__ import annotations

import json
from math import factorial

import numpy as np
import pytest
import skfem
from scipy.sparse.linalg import spsolve
from skfem.helpers import ddot, dot, eye, grad, sym_grad, trace

from pinnpoint.cases.read import read_case
from pinnpoint.cases.study import build
from pinnpoint.cli.main import main
from pinnpoint.io.meshes.read import read_mesh
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.quadrature import HIGHEST, rule

meshio = pytest.importorskip("meshio")
KIND = {0: "vertex", 1: "line", 2: "triangle", 3: "tetra"}
DOMAIN = {1: "interval", 2: "square", 3: "cube"}
CELLS = {1: 8, 2: 6, 3: 4}
MESH = {1: skfem.MeshLine, 2: skfem.MeshTri, 3: skfem.MeshTet}
P1 = {1: skfem.ElementLineP1, 2: skfem.ElementTriP1, 3: skfem.ElementTetP1}
ORDER = {1: 8, 2: 8, 3: 8}
"""Above the degrees here; scikit-fem's tables for tetrahedra are one order weaker than their numbers."""


def write_mesh(path, dim):
    """Both halves in x and two sides as groups; the points are bent so that no two cells are alike."""
    mesh = generate(DOMAIN[dim], CELLS[dim])
    X = mesh.points + 0.02 * np.sin(5 * mesh.points[:, ::-1]) * np.sin(np.pi * mesh.points)
    high = mesh.points[mesh.cells].mean(axis=1)[:, 0] > 0.5
    parts = [mesh.cells[~high], mesh.cells[high], mesh.facets("left"), mesh.facets("right")]
    kinds = [KIND[dim], KIND[dim], KIND[dim - 1], KIND[dim - 1]]
    tags = [np.full(len(p), t) for p, t in zip(parts, (1, 2, 1, 2), strict=True)]
    names = {"low": [1, dim], "high": [2, dim], "left": [1, dim - 1], "right": [2, dim - 1]}
    meshio.Mesh(
        np.pad(X, ((0, 0), (0, 3 - dim))),
        list(zip(kinds, parts, strict=True)),
        cell_data={"gmsh:physical": tags, "gmsh:geometrical": tags},
        field_data={name: np.array(v) for name, v in names.items()},
    ).write(path, file_format="gmsh22", binary=False)
    return read_mesh(path)


def certify(tmp_path, text, code=0):
    (tmp_path / "case.toml").write_text(text, encoding="utf-8")
    assert main(["certify", str(tmp_path / "case.toml"), "--quiet", "--out", str(tmp_path / "out")]) == code
    return json.loads((tmp_path / "out" / "certificate.json").read_text(encoding="utf-8"))["queries"]


def point_queries(X, component=""):
    return "".join(
        f'[[query]]\nname = "p{i}{component}"\nat = {x.tolist()}\n' + (component and f'component = "{component}"\n')
        for i, x in enumerate(X)
    )


def solved(A, b, fixed, values):
    """The solution with the entries of a mask fixed."""
    u = np.where(fixed, values, 0.0)
    free = np.flatnonzero(~fixed)
    A = A.tocsr()
    u[free] = spsolve(A[free][:, free].tocsc(), (b - A @ u)[free])
    return u


def sides(mesh, ours):
    """The facets of scikit-fem's mesh with the nodes of ours."""
    key = {tuple(sorted(f)): i for i, f in enumerate(mesh.facets.T.tolist())}
    return np.array([key[tuple(sorted(f))] for f in ours.tolist()])


POINTS = {
    1: np.array([[0.3], [0.62], [0.9]]),
    2: np.array([[0.31, 0.47], [0.55, 0.5], [0.81, 0.13]]),
    3: np.array([[0.31, 0.47, 0.6], [0.55, 0.5, 0.5], [0.81, 0.13, 0.77]]),
}


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
@pytest.mark.parametrize("method", ["exact", "inexact", "norm"])
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_reaction_diffusion_agrees_with_scikit_fem(tmp_path, dim, method):
    """Jumping κ, c and f polynomials, u = g(x) at the left, a flux at the right."""
    ours = write_mesh(tmp_path / "part.msh", dim)
    last = "xyz"[dim - 1]
    text = f"""[mesh]
file = "part.msh"
[problem]
kind = "reaction-diffusion"
diffusion = {{low = 1.5, high = 7}}
reaction = "1 + x**2"
source = "1 + x*{last} - 3*{last}**2"
[problem.dirichlet]
left = "2 - {last} + {last}**2"
[problem.neumann]
right = "1 + 2*{last}**2"
[prediction]
expression = "sin(3*x) + 2"
{point_queries(POINTS[dim])}
[[query]]
name = "right"
kind = "patch"
group = "right"
[certificate]
target = "discrete"
method = "{method}"
"""
    rows = certify(tmp_path, text)
    mesh = MESH[dim](ours.points.T, ours.cells.T)
    basis = skfem.Basis(mesh, P1[dim](), intorder=ORDER[dim])
    kappa = np.full(len(ours.cells), 1.5)
    kappa[ours.cells_of("high")] = 7.0

    @skfem.BilinearForm
    def form(u, v, w):
        return w.kappa * dot(grad(u), grad(v)) + (1 + w.x[0] ** 2) * u * v

    A = form.assemble(basis, kappa=basis.with_element(P0[dim]()).interpolate(kappa))
    b = skfem.LinearForm(lambda v, w: (1 + w.x[0] * w.x[-1] - 3 * w.x[-1] ** 2) * v).assemble(basis)
    right = skfem.FacetBasis(mesh, P1[dim](), facets=sides(mesh, ours.facets("right")), intorder=ORDER[dim])
    b = b + skfem.LinearForm(lambda v, w: (1 + 2 * w.x[-1] ** 2) * v).assemble(right)
    z = ours.points[:, -1]
    held = np.isin(np.arange(len(z)), ours.facets("left"))
    u = solved(A, b, held, 2 - z + z**2)
    wanted = np.append(
        basis.probes(POINTS[dim].T) @ u,
        skfem.Functional(lambda w: w.u).assemble(right, u=right.interpolate(u))
        / skfem.Functional(lambda w: 1.0 + 0 * w.x[0]).assemble(right),
    )
    scale = np.abs(wanted).max()
    for row, value in zip(rows, wanted, strict=True):
        if method != "norm":
            assert abs(row["center"] - value) <= 1e-9 * scale
            assert row["radius"] <= 1e-9 * scale
        slack = 1e-12 * scale  # of the comparison's own solve
        assert row["lower"] - slack <= value <= row["upper"] + slack
        assert abs(row["value"] - value) <= row["value_radius"] + slack


P0 = {1: skfem.ElementLineP0, 2: skfem.ElementTriP0, 3: skfem.ElementTetP0}


@pytest.mark.parametrize(("dim", "plane"), [(2, "strain"), (2, "stress"), (3, "")])
def test_elasticity_agrees_with_scikit_fem(tmp_path, dim, plane):
    """Two materials, a body force, a traction that varies, one side held and moved."""
    ours = write_mesh(tmp_path / "part.msh", dim)
    xyz = "xyz"[:dim]
    body = ["x*y", "1 - x", "y**2"][:dim]
    pull = ["1 + y", "-y**2", "2*z"][:dim]
    push = [0, "0.01*y**2", '"free"'][: dim - 1] + (['"free"'] if dim == 3 else ["0.01*y**2"])
    held = ", ".join(str(v) if v in (0, '"free"') else f'"{v}"' for v in push)
    text = f"""[mesh]
file = "part.msh"
[problem]
kind = "elasticity"
young = {{low = 10, high = 3.5}}
poisson = {{low = 0.3, high = 0.45}}
body = {json.dumps(body)}
{plane and f'plane = "{plane}"'}
[problem.dirichlet]
left = [{held}]
{'boundary = ["free", "free", 0.25]' if dim == 3 else ""}
[problem.neumann]
right = {json.dumps(pull[:2] + ["0"] * (dim - 2))}
[prediction]
zero = true
{"".join(point_queries(POINTS[dim], a) for a in xyz)}
[[query]]
name = "right"
kind = "patch"
group = "right"
component = "x"
[certificate]
target = "discrete"
quadrature = 6
"""
    rows = certify(tmp_path, text)
    mesh = MESH[dim](ours.points.T, ours.cells.T)
    element = skfem.ElementVector(P1[dim]())
    basis = skfem.Basis(mesh, element, intorder=ORDER[dim])
    E, nu = np.full(len(ours.cells), 10.0), np.full(len(ours.cells), 0.3)
    E[ours.cells_of("high")], nu[ours.cells_of("high")] = 3.5, 0.45
    mu = E / 2 / (1 + nu)
    lam = E * nu / (1 + nu) / (1 - 2 * nu)
    if plane == "stress":
        lam = 2 * lam * mu / (lam + 2 * mu)

    @skfem.BilinearForm
    def form(u, v, w):
        strain = sym_grad(u)
        return ddot(eye(w.lam * trace(strain), dim) + 2 * w.mu * strain, sym_grad(v))

    constants = basis.with_element(P0[dim]())
    A = form.assemble(basis, lam=constants.interpolate(lam), mu=constants.interpolate(mu))

    def load(v, w):
        x, y = w.x[:2]
        return x * y * v[0] + (1 - x) * v[1] + (y**2 * v[2] if dim == 3 else 0.0)

    right = skfem.FacetBasis(mesh, element, facets=sides(mesh, ours.facets("right")), intorder=ORDER[dim])
    b = skfem.LinearForm(load).assemble(basis)
    b = b + skfem.LinearForm(lambda v, w: (1 + w.x[1]) * v[0] - w.x[1] ** 2 * v[1]).assemble(right)
    fixed, values = np.zeros(len(b), dtype=bool), np.zeros(len(b))
    y = ours.points[:, 1]
    nodes = np.unique(ours.facets("left"))
    for k, g in enumerate([0 * y, 0.01 * y**2]):
        fixed[basis.nodal_dofs[k, nodes]], values[basis.nodal_dofs[k, nodes]] = True, g[nodes]
    if dim == 3:
        left = {
            tuple(f) for f in np.sort(ours.facets("left"), axis=1).tolist()
        }  # there the group, free in z, overrides
        nodes = np.unique([f for f in np.sort(ours.boundary, axis=1).tolist() if tuple(f) not in left])
        fixed[basis.nodal_dofs[2, nodes]], values[basis.nodal_dofs[2, nodes]] = True, 0.25
    u = solved(A, b, fixed, values)
    scalar = skfem.Basis(mesh, P1[dim](), intorder=2)
    wanted = [scalar.probes(POINTS[dim].T) @ u[basis.nodal_dofs[k]] for k in range(dim)]
    mean = skfem.Functional(lambda w: w.u[0]).assemble(right, u=right.interpolate(u))
    wanted.append([mean / skfem.Functional(lambda w: 1.0 + 0 * w.x[0]).assemble(right)])
    wanted = np.concatenate(wanted)
    found = np.array([row["center"] for row in rows])
    assert np.abs(found - wanted).max() <= 1e-9 * np.abs(wanted).max()
    assert max(row["radius"] for row in rows) <= 1e-9 * np.abs(wanted).max()


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_quadrature_is_exact_and_positive(dim):
    for order in range(1, HIGHEST[dim] + 1):
        bary, weights = rule(dim, order)
        assert weights.min() > 0.0
        assert bary.min() > -1e-15
        for p in range(order + 1):
            q = order - p
            for i, j in ((1, 0), (dim, 1)):  # ∫ λ_i^p λ_j^q, for i = j a single power
                power = factorial(p) * factorial(q) if i != j else factorial(order)
                exact = power * factorial(dim) / factorial(order + dim)
                assert weights @ (bary[:, i] ** p * bary[:, j] ** q) == pytest.approx(exact, rel=1e-11)


@pytest.mark.parametrize("dim", [2, 3])
def test_high_orders_integrate_what_they_promise(tmp_path, dim):
    """The total load of x**n over the unit box is 1/(n + 1) for n up to the order less one."""
    for order in (4, 5, 8, 12, 20):
        text = f"""[mesh]
generate = "{DOMAIN[dim]}"
cells = 1
[problem]
kind = "reaction-diffusion"
reaction = 1
source = "x**{order - 1}"
[prediction]
expression = "0"
[[query]]
kind = "patch"
group = "boundary"
[certificate]
target = "discrete"
quadrature = {order}
"""
        (row,) = certify(tmp_path, text)
        assert row["center"] > 0
        load = build(read_case(tmp_path / "case.toml")).problem.total_load
        assert load[0] == pytest.approx(1 / order, rel=1e-12)
