"""What a bundle claims, against what its witnesses prove: the verdict."""

from __future__ import annotations

import math
import sys
import warnings
import zipfile
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint_verify.agreement import (
    SMALL,
    base_point,
    given_agrees,
    goals_agree,
    not_above_energies,
    prediction_agrees,
    sensitivities_agree,
    state_agrees,
)
from pinnpoint_verify.assumptions import assumptions_agree
from pinnpoint_verify.averages import bare, reach
from pinnpoint_verify.box_claims import verify_box
from pinnpoint_verify.checker import DIRICHLET, Discrete, Mesh, Query, Side, energy, up
from pinnpoint_verify.coefficients import proved_models
from pinnpoint_verify.comparison import compared
from pinnpoint_verify.cubics import Norms
from pinnpoint_verify.derived import derived_agree
from pinnpoint_verify.equations import equation_agrees
from pinnpoint_verify.everywhere import Worst, boundary_proved, raised
from pinnpoint_verify.fields import lines as declared_lines
from pinnpoint_verify.functionals import functionals_agree
from pinnpoint_verify.gaps import missed
from pinnpoint_verify.inputs import Held, inputs_agree
from pinnpoint_verify.lengths import EXTREMES, WHOLE, Lengths
from pinnpoint_verify.lines import on_a_line
from pinnpoint_verify.operators import check
from pinnpoint_verify.own import wanted
from pinnpoint_verify.paths import coercive
from pinnpoint_verify.point_kernels import sizes_of
from pinnpoint_verify.raised import Raised
from pinnpoint_verify.raised_space import RaisedSpace
from pinnpoint_verify.reactions import Reaction
from pinnpoint_verify.reader import Bundle, Refused, larger, need, smaller
from pinnpoint_verify.reduced import Reduced
from pinnpoint_verify.robin import is_robin
from pinnpoint_verify.rows import ALONE, Row, near, rows_agree
from pinnpoint_verify.samples import Samples
from pinnpoint_verify.sides import FreeData
from pinnpoint_verify.slab_claims import verify_slabs
from pinnpoint_verify.solid_claims import solid
from pinnpoint_verify.solid_lifts import kept_agrees
from pinnpoint_verify.spectrum import Spectrum
from pinnpoint_verify.steps import stepped_bounds
from pinnpoint_verify.systems import Found
from pinnpoint_verify.varying import VariedSide, is_supported, sunk

COMMON = {"target", "method", "radius_terms", "components", "degree", "weighted"}
CONTINUOUS = {"goals", "lift", "source", "range", "mismatch", "raised", "dirichlet", "neumann"}
ELASTIC = {"goals", "solid"}
COERCIVE = {"coercivity"}
"""Keys of proof.json."""
LOOSE = ("quadrature", "boundary", "rounding")
"""Terms of a radius that count what was not known of data; here they may be much smaller."""
TIMELESS = (
    "inputs: the bundle of {} stores no names or SHA-256 of files, so that nothing can be compared: verify it "
    "without --inputs; the case and the mesh, as stored, are then declared"
)
FILES = "mesh and prediction are those of the files named under inputs"
WEIGHTS = "the weights of the network, as stored, are those of the file named under inputs"


