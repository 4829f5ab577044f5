"""A model of DeepXDE, its network kept in the proof."""

import os

os.environ["DDE_BACKEND"] = "pytorch"
import deepxde as dde

import pinnpoint as pp

dde.config.set_default_float("float64")
dde.config.set_random_seed(0)
square = dde.geometry.Rectangle([0, 0], [1, 1])
data = dde.data.PDE(square, lambda x, u: sum(dde.grad.hessian(u, x, i=i, j=i) for i in (0, 1)) + 1, [], 200)
net = dde.nn.FNN([2, 20, 20, 1], "tanh", "Glorot uniform")
net.apply_output_transform(lambda x, u: (x * (1 - x)).prod(dim=1, keepdim=True) * u)
model = dde.Model(data, net)
model.compile("adam", lr=5e-3, verbose=0)
model.train(iterations=500, verbose=0)
net._output_transform = None  # the factor is told to the lift instead
problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 16), source=1.0, dirichlet={"boundary": 0.0})
network = pp.models.Lift(pp.models.from_torch(net), "x*(1 - x)*y*(1 - y)")
print(pp.certify(problem, network, problem.everywhere() + problem.points([[0.5, 0.5]]), lift=True, accept=0.05))
