"""Training that stops at a proved error: torch loops and DeepXDE runs, budgets, histories, refusals."""

from __future__ import annotations

import csv
import os

import numpy as np
import pytest

import pinnpoint as pp

torch = pytest.importorskip("torch", reason="pip install 'pinnpoint[torch]'")
pytestmark = pytest.mark.optional

from pinnpoint.training import Certified, certified, deepxde_callback  # noqa: E402

FACTOR = "x*(1-x)"


def line(cells=8):
    return pp.fem.ReactionDiffusion(pp.io.generate("interval", cells), source="pi**2*sin(pi*x)")


def network(seed=0, width=12):
    torch.manual_seed(seed)
    layers = [torch.nn.Linear(1, width), torch.nn.Tanh(), torch.nn.Linear(width, 1)]
    return torch.nn.Sequential(*layers).double()


def train(net, watch, steps):
    """Plain collocation for −u″ = π² sin πx; the true largest error at each check."""
    x = torch.linspace(0.0, 1.0, 32, dtype=torch.float64)[1:-1, None].requires_grad_(True)
    optimizer, errors = torch.optim.Adam(net.parameters(), lr=1e-2), []
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        u = x * (1 - x) * net(x)
        slope = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
        bend = torch.autograd.grad(slope.sum(), x, create_graph=True)[0]
        loss = ((bend + np.pi**2 * torch.sin(np.pi * x.detach())) ** 2).mean()
        loss.backward()
        optimizer.step()
        before = len(watch.history)
        stop = watch(step, loss, net)
        if len(watch.history) > before:
            errors.append(largest(net))
        if stop:
            break
    return step, errors


def largest(net):
    t = torch.linspace(0.0, 1.0, 2001, dtype=torch.float64)[:, None]
    with torch.no_grad():
        return float((t * (1 - t) * net(t) - torch.sin(np.pi * t)).abs().max())


def test_a_torch_loop_stops_at_the_error_it_was_asked_for():
    net = network()
    watch = Certified(line(), below=0.05, every=100, budget=10.0, factor=FACTOR, queries=line().everywhere())
    steps, errors = train(net, watch, 4000)
    assert steps < 4000
    assert watch.reached is watch.history[-1]
    assert watch.reached.upper <= 0.05
    for check, error in zip(watch.history, errors, strict=True):  # the proof holds at every check, not only the last
        assert check.lower <= error * (1 + 1e-6) + 1e-9
        assert error <= check.upper
    assert [check.step for check in watch.history] == sorted({check.step for check in watch.history})
    assert watch.certificate.band is not None


def test_a_bound_too_small_does_not_stop_it(monkeypatch):
    """Sabotage: a tenth of what is proved would stop a run too early, and the truth is then beyond."""
    net = network()
    own = Certified._proved
    monkeypatch.setattr(Certified, "_proved", lambda self, lift: tuple(0.1 * x for x in own(self, lift)))
    watch = Certified(line(), below=0.05, every=20, budget=100.0, factor=FACTOR)
    train(net, watch, 4000)
    assert watch.reached.upper <= 0.05
    assert largest(net) > watch.reached.upper


