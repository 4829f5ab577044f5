"""The certificate's assumptions: the list that follows from case and proof, in its order, and no other.

A claim whose words follow from the stored data is held to them. One that tells how the producing side proved
something, with numbers that are not stored, must have the words that its route has; it is printed as declared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint_verify.reader import Bundle, need

Row = dict[str, Any]
NUMBER = r"\d\.\d{3}(?:\d{3})?e[+-]\d{2,3}"
PROVERS = r"M-matrix witness|shifted (?:Cholesky|LU) factorization|paths of cells to held facets"
OPERATOR = "the symmetric part of the reduced operator|Ĥ = ÂᵀWÂ"
ALONE = ("exact", "root", "stationary")
PLAIN = r"[\d.]+(?:e[+-]\d+)?"
SEPARATED = (
    rf"the reaction lies below the spectrum: λ₁ ≥ {PLAIN} times it \(bounding box\)",
    rf"the reaction is separated from the spectrum: (?:λ_\d+ ≤ {PLAIN} < 1 < )?λ_\d+ ≥ {PLAIN} times it "
    r"\(counts of negative pivots\)",
)


@dataclass(frozen=True)
class Expected:
    """A claim that has its place in the list; `estimate` where an interval that rests on it is one."""

    words: str
    status: str = "verified"
    told: bool = False
    """The producing side's account, which is not proved again."""
    estimate: bool = False


@dataclass(frozen=True)
class Place:
    """Claims of which one stands here, or several in this order; or none, where that is allowed."""

    claims: list[Expected]
    several: bool = False
    optional: bool = False


def one(words: str, status: str = "verified", **more: Any) -> Place:
    """A place for one claim with these very words."""
    return Place([exactly(words, status, **more)])


def exactly(words: str, status: str = "verified", **more: Any) -> Expected:
    """A claim with these very words."""
    return Expected(re.escape(words), status, **more)


def assumptions_agree(certificate: Row, case: Row, proof: Row, bundle: Bundle) -> list[str]:
    """What of the assumptions is declared; refuses any other list than the one that follows, and other labels."""
    given, told, estimate, at = certificate["assumptions"], [], False, 0
    for pair in given:
        fits = isinstance(pair, dict) and pair.keys() == {"claim", "status"}
        need(fits and all(isinstance(x, str) for x in pair.values()), "certificate: assumptions are not pairs of texts")
    for place in expected(case, proof, bundle):
        seen = 0
        for wanted in place.claims:
            if at < len(given) and re.fullmatch(wanted.words, given[at]["claim"]):
                claim, status = given[at]["claim"], given[at]["status"]
                fits = any(w.status == status for w in place.claims if re.fullmatch(w.words, claim))
                need(fits, f"certificate: {claim[:200]!r} is {wanted.status}, not {status[:20]!r}")
                if status != wanted.status:
                    continue
                told += [claim] if wanted.told or wanted.status == "declared" else []
                estimate, at, seen = estimate or wanted.estimate, at + 1, seen + 1
                if not place.several:
                    break
        found = given[at]["claim"] if at < len(given) else "the end"
        need(seen or place.optional, f"certificate: an assumption is missing before {found[:200]!r}")
    need(at == len(given), f"certificate: {str(at < len(given) and given[at]['claim'])[:200]!r} does not follow")
    for row in certificate["queries"]:
        fits = (row["guarantee"] == "estimate") == estimate
        need(fits, f"{row['name']!r}: the guarantee {row['guarantee']!r} does not follow from the assumptions")
    return told


def expected(case: Row, proof: Row, bundle: Bundle) -> list[Place]:
    """Places in the list, each with the claims of which one may stand there."""
    covered = case["certificate"]["rounding"]
    if proof["target"] == "discrete":
        found = [*discrete(case, proof, bundle, covered)]
    else:
        own = [] if proof["method"] in ALONE else discrete(case, proof, bundle, covered)
        covered = covered or proof["method"] in ALONE
        found = [*own, *(elastic if "solid" in proof else continuous)(case, proof, bundle)]
    if not covered:
        found.append(one("floating-point rounding is negligible (not covered)", "declared"))
    return found


