"""What people have: however Dirichlet rows were treated, the certified value is that of the same solution."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import pinnpoint as pp
from pinnpoint.base.errors import InputError

skfem = pytest.importorskip("skfem")


@pytest.fixture(scope="module")
def poisson():
    """Matrix, load, basis, Dirichlet entries and values, and the solution, by scikit-fem and scipy alone."""
    from skfem.models.poisson import laplace, unit_load

    basis = skfem.Basis(skfem.MeshTri().refined(3), skfem.ElementTriP1())
    A, b = laplace.assemble(basis), unit_load.assemble(basis)
    D = np.sort(basis.get_dofs().flatten())
    x = np.zeros(basis.N)
    x[D] = 1.0 + basis.doflocs[0, D] ** 2
    u = skfem.solve(*skfem.condense(A, b, x=x, D=D))
    return SimpleNamespace(A=A.tocsr(), b=b, basis=basis, D=D, x=x, u=u, free=np.setdiff1d(np.arange(basis.N), D))


def treated(p, how):
    """The matrix and load as different codes leave them."""
    A, b = p.A.tolil(copy=True), p.b.copy()
    if how == "full":
        return p.A, p.b
    if how == "eliminated":
        return p.A[p.free][:, p.free], p.b[p.free] - p.A[p.free][:, p.D] @ p.x[p.D]
    if how == "penalty":
        A[p.D, p.D] = A[p.D, p.D].toarray() * 0 + 1e12
        b[p.D] = 1e12 * p.x[p.D]
        return A.tocsr(), b
    scale = 3.0 if how == "scaled rows" else 1.0
    if how == "symmetric rows":
        b = b - p.A[:, p.D] @ p.x[p.D]
        A[:, p.D] = 0.0
    A[p.D, :] = 0.0
    A[p.D, p.D] = scale
    b[p.D] = scale * p.x[p.D]
    return A.tocsr(), b


HOW = {
    "full": {"values": True},
    "eliminated": {"values": True},
    "penalty": {"values": True},
    "rows": {},
    "symmetric rows": {},
    "scaled rows": {},
}


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("by", ["free", "mask", "fixed"])
def test_every_treatment_of_dirichlet_rows_gives_the_same_value(poisson, how, by):
    A, b = treated(poisson, how)
    mask = np.zeros(poisson.basis.N, dtype=bool)
    mask[poisson.free] = True
    which = {"free": {"free": poisson.free[::-1]}, "mask": {"free": mask}, "fixed": {"fixed": ~mask}}[by]
    values = {"values": poisson.x} if HOW[how] else {}
    system = pp.adapters.from_assembled(A, b, **which, **values)
    assert (system.N, system.n) == (poisson.basis.N, len(poisson.free))
    L = np.zeros((2, system.N))
    L[0, poisson.free[5]], L[1] = 1.0, 1.0 / system.N
    U = system.space.project(np.zeros(system.N)).U
    np.testing.assert_allclose(U[poisson.D], poisson.x[poisson.D], rtol=1e-15)
    certificate = pp.certify(system, U, pp.Queries(L))
    np.testing.assert_allclose(certificate.center, L @ poisson.u, rtol=1e-12)
    assert np.all(certificate.radius < 1e-12)


def test_values_are_found_or_asked_for(poisson):
    from_assembled = pp.adapters.from_assembled
    asked = {"full": "fixed rows are plain", "penalty": "are penalized", "eliminated": "were eliminated"}
    for how, message in asked.items():
        with pytest.raises(InputError, match=f"values: .*{message}"):
            from_assembled(*treated(poisson, how), poisson.free)
    A, _ = treated(poisson, "penalty")
    b = np.where(np.isin(np.arange(len(poisson.b)), poisson.D), 0.0, poisson.b)
    assert np.all(from_assembled(A, b, poisson.free).space.U0 == 0.0)  # no load, so no value
    with pytest.raises(InputError, match=r"values: entry \d+ is given as 0.0, but its penalty and load say about"):
        from_assembled(*treated(poisson, "penalty"), poisson.free, values=0.0)
    system = from_assembled(*treated(poisson, "rows"), poisson.free, values=poisson.x[poisson.D])
    np.testing.assert_array_equal(system.space.U0[poisson.D], poisson.x[poisson.D])
    with pytest.raises(InputError, match=r"values: entry 0 is given as 7.0, but its identity row and load say 1.0"):
        from_assembled(*treated(poisson, "rows"), poisson.free, values=7.0)


def test_ambiguity_is_refused(poisson):
    from_assembled = pp.adapters.from_assembled
    A, b = treated(poisson, "rows")
    mixed = A.tolil()
    mixed[poisson.D[:4]] = poisson.A[poisson.D[:4]]
    with pytest.raises(InputError, match="the fixed rows look full and identity; say treatment="):
        from_assembled(mixed.tocsr(), b, poisson.free, values=poisson.x)
    assert from_assembled(mixed.tocsr(), b, poisson.free, values=poisson.x, treatment="full").n == len(poisson.free)
    with pytest.raises(InputError, match="'identity' was asked for, but the matrix looks full and identity"):
        from_assembled(mixed.tocsr(), b, poisson.free, treatment="identity")
    odd = poisson.A.tolil()
    odd[poisson.D, poisson.D] = 1e4
    with pytest.raises(InputError, match=r"the diagonal of row 0 is 1.0e\+04 times|too little for a penalty"):
        from_assembled(odd.tocsr(), b, poisson.free, values=poisson.x)
    with pytest.raises(InputError, match="treatment: 'identity' was asked for, but the matrix looks full"):
        from_assembled(poisson.A, poisson.b, poisson.free, values=0.0, treatment="identity")
    with pytest.raises(InputError, match="treatment: must be one of full"):
        from_assembled(poisson.A, poisson.b, poisson.free, treatment="nitsche")


REFUSED = {
    "both": ({"free": [0], "fixed": [1]}, "exactly one of free= and fixed="),
    "none": ({}, "exactly one of free= and fixed="),
    "twice": ({"free": [0, 0]}, "listed twice"),
    "negative": ({"free": [-1, 0]}, "must be indices ≥ 0"),
    "floats": ({"free": [0.5]}, "must be indices or a mask"),
    "too many": ({"free": [0, 1, 500]}, "do not fit a matrix of size 81"),
    "nothing free": ({"fixed": np.ones(81, dtype=bool)}, "nothing is free"),
    "mask": ({"free": np.ones(80, dtype=bool)}, "do not fit a matrix of size 81"),
    "values": ({"fixed": [0, 1], "values": [1.0, 2.0, 3.0]}, "values"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_choices_of_rows_are_refused(poisson, name):
    options, message = REFUSED[name]
    with pytest.raises(InputError, match=message):
        pp.adapters.from_assembled(poisson.A, poisson.b, **options)


@pytest.mark.parametrize("how", ["as assembled", "condensed", "enforced", "penalized"])
def test_every_form_of_scikit_fem_gives_the_same_value(poisson, how):
    p = poisson
    system = {
        "as assembled": lambda: (p.A, p.b),
        "condensed": lambda: skfem.condense(p.A, p.b, x=p.x, D=p.D)[:2],
        "enforced": lambda: skfem.enforce(p.A, p.b, x=p.x, D=p.D),
        "penalized": lambda: skfem.penalize(p.A, p.b, x=p.x, D=p.D),
    }[how]()
    made = pp.adapters.from_skfem(p.basis, *system, p.x, D=p.basis.get_dofs())
    queries = made.points([[0.3, 0.4], [0.71, 0.2]], ["a", "b"])
    certificate = pp.certify(made.system, made.admissible(np.sin(p.basis.doflocs[0])), queries)
    np.testing.assert_allclose(
        certificate.center, p.basis.probes(np.array([[0.3, 0.71], [0.4, 0.2]])) @ p.u, rtol=1e-12
    )
    other = pp.adapters.from_skfem(p.basis, *system, p.x, interior=p.free)
    np.testing.assert_array_equal(other.system.space.free, made.system.space.free)


def test_skfem_vectors_and_functionals(poisson):
    from skfem.models.elasticity import lame_parameters, linear_elasticity

    mesh = skfem.MeshTet().refined(1)
    basis = skfem.Basis(mesh, skfem.ElementVector(skfem.ElementTetP1()))
    A = linear_elasticity(*lame_parameters(1e3, 0.3)).assemble(basis)
    b = np.zeros(basis.N)
    b[basis.nodal_dofs[0, -1]] = 1.0
    D = basis.get_dofs(lambda x: x[0] == 0.0)
    u = skfem.solve(*skfem.condense(A, b, D=D))
    made = pp.adapters.from_skfem(basis, A, b, D=D)
    queries = made.points([[0.5, 0.3, 0.3]], component=2) + made.average(b)
    certificate = pp.certify(made.system, np.zeros(basis.N), queries)
    probe = basis.probes(np.array([[0.5], [0.3], [0.3]])) @ u
    np.testing.assert_allclose(certificate.center, [probe[2], b @ u], rtol=1e-11)
    with pytest.raises(InputError, match="component: must be a number below 3"):
        made.points([[0.5, 0.3, 0.3]])
    with pytest.raises(InputError, match="points: must have 3 coordinates"):
        made.points([[0.5, 0.3]], component=0)
    with pytest.raises(InputError, match=r"points: .*outside the mesh"):
        made.points([[5.0, 0.3, 0.3]], component=0)
    with pytest.raises(InputError, match="exactly one of D= and interior="):
        pp.adapters.from_skfem(basis, A, b)
    with pytest.raises(InputError, match="D: must be degrees of freedom between 0 and"):
        pp.adapters.from_skfem(basis, A, b, D=[10**6])
    with pytest.raises(InputError, match="basis: must be a scikit-fem basis"):
        pp.adapters.from_skfem(mesh, A, b, D=D)


class Comm:
    def __init__(self, size=1):
        self.size = size

    def getSize(self):
        return self.size


class Mat:
    """As much of a PETSc matrix as the adapter asks for."""

    def __init__(self, A, kind="seqaij", size=1):
        self.A, self.kind, self.comm = A.tocsr(), kind, Comm(size)

    def getComm(self):
        return self.comm

    def getType(self):
        return self.kind

    def convert(self, kind):
        return Mat(self.A, f"seq{kind}")

    def getSize(self):
        return self.A.shape

    def getValuesCSR(self):
        assert self.kind == "seqaij"
        return self.A.indptr, self.A.indices, self.A.data


def test_petsc_by_its_looks(poisson):
    A, b = treated(poisson, "rows")
    A = A + 0.0 * poisson.A  # explicit zeros in the identity rows, as PETSc keeps them
    load = SimpleNamespace(array=b)
    old = SimpleNamespace(data=A.tocsr().data, indices=A.tocsr().indices, indptr=A.tocsr().indptr)
    new = SimpleNamespace(to_scipy=lambda: sp.bsr_array(A))
    for matrix in (Mat(A), Mat(A, "seqbaij"), Mat(A, "seqsbaij"), new, old):
        system = pp.adapters.from_petsc(matrix, load, fixed=poisson.D)
        L = np.zeros((1, system.N))
        L[0, poisson.free[3]] = 1.0
        certificate = pp.certify(system, system.space.project(np.zeros(system.N)).U, pp.Queries(L))
        np.testing.assert_allclose(certificate.center, L @ poisson.u, rtol=1e-12)
    with pytest.raises(InputError, match="spread over 4 processes"):
        pp.adapters.from_petsc(Mat(A, size=4), load, fixed=poisson.D)
    with pytest.raises(InputError, match="complex PETSc"):
        pp.adapters.from_petsc(Mat(A.astype(complex)), load, fixed=poisson.D)
    with pytest.raises(InputError, match="A: must be a PETSc matrix"):
        pp.adapters.from_petsc(3, load, fixed=poisson.D)


def grid_of(mesh, **fields):
    """As much of a PyVista grid as the adapter asks for: the cells, and the left side as triangles with a tag."""
    left = mesh.facets("left")
    types = np.concatenate([np.full(len(left), 5), np.full(len(mesh.cells), 10)])
    points = np.concatenate([[[9.0, 9.0, 9.0]], mesh.points])  # one point of no cell
    return SimpleNamespace(
        points=points,
        celltypes=types,
        cells_dict={5: left + 1, 10: mesh.cells + 1},
        cell_data={"gmsh:physical": np.where(types == 5, 3, 8)},
        field_data={"left": np.array([3, 2])},
        point_data={k: np.concatenate([v[:1], v]) for k, v in fields.items()},
    )


def test_pyvista_by_its_looks():
    mesh = pp.io.generate("cube", 2)
    u = np.sin(mesh.points[:, 0])
    grid = pp.adapters.from_pyvista(grid_of(mesh, u=u))
    np.testing.assert_array_equal(grid.mesh.points, mesh.points)
    np.testing.assert_array_equal(grid.values("u"), u)
    assert len(grid.mesh.facets("left")) == len(mesh.facets("left"))
    with pytest.raises(InputError, match=r"group 8 of dimension 3 has no name .* that hold \[8, 3\]"):
        grid.mesh.cells_of("8")
    with pytest.raises(InputError, match="no such point data; it has u"):
        grid.values("v")
    curved = grid_of(mesh)
    curved.celltypes[-3:] = 24
    with pytest.raises(InputError, match="3 cells of VTK type 24; only straight simplices"):
        pp.adapters.from_pyvista(curved)
    with pytest.raises(InputError, match="no cell data 'tag'"):
        pp.adapters.from_pyvista(grid_of(mesh), groups="tag")
    with pytest.raises(InputError, match="grid: must be a PyVista grid"):
        pp.adapters.from_pyvista(mesh)


@pytest.mark.optional
def test_a_grid_of_pyvista_itself_is_read():
    pyvista = pytest.importorskip("pyvista", reason="pip install 'pinnpoint[pyvista]'")
    mesh = pp.io.generate("square", 4)
    cells = np.concatenate([np.full((len(mesh.cells), 1), 3), mesh.cells], axis=1)
    surface = pyvista.PolyData(np.pad(mesh.points, ((0, 0), (0, 1))), faces=cells.ravel())
    surface.point_data["u"] = mesh.points[:, 0]
    grid = pp.adapters.from_pyvista(surface)
    np.testing.assert_allclose(grid.mesh.points, mesh.points, atol=1e-7)
    np.testing.assert_allclose(grid.values("u"), mesh.points[:, 0], atol=1e-7)


def test_scaled_systems_and_solvers_agree(poisson):
    """The load of an eliminated system is taken as it stands."""
    A, b = treated(poisson, "eliminated")
    system = pp.adapters.from_assembled(A, b, poisson.free, values=poisson.x)
    y = spla.spsolve(A.tocsc(), b)
    np.testing.assert_allclose(system.residual(system.space.vector_of(y)), 0.0, atol=1e-14)