def continuous(
    bundle: Bundle, proof: Row, case: Row, rows: list[Row], d: Discrete
) -> tuple[list[Any], list[str], list[str], list[str], int]:
    """J(u) of every query from the stored states and fluxes and the case's data; what there is nothing to compare with.

    Then data and densities of which what is stored was used, and how many lower bounds of coefficients are declared.
    """
    models = partial(proved_models, bundle, proof["medium"], wanted(rows)) if "medium" in proof else None
    mesh = Mesh(bundle, int(proof["degree"]), models)
    need(
        ("spectrum" in proof) == bool(np.any(mesh.c < 0.0)), "spectrum: of a reaction that is nowhere negative, or none"
    )
    spectrum = Spectrum(mesh, proof["spectrum"]) if "spectrum" in proof else None
    plain = not np.any(mesh.cubic) and not any(goal["compared"] for goal in proof["goals"])
    mesh.reaction = Reaction(bundle, mesh, proof, case) if "reaction" in proof else None
    bent = mesh.reaction is not None or bool(np.any(mesh.cubic))
    need(spectrum is None or (plain and not bent), "spectrum: no theorem for such problems")
    samples = Samples(bundle, mesh, proof, case)
    goals = goals_agree(rows, proof, case, mesh, samples.harmonic)
    samples.system(d, rows)
    samples.prediction(d, rows, goals)
    varied = mesh.medium is not None
    need(varied == ("medium" in proof), "medium: of coefficients that are constant on cells, or none")
    if varied:
        is_supported(mesh, proof)
    side = VariedSide if varied else Side
    p = side(bundle, mesh, "continuous/state", "source/f", "source/g", "continuous/flux")
    samples.prove(p, rows)
    held = np.unique(mesh.nodes_of(mesh.facets[mesh.kind == DIRICHLET]))
    asked, loose = dict[int, Query](), list[str]()
    for i, (row, goal) in enumerate(zip(rows, goals, strict=True)):
        if goal["acts"]:
            lift, flux = np.zeros(mesh.size), goal["kind"] == "flux"
            part = bundle(f"dual/facets{i}", None, whole=len(mesh.facets)) if flux else np.zeros(0, dtype=int)
            flux = flux and not is_robin(p, part)  # through a Robin group it is ∫ g − αu
            need(not (flux and bent), f"{row['name']!r}: no theorem for fluxes of such problems")
            if flux:
                others = np.setdiff1d(np.nonzero(mesh.kind == DIRICHLET)[0], part)
                apart = not np.isin(mesh.facets[part], mesh.facets[others]).any()
                need(np.all(mesh.kind[part] == DIRICHLET) and apart, f"{row['name']!r}: not a whole Dirichlet part")
                lift[mesh.nodes_of(mesh.facets[part])] = 1.0
            asked[i] = Query(bundle, p, i, flux)
            same = np.array_equal(asked[i].z.nodal[held], lift[held])
            need(same, f"{row['name']!r}: the dual state has other boundary values")
            group = goal["kind"] in ("patch", "flux") or bare(goal)
            fits = (goal["radius"] is None) == (group or asked[i].z.load is not None)
            need(fits, f"{row['name']!r}: a ball where there is none, or none where there is one")
            need(not flux or asked[i].z.load is None, f"{row['name']!r}: a flux has no load")
            samples.prove_point(i, asked[i], goal, row)
            if varied and bent and goal["radius"] is not None:
                goal["height"], goal["stretch"] = sizes_of(samples.kernel(i, goal, row), row["name"])
            if mesh.reaction is not None:
                need(asked[i].phi is not None, f"{row['name']!r}: no kernel is stored")
                mesh.reaction.join(asked[i], row["name"])
        if goal["kind"] not in WHOLE:
            samples.prove_constant(i, asked.get(i), goal, row)
        if goal["acts"]:
            dense = goal["radius"] is not None or (bare(goal) and goal["kind"] != "cells")
            loose += [repr(row["name"])] if dense and i not in samples.proved else []
    whole = [i for i, goal in enumerate(goals) if goal["kind"] in WHOLE]
    other = any(goal["compared"] for goal in goals) or proof["raised"] is not None  # robin.md, step 7d
    need(mesh.pairs is None or not (whole or other), "mesh/pair: no theorem for such queries or equations")
    lengths, worst, given = Lengths(p), Worst(p, spectrum), np.zeros(mesh.size) if proof["lift"] is not None else d.U
    for g in mesh.parts():
        p.measure(g)
        if whole:
            worst.measure(g, given)
            lengths.measure(g, given)
        samples.primal(p, g)
        for i, query in asked.items():
            query.measure(g)
            samples.dual(i, query, g, goals[i], rows[i])
    p.finish()
    norms: Any = Norms(p) if np.any(mesh.cubic) else None
    norms = norms if mesh.reaction is None else mesh.reaction.norms(p, energy(p), samples.source)
    kind = Raised if mesh.d == 2 else RaisedSpace
    extended = kind(bundle, p, proof["raised"]) if proof["raised"] is not None else None
    mismatch, found = samples.boundary(p, extended), []
    own = (energy(p), spectrum.defect(p)) if spectrum is not None else (0.0, 0.0)
    if whole:
        worst.free = FreeData(p, samples.free, samples.coefficients())
        changed, eta = worst.falls(*own, mismatch), energy(p)
    for i, (row, goal) in enumerate(zip(rows, goals, strict=True)):
        best = (goal["constant"], goal["error"]) if goal["known"] else (0.0, math.inf)
        if i in asked:
            turned = None if spectrum is None else _turned(spectrum, own)
            if goal["raised"]:
                need(extended is not None and norms is None and turned is None, f"{row['name']!r}: no lifted data")
                assert extended is not None
                best = extended.bound(asked[i], goal)
            else:
                with np.errstate(over="ignore"):  # what is too large is infinite, and proves nothing
                    best = asked[i].bound(norms, goal, turned)
        if mesh.d == 1 and goal["kind"] == "point" and not goal["known"] and not varied:
            line = on_a_line(p, float(goal["at"][0]))
            line = line if spectrum is None else (line[0], float(up(spectrum.gain * line[1])))
            best = smaller(best, line, key=lambda b: b[1])
        if i in whole:
            if goal["kind"] == "everywhere":
                boundary_proved(samples, goal, given, row)
                found.append(worst.interval(bundle, given, changed, goal))
            elif goal["kind"] in EXTREMES:
                need(proof["lift"] is None, f"{row['name']!r}: of the whole solution, and a prediction was lifted")
                found.append(worst.extreme(bundle, changed, goal))
            else:
                error = eta if spectrum is None else spectrum.error(*own)
                error = worst.length(goal["mean"], eta, own[1]) if goal["kind"] == "l2-error" else error
                found.append(lengths.interval(goal["kind"], error, changed, row["name"]))
            continue
        best = compared(p, proof, goal, best)
        samples.goal(i, asked.get(i), p, goal, row)
        kept = goal.get("own") or [0.0, 0.0]  # of a prediction that was kept unprojected
        loss = 2.0**-52 * (abs(kept[0]) + abs(best[0]) * (kept[0] != 0.0))
        if spectrum is None:
            own_ends = extended is not None and goal["raised"]
            if own_ends and isinstance(extended, RaisedSpace) and goal["kind"] == "flux" and asked[i].sign < 0.0:
                moved = extended.through(asked[i])
            else:
                moved = missed(asked.get(i), p, goal, extended.ends if extended is not None and own_ends else mismatch)
            if varied and moved and i in asked and asked[i].sign > 0.0 and not mesh.medium.positive():
                moved = sunk(asked[i], mismatch)
            moved *= reach(asked[i], mesh) if goal["kind"] == "gradient" and moved else 1.0
        else:
            moved = spectrum.missed(asked.get(i), p, goal, mismatch, energy(asked[i].z) if i in asked else 0.0)
        radius = float(up(best[1] + kept[1] + moved + loss))
        found.append((best[0] + kept[0], radius))
    densities = _named(loose)
    return raised(found, goals), samples.blind, samples.unproved, densities, mesh.medium.loose if varied else 0


