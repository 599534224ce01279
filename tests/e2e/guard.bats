#!/usr/bin/env bats
# Guarded names in a run, by effect: what must not come into existence, what works all the same, and
# that the guard changes nothing else. Each refusal is shown to be the guard's: with '--guard off'
# the same thing happens.

load lib

readonly RACE_TRIES=${WATTLE_RACE_TRIES:-2000}

# In the pen, where a job finds it.
with_helper() {
    cp "$WATTLE_HELPERS/$1" "$PEN/.."
    HELPER=(--ro "$PEN/../$1" -- "$PEN/../$1")
}

# names_below FOLDER: every name that must not be there.
guarded_below() {
    find "$1" \( -ipath '*/.git/hooks/*' ! -name '*.sample' -o -ipath '*/.git/config' -o \
        -ipath '*/.git/commondir' -o -iname .envrc -o -iname .mcp.json -o \
        -ipath '*/.claude/settings.json' -o -ipath '*/.vscode/tasks.json' -o -ipath '*/.hg/hgrc' \)
}

# Looks for a name all the time, until it is stopped; what it saw is in $WORLD/seen.
watch_for() {
    # shellcheck disable=SC2016 # for the shell that is started
    outside bash -c 'cd "$1"; while :; do for name in .envrc .mcp.json .hg/hgrc .git/hooks/pre-commit \
        sub/.git/config .claude/settings.json; do [[ ! -e $name ]] || echo "$name" >>"$2"; done; done' \
        watch "$1" "$WORLD/seen"
}

# ---- nothing comes into existence ------------------------------------------------------------

@test "every call, every way to write the path, every kind of name: none lands, not for a moment" {
    with_helper guard_matrix
    inside --guard off "${HELPER[@]}" off
    [[ $output == *' tried, '*' landed' && $output != *' 0 landed' ]] || fail "the control did nothing"
    (($(grep -c '^landed' <<<"$output") > 2000)) || fail "the control landed little"
    mkdir -p on
    watch_for "$PEN/on"
    inside -C on "${HELPER[@]}"
    ended 0
    said ', 0 landed'
    same "$(guarded_below on)" "" "guarded names"
    absent "$WORLD/seen"
}

@test "what pid 1 has is not lent out: memory, descriptors, threads, by every way of saying it" {
    with_helper guard_deputy
    inside "${HELPER[@]}"
    ended 0
    said ', 0 got'
}

@test "a folder with head, objects and refs is no repository; one with HEAD is, whatever came last" {
    local last
    mkdir plain bare
    inside -- bash -c 'cd plain && touch head commondir config && mkdir objects refs'
    ended 0
    present plain/head plain/commondir plain/refs
    for last in HEAD refs objects; do
        rm -rf bare
        mkdir bare
        # shellcheck disable=SC2016 # for the shell inside
        inside -- bash -c 'cd bare; echo "ref: refs/heads/main" >tmp; for name in HEAD objects refs; do
            [[ $name == "$1" ]] || if [[ $name == HEAD ]]; then mv tmp HEAD; else mkdir $name; fi; done
            if [[ $1 == HEAD ]]; then mv tmp HEAD; else mkdir "$1"; fi' bare "$last"
        failed_inside
        absent "bare/$last"
    done
}

@test "races: strings, descriptors, folders and symlinks that change under way" {
    local race
    with_helper guard_race
    for race in $("$WATTLE_HELPERS/guard_race" list); do
        mkdir "w-$race"
        inside -C "w-$race" "${HELPER[@]}" "$race" "$RACE_TRIES"
        [[ $status == 0 && $output == *', 0 landed' ]] || fail "$race"
        [[ $output != *', 0 worked'* ]] || fail "$race was not run"
        rm -rf "w-$race"
    done
}

@test "races land without the guard" {
    local race landed=0
    with_helper guard_race
    for race in string-open fd-open cwd-open exchange link-open dangling-open deep; do
        mkdir "w-$race"
        inside --guard off -C "w-$race" "${HELPER[@]}" "$race" 2000
        [[ $output == *', 0 landed' ]] || landed=$((landed + 1))
        rm -rf "w-$race"
    done
    ((landed >= 5)) || fail "only $landed of 7 landed without the guard"
}

