#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Instructions per round, counted by callgrind on one thread: a figure that does not depend on what else the machine does.
#   bench/instructions.sh [BUILD_FOLDER]        default build/release; needs valgrind and the target round_worker
# valgrind knows AVX2 and no AVX-512, and tells the program so: the AVX2 paths are what is counted.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
worker=${1:-$root/build/release}/bench/round_worker
command -v valgrind >/dev/null || { echo "instructions.sh: please install valgrind" >&2; exit 1; }
[ -x "$worker" ] || { echo "instructions.sh: no $worker; build it: cmake --preset release && ninja -C build/release round_worker" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# instructions NAME ROUNDS PROBLEM [section.key=value ...]: collects inside Porter::step only.
instructions() {
  local name=$1 rounds=$2 problem=$3
  shift 3
  echo "time round $rounds" |
    valgrind --tool=callgrind --collect-atstart=no --toggle-collect='*Porter<*>::step*' \
      --callgrind-out-file="$work/$name" "$worker" "$root/bench/problems/$problem.toml" run.threads=1 "$@" \
      >/dev/null 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
  awk -v name="$name" -v rounds="$rounds" \
    '/^(totals|summary):/ { printf "%-12s %15.0f instructions per round (mean of %d)\n", name, $2 / rounds, rounds; exit }' "$work/$name"
}

instructions a9a 200 a9a
instructions mlp 5 mlp
instructions mlp_b128 2 mlp algorithm.batch=128
