#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs BUILD into a fresh folder, then builds and runs a project that finds it there, by CMake and
# by pkg-config.
set -euo pipefail
build=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >"$work/log"
cmake -S "$source" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_FLAGS="${3:-}" >>"$work/log"
cmake --build "$work/build" >>"$work/log" || { cat "$work/log"; exit 1; }
"$work/build/uses_porter"

export PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name porter.pc)")
# shellcheck disable=SC2046
c++ "$source/main.cpp" -o "$work/by_pkg_config" $(pkg-config --cflags --libs --static porter)
"$work/by_pkg_config"