@test "two jobs in two pens of one folder cannot make a guarded name between them" {
    mkdir -p sub/mg
    # shellcheck disable=SC2016 # for the shell inside
    outside "$WATTLE" run -q --pen "$PEN" -- bash -c 'cd sub; for ((;;)); do mv mg .hg; mv .hg mg; done'
    run --separate-stderr "$WATTLE" run -q --pen "$PEN/sub" -- /usr/bin/python3 -c '
import os
landed = made = 0
for i in range('"$RACE_TRIES"'):
    try:
        os.close(os.open("mg/hgrc", os.O_CREAT | os.O_WRONLY, 0o600))
        made += 1
    except OSError:
        pass
    landed += os.path.lexists(".hg/hgrc")
    for name in "mg/hgrc", ".hg/hgrc":
        try:
            os.unlink(name)
        except OSError:
            pass
print("made", made > 0, "landed", landed)'
    printed "made True landed 0"
}

@test "what is there already is not written, moved, removed, linked or made executable" {
    local name
    mkdir -p .git/hooks .claude
    for name in .git/hooks/pre-commit .claude/settings.json .envrc; do echo owner >"$name"; done
    chmod 644 .git/hooks/pre-commit
    local before
    before=$(snapshot .git/hooks .claude .envrc)
    # shellcheck disable=SC2016 # for the shell inside
    local attack='for name in .git/hooks/pre-commit .claude/settings.json .envrc; do
        echo PWNED >"$name"; echo PWNED >>"$name"; truncate -s 0 "$name"; chmod 755 "$name"
        mv "$name" moved; ln "$name" linked; rm -f "$name"; echo x >new; mv -f new "$name"
        /usr/bin/python3 -c "import os, sys; os.fchmod(os.open(sys.argv[1], os.O_RDONLY), 0o777)" "$name"
    done; mv .git/hooks h; mv .claude c; mv .git g; rm -rf .git .claude; true'
    inside -- bash -c "$attack"
    ended 0
    same "$(snapshot .git/hooks .claude .envrc)" "$before" "what was there"
    absent moved linked h c g
    inside --guard off -- bash -c "$attack; true"
    holds .envrc x # the same attack, and nobody held it
    absent .git .claude
}

@test "a host that replaces a held file all the time loses nothing, and the job gains nothing" {
    need_tools git
    git init -q .
    echo '#!/bin/sh' >.git/hooks/pre-commit
    # shellcheck disable=SC2016 # for the shells
    outside bash -c 'for ((i = 0; ; i++)); do git config user.name "owner $i"; git remote add "r$i" /x
        echo "$i" >e.new; mv e.new .envrc; done'
    # shellcheck disable=SC2016
    inside -- bash -c 'for ((i = 0; i < 300; i++)); do
        echo PWNED >.envrc; rm -f .envrc .git/config; echo "[core] fsmonitor = x" >.git/config
        mv .git/config away; git config core.fsmonitor ./PWNED; echo PWNED >.git/hooks/pre-commit
    done 2>/dev/null; true'
    stop_outside
    ended 0
    ! grep -rq PWNED .git/config .envrc .git/hooks || fail "something of the job's took effect"
    present .git/config .envrc
    absent away
    [[ $(git config user.name) == owner* ]] || fail "the owner's setting is gone"
}

# ---- what works all the same -----------------------------------------------------------------

@test "git: init, clone, commit, names, branches, push -u, worktrees and submodules work" {
    need_tools git
    works -e GIT_CONFIG_COUNT=1 -e GIT_CONFIG_KEY_0=protocol.file.allow \
        -e GIT_CONFIG_VALUE_0=always -- bash -ec '
        export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
        git init -q r; cd r; echo 1 >f; git add f; git commit -qm one
        git config user.name Somebody; [[ $(git config user.name) == Somebody ]]
        [[ $(git config core.filemode) == true ]]
        cd ..; git clone -q r c; cd c; git checkout -qb work; git push -qu origin work
        [[ $(git rev-parse --abbrev-ref @{u}) == origin/work ]]
        git worktree add -q ../tree -b other; git -C ../tree status --porcelain
        git submodule -q add ../r sub; git commit -qm sub; git submodule status
        git worktree remove ../tree; git fsck --strict; git gc -q
        cd ..; rm -rf c r tree'
    absent c r tree
}

@test "git: settings that run something are refused by their name, for good" {
    need_tools git
    git init -q .
    local key before
    before=$(cat .git/config)
    for key in core.fsmonitor core.hookspath core.sshcommand core.pager alias.x filter.f.clean \
        include.path diff.external credential.helper; do
        inside -- git config "$key" ./PWNED
        failed_inside
        said "$key"
    done
    inside -- bash -c 'git config remote.x.url "ext::sh -c PWNED"; git remote add y --upload-pack=x; true'
    same "$(cat .git/config)" "$before" "the configuration"
    works --guard off -- git config core.fsmonitor ./PWNED
}

@test "files are free at once when they are closed, and hidden processes can make names" {
    with_helper guard_busy
    works "${HELPER[@]}" 2000
    said ' 0 busy, 0 locked, hidden works'
}

