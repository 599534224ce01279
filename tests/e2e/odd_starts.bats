#!/usr/bin/env bats
# Started from odd places, as other programs do. What came of it is read from a file, since the
# usual descriptors may not be there.

load lib

# odd_run OPTION... : a job writes "ran" into the pen; $status.
odd_run() {
    rm -f result
    run odd_start "$@" -- "$WATTLE" run --pen "$PEN" -- bash -c 'umask 022; echo ran >result'
    ended 0
    [[ -e result ]] || fail "the job did not run"
    chmod u+r result
    holds result ran
}

@test "the current folder is deleted" {
    odd_run --cwd-deleted "$OUT/gone"
    run odd_start --cwd-deleted "$OUT/gone" -- "$WATTLE" run -- true
    ended 125
    said 'current folder'
}

@test "descriptors 0, 1 and 2 are closed, one by one and all at once" {
    odd_run --close 0
    odd_run --close 1
    odd_run --close 2
    odd_run --close 0 --close 1 --close 2
    run odd_start --close 0 -- "$WATTLE" run --pen "$PEN" -- bash -c 'cat; echo "$?"; ls /proc/self/fd | wc -l'
    ended 0
    run odd_start --close 0 --close 1 --close 2 -- "$WATTLE" run --pen "$PEN" -- bash -c 'echo x; exit 7'
    ended 7
}

@test "SIGCHLD is ignored: the status still comes" {
    run odd_start --ignore 17 -- "$WATTLE" run --pen "$PEN" -- bash -c 'sleep 0.1; (exit 4); exit $?'
    ended 4
    odd_run --ignore 17
}

@test "every signal is blocked, others are ignored: the job has defaults" {
    run odd_start --block-all --ignore 13 --ignore 1 --ignore 2 --ignore 15 -- "$WATTLE" run --pen "$PEN" -- \
        grep -E '^Sig(Blk|Ign):' /proc/self/status
    ended 0
    printed "$(printf 'SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000')"
    run odd_start --block-all --ignore 17 -- "$WATTLE" run --timeout 300ms --pen "$PEN" -- sleep 60
    ended 124
}

@test "umask 0777 is the job's own affair, not ours" {
    odd_run --umask 0777
    run odd_start --umask 0777 -- "$WATTLE" run --pen "$PEN" -- bash -c 'umask; touch "$HOME/x" "$TMPDIR/y"'
    ended 0
    printed 0777
    odd_run --umask 0777
}

@test "RLIMIT_NOFILE of 32 is enough, of 16 without the guard" {
    odd_run --nofile 32
    run odd_start --nofile 32 -- "$WATTLE" run --pen "$PEN" -- bash -c 'ulimit -n; touch x; ln x y; mv y z; mkdir d; rm -r x z d'
    ended 0
    printed 32
    run odd_start --nofile 16 -- "$WATTLE" run --guard off -q --pen "$PEN" -- bash -c 'ulimit -n'
    ended 0
    printed 16
}

@test "the environment is empty" {
    odd_run --empty-env
    run odd_start --empty-env -- "$WATTLE" run --pen "$PEN" -- ls /
    ended 0
    rm -rf "$PEN/result"
}

@test "there is no XDG_RUNTIME_DIR, or one that is not there" {
    XDG_RUNTIME_DIR='' odd_run
    XDG_RUNTIME_DIR=$OUT/none odd_run
    absent "$OUT/none"
}

@test "HOME is a symlink, HOME is on the way to the pen, PWD lies" {
    mv "$HOME" "$BATS_TEST_TMPDIR/real"
    ln -s "$BATS_TEST_TMPDIR/real" "$HOME"
    cd "$PEN"
    odd_run
    PWD=/nonsense run "$WATTLE" run --pen "$PEN" -- pwd
    ended 0
}

@test "without even a name of its own in argv" {
    run --separate-stderr odd_start --no-argv -- "$WATTLE"
    ((status > 0 && status < 127)) || fail "a start without arguments"
}

@test "all of it at once" {
    odd_run --cwd-deleted "$OUT/gone" --close 0 --close 1 --close 2 --block-all --ignore 17 --umask 0777 --nofile 16 --empty-env
}
