"""Certify every answer of a neural operator: another coefficient each time, no solve for any of them."""

import numpy as np

import pinnpoint as pp
from pinnpoint.models.networks import two_heads

pixels = pp.fem.darcy_fields(32, 20, seed=2, low=3.0, high=12.0)
states, _ = two_heads.load()(pixels)
states[7] *= 1.4

problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 32), source=1.0)
certifier = problem.operators(diffusion="cells").prepare(problem.mean("mean"), steps=3)
kappas = np.repeat(pixels.reshape(20, -1), 2, axis=1)  # two triangles a pixel
population = certifier.certify_many(kappas, states.reshape(20, -1))

worst = int(np.argmax(population.lower))
print(f"half of the errors are at most {np.median(population.error):.1%}")
print(f"instance {worst} is off by at least {population.lower[worst]:.1%}")
print(population.accepted(0.25))

assert worst == 7
assert population.accepted(0.25).verdicts[7] == "beyond"
