# SPDX-License-Identifier: Apache-2.0
"""Models and methods that Python writes."""
import numpy as np
import pytest

import porterdp


class Logistic:
    """Logistic regression in NumPy."""

    dim = 5

    def __init__(self, X, y):
        self.X, self.y = X.astype(np.float64), y
        self.calls = 0

    def gradients(self, x, rows):
        self.calls += 1
        z = self.X[rows]
        return ((1 / (1 + np.exp(-z @ x))) - self.y[rows])[..., None] * z

    def loss(self, x, rows):
        z = self.X[rows] @ x
        return np.logaddexp(0, z) - self.y[rows] * z

    def predict(self, x, rows):
        return (self.X[rows] @ x > 0).astype(int)


class Batched(Logistic):
    batched = True

    def gradients(self, X, rows):
        self.calls += 1
        z = self.X[rows]
        p = 1 / (1 + np.exp(-np.einsum("nbd,nd->nb", z, X)))
        return (p - self.y[rows])[..., None] * z


@pytest.fixture
def plain(quick):
    return {**quick, "data": {"bias": False}, "model": {"lambda": 0.0}}


@pytest.mark.parametrize("kind", [Logistic, Batched])
@pytest.mark.parametrize("more", [{}, {"algorithm.name": "dsgd", "algorithm.compressor": "identity"},
                                  {"algorithm.name": "porter-dp", "privacy.epsilon": 4.0},
                                  {"algorithm.name": "porter-dp", "privacy.epsilon": 4.0, "privacy.sampler": "poisson"},
                                  {"algorithm.name": "porter-sweep", "privacy.epsilon": 4.0}])
def test_equals_our_own(two_classes, plain, kind, more):
    model = kind(*two_classes)
    theirs = porterdp.run(plain, data=two_classes, model=model, set=more)
    ours = porterdp.run(plain, data=two_classes, set=more)
    assert theirs.arrays["X"] == pytest.approx(ours.arrays["X"], abs=1e-6)
    assert theirs.metrics.loss[-1] == pytest.approx(ours.metrics.loss[-1], rel=1e-6)
    assert theirs.metrics.train_accuracy[-1] == pytest.approx(ours.metrics.train_accuracy[-1], abs=2e-3)
    assert theirs.metrics.grad_norm_sq[-1] == pytest.approx(ours.metrics.grad_norm_sq[-1], rel=1e-3, abs=1e-9)


def test_holds_out_and_tests_rows(two_classes, plain):
    X, y = two_classes
    held = porterdp.run(plain, data=(X, y), model=Logistic(X, y), set={"data.holdout": 0.2})
    assert held.metrics.last["test_accuracy"] > 0.85
    given = porterdp.run(plain, data=(X[:1600], y[:1600]), test=(X[1600:], y[1600:]), model=Logistic(X, y))
    assert given.metrics.last["test_accuracy"] > 0.85
    assert "agent_accuracy_worst" in given.metrics.last


def test_gradients_are_enough(two_classes, plain):
    X, y = two_classes

    class Bare:
        dim = 5
        gradients = Logistic(X, y).gradients

    result = porterdp.run(plain, model=Bare(), samples=len(y))
    assert result.status == "finished" and np.isnan(result.metrics.loss).all()
    assert np.isfinite(result.arrays["x_mean"]).all()
    with pytest.raises(ValueError, match="samples"):
        porterdp.run(plain, model=Bare())


def test_losses_without_predictions(two_classes, plain):
    X, y = two_classes

    class Blind:
        dim, gradients, loss = 5, Logistic(X, y).gradients, Logistic(X, y).loss

    last = porterdp.run(plain, data=two_classes, model=Blind()).metrics.last
    assert "loss" in last and "train_accuracy" not in last and "train_rmse" not in last


def test_memory_is_bounded(two_classes, plain, monkeypatch):
    from porterdp import _model
    model = Batched(*two_classes)
    whole = porterdp.run(plain, data=two_classes, model=model).arrays["X"]
    calls = model.calls
    monkeypatch.setattr(_model, "MEMORY", 4 * 4 * 5 * 3)  # three records of four agents
    assert porterdp.run(plain, data=two_classes, model=model).arrays["X"] == pytest.approx(whole, abs=1e-12)
    assert model.calls - calls > 5 * calls


class Wrong(Logistic):
    def __init__(self, data, answer):
        super().__init__(*data)
        self.answer = answer

    def gradients(self, x, rows):
        return self.answer(super().gradients(x, rows))


@pytest.mark.parametrize("answer, error, text", [
    (lambda g: g[:3], porterdp.UsageError, "expected an array of shape"),
    (lambda g: g.astype(int), porterdp.UsageError, "float32 or float64"),
    (lambda g: g * np.nan, porterdp.NumericError, "finite"),
    (lambda g: np.where(g > 2, np.nan, g), porterdp.Error, "finite"),
    (lambda g: [["a"]], ValueError, "expected an array of shape|float"),
    (lambda g: 1 / 0, ZeroDivisionError, "division"),
])
def test_what_a_callback_returns_is_checked(two_classes, plain, answer, error, text):
    with pytest.raises(error, match=text):
        porterdp.run(plain, data=two_classes, model=Wrong(two_classes, answer))


