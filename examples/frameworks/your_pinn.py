"""A torch PINN of your own, the largest error it can have, proved, and a report: docs/walk.md goes through it."""

import torch

import pinnpoint as pp

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
net = torch.nn.Sequential(
    torch.nn.Linear(2, 24), torch.nn.Tanh(), torch.nn.Linear(24, 24), torch.nn.Tanh(), torch.nn.Linear(24, 1)
)
X = torch.rand(400, 2, requires_grad=True)
f = 5 * torch.exp(X[:, 0].detach()) * torch.sin(3 * X[:, 1].detach())
optimizer = torch.optim.LBFGS(net.parameters(), max_iter=200, line_search_fn="strong_wolfe")


def loss():
    optimizer.zero_grad()
    slopes = torch.autograd.grad(((X * (1 - X)).prod(dim=1) * net(X)[:, 0]).sum(), X, create_graph=True)[0]
    bend = sum(torch.autograd.grad(slopes[:, i].sum(), X, create_graph=True)[0][:, i] for i in (0, 1))
    value = ((bend + f) ** 2).mean()
    value.backward()
    return value


optimizer.step(loss)
square = pp.io.generate("square", 24)
problem = pp.fem.ReactionDiffusion(square, source="5*exp(x)*sin(3*y)", dirichlet={"boundary": 0.0})
asked = problem.everywhere() + problem.points([[0.5, 0.5]], names=["centre"])
certificate = pp.certify(problem, pp.models.Lift(net, "x*(1 - x)*y*(1 - y)"), asked, lift=True, accept=0.01)
print(f"loss {loss().item():.1e}", certificate, sep="\n")
certificate.to_html("report.html", mesh=square)
