#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""strangers.py PORTER BAD_AGENT CONFIG: those who do not belong knock at agents that train.

Three agents on a path: 0 - 1 - 2. Each stranger is dropped, agent 0 says who it was, and the run goes on."""
import os
import re
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


def tls(port, certificate=None, key=None):
    """A connection that has finished its half of the handshake."""
    context = ssl.create_default_context(cafile="keys/ca.crt")
    context.check_hostname = False
    context.set_alpn_protocols(["h2"])
    if certificate:
        context.load_cert_chain(certificate, key)
    return context.wrap_socket(knock(port), server_hostname="agent-0")


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def open_stream(port):
    """A stream of HTTP/2 to the agent's service by agent 2, whose certificate is good."""
    end = tls(port, "keys/agent-2.crt", "keys/agent-2.key")
    block = b""
    for name, value in ((":method", "POST"), (":scheme", "https"), (":path", "/porter.link.v1.Link/Open"),
                        (":authority", "agent-0"), ("te", "trailers"), ("content-type", "application/grpc")):
        block += b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
    end.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"") + frame(1, 4, 1, block))
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


def shouting(port):
    """A stream with a message that says it has 2 GB."""
    end = open_stream(port)
    end.sendall(frame(0, 0, 1, b"\0\x7f\xff\xff\xff" + bytes(1000)))
    return end


def plain(port):
    end = knock(port)
    end.sendall(b"GET / HTTP/1.1\r\nHost: agent-0\r\n\r\n")
    return end


def memory(process):
    """Resident, in MB."""
    return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{process.pid}/status").read())[1]) / 1024


def run_impostor(net):
    """An agent with the certificate of agent 2 that says it is agent 1."""
    net.write(2, file="impostor.toml", port=free_port())
    done = subprocess.run([bad_agent, "impostor", "impostor-out", "impostor.toml"], timeout=100, check=False,
                          stdout=subprocess.DEVNULL)
    fail_unless(done.returncode == 1, "the impostor was let in")


def visit(net):
    port = net.ports[0]
    strangers = {
        "silent": lambda: knock(port),
        "plaintext": lambda: plain(port),
        "trickling": lambda: trickle(port),
        "without a certificate": lambda: tls(port),
        "expired": lambda: tls(port, "keys/expired.crt", "keys/agent-2.key"),
        "of a foreign authority": lambda: tls(port, "foreign/agent-1.crt", "foreign/agent-1.key"),
        "mute after TLS": lambda: tls(port, "keys/agent-2.crt", "keys/agent-2.key"),
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
    mute, shouter = open_stream(port), shouting(port)  # the connection may live, the stream may not
    run_impostor(net)
    for thread in threads:
        thread.join()
    fail_unless(not problems, "; ".join(problems))
    net.wait_for_line(0, r"127\.0\.0\.1:\d+ is refused: it has not shown a certificate of the authority", 4)
    net.wait_for_line(0, r"is refused: it has said no hello")
    net.wait_for_line(0, r"agent-2 \(.*\) is refused: the certificate is not that of agent-1")
    net.wait_for_line(0, r"TLS said last:.*certificate")
    mute.close(), shouter.close()


def flood(net):
    """Hundreds of silent connections at once: most are turned away, none costs much."""
    before, ends = memory(net.processes[0]), []
    for _ in range(400):
        ends.append(knock(net.ports[0]))
    net.wait_for_line(0, "is turned away: 64 connections have not shown a certificate yet")
    reached = net.round(0)
    net.wait_for_round(0, reached + 5)
    grown = memory(net.processes[0]) - before
    fail_unless(grown < 30, f"{grown:.0f} MB for connections that say nothing")
    for end in ends:
        end.close()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    start = time.monotonic()
    net = Network(porter, open(config_file).read(), 3, graph="path", rounds=20000)
    make_expired("agent-2")
    make_foreign("agent-1")
    try:
        net.start_all(keepalive="2s")
        net.wait_for_round(0, 1)
        visit(net)
        flood(net)
        # The other way round: an agent that answers with an old certificate is not talked to.
        net.processes[2].kill()
        net.processes[2].wait()
        net.start(2, program=[bad_agent, "expired"], keepalive="2s")
        net.wait_for_line(1, "agent-2 cannot be reached: .*certificate verify failed|agent-2 cannot be reached: .*CERTIFICATE_VERIFY_FAILED")
        for agent in 0, 1:
            fail_unless(net.processes[agent].poll() is None, f"agent {agent} ended")
    except BaseException:
        traceback.print_exc()
        for agent in range(3):
            print(f"--- agent {agent}", net.log(agent)[-5000:], sep="\n")
        sys.exit(1)
    finally:
        net.stop()
        os.chdir("/")
    print(f"{time.monotonic() - start:.1f} s")
