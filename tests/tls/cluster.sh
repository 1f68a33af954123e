#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cluster.sh CASE PORTER CONFIG: porter cluster and porter agent as their users call them.
#   same      a cluster has the bits of a simulation
#   killed    kill -9 at random moments: the same bits, every agent restarts
#   secret    the same with secret noise: the run ends, the ledgers are complete
#   restored  an agent's folder from a backup, or a new one in its place, is refused; the newest one goes on
#   resumed   the whole cluster is stopped, every agent says so, and continued: the same bits
#   stopped   SIGSTOP of an agent: the others wait, then stop and say who is out of reach
#   own       agents with data files of their own have the rows of a simulation with all of them, and
#             folders that eval, compare and report understand
#   dead      a neighbour whose address is dead: nothing is charged, the state is "failed"
#   metrics   an agent shows its metrics, and drops a client that says nothing; the cluster shows where its agents are
#   full      an agent's disk is full: all stop with the reason, and without its paths
#   measured  a schema that is measured first: the bits of a simulation, and with secret noise and kills one schema,
#             nothing released twice, and the printed epsilon in every ledger
#   refused   seeded noise or none without the word for it, a budget that is too small; an agent that comes back with
#             another config ends by itself, and the others wait for the right one
set -eu
here=$(dirname "$(realpath "$0")")
case=$1 porter=$2 config=$3
folder=$(mktemp -d)
cluster=
trap '[ -z "$cluster" ] || kill -TERM "$cluster" 2>/dev/null && kill -CONT "$cluster" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
sed 's/^evaluate = .*/evaluate = "end"/' "$config" >c.toml

fail() { # TEXT: says it, with all logs
  echo "$1"
  tail -n 5 run/agents/*/output.log log 2>/dev/null || true
  exit 1
}
same() { cmp "$1/model.npz" "$2/model.npz"; }
array() { # FOLDER NAME: of its model
  python3 -c 'import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))' \
    "$1/model.npz" "$2.npy"
}
pid_of() { pgrep -f "agent $folder/run/agents/agent-$1/node.toml" || true; }
start_cluster() { # OPTIONS: in the background
  "$porter" cluster c.toml --out "$folder/run" "$@" >log 2>&1 &
  cluster=$!
}
round() { # of agent 0
  local found
  found=$(sed -n 's/.*"round":\([0-9]*\),.*/\1/p' run/agents/agent-0/status.json 2>/dev/null) || true
  echo "${found:-0}"
}
wait_for_round() { # ROUND, or a later one
  until [ "$(round)" -ge "$1" ]; do
    kill -0 $cluster || fail "the cluster ended too soon"
    sleep 0.05
  done
}
set_rounds() { # SECONDS: as many as take that long on this machine, undisturbed
  local first last
  start_cluster --set algorithm.rounds=100000 --insecure-test-noise
  wait_for_round 1
  first=$(round)
  sleep 1
  last=$(round)
  kill -TERM $cluster
  wait $cluster || true
  rm -rf run
  rounds=$(((last - first) * $1 + 1000)) # it may have been busy just then
  echo "$rounds rounds"
}
kill_some() { # TIMES: at random moments, spread over the rounds; a machine that has become much faster may be done
              # before, but not before a quarter of them
  local killed=0 pid first
  first=$(round)
  RANDOM=7
  while [ $killed -lt "$1" ]; do
    until [ "$(round)" -ge $((first + (rounds - first) * killed / $1)) ] || ! kill -0 $cluster 2>/dev/null; do
      sleep 0.02
    done
    sleep "0.0$((RANDOM % 10))"
    kill -0 $cluster 2>/dev/null || [ $((4 * killed)) -gt "$1" ] || fail "it ended after $killed kills"
    kill -0 $cluster 2>/dev/null || break
    pid=$(pid_of $((RANDOM % 5)))
    [ -n "$pid" ] && kill -KILL "$pid" && killed=$((killed + 1))
  done
}

