"""Callables as predictions: functions of points, whatever library they come from; what they raise is a refusal."""

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint import InputError
from pinnpoint.models import Predictor, sklearn_predictor

X = np.random.default_rng(0).uniform(size=(20, 2))


def poisson():
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), source=1.0)
    return problem, problem.points([[0.4, 0.55]])


class Counting:
    """Answers otherwise each time."""

    def __init__(self):
        self.calls = 0

    def __call__(self, P):
        self.calls += 1
        return self.calls * P[:, 0]


def test_a_callable_whose_values_depend_on_company_or_time_is_refused():
    problem, queries = poisson()
    noise = np.random.default_rng(1)
    for given in (
        lambda P: P[:, 0] - P[:, 0].mean(),
        lambda P: P[:, 0] * (2.0 if P.max() > 0.9 else 1.0),
        lambda P: P[:, 0] * (2.0 if len(P) > 3 else 1.0),
        lambda P: P[np.argsort(P[:, 1]), 0],
        lambda P: np.sort(P[:, 0]),
        lambda P: P[:, 0] + 1e-2 * noise.normal(size=len(P)),
        Counting(),
    ):
        for target in ("continuous", "discrete"):
            with pytest.raises(InputError, match=r"^prediction: gives other values when the same points are asked"):
                pp.certify(problem, given, queries, target=target)


def test_extraction_by_projection_refuses_them_too():
    problem, _ = poisson()
    with pytest.raises(InputError, match="in other company"):
        problem.extract(lambda P: P[:, 0] - P[:, 0].mean(), "l2")


def test_half_precision_is_no_other_company():
    problem, queries = poisson()

    def rounded(P):
        return P[:, 0].astype(np.float16) * np.float16(1.0 if len(P) > 1 else 1.001)

    half = Predictor(rounded, "half", eps=float(np.finfo(np.float16).eps))
    assert pp.certify(problem, half, queries).raw[0] == pytest.approx(0.4, rel=2e-3)


def test_estimators_of_other_libraries_are_asked_in_the_same_way():
    class Centred:
        def predict(self, P):
            return P[:, 0] - P[:, 0].mean()

    problem, queries = poisson()
    with pytest.raises(InputError, match="in other company"):
        pp.certify(problem, sklearn_predictor(Centred()), queries)
    with pytest.raises(InputError, match=r"^prediction: Centred is no function of points, .*sklearn_predictor"):
        pp.certify(problem, Centred(), queries)


@pytest.mark.optional
def test_an_onnx_graph_over_the_batch_or_with_noise_is_refused(tmp_path):
    pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    node, info, kind = onnx.helper.make_node, onnx.helper.make_tensor_value_info, onnx.TensorProto.FLOAT
    column = onnx.numpy_helper.from_array(np.ones((2, 1), dtype=np.float32), "W")
    rows = onnx.numpy_helper.from_array(np.array([0]), "rows")
    problem, queries = poisson()
    for name, nodes in (
        ("mean", [node("ReduceMean", ["p", "rows"], ["m"], keepdims=1), node("Sub", ["p", "m"], ["u"])]),
        ("noise", [node("RandomNormalLike", ["p"], ["m"]), node("Add", ["p", "m"], ["u"])]),
    ):
        graph = onnx.helper.make_graph(
            [node("MatMul", ["x", "W"], ["p"]), *nodes],
            "g",
            [info("x", kind, ["n", 2])],
            [info("u", kind, ["n", 1])],
            [column, rows],
        )
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9)
        onnx.save(model, tmp_path / f"{name}.onnx")
        with pytest.raises(InputError, match="in other company"):
            pp.certify(problem, pp.models.onnx_predictor(tmp_path / f"{name}.onnx"), queries)


def test_what_a_callable_raises_is_a_refusal_with_the_error_behind_it():
    problem, queries = poisson()

    def fails(P):
        raise RuntimeError("no licence\nat all")

    with pytest.raises(InputError, match=r"^prediction: raised RuntimeError \(no licence\) when asked") as found:
        pp.certify(problem, fails, queries)
    assert isinstance(found.value.__cause__, RuntimeError)
    with pytest.raises(InputError, match=r"^prediction: raised TypeError .*map points"):
        pp.certify(problem, lambda x, y: x, queries)
    with pytest.raises(InputError, match=r"^prediction: raised RuntimeError"):
        queries.samples(fails)