@test "opens of a FIFO wait, restart and are interrupted as without the guard" {
    local case off
    with_helper guard_waits
    for case in $("$WATTLE_HELPERS/guard_waits"); do
        works --guard off "${HELPER[@]}" "$case"
        off=$output
        works "${HELPER[@]}" "$case"
        same "$output" "$off" "$case"
    done
}

# The differences that are left are written down in docs/mechanisms.md, and nowhere else.
@test "flags of open, kinds of path, and all other calls answer the same with and without the guard" {
    local side
    with_helper guard_table
    for side in off on; do
        mkdir -p "$side/in"
        inside --guard "$side" -C "$side/in" "${HELPER[@]}"
        ended 0
        # F_GETFL of a file that was there does not show O_NOFOLLOW
        sed -E '/nofollow: ok/s/fl=5/fl=1/' <<<"$output" >"$WORLD/$side"
    done
    local lines
    lines=$(wc -l <"$WORLD/on")
    ((lines > 2000)) || fail "only $lines lines"
    diff "$WORLD/off" "$WORLD/on" | grep '^>' |
        grep -vE ' LONG-(NAME|PATH)( |:)|^> bind /proc/|^> chmod-link (/proc|/dev/stdout)|^> open //? w\+creat\+excl|^> open /dev/tty rw\+sync\+noatime' \
            >"$WORLD/differences" || true
    [[ ! -s $WORLD/differences ]] || fail "differences: $(cat "$WORLD/differences")"
}

@test "a signal does not make umask() fail, and no file gets another mode by it" {
    need_tools python3
    works -- /usr/bin/python3 -c '
import os, signal
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
bad = 0
def remove():
    try: os.unlink("file")
    except InterruptedError: remove()
for _ in range(3000):
    os.umask(0o022); os.umask(0o077)
    fd = os.open("file", os.O_CREAT | os.O_WRONLY, 0o666)
    bad += os.fstat(fd).st_mode & 0o077 != 0
    os.close(fd); remove()
signal.setitimer(signal.ITIMER_REAL, 0)
print("bad", bad)'
    same "$output" "bad 0"
}

@test "umask, descriptors at the limit, and a job's own seccomp filter" {
    works -- bash -ec 'umask 027; echo >a; mkdir d; umask 0; echo >b; umask 0777; (umask 077; echo >c)
        stat -c "%a %n" a d b c'
    printed $'640 a\n750 d\n666 b\n600 c'
    works -- python3 -c '
import os, threading
def mode(name):
    os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    return "%o" % (os.stat(name).st_mode & 0o777)
first = os.umask(0)
seen = [mode("u1")]
os.umask(first)  # back to what the run began with
seen.append(mode("u2") == "%o" % (0o666 & ~first))
turn = threading.Barrier(2)
def other():
    for name in "u3", "u4":
        turn.wait()
        seen.append(mode(name))
        turn.wait()
thread = threading.Thread(target=other)
thread.start()
for mask in 0, 0o77:  # a thread that has just made a file sees what another one has set
    os.umask(mask)
    turn.wait()
    turn.wait()
thread.join()
print(*seen)'
    printed "666 True 666 600"
    works -- bash -ec 'ulimit -n 10; for i in 1 2 3; do echo >n$i; done; ls n1 n2 n3 | wc -l'
    printed 3
}

# ---- what is said ----------------------------------------------------------------------------

@test "each refusal is an event, a line of the spool, and one line at the end" {
    inside --status-fd 3 -- bash -c 'echo >.envrc; mkdir .git; echo >.git/hooks; true' 3>"$WORLD/events"
    ended 0
    said "refused 2 calls on guarded names"
    same "$(json 'v["event"]' <"$WORLD/events" | xargs)" "start denied denied exit" "events"
    grep '"denied"' "$WORLD/events" | head -1 | json '(v["call"], v["program"], v["path"][-6:])' |
        grep -qx "('open', 'bash', '.envrc')" || fail "$(cat "$WORLD/events")"
    tail -1 "$WORLD/events" | json 'v["denied"]' | grep -qx 2
    grep -c '"event":"denied"\|"event": "denied"' "$HOME/.local/state/wattle/spool/run.jsonl" | grep -qx 2
    inside -q -- bash -c 'echo >.envrc; true'
    same "$stderr" "bash: line 1: .envrc: Read-only file system" "what a quiet run says"
}