def test_with_a_guarantee_no_record_is_an_error(two_classes, plain):
    """That one has no gradient must not be seen."""
    def broken(g):
        g = g.copy()
        g[0] = np.nan
        return g
    private = {"algorithm": {"name": "porter-dp", "rounds": 5, "step": 0.1, "batch": 8}, "network.agents": 4,
               "privacy": {"epsilon": 2, "noise": "secure"}}
    result = porterdp.run(private, data=two_classes, model=Wrong(two_classes, broken), classes=[0, 1])
    assert result.privacy.guaranteed
    X, y = two_classes
    strange = np.where(np.arange(len(y)) == 5, 7, y)  # a label that nobody knows
    porterdp.run(private, data=(X, strange), model=Logistic(X, y), classes=[0, 1])
    with pytest.raises(ValueError, match="row 5: its label"):
        porterdp.run(plain, data=(X, strange), model=Logistic(X, y), classes=[0, 1])
    assert any("caller's own" in text for text in result.privacy["not_covered"])
    assert result.summary["model"] == "own"
    with pytest.raises(ValueError, match="the caller's own"):
        porterdp.load(result.folder).model


def test_what_is_no_model_or_no_method(two_classes, plain):
    for wrong, text in ((dict(model=object()), "dim and gradients"), (dict(algorithm=object()), "step")):
        with pytest.raises(ValueError, match=text):
            porterdp.run(plain, data=two_classes, **wrong)


def test_methods_that_need_more_say_so(two_classes, plain):
    for name, compressor in ("soteriafl-svrg", "random_k:0.5"), ("motef-vr", "random_k:0.5"), ("ddp-srm", "identity"):
        with pytest.raises(ValueError, match="sample by sample"):
            porterdp.Simulation(plain, data=two_classes, model=Logistic(*two_classes),
                                set={"algorithm.name": name, "algorithm.compressor": compressor,
                                     "algorithm.clip": "linear:1", "privacy.epsilon": 4.0})


class Choco:
    """CHOCO-SGD (Koloskova, Stich, Jaggi, 2019)."""

    def __init__(self, eta, gamma):
        self.eta, self.gamma = eta, gamma

    def step(self, X, gradients, mix):
        X -= self.eta * gradients(X)
        X += self.gamma * mix(X)


class Beer:
    """BEER (Zhao, Li, Li, Richtarik, Chi, 2022)."""

    like, channels, matrices = "beer", ["zero", "start"], ["V", "G"]

    def step(self, X, gradients, mix):
        G = gradients(X).copy()
        moved, drawn = mix(self.V), mix(X)
        self.V += 0.1 * moved + G - self.G
        self.G[:] = G
        X += 0.1 * drawn - 0.5 * self.V


def test_a_method_in_python_equals_ours(two_classes, quick):
    choco = {**quick, "algorithm": {**quick["algorithm"], "name": "choco-sgd"}}
    method = Choco(0.5, 0.1)
    theirs = porterdp.run(choco, data=two_classes, algorithm=method)
    assert method.round == 200
    assert any("method of the caller" in text for text in theirs.privacy["not_covered"])
    ours = porterdp.run(choco, data=two_classes)
    assert np.array_equal(theirs.arrays["X"], ours.arrays["X"])
    assert np.array_equal(theirs.metrics.bits_per_agent, ours.metrics.bits_per_agent)


def test_a_method_with_two_vectors(two_classes, quick):
    config = {**quick, "algorithm": {**quick["algorithm"], "name": "beer", "compressor": "top_k:0.5"}}
    theirs = porterdp.run(config, data=two_classes, algorithm=Beer())
    ours = porterdp.run(config, data=two_classes)
    assert theirs.arrays["X"] == pytest.approx(ours.arrays["X"], abs=1e-9)


def test_a_method_may_not_release_twice(two_classes, quick):
    class Twice(Choco):
        def step(self, X, gradients, mix):
            gradients(X)
            super().step(X, gradients, mix)

    with pytest.raises(porterdp.PrivacyError, match="each is a release"):
        porterdp.run(quick, data=two_classes, algorithm=Twice(0.5, 0.1))
    class Wrong(Choco):
        def step(self, X, gradients, mix):
            mix(X[:, :2])
    with pytest.raises(ValueError, match="expected an array of 4 x 6"):
        porterdp.run(quick, data=two_classes, algorithm=Wrong(0.5, 0.1))


def test_rows_of_a_method_outlive_it(two_classes, quick):
    kept = []

    class Keeper(Choco):
        def step(self, X, gradients, mix):
            kept.append((X, gradients(X), mix(X)))
            self.functions = gradients, mix

    keeper = Keeper(0.5, 0.1)
    porterdp.run(quick, data=two_classes, algorithm=keeper)
    assert all(np.isfinite(rows).all() for rows in kept[-1])
    for function in keeper.functions:
        with pytest.raises(ValueError, match="for the step"):
            function(kept[-1][0])
