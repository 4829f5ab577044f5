"""Models of other libraries, each by the real library where it is installed."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.cli.main import main
from pinnpoint.models import Predictor, grid_predictor
from pinnpoint.models.networks.safetensors import read_state, write_safetensors
from tests import ROOT

BLOCKS = [
    (f"{path.parent.name}/{path.stem} {i}", block)
    for path in sorted((ROOT / "docs").rglob("*.md"))
    for i, block in enumerate(re.findall(r"```python\n(# needs:.*?)```", path.read_text(encoding="utf-8"), flags=re.S))
]


def missing(block: str) -> list[str]:
    needs = re.match(r"# needs: (.*)\n", block)
    return [name for name in needs[1].split(", ") if importlib.util.find_spec(name) is None] if needs else []


@pytest.mark.optional
@pytest.mark.slow
@pytest.mark.parametrize(("title", "block"), BLOCKS, ids=[title for title, _ in BLOCKS])
def test_examples_of_the_documentation(title, block, tmp_path):
    """Each stands alone, is short, and runs as written in a fresh process."""
    assert len(block.splitlines()) < (60 if title.startswith("tutorials/") else 30)
    lost = missing(block)
    if lost:
        pytest.skip(f"not installed: {', '.join(lost)}")
    source = str(Path(pp.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", block],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_every_adapter_has_its_example():
    told = "\n".join(block for _, block in BLOCKS)
    for name in pp.models.__all__:
        if name.endswith("_predictor"):
            assert name in told, name


def test_chunks_and_padding_change_nothing():
    sizes = []

    def f(X):
        sizes.append(len(X))
        return np.stack([X[:, 0] + X[:, 1], X[:, 0]], axis=1)

    X = np.random.default_rng(0).normal(size=(10, 2))
    np.testing.assert_array_equal(Predictor(f, "", chunk=4)(X), f(X))
    assert sizes == [4, 4, 2, 10]
    np.testing.assert_array_equal(Predictor(f, "", chunk=4, pad=True)(X), f(X))
    assert sizes[4:7] == [4, 4, 4]
    assert Predictor(lambda X: X[:, :1], "")(X).shape == (10,)
    for bad, words in ((lambda X: X[:-1], "as many rows"), (lambda X: "a", "real numbers"), (lambda X: 1j * X, "real")):
        with pytest.raises(pp.InputError, match=words):
            Predictor(bad, "")(X)


def test_grids_are_interpolated_where_they_are():
    x, y = np.linspace(-1, 1, 5), np.linspace(0, 3, 7)
    values = 2 * x[:, None] - 3 * y[None, :] + 1
    X = np.random.default_rng(0).uniform([-1, 0], [1, 3], size=(50, 2))
    right = 2 * X[:, 0] - 3 * X[:, 1] + 1
    np.testing.assert_allclose(grid_predictor(values, [-1, 0], [1, 3])(X), right, atol=1e-13)
    x, y = (np.arange(4) + 0.5) / 2 - 1, (np.arange(6) + 0.5) / 2
    cells = np.stack([2 * x[:, None] - 3 * y[None, :] + 1, 0 * x[:, None] + y[None, :]])
    both = grid_predictor(cells, [-1, 0], [1, 3], channels=True, at="cells")(X)
    np.testing.assert_allclose(both, np.stack([right, X[:, 1]], axis=1), atol=1e-13)
    with pytest.raises(pp.InputError, match="outside the grid"):
        grid_predictor(values, [-1, 0], [1, 3])([[0.0, 3.1]])
    with pytest.raises(pp.InputError, match="2 coordinates"):
        grid_predictor(values)([[0.0]])
    for bad in (np.zeros((1, 5)), np.full((3, 3), np.nan), np.zeros((2, 2, 2, 2))):
        with pytest.raises(pp.InputError, match="values"):
            grid_predictor(bad)
    holed = values.copy()
    holed[1, 2] = np.nan
    with pytest.raises(pp.InputError, match=r"values: must be finite; 1 are not, the first at grid point \[1, 2\]"):
        grid_predictor(holed)
    with pytest.raises(pp.InputError, match="outside the grid"):
        grid_predictor(values)([[np.nan, 0.5]])
    with pytest.raises(pp.InputError, match="corners"):
        grid_predictor(values, 1.0, 0.0)


@pytest.mark.optional
def test_torch_modules_are_left_as_they_were():
    torch = pytest.importorskip("torch", reason="pip install 'pinnpoint[torch]'")
    net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5)).double()
    predict = pp.models.torch_predictor(net, chunk=3)
    X = np.random.default_rng(0).normal(size=(10, 2))
    before = {k: v.clone() for k, v in net.state_dict().items()}
    np.testing.assert_array_equal(predict(X), predict(X))
    assert net.training
    assert all(torch.equal(v, before[k]) for k, v in net.state_dict().items())
    assert predict.description.endswith("float64")
    assert "bfloat16" in pp.models.torch_predictor(net.bfloat16()).description
    with pytest.raises(pp.InputError, match="must return a tensor"):
        pp.models.torch_predictor(lambda x: [x])(X)
    with pytest.raises(pp.InputError, match="module"):
        pp.models.torch_predictor(3)


@pytest.mark.optional
def test_onnx_names_and_fixed_rows(tmp_path):
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    pytest.importorskip("onnxruntime", reason="pip install 'pinnpoint[onnx]'")
    helper, F = onnx.helper, onnx.TensorProto.FLOAT
    tensor = helper.make_tensor_value_info

    def model(rows, kind=F):
        nodes = [helper.make_node("ReduceSum", ["x", "axis"], ["s"], keepdims=1), helper.make_node("Neg", ["s"], ["n"])]
        axis = helper.make_tensor("axis", onnx.TensorProto.INT64, [1], [1])
        outputs = [tensor("s", kind, [rows, 1]), tensor("n", kind, [rows, 1])]
        graph = helper.make_graph(nodes, "g", [tensor("x", kind, [rows, 2])], outputs, [axis])
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
        path = tmp_path / f"{rows}.onnx"
        onnx.save(made, path)
        return path

    X = np.random.default_rng(0).normal(size=(10, 2))
    for rows in ("rows", 4):
        predict = pp.models.onnx_predictor(model(rows), output="n")
        np.testing.assert_allclose(predict(X), -X.sum(axis=1), rtol=1e-6)
        assert "float32" in predict.description
    for options, words in (
        ({}, "output: say which; it has s, n"),
        ({"output": "u"}, "there is no 'u'"),
        ({"input": "z", "output": "s"}, "input: there is no 'z'"),
    ):
        with pytest.raises(pp.InputError, match=words):
            pp.models.onnx_predictor(model("rows"), **options)
    (tmp_path / "bad.onnx").write_bytes(b"nothing")
    with pytest.raises(pp.InputError, match="does not read it"):
        pp.models.onnx_predictor(tmp_path / "bad.onnx")
    with pytest.raises(pp.InputError, match="no such file"):
        pp.models.onnx_predictor(tmp_path / "none.onnx")
    with pytest.raises(pp.InputError, match="does not accept points"):
        pp.models.onnx_predictor(model("rows"), output="s")(X[:, :1])


@pytest.mark.optional
def test_unfit_estimators_of_sklearn_are_refused():
    linear = pytest.importorskip("sklearn.linear_model", reason="pip install 'pinnpoint[sklearn]'")
    with pytest.raises(pp.InputError, match="estimator"):
        pp.models.sklearn_predictor(linear.LinearRegression())([[0.0, 1.0]])
    with pytest.raises(pp.InputError, match="classifier"):
        pp.models.sklearn_predictor(linear.LogisticRegression().fit([[0.0], [1.0]], [0, 1]))
    with pytest.raises(pp.InputError, match="predict"):
        pp.models.sklearn_predictor(3)


# ---- from case files

CASE = """
[mesh]
generate = "square"
cells = 6
[problem]
kind = "reaction-diffusion"
source = "1"
[problem.dirichlet]
boundary = 0.0
[prediction]
{prediction}
[[query]]
at = [0.5, 0.5]
"""
FACTORY = """
import torch
ran = True
def build():
    return torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
