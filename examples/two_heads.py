"""Train a neural operator on its own certificate, without any solved instance; needs torch."""

import importlib.util

import numpy as np

import pinnpoint as pp

if importlib.util.find_spec("torch") is None:
    print("pip install 'pinnpoint[torch]'")
else:
    from pinnpoint.training import TwoHeads

    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 16), source=1.0)
    heads = TwoHeads(problem)
    heads.train(lambda rng, count: pp.fem.darcy_fields(16, count, int(rng.integers(2**31))), steps=80)
    population = heads.certify(pp.fem.darcy_fields(16, 32, seed=9))
    print(f"proved, with nothing solved: the median energy error is at most {np.median(population.error):.0%}")
    assert population.certified.all()
    assert heads.losses[-1] < heads.losses[0]
