"""Bundles of curved domains: the checker follows the curves itself, and refuses another geometry or other data."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.bent.shapes import said
from pinnpoint.mesh.facets import edge_table
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.middles import Middles
from pinnpoint.mesh.round import ball_mesh, disc_mesh
from pinnpoint.outputs.bundle.curved import bent as written
from pinnpoint.outputs.bundle.files import Writer
from pinnpoint_verify.bent import Bent
from pinnpoint_verify.claims import verify
from pinnpoint_verify.reader import Refused
from tests.soundness.test_bundle_forged import Forger
from tests.support.curved import INNER, OUTWARD, RING, VALUE, ellipse, ring, second_order

RIM = {"rim": pp.Circle((0, 0), 1)}


def outward(M):
    """Mid-side nodes on the two circles of the ring."""
    r = np.hypot(*M.T)[:, None]
    return M / r * np.where(r < 0.6, INNER, 1.0)


def held():
    """Values on both circles."""
    return pp.fem.ReactionDiffusion(
        ring(6, 26), source=f"3*{VALUE}", degree=2, dirichlet={"outer": VALUE, "hole": VALUE}, geometry=RING
    )


def exchanged():
    """Fluxes through the outer circle, an exchange through the inner one."""
    return pp.fem.ReactionDiffusion(
        ring(6, 26),
        source=1.0,
        degree=2,
        dirichlet={},
        neumann={"outer": OUTWARD},
        robin={"hole": (2.0, "1 + x")},
        geometry=RING,
    )


def varying():
    """Coefficients that vary, linear elements."""
    more = {"diffusion": "1 + x/2", "reaction": "1 + y**2"}
    return pp.fem.ReactionDiffusion(disc_mesh(5), source="1 + x*y", geometry=RIM, **more)


def level():
    """An ellipse by a formula."""
    shape = pp.LevelSet("x**2 + y**2/0.36 - 1")
    return pp.fem.ReactionDiffusion(ellipse(6, 1.0, 0.6), source="x + 2", degree=2, geometry={"rim": shape})


def bent():
    """A second-order mesh."""
    return pp.fem.ReactionDiffusion(second_order(ring(6, 26), outward), source="1 + x", reaction=2.0, degree=2)


AT = {held: [[0.6, 0.2], [0.36, 0.0]], exchanged: [[0.6, 0.2]], varying: [[0.1, 0.2], [0.85, 0.2]]}
AT |= {level: [[0.1, 0.2], [0.9, 0.1]], bent: [[0.6, 0.2], [0.34, 0.0]]}


def bundle(folder, problem, queries, **more):
    """A bundle of a prediction that is zero inside."""
    certificate = pp.certify(problem, problem.space.U0, queries, **more)
    pp.write_bundle(folder, certificate, problem, problem.space.U0, queries)
    return certificate


@pytest.mark.parametrize("make", AT)
def test_curved_domains_are_proved_again(tmp_path, make):
    """Points, one of them in a bent cell, and the mean of the domain."""
    problem = make()
    certificate = bundle(tmp_path / "b", problem, problem.points(AT[make]) + problem.mean())
    lines = verify(tmp_path / "b")
    assert sum(": proved " in line for line in lines) == len(certificate.names)
    assert any(line.startswith("declared: ") and "cover the curved domain once" in line for line in lines)


@pytest.mark.parametrize("make", AT)
def test_the_discrete_system_of_a_curved_domain_is_proved_again(tmp_path, make):
    problem = make()
    queries = problem.points(AT[make]) + problem.mean()
    certificate = bundle(tmp_path / "b", problem, queries, target="discrete")
    lines = verify(tmp_path / "b")
    assert sum(": proved " in line for line in lines) == len(certificate.names)
    assert ("declared: A, of a curved domain" in "".join(lines)) == (make is exchanged)


@pytest.mark.slow
def test_balls_by_description_and_of_second_order_are_proved_again(tmp_path):
    mesh = ball_mesh(4)
    (group,) = mesh.facet_groups
    sphere = pp.fem.ReactionDiffusion(mesh, source="1 + x", geometry={group: pp.Sphere((0, 0, 0), 1)})
    edges = edge_table(mesh.boundary, len(mesh.points))[0]
    middle = mesh.points[edges].mean(axis=1)
    middle = middle / np.sqrt((middle**2).sum(axis=1))[:, None]
    round_ = Mesh(mesh.points, mesh.cells, middles=Middles(edges, middle))
    for k, problem in enumerate((sphere, pp.fem.ReactionDiffusion(round_, source="1 + x"))):
        bundle(tmp_path / f"b{k}", problem, problem.points([[0.2, 0.1, 0.3]]) + problem.mean())
        verify(tmp_path / f"b{k}")


def refused(folder, tmp_path, change):
    """A copy that is changed, hashes and all, is refused."""
    copy = tmp_path / "forged"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    forger = Forger(copy)
    change(forger)
    forger.seal()
    with pytest.raises(Refused) as why:
        verify(copy)
    assert "SHA" not in str(why.value)


@pytest.fixture(scope="module")
def mean_of(tmp_path_factory):
    """Bundles of the mean alone, to be forged in copies."""
    made = {}

    def folder(make):
        if make not in made:
            made[make], problem = tmp_path_factory.mktemp(make.__name__) / "b", make()
            bundle(made[make], problem, problem.mean())
            assert verify(made[make])
        return made[make]

    return folder


def test_another_curve_or_other_data_are_refused(tmp_path, mean_of):

    def larger(case):
        case["geometry"]["hole"]["radius"] = 0.3001

    def moved(case):
        case["geometry"]["hole"]["circle"] = [1e-4, 0.0]

    def fewer(case):
        del case["geometry"]["outer"]

    def other(case):
        case["problem"]["source"] = f"3.001*{VALUE}"

    for change in (larger, moved, fewer, other):
        refused(mean_of(held), tmp_path, lambda forger, change=change: forger.json("case.json", change))

    def both(forger):  # the physics of case and proof alike
        forger.json("case.json", other)
        forger.json("proof.json", lambda proof: proof.update(source=f"3.001*{VALUE}"))

    refused(mean_of(held), tmp_path, both)


@pytest.mark.parametrize("make", [held, bent])
def test_other_directions_edges_or_models_are_refused(tmp_path, make, mean_of):
    def tilted(D):
        D[0] = 1.5 * D[0] if make is bent else D[0] + 0.1 * D[0, ::-1]
        return D

    def lost(forger):
        for name in ("edges", "direction", *(("group",) if make is held else ())):
            forger.array(f"bent/{name}", lambda a: a[1:])

    refused(mean_of(make), tmp_path, lambda forger: forger.array("bent/direction", tilted))
    refused(mean_of(make), tmp_path, lost)
    for name in ("medium/a00_beta", "source/f_beta"):
        refused(mean_of(make), tmp_path, lambda forger, name=name: forger.array(name, lambda a: 1.01 * a))
    if make is held:
        refused(mean_of(make), tmp_path, lambda forger: forger.array("medium/a00_error", lambda a: 0.0 * a))


@pytest.mark.parametrize("make", [held, bent])
def test_the_discrete_system_is_that_of_the_case_and_of_its_curves(tmp_path, make):
    """Another A, b or map than those of the case are refused: each entry is compared, and the curves are followed."""
    problem = make()
    bundle(tmp_path / "b", problem, problem.mean(), target="discrete")
    assert verify(tmp_path / "b")

    def said(word, what):
        return lambda forger: forger.json("case.json", lambda case: case["problem"].update({word: what}))

    def larger(forger):
        forger.json("case.json", lambda case: case["geometry"]["hole"].update(radius=0.3001))

    def straight(forger):  # with the geometry, without the map
        forger.json("proof.json", lambda proof: proof.pop("bent"))

    def turned(forger):
        forger.array("bent/direction", lambda D: 1.01 * D if make is bent else D + 0.1 * D[:, ::-1])

    changes = [straight, turned, said("source", "1.001 + x"), said("diffusion", 1.001), said("reaction", 2.01)]
    for change in [*changes, *([larger] if make is held else [])]:
        refused(tmp_path / "b", tmp_path, change)


def test_what_has_no_witnesses_is_said(tmp_path):
    problem = exchanged()
    queries = problem.patch("outer")
    certificate = pp.certify(problem, problem.space.U0, queries)
    with pytest.raises(pp.InputError, match="on curved domains the checker knows"):
        pp.write_bundle(tmp_path / "b", certificate, problem, problem.space.U0, queries)


@pytest.mark.parametrize("name", ["ring", "ball"])
def test_two_programs_have_the_same_map(tmp_path, name):
    if name == "ring":
        problem, close = held(), 1e-9
    else:
        mesh = ball_mesh(4)
        (group,) = mesh.facet_groups
        problem = pp.fem.ReactionDiffusion(mesh, source=1.0, geometry={group: pp.Sphere((0, 0, 0), 1)})
        close = 5e-3  # cells are bent by polynomials of low degree in space
    out = Writer(tmp_path / "b")
    about = written(out, problem)
    out.close({"id": "", "versions": {}})
    cells = np.sort(problem.mesh.cells, axis=1)
    data = {path.stem: np.load(path) for path in (tmp_path / "b" / "bent").glob("*.npy")}
    geometry = {group: said(shape) for group, shape in problem.bending.geometry.items()}
    held_ = lambda key, *_, **__: data[key.removeprefix("bent/")]  # noqa: E731
    own = Bent(held_, about, {"geometry": geometry}, problem.mesh.points, cells)
    bary = np.random.default_rng(5).dirichlet(np.ones(cells.shape[1]), 7)
    X = np.einsum("qi,nik->nqk", bary, problem.mesh.points[cells])
    Y, J = own.at(X, np.arange(len(cells)))
    Z, K, _ = problem.bending.bends.moved(X.reshape(-1, X.shape[2]))
    assert np.abs(Y.reshape(Z.shape) - Z).max() < close
    assert np.abs(J.reshape(K.shape) - K).max() < 30.0 * close
    step = 1e-6 * np.eye(X.shape[2])  # and its slopes are those of its values
    rise = [(own.at(X + e, np.arange(len(cells)))[0] - own.at(X - e, np.arange(len(cells)))[0]) / 2e-6 for e in step]
    assert np.abs(np.stack(rise, axis=-1) - J).max() < 1e-5


NARROW = "exp(-((x-0.8)**2+(y-0.6)**2)/1e-10)"
WAVES = {"source": "sin(3*x)+abs(x-0.9)+sqrt(1.01-x)", "diffusion": "1+0.3*x", "dirichlet": "x*y+x**2+y**2-1"}


@pytest.mark.parametrize("key", WAVES)
def test_what_samples_on_bent_cells_do_not_see_is_refused(tmp_path, key):
    """Formulas there stay declared; an honest one may have kinks, and be zero on the curve but for rounding."""
    disc = disc_mesh(3)
    curves, rims = {g: pp.Circle((0, 0), 1) for g in disc.facet_groups}, WAVES["dirichlet"]
    p = pp.fem.ReactionDiffusion(disc, **WAVES | {"dirichlet": dict.fromkeys(curves, rims)}, geometry=curves)
    found = pp.certify(p, p.space.U0, p.points([[0.3, 0.2]]), target="continuous")
    f = Forger(pp.write_bundle(tmp_path / "b", found, p, p.space.U0, p.points([[0.3, 0.2]])))
    if key == "source":
        assert verify(f.folder)
    for path in f.folder.glob("*.json"):
        path.write_text(path.read_text().replace(f'"{WAVES[key]}"', f'"{WAVES[key]}+1e9*{NARROW}"'))
    f.seal()
    with pytest.raises(Refused, match="varies too fast for samples to see"):
        verify(f.folder)
