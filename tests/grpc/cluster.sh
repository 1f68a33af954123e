#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cluster.sh CASE PORTER: porter cluster and porter agent as their users call them.
#   same      a cluster has the bits of a simulation
#   killed    kill -9 at random moments: the same bits, every agent restarts
#   secret    the same with secret noise: the run ends, the ledgers are complete
#   resumed   the whole cluster is stopped and continued: the same bits
#   stopped   SIGSTOP of an agent: the others wait, then stop and say who is out of reach
#   refused   an agent of another config, and seeded noise without the word for it
set -eu
case=$1 porter=$2
folder=$(mktemp -d)
cluster=
trap '[ -z "$cluster" ] || kill "$cluster" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
cat >c.toml <<'END'
[data]
name = "synthetic"
[network]
agents = 5
graph = "erdos-renyi:0.6"
mixing = "metropolis"
[algorithm]
rounds = 60
batch = 4
step = 0.1
compressor = "random_k:0.1"
[run]
evaluate = "end"
END

fail() { # TEXT: says it, with all logs
  echo "$1"
  tail -n 5 run/agents/*/output.log log 2>/dev/null || true
  exit 1
}
same() { cmp "$1/model.npz" "$2/model.npz"; }
pid_of() { pgrep -f "agent $folder/run/agents/agent-$1/node.toml" || true; }
start_cluster() { # OPTIONS: in the background
  "$porter" cluster c.toml --out "$folder/run" "$@" >log 2>&1 &
  cluster=$!
}
wait_for_round() { # ROUND: of agent 0
  until grep -q "\"round\":$1[0-9]*," run/agents/agent-0/status.json 2>/dev/null; do
    kill -0 $cluster || fail "the cluster ended too soon"
    sleep 0.05
  done
}
kill_some() { # TIMES
  local killed=0 pid
  RANDOM=7
  while [ $killed -lt "$1" ]; do
    sleep "0.$((RANDOM % 6 + 2))"
    kill -0 $cluster 2>/dev/null || fail "the run ended after $killed kills"
    pid=$(pid_of $((RANDOM % 5)))
    [ -n "$pid" ] && kill -KILL "$pid" && killed=$((killed + 1))
  done
}

case $case in
same)
  for algorithm in porter-dp porter-sweep choco-sgd; do
    set -- --set algorithm.name=$algorithm
    "$porter" run c.toml "$@" --out sim-$algorithm >log 2>&1
    "$porter" cluster c.toml "$@" --insecure-test-noise --out run >log 2>&1 || fail "$algorithm"
    same sim-$algorithm run
    rm -rf run
  done
  ;;
killed)
  set -- --set algorithm.rounds=2000 --set run.checkpoint=every:20
  "$porter" run c.toml "$@" --out sim >log 2>&1
  start_cluster "$@" --insecure-test-noise
  wait_for_round 3
  kill_some 20
  wait $cluster || fail "the cluster failed"
  same sim run
  grep -q "continuing after round" run/agents/*/agent.log
  ;;
secret)
  start_cluster --set algorithm.rounds=600 --set run.checkpoint=every:20
  wait_for_round 3
  kill_some 5
  wait $cluster || fail "the cluster failed"
  for agent in 0 1 2 3 4; do
    "$porter" privacy ledger run/agents/agent-$agent/ledger/agent-$agent.ledger --json >ledger.json
    grep -Eq '"charges": 60[01]' ledger.json || { cat ledger.json; exit 1; }
  done
  grep -q '"noise": "secure"' run/privacy.json
  ;;
resumed)
  set -- --set algorithm.rounds=1500
  "$porter" run c.toml "$@" --out sim >log 2>&1
  start_cluster "$@" --insecure-test-noise
  wait_for_round 2
  kill -TERM $cluster
  wait $cluster && fail "it was not interrupted"
  "$porter" cluster c.toml "$@" --insecure-test-noise --out run --resume >log 2>&1 || fail resume
  same sim run
  ;;
stopped)
  start_cluster --set algorithm.rounds=100000 --insecure-test-noise --on-peer-loss wait:2s --keepalive 2s
  wait_for_round 1
  kill -STOP "$(pid_of 1)"
  wait $cluster && fail "it did not fail"
  grep -q "agent-1 has been out of reach" run/agents/agent-*/agent.log || fail "nobody says who"
  ;;
refused)
  "$porter" cluster c.toml --set privacy.noise=simulated --out run >log 2>&1 && exit 1
  grep -q "insecure-test-noise" log
  start_cluster --set algorithm.rounds=100000 --insecure-test-noise
  wait_for_round 1
  sed 's/^step = .*/step = 0.2/' run/agents/agent-1/node.toml >run/agents/agent-1/other.toml
  kill -STOP $cluster # it must not start the agent again
  kill -KILL "$(pid_of 1)"
  sleep 0.2
  "$porter" agent run/agents/agent-1/other.toml --insecure-test-noise --out other >other.log 2>&1 &&
    fail "another config was accepted"
  kill -CONT $cluster
  wait $cluster && fail "the cluster went on"
  grep -q "another run; these differ: algorithm.step" other.log || { cat other.log; exit 1; }
  ;;
esac
cluster=
