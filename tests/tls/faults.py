#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""faults.py CASE PORTER BAD_AGENT CLOCK CONFIG: agents on links, clocks and neighbours that go wrong.

The run goes on and has the bits of a simulation, or it ends, names who it was, and can be continued."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.request

from network import PATIENCE, Network, fail_unless, free_port

case, porter, bad_agent, clock, config_file = sys.argv[1:6]
config = open(config_file).read()


PACE = 0.02  # seconds that a link takes for anything: a round lasts as long, however fast the machine is


def set_pace(proxies, seconds):
    for proxy in proxies:
        proxy.delay = seconds


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
    net = Network(porter, config, 3, rounds=1500)
    there, back = net.disturb(0, 1)
    set_pace((there, back), PACE)
    net.start_all(keepalive="1s")

    def lose(times, fault):
        """A fault on a link that is there; it is noticed."""
        net.wait_for_line(1, r"agent-0 \(.*\) is connected", times)
        net.wait_for_round(1, net.round(1) + 1)
        fault()
        net.wait_for_line(1, "the connection from agent-0 ended", times)
        there.mend(), back.mend()

    def make_holes():
        there.is_hole = back.is_hole = True

    for times in 1, 2, 3:  # TLS notices, the connection ends, and all is sent again
        lose(times, lambda: setattr(there, "flip", True))
    lose(4, lambda: (there.cut(), back.cut()))
    lose(5, make_holes)  # nothing comes, nothing ends: keepalive notices
    set_pace((there, back), 0)
    net.expect_exit(0)
    net.expect_bits_of_simulation()
    return net


def stop_and_continue(net, wound, heal):
    """All agents end and name agent 1, and go on when they are started again."""
    proxies = net.disturb(0, 1)
    set_pace(proxies, PACE)
    net.start_all(wait="1s", keepalive="1s")
    net.wait_for_round(0, 1)
    wound(proxies)
    for agent in 0, 2:
        fail_unless(net.processes[agent].wait(PATIENCE) == 1, f"agent {agent} did not fail")
    fail_unless(any("agent-1 has been out of reach for" in net.log(a) for a in (0, 2)),
                "nobody names agent-1")
    heal()
    net.processes[1].wait(PATIENCE)
    net.routes.clear()
    net.start_all()
    net.expect_exit(0)
    net.expect_bits_of_simulation()
    return net


def severed():
    """A link is cut for good."""
    net = Network(porter, config, 3, graph="star", rounds=1500)
    return stop_and_continue(net, lambda proxies: [p.cut() for p in proxies], lambda: None)


def stopped():
    """SIGSTOP."""
    net = Network(porter, config, 3, rounds=1500)
    return stop_and_continue(net, lambda _: net.processes[1].send_signal(signal.SIGSTOP),
                             lambda: net.processes[1].kill())


def clock_of(net):
    """What an agent's environment takes for the time."""
    return int(subprocess.run(["date", "+%s"], env=net.environment, capture_output=True, text=True, check=True).stdout)


def jump():
    """The wall clock jumps two hours ahead and four back: nothing here depends on it."""
    net = Network(porter, config, 3, rounds=1500)
    net.environment |= {"LD_PRELOAD": clock, "PORTER_TEST_CLOCK": os.path.abspath("offset")}
    proxies = net.disturb(0, 1)
    set_pace(proxies, PACE)
    net.start_all(wait="20s", keepalive="2s")
    for offset in 7200, -7200, 0:
        net.wait_for_round(0, net.round(0) + 1)
        with open("offset.new", "w") as out:
            out.write(str(offset))
        os.rename("offset.new", "offset")
        fail_unless(abs(clock_of(net) - time.time() - offset) < 600, "the clock did not jump")
    set_pace(proxies, 0)
    net.expect_exit(0)
    for agent in range(3):
        fail_unless(net.log(agent).count("is connected") == 2, "a connection was lost")
    net.expect_bits_of_simulation()
    return net


BAD = {  # what agent 1 does in its tenth round: what agent 0 says
    "corrupted": "frame from agent-1: .*checksum",
    "truncated": "frame from agent-1: .*bytes announced",
    "replayed": "frame from agent-1: step 9 came again, step 10 expected",
    "reordered": "agent-1 sent step 11 of agent 1 after step 9",
    "oversized": r"the connection from agent-1 ended: agent-1 announces \d+ bytes; the limit is",
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


LIES = {  # the values that agent 3 sends in its tenth round, in good frames: what agent 2 says
    "huge": r"message from agent-3: a vector of norm \S+ in step 10; clip, step size, noise and rounds of the config allow at most",
    "largest": r"message from agent-3: a vector of norm \S+ in step 10; clip, step size",
    "endless": "message from agent-3: value 0 of .* is not finite",
    "undefined": "message from agent-3: value 0 of .* is not finite",
}


def lies():
    """A member sends values that no honest one can have: its neighbour says so, and nobody follows."""
    for fault, words in LIES.items():
        here = os.getcwd()
        os.mkdir(fault)
        os.chdir(fault)
        net = Network(porter, config + 'checkpoint = "every:1"\n', 4, graph="path", rounds=100000)
        for agent in range(3):
            net.start(agent, wait="1s")
        net.start(3, program=[bad_agent, fault], wait="1s")
        net.wait_for_line(2, words)
        net.expect_exit(1)
        for agent in range(3):
            # Agent 2 does not end its tenth round, so nobody goes on to the twelfth.
            rounds = net.checkpoint(agent, "round")[0]
            fail_unless(1 <= rounds <= 11, f"agent {agent} has a checkpoint of round {rounds}")
            for name in "X", "V":
                values = net.checkpoint(agent, "state_" + name)
                fail_unless(all(abs(value) < 1000 for value in values), f"agent {agent} has {name} = {values}")
        net.stop()
        os.chdir(here)


def silent():
    """A neighbour is connected and sends nothing. Who waits for it says so, and who waits for that one blames nobody else."""
    net = Network(porter, config, 3, graph="path", rounds=100000)
    for agent in 0, 1:
        net.start(agent, round_wait="8s", **({"metrics": f"127.0.0.1:{free_port()}"} if agent == 1 else {}))
    net.start(2, program=[bad_agent, "silent"], round_wait="30s")
    net.wait_for_line(1, "waiting for agent-2 in step 10")
    net.wait_for_status(1, "waiting_for", ["agent-2"])
    with urllib.request.urlopen(f"http://{net.setting(1, 'metrics')}/metrics") as metrics:
        waits = re.search(r'porter_waiting_seconds\{agent="agent-1",neighbour="agent-2"\} (\S+)', metrics.read().decode())
    fail_unless(float(waits[1]) > 4, f"the metrics say {waits[0]}")
    net.expect_exit(1)
    net.wait_for_line(1, "agent-2 is connected, but has sent nothing for step 10 in 8")
    for agent in 0, 2:
        net.wait_for_line(agent, r"agent-1 gave up: it has waited 8.* s in vain for agent-2")
    return net


def unreached():
    """Agent 0 has a wrong address of agent 1, which is there: nobody says that agent 1 is at fault, nor agent 1 itself."""
    net = Network(porter, config, 3)
    net.routes[0, 1] = free_port()
    net.start_all(start_wait="2s")
    net.expect_exit(1)
    net.wait_for_line(0, rf"agent-0 cannot reach agent-1 at 127.0.0.1:{net.routes[0, 1]}: Connection refused")
    for agent in 1, 2:
        net.wait_for_line(agent, "agent-0 gave up: it cannot reach agent-1")
    return net


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
         "frames": frames, "lies": lies, "silent": silent, "unreached": unreached}[case]()
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
