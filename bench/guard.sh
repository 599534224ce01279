#!/bin/bash
# What the guard of names costs: the same work in the same pen with the guard and with `--guard off`.
#
#   bench/guard.sh [ROUNDS]     ROUNDS: of the work on many files (5); WATTLE names the program
#
# Each line is one kind of work: the median of the ratios on/off within a round, the least and the
# greatest, the same of processor time (which other load disturbs less), the goal. The two take turns
# in going first. WATTLE_BENCH_DISK names the folder in which the pen is made (/var/tmp). Nothing is
# fetched: the packages are made here. The lines of tmpfs are the same work in the job's own /tmp; they
# have no goals: there the file itself costs next to nothing, and the ratio is that of the calls alone.
set -euo pipefail

here=$(cd -- "${BASH_SOURCE[0]%/*}" && pwd)
source=${here%/*}
WATTLE=$(realpath -- "${WATTLE:-$source/build/src/cli/wattle}")
rounds=${1:-5}
disk=${WATTLE_BENCH_DISK:-/var/tmp}
unset "${!XDG_@}"
failed=0

# Sets $world: its home, its pen and what the work is made of.
make_world() {
    world=$(mktemp -d "$disk/wattle-bench-XXXXXX")
    trap 'chmod -R u+rwX "$world"; rm -rf "$world"' EXIT
    export HOME=$world/home
    pen=$HOME/pen
    mkdir -p "$pen"
    cd "$pen"
    bench=$world/spawn_bench
    gcc -O2 -D_GNU_SOURCE -o "$bench" "$here/spawn_bench.c"
    git config --global user.name bench
    git config --global user.email bench@example.com
    git config --global init.defaultBranch main
}

# 20,000 files in 200 folders.
make_files() {
    local folder
    for folder in {1..200}; do
        mkdir -p "$1/folder$folder"
        (cd "$1/folder$folder" && for file in {1..100}; do echo "$folder $file" >"file$file.txt"; done)
    done
}

make_repository() {
    git init -q full
    make_files full/tree
    git -C full add .
    git -C full commit -qm full
    git -C full checkout -q --orphan empty
    git -C full rm -rfq .
    git -C full commit -q --allow-empty -m empty
}

# 40 packages of 60 files, none of which depends on another.
make_packages() {
    local package file
    mkdir packages
    for package in {1..40}; do
        mkdir -p "$world/package/lib"
        printf '{ "name": "package%s", "version": "1.0.0", "main": "lib/1.js" }\n' "$package" >"$world/package/package.json"
        for file in {1..59}; do
            printf 'module.exports = %s;\n' "$file" >"$world/package/lib/$file.js"
        done
        tar czf "packages/package$package.tgz" -C "$world" package
    done
}

# measure LABEL GOAL ROUNDS PREPARE COMMAND...    GOAL: "" for none
measure() {
    local label=$1 goal=(-g "off=$2") count=$3 before=$4
    shift 4
    [[ ${goal[1]} != off= ]] || goal=()
    "$bench" -n "$count" -l "$label" -p "$before" "${goal[@]}" \
        -- on "$WATTLE" run -q --pen "$pen" -- "$@" ::: off "$WATTLE" run -q --guard off --pen "$pen" -- "$@" || failed=1
}

measure_tar() {
    make_files tree
    tar cf tree.tar tree
    rm -rf tree
    measure "tar x, 20,000 files, $kind" 2.00 "$rounds" 'rm -rf tree; sync -f .' tar xf tree.tar
    measure 'tar x, 20,000 files, tmpfs' '' "$rounds" : tar xf tree.tar -C /tmp
    rm -rf tree tree.tar
}

measure_checkout() {
    make_repository
    measure "git checkout, 20,000 files, $kind" 3.00 "$rounds" 'git -C full checkout -q empty; sync -f .' git -C full checkout -q main
    measure 'git checkout, 20,000 files, tmpfs' '' "$rounds" : env GIT_INDEX_FILE=/tmp/index git -C full --work-tree=/tmp checkout -q main -- .
    rm -rf full
}

measure_npm() {
    local install=(npm install --offline --no-audit --no-fund --loglevel=error)
    if ! command -v npm >/dev/null; then
        printf '  npm install: not measured, there is no npm here\n'
        return
    fi
    make_packages
    measure "npm install, 2,400 files, $kind" 1.15 "$rounds" 'rm -rf node_modules package.json package-lock.json; sync -f .' \
        "${install[@]}" ./packages/package{1..40}.tgz
    measure 'npm install, 2,400 files, tmpfs' '' "$rounds" : "${install[@]}" --prefix /tmp ./packages/package{1..40}.tgz
    rm -rf node_modules packages package*.json
}

# shellcheck disable=SC2016 # it is for the shell inside
make_commits='cd commits && for i in $(seq 20); do echo $i >file$i && git add file$i && git commit -qm $i; done'

measure_small() {
    measure 'start of /bin/true' 1.15 $((rounds * 30)) : /bin/true
    cp -r "$source/src" src
    cp "$here/build.mk" Makefile
    measure 'make -j2, gcc -O2' 1.05 "$rounds" : make -s -j2 -B
    rm -rf src Makefile
    measure '20 commits' 1.10 $((rounds * 3)) 'rm -rf commits; git init -q commits' sh -c "$make_commits"
    rm -rf commits
    make_files tree
    # The goal is 1.00; two runs of the very same differ by as much.
    measure 'reading 20,000 files' 1.02 $((rounds * 3)) : grep -rc . tree
    rm -rf tree
}

# KiB of the supervisor and of pid 1, which shows itself to root only. The job says that it runs by
# opening the fifo.
measure_memory() {
    local run pid pss total=0
    "$WATTLE" run -q --guard "$1" --pen "$pen" -- bash -c ': >up; exec sleep 600' &
    run=$!
    : <up
    for pid in "$run" $(cat "/proc/$run/task/$run/children"); do
        pss=$(awk '/^Pss:/ { print $2 }' "/proc/$pid/smaps_rollup" 2>/dev/null) || pss=0
        total=$((total + pss))
    done
    kill "$run"
    wait "$run" || true
    kib=$total
}

printf 'wattle %s, kernel %s, %s processors, as uid %s, load %s\n' "$("$WATTLE" version | cut -d' ' -f2)" "$(uname -r)" \
    "$(nproc)" "$EUID" "$(cut -d' ' -f1 /proc/loadavg)"
make_world
kind=$(stat -f -c %T "$disk" | sed 's|ext2/ext3|ext4|')
printf '\n  %-34s %6s  %14s  %6s   %4s\n' 'guard on / off' median 'least to most' cpu goal
measure_small
measure_tar
measure_checkout
measure_npm
if [[ $EUID == 0 ]]; then
    mkfifo up
    measure_memory off
    without=$kib
    measure_memory on
    printf '  %-34s %d KiB, %d without   3072  %s\n' 'memory of our processes (PSS)' "$kib" "$without" \
        "$( ((kib <= 3072)) && echo reached || echo MISSED)"
    rm up
else
    printf '  memory: pid 1 of a job cannot be looked into as this user (on purpose): run as root\n'
fi
printf '  load %s\n' "$(cut -d' ' -f1 /proc/loadavg)"
exit "$failed"
