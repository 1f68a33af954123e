#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guards against regressions: builds two commits and times their rounds by turns in one run.
#   bench/compare.sh [--limit 1.10] [--passes 41] COMMIT_A [COMMIT_B]      COMMIT_B is HEAD if not given
# Prints B's time in units of A's; the exit code is 1 if a round of B takes more than LIMIT times as long.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")

usage() { sed -n '3,5s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2; }

limit=1.10 passes=41 commits=()
while [ $# -gt 0 ]; do
  case $1 in
    --limit) limit=${2:?--limit needs a number}; shift 2 ;;
    --passes) passes=${2:?--passes needs a number}; shift 2 ;;
    -*) usage ;;
    *) commits+=("$1"); shift ;;
  esac
done
[ ${#commits[@]} -eq 1 ] && commits+=(HEAD)
[ ${#commits[@]} -eq 2 ] || usage

work=$(mktemp -d)
clean_up() {
  for name in A B; do git -C "$root" worktree remove --force "$work/$name" 2>/dev/null || true; done
  rm -rf "$work"
}
trap clean_up EXIT

# build NAME COMMIT: the worker of a commit, in $work/NAME/build.
build() {
  local tree=$work/$1 log=$work/$1.log
  git -C "$root" worktree add --quiet --detach "$tree" "$2"
  [ -d "$tree/bench/round" ] || { echo "compare.sh: $2 has no bench/round, so nothing to time" >&2; exit 1; }
  echo "$1 = $(git -C "$tree" log -1 --format='%h %s')" >&2
  export CCACHE_BASEDIR=$tree CCACHE_NOHASHDIR=1  # what another worktree has compiled is good here, too
  if ! { cmake -S "$tree" -B "$tree/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DPORTER_TESTS=OFF -DPORTER_TOOLS=OFF \
           -DPORTER_BENCH=ON -DPORTER_UNITY=ON && ninja -C "$tree/build" round_worker; } >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    echo "compare.sh: building $2 failed" >&2
    exit 1
  fi
}
build A "${commits[0]}"
build B "${commits[1]}"
/usr/bin/python3 "$here/compare.py" "$limit" "$passes" "$work/A/build/bench/round_worker" "$work/B/build/bench/round_worker"
