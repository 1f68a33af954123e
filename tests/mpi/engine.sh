#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# engine.sh same|killed|moved|extended|diverged|unlike|secret|stopped PORTER CONFIG MPIRUN...: porter run on the ranks of a job.
set -eu
case=$1 porter=$2 config=$3
shift 3
folder=$(mktemp -d)
job=
trap '[ -z "$job" ] || kill "$job" 2> /dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
cp "$config" c.toml

same() {
  cmp "$1/model.npz" "$2/model.npz"
  without_seconds "$1/metrics.csv" > a.csv
  without_seconds "$2/metrics.csv" > b.csv
  cmp a.csv b.csv
}

without_seconds() {
  awk -F , -v OFS=, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "seconds") at = i } { $at = ""; print }' "$1"
}

case $case in
same)
  for algorithm in porter-dp porter-sweep sweep-led choco-sgd dp-csgp; do
    "$porter" run c.toml --set algorithm.name=$algorithm --set run.threads=1 --out $algorithm.1 > log 2>&1
    "$porter" run c.toml --set algorithm.name=$algorithm --set run.threads=2 --out $algorithm.2 > log 2>&1
    same $algorithm.1 $algorithm.2
    for ranks in 1 2 5; do
      "$@" -n $ranks "$porter" run c.toml --set algorithm.name=$algorithm --set run.engine=mpi \
        --out $algorithm.mpi$ranks > log 2>&1 || { cat log; exit 1; }
      same $algorithm.1 $algorithm.mpi$ranks
    done
  done
  # Agents with rates and noise of their own, in rounds that differ.
  unlike="--set data.split=sizes:5,4,3,2,1 --set data.weigh=agents --set privacy.budgets=[8,4,4,2,1]
    --set privacy.phases=20x1,40x0.5x2"
  "$porter" run c.toml $unlike --out unlike.1 > log 2>&1
  "$@" -n 3 "$porter" run c.toml $unlike --set run.engine=mpi --out unlike.mpi > log 2>&1 ||
    { cat log; exit 1; }
  same unlike.1 unlike.mpi
  # Noise that neighbours share, on the same rank or on others.
  for algorithm in sweep-led dp-dsgd; do
    pairwise="--set algorithm.name=$algorithm --set privacy.shape=pairwise --set algorithm.gossip=2"
    [ $algorithm = sweep-led ] || pairwise="$pairwise --set algorithm.compressor=identity"
    "$porter" run c.toml $pairwise --out pairwise.$algorithm > log 2>&1 || { cat log; exit 1; }
    for ranks in 1 2 5; do
      "$@" -n $ranks "$porter" run c.toml $pairwise --set run.engine=mpi --out pairwise.$algorithm.mpi$ranks \
        > log 2>&1 || { cat log; exit 1; }
      same pairwise.$algorithm pairwise.$algorithm.mpi$ranks
    done
  done
  # A network over images, an agent per rank.
  images="--set data.image=3x41 --set model.name=layers
    --set model.layers=['conv:4x3/2+1','tempered:1.58:3:0.71','maxpool:2/1','dense:3','tanh']"
  for precision in double float; do
    "$porter" run c.toml $images --set run.precision=$precision --out images.$precision > log 2>&1
    "$@" -n 5 "$porter" run c.toml $images --set run.precision=$precision --set run.engine=mpi \
      --out images.$precision.mpi > log 2>&1 || { cat log; exit 1; }
    same images.$precision images.$precision.mpi
  done
  "$@" -n 1 "$porter" run c.toml --set run.engine=mpi --trace nowhere/t --out traced > log 2>&1 && exit 1
  grep -q "cannot create nowhere/t.0" log || { cat log; exit 1; }
  ;;