case $case in
same)
  for algorithm in porter-dp porter-sweep sweep-led choco-sgd dp-csgp; do
    set -- --set algorithm.name=$algorithm
    "$porter" run c.toml "$@" --out sim-$algorithm >log 2>&1
    "$porter" cluster c.toml "$@" --insecure-test-noise --out run >log 2>&1 || fail "$algorithm"
    same sim-$algorithm run
    rm -rf run
  done
  # Evaluated as the config says; a cluster has measured only the first and the last average, so its x_best may differ.
  "$porter" run "$config" --out sim >log 2>&1
  "$porter" cluster "$config" --insecure-test-noise --out run >log 2>&1 || fail "$(grep evaluate "$config")"
  for name in X x_mean; do cmp <(array sim $name) <(array run $name); done
  # Agents with rates and noise of their own, in rounds that differ; each has its own promise.
  unlike="--set data.split=sizes:5,4,3,2,1 --set data.weigh=agents --set privacy.budgets=[8,4,4,2,1]
    --set privacy.phases=20x1,40x0.5x2"
  "$porter" run c.toml $unlike --out unlike >log 2>&1
  "$porter" cluster c.toml $unlike --out unlike.run --insecure-test-noise >log 2>&1 || fail "unlike"
  same unlike unlike.run
  cmp <(grep -A1 target_epsilon unlike/privacy.json) <(grep -A1 target_epsilon unlike.run/privacy.json)
  grep -q '"target_epsilon": 1.0' unlike.run/agents/agent-4/privacy.json
  ;;
killed)
  set_rounds 3
  set -- --set algorithm.rounds=$rounds --set run.checkpoint=every:20
  "$porter" run c.toml "$@" --out sim >log 2>&1
  start_cluster "$@" --insecure-test-noise
  wait_for_round 21 # from the first checkpoint on there is something to continue from
  kill_some 8
  wait $cluster || fail "the cluster failed"
  same sim run
  grep -q "continuing after round" run/agents/*/agent.log
  ;;
secret)
  umask 0
  set_rounds 2
  start_cluster --set algorithm.rounds=$rounds --set run.checkpoint=every:20
  wait_for_round 3
  kill_some 5
  wait $cluster || fail "the cluster failed"
  for agent in 0 1 2 3 4; do
    "$porter" privacy ledger run/agents/agent-$agent/ledger/agent-$agent.ledger --json >ledger.json
    grep -Eq "\"charges\": ($rounds|$((rounds + 1)))," ledger.json || { cat ledger.json; exit 1; }
  done
  grep -q '"noise": "secure"' run/privacy.json
  find run -perm /077 >open_to_others
  [ ! -s open_to_others ] || fail "others may read $(cat open_to_others)"
  ;;
restored)
  agent=run/agents/agent-1
  charges() { "$porter" privacy ledger "$1/ledger/agent-1.ledger" --json | grep '"charges"'; }
  # As many as there are, of all phases; a status may be rounds behind, and rounds may be ahead of an agent that is gone.
  charged() { charges $agent 2>/dev/null | sed -n 's/^  "charges": \([0-9]*\),$/\1/p' || true; }
  wait_for_charges() {
    until [ "$(charged)" -ge "$1" ] 2>/dev/null; do
      kill -0 $cluster || fail "the cluster ended too soon"
      sleep 0.05
    done
  }
  take_away() { # stops agent 1, and the cluster, which must not start it again
    kill -STOP $cluster
    kill -KILL "$(pid_of 1)"
    until [ -z "$(pid_of 1)" ]; do sleep 0.05; done
  }
  start_cluster --set algorithm.rounds=100000 --set run.checkpoint=every:20
  wait_for_round 3
  take_away
  cp -a $agent backup
  before=$(charged)
  [ "$before" -gt 0 ] || fail "nothing was charged"
  kill -CONT $cluster
  wait_for_charges $((before + 50))
  take_away
  mv $agent newest
  for old in backup nothing; do
    if [ $old = backup ]; then cp -a backup $agent; else mkdir $agent && cp backup/node.toml $agent; fi
    before=$([ $old = nothing ] && echo '  "charges": 0,' || charges $agent)
    "$porter" agent $agent/node.toml --out $agent >old.log 2>&1 && fail "$old: it started"
    grep -q "older than what was released" old.log || fail "$old: $(cat old.log)"
    grep -q '"state":"failed"' $agent/status.json || fail "$old: $(cat $agent/status.json)"
    [ "$(charges $agent)" = "$before" ] || fail "$old: it was charged"
    rm -rf $agent
  done
  mv newest $agent
  kill -CONT $cluster
  wait_for_round $(($(round) + 10))
  kill -TERM $cluster
  wait $cluster || true
  ;;
resumed)
  set_rounds 2
  set -- --set algorithm.rounds=$rounds
  "$porter" run c.toml "$@" --out sim >log 2>&1
  start_cluster "$@" --insecure-test-noise
  wait_for_round 1
  slow=$(pid_of 1)
  kill -STOP "$slow" # the others wait for it when they are told to end
  sleep 1
  kill -TERM $cluster
  for agent in 0 2 3 4; do
    until [ -z "$(pid_of $agent)" ]; do sleep 0.05; done
  done
  kill -CONT "$slow"
  wait $cluster && fail "it was not interrupted"
  for agent in 0 1 2 3 4; do
    grep -q '"state":"stopped"' run/agents/agent-$agent/status.json || fail "agent $agent says otherwise"
  done
  "$porter" cluster c.toml "$@" --insecure-test-noise --out run --resume >log 2>&1 || fail resume
  same sim run
  ;;
stopped)
  start_cluster --set algorithm.rounds=100000 --insecure-test-noise --on-peer-loss wait:2s --keepalive 2s
  wait_for_round 1
  "$porter" agent run/agents/agent-0/node.toml --insecure-test-noise --out run/agents/agent-0 >twice 2>&1 &&
    fail "two agents work in one folder"
  grep -q "another agent is working in this folder" twice || fail "$(cat twice)"
  kill -STOP "$(pid_of 1)"
  wait $cluster && fail "it did not fail"
  grep -q "agent-1 has been out of reach" run/agents/agent-*/agent.log || fail "nobody says who"
  ;;
