"""A torch module is certified as what its forward computes, or refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.base.errors import InputError
from pinnpoint.models import Lift, from_torch, torch_predictor

torch = pytest.importorskip("torch", reason="needs torch")
pytestmark = pytest.mark.optional
nn, functional = torch.nn, torch.nn.functional
X = np.random.default_rng(9).uniform(-1.0, 1.0, (40, 2))


def chain(*bends, widths=(2, 8, 6, 1), dtype=torch.float64):
    torch.manual_seed(0)
    bends = bends or (nn.Tanh(), nn.Tanh())
    parts = [nn.Linear(2, 8), bends[0], nn.Linear(8, 6), bends[-1], nn.Linear(6, 1)]
    return nn.Sequential(*parts).to(dtype)


def values(module, points=X):
    own = next(module.parameters()).dtype
    with torch.no_grad():
        return module(torch.as_tensor(points, dtype=own)).double().numpy().reshape(-1)


class Wrapped(nn.Module):
    """A forward of one's own around a chain; `kind` says what it does besides."""

    def __init__(self, kind="", inner=None):
        super().__init__()
        self.last = nn.Linear(6, 1).double()  # children stand in another order than they are called in
        self.net = inner or nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 6), nn.Tanh()).double()
        self.kind = kind
        self.register_buffer("scale", torch.tensor(2.0, dtype=torch.float64))

    def forward(self, x):
        if self.kind == "scaled input":
            return self.last(self.net(2.0 * x - 1.0))
        if self.kind == "buffer":
            return self.last(self.net(x * self.scale))
        u = self.last(self.net(x))
        if self.kind == "boundary factor":
            return u * (x * (1.0 - x)).prod(dim=1, keepdim=True)
        if self.kind == "residual":
            return u + x[:, :1]
        if self.kind == "branch":
            return u if float(x.sum()) > 0.0 else -u
        if self.kind == "noise":
            return u + 0.1 * torch.randn_like(u)
        if self.kind == "two outputs":
            return u, x
        if self.kind == "input":
            return x
        return u.squeeze(-1) if self.kind == "squeezed" else u


class Functional(nn.Module):
    def __init__(self, bend):
        super().__init__()
        self.a, self.b, self.bend = nn.Linear(2, 8).double(), nn.Linear(8, 1).double(), bend

    def forward(self, x):
        return self.b(self.bend(self.a(x)))


class Twice(nn.Linear):
    def forward(self, x):
        return 2.0 * super().forward(x)


READ = {
    "tanh": lambda: chain(),
    "sigmoid": lambda: chain(nn.Sigmoid()),
    "silu": lambda: chain(nn.SiLU()),
    "gelu": lambda: chain(nn.GELU()),
    "gelu-tanh": lambda: chain(nn.GELU("tanh")),
    "softplus": lambda: chain(nn.Softplus()),
    "float32": lambda: chain(dtype=torch.float32),
    "bfloat16": lambda: chain(dtype=torch.bfloat16),
    "nested": lambda: nn.Sequential(chain()[:2], nn.Identity(), chain()[2:]),
    "own forward": Wrapped,
    "squeezed": lambda: Wrapped("squeezed"),
    "functions": lambda: Functional(torch.sin),
    "methods": lambda: Functional(lambda z: z.sigmoid()),
    "functional": lambda: Functional(lambda z: functional.gelu(z, approximate="tanh")),
    "one layer": lambda: nn.Linear(2, 1).double(),
    "no bias": lambda: nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1, bias=False)).double(),
    "dropout": lambda: nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, 1)).double().eval(),
}


@pytest.mark.parametrize("name", READ)
def test_a_chain_is_read_exactly(name):
    torch.manual_seed(1)
    module = READ[name]()
    network = from_torch(module)
    eps = {"float32": 1e-5, "bfloat16": 0.1}.get(name, 1e-13)
    np.testing.assert_allclose(network(X), values(module), rtol=0, atol=eps)
    stored = {float(v) for p in module.parameters() for v in p.detach().double().flatten()}
    assert {float(v) for a in (*network.weights, *network.biases) for v in a.flat} - {0.0} <= stored