killed)
  # The job is killed after its first checkpoint and continued with another number of ranks.
  long="--set algorithm.rounds=10000"
  "$porter" run c.toml $long --out clean > log 2>&1
  "$@" -n 5 "$porter" run c.toml $long --set run.engine=mpi --set run.checkpoint=every:200 --out run \
    > log 2>&1 &
  job=$!
  while [ ! -e run/checkpoint/checkpoint.npz ]; do sleep 0.02; done
  kill -9 "$(ps -o pid= --ppid $job | head -n 1)"  # a rank; mpirun ends the others
  wait $job && exit 1
  if [ -e run/model.npz ]; then echo "too late: the run was finished" >&2; exit 1; fi
  "$@" -n 2 "$porter" run run/config.toml --resume --out run > log 2>&1 || { cat log; exit 1; }
  same clean run
  ;;
moved)
  # A simulation is killed and continued on ranks; these are killed and continued as a simulation.
  long="--set algorithm.rounds=60000"
  "$porter" run c.toml $long --out clean > log 2>&1
  file() { stat -c %i run/checkpoint/checkpoint.npz 2> /dev/null || true; }
  changed() {  # waits for a new checkpoint in the place of $1
    until [ "$(file)" != "$1" ]; do kill -0 $job || { cat log; exit 1; }; sleep 0.02; done
  }
  ended() {
    wait $job && exit 1
    if [ -e run/model.npz ]; then echo "too late: the run was finished" >&2; exit 1; fi
  }
  "$porter" run c.toml $long --set run.checkpoint=every:200 --out run > log 2>&1 &
  job=$!
  changed ""  # that of round 0
  changed "$(file)"
  kill -9 $job
  ended
  old=$(file)
  "$@" -n 2 "$porter" run run/config.toml --set run.engine=mpi --resume --out run > log 2>&1 &
  job=$!
  changed "$old"
  kill -9 "$(ps -o pid= --ppid $job | head -n 1)"
  ended
  job=
  "$porter" run run/config.toml --resume --out run > log 2>&1 || { cat log; exit 1; }
  grep -q "resuming after round [1-9]" log || { cat log; exit 1; }
  same clean run
  ;;
diverged)
  # Agents drift apart and their average does not: the same outcome in the same round.
  wild="--set algorithm.consensus=1 --set algorithm.compressor=random_k:k=1 --set algorithm.rounds=3000 --set run.evaluate=every:1"
  "$porter" run c.toml $wild --out run > log 2>&1 && exit 1
  "$@" -n 3 "$porter" run c.toml $wild --set run.engine=mpi --out mpi > log.mpi 2>&1 && exit 1
  sed -n 's/.*\(diverged after round [0-9]*\):.*/\1/p' log > a
  sed -n 's/.*\(diverged after round [0-9]*\):.*/\1/p' log.mpi > b
  [ -s a ] && cmp a b || { cat log log.mpi; exit 1; }
  grep -q '"status": "diverged"' mpi/summary.json
  ;;
unlike)
  # Ranks that were started with other keys, options or data find out before they train.
  refused() {
    "$@" > log 2>&1 && { cat log; exit 1; }
    grep -q "the ranks of the job must be started alike; these differ: $expected" log || { cat log; exit 1; }
    [ ! -e run ] || exit 1
  }
  all="--set run.engine=mpi --out run"
  mkdir other
  awk 'BEGIN { for (i = 0; i < 100; ++i) print i % 7 "," i % 3 "," i % 2 }' > t.csv
  awk 'BEGIN { for (i = 0; i < 100; ++i) print i % 7 "," i % 3 "," (i == 50 ? 1 : i % 2) }' > other/t.csv
  csv="--set data.train=$folder/t.csv --set algorithm.compressor=random_k:k=1"
  expected="network.agents: rank 0 says 5, rank 1 says 6" \
    refused "$@" -n 1 "$porter" run c.toml $all : -n 1 "$porter" run c.toml $all --set network.agents=6
  expected="run.checkpoint: rank 0 says 0, rank 1 says 10" \
    refused "$@" -n 1 "$porter" run c.toml $all : -n 1 "$porter" run c.toml $all --set run.checkpoint=every:10
  expected="--force: rank 0 says no, rank 1 says yes" \
    refused "$@" -n 1 "$porter" run c.toml $all : -n 1 "$porter" run c.toml $all --force
  expected="the training rows: rank 0 says" \
    refused "$@" -n 1 "$porter" run c.toml $all $csv : \
    -n 1 "$porter" run c.toml $all $csv --set data.train=$folder/other/t.csv
  ;;
