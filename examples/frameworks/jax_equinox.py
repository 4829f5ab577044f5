"""A network of Equinox, its weights kept in the proof."""

import equinox as eqx
import jax
import numpy as np

import pinnpoint as pp

jax.config.update("jax_enable_x64", True)
net = eqx.nn.MLP(2, "scalar", 16, 2, activation=jax.nn.tanh, key=jax.random.key(0))
X = jax.random.uniform(jax.random.key(1), (256, 2))


def u(net, x):
    return (x * (1 - x)).prod() * net(x)


@eqx.filter_jit
@eqx.filter_value_and_grad
def loss(net):
    bend = jax.vmap(lambda x: jax.numpy.trace(jax.hessian(u, argnums=1)(net, x)))(X)
    return ((bend + 1.0) ** 2).mean()


for _ in range(300):
    net = eqx.apply_updates(net, jax.tree.map(lambda g: -0.5 * g, loss(net)[1]))
layers = [(np.asarray(a.weight), np.asarray(a.bias).reshape(-1)) for a in net.layers]
mlp = pp.models.MLP([w.reshape(-1, w.shape[-1]) for w, _ in layers], [b for _, b in layers], "tanh")
problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 16), source=1.0, dirichlet={"boundary": 0.0})
print(pp.certify(problem, pp.models.Lift(mlp, "x*(1 - x)*y*(1 - y)"), problem.everywhere(), lift=True))
