# SPDX-License-Identifier: Apache-2.0
"""PyTorch modules as models."""
import numpy as np
import pytest

import porterdp

torch = pytest.importorskip("torch", reason="python3-torch is not installed")
from porterdp.torch import Model  # noqa: E402


@pytest.fixture
def three_classes():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(2000, 20)).astype(np.float32)
    return X, np.argmax(X[:, :3] + 0.3 * draw.normal(size=(2000, 3)), axis=1)


CONFIG = {"algorithm": {"name": "porter-gc", "rounds": 50, "step": 0.3, "consensus": 0.1, "batch": 8,
                        "compressor": "random_k:0.3"},
          "network": {"agents": 5}, "model": {"name": "mlp", "hidden": [16]}, "data": {"bias": False}}


def network():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(20, 16), torch.nn.Sigmoid(), torch.nn.Linear(16, 3))


def test_a_network_equals_ours(three_classes):
    X, y = three_classes
    module = network()
    model = Model(module, torch.nn.functional.cross_entropy)
    start = model.start()
    for more in ({}, {"algorithm.name": "porter-dp", "privacy.epsilon": 4.0}):
        model.load(start)
        both = dict(data=(X[:1500], y[:1500]), test=(X[1500:], y[1500:]), set=more)
        theirs, ours = porterdp.run(CONFIG, model=model, **both), porterdp.run(CONFIG, start=start, **both)
        assert theirs.arrays["X"] == pytest.approx(ours.arrays["X"], abs=1e-5)
        assert theirs.metrics.last["test_accuracy"] == pytest.approx(ours.metrics.last["test_accuracy"], abs=4e-3)
        assert theirs.metrics.last["grad_norm_sq"] == pytest.approx(ours.metrics.last["grad_norm_sq"], rel=1e-3)
    trained = torch.cat([p.detach().reshape(-1) for p in module.parameters()]).numpy()
    assert trained == pytest.approx(theirs.arrays["x_mean"], abs=1e-6), "the module has the average"
    assert theirs.model is model


def test_regression():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(1000, 4)).astype(np.float32)
    y = X @ np.array([1.0, -2, 0.5, 3])
    model = Model(torch.nn.Linear(4, 1), lambda p, t: torch.nn.functional.mse_loss(p[:, 0], t))
    config = {"model": {"name": "linear", "loss": "squared"}, "network.agents": 4,
              "algorithm": {"name": "beer", "rounds": 200, "step": 0.1, "batch": 50, "compressor": "identity",
                            "consensus": 0.5}}
    assert porterdp.run(config, data=(X, y), test=(X, y), model=model).metrics.last["test_r2"] > 0.99


def test_convolutions_and_other_parts():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(400, 1, 8, 8)).astype(np.float32)
    y = (X[:, 0, :4].mean(axis=(1, 2)) > 0).astype(int)
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.GroupNorm(2, 4), torch.nn.ReLU(),
                              torch.nn.Flatten(), torch.nn.Linear(144, 2))
    result = porterdp.run({"algorithm": {"name": "porter-gc", "rounds": 60, "step": 1.0, "batch": 8,
                                         "compressor": "random_k:0.3", "consensus": 0.1}, "network.agents": 4},
                          data=(X, y), model=Model(net, torch.nn.functional.cross_entropy))
    assert result.metrics.last["train_accuracy"] > 0.6


def test_frozen_parameters_stay(three_classes):
    module = network()
    module[0].weight.requires_grad = False
    frozen = module[0].weight.detach().clone()
    model = Model(module, torch.nn.functional.cross_entropy)
    assert model.dim == 16 + 48 + 3
    result = porterdp.run(CONFIG, data=three_classes, model=model)
    assert torch.equal(module[0].weight, frozen) and result.metrics.last["train_accuracy"] > 0.4


def test_refuses_what_mixes_records():
    with pytest.raises(ValueError, match="BatchNorm1d"):
        Model(torch.nn.Sequential(torch.nn.BatchNorm1d(3)), None)


def test_needs_records():
    with pytest.raises(ValueError, match="data"):
        porterdp.run(CONFIG, model=Model(network(), torch.nn.functional.cross_entropy))