def balls(case: Row, d: int) -> list[Place]:
    """The rule that stands for the average over a ball, and what was noted in Python."""
    count = {1: 16, 2: 192, 3: 1024}[d]
    some = any(query["kind"] == "average" for query in case["queries"])
    notes = [one(note, told=True) for note in case.get("notes", {}).get("queries", [])]
    rule = f"ball averages are those of a product rule with {count} points"
    return [*([one(rule)] if some else []), *notes]


def overrides(case: Row, bundle: Bundle) -> list[Place]:
    """Which groups override the whole boundary, and on how many facets; what was noted of a space in Python."""
    if "notes" in case:
        return [one(note, told=True) for note in case["notes"]["space"]]
    groups, found = case["problem"].get("dirichlet") or {}, []
    for k, group in enumerate(groups if "boundary" in groups else ()):
        facets = bundle.arrays.get(f"continuous/d{k}")
        many = r"[1-9]\d*" if facets is None else str(len(facets))
        words = re.escape(f"group '{group}' overrides 'boundary' on ") + f"{many} facets"
        found += [] if group == "boundary" else [Place([Expected(words, told=facets is None)])]
    return found


def dimension(bundle: Bundle) -> int:
    """Of the mesh."""
    return int(bundle("mesh/nodes", None, None).shape[1]) if "mesh/nodes" in bundle else 1


def discrete(case: Row, proof: Row, bundle: Bundle, covered: bool) -> list[Place]:
    """The discrete system's target, its stability, and what the method rests on."""
    method, options = proof["method"], case["certificate"].get("options") or {}
    whole = proof["target"] == "discrete"
    notes = balls(case, dimension(bundle)) if whole else []
    if "system/cubic" in bundle:
        return cubic(method, options, [*notes, *overrides(case, bundle)])
    if "reduction" in proof:
        square = len(bundle("system/b", None)) == len(bundle("system/y", None))
        words = ["the solution of Zᵀ(A U − b) = 0"] if proof["reduction"] == "galerkin" else []
        words = words or ["the solution of A U = b" if square else "the weighted least-squares solution of A U ≈ b"]
    else:
        held = len(bundle("system/fixed", None)) > 0
        words = ["the solution of Zᵀ(A U − b) = 0", *([] if held else ["the solution of A U = b"])]  # Z = 1
    targets = [exactly(f"discrete target: {target} over the admissible space") for target in words]
    found = [Place(targets), *notes]
    found += overrides(case, bundle)
    given = [one("σ̄ bounds the sensitivity of every query", "declared")] if "sigma" in options else []
    found.append(Place(stability(covered), optional=bool(given) and method == "norm"))
    if method == "randomized":
        m, seed = options.get("probes", 16), options.get("seed", 0)
        found.append(one(f"the {m} probes (seed {seed}) are independent standard normal numbers", "declared"))
        factor = exactly("the weight's computed Cholesky factor is exact", "declared")
        found += [Place([factor], optional=True)] if proof["weighted"] else []
    return [*found, *given]


def stability(covered: bool) -> list[Expected]:
    """How the producing side proved that the operator can be inverted; the checker has a witness of its own."""
    solves = exactly("direct solves are exact", "declared")
    bound = f"(?:{OPERATOR}) is at least {NUMBER} times (?:the identity|P|diagonal D⁻²)"
    words = [
        rf"{bound} \((?:{PROVERS})\)",
        r"the reduced operator is an M-matrix \(positive witness\)",
        rf"steps in time are stable in the energy of the mass matrix, which is at least {NUMBER} times diagonal D⁻² "
        rf"\((?:{PROVERS})\); the symmetric part of K is "
        rf"(?:positive definite|at least −{NUMBER} times the mass matrix) \((?:{PROVERS})\)",
        r"the reduced operator is nonsingular \(approximate inverse\)",
        f"the reduced operator is nonsingular: scaled singular values ≥ {NUMBER}",
        rf"the reduced operator is nonsingular: scaled eigenvalues ≥ {NUMBER} in size \(counts of pivots\)",
    ]
    proved = [Expected(w, told=True) for w in words]
    declared = Expected(rf"{bound} \(declared by the caller\)", "declared")
    return [*proved, declared] if covered else [solves, *proved, declared]


