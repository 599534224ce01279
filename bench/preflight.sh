#!/bin/bash
# Measures the look through a pen before a run against `find TREE -type f -links +1`.
#
#   bench/preflight.sh [ROUNDS] [TREE...]      ROUNDS: 21; TREE: instead of those made here
#
# WATTLE_BUILD names the build folder.
#
# The trees made here: sources (40,000 entries, 5 % folders), packages (many small folders), a git
# repository with loose objects. Read the ratios, and those of an idle machine with two processors.
set -euo pipefail

here=$(cd -- "${BASH_SOURCE[0]%/*}" && pwd)
source=${here%/*}
build=$(realpath -- "${WATTLE_BUILD:-$source/build}")
rounds=${1:-21}
shift || true
world=$(mktemp -d "${TMPDIR:-/var/tmp}/wattle-bench-XXXXXX")
trap 'rm -rf "$world"' EXIT

bench=$world/preflight_bench
gcc -O2 -std=gnu17 -D_GNU_SOURCE -I"$source/src" -o "$bench" "$here/preflight_bench.c" \
    "$build"/src/{job/libjob,fence/libfence,fence/libguard,pen/libpen,policy/libpolicy,base/libbase}.a -pthread

# make_tree NAME TOPS FOLDERS FILES
make_tree() {
    local top folder
    for ((top = 0; top < $2; top++)); do
        for ((folder = 0; folder < $3; folder++)); do
            mkdir -p "$world/$1/part$top/folder$folder"
            (cd "$world/$1/part$top/folder$folder" && eval "touch file-{1..$4}.txt")
        done
    done
}

measure() {
    printf '%s\n' "$1"
    "$bench" "$rounds" "$(realpath -- "$2")" "$world/state"
}

printf 'kernel %s, %s processors, load %s\n' "$(uname -r)" "$(nproc)" "$(cut -d' ' -f1 /proc/loadavg)"
if (($# > 0)); then
    for tree; do measure "$tree" "$tree"; done
    exit
fi
make_tree sources 50 40 19
make_tree packages 100 60 4
make_tree git 20 20 12
(
    cd "$world/git"
    for file in part*/*/*; do printf '%s\n' "$file" >"$file"; done
    git init -q && git add . && git -c user.name=x -c user.email=x@example.com commit -qm x
)
sleep 2.1 # a folder that has just changed is read again
measure sources "$world/sources"
measure packages "$world/packages"
measure 'git repository' "$world/git"
