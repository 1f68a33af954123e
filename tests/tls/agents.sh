#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# agents.sh killed|stopped PROGRAM: three agents as processes.
#   killed   kill -9 and restart them at random moments: the result is that of an undisturbed run
#   stopped  SIGSTOP one: the others say who is out of reach, and end
fault=$1 program=$2
work=$(mktemp -d)
pids=()
trap 'for p in "${pids[@]}"; do kill -KILL "$p" 2>/dev/null; done; rm -rf "$work"' EXIT
"$program" keys "$work/keys" || exit 1
port=$((20000 + $$ % 4000 * 3))
rounds=600

start() { # FOLDER AGENT
  mkdir -p "$1"
  [ -e "$1/keys" ] || ln -s "$work/keys" "$1/keys"
  "$program" "$1" "$2" "$port" "$rounds" >>"$1/log-$2" 2>&1 &
  pids[$2]=$!
}

if [ "$fault" = stopped ]; then
  rounds=100000
  for a in 0 1 2; do start "$work/run" $a; done
  sleep 2
  kill -STOP "${pids[1]}"
  wait "${pids[0]}"; first=$?
  wait "${pids[2]}"; last=$?
  cat "$work"/run/log-*
  # Both lost agent 1; who saw it first told the other, who then says so.
  lost='agent-1 has been out of reach' told='gave up: it cannot reach agent-1'
  [ $first -eq 1 ] && [ $last -eq 1 ] && grep -q "$lost" "$work"/run/log-[02] &&
    grep -Eq "$lost|$told" "$work/run/log-0" && grep -Eq "$lost|$told" "$work/run/log-2"
  exit
fi

for a in 0 1 2; do start "$work/calm" $a; done
wait "${pids[@]}"
port=$((port + 12000 > 32000 ? port - 3 : port + 3))
for a in 0 1 2; do start "$work/wild" $a; done
RANDOM=7
for _ in 1 2 3 4 5 6; do
  sleep "0.$((RANDOM % 5 + 1))"
  a=$((RANDOM % 3))
  kill -KILL "${pids[$a]}" || exit 1  # it ended too soon, so the test would show nothing
  wait "${pids[$a]}" 2>/dev/null
  start "$work/wild" $a
done
wait "${pids[@]}"
cat "$work"/calm/log-? "$work"/wild/log-?
for a in 0 1 2; do
  grep -q "^agent-$a: [0-9]" "$work/calm/log-$a" || exit 1
  [ "$(grep "^agent-$a: [0-9]" "$work/wild/log-$a" | tail -n 1)" = "$(cat "$work/calm/log-$a")" ] || exit 1
done
