"""An FNO of neuraloperator on Darcy fields: every answer's error from both sides, without a solve."""

import numpy as np
import torch
from neuralop.models import FNO

import pinnpoint as pp

torch.manual_seed(0)
model = FNO(n_modes=(8, 8), in_channels=1, out_channels=1, hidden_channels=8, n_layers=2)  # yours, trained
kappa = pp.fem.darcy_fields(16, 12, seed=0)  # (instances, x, y)
mesh = pp.io.generate("square", 16)
states = pp.fem.on_nodes(mesh, pp.models.neuralop_operator(model)(kappa), at="cells")
problem = pp.fem.ReactionDiffusion(mesh, source=1.0, dirichlet={"boundary": 0.0})
certifier = problem.operators(diffusion="cells").prepare(problem.mean(), steps=3)
population = certifier.certify_many(np.repeat(kappa.reshape(12, -1), 2, axis=1), states)
print(population.accepted(0.1), population.lower.min(), population.error.max())
