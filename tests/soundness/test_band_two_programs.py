"""The checker proves E and the band again, from arrays alone, and refuses what is claimed too small."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.fem.corrected import solved
from pinnpoint.transfer.everywhere.l2 import l2_error
from pinnpoint.transfer.everywhere.local_band import left_over, local
from pinnpoint.transfer.everywhere.residual import source_norms
from pinnpoint_verify import band, checker
from pinnpoint_verify.claims import main as verified
from pinnpoint_verify.reader import Refused


class Arrays(dict):
    """A bundle's arrays, by name."""

    def __call__(self, name, *shape, **more):
        return self[name]


CASES = {
    "line": ("interval", 10, 1, {"source": "exp(x)"}),
    "plane": ("square", 6, 1, {"source": "exp(x)*sin(3*y)"}),
    "quadratic": ("square", 5, 2, {"source": "exp(x)*sin(3*y)", "reaction": 4.0}),
    "lshape": ("lshape", 3, 1, {"source": "1 + x"}),
    "mixed": ("square", 6, 1, {"source": "1", "dirichlet": {"left": 0.0}, "neumann": {"right": "y"}}),
    "mixed corner": ("lshape", 5, 1, {"source": "1", "dirichlet": dict.fromkeys(("left", "bottom", "reentrant"), 0.0)}),
    "space": ("cube", 2, 1, {"source": "1 + x*y*z"}),
    "jump": ("square", 6, 1, {"source": "1"}),
}


def both(name):
    """A problem's own solution in one program, and its arrays in the other."""
    kind, n, degree, given = CASES[name]
    mesh = pp.io.generate(kind, n)
    if name == "jump":
        given = {**given, "diffusion": np.where(mesh.points[mesh.cells].mean(axis=1)[:, 0] > 0.5, 100.0, 1.0)}
    problem = pp.fem.ReactionDiffusion(mesh, degree=degree, **given)
    setting = solved(problem)
    model, side = setting.model, setting.side
    bundle = Arrays(
        {
            "mesh/nodes": problem.nodes.points,
            "mesh/cells": np.sort(mesh.cells, axis=1),
            "continuous/kappa": model.kappa,
            "continuous/reaction": model.reaction,
            "continuous/cubic": np.zeros(len(model.kappa)),
            "continuous/kind": model.kind,
            "continuous/state": side.nodal,
            "continuous/flux": side.flux,
        }
    )
    parts = [("source/f", side.source, np.arange(len(model.kappa)))]
    parts += [] if side.load is None else [("source/g", side.load.density, side.load.facets)]
    for key, what, at in parts:
        order = np.argsort(at)
        bundle[f"{key}_at"], bundle[f"{key}_beta"] = at[order], what.coefficients[order]
        bundle[f"{key}_rest"] = np.stack([what.high, what.error1, what.error2], axis=1)[order]
    return setting, bundle


def proved(bundle, degree):
    """The checker's side, measured, with its residual against linear elements."""
    mesh = checker.Mesh(bundle, degree)
    p = checker.Side(bundle, mesh, "continuous/state", "source/f", "source/g", "continuous/flux")
    residual = band.Residual(p)
    for g in mesh.parts():
        p.measure(g)
        residual.measure(g)
    p.finish()
    return p, residual


@pytest.mark.parametrize("name", CASES)
def test_the_error_in_the_mean_is_proved_again(name):
    setting, bundle = both(name)
    found = l2_error(setting)
    p, residual = proved(bundle, CASES[name][2])
    M = found.constant
    said = {"shift": M.shift, "penalty": M.penalty, "eigenvalue": M.eigenvalue, "error": found.value}
    assert band.mesh_constant(p.mesh, said) == pytest.approx(M.value, rel=1e-9)
    assert band.mean_error(p, residual, said) == found.value
    p, residual = proved(bundle, CASES[name][2])
    with pytest.raises(Refused, match="in the mean"):
        band.mean_error(p, residual, said | {"error": 0.9999 * (found.value - found.defect)})
    if name in ("plane", "quadratic", "mixed"):  # convex, by a closed form
        assert (M.shift, M.eigenvalue) == (0.0, 0.0)
    elif setting.model.d > 1:
        with pytest.raises(Refused, match="no eigenvalue"):
            band.mesh_constant(p.mesh, said | {"shift": 0.0, "eigenvalue": 0.0})
        with pytest.raises(Refused, match="eigenvalue"):
            band.mesh_constant(p.mesh, said | {"eigenvalue": 1.001 * M.shift})
        with pytest.raises(Refused, match=r"positive pivots|eigenvalue"):
            band.mesh_constant(p.mesh, said | {"shift": 1.2 * M.shift, "eigenvalue": 1.1 * M.shift})


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("lifted", [False, True])
def test_the_band_is_proved_again_with_the_stored_radii(name, lifted):
    """Never above what was found, and not far below: neighbourhoods there are smaller, by distances."""
    if name == "mixed":
        pytest.skip("Neumann data are turned into fields first")
    if lifted and name == "mixed corner":
        pytest.skip("balls of the radii tried meet free sides")
    setting, bundle = both(name)
    model = setting.model
    (found,) = (left_over if lifted else local)(setting)
    norms = source_norms(model, setting.side.source) if lifted else setting.norms
    p, _ = proved(bundle, CASES[name][2])
    top = np.zeros(p.mesh.C)
    if lifted:  # |u_h| on each cell
        nodal = p.nodal[p.mesh.nodes_of(p.mesh.cells)]
        top = checker.up(checker.quadratic(nodal, p.mesh.d, p.mesh.degree)[0].top.max(axis=(1, 2)))
    given = band.Norms(norms.volume, norms.peak, norms.means, norms.density, top)
    radii, which = np.array(found.numbers["radii"]), np.array(found.numbers["radius"])
    again = band.band(p.mesh, given, found.numbers["error"], radii, which)
    fine = np.isfinite(found.bounds)
    assert np.all(np.isfinite(again[fine]))
    assert np.all(again[fine] <= found.bounds[fine] * (1.0 + 3e-10))
    assert np.median(again[fine] / found.bounds[fine]) > 0.5


def test_radii_that_are_none_are_refused():
    p, _ = proved(both("plane")[1], 1)
    zero = np.zeros(p.mesh.C)
    given = band.Norms(zero, zero, np.zeros((3, p.mesh.C)), zero, zero)
    for radii, which in (([math.nan], zero), ([-1.0], zero), ([0.1], zero + 1), ([0.1], zero[1:])):
        with pytest.raises(Refused, match="radius"):
            band.band(p.mesh, given, 1.0, np.array(radii), np.asarray(which, dtype=int))


@pytest.mark.parametrize("name", ["line", "quadratic"])
def test_bundles_of_bands_are_verified(name, tmp_path, capsys):
    """On a line there is no eigenvalue to prove; what a bundle cannot hold yet is said."""
    kind, n, degree, given = CASES[name]
    problem = pp.fem.ReactionDiffusion(pp.io.generate(kind, n), degree=degree, **given)
    U, queries = np.array(problem.space.U0), problem.everywhere()
    certificate = pp.certify(problem, U, queries)
    assert certificate.details["routes"] == {"everywhere": "band"}
    pp.write_bundle(tmp_path / "b", certificate, problem, U, queries)
    assert verified(tmp_path / "b") == 0
    asked = problem.maximum()
    with pytest.raises(pp.InputError, match="checker"):
        pp.write_bundle(tmp_path / "c", pp.certify(problem, U, asked), problem, U, asked)
    capsys.readouterr()