@test "ten thousand refusals are counted, and told of at a bounded rate" {
    inside --status-fd 3 -- /usr/bin/python3 -c '
import os
for i in range(10000):
    try:
        os.mkdir(".envrc")
    except OSError:
        pass' 3>"$WORLD/events"
    ended 0
    said "refused 10000 calls"
    (($(wc -l <"$WORLD/events") < 400)) || fail "$(wc -l <"$WORLD/events") events"
}

@test "without the guard it is said, also where somebody else listens to system calls" {
    inside --guard off -- true
    said "names are not guarded"
    inside --guard off -q -- true
    same "$stderr" "" "what a quiet run says"
    inside --status-fd 3 --guard off -- true 3>"$WORLD/events"
    json 'v.get("weak")' <"$WORLD/events" | head -1 | grep -q guard
}

# The first helper listens to a system call of its own, and a kernel lets only one do so; the second
# is a kernel before 5.19.
@test "where the kernel gives no guard the run goes on, says so, and is refused if one is required" {
    local way side
    for way in "landlock_abi 3" "deny_syscall seccomp//0x20:EINVAL"; do
        # shellcheck disable=SC2086 # words on purpose
        run --separate-stderr $way -- "$WATTLE" run --status-fd 3 -- bash -c 'echo >.envrc; test -e .envrc' 3>"$WORLD/events"
        ended 0 # it was made; when the run is over it is set aside (held.bats)
        said "names are not guarded ("
        said "1 set aside"
        absent .envrc
        json 'v.get("weak")' <"$WORLD/events" | head -1 | grep -q "'guard'"
        # shellcheck disable=SC2086
        run --separate-stderr $way -- "$WATTLE" doctor -v
        said "weaker   guard"
    done
    mkdir -p "$HOME/.config/wattle"
    echo '{"wattle": {"require": ["guard"]}}' >"$HOME/.config/wattle/config.json"
    for way in "landlock_abi 3" "deny_syscall seccomp//0x20:EINVAL"; do
        # shellcheck disable=SC2086
        run --separate-stderr $way -- "$WATTLE" run -- bash -c 'echo >ran'
        ended 125
        said "requires 'guard', which this machine does not give"
    done
    for side in off detect; do
        run --separate-stderr "$WATTLE" run --guard "$side" -- bash -c 'echo >ran'
        ended 125
        said "requires 'guard', which this run is to go without"
        said_not machine
    done
    absent ran
    works -- bash -c 'echo >ran'
}

# What a job tries on names that are there, one a line; each is the guard's to refuse, or a mount's.
HELD_TRIES=(
    'echo x >>.envrc' 'rm .envrc' 'mv .envrc e' 'echo x >.git/config' 'rm .git/config' 'mv .git g'
    'echo x >.git/hooks/pre-commit' 'mv .git/hooks h' 'echo x >deep/.git/config' 'mv deep/.git g' 'mv deep d'
    'echo x >.claude/settings.json' 'mv .claude c' 'echo x >kept/hook' 'echo x >sub/.git'
    'ln .envrc l && echo x >l'
)

held_world() {
    local top
    git init -q .
    git init -q deep
    mkdir -p .claude sub kept
    echo owner | tee .envrc .claude/settings.json kept/hook >/dev/null
    echo 'gitdir: ../.git/modules/sub' >sub/.git
    ln -s ../kept/hook deep/.envrc
    for top in .envrc .claude/settings.json kept/hook .git/config deep/.git/config sub/.git; do cat "$top"; done >"$WORLD/before"
}

held_is_whole() {
    local top
    for top in .envrc .claude/settings.json kept/hook .git/config deep/.git/config sub/.git; do cat "$top"; done >"$WORLD/after"
    same "$(cat "$WORLD/after")" "$(cat "$WORLD/before")" "held names"
    absent .git/hooks/pre-commit
}

@test "the fallback holds the names that are there, and says that it does not prevent new ones" {
    need_tools git
    local way try
    for way in "env" "landlock_abi 3 --"; do
        local -a guard=()
        find . -mindepth 1 -delete # what mv could not rename it has copied, and taken apart
        held_world
        [[ $way != env ]] || guard=(--guard detect)
        for try in "${HELD_TRIES[@]}"; do
            # shellcheck disable=SC2086
            run --separate-stderr $way "$WATTLE" run "${guard[@]}" -- bash -c "$try"
            held_is_whole
        done
        said "that are there are held, new ones are not prevented"
        # shellcheck disable=SC2086
        run --separate-stderr $way "$WATTLE" run "${guard[@]}" -- bash -ec 'echo x >.mcp.json; test -e .mcp.json; echo x >file
            git add file; git -c user.name=a -c user.email=b commit -q --allow-empty -m x; git log --oneline | grep -c x'
        ended 0
        said "1 set aside"
        absent .mcp.json
    done
    rm -rf g && works --guard off -q -- bash -c 'echo x >>.envrc; mv deep/.git g'
    present g
}

