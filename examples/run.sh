#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh PROGRAM: runs it in a folder of its own.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$1"
