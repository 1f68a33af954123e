#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""strangers.py PORTER BAD_AGENT CONFIG: those who do not belong knock at agents that train.

Three agents on a path: 0 - 1 - 2. Each stranger is dropped, agent 0 says who it was, and the run goes on; however
many they are, agent 0 has files, memory and threads left, and a place for a neighbour that comes back."""
import os
import re
import resource
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

from network import Network, fail_unless, free_port, is_closed

porter, bad_agent, config_file = sys.argv[1:4]


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, stderr=subprocess.DEVNULL)


def make_expired(name):
    """A certificate of our authority whose time is over."""
    openssl("req", "-new", "-key", f"keys/{name}.key", "-subj", f"/CN={name}", "-out", "expired.csr")
    with open("expired.ext", "w") as out:
        out.write(f"subjectAltName=DNS:{name}\nextendedKeyUsage=serverAuth,clientAuth\n")
    openssl("x509", "-req", "-in", "expired.csr", "-CA", "keys/ca.crt", "-CAkey", "keys/ca.key",
            "-days", "-1", "-extfile", "expired.ext", "-out", "keys/expired.crt")


def make_foreign(name):
    """A whole authority of somebody else's, with the same names."""
    subprocess.run([porter, "keys", "init", "foreign", "--name", "test"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([porter, "keys", "issue", "foreign", name], check=True, stdout=subprocess.DEVNULL)


def knock(port):
    return socket.create_connection(("127.0.0.1", port), 60)


def tls(port, certificate=None, key=None, newest=ssl.TLSVersion.TLSv1_3):
    """A connection that has finished its half of the handshake."""
    context = ssl.create_default_context(cafile="keys/ca.crt")
    context.check_hostname = False
    context.maximum_version = newest
    if certificate:
        context.load_cert_chain(certificate, key)
    return context.wrap_socket(knock(port), server_hostname="agent-0")


def member(port, name, **options):
    return tls(port, f"keys/{name}.crt", f"keys/{name}.key", **options)


def says(end, kind, length, body=b""):
    """A frame of a link."""
    end.sendall(struct.pack("<BI", kind, length) + body)
    return end


def expect_drop(text, make):
    """What `make` opens is closed by the agent. The handshake itself may fail, too."""
    try:
        end = make()
    except OSError:
        return
    with end:
        fail_unless(is_closed(end, 60), f"{text}: the connection lives on")


def trickle(port):
    """A byte of something like TLS now and then."""
    end = knock(port)

    def drip():
        try:
            for byte in b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500):
                end.sendall(bytes([byte]))
                time.sleep(0.05)
        except OSError:
            pass

    threading.Thread(target=drip, daemon=True).start()
    return end


def plain(port):
    end = knock(port)
    end.sendall(b"GET / HTTP/1.1\r\nHost: agent-0\r\n\r\n")
    return end


def status(process, key):
    return int(re.search(rf"{key}:\s+(\d+)", open(f"/proc/{process.pid}/status").read())[1])


def memory(process):
    """Resident, in MB."""
    return status(process, "VmRSS") / 1024


def run_impostor(net):
    """An agent with the certificate of agent 2 that says it is agent 1."""
    net.write(2, file="impostor.toml", port=free_port(), start_wait="3s")
    done = subprocess.run([bad_agent, "impostor", "impostor-out", "impostor.toml"], timeout=100, check=False,
                          stdout=subprocess.DEVNULL)
    fail_unless(done.returncode == 1, "the impostor was let in")


def visit(net):
    """One of each kind."""
    port, before = net.ports[0], memory(net.processes[0])
    strangers = {
        "silent": lambda: knock(port),
        "plaintext": lambda: plain(port),
        "trickling": lambda: trickle(port),
        "without a certificate": lambda: tls(port),
        "expired": lambda: tls(port, "keys/expired.crt", "keys/agent-1.key"),
        "of a foreign authority": lambda: tls(port, "foreign/agent-1.crt", "foreign/agent-1.key"),
        "of an old protocol": lambda: member(port, "agent-1", newest=ssl.TLSVersion.TLSv1_2),
        # Certificates of the authority: of somebody who is not in the run, of somebody who is no neighbour.
        "not in the run": lambda: says(member(port, "outsider"), 1, 1_000_000_000),
        "no neighbour": lambda: says(member(port, "agent-2"), 1, 1_000_000_000),
    }
    # With the certificate of a neighbour, one after the other: a newer connection takes the place of an older one.
    neighbours = {
        "it has said no hello": lambda: member(port, "agent-1"),
        "agent-1 announces 1000000000 bytes; the limit is 262144":
            lambda: says(member(port, "agent-1"), 1, 1_000_000_000),
        "agent-1 sent something of kind 4 in place of its greeting":
            lambda: says(member(port, "agent-1"), 4, 1_000_000_000, bytes(1000)),
        "agent-1 sent something of kind 77": lambda: says(member(port, "agent-1"), 77, 0),
        "agent-1 sent a malformed hello": lambda: says(member(port, "agent-1"), 1, 12, b"\xff" * 12),
        "protocol version 2 expected, 9 found":
            lambda: says(member(port, "agent-1"), 1, 8, struct.pack("<II", 9, 1)),
        "another run; these differ: ": lambda: says(member(port, "agent-1"), 1, 8, struct.pack("<II", 2, 1)),
        "the certificate is not that of agent-0":
            lambda: says(member(port, "agent-1"), 1, 8, struct.pack("<II", 2, 0)),
    }
    threads, problems = [], []

    def guarded(text, make):
        try:
            expect_drop(text, make)
        except AssertionError as error:
            problems.append(str(error))

    for text, make in strangers.items():
        threads.append(threading.Thread(target=guarded, args=(text, make)))
        threads[-1].start()
    for words, make in neighbours.items():
        expect_drop(words, make)
        net.wait_for_line(0, rf"agent-1 \(127\.0\.0\.1:\d+\) is refused: {words}")
    run_impostor(net)
    for thread in threads:
        thread.join()
    fail_unless(not problems, "; ".join(problems))
    net.wait_for_line(0, r"127\.0\.0\.1:\d+ is refused: it has not shown a certificate of the authority", 6)
    net.wait_for_line(0, r"a certificate of the authority; .*certificate has expired")
    net.wait_for_line(0, r"outsider \(.*\) is refused: no neighbour of agent-0")
    net.wait_for_line(0, r"agent-2 \(.*\) is refused: no neighbour of agent-0")
    grown = memory(net.processes[0]) - before
    fail_unless(grown < 30, f"{grown:.0f} MB for those who announce a gigabyte")


class Flood:
    """Many connections that say nothing; those that are dropped are opened again."""

    def __init__(self, make, count):
        self.make, self.over = make, False
        self.ends = [None] * count
        self.threads = [threading.Thread(target=self._keep, args=(first,)) for first in range(4)]
        for thread in self.threads:
            thread.start()

    def _keep(self, first):
        while not self.over:
            for i in range(first, len(self.ends), 4):
                if self.over:
                    return
                if self.ends[i] and not is_closed(self.ends[i], 0.0001):
                    continue
                try:
                    self.ends[i] = self.make()
                except OSError:
                    self.ends[i] = None

    def stop(self):
        self.over = True
        for thread in self.threads:
            thread.join()
        for end in filter(None, self.ends):
            end.close()


def expect_modesty(net, before, threads):
    process = net.processes[0]
    files = len(os.listdir(f"/proc/{process.pid}/fd"))
    fail_unless(files < 128, f"{files} of 256 descriptors are open")
    fail_unless(status(process, "Threads") == threads, "connections cost threads")
    grown = memory(process) - before
    fail_unless(grown < 30, f"{grown:.0f} MB for connections that say nothing")


def flood(net, make, count):
    """Checkpoints are still written, every 20 rounds, and a neighbour that comes back gets in."""
    before, threads = memory(net.processes[0]), status(net.processes[0], "Threads")
    many = Flood(make, count)
    try:
        net.wait_for_round(0, net.round(0) + 50)
        expect_modesty(net, before, threads)
        net.processes[1].kill()
        net.processes[1].wait()
        net.start(1, keepalive="2s", wait="240s")
        net.wait_for_round(0, net.round(0) + 50)
        expect_modesty(net, before, threads)
    finally:
        many.stop()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    start = time.monotonic()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    net = Network(porter, open(config_file).read(), 3, graph="path", rounds=1000000,
                  evaluate='"end"\ncheckpoint = "every:20"')
    net.call("keys", "issue", "keys", "outsider")
    make_expired("agent-1")
    make_foreign("agent-1")
    try:
        net.start_all(files=256, keepalive="2s", wait="240s")
        net.wait_for_round(0, 1)
        visit(net)
        flood(net, lambda: knock(net.ports[0]), 1000)
        net.wait_for_line(0, "the door is full: 16 connections from the hosts of peers have said nothing yet")
        flood(net, lambda: member(net.ports[0], "outsider"), 100)
        flood(net, lambda: member(net.ports[0], "agent-1"), 100)  # somebody has stolen the neighbour's key
        # The other way round: an agent that answers with an old certificate is not talked to.
        net.processes[1].kill()
        net.processes[1].wait()
        net.start(1, program=[bad_agent, "expired"], keepalive="2s")
        net.wait_for_line(0, "agent-0 cannot reach agent-1 at .*: TLS: certificate verify failed: .*has expired")
        for agent in 0, 2:
            fail_unless(net.processes[agent].poll() is None, f"agent {agent} ended")
        fail_unless("Too many open files" not in net.log(0), "descriptors ran out")
    except BaseException:
        traceback.print_exc()
        for agent in range(3):
            print(f"--- agent {agent}", net.log(agent)[-5000:], sep="\n")
        sys.exit(1)
    finally:
        net.stop()
        os.chdir("/")
    print(f"{time.monotonic() - start:.1f} s")