def cubic(method: str, options: Row, notes: list[Place]) -> list[Place]:
    """A root of the cubic system, or a minimizer where the residual vanishes."""
    root = "the root of Zᵀ(A U + N(U) − b) = 0 over the admissible space, N the cubic reaction integrated exactly"
    minimum = "the verified stationary point of ½‖F‖²_W near the base point, a strict local minimizer"
    found = [one(f"discrete target: {minimum if method == 'stationary' else root}"), *notes]
    if options.get("polish"):
        found.append(one(f"base point: {options['polish']} Newton steps from the prediction"))
    how = f"Newton–Kantorovich: η = {NUMBER}, L = {NUMBER}"
    near = f"lies within {NUMBER} of the base point in the"
    lumped = Expected(rf"J\(y\) is at least {NUMBER} times the lumped mass of the reaction \([^()]+\)", told=True)
    most = Expected(rf"a unique root {near} maximum norm \({how}, 2Lη = {NUMBER} < 1\)", told=True)
    root = rf"(?:a unique root \({how}\)|the only root \(strong monotonicity\))"
    energy = Expected(rf"{root} {near} energy norm of J\(y\)", told=True)
    found += [Place([lumped]), Place([most, energy], several=True)]
    if method == "stationary":
        words = "the target is a strict local minimizer of ½‖F‖²_W: F vanishes there and J is nonsingular on the ball"
        found.append(one(f"{words}, so K = JᵀWJ is positive definite at it"))
    return found