def _named(loose: list[str]) -> list[str]:
    """Densities and data terms that are taken as stored."""
    names = ", ".join(loose[:5]) + (f" and {len(loose) - 5} more" if len(loose) > 5 else "")
    return [f"densities and ∫fΦ of {names}"] if loose else []


def _turned(spectrum: Spectrum, own: tuple[float, float]) -> Any:
    """Bounds of the indefinite form from those of its definite part."""
    return lambda low, high, eta_p, eta_d, z: spectrum.ends(low, high, (eta_p, own[1]), (eta_d, spectrum.defect(z)))


def holds(row: Row, c: float, radius: float) -> str:
    """The claimed interval holds the one proved here, as a line; 1e-9 is allowed where rounding is not covered."""
    rounded = row["rounding"] == "covered"
    slack = 0.0 if rounded else 1e-9 * abs(c) + 1e-12 * abs(row["value"]) + SMALL
    low, high = math.fsum([c, -radius, slack, -row["lower"]]), math.fsum([row["upper"], -c, -radius, slack])
    line = f"{row['name']!r}: [{row['lower']!r}, {row['upper']!r}] is claimed, {c!r} ± {radius!r} is proved"
    need(math.isfinite(radius) and low >= 0.0 and high >= 0.0, line)
    line = f"{row['name']}: proved {c!r} ± {radius:.3e}; claimed [{row['lower']!r}, {row['upper']!r}]"
    return line if rounded else f"{line}, up to {slack:.1e} of rounding that is not covered"


