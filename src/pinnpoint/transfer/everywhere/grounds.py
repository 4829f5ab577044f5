"""Where bounds that hold everywhere are proved at all."""

from __future__ import annotations

from pinnpoint.base.errors import InputError
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.everywhere.covers import cover


def require_grounds(model: Continuum, name: str, *, solved: bool, pointwise: bool = True) -> None:
    """Refuse problems for which no theorem is at hand.

    Parameters
    ----------
    name
        Of the query.
    solved
        Whether a state and its flux will be used; without them κ may vary, as level sets need its least value alone.
    pointwise
        Whether values are asked for, and not norms of the error alone.
    """
    given = model.coefficients
    if model.seam is not None:
        raise InputError(
            f"query '{name}': of a lift beside periodic pairs only values, averages and fluxes are proved: slopes that "
            "jump at the pairs load them, and no bound everywhere or in the mean counts that. Certify without the lift"
        )
    if not model.reacts and float(model.reaction.min()) < 0.0 and model.gluing is not None and pointwise:
        raise InputError(
            f"query '{name}': bounds everywhere are not proved for reactions below zero beside periodic pairs; ask for "
            "points, averages, fluxes or norms of the error"
        )
    if model.gluing is not None and (pointwise or not solved):
        _require_cover(model, name, solved=solved)
    if given is not None and len(given.diffusion) > 1 and not solved and model.stretch is None:
        raise InputError(
            f"query '{name}': no bound that holds everywhere is proved without a solve for coefficients that vary "
            "inside cells and jump; leave solve=False out, or ask for points"
        )
    if solved:
        return
    remedy = "leave solve=False out, or ask for points"
    if float(model.reaction.min()) < 0.0:  # everywhere.md, step 4a
        raise InputError(f"query '{name}': a reaction ≥ 0 is needed; {remedy}")
    if model.exchange is not None:
        raise InputError(f"query '{name}': nothing is proved where there are Robin groups; {remedy}")
    if model.medium is not None and not model.medium.least_reaction >= 0.0:  # everywhere.md, step 4a
        _ = model.growth  # where c − ½∇·b < 0 a solve does not help, and this says so with the place
        raise InputError(
            f"query '{name}': a reaction ≥ 0 is needed, which could not be proved; the lower bound found is "
            f"{model.medium.least_reaction:.3e}; {remedy}"
        )


def _require_cover(model: Continuum, name: str, *, solved: bool) -> None:
    """Refuse periodic problems without a band across the pairs; a tube has no isoperimetric constant of its volume."""
    why = ""
    if not solved:
        why = "without a solve"
    elif model.medium is not None:
        why = "for coefficients that vary inside cells, are matrices or convect"
    elif model.exchange is not None:
        why = "beside Robin sides"
    elif model.reacts:
        why = "beside a nonlinear reaction"
    elif isinstance(found := cover(model), str):
        why = f"here: {found}"
    if why:
        raise InputError(
            f"query '{name}': no bound that holds everywhere is proved where there are periodic pairs {why}. Ask for "
            "points, averages or fluxes"
        )