own)
  for agent in 0 1; do
    for row in $(seq 1 40); do
      echo "$((row % 2 * 2 - 1)) 1:0.$((row * (7 + agent) % 10)) 2:0.$((row * 3 % 10)) 3:-0.$((row % 7))"
    done >own-$agent.libsvm
  done
  cat own-0.libsvm own-1.libsvm >all.libsvm
  sed 's/^name = "synthetic"/features = 3\nsplit = "contiguous"/; s/agents = 5/agents = 2/; s/^graph.*/graph = "path"/' \
    c.toml >two.toml
  "$porter" run two.toml --set data.train=all.libsvm --set privacy.delta=1e-3 --out sim >log 2>&1
  "$porter" keys init keys --name test >log
  "$porter" keys issue keys a b >log
  port=$((28000 + $$ % 2000 * 2))
  names=(a b)
  for agent in 0 1; do
    cat two.toml - >node-$agent.toml <<END
[privacy]
delta = 1e-3
[agent]
name = "${names[$agent]}"
listen = "127.0.0.1:$((port + agent))"
ca = "keys/ca.crt"
certificate = "keys/${names[$agent]}.crt"
key = "keys/${names[$agent]}.key"
train = "own-$agent.libsvm"
peers = [{name = "a", address = "127.0.0.1:$port"}, {name = "b", address = "127.0.0.1:$((port + 1))"}]
END
    "$porter" agent node-$agent.toml --insecure-test-noise --out out-$agent >log-$agent 2>&1 &
    pids[$agent]=$!
  done
  wait "${pids[0]}" && wait "${pids[1]}" || { cat log-0 log-1; exit 1; }
  python3 - <<'END'
import zipfile
def values(folder, name):
    data = zipfile.ZipFile(folder + "/model.npz").read(name + ".npy")
    return data[10 + int.from_bytes(data[8:10], "little"):]
assert values("sim", "X") == values("out-0", "x_mean") + values("out-1", "x_mean")
END
  if grep x_best out-0/privacy.json; then fail "the statement names what its folder does not have"; fi
  # Started once more it waits for nobody.
  "$porter" agent node-0.toml --insecure-test-noise --out out-0 >again 2>&1 || { cat again; exit 1; }
  grep -q "has finished before" again
  grep -q "train = \".*/own-0.libsvm\"" out-0/config.toml || { cat out-0/config.toml; exit 1; }
  "$porter" eval out-0 --data own-1.libsvm --predictions p.csv >eval
  grep -q "40 rows" eval || { cat eval; exit 1; }
  [ "$(wc -l <p.csv)" -eq 41 ]
  "$porter" compare out-0 out-1 --json >compare
  grep -q '"a"' compare && grep -q '"b"' compare || { cat compare; exit 1; }
  "$porter" report out-0 out-1 --out r.html >log
  grep -q own-0.libsvm r.html
  ;;