def compared_with(system: Found, seen: set[str]) -> list[str]:
    """What of the discrete system was compared with the case, and what was not, nor with files."""
    blind = [what for what in system.blind if what not in seen]
    said = [f"{', '.join(blind)}: not compared with the case"] if blind else []
    return [f"the quadrature rules that define b ({'; '.join(system.rules)})", *said] if system.rules else said


def declarations(
    certificate: Row, case: Row, proof: Row, rows: list[Row], blind: list[str], loose: int, data: list[str]
) -> list[str]:
    """What the verdict rests on that is not proved here; `data` of which the stored bounds were used."""
    discrete = proof["target"] == "discrete"
    said = ["A, b and ℓ, as stored, are the discrete system and queries of the case"]
    if "reduction" in proof:
        said = ["A, b, Z, U₀, W and ℓ, as stored, are the discrete system and queries of the case"]
    if certificate.get("inputs"):
        said.append(FILES)
    if "solid" in proof:
        said.append("the mesh, E, ν and groups of facets and cells, as stored, belong to the case")
        said.append(", ".join(["densities of balls and ∫f·Φ", *data]) + " (compared with samples)")
    elif not discrete:
        said.append("the mesh, κ, c and groups of facets, as stored, belong to the case")
        said += [f"{', '.join(data)} (compared with samples)"] if data else []
    if loose:
        words = "lower bounds of A, c − ½∇·b or b·n on {} cells, whose models are too coarse (compared with samples)"
        said.append(words.format(loose))
    if case["problem"].get("convection") is not None and any(row["kind"] == "flux" for row in rows):
        said.append("ℓ of fluxes, which the interval does not rest on: not compared with the case")
    if blind:
        said.append(f"{', '.join(sorted(set(blind)))}: there was nothing to compare with")
    if proof.get("lift"):
        if "solid" in proof or proof["lift"]["kind"] == "opaque":
            said.append(
                "value and residual of the prediction that was lifted (compared with samples, where it is stored)"
            )
        kinds = [proof["lift"], *proof["lift"].get("parts", [])]
        if any(one["kind"] == "network" for one in kinds) and certificate.get("inputs"):
            said.append(WEIGHTS)
    if any(row["raw"] is not None for row in rows):
        said.append("raw values are the model's own")
    if proof["weighted"]:
        said.append("residual norms and sensitivities in the weight that was chosen")
    elif not discrete or proof["method"] == "stationary":
        said.append("sensitivities, and the terms that a radius is split into")
    if any(row["rounding"] != "covered" for row in rows):
        said.append("rounding is negligible; claims may be narrower than proved by 1e-9 of the value")
    if any(row["guarantee"] == "estimate" for row in rows):
        said.append("error bounds of data that are estimates")
    how = proof.get("coercivity", {})
    if how.get("how") == "declared":
        alpha = f"{float(how['alpha']):.6e}"
        known = any(alpha in str(one["claim"]) for one in certificate["assumptions"])
        need(known, f"coercivity: the certificate does not speak of {alpha}")
        said.append(
            f"coercivity {alpha} is taken from the certificate and was not proved again, only compared with the "
            "energies of the stored vectors"
        )
    return said