def test_a_layer_used_twice_is_read_twice():
    torch.manual_seed(0)
    middle = nn.Linear(5, 5)
    module = nn.Sequential(nn.Linear(2, 5), nn.Tanh(), middle, nn.Tanh(), middle, nn.Tanh(), nn.Linear(5, 1)).double()
    network = from_torch(module)
    assert len(network.weights) == 4
    np.testing.assert_allclose(network(X), values(module), rtol=0, atol=1e-13)


def hooked(kind):
    module = chain()
    if kind == "pre":
        module[2].register_forward_pre_hook(lambda m, args: (2.0 * args[0],))
    elif kind == "root":
        module.register_forward_hook(lambda m, args, out: out + 1.0)
    else:
        module[1].register_forward_hook(lambda m, args, out: 0.9 * out)
    return module


def replaced():
    module = chain()
    module.forward = lambda x: x.sum(dim=1)
    return module


def training():
    return nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, 1)).double().train()


def normed():
    return nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 1)).double().eval()


class Called(nn.Sequential):
    def __call__(self, x):
        return 2.0 * super().__call__(x)


class Adding(nn.Sequential):
    def forward(self, x):
        return super().forward(x) + 1.0


def parametrized(norm):
    module = chain()
    norm(module[2])
    with torch.no_grad():
        module[2](torch.zeros(1, 8, dtype=torch.float64))
    return module


REFUSED = {
    "hook": (lambda: hooked(""), "1 has the forward hook .lambda.*remove it"),
    "hook of the whole": (lambda: hooked("root"), "the module has the forward hook"),
    "pre-hook": (lambda: hooked("pre"), "2 has the forward hook"),
    "threshold": (lambda: chain(nn.Softplus(threshold=1.0)), "threshold ≥ 20; got 1.0 and 1.0"),
    "beta": (lambda: chain(nn.Softplus(beta=2.0)), "beta = 1"),
    "functional threshold": (
        lambda: Functional(lambda z: functional.softplus(z, 1, 5)),
        "beta = 1 and threshold ≥ 20; got 1 and 5",
    ),
    "relu": (lambda: chain(nn.ReLU()), "relu in its forward is not read"),
    "two activations": (lambda: chain(nn.Tanh(), nn.SiLU()), "one activation throughout is read; got silu, tanh"),
    "scaled input": (lambda: Wrapped("scaled input"), "mul in its forward.*inputs="),
    "buffer": (lambda: Wrapped("buffer"), "mul in its forward"),
    "boundary factor": (lambda: Wrapped("boundary factor"), "in its forward does not continue one chain.*factor="),
    "residual": (lambda: Wrapped("residual"), "in its forward does not continue one chain"),
    "branch": (lambda: Wrapped("branch"), "(cannot be traced|does not continue one chain)"),
    "noise": (lambda: Wrapped("noise"), "is not read"),
    "two outputs": (lambda: Wrapped("two outputs"), "returns something else than the end of one chain"),
    "input": (lambda: Wrapped("input"), "returns something else than the end of one chain"),
    "training": (training, "call module.eval"),
    "batch norm": (normed, "(batch_norm|cannot be traced|is not read)"),
    "subclass of Linear": (
        lambda: nn.Sequential(nn.Linear(2, 8), nn.Tanh(), Twice(8, 1)).double(),
        "mul in its forward",
    ),
    "forward of the instance": (replaced, "called by something else than its class's forward"),
    "__call__": (lambda: Called(*chain()), "called by something else than its class's forward"),
    "forward of a subclass": (lambda: Adding(*chain()), "add in its forward is not read"),
    "weight norm": (lambda: parametrized(torch.nn.utils.parametrizations.weight_norm), "remove_parametrizations"),
    "spectral norm": (lambda: parametrized(torch.nn.utils.parametrizations.spectral_norm), "remove_parametrizations"),
    "old spectral norm": (lambda: parametrized(torch.nn.utils.spectral_norm), "2 has the forward hook SpectralNorm"),
    "lazy": (lambda: nn.Sequential(nn.LazyLinear(8), nn.Tanh(), nn.Linear(8, 1)), "(forward hook|no weights yet)"),
    "script": (lambda: torch.jit.trace(chain(), torch.zeros(1, 2, dtype=torch.float64)), "ScriptModule"),
    "compiled": (lambda: torch.compile(chain()), "is compiled; give the module it was made from"),
    "two layers": (lambda: nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1)), "without an activation between them"),
    "bent at the end": (lambda: nn.Sequential(nn.Linear(2, 1), nn.Tanh()), "does not end in a linear layer"),
    "frequencies": (lambda: Functional(lambda z: torch.sin(30.0 * z)), "mul in its forward"),
    "dropout function": (lambda: Functional(lambda z: functional.dropout(torch.tanh(z))), "dropout in its forward"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REFUSED)
