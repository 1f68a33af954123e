# SPDX-License-Identifier: Apache-2.0
"""An organisation's agent with the data and the model that its script has."""
import os

import numpy as np

from . import _core
from ._config import _overrides
from ._data import Labels, _checked, _pair
from ._model import bind
from ._run import load

__all__ = ["Agent"]


class Agent:
    """Takes part in a run over mutually authenticated TLS, beside agents of the porter command.

    node      the file that `porter keys` and docs/deploy.md speak of, with a section [agent]
    data      this agent's own records, (X, y) or a DataFrame with label=...
    model     the same model at all agents; absent: the one that the config names
    """

    def __init__(self, node, data=None, model=None, *, label=None, classes=None, samples=None, set=None,
                 insecure_test_noise=False):
        self.options = _core.load_agent_options(os.fspath(node), _overrides(set), insecure_test_noise)
        config = self.options.config
        self.own_model, self._start, self._model, self._data = model, None, None, None
        if model is not None:
            self._model, self._data, self._start = bind(config, model, data, None, label, classes, samples, deal=False)
        elif data is not None:
            X, y = _checked(_pair(data, label))
            labels = Labels(config, classes, y)
            self._data = _core.arrays(config, X, labels.numbers(y), labels.names, deal=False)

    @property
    def name(self):
        return self.options.name

    def run(self, out, log=print):
        """To the end, or to an interrupt; called again it goes on. Returns the `Result` of the folder."""
        status = _core.run_agent(self.options, os.fspath(out), self._data, self._model, self._start, log)
        if status != "finished":
            return None
        result = load(out)
        if self.own_model is not None and hasattr(self.own_model, "load"):
            self.own_model.load(np.asarray(result.arrays["x_mean"]))
        return result