def continuous(case: Row, proof: Row, bundle: Bundle) -> list[Place]:
    """The weak solution, how its data were enclosed, and what is known of some queries."""
    harmonic = any(name.startswith("dual/phi") for name in bundle.arrays) or np.any(bundle("continuous/cubic", None))
    nonlinear = bool(harmonic) or proof["method"] in ("root", "stationary")
    found = balls(case, dimension(bundle)) if nonlinear else []
    found += overrides(case, bundle) if proof["method"] in ALONE else []
    where = "the curved domain that its notes name" if "bent" in proof else "the domain that the mesh covers"
    found.append(one(f"continuous target: the weak solution on {where}"))
    if "medium" in proof:
        found += coefficients(proof, bundle)
    if nonlinear:
        words = "κ, c ≥ 0 and λ ≥ 0 are constant on each cell; the reaction λu³ is monotone, so u is unique"
        if "reaction" in proof:
            words = "κ and c ≥ 0 are constant on each cell; g′ ≥ 0 is proved on the real line, so u is unique"
        found.append(one(words.split("; ")[1] if "medium" in proof else words))
        words = "energy errors bounded by equilibrated fluxes; the remainder of the linearised dual is bounded"
        found.append(one(words))
    elif "medium" not in proof:
        words = "κ and c are constant on each cell; energy errors bounded by equilibrated fluxes"
        found.append(one(words))
        if "spectrum" in proof:
            found.append(Place([Expected(w, told=True) for w in SEPARATED]))
    lift, opaque = proof["lift"] is not None, (proof["lift"] or {}).get("kind") == "opaque"
    given = case["problem"]
    formulas = given.get("source") is not None and not opaque
    found.append(Place(data("source", bundle("source/f_rest", None, 3), formulas, opaque, stored=not nonlinear)))
    if "source/g_at" in bundle:
        sides = [*(given.get("neumann") or {}).values(), *(pair[1] for pair in (given.get("robin") or {}).values())]
        formulas = None not in sides and not opaque
        found.append(Place(data("Neumann data", bundle("source/g_rest", None, 3), formulas, opaque)))
    if "robin/low" in bundle:
        low, top = (float(f(bundle(f"robin/{k}", None))) for k, f in (("low", np.min), ("top", np.max)))
        words = f"Robin coefficient: proved to lie between {low:.6g} and {top:.6g}, and not below zero"
        found.append(one(words))
    if float(proof["mismatch"]) > 0.0:
        principle = "comparison" if nonlinear else "maximum"
        also = ", and what the reaction makes of it"
        ways = [also] if "spectrum" in proof else ["", also] if "medium" in proof else [""]
        said = [f"Dirichlet data met to {float(proof['mismatch']):.3e}; {principle} principle{way}" for way in ways]
        yes, no = [exactly(w) for w in said], [exactly(w, "declared", estimate=True) for w in said]
        formulas = None not in (given.get("dirichlet") or {}).values()
        found.append(Place([*yes, *no] if opaque and formulas else yes if formulas else no))
        count = sum(bool(goal["raised"]) for goal in proof["goals"])
        if count:
            words = f"Dirichlet data of {count} queries: lifted into the cells of its facets"
            sure, unsure = exactly(words), exactly(words, "declared", estimate=True)
            found.append(Place([sure, unsure] if opaque and formulas else [sure if formulas else unsure]))
        if any(through_held(i, goal, bundle) for i, goal in enumerate(proof["goals"])):
            words = "Dirichlet data of fluxes: met but for rounding, by energies of its extension"
            sure, unsure = exactly(words), exactly(words, "declared", estimate=True)
            found.append(Place([sure, unsure] if opaque and formulas else [sure if formulas else unsure]))
    for query, goal in zip(case["queries"], proof["goals"], strict=True):
        if goal["kind"] == "point" and goal["known"]:
            found.append(one(f"{query['name']}: a point of the Dirichlet boundary: the given value"))
        elif goal["kind"] == "point" and not goal["acts"]:
            words = "no ball fits around the point; the one-dimensional bound alone"
            found.append(one(f"{query['name']}: {words}"))
    if lift:
        found.append(Place(lifted(opaque)))
    return found


def through_held(i: int, goal: Row, bundle: Bundle) -> bool:
    """Whether a query is a flux through a Dirichlet group whose data is not lifted."""
    if goal["kind"] != "flux" or goal["raised"]:
        return False
    sides = bundle("robin/alpha_at", None, whole=10**9) if "robin/alpha_at" in bundle else []
    return not np.isin(bundle(f"dual/facets{i}", None, whole=10**9), sides).any()


def coefficients(proof: Row, bundle: Bundle) -> list[Place]:
    """What is known of coefficients that vary."""
    low, floor = (float(bundle(k, None).min()) for k in ("continuous/kappa", "medium/floor"))
    words = f"diffusion enclosed on each cell and proved to be ≥ {low:.3e}; energy errors by equilibrated fluxes"
    found = [one(words, told=True)]
    if "convection" not in proof["medium"] and floor < 0.0:
        found.append(one(f"c ≥ {floor:.3e} on every cell, above minus the first eigenvalue", told=True))
    if "convection" in proof["medium"]:
        found.append(one(f"c − ½∇·b ≥ {floor:.3e} on every cell", told=True))
    return found