def test_a_module_that_does_anything_else_is_refused(name):
    made, message = REFUSED[name]
    module = made()
    with pytest.raises(InputError, match=f"(?s)^module: .*{message}"):
        from_torch(module)
    with pytest.raises(InputError, match=r"^module: "):
        Lift(module)


def test_global_hooks_are_refused():
    handle = nn.modules.module.register_module_forward_hook(lambda m, args, out: out + 1.0)
    try:
        with pytest.raises(InputError, match="global forward hooks"):
            from_torch(chain())
    finally:
        handle.remove()


def test_values_are_compared_where_the_structure_says_nothing(monkeypatch):
    module = chain()
    monkeypatch.setattr(nn.Linear, "forward", lambda self, x: functional.linear(x, self.weight, self.bias) + 1e-9)
    with pytest.raises(InputError, match=r"is not the network of its layers: at .* it gives"):
        from_torch(module)


def test_what_is_said_of_a_module_must_be_true():
    assert from_torch(chain(), "tanh", layers=["0", "2", "4"]).activation == "tanh"
    with pytest.raises(InputError, match="activation: the module has tanh; got 'sin'"):
        from_torch(chain(), "sin")
    with pytest.raises(InputError, match="layers: the module's forward calls 0, 2, 4"):
        from_torch(chain(), layers=["0", "4", "2"])


# ---- predictions as users hand them in


def poisson():
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), source="1")
    return problem, problem.points([[0.4, 0.55]])


def test_a_bare_module_is_certified_as_it_answers():
    problem, queries = poisson()
    for module in (chain(), chain(dtype=torch.float32), Wrapped("boundary factor")):
        found = pp.certify(problem, module, queries)
        np.testing.assert_allclose(found.raw, values(module, [[0.4, 0.55]]), rtol=1e-12)
        assert "torch" in found.details["model"]


def test_a_bare_module_is_lifted_by_its_layers():
    problem, queries = poisson()
    found = pp.certify(problem, chain(), queries, lift=True)
    np.testing.assert_allclose(found.raw, values(chain(), [[0.4, 0.55]]), rtol=1e-12)
    with pytest.raises(InputError, match=r"^module: .*does not continue one chain.*torch_predictor"):
        pp.certify(problem, Wrapped("boundary factor"), queries, lift=True)


def test_tensors_are_taken_whether_or_not_they_need_gradients():
    problem, queries = poisson()
    nodal = torch.rand(len(problem.nodes.points), dtype=torch.float32, requires_grad=True)
    expected = pp.certify(problem, nodal.detach().double().numpy(), queries)
    for given in (nodal, nodal[:, None], nodal.double()):
        np.testing.assert_array_equal(pp.certify(problem, given, queries).value, expected.value)
    module = chain()
    own = pp.certify(problem, lambda P: module(torch.as_tensor(P)), queries)
    np.testing.assert_array_equal(own.raw, pp.certify(problem, module, queries).raw)
    A, b = np.eye(2), torch.ones(2, dtype=torch.float64, requires_grad=True)
    system = pp.LinearSystem(A, b)
    assert pp.certify(system, 0.5 * b, pp.Queries(torch.eye(2, requires_grad=True))).center == pytest.approx([1.0, 1.0])