dead)
  port=$((28000 + $$ % 2000 * 2))
  "$porter" keys init keys --name test >log
  "$porter" keys issue keys a b >log
  sed 's/agents = 5/agents = 2/; s/^graph.*/graph = "path"/' c.toml - >node.toml <<END
[agent]
name = "a"
listen = "127.0.0.1:$port"
ca = "keys/ca.crt"
certificate = "keys/a.crt"
key = "keys/a.key"
start_wait = "2s"
peers = [{name = "a", address = "127.0.0.1:$port"}, {name = "b", address = "127.0.0.1:$((port + 1))"}]
END
  "$porter" agent node.toml --out out >log 2>&1 && fail "it ran alone"
  grep -q "a cannot reach b at 127.0.0.1:$((port + 1)): Connection refused" log || fail "nobody says who"
  "$porter" privacy ledger out/ledger/agent-0.ledger --json >ledger.json
  grep -q '"charges": 0' ledger.json || { cat ledger.json; exit 1; }
  grep -q '"state":"failed"' out/status.json || { cat out/status.json; exit 1; }
  ;;
metrics)
  port=$((32100 + $$ % 600))
  start_cluster --set algorithm.rounds=100000 --insecure-test-noise --metrics $port --log json --live
  wait_for_round 1
  exec 3<>/dev/tcp/127.0.0.1/$port # a client that says nothing
  sleep 1.5
  exec 4<>/dev/tcp/127.0.0.1/$port
  printf 'GET /metrics HTTP/1.1\r\n\r\n' >&4
  timeout 10 cat <&4 >metrics
  grep -q '^HTTP/1.1 200 OK' metrics
  for name in round epsilon sent_bytes_total checkpoint_round wait_seconds_total; do
    grep -q "^porter_$name{agent=\"agent-0\"" metrics || { cat metrics; exit 1; }
  done
  grep -q '"level":"info","agent":"agent-0","message":"training' run/agents/agent-0/agent.log
  page=$(sed -n 's|^live page: http://127.0.0.1:||p' log)
  exec 5<>"/dev/tcp/127.0.0.1/${page%%/*}"
  printf 'GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n' "${page#*/}" >&5
  timeout 10 cat <&5 >page
  grep -q '^HTTP/1.1 200 OK' page
  grep -q '>agent-4</td><td class="[a-z ]*">training</td>' page || { cat page; exit 1; }
  kill -TERM $cluster
  wait $cluster || true
  ;;
full)
  start_cluster --set algorithm.rounds=100000 --insecure-test-noise
  wait_for_round 1
  prlimit --pid "$(pid_of 1)" --fsize=8192:8192 # files of this one may not grow any more
  wait $cluster && fail "the cluster went on"
  grep -q "cannot write .*checkpoint" run/agents/agent-1/output.log || fail "agent-1 does not say what failed"
  # The others learn that it was a file, and not which: paths are local.
  grep -q "agent-1 gave up: it cannot read or write its files" run/agents/agent-*/agent.log
  if grep "gave up: .*/" run/agents/agent-[0234]/agent.log; then fail "a path was sent to others"; fi
  ;;
measured)
  python3 - >people.csv <<'END'
import random
draw = random.Random(3)
print("age,income,ill")
for _ in range(5000):
    age, income = draw.gauss(45, 10), draw.gauss(3000, 600)
    print(f"{age:.1f},{income:.1f},{'yes' if age + draw.gauss(0, 5) > 45 else 'no'}")