def elastic(case: Row, proof: Row, bundle: Bundle) -> list[Place]:
    """A solid's weak solution, how its data were enclosed, and what is known of some queries."""
    found = overrides(case, bundle) if proof["method"] in ALONE else []
    target = "continuous target: the weak solution of linear elasticity on the domain that"
    found.append(one(f"{target} the mesh covers" if "arcs" not in proof else f"{target} the arcs bound"))
    if "arcs" in proof:
        away = f"{float(proof['arcs']['away']):.1e}"
        found.append(one(f"arcs are polynomials through the mesh's vertices, within {away} of the given curves"))
    words = "λ and μ are constant on each cell; energy errors bounded by symmetric stresses in equilibrium"
    found.append(one(words))
    claims, said = list[tuple[str, str, Any]](), proof["solid"]
    weights = bundle.arrays.get("continuous/weights")
    body = said["body"] if weights is None else [float(np.abs(w).max()) for w in weights.T]
    claims += [(f"body force {'xyz'[c]}", f"source/f{c}", f) for c, f in enumerate(body)]
    sides = said["traction"]
    if "lift" in proof:  # what is left is stored for every side
        count = sum(f"continuous/s{k}" in bundle for k in range(len(bundle.arrays)))
        sides = [[float(f"source/t{k}_{c}_rest" in bundle) for c in range(len(body))] for k in range(count)]
    on_arcs = bundle.arrays.get("arcs/facets", np.zeros(0))  # there tractions are enclosed by polynomials of their own
    claims += [
        (f"traction {'xyz'[c]}", f"source/t{k}_{c}", t)
        for k, given in enumerate(sides)
        if "lift" in proof or not np.isin(bundle.arrays[f"continuous/n{k}"], on_arcs).any()
        for c, t in enumerate(given)
    ]
    spread = [] if "lift" in proof else said["force"]
    claims += [(f"traction {'xyz'[c]}", "", t) for given in spread for c, t in enumerate(given)]
    if "temperature" in said:
        claims.append(("thermal stress", "source/s", 1.0))
    seen = list[Any]()
    for name, array, given in claims:
        stored = array and f"{array}_rest" in bundle
        if not stored and not given:
            continue
        rest = bundle(f"{array}_rest", None, 3) if stored else np.zeros((0, 3))
        place = data(name, rest, given is not None, lift=False)
        if not array:  # spread over a group, whose measure is rounded
            place = [Expected(re.escape(name) + f": enclosed on every cell to {NUMBER}", told=True)]
        if place not in seen:  # the same words are said once
            seen.append(place)
            found.append(Place(place))
    for query, goal in zip(case["queries"], proof["goals"], strict=True):
        if query["kind"] == "point" and goal["known"]:
            found.append(one(f"{query['name']}: a point of a held boundary: the given value"))
    if "lift" in proof:
        found.append(Place(lifted(opaque=False)))
    return found


def data(name: str, rest: Any, formulas: bool, lift: bool, stored: bool = True) -> list[Expected]:
    """How data were enclosed: the stored bounds, or estimates where there is no formula; `lift` is an opaque one."""
    opaque = exactly(f"{name}: an opaque function; the error of its integrals is estimated", "declared", estimate=True)
    if not formulas and not lift:
        return [opaque]
    top = float(np.max(rest[:, 2], initial=0.0))
    exact = exactly(f"{name}: integrated exactly")
    enclosed = exactly(f"{name}: enclosed on every cell to {top:.3e}")
    if not stored:  # of f alone; with the cubic's share something else is stored
        return [exact, Expected(f"{name}: enclosed on every cell to {NUMBER}", told=True)]
    return [exact if top == 0.0 else enclosed, *([opaque] if lift else [])]


def lifted(opaque: bool) -> list[Expected]:
    """What is known of a prediction that was lifted: one that is stored was enclosed, of others bounds are declared."""
    if not opaque:
        return [exactly("lift: the prediction's value and residual, enclosed by Taylor models", told=True)]
    number = r"[\d.e+-]+"
    smooth = f"lift: second derivatives of the prediction at most {number}, of its Laplacian {number}"
    return [
        exactly("lift: the prediction's value and residual, taken as given", "declared", estimate=True),
        Expected(f"{smooth}(?:, of its slopes {number})?; its numbers within {number}", "declared"),
    ]
