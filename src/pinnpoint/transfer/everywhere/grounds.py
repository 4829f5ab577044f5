"""Where bounds that hold everywhere are proved at all."""

from __future__ import annotations

from pinnpoint.base.errors import InputError
from pinnpoint.transfer.continuum import Continuum


def require_grounds(model: Continuum, name: str, *, solved: bool) -> None:
    """Refuse problems for which no theorem is at hand.

    Parameters
    ----------
    name
        Of the query.
    solved
        Whether a state and its flux will be used; without them κ may vary, as level sets need its least value alone.
    """
    given = model.coefficients
    if float(model.reaction.min()) < 0.0:  # everywhere.md, step 4a
        raise InputError(f"query '{name}': bounds that hold everywhere need a reaction ≥ 0; ask for points")
    if model.exchange is not None or model.gluing is not None:
        raise InputError(
            f"query '{name}': no bound that holds everywhere is proved where there are Robin groups or periodic pairs. "
            "Ask for points, averages or fluxes"
        )
    if given is not None and len(given.diffusion) > 1 and not solved and model.stretch is None:
        raise InputError(
            f"query '{name}': no bound that holds everywhere is proved without a solve for coefficients that vary "
            "inside cells and jump; leave solve=False out, or ask for points"
        )
    if given is not None and given.convective and solved:
        raise InputError(
            f"query '{name}': with convection the largest error is bounded for lifts, without a solve: "
            "problem.everywhere(solve=False) and lift=True"
        )
    if model.medium is not None and solved and not model.medium.least_reaction >= 0.0:  # everywhere.md, step 2g
        raise InputError(
            f"query '{name}': bounds that hold everywhere need a reaction ≥ 0, which could not be proved; the lower "
            f"bound found is {model.medium.least_reaction:.3e}. Ask for points"
        )
