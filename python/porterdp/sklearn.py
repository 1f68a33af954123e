# SPDX-License-Identifier: Apache-2.0
"""Estimators for scikit-learn: the records of X are dealt to agents, who train together.

    PorterClassifier(epsilon=2, delta=1e-5, agents=10).fit(X, y)

Every record is protected by (epsilon, delta)-differential privacy against everybody but the agent who
holds it; `privacy_` says what holds. Without epsilon nothing is private.
"""
import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, check_random_state, check_X_y

from ._errors import UsageError
from ._run import run

__all__ = ["PorterClassifier", "PorterRegressor"]


class _Estimator(BaseEstimator):
    def __init__(self, epsilon=None, delta=1e-5, agents=10, rounds=300, batch=None, step=0.5, consensus="auto", clip=1.0,
                 hidden=(), compressor="random_k:0.2", graph="erdos-renyi:0.8", random_state=None, config=None):
        self.epsilon = epsilon
        self.delta = delta
        self.agents = agents
        self.rounds = rounds
        self.batch = batch
        self.step = step
        self.consensus = consensus
        self.clip = clip
        self.hidden = hidden
        self.compressor = compressor
        self.graph = graph
        self.random_state = random_state
        self.config = config

    def _settings(self, rows, model):
        """The config: with a random_state noise is simulated, so that fits repeat, and nothing is promised."""
        if rows < 2:
            raise UsageError("n_samples=1: expected at least two records")
        agents = max(1, min(self.agents, rows // 2))
        each = rows // agents
        batch = min(each, self.batch if self.batch is not None else max(1, min(64, each // 4)))
        seed = int(check_random_state(self.random_state).randint(1, 2**31 - 1))
        config = {"network": {"agents": agents, "graph": "complete" if agents < 4 else self.graph},
                  "model": model,
                  "algorithm": {"name": "porter-dp" if self.epsilon is not None else "porter-gc", "rounds": self.rounds,
                                "batch": batch, "step": self.step, "consensus": self.consensus,
                                "compressor": self.compressor, "clip": f"smooth:{self.clip}"},
                  "run": {"seed": seed, "evaluate": "end"}}
        if self.epsilon is not None:
            config["privacy"] = {"epsilon": self.epsilon, "delta": self.delta,
                                 "noise": "secure" if self.random_state is None else "simulated"}
        for key, value in (self.config or {}).items():
            section, dot, name = key.partition(".")
            if not dot:
                raise UsageError(f"config: expected \"section.key\", found {key!r}")
            config.setdefault(section, {})[name] = value
        return config

    def _train(self, X, y, model, classes):
        result = run(self._settings(len(X), model), data=(X, y), classes=classes, progress=False)
        self.privacy_, self.metrics_ = result.privacy, result.metrics
        self.model_ = result.model
        self.n_iter_ = self.rounds
        self._result = result
        return self

    def _checked(self, X):
        check_is_fitted(self, "model_")
        X = check_array(X, dtype=np.float32)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                             f"{self.n_features_in_} features as input")
        return X

    def _names(self, X):
        self._check_feature_names(X, reset=True) if hasattr(self, "_check_feature_names") else None

    def __getstate__(self):
        state = super().__getstate__() if hasattr(super(), "__getstate__") else dict(self.__dict__)
        state = dict(state)
        for name in ("model_", "_result"):
            state.pop(name, None)
        if "model_" in self.__dict__:
            state["_model_bytes"] = (self._result.folder / "model.npz").read_bytes() if "_result" in self.__dict__ \
                else self._model_bytes
        return state

    def __setstate__(self, state):
        content = state.get("_model_bytes")
        super().__setstate__(state) if hasattr(super(), "__setstate__") else self.__dict__.update(state)
        if content is not None:
            import os
            import tempfile
            from ._run import TrainedModel
            with tempfile.TemporaryDirectory(prefix="porterdp-") as folder:
                path = os.path.join(folder, "model.npz")
                with open(path, "wb") as file:
                    file.write(content)
                self.model_ = TrainedModel(path, labels=getattr(self, "classes_", None))


class PorterClassifier(ClassifierMixin, _Estimator):
    """Logistic regression for two classes, softmax for more; with `hidden=(64,)` a network."""

    def __init__(self, epsilon=None, delta=1e-5, agents=10, rounds=300, batch=None, step=0.5, consensus="auto", clip=1.0,
                 hidden=(), compressor="random_k:0.2", graph="erdos-renyi:0.8", random_state=None, config=None,
                 classes=None):
        super().__init__(epsilon, delta, agents, rounds, batch, step, consensus, clip, hidden, compressor, graph,
                         random_state, config)
        self.classes = classes

    def fit(self, X, y):
        self._names(X)
        X, y = check_X_y(X, y, dtype=np.float32)
        check_classification_targets(y)
        self.n_features_in_ = X.shape[1]
        self.classes_ = np.unique(y) if self.classes is None else np.asarray(self.classes)
        if len(self.classes_) < 2:
            raise UsageError(f"Classifier can't train when only one class is present: {self.classes_[0]!r}")
        if self.classes is None and self.epsilon is not None and self.random_state is None:
            warnings.warn("the classes were found in y and are taken for public; state them: classes=[...]", stacklevel=2)
        model = {"name": "mlp", "hidden": list(self.hidden)} if self.hidden else \
            {"name": "logistic" if len(self.classes_) == 2 else "softmax", "lambda": 0.0}
        self._train(X, y, model, self.classes_)
        if self.classes is None and self.privacy_.guaranteed:
            self.privacy_["not_covered"].append("the list of classes, which was found in y")
        return self

    def predict(self, X):
        X = self._checked(X)
        return self.classes_[self.model_.predict_class_numbers(X)]

    def predict_proba(self, X):
        X = self._checked(X)
        return self.model_.predict_proba(X)


class PorterRegressor(RegressorMixin, _Estimator):
    """Linear regression with the Huber loss; with `hidden=(64,)` a network."""

    def _more_tags(self):
        return {"multioutput": True}

    def __init__(self, epsilon=None, delta=1e-5, agents=10, rounds=300, batch=None, step=0.5, consensus="auto", clip=1.0,
                 hidden=(), compressor="random_k:0.2", graph="erdos-renyi:0.8", random_state=None, config=None,
                 loss="huber"):
        super().__init__(epsilon, delta, agents, rounds, batch, step, consensus, clip, hidden, compressor, graph,
                         random_state, config)
        self.loss = loss

    def fit(self, X, y):
        self._names(X)
        X, y = check_X_y(X, y, dtype=np.float32, multi_output=True, y_numeric=True)
        self.n_features_in_ = X.shape[1]
        model = {"name": "mlp", "hidden": list(self.hidden), "loss": self.loss} if self.hidden else \
            {"name": "linear", "loss": self.loss, "lambda": 0.0}
        return self._train(X, y, model, None)

    def predict(self, X):
        X = self._checked(X)
        return self.model_.predict(X)