def verify(path: Any, inputs: Any = None) -> list[str]:
    """Lines of the report; raises `Refused` with the line that fails.

    With `inputs`, a folder, the files that the certificate names are held against the bundle.
    """
    bundle = Bundle(path)
    for name in ("certificate.json", "case.json", "proof.json"):
        need(name in bundle.json, f"{name}: is missing")
    certificate, case, proof = (bundle.json[n] for n in ("certificate.json", "case.json", "proof.json"))
    named = [f"certificate: {bundle.identity()}"]
    need("unsupported" not in proof, f"proof.json: this certificate cannot be re-checked, {proof.get('unsupported')}")
    if isinstance(case.get("problem"), dict) and case["problem"].get("kind") == "box":
        need(inputs is None, TIMELESS.format("a box"))
        need(bundle.versions == certificate.get("versions"), "manifest.json: other versions than in the certificate")
        return named + verify_box(bundle, certificate, case, proof)
    if "runs" in proof:
        need(inputs is None, TIMELESS.format("a solution in time"))
        need(bundle.versions == certificate.get("versions"), "manifest.json: other versions than in the certificate")
        return named + verify_slabs(bundle, certificate, case, proof)
    names = [str(query["name"]) for query in case["queries"]]
    printed = [line for name, data in bundle.json.items() for line in declared_lines(name, data, names)]
    need(bundle.versions == certificate.get("versions"), "manifest.json: other versions than in the certificate")
    need(proof["target"] in ("continuous", "discrete"), "proof.json: unknown target")
    own = ELASTIC if "solid" in proof else CONTINUOUS if proof["target"] == "continuous" else COERCIVE
    also = {"spectrum", "medium", "bent", "reaction"} & proof.keys() if own is CONTINUOUS else set()
    also = {"lift"} if own is ELASTIC and case["certificate"]["lift"] else also
    also = also | ({"arcs"} & proof.keys() if own is ELASTIC else set())
    also = {"reduction", "bent"} & proof.keys() if proof["target"] == "discrete" else also
    need(proof.keys() == COMMON | own | also, "proof.json: a key is missing, or belongs to another target")
    equation_agrees(bundle, case, proof)
    straight = not {"bent", "arcs"} & proof.keys()
    straight = straight and (own is not COERCIVE or proof["components"] == 1)  # the matrix of a solid is the mesh's
    need(not (straight and case.get("geometry")), "case.json: curves, and a proof for the straight mesh")
    need(isinstance(proof.get("lift"), dict | None), "proof.json: no account of what was lifted")
    need(own is not ELASTIC or proof["target"] == "continuous", "proof.json: a solid of the discrete target")
    fits = own is CONTINUOUS or own is ELASTIC or not case["certificate"]["lift"]
    need(fits, "case.json: a lift of the discrete target")
    filed = "prediction" in case and case["certificate"].get("weighted", False)
    need(not filed, "case.json: a weight, which case files do not have")
    fits = type(proof["degree"]) is int and proof["weighted"] is case["certificate"].get("weighted", False)
    need(fits, "proof.json: a wrong degree, or a weight that the case does not have")
    cells, nodes = (bundle.arrays.get(f"mesh/{k}", np.zeros((0, 0))) for k in ("cells", "nodes"))
    rows, blind, weak = rows_agree(certificate, case, proof, len(cells), nodes.shape[1]), list[str](), 0
    data: list[str] = []
    loose = [0.0] * len(rows)
    d = Reduced(bundle, len(rows), proof["reduction"]) if "reduction" in also else Discrete(bundle, len(rows))
    system = functionals_agree(bundle, d, rows, case, proof)
    base = base_point(d, case)
    state_agrees(d, rows, proof, bundle, base)
    prediction_agrees(d, rows, case, proof, bundle)
    given_agrees(d, rows, proof, bundle)
    lines = ["every file has its SHA-256, dtype, shape and finite numbers"]
    lines.append("value, residual norm, dofs and points of one compatible set A, b, ℓ, U; sums of the terms")
    if own is ELASTIC:
        found, blind, loose, data = solid(bundle, proof, case, rows)
        if "lift" in also:
            kept_agrees(bundle, proof, d, rows, case)
        lines.append(
            "stresses in H(div) by representation; tables in integers, equilibrium, oscillation, product bound"
        )
    elif proof["target"] == "continuous":
        found, blind, data, densities, weak = continuous(bundle, proof, case, rows, d)
        lines.append("fluxes in H(div) by representation; divergence, means, oscillation, product bound")
        if not data and proof["lift"] is None:
            lines.append("bounds of the data on all cells and facets, from the case's formulas")
        data = data + densities
    else:
        green = bundle("witness/green", len(rows), len(d.free))
        if d.w.size:  # at the base point
            green = bundle("witness/base", len(rows), len(d.free))
            d.adjoint(green, base, "base")
        how = proof["coercivity"]
        by_steps = how["how"] == "steps"
        known = coercive(bundle, d, proof) if how["how"] == "paths" else None
        found = stepped_bounds(bundle, d, how)[0] if by_steps else d.bounds(bundle, proof, known)
        if not proof["weighted"]:
            start = d.L @ base + d.constants
            tall = isinstance(d, Reduced) and d.tall
            tested = d.tested(green) if isinstance(d, Reduced) else green
            sensitivities_agree(tested, rows, proof["method"], case, float(how["alpha"]), start, tall)
        if how["how"] == "declared":
            not_above_energies(d, float(how["alpha"]), [*green, bundle("witness/state", d.N)[d.free]])
        by = "" if how["how"] == "declared" else f"coercivity {float(how['alpha'])!r} by {how['how']}; "
        lines.append(f"{by}s = ℓ − Aᵀg; rounding")
    unused = set(bundle.arrays) - bundle.used
    need(not unused, f"{sorted(unused)[:1]}: is part of no proof")
    lines = [f"verified: {line}" for line in lines]
    for row, (c, radius), more in zip(rows, found, loose, strict=True):
        lines.append(holds(row, c, radius))
        if proof["target"] == "continuous" and proof["method"] in ALONE:
            warm = "continuous/expansion" in bundle  # where nothing moves, all is rounding of thermal stresses
            varied = any(key.startswith("medium/") for key in bundle.arrays)  # kernels' data are sharper here
            whole = row["kind"] in WHOLE
            # data may be sharper here than a budget left them, and tractions along arcs
            sharp = (own is CONTINUOUS and not whole) or "arcs" in proof
            unknown = sum(row["terms"].get(term, 0.0) for term in LOOSE) if sharp else 0.0
            most = 30.0 if weak or warm or varied else 3.0  # products of coarse models
            fits = row["radius"] <= most * radius + unknown + 1e-6 * abs(c) + 10.0 * SMALL + more
            loosely = 1.0 if weak or whole else 1e-2  # neighbourhoods of cells are smaller here
            moved = larger(loosely * row["radius"], row["radius"] - radius if sharp else 0.0)
            fits = fits and near(row["center"], c, 1e-9, moved)
            line = f"{row['name']!r}: {row['center']!r} ± {row['radius']!r} is not the interval of its witnesses, "
            need(fits, f"{line}{c!r} ± {radius!r}")
    lines += derived_agree(certificate, case, rows, nodes.shape[1])
    told = assumptions_agree(certificate, case, proof, bundle)
    held = Held(whole=False) if inputs is None else inputs_agree(inputs, bundle, certificate, case, proof)
    lines += [f"verified: {line}" for line in held.lines]
    unproved = declarations(
        certificate, case, proof, rows, [what for what in blind if what not in held.seen], weak, data
    )
    same_files = ({FILES} if held.whole else set()) | ({WEIGHTS} if held.weights else set())
    unproved = [line for line in unproved if line not in same_files]
    said = [*compared_with(system, held.seen), *unproved, *told, *printed]
    return named + lines + [f"declared: {line}" for line in said]


