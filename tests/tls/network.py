# SPDX-License-Identifier: Apache-2.0
"""Agents as processes with files of their own, and links between them that a test can disturb."""
import array
import json
import os
import re
import resource
import socket
import subprocess
import threading
import time
import zipfile

PATIENCE = 300  # seconds that nothing here may take, however busy the machine and slow the sanitizers


def fail_unless(condition, text):
    if not condition:
        raise AssertionError(text)


def wait_until(condition, text):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        fail_unless(time.monotonic() < deadline, "waited in vain: " + text)
        time.sleep(0.02)


_next_port = 20000 + os.getpid() * 37 % 12000


def free_port():
    """One that nobody listens on, below those that the system gives to connections."""
    global _next_port
    while True:
        _next_port = 20000 + (_next_port + 1) % 12000
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", _next_port))
                return _next_port
            except OSError:
                continue


class Proxy:
    """Forwards TCP from a port of its own to another one, as badly as it is told to."""

    def __init__(self, target):
        self.port, self.target = free_port(), target
        self.delay, self.rate = 0.0, None  # seconds; bytes per second, nothing: any number
        self.flip = False  # whether to alter a byte of what comes next
        self.is_cut = self.is_hole = False
        self.sockets, self.lock = set(), threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        """All connections end, and no new one lives."""
        self.is_cut = True
        with self.lock:
            for end in self.sockets:
                _close(end)
            self.sockets.clear()

    def mend(self):
        self.is_cut = self.is_hole = False

    def _accept(self):
        while True:
            near, _ = self.listener.accept()
            try:
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                near.close()
                continue
            if self.is_cut:
                near.close(), far.close()
                continue
            with self.lock:
                self.sockets |= {near, far}
            for a, b in (near, far), (far, near):
                threading.Thread(target=self._pump, args=(a, b), daemon=True).start()

    def _pump(self, source, sink):
        try:
            while data := source.recv(16384):
                while self.is_hole:
                    time.sleep(0.02)
                time.sleep(self.delay + (len(data) / self.rate if self.rate else 0))
                if self.flip:
                    self.flip = False
                    middle = len(data) // 2
                    data = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1:]
                sink.sendall(data)
        except OSError:
            pass
        _close(source)
        _close(sink)


def _close(end):
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    end.close()


class Network:
    """Agents with keys, configs and folders in the working directory."""

    def __init__(self, porter, config, agents, graph="complete", **changes):
        self.porter, self.count = porter, agents
        changes = {"agents": agents, "graph": f'"{graph}"', "evaluate": '"end"', **changes}
        for key, value in changes.items():
            config = re.sub(rf"(?m)^{key} = .*$", f"{key} = {value}", config)
        self.config = config
        self.ports = [free_port() for _ in range(agents)]
        self.routes = {}  # (from, to): port, where it is not that of the agent
        self.processes = {}
        self.environment = dict(os.environ)
        self.call("keys", "init", "keys", "--name", "test")
        self.call("keys", "issue", "keys", *(f"agent-{i}" for i in range(agents)))

    def call(self, *arguments):
        subprocess.run([self.porter, *arguments], check=True, stdout=subprocess.DEVNULL)

    def disturb(self, a, b):
        """Proxies for the link between two agents, one for each direction."""
        proxies = []
        for i, j in (a, b), (b, a):
            proxies.append(Proxy(self.ports[j]))
            self.routes[i, j] = proxies[-1].port
        return proxies

    def write(self, agent, file=None, name=None, port=None, wait="60s", keepalive="10s", **more):
        name = name or f"agent-{agent}"
        peers = ", ".join(
            f'{{name = "agent-{j}", address = "127.0.0.1:{self.routes.get((agent, j), self.ports[j])}"}}'
            for j in range(self.count))
        with open(file or f"node-{agent}.toml", "w") as out:
            out.write(f"""{self.config}
[agent]
name = "{name}"
listen = "127.0.0.1:{port or self.ports[agent]}"
ca = "keys/ca.crt"
certificate = "keys/{name}.crt"
key = "keys/{name}.key"
peers = [{peers}]
on_peer_loss = "wait:{wait}"
keepalive = "{keepalive}"
""" + "".join(f'{key} = "{value}"\n' for key, value in more.items()))

    def start(self, agent, program=None, files=None, **options):
        """`files` is how many of them the agent may have open."""
        self.write(agent, **options)
        with open(f"output-{agent}", "a") as output:
            self.processes[agent] = subprocess.Popen(
                [*(program or [self.porter, "agent", "--insecure-test-noise", "--out"]),
                 f"out-{agent}", f"node-{agent}.toml"],
                stdout=output, stderr=output, env=self.environment,
                preexec_fn=files and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))))
        return self.processes[agent]

    def start_all(self, **options):
        for agent in range(self.count):
            self.start(agent, **options)

    def log(self, agent):
        return open(f"output-{agent}").read() if os.path.exists(f"output-{agent}") else ""

    def round(self, agent):
        try:
            return json.load(open(f"out-{agent}/status.json"))["round"]
        except (OSError, ValueError):
            return 0

    def wait_for_round(self, agent, number):
        wait_until(lambda: self.round(agent) >= number or self.processes[agent].poll() is not None,
                   f"round {number} of agent {agent}")
        fail_unless(self.processes[agent].poll() is None, f"agent {agent} ended too soon")

    def setting(self, agent, key):
        return re.search(rf'(?m)^{key} = "(.*)"$', open(f"node-{agent}.toml").read())[1]

    def wait_for_status(self, agent, key, value):
        def shown():
            try:
                return json.load(open(f"out-{agent}/status.json"))[key] == value
            except (OSError, ValueError):
                return False
        wait_until(shown, f"status.json of agent {agent} has {key} = {value}")

    def wait_for_line(self, agent, pattern, times=1):
        wait_until(lambda: len(re.findall(pattern, self.log(agent))) >= times,
                   f"agent {agent} says: {pattern}")

    def expect_exit(self, code):
        for agent, process in self.processes.items():
            found = process.wait(PATIENCE)
            fail_unless(found == code, f"agent {agent} ended with {found}, not {code}")

    def expect_bits_of_simulation(self):
        """Every agent has its row of the model that one process computes."""
        with open("simulation.toml", "w") as out:
            out.write(self.config)
        self.call("run", "simulation.toml", "--out", "simulation")
        rows = b"".join(array_bytes(f"out-{agent}/model.npz", "x_mean") for agent in range(self.count))
        fail_unless(array_bytes("simulation/model.npz", "X") == rows, "the models differ from the simulation's")

    def checkpoint(self, agent, name):
        return array.array("d", array_bytes(f"out-{agent}/checkpoint/checkpoint.npz", name))

    def stop(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
                process.wait()


def array_bytes(file, name):
    """The numbers of an array in an npz file, as they are."""
    data = zipfile.ZipFile(file).read(name + ".npy")
    return data[10 + int.from_bytes(data[8:10], "little"):]


def is_closed(end, seconds):
    """Whether the other side ends the connection within the time; what it says is read."""
    end.settimeout(seconds)
    try:
        while end.recv(4096):
            pass
        return True
    except (TimeoutError, socket.timeout):
        return False
    except OSError:
        return True
