#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh paths BUILD     no program, built or installed, looks for libraries in a relative folder
# check.sh foreign BUILD   a library that lies in the current folder is not loaded
# check.sh flags BUILD     every program is position-independent and binds its symbols at the start,
#                          and the command has canaries on its stack
set -euo pipefail
export LC_ALL=C
mode=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

complain() { echo "$*" >&2; bad=1; }

# Every program and shared library below a folder.
binaries() {
  local file
  find "$1" -type f -perm -u+x -not -path '*/CMakeFiles/*' -print0 | while IFS= read -r -d '' file; do
    case $(head -c 4 "$file" | tr -d '\0') in $'\x7fELF') printf '%s\n' "$file" ;; esac
  done
}

# The elements of RPATH and RUNPATH, one line each; an empty one is an empty line.
search_path() {
  readelf -d "$1" | sed -n 's/.*(R\(UN\)\?PATH).*\[\(.*\)\]$/\2/p' | sed 's/:/\n/g'
}

# says PATTERN TOOL...: whether the tool's output has the pattern. The whole output is read first: a tool
# that writes to a pipe nobody reads any more has failed.
says() {
  local pattern=$1 text; shift
  text=$("$@")
  grep -Eq "$pattern" <<<"$text"
}

is_good() { [[ $1 == /* || $1 == '$ORIGIN' || $1 == '$ORIGIN/'* ]]; }

check_paths() {
  local file element
  for file in "$@"; do
    while IFS= read -r element; do
      is_good "$element" || complain "$file looks for libraries in \"$element\""
    done < <(search_path "$file")
  done
}

check_flags() {
  local file
  for file in "$@"; do
    [[ $file != *.so ]] || continue  # a module of a test
    says 'Type: *DYN' readelf -h "$file" || complain "$file is not position-independent"
    says 'BIND_NOW|Flags:.*NOW' readelf -d "$file" || complain "$file binds symbols late"
    says GNU_RELRO readelf -lW "$file" || complain "$file leaves its tables writable"
  done
}

# Each program is started beside a library of a name that it needs, which says so when it is loaded.
check_foreign() {
  local file
  printf '%s\n' '#include <unistd.h>' \
    '__attribute__((constructor)) static void loaded() { _exit(write(2, "FOREIGN\n", 8) == 8 ? 66 : 67); }' >"$work/foreign.cpp"
  c++ -shared -fPIC -Wl,-z,lazy -o "$work/libfmt.so.9" "$work/foreign.cpp"
  cd "$work"
  # The trap works: with the folder in the path the program does not start.
  if LD_LIBRARY_PATH=. "$build/porter" --version >control 2>&1; then complain "the foreign library is harmless: $(cat control)"; fi
  unset LD_LIBRARY_PATH
  for file in "$@"; do
    "$file" --version >out 2>&1 </dev/null || [ "${file##*/}" != porter ] || complain "porter does not start: $(cat out)"
    ! grep -Eq 'FOREIGN|libfmt' out || complain "$file loaded what lay in the current folder"
  done
}

mapfile -t files < <(binaries "$build")
grep -qxF "$build/porter" <<<"$(printf '%s\n' "${files[@]}")" || complain "there is no $build/porter to look at"
[ ${#files[@]} -ge 5 ] || complain "only ${#files[@]} programs found in $build"
case $mode in
  paths)
    cmake --install "$build" --prefix "$work/prefix" >"$work/log" || { cat "$work/log" >&2; exit 1; }
    check_paths "${files[@]}" "$work/prefix/bin/porter"
    ;;
  foreign) check_foreign "$build/porter" "$build"/tests/test_core ;;
  flags)
    check_flags "${files[@]}"
    says __stack_chk_fail readelf -W --dyn-syms "$build/porter" || complain "porter has no canaries on its stack"
    ;;
  *) complain "unknown check $mode" ;;
esac
[ $bad -eq 0 ] && echo "${#files[@]} programs: $mode good"
exit $bad
