#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fault.sh FAULT PROGRAM MPIRUN...: a job in which rank 1 goes wrong ends by itself, and says who it was.
fault=$1 program=$2
shift 2
output=$(timeout 600 "$@" -n 4 "$program" "$fault" 2>&1)
code=$?
echo "$output"
echo "exit code $code"
case $fault in
  stopped) expected='watchdog: rank 1 on .* has given no sign of life for 10 s' ;;
  killed) expected='rank 1 .*signal 9' ;;
  thrown) expected='error: process 1 .agents 2, 3. gave up: the disk is full' ;;
  early) expected='error: rank 1 ended by an error' ;;
esac
[ "$code" -ne 0 ] && [ "$code" -ne 124 ] || exit 1
grep -q "$expected" <<<"$output"
