#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# engines.sh [PORTER [TURNS]]: milliseconds per round of one run on three engines, by turns: the simulation (one
# thread per core), ten MPI ranks and a cluster of ten agents. The paper's network, messages of 5 %, ER(10,.8).
set -euo pipefail
porter=$(realpath "${1:-build/release/porter}") turns=${2:-3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >c.toml <<'END'
[data]
name = "synthetic-digits"
[model]
name = "mlp"
[network]
agents = 10
graph = "erdos-renyi:0.8"
mixing = "metropolis"
[algorithm]
rounds = 1000
batch = 1
compressor = "random_k:0.05"
[run]
evaluate = "end"
END
mpirun=(mpirun -n 10 --oversubscribe --mca pml ob1 --mca btl vader,tcp,self --mca btl_vader_eager_limit 65536)
[ "$(id -u)" != 0 ] || mpirun+=(--allow-run-as-root)

# What the run itself measured: without start and evaluation.
milliseconds() { /usr/bin/python3 -c 'import json, sys; print("%.2f" % (1e3 * json.load(open(sys.argv[1]))["seconds_per_round"]))' "$1/summary.json"; }

for turn in $(seq "$turns"); do
  "$porter" run c.toml --out "sim-$turn" >log 2>&1 || { cat log; exit 1; }
  "${mpirun[@]}" "$porter" run c.toml --set run.engine=mpi --out "mpi-$turn" >log 2>&1 || { cat log; exit 1; }
  "$porter" cluster c.toml --set algorithm.rounds=300 --insecure-test-noise --out "cluster-$turn" >log 2>&1 || { cat log; exit 1; }
  echo "turn $turn: simulation $(milliseconds "sim-$turn") ms, MPI $(milliseconds "mpi-$turn") ms, cluster $(milliseconds "cluster-$turn") ms a round"
  rm -rf "sim-$turn" "mpi-$turn" "cluster-$turn"
done