def test_every_and_budget_are_kept(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(certified.time, "perf_counter", lambda: now[0])

    def proved(self, lift):
        now[0] += 3.0
        return 0.0, 1.0

    monkeypatch.setattr(Certified, "_proved", proved)
    watch = Certified(line(), below=0.5, every=10, budget=0.2)
    for step in range(1, 201):
        now[0] += 0.5
        assert not watch(step, 1.0, 0.0)
    steps = [check.step for check in watch.history]
    assert steps[0] == 10
    assert np.all(np.diff(steps) >= 10)
    assert sum(check.seconds for check in watch.history[1:]) <= 0.2 * watch.history[-1].training + 3.0
    assert 3 <= len(steps) <= 9
    assert abs(watch.history[-1].training - 0.5 * (steps[-1] - 1)) < 1e-9
    assert watch.share == pytest.approx(3.0 * len(steps) / watch.history[-1].training)


def test_loss_and_proved_error_part_ways():
    """A field whose residual vanishes at all points that the loss looks at."""
    problem = line(32)
    x = np.arange(1, 8) / 8
    loss = np.mean((0.1 * 64 * np.pi**2 * np.sin(8 * np.pi * x)) ** 2)
    watch = Certified(problem, below=0.05, queries=problem.everywhere())
    check = watch.check(0, loss, "sin(pi*x) + 0.1*sin(8*pi*x)")
    assert check.loss < 1e-24
    assert 0.05 < check.lower <= 0.1 <= check.upper
    assert watch.reached is None


def test_other_queries_and_unbounded_results(monkeypatch):
    problem = line()
    watch = Certified(problem, below=0.05, queries=problem.points([[0.5]]) + problem.mean(), factor=FACTOR)
    check = watch.check(1, 0.5, "4")
    assert check.lower <= 4 / 6 - 2 / np.pi <= check.upper  # the mean of 4x(1−x) against that of sin πx
    assert watch.good(check)

    def fail(*rest, **more):
        raise pp.CertificationError("nothing")

    monkeypatch.setattr(certified, "certify", fail)
    assert watch.check(2, 0.5, "4").upper == np.inf
    assert not watch.good(watch.history[-1])


def test_estimates_never_stop_training():
    problem = pp.fem.ReactionDiffusion(
        pp.io.generate("interval", 8), source=lambda X: np.pi**2 * np.sin(np.pi * X[:, 0])
    )
    watch = Certified(problem, below=10.0, queries=problem.points([[0.5]]), factor=FACTOR)
    assert watch.check(1, 0.5, "4").upper == np.inf


def test_the_history_is_written_and_drawn(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    watch = Certified(line(), below=0.5, factor=FACTOR)
    watch(1, torch.tensor(2.0), "3")
    for step in (500, 1000):
        watch.check(step, torch.tensor(1.0 / step), "4")
    watch.to_csv(tmp_path / "h.csv")
    with open(tmp_path / "h.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows] == [500, 1000]
    assert float(rows[0]["upper"]) == watch.history[0].upper
    ax = watch.plot()
    assert "% of the training time" in ax.get_title()
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"loss", "proved error", "stop below 0.5"}


@pytest.mark.parametrize(
    ("more", "word"), [({"below": 0.0}, "below"), ({"every": 0}, "every"), ({"budget": -1.0}, "budget")]
)
def test_bad_settings_are_refused(more, word):
    with pytest.raises(pp.InputError, match=word):
        Certified(line(), **more)
    with pytest.raises(pp.InputError, match="problem"):
        Certified(3)


# DeepXDE


@pytest.fixture(scope="module")
def dde():
    os.environ.setdefault("DDE_BACKEND", "pytorch")
    module = pytest.importorskip("deepxde")
    if module.backend.backend_name != "pytorch":
        pytest.skip("another backend")
    return module


def model_of(dde, transform=True):
    dde.config.set_random_seed(3)

    def pde(x, u):
        return -dde.grad.hessian(u, x, i=0, j=0) - np.pi**2 * torch.sin(np.pi * x)

    net = dde.nn.FNN([1, 16, 16, 1], "tanh", "Glorot uniform")
    if transform:
        net.apply_output_transform(lambda x, y: x * (1 - x) * y)
    model = dde.Model(dde.data.PDE(dde.geometry.Interval(0, 1), pde, [], num_domain=40), net)
    model.compile("adam", lr=5e-3, verbose=0)
    return model


@pytest.mark.slow
def test_a_deepxde_run_stops_at_the_error_it_was_asked_for(dde):
    model = model_of(dde)
    watch = Certified(line(), below=0.01, every=60, factor=FACTOR)
    callback = deepxde_callback(watch)
    model.train(iterations=6000, display_every=6000, callbacks=[callback], verbose=0)
    assert callback.step < 6000
    assert watch.reached is watch.history[-1]
    x = np.linspace(0.0, 1.0, 1001)[:, None]
    error = float(np.abs(model.predict(x) - np.sin(np.pi * x)).max())
    assert error <= watch.reached.upper <= 0.01
    later = [check.seconds for check in watch.history[1:]]
    assert sum(later[:-1]) <= 0.2 * watch.history[-1].training
    assert watch.history[-1].loss < watch.history[0].loss


def test_transforms_that_are_not_told_are_refused(dde):
    model = model_of(dde)
    for factor in (None, "x*(1-x)*2"):
        with pytest.raises(pp.InputError, match="output and feature"):
            model.train(
                iterations=2,
                callbacks=[deepxde_callback(Certified(line(), every=1, factor=factor))],
                verbose=0,
            )