def test_what_is_no_prediction_is_answered_with_what_helps(tmp_path):
    problem, queries = poisson()
    module = chain()
    for given, message in (
        (module.state_dict(), "state_dict, weights without a forward.*from_torch"),
        ("weights.pt", r"'weights.pt' is a pickle.*weights_only=True"),
        (tmp_path / "weights.pth", r"'weights.pth' is a pickle"),
        (tmp_path / "weights.safetensors", "load_network"),
        ("net.onnx", "load_network"),
        (lambda P: torch.sin(P), "takes tensors, not arrays.*torch_predictor"),
    ):
        with pytest.raises(InputError, match=f"(?s)^prediction: .*{message}"):
            pp.certify(problem, given, queries)
    with pytest.raises(InputError, match=r"'weights.pt' is a pickle"):
        pp.certify(problem, "weights.pt", queries, lift=True)
    with pytest.raises(InputError, match="is a state_dict"):
        torch_predictor(module.state_dict())


def test_a_formula_is_a_prediction_without_the_lift_too():
    problem, queries = poisson()
    assert pp.certify(problem, "x*(1-x)*y", queries).raw == pytest.approx([0.4 * 0.6 * 0.55])


def test_a_module_that_is_no_function_of_points_is_refused():
    problem, queries = poisson()
    statistics = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8, track_running_stats=False), nn.Linear(8, 1)).double()
    for module in (Wrapped("noise"), Functional(lambda z: functional.dropout(z)), statistics):
        with pytest.raises(InputError, match="gives other values when the same points are asked again"):
            pp.certify(problem, module, queries)


def test_modes_are_put_back_part_by_part():
    module = nn.Sequential(chain(), nn.Dropout(0.5)).train()
    module[0].eval()
    torch_predictor(module)(X)
    assert (module.training, module[0].training, module[1].training) == (True, False, True)


def test_a_case_that_names_a_pickle_is_told_what_to_do(tmp_path, capsys):
    from pinnpoint.cli.main import main

    torch.save(chain().state_dict(), tmp_path / "weights.pt")
    case = (
        '[mesh]\ngenerate = "square"\ncells = 2\n[problem]\nkind = "reaction-diffusion"\n[problem.dirichlet]\n'
        'boundary = 0.0\n[prediction]\n{}\n[[query]]\nname = "q"\nat = [0.5, 0.5]\n'
    )
    (tmp_path / "a.toml").write_text(case.format('torch = "weights.pt"\nactivation = "tanh"'))
    assert main(["certify", str(tmp_path / "a.toml")]) == 2
    assert "prediction.torch: 'weights.pt' is a pickle" in capsys.readouterr().err
    (tmp_path / "b.toml").write_text(case.format('model = "weights.pt"'))
    assert main(["certify", str(tmp_path / "b.toml"), "--trust-model"]) == 2
    assert "weights.pt: holds a state_dict, weights without a forward" in capsys.readouterr().err


def test_a_small_softplus_difference_is_not_a_refusal():
    """Above 20 torch's softplus is its argument, off by at most log(1 + e^−20)."""
    module = nn.Sequential(nn.Linear(1, 1), nn.Softplus(), nn.Linear(1, 1)).double()
    with torch.no_grad():
        for p in module.parameters():
            p.fill_(1.0)
    network = from_torch(module)
    assert abs(network(np.array([[20.5]]))[0] - values(module, [[20.5]])[0]) <= math.log1p(math.exp(-20.0))