stopped)
  # A rank is stopped: the watchdog names it, mpirun ends with an error, and nobody is left.
  "$@" -n 3 "$porter" run c.toml --set algorithm.rounds=1000000 --set algorithm.name=choco-sgd \
    --set run.engine=mpi --watchdog 2 --out run > log 2>&1 &
  job=$!
  until [ -s run/metrics.csv ]; do kill -0 $job || { cat log; exit 1; }; sleep 0.02; done
  ranks=$(ps -o pid= --ppid $job)
  for pid in $ranks; do
    if tr '\0' '\n' < /proc/$pid/environ | grep -qx OMPI_COMM_WORLD_RANK=1; then kill -STOP $pid; fi
  done
  wait $job && exit 1
  grep -q "rank 1 on .* has given no sign of life for 2 s" log || { cat log; exit 1; }
  # mpirun does not wait for those it kills.
  for turn in $(seq 100); do
    left=$(ps -o pid= -p "$(echo $ranks | tr ' ' ,)" || true)
    [ -n "$left" ] || break
    sleep 0.1
  done
  if [ -n "$left" ]; then echo "processes $left are left" >&2; exit 1; fi
  ;;
extended)
  # A simulation is extended on ranks, these as a simulation; with secret noise every rank goes on with its ledgers.
  quiet="--set algorithm.name=porter-gc --set run.evaluate=every:20 --set algorithm.step=auto --set algorithm.consensus=auto"
  "$porter" run c.toml $quiet --out run > log 2>&1
  "$@" -n 2 "$porter" run c.toml $quiet --set run.engine=mpi --set algorithm.rounds=100 --resume --out run \
    > log 2>&1 || { cat log; exit 1; }
  "$porter" run c.toml $quiet --set algorithm.rounds=120 --resume --out run > log 2>&1 || { cat log; exit 1; }
  "$porter" run run/config.toml --set run.engine=simulate --out clean > log 2>&1
  python3 - << 'EOF' || exit 1
import zipfile
one, two = (zipfile.ZipFile(name + "/model.npz") for name in ("run", "clean"))
assert all(one.read(name) == two.read(name) for name in ("X.npy", "x_mean.npy")), "the iterates differ"
EOF
  secret="--set run.engine=mpi --set privacy.noise=secure --set privacy.delta=1e-5 --set privacy.sigma=1 --set privacy.epsilon=8"
  "$@" -n 2 "$porter" run c.toml $secret --out secret > log 2>&1 || { cat log; exit 1; }
  "$@" -n 3 "$porter" run c.toml $secret --set algorithm.rounds=80 --resume --out secret > log 2>&1 || { cat log; exit 1; }
  for agent in 0 1 2 3 4; do
    "$porter" privacy ledger secret/ledger/agent-$agent.ledger --json > ledger.json
    grep -q '"charges": 80' ledger.json || { cat ledger.json; exit 1; }
  done
  ;;
secret)
  "$@" -n 2 "$porter" run c.toml --set run.engine=mpi --set privacy.noise=secure \
    --set privacy.delta=1e-5 --out run > log 2>&1 || { cat log; exit 1; }
  for agent in 0 1 2 3 4; do
    "$porter" privacy ledger run/ledger/agent-$agent.ledger --json > ledger.json
    grep -q '"charges": 60' ledger.json || { cat ledger.json; exit 1; }
  done
  ;;
esac
