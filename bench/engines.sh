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

# Without start and evaluation: as the run itself measured it, and from the trace of the first rank or agent, round 20 on.
measured() { /usr/bin/python3 -c 'import json, sys; print("%.2f" % (1e3 * json.load(open(sys.argv[1]))["seconds_per_round"]))' "$1"; }
traced() {
  /usr/bin/python3 - "$1" <<'END'
import json, sys
posts = [e["ts"] for e in json.load(open(sys.argv[1])) if e["name"] == "post" and e["args"]["round"] >= 20]
print("%.2f" % ((posts[-1] - posts[0]) / (len(posts) - 1) / 1e3))
END
}

for turn in $(seq "$turns"); do
  "$porter" run c.toml --out sim >log 2>&1 || { cat log; exit 1; }
  "${mpirun[@]}" "$porter" run c.toml --set run.engine=mpi --trace trace --out mpi >log 2>&1 || { cat log; exit 1; }
  "$porter" cluster c.toml --set algorithm.rounds=600 --insecure-test-noise --trace --out cluster >log 2>&1 || { cat log; exit 1; }
  echo "turn $turn: simulation $(measured sim/summary.json) ms, MPI $(traced trace.0) ms," \
    "cluster $(traced cluster/agents/agent-0/trace.json) ms a round"
  [ -z "${KEEP:-}" ] || cp trace.0 "$KEEP/mpi.json"
  [ -z "${KEEP:-}" ] || cp cluster/agents/agent-0/trace.json "$KEEP/cluster.json"
  rm -rf sim mpi cluster trace.*
done