@test "the fallback refuses a pen with more guarded names than it can hold" {
    local i
    for ((i = 0; i < 513; i++)); do mkdir "r$i"; echo "gitdir: x" >"r$i/.git"; done
    inside --guard detect -- touch ran
    ended 125
    said "more than 512 guarded names"
    absent ran
    works -- touch ran
}

@test "the fallback holds names of a second folder that may be written, and of a linked worktree's" {
    need_tools git
    git init -q "$OUT/main"
    git -C "$OUT/main" -c user.name=a -c user.email=b commit -q --allow-empty -m x
    git -C "$OUT/main" worktree add -q "$WORLD/tree"
    mkdir -p "$OUT/more/.git/hooks"
    echo owner | tee "$OUT/more/.envrc" "$OUT/more/.git/config" >/dev/null
    cp "$OUT/main/.git/config" "$WORLD/config"
    run --separate-stderr "$WATTLE" run --pen "$WORLD/tree" --rw "$OUT/more" --guard detect -- bash -c '
        for name in "$1"/more/.envrc "$1"/more/.git/{config,hooks/x} "$1"/main/.git/{config,hooks/x}; do
            echo x >"$name"; done; echo y >.git' job "$OUT"
    holds "$OUT/more/.envrc" owner
    holds "$OUT/more/.git/config" owner
    same "$(cat "$OUT/main/.git/config")" "$(cat "$WORLD/config")" "the main checkout's settings"
    absent "$OUT/more/.git/hooks/x" "$OUT/main/.git/hooks/x"
    run --separate-stderr "$WATTLE" run -q --pen "$WORLD/tree" --rw "$OUT/more" --guard off -- bash -c 'echo x >"$1/more/.envrc"' job "$OUT"
    holds "$OUT/more/.envrc" x
}

@test "pens check lists guarded names, deep ones only beside a .git" {
    mkdir -p a/.git/hooks b/.vscode
    touch .envrc a/.envrc b/.envrc b/.vscode/tasks.json a/.git/hooks/x
    run --separate-stderr "$WATTLE" pens check
    ended 0
    same "$(grep -c '^guarded ' <<<"$output")" 4 "guarded names"
    for name in .envrc a/.git a/.git/hooks a/.envrc; do said "guarded     $name"; done
    # A .git that comes beside it makes it count, also with what is remembered.
    mkdir b/.git
    run --separate-stderr "$WATTLE" pens check
    said "guarded     b/.vscode/tasks.json"
}

@test "a guard that is killed takes the job along" {
    local pid
    # shellcheck disable=SC2016 # for the shell inside
    outside "$WATTLE" run -q --pen "$PEN" -- bash -c 'for ((i = 0; ; i++)); do echo $i >file; done'
    until_true test -s "$PEN/file"
    for pid in $(descendants "$PID"); do
        [[ $(cat "/proc/$pid/comm" 2>/dev/null) != wattle-init ]] || kill -KILL "$pid"
    done
    until_true gone "$PID"
}

@test "nothing of ours lies in the pen, and the lock is not to be seen inside" {
    works -- bash -c 'mkdir d; echo >d/f; ls -R "$HOME" | grep -c guard.lock || true'
    same "$(find . -printf '%P\n' | sort | xargs)" "d d/f" "names in the pen"
    present "$HOME/.local/state/wattle/run/guard.lock"
    inside -- cat "$HOME/.local/state/wattle/run/guard.lock"
    failed_inside
}

# Each: a setting or symlink of the owner's, the name it leads to, and what a job would do to it.
@test "what the owner's pointers lead to in the pen is held, there or not" {
    git init -q .
    git config core.hooksPath hooks
    git config include.path ../more.cfg
    mv .git gitreal
    ln -s gitreal .git
    echo owner >env
    ln -s env .envrc
    mkdir hooks
    local attack
    for attack in 'echo x >hooks/pre-commit' 'mv hooks away; mkdir hooks; echo x >hooks/pre-commit' 'echo x >more.cfg' \
        'echo x >gitreal/hooks/pre-commit' 'echo x >>env' 'echo x >new; mv new env'; do
        inside -- bash -c "$attack"
        absent hooks/pre-commit
        absent more.cfg
        absent gitreal/hooks/pre-commit
        holds env owner
    done
    works -- bash -ec 'echo fine >beside; git config core.hooksPath'
    works -q --guard off -- bash -ec 'echo x >hooks/pre-commit; echo x >more.cfg; echo x >>env'
    present hooks/pre-commit
}
