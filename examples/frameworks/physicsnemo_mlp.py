"""A network of PhysicsNeMo as a predictor."""

import torch
from physicsnemo.models.mlp import FullyConnected

import pinnpoint as pp

torch.manual_seed(0)
net = FullyConnected(in_features=2, out_features=1, num_layers=2, layer_size=24)  # yours, trained
problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 24), source=1.0, dirichlet={"boundary": 0.0})
predictor = pp.models.torch_predictor(net)
print(pp.certify(problem, predictor, problem.points([[0.5, 0.5], [0.2, 0.7]]), accept=0.01))
