# SPDX-License-Identifier: Apache-2.0
"""Decentralised training with compressed messages, clipping and a privacy guarantee that is true.

    import porterdp
    porterdp.privacy.epsilon(rounds=1000, m=6000, batch=60, noise_multiplier=2, delta=1e-5)
    result = porterdp.run({"algorithm.name": "porter-dp", "privacy.epsilon": 2}, data=(X, y))
    result.metrics.loss, result.privacy, result.model.predict(X)
"""
from . import privacy
from ._core import version as __version__
from ._errors import Error, FileError, NetworkError, NumericError, PrivacyError, ProtocolError, UsageError
from ._run import Metrics, Privacy, Result, Simulation, Sweep, TrainedModel, compare, load, report, run, sweep
from .agent import Agent
from .compress import compressor, compressors
from .graph import graph, mixing, to_networkx

__all__ = ["Agent", "Error", "FileError", "Metrics", "NetworkError", "NumericError", "Privacy", "PrivacyError",
           "ProtocolError", "Result", "Simulation", "Sweep", "TrainedModel", "UsageError", "__version__", "compare",
           "compressor", "compressors", "graph", "load", "mixing", "privacy", "report", "run", "sweep", "to_networkx"]