@pytest.mark.optional
def test_tensors_without_values_and_complex_ones_are_refused_by_every_door():
    torch = pytest.importorskip("torch")
    problem, queries = poisson()
    n = len(problem.mesh.points)
    empty = torch.zeros(n, device="meta")
    with pytest.raises(InputError, match=r"^prediction: .*meta device, which holds no values"):
        pp.certify(problem, empty, queries)
    negated = torch.imag(torch.complex(torch.zeros(n), torch.ones(n)).conj())  # a view with the negative bit
    assert pp.certify(problem, negated, queries).value[0] == pytest.approx(-1.0)
    grid = torch.ones(5, 5, dtype=torch.float64)
    for given in (grid * 1j, torch.zeros(5, 5, device="meta")):
        with pytest.raises(InputError, match=r"^values: must hold real numbers"):
            pp.models.grid_predictor(given)
    state = torch.nn.Linear(2, 1).state_dict()
    for kind in (torch.complex64, torch.int32):
        with pytest.raises(InputError, match="weight: must be floating point"):
            pp.models.from_torch({name: t.to(kind) for name, t in state.items()}, activation="tanh")
    with pytest.raises(InputError, match="meta device"):
        pp.models.from_torch({name: t.to("meta") for name, t in state.items()}, activation="tanh")


@pytest.mark.optional
def test_modules_that_cannot_answer_are_refused_and_those_that_differentiate_answer():
    torch = pytest.importorskip("torch")
    nn = torch.nn
    problem, queries = poisson()

    class Slope(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1)).double()

        def forward(self, P):
            P = P.requires_grad_()
            return torch.autograd.grad(self.inner(P).sum(), P)[0][:, 0]

    torch.manual_seed(0)
    module = Slope()
    own = module(torch.tensor([[0.4, 0.55]], dtype=torch.float64)).item()
    assert pp.certify(problem, module, queries).raw[0] == pytest.approx(own, rel=1e-12)
    loose = nn.Sequential(nn.Linear(2, 1))
    del loose[0]._parameters["weight"]
    loose[0].weight = torch.ones(1, 2)
    for lift in (False, True):
        for given in (nn.Linear(3, 1), nn.ModuleList([nn.Linear(2, 1)]), nn.Linear(2, 1).to("meta")):
            with pytest.raises(InputError):
                pp.certify(problem, given, queries, lift=lift)
    with pytest.raises(InputError, match=r"^module: raised RuntimeError"):
        pp.models.from_torch(loose)


CASE = (
    '[mesh]\ngenerate = "square"\ncells = 2\n[problem]\nkind = "reaction-diffusion"\n'
    '[problem.dirichlet]\nboundary = 0.0\n[prediction]\ntorch = "w.safetensors"\nfactory = "{}"\n'
    '[[query]]\nname = "q"\nat = [0.5, 0.5]\n'
)
FACTORIES = """
import torch
def raises(): raise RuntimeError("boo")
def leaves(): raise SystemExit(5)
def argument(a): return torch.nn.Linear(2, 1)
def empty(): return torch.nn.Linear(2, 1).to("meta")
class Fails(torch.nn.Linear):
    def forward(self, P): return 1 / 0
def fails(): return Fails(2, 1)
"""


@pytest.mark.optional
def test_factories_that_fail_are_refused_inputs_not_internal_errors(tmp_path, capsys):
    pytest.importorskip("torch")
    from safetensors.numpy import save_file

    from pinnpoint.cli.main import main

    save_file({"weight": np.ones((1, 2), np.float32), "bias": np.ones(1, np.float32)}, str(tmp_path / "w.safetensors"))
    (tmp_path / "failing_factories.py").write_text(FACTORIES)
    (tmp_path / "broken_factory.py").write_text("1 / 0\n")
    case = tmp_path / "case.toml"
    for factory, told in (
        ("failing_factories:raises", "raised RuntimeError (boo)"),
        ("failing_factories:leaves", "raised SystemExit"),
        ("failing_factories:argument", "raised TypeError"),
        ("failing_factories:empty", "meta device"),
        ("failing_factories:fails", "prediction: raised ZeroDivisionError"),
        ("broken_factory:build", "raised ZeroDivisionError"),
        ("failing_factories:raise", "has no 'raise'; did you mean 'failing_factories:raises'?"),
    ):
        case.write_text(CASE.format(factory))
        assert main(["certify", str(case), "--trust-model"]) == 2, factory
        assert told in capsys.readouterr().err


@pytest.mark.optional
def test_the_folder_one_stands_in_is_not_searched_for_factories(tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch")
    from pinnpoint.cli.main import main

    (tmp_path / "factory_beside.py").write_text("raise SystemExit('it ran')\n")
    (tmp_path / "w.safetensors").write_bytes(b"no matter")
    (tmp_path / "case.toml").write_text(CASE.format("factory_beside:build"))
    monkeypatch.chdir(tmp_path)
    for here in ("", str(tmp_path)):  # what `python -c` and `python -m` put first
        monkeypatch.syspath_prepend(here)
        assert main(["certify", "case.toml"]) == 2
        assert "--trust-model only" in capsys.readouterr().err


def test_a_table_of_values_is_told_from_a_state_dict():
    problem, queries = poisson()
    with pytest.raises(InputError, match=r"prediction: this is a table; give what it holds, prediction\['u'\]"):
        pp.certify(problem, {"u": problem.space.U0}, queries)
    with pytest.raises(InputError, match="prediction: this is a state_dict"):
        pp.certify(problem, {"0.weight": np.ones((2, 2)), "0.bias": np.ones(2)}, queries)