TROUBLE: tuple[type[Exception], ...] = (ArithmeticError, AttributeError, LookupError, MemoryError, OSError)
TROUBLE += (RuntimeError, SyntaxError, TypeError, ValueError, zipfile.BadZipFile, zlib.error)


def say(line: str) -> None:
    """Print one line: what a bundle says cannot move the cursor, add lines or fail to be printed."""
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    try:
        print(line)
    except UnicodeEncodeError:
        print(line.encode("ascii", "backslashreplace").decode())


def main(path: Any, inputs: Any = None) -> int:
    """Print the report and the verdict; 0 where everything is re-proved, else 1; 2 where there is nothing to read."""
    alone = Path(path).suffix == ".npz" and Path(path).is_file()
    told = "BUNDLE: must be the folder of a bundle, or the witness of an instance (.npz)", "--inputs: must be a folder"
    for given, words in zip((None if alone else path, inputs), told, strict=True):
        if given is not None and not Path(given).is_dir():
            print(f"pinnpoint verify: {words}; got {str(given)!r}", file=sys.stderr)
            return 2
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            need(not alone or inputs is None, "inputs: the witness of an instance names no files")
            lines = check(path) if alone else verify(path, inputs)
    except Refused as error:
        say(f"NOT VERIFIED: {str(error)[:2000]}")
        return 1
    except TROUBLE as error:
        say(f"NOT VERIFIED: malformed ({type(error).__name__}: {str(error)[:200]})")
        return 1
    for line in [*lines, "VERIFIED"]:
        say(line)
    return 0
