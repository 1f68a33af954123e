#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""faults.py CASE PORTER BAD_AGENT CLOCK CONFIG: agents on links, clocks and neighbours that go wrong.

The run goes on and has the bits of a simulation, or it ends, names who it was, and can be continued."""
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from network import Network, fail_unless

case, porter, bad_agent, clock, config_file = sys.argv[1:6]
config = open(config_file).read()


def slow():
    """A link with a delay and little bandwidth costs time."""
    net = Network(porter, config, 3, rounds=40)
    for proxy in net.disturb(0, 1):
        proxy.delay, proxy.rate = 0.01, 100_000
    net.start_all()
    net.expect_exit(0)
    net.expect_bits_of_simulation()
    return net


def disturbed():
    """Altered bytes, a cut and a silent link, each for a while."""
    net = Network(porter, config, 3, rounds=500)
    there, back = net.disturb(0, 1)
    there.delay = back.delay = 0.02  # or a fast machine is done before the last of them
    net.start_all(keepalive="1s")
    ended = 0
    for _ in range(3):
        net.wait_for_round(1, net.round(1) + 1)
        there.flip = True  # TLS notices, the connection ends, and all is sent again
        ended += 1
        net.wait_for_line(1, "the connection from agent-0 ended", ended)
    net.wait_for_round(1, net.round(1) + 1)
    there.cut(), back.cut()
    net.wait_for_line(1, "the connection from agent-0 ended", ended + 1)
    there.mend(), back.mend()
    net.wait_for_round(1, net.round(1) + 1)
    there.is_hole = back.is_hole = True  # nothing comes, nothing ends: keepalive notices
    net.wait_for_line(1, "the connection from agent-0 ended", ended + 2)
    there.mend(), back.mend()
    there.delay = back.delay = 0
    net.expect_exit(0)
    net.expect_bits_of_simulation()
    return net


def stop_and_continue(net, wound, heal):
    """All agents end and name agent 1, and go on when they are started again."""
    net.start_all(wait="1s", keepalive="1s")
    net.wait_for_round(0, 1)
    wound()
    for agent in 0, 2:
        fail_unless(net.processes[agent].wait(60) == 1, f"agent {agent} did not fail")
    fail_unless(any("agent-1 has been out of reach for" in net.log(a) for a in (0, 2)),
                "nobody names agent-1")
    heal()
    net.processes[1].wait(60)
    net.start_all()
    net.expect_exit(0)
    net.expect_bits_of_simulation()
    return net


def severed():
    """A link is cut for good."""
    net = Network(porter, config, 3, graph="star", rounds=1500)
    proxies = net.disturb(0, 1)
    return stop_and_continue(net, lambda: [p.cut() for p in proxies], lambda: net.routes.clear())


def stopped():
    """SIGSTOP."""
    net = Network(porter, config, 3, rounds=1500)
    return stop_and_continue(net, lambda: net.processes[1].send_signal(signal.SIGSTOP),
                             lambda: net.processes[1].kill())


def clock_of(net):
    """What an agent's environment takes for the time."""
    return int(subprocess.run(["date", "+%s"], env=net.environment, capture_output=True, text=True, check=True).stdout)


def jump():
    """The wall clock jumps two hours ahead and four back: nothing here depends on it."""
    net = Network(porter, config, 3, rounds=1500)
    net.environment |= {"LD_PRELOAD": clock, "PORTER_TEST_CLOCK": os.path.abspath("offset")}
    net.start_all(wait="20s", keepalive="2s")
    for offset in 7200, -7200, 0:
        net.wait_for_round(0, net.round(0) + 1)
        with open("offset.new", "w") as out:
            out.write(str(offset))
        os.rename("offset.new", "offset")
        fail_unless(abs(clock_of(net) - time.time() - offset) < 600, "the clock did not jump")
    net.expect_exit(0)
    for agent in range(3):
        fail_unless(net.log(agent).count("is connected") == 2, "a connection was lost")
    net.expect_bits_of_simulation()
    return net


BAD = {  # what agent 1 does in its tenth round: what agent 0 says
    "corrupted": "frame from agent-1: .*checksum",
    "truncated": "frame from agent-1: .*bytes announced",
    "replayed": "frame from agent-1: round 9 came again, round 10 expected",
    "reordered": "agent-1 sent round 11 of agent 1 after round 9",
    "oversized": "agent-1 has been out of reach for",
}


def frames():
    """A neighbour with a good certificate sends what it must not."""
    for fault, words in BAD.items():
        here = os.getcwd()
        os.mkdir(fault)
        os.chdir(fault)
        net = Network(porter, config, 2, graph="path", rounds=100000)
        net.start(0, wait="1s")
        net.start(1, program=[bad_agent, fault], wait="1s")
        try:
            net.wait_for_line(0, words)
            net.expect_exit(1)
        except BaseException:
            print(fault, net.log(0), net.log(1), sep="\n")
            raise
        finally:
            net.stop()
        os.chdir(here)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    start = time.monotonic()
    networks = []
    make = Network.__init__

    def remember(self, *arguments, **options):
        networks.append(self)
        make(self, *arguments, **options)

    Network.__init__ = remember
    try:
        {"slow": slow, "disturbed": disturbed, "severed": severed, "stopped": stopped, "jump": jump,
         "frames": frames}[case]()
    except BaseException:
        traceback.print_exc()
        for agent in range(networks[-1].count if networks else 0):
            print(f"--- agent {agent}", networks[-1].log(agent)[-3000:], sep="\n")
        sys.exit(1)
    finally:
        for one in networks:
            one.stop()
        os.chdir("/")
    print(f"{time.monotonic() - start:.1f} s")
