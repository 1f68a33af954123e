#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh build   builds the check of the CUDA engine into build/cuda: needs nvcc, g++, cmake and what porter
#                is built from, and no GPU. The folder has all that the programs load, so it can be taken to
#                a machine that has a GPU and nothing else.
# run.sh         runs it, on a machine with a GPU, and builds it first where it is not there: whether runs
#                on the device end with the bits of the library, and what a round takes. A minute or two.
# run.sh sanitize  looks for bad accesses and races with compute-sanitizer, on a few rounds of each kernel.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=build/cuda
jobs=${JOBS:-$(nproc)}

missing() { echo "run.sh: $*" >&2; exit 3; }

find_nvcc() {
  local nvcc
  for nvcc in "$(command -v nvcc || true)" "${CUDA_PATH:-/usr/local/cuda}/bin/nvcc"; do
    if [ -x "$nvcc" ]; then echo "$nvcc"; return; fi
  done
  missing "no nvcc: install the CUDA toolkit, or set CUDA_PATH"
}

# The libraries that a program loads, but for those that every system and the driver bring.
take_libraries() {
  ldd "$1" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' |
    grep -Ev '/(ld-linux|libc\.|libm\.|libdl\.|librt\.|libpthread\.|libresolv\.|libcuda)' |
    while read -r library; do [ "$library" -ef "$out/${library##*/}" ] || cp -Lu "$library" "$out/"; done
}

build() {
  local nvcc tool
  nvcc=$(find_nvcc)
  for tool in g++ cmake ninja; do command -v $tool >/dev/null || missing "no $tool"; done
  cmake --preset release -DPORTER_CUDA=ON >"/tmp/porter_cuda.$$" 2>&1 || {
    cat "/tmp/porter_cuda.$$" >&2
    missing "cmake found not all that porter is built from; ./porter on a Debian or Ubuntu installs it." \
      "Or build the check elsewhere (run.sh build), and bring $out here"
  }
  cmake --build build/release -j "$jobs" --target porter_lib porter
  mkdir -p $out
  # shellcheck disable=SC2016  # the loader expands it
  "$nvcc" -ccbin g++ -std=c++20 -O3 -arch="${PORTER_CUDA_ARCH:-sm_90}" -fmad=false --expt-relaxed-constexpr \
    -Xcompiler -ffp-contract=off -Iinclude -Isrc -Isrc/shared -Itests/support -Ibuild/release/include \
    tests/cuda/check_device.cu build/release/libporter.a -lz -lzstd -lssl -lcrypto -lfmt -ltomlplusplus \
    -Xlinker '-rpath=$ORIGIN' -o $out/check_device
  cp build/release/porter $out/
  cp tests/support/five_agents.toml $out/
  take_libraries $out/check_device
  take_libraries $out/porter
  echo "built $out: $(du -sh $out | cut -f1)"
}

# train FOLDER OPTION...: porter run; what it said is shown if it fails.
train() {
  local folder=$1; shift
  $out/porter run $out/five_agents.toml --set algorithm.compressor=random_k:0.2 "$@" --out "$folder" >"$folder.log" 2>&1 ||
    { cat "$folder.log"; return 1; }
}

same_model() { cmp "$1/model.npz" "$2/model.npz" && echo "porter run, $3: the same model"; }

# both NAME OPTION...: porter run on either engine gives the same model.
both() {
  local name=$1 engine; shift
  for engine in simulate cuda; do train "$runs/$name-$engine" --set run.engine=$engine "$@"; done
  same_model "$runs/$name-simulate" "$runs/$name-cuda" "$name"
}

# relay FOLDER METHOD ENGINE...: every engine goes on with 20 rounds more where the one before it ended.
relay() {
  local folder=$1 method=$2 rounds=0 engine resume=; shift 2
  for engine; do
    rounds=$((rounds + 20))
    # shellcheck disable=SC2086  # none at the start
    train "$folder" --set algorithm.name="$method" --set run.engine="$engine" --set algorithm.rounds=$rounds $resume
    resume=--resume
  done
}

check_command() {
  local method compressor
  runs=$out/runs
  export LD_LIBRARY_PATH=$PWD/$out
  rm -rf $runs && mkdir $runs
  for method in porter-dp porter-gc porter-sweep sweep-led beer motef choco-sgd; do
    both $method --set algorithm.name=$method --set algorithm.rounds=200
  done
  for method in dsgd dp-dsgd dsgt; do
    both $method --set algorithm.name=$method --set algorithm.rounds=200 --set algorithm.compressor=identity
  done
  for compressor in bernoulli:0.2 top_k:0.1 qsgd:6 gsgd:4 sign natural; do
    both "porter-dp, $compressor" --set algorithm.compressor=$compressor --set algorithm.rounds=200
    both "choco-sgd, $compressor" --set algorithm.compressor=$compressor --set algorithm.name=choco-sgd
  done
  both "softmax in float" --set model.name=softmax --set run.precision=float
  both "masks that sweep" --set algorithm.mask=sweep --set algorithm.gossip=2
  for method in porter-gc choco-sgd motef; do
    relay "$runs/$method-relay" $method simulate cuda simulate
    relay "$runs/$method-stay" $method simulate simulate simulate
    same_model "$runs/$method-stay" "$runs/$method-relay" "$method, CPU to GPU to CPU"
    relay "$runs/$method-back" $method cuda simulate cuda
    same_model "$runs/$method-stay" "$runs/$method-back" "$method, GPU to CPU to GPU"
  done
}

# in_parts WHAT COMMAND...: check_device WHAT in parts side by side, behind COMMAND; what they said together.
in_parts() {
  local what=$1 parts=$((jobs < 12 ? jobs : 12)) part status=0 pids=(); shift
  local logs; logs=$(mktemp -d)
  for ((part = 0; part < parts; ++part)); do
    timeout 400 "$@" $out/check_device "$what" $part $parts >"$logs/$part" 2>&1 & pids+=($!)
  done
  for part in "${pids[@]}"; do wait "$part" || status=1; done
  grep -hE 'DIFFERS|check_device:|Error|Hazard|hazard' "$logs"/* | grep -v ': 0 errors\|0 hazards' | head -n 20 || true
  cat "$logs"/* | awk -F'[:,]' '/ runs,/ {split($2, r, " "); split($3, d, " "); runs[$1] += r[1]; bad[$1] += d[1]}
    END {for (what in runs) printf "%s: %d runs, %d differ\n", what, runs[what], bad[what]}'
  rm -r "$logs"
  return $status
}
sanitize() {
  local tool status=0
  for tool in memcheck racecheck; do
    in_parts little compute-sanitizer --tool $tool --error-exitcode 9 || status=1
    echo "compute-sanitizer $tool: $([ $status = 0 ] && echo "nothing found" || echo "see above")"
  done
  return $status
}

if [ "${1:-}" = build ]; then build; exit; fi
[ -x $out/check_device ] || build
command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
if [ ! -e /dev/nvidia0 ] && ! command -v nvidia-smi >/dev/null; then missing "no GPU here (no /dev/nvidia0, no nvidia-smi)"; fi
if [ "${1:-}" = sanitize ]; then sanitize; exit; fi
status=0
in_parts check || status=1
timeout 400 $out/check_device time || status=$?
if [ ! -x $out/porter ]; then
  echo "no porter in $out, so porter run was not tried; run.sh build puts it there"
  exit $status
fi
set +e  # of which a condition would make nothing
(set -e; check_command)
[ $? -eq 0 ] || status=1
exit $status