value = 3
def other():
    return 3
"""


def certified(tmp_path, prediction, *flags):
    case = tmp_path / "case.toml"
    case.write_text(CASE.format(prediction=prediction))
    return main(["certify", str(case), "--out", str(tmp_path / "out"), "--quiet", *flags])


@pytest.fixture
def weights(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch", reason="pip install 'pinnpoint[torch]'")
    name = f"nets_{abs(hash(str(tmp_path)))}"
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / f"{name}.py").write_text(FACTORY)
    monkeypatch.syspath_prepend(str(tmp_path / "code"))
    module = importlib.import_module(name)
    net = module.build()
    net.eval()
    safetensors = pytest.importorskip("safetensors.torch", reason="pip install safetensors")
    safetensors.save_file(net.state_dict(), tmp_path / "weights.safetensors")
    with torch.no_grad():
        value = float(net(torch.tensor([[0.5, 0.5]]))[0, 0])
    return name, value


def test_safetensors_with_a_factory(tmp_path, weights, capsys):
    import json

    name, value = weights
    assert certified(tmp_path, f'torch = "weights.safetensors"\nfactory = "{name}:build"') == 0
    data = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert abs(data["queries"][0]["raw"] - value) < 1e-6
    assert "float32" in data["prediction"]["model"]
    assert data["inputs"]["prediction"]["file"] == "weights.safetensors"
    assert read_state(tmp_path / "weights.safetensors")["1.num_batches_tracked"].dtype == np.int64
    for factory, words in (
        ("os:abort", "Python's own library"),
        ("nothing_here:build", "cannot be imported"),
        (f"{name}:value", "must be a function or a class"),
        (f"{name}:other", "must make a torch module"),
        (f"{name}:none", "must be a function or a class"),
    ):
        assert certified(tmp_path, f'torch = "weights.safetensors"\nfactory = "{factory}"') == 2
        assert words in capsys.readouterr().err
    write_safetensors(tmp_path / "weights.safetensors", {"0.weight": np.zeros((4, 3))})
    assert certified(tmp_path, f'torch = "weights.safetensors"\nfactory = "{name}:build"') == 2
    assert "differ in" in capsys.readouterr().err


def test_code_beside_the_case_needs_trust(tmp_path, weights, capsys):
    assert weights
    (tmp_path / "beside_the_case.py").write_text(FACTORY)
    given = 'torch = "weights.safetensors"\nfactory = "beside_the_case:build"'
    assert certified(tmp_path, given) == 2
    assert "--trust-model" in capsys.readouterr().err
    assert "beside_the_case" not in sys.modules
    assert certified(tmp_path, given, "--trust-model") == 0
    assert str(tmp_path) not in sys.path


@pytest.mark.optional
def test_files_that_run_code_need_trust(tmp_path, capsys):
    torch = pytest.importorskip("torch", reason="pip install 'pinnpoint[torch]'")
    net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)).double().eval()
    torch.save(net, tmp_path / "net.pt")
    rows = torch.export.Dim("rows", min=2)
    exported = torch.export.export(net, (torch.zeros(4, 2, dtype=torch.float64),), dynamic_shapes=({0: rows},))
    torch.export.save(exported, tmp_path / "net.pt2")
    for name in ("net.pt", "net.pt2"):
        assert certified(tmp_path, f'model = "{name}"') == 2
        assert "--trust-model" in capsys.readouterr().err
        assert not (tmp_path / "out").exists()
        assert main(["check", str(tmp_path / "case.toml")]) == 2
        capsys.readouterr()
    for name in ("net.pt", "net.pt2"):
        assert certified(tmp_path, f'model = "{name}"', "--trust-model") == 0
    (tmp_path / "bad.pt").write_bytes(b"nothing")
    assert certified(tmp_path, 'model = "bad.pt"', "--trust-model") == 2
    assert "cannot be opened" in capsys.readouterr().err
    joblib = pytest.importorskip("joblib", reason="pip install scikit-learn")
    from sklearn.linear_model import LinearRegression

    joblib.dump(LinearRegression().fit([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]], [0, 1, 2]), tmp_path / "fit.joblib")
    assert certified(tmp_path, 'model = "fit.joblib"') == 2
    assert certified(tmp_path, 'model = "fit.joblib"', "--trust-model") == 0


@pytest.mark.optional
def test_onnx_graphs_that_are_no_chain_are_run(tmp_path, capsys):
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    pytest.importorskip("onnxruntime", reason="pip install 'pinnpoint[onnx]'")
    helper, F = onnx.helper, onnx.TensorProto.DOUBLE
    tensor = helper.make_tensor_value_info
    axis = helper.make_tensor("axis", onnx.TensorProto.INT64, [1], [1])
    nodes = [helper.make_node("ReduceSum", ["x", "axis"], ["s"], keepdims=1)]
    graph = helper.make_graph(nodes, "g", [tensor("x", F, ["r", 2])], [tensor("s", F, ["r", 1])], [axis])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), tmp_path / "g.onnx")
    import json

    for given in ('onnx = "g.onnx"', 'onnx = "g.onnx"\ninput = "x"\noutput = "s"\nfactor = "2*x"'):
        assert certified(tmp_path, given) == 0
        raw = json.loads((tmp_path / "out" / "certificate.json").read_text())["queries"][0]["raw"]
        assert raw == pytest.approx(1.0)
    assert certified(tmp_path, 'onnx = "g.onnx"\noutput = "none"') == 2
    assert "there is no 'none'" in capsys.readouterr().err
    assert certified(tmp_path, 'expression = "x"\noutput = "s"') == 2
    assert "only with prediction.onnx" in capsys.readouterr().err


def test_missing_libraries_are_named():
    """Without the libraries the adapters say what to install."""
    code = textwrap.dedent(
        """
        import sys
        for name in ("torch", "jax", "onnxruntime"):
            sys.modules[name] = None
        import pinnpoint as pp
        for make in (pp.models.torch_predictor, pp.models.jax_predictor, pp.models.onnx_predictor):
            try:
                make(print)
            except pp.DependencyMissingError as error:
                assert "pip install 'pinnpoint[" in str(error)
            else:
                raise SystemExit("not refused")
        try:
            pp.training
        except pp.DependencyMissingError as error:
            print("fine")
        """
    )
    source = str(Path(pp.__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": source}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "fine", done.stderr
