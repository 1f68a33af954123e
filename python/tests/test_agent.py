# SPDX-License-Identifier: Apache-2.0
"""Agents from Python beside agents of the command, over mutually authenticated TLS."""
import socket
import subprocess
import threading

import numpy as np
import pytest

import porterdp

CONFIG = """
[data]
features = 5
classes = [0, 1]
bias = false
[model]
lambda = 0.0
[network]
agents = 3
graph = "ring"
[algorithm]
name = "porter-dp"
rounds = 20
step = 0.1
consensus = 0.1
batch = 10
compressor = "random_k:0.5"
[privacy]
epsilon = 4
noise = "{noise}"
[run]
evaluate = "end"
[agent]
name = "{name}"
listen = "{listen}"
ca = "keys/ca.crt"
certificate = "keys/{name}.crt"
key = "keys/{name}.key"
{train}
peers = [{peers}]
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.fixture
def nodes(tmp_path, command, two_classes):
    """The files of three members; the first has its records in memory only."""
    X, y = two_classes

    def make(noise, in_memory=(0,)):
        names = ["a", "b", "c"]
        subprocess.run([command, "keys", "init", str(tmp_path / "keys")], check=True, capture_output=True)
        subprocess.run([command, "keys", "issue", str(tmp_path / "keys"), *names], check=True,
                       capture_output=True)
        ports = free_ports(3)
        peers = ", ".join(f'{{name = "{n}", address = "127.0.0.1:{p}"}}' for n, p in zip(names, ports))
        for i, name in enumerate(names):
            np.savez(tmp_path / f"{name}.npz", X=X[i * 500:(i + 1) * 500], y=y[i * 500:(i + 1) * 500])
            train = "" if i in in_memory else f'train = "{name}.npz"'
            (tmp_path / f"{name}.toml").write_text(CONFIG.format(
                noise=noise, name=name, listen=f"127.0.0.1:{ports[i]}", train=train, peers=peers))
        return tmp_path

    return make


def run_beside(command, folder, others, agent, *options):
    """The agent of this process, and the others as programs. Returns its result and theirs."""
    programs = [subprocess.Popen([command, "agent", str(folder / f"{name}.toml"), "--out", str(folder / f"out-{name}"),
                                  *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                for name in others]
    lines = []
    try:
        result = agent.run(folder / "out-a", log=lines.append)
    finally:
        outputs = [program.communicate(timeout=120)[0] for program in programs]
    assert all(program.returncode == 0 for program in programs), "\n".join(outputs + lines)
    return result


class Logistic:
    dim = 5

    def __init__(self, X, y):
        self.X, self.y = X.astype(np.float64), y

    def gradients(self, x, rows):
        z = self.X[rows]
        return ((1 / (1 + np.exp(-z @ x))) - self.y[rows])[:, None] * z


def test_an_agent_with_arrays_has_the_bits_of_one_with_a_file(nodes, command, two_classes):
    X, y = two_classes
    folder = nodes("simulated")
    agent = porterdp.Agent(folder / "a.toml", data=(X[:500], y[:500]), insecure_test_noise=True)
    result = run_beside(command, folder, "bc", agent, "--insecure-test-noise")
    config = CONFIG.split("[agent]")[0].format(noise="simulated")
    alone = porterdp.run(config, data=[(X[i * 500:(i + 1) * 500], y[i * 500:(i + 1) * 500]) for i in range(3)],
                         classes=[0, 1])
    assert np.array_equal(result.arrays["X"][0], alone.arrays["X"][0])
    assert result.model.predict(X[:5]).shape == (5,)


def test_an_agent_with_a_model_of_its_own(nodes, command, two_classes):
    X, y = two_classes
    folder = nodes("secure")
    agent = porterdp.Agent(folder / "a.toml", data=(X[:500], y[:500]), model=Logistic(X, y), classes=[0, 1])
    assert agent.name == "a"
    result = run_beside(command, folder, "bc", agent)
    assert result.privacy.guaranteed and result.privacy.epsilon[1] <= 4
    assert np.isfinite(result.arrays["x_mean"]).all()


def test_agents_of_one_process(nodes, two_classes):
    """Two agents in threads of one script: neither holds the interpreter while it waits."""
    X, y = two_classes
    folder = nodes("simulated", in_memory=(0, 1, 2))
    results = {}

    def run(i, name):
        rows = slice(i * 500, (i + 1) * 500)
        agent = porterdp.Agent(folder / f"{name}.toml", data=(X[rows], y[rows]), model=Logistic(X[rows], y[rows]),
                               insecure_test_noise=True)
        results[name] = agent.run(folder / f"out-{name}", log=None)

    threads = [threading.Thread(target=run, args=(i, name)) for i, name in enumerate("abc")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert {name: result.status for name, result in results.items()} == dict.fromkeys("abc", "finished")