END
  cp "$here/../support/measured.toml" schema.toml
  sed 's/^name = "synthetic"/train = "people.csv"\nschema = "schema.toml"/' c.toml >table.toml
  mv table.toml c.toml
  set -- --set privacy.epsilon=4 --set privacy.statistics=0.3 --set privacy.delta=1e-5
  "$porter" run c.toml "$@" --out sim >log 2>&1 || fail "the simulation"
  "$porter" cluster c.toml "$@" --insecure-test-noise --out run >log 2>&1 || fail "the cluster"
  cmp sim/schema.toml run/schema.toml
  "$porter" eval sim --train >log 2>&1 && grep -q "5000 rows" log || fail eval
  for name in X x_mean; do cmp <(array sim $name) <(array run $name); done
  rm -rf run
  start_cluster "$@"
  RANDOM=7
  for _ in 1 2 3 4 5 6; do
    sleep "0.$((RANDOM % 5 + 1))"
    pid=$(pid_of $((RANDOM % 5)))
    [ -n "$pid" ] && kill -KILL "$pid" || true
  done
  wait $cluster || fail "the cluster failed"
  grep -q 'measured = \["range", "moments"\]' run/schema.toml || fail "$(cat run/schema.toml)"
  rounds=$(sed -n 's/^rounds = //p' run/config.toml)
  printed=$(sed -n 's/.*certified epsilon in .*, \([0-9.]*\)\] .* rounds and 2 private statistics.*/\1/p' run/privacy.json)
  for agent in 0 1 2 3 4; do
    cmp run/schema.toml run/agents/agent-$agent/schema.toml
    for part in . ranges.measured moments.measured; do
      "$porter" privacy ledger run/agents/agent-$agent/$part/ledger/agent-$agent.ledger >ledger
      if [ $part = . ]; then expected=$((rounds + 2)); else expected=1; fi
      grep -q "^charges  *$expected$" ledger || fail "$part of agent $agent: $(cat ledger)"
      [ $part != . ] || grep -q "^spent  *epsilon $printed, certified$" ledger || fail "$printed is not in $(cat ledger)"
    done
  done
  "$porter" predict run --data people.csv --out answers.csv >log 2>&1 || fail predict
  [ "$(wc -l <answers.csv)" -eq 5001 ]
  ;;
refused)
  # A member without noise is one who said so.
  "$porter" cluster c.toml --set algorithm.name=beer --out beer >log 2>&1 || fail "beer"
  sed '/^require_noise/d' beer/agents/agent-1/node.toml >beer/agents/agent-1/other.toml
  "$porter" agent beer/agents/agent-1/other.toml --out member >log 2>&1 && exit 1
  grep -q "agent.require_noise: beer adds no noise" log || { cat log; exit 1; }
  "$porter" cluster c.toml --set privacy.noise=simulated --out run >log 2>&1 && exit 1
  grep -q "insecure-test-noise" log
  "$porter" cluster c.toml --set privacy.sigma=0.01 --set privacy.calibration=sigma --out run >log 2>&1 && exit 1
  grep -q "budget allows 0 of the 60 rounds" log || fail "a budget that is too small is not named"
  # What is no cluster is not made one, and a folder with other files not an agent's.
  mkdir -m 755 other && touch other/thesis
  "$porter" cluster c.toml --out other --resume --insecure-test-noise >log 2>&1 && exit 1
  grep -q "holds no cluster to resume" log || { cat log; exit 1; }
  "$porter" agent beer/agents/agent-1/node.toml --out other >log 2>&1 && exit 1
  grep -q "other holds other files and no run" log || { cat log; exit 1; }
  [ "$(ls -A other) $(stat -c %a other)" = "thesis 755" ] || fail "a foreign folder was changed"
  rm -rf run
  start_cluster --set algorithm.rounds=100000 --insecure-test-noise
  wait_for_round 1
  sed 's/^step = .*/step = 0.2/; s/^checkpoint = .*/checkpoint = "every:7"/' run/agents/agent-1/node.toml \
    >run/agents/agent-1/other.toml
  kill -STOP $cluster # it must not start the agent again
  kill -KILL "$(pid_of 1)"
  sleep 0.2
  "$porter" agent run/agents/agent-1/other.toml --insecure-test-noise --out another >other.log 2>&1 &&
    fail "another config was accepted"
  grep -q "another run; these differ: algorithm.step, run.checkpoint" other.log || { cat other.log; exit 1; }
  # The others say so too, whoever called whom first, and wait for the one that belongs to them.
  grep -Eq "agent-1 (refuses agent-[0234]|\(.*\) is refused): another run; these differ" run/agents/agent-*/agent.log ||
    fail "nobody says why"
  reached=$(round)
  kill -CONT $cluster
  wait_for_round $((reached + 50))
  kill -TERM $cluster
  wait $cluster || true
  ;;
esac
cluster=
