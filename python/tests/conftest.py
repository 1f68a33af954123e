# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest


@pytest.fixture
def two_classes():
    """Records of two classes that a line tells apart, mostly."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(2000, 5)).astype(np.float32)
    y = (X @ np.array([1, -2, 0.5, 0, 3]) + draw.normal(size=2000) > 0).astype(int)
    return X, y


@pytest.fixture
def quick():
    """A config that trains in a moment."""
    return {"algorithm": {"name": "porter-gc", "rounds": 200, "step": 0.5, "consensus": 0.1, "batch": 16,
                          "compressor": "random_k:0.5"},
            "network": {"agents": 4}}


@pytest.fixture
def command():
    """The porter command of the same build."""
    import os
    path = os.environ.get("PORTER_COMMAND_PATH")
    if not path:
        pytest.skip("PORTER_COMMAND_PATH is not set: there is no porter command to compare with")
    return path
