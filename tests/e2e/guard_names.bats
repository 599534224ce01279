#!/usr/bin/env bats
# Guarded names that are not to be told by a name alone: the same file by another name, a repository
# that is not called ".git", a git folder of the owner's with the number of one the job had made;
# and what makes a hook executable besides chmod. By effect, and each with '--guard off' beside it.

load lib

# ---- the same file by another name ------------------------------------------------------------

# Every way to change the file `alias`, which is the hook. Prints those that worked.
# shellcheck disable=SC2016 # for the shell inside
readonly CHANGES='
for way in "echo x >>alias" "echo x 1<>alias" ": >alias" "truncate -s 1 alias" "chmod u+x alias" \
    "ln alias third" "mv alias away" "rm -f alias" "/usr/bin/python3 -c \"import os; os.replace(\\\"new\\\", \\\"alias\\\")\""; do
    : >new; (eval "$way") 2>/dev/null && echo "$way"; done; true'

repository_with_twins() {
    rm -rf .git alias keep deep third away new
    git init -q .
    printf 'hook' >.git/hooks/pre-commit
    chmod 644 .git/hooks/pre-commit
    echo rc >.envrc
    mkdir deep
    ln .git/hooks/pre-commit alias
    ln .envrc deep/keep
}

@test "another name of a guarded file in the pen is held as the file is" {
    need_tools git
    repository_with_twins
    control bash -c "$CHANGES"
    [[ $output == *'>>alias'* && $output == *chmod* && $output == *'mv alias'* ]] || fail "the control did little"
    repository_with_twins
    inside -- bash -c "$CHANGES"
    printed ""
    said "it is the file '.git/hooks/pre-commit' by another name"
    same "$(stat -c '%a %h' alias) $(cat alias)" "644 2 hook" "the hook"
    inside -- bash -c 'echo x >>deep/keep'
    failed_inside
    said "it is the file '.envrc' by another name"
    holds .envrc rc
    works -- bash -c 'cat alias deep/keep; echo own >own; echo x >deep/other; ln own own2; echo y >>own2'
    inside --guard off -- bash -c 'echo x >>alias; echo y >>deep/keep'
    same "$(cat .git/hooks/pre-commit) $(tail -1 .envrc)" "hookx y" "without the guard"
}

@test "names of one file, none of them guarded, are free, and so are git's objects" {
    need_tools git
    repository_with_twins
    rm alias deep/keep
    echo data >one
    ln one two
    git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one
    git clone -q . copy
    works -- bash -c 'echo x >>two && chmod +x two && mv two three && rm -f one && cd copy &&
        git -c user.name=a -c user.email=a@b commit -q --allow-empty -m two && git gc -q'
}

@test "twins are known also when the pen is remembered, and files are shared with others by the owner's leave" {
    local i
    need_tools git
    repository_with_twins
    rm alias deep/keep
    mkdir -p many "$HOME/.config/wattle"
    for ((i = 0; i < 3000; i++)); do : >"many/$i"; done
    ln many/1 "$WORLD/outside"
    echo '{"wattle": {"acceptSharedLinks": true}}' >"$HOME/.config/wattle/config.json"
    find . -type d -exec touch -d '1 hour ago' {} +
    # changed by what was just done: those two seconds have to be over for a folder to be remembered
    sleep 2.1
    works -- true
    ln .git/hooks/pre-commit alias
    ln .envrc deep/keep
    inside -- bash -c 'echo x >>alias'
    failed_inside
    inside -- bash -c 'echo x >>deep/keep'
    failed_inside
    sleep 2.1
    works -- true
    inside -- bash -c 'echo x >>alias || echo y >>deep/keep'
    failed_inside
    same "$(cat alias deep/keep)" "hookrc" "what is held"
}

@test "pens check names twins, policy explain answers for them, and too many are refused by name" {
    local i
    need_tools git
    repository_with_twins
    run --separate-stderr "$WATTLE" pens check .
    ended 0
    [[ $output == *'twin'*'alias'*'the same file as .git/hooks/pre-commit'* ]] || fail "not listed"
    run --separate-stderr "$WATTLE" pens check --json .
    same "$(json '[(f["path"], f["twin_of"]) for f in v["found"] if "twin" in f["what"]]' <<<"$output")" \
        "[('alias', '.git/hooks/pre-commit'), ('deep/keep', '.envrc')]" "the list"
    for ((i = 0; i < 200; i++)); do ln .envrc "deep/$i"; done
    inside -- true
    ended 125
    said "other names of guarded files"
    works --guard off -- true
}

@test "the fallback holds twins and repositories of other names too" {
    need_tools git
    repository_with_twins
    git init -q --bare vendor.git
    run --separate-stderr landlock_abi 3 -- "$WATTLE" run -- bash -c 'echo x >>alias; echo y >>deep/keep; echo z >>vendor.git/config; true'
    ended 0
    said "names are not guarded ("
    same "$(cat alias deep/keep)" "hookrc" "what is held"
    [[ $(tail -1 vendor.git/config) != z ]] || fail "the configuration was written"
}

# ---- repositories that are not called .git -----------------------------------------------------

@test "a bare repository that is there: hooks and configuration are held, the rest is worked in" {
    need_tools git
    mkdir vendor
    git init -q --bare vendor/repo.git
    git init -q work
    git -C work -c user.name=a -c user.email=a@b commit -q --allow-empty -m one
    # shellcheck disable=SC2016 # for the shell inside
    local try='echo "#!/bin/sh" >hooks/post-update; chmod +x hooks/post-update; echo x >hooks/update.sample2
        echo "[core] fsmonitor = evil" >>config; git config core.fsmonitor evil; mv hooks h; mv config c; ln -s /x hooks/pre-push; true'
    inside -C vendor/repo.git -- bash -c "$try"
    ended 0
    absent vendor/repo.git/hooks/post-update vendor/repo.git/hooks/pre-push vendor/repo.git/h vendor/repo.git/c
    ! grep -q evil vendor/repo.git/config || fail "the configuration was written"
    said "vendor/repo.git/hooks"
    works -C work -- git push -q ../vendor/repo.git HEAD:refs/heads/new
    # a second setting file, where the first one asks for it
    git -C vendor/repo.git config extensions.worktreeConfig true
    inside -C vendor/repo.git -- git config --worktree core.fsmonitor evil
    failed_inside
    absent vendor/repo.git/config.worktree
    inside --guard off -C vendor/repo.git -- bash -c "$try"
    grep -q evil vendor/repo.git/c || fail "the control did nothing"
    present vendor/repo.git/h/post-update
}

# take_apart FOLDER: every way in which a job could make the bare repository there run something, or
# take it for no repository for a moment. Each is tried by itself.
take_apart() {
    cat >apart.sh <<'S'
cd "$1" || exit
try() { eval "$1" 2>/dev/null && echo "$1"; }
for way in 'echo x >hooks/post-update' 'chmod +x hooks/kept' 'ln -s /x hooks/pre-push' 'mv hooks h && mv h hooks' \
    'mkdir -p ../o/hooks && mv -T --exchange ../o/hooks hooks' 'echo "[core] fsmonitor = evil" >>config' \
    'git config core.fsmonitor evil' 'echo x >config.worktree' 'mv config c; mv c config' 'rm -f config' 'rm -f HEAD' \
    'mv HEAD H && echo x >hooks/post-update; mv H HEAD' 'mv objects o2 && echo x >hooks/post-update; mv o2 objects' \
    'mv refs r2 && echo x >config; mv r2 refs' 'rmdir refs' 'echo x >commondir' 'echo ../../../../elsewhere/.git >worktrees/w/gitdir' \
    'echo ../../../evil >worktrees/w/commondir' 'echo x >worktrees/w/config.worktree' 'mv worktrees/w/commondir cd' \
    'mkdir -p ../hooks2 && mv -T ../hooks2 hooks' 'ln worktrees/w/gitdir out' 'echo x >modules/m/hooks/post-update'; do try "$way"; done
true
S
    inside "${@:2}" -- bash apart.sh "$1"
}

bare_with_worktree() {
    rm -rf "$1" "$1.trees"
    git init -q --bare "$1"
    git -C "$1" -c user.name=a -c user.email=a@b commit-tree -m x "$(git -C "$1" mktree </dev/null)" >"$WORLD/commit"
    git -C "$1" update-ref refs/heads/main "$(cat "$WORLD/commit")"
    git -C "$1" worktree add -q -b w "$1.trees/w" main
    mkdir -p "$1/hooks" "$1/modules/m/hooks"
    rm -f "$1"/hooks/*
    echo kept >"$1/hooks/kept"
    chmod 644 "$1/hooks/kept"
}

@test "a bare repository in a folder that was opened beside the pen, or in the pen, whatever is tried" {
    local place before
    need_tools git
    mkdir "$OUT/shared"
    for place in "$OUT/shared/deep/er/repo" "$PEN/repo"; do
        bare_with_worktree "$place"
        before=$(cd "$place" && find . -path ./objects -prune -o -printf '%p %m %s\n' | sort)
        take_apart "$place" --rw "$OUT/shared"
        ended 0
        printed ""
        same "$(cd "$place" && find . -path ./objects -prune -o -printf '%p %m %s\n' | sort)" "$before" "what is there"
        inside --rw "$OUT/shared" -- mv "$place/objects" "$place/o2"
        failed_inside
        said 'without it the folder is no repository'
        # and it is worked in
        git -C "$PEN" init -q work
        git -C work -c user.name=a -c user.email=a@b commit -q --allow-empty -m one
        works --rw "$OUT/shared" -C work -- git push -q "$place" HEAD:refs/heads/new
        works --rw "$OUT/shared" -- bash -c "cd '$place' && git gc -q && git branch other new && mkdir -p info && echo a >info/exclude"
        rm -rf work
        bare_with_worktree "$place"
        take_apart "$place" --guard off --rw "$OUT/shared"
        (($(wc -l <<<"$output") > 10)) || fail "the control did little"
    done
}

@test "folders called hooks, config or modules elsewhere are nobody's, nor is one file that has gone" {
    mkdir -p "$OUT/shared/src"
    works --rw "$OUT/shared" -- bash -c 'for top in . "$1"; do cd "$top"
        mkdir -p src/hooks src/config modules/a/hooks modules/a/config worktrees/x branches
        echo x | tee src/hooks/use.ts src/config/app.json modules/a/hooks/h modules/a/config/c branches/b config commondir >/dev/null
        chmod +x src/hooks/use.ts; mv src/hooks src/hooks2; rm -r modules config commondir; ln -s x refs; rm refs; done' many "$OUT/shared/src"
    works -- /usr/bin/python3 -c '
import os
fd = os.open("src/config/gone", os.O_RDWR | os.O_CREAT)
os.unlink("src/config/gone"); os.fchmod(fd, 0o600)
os.close(os.open("/proc/self/fd/%d" % fd, os.O_WRONLY))'
}

# ---- whose git folder it is --------------------------------------------------------------------

@test "a git folder of the owner's is not the job's for having the number of one the job had made" {
    need_tools git
    # The owner makes his in the place of the job's as soon as the job has made it, and says whether
    # the file system gave it the same number.
    # shellcheck disable=SC2016 # for the shells
    outside bash -c 'cd "$1"; until [[ -e made ]]; do read -t 0.02 <> <(:); done
        number=$(stat -c %i sub/.git); same=no
        for ((SECONDS = 0; SECONDS < 15; )); do rm -rf sub/.git; mkdir sub/.git # ext4 waits for 5 s
            [[ $(stat -c %i sub/.git) != "$number" ]] || { same=yes; break; }; done
        mkdir sub/.git/hooks; echo hook >sub/.git/hooks/pre-commit; echo "$same" >tmp; mv tmp theirs' owner "$PEN"
    mkdir sub
    inside -- bash -c 'mkdir sub/.git && : >made && until [[ -e theirs ]]; do read -t 0.02 <> <(:); done
        rm -f sub/.git/hooks/pre-commit; test -e sub/.git/hooks/pre-commit'
    [[ $(cat theirs) == yes ]] || skip "the file system gives no number again at once"
    ended 0
    holds sub/.git/hooks/pre-commit hook
    # and what the job has made is its own
    works -- bash -c 'mkdir own && git -C own init -q && rm -rf own/.git'
    absent own/.git
}

# ---- access lists ------------------------------------------------------------------------------

# acl.py WAY FILE [LINK]: gives the owner the right to execute, by an access list.
acl_program() {
    cat >acl.py <<'P'
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
way, path = sys.argv[1:3]
name = b"system.posix_acl_access"
def entry(tag, perm):
    return struct.pack("<HHI", tag, perm, 0xffffffff)
value = struct.pack("<I", 2) + entry(1, 7) + entry(4, 5) + entry(0x20, 5)
buffer = ctypes.create_string_buffer(value, len(value))
at = struct.pack("<QII", ctypes.addressof(buffer), len(value), 0)
def done(result):
    if result != 0:
        sys.exit(os.strerror(ctypes.get_errno()))
if way == "path":
    os.setxattr(path, name, value)
elif way == "nofollow":
    os.setxattr(path, name, value, follow_symlinks=False)
elif way == "link":
    os.symlink(path, sys.argv[3])
    os.setxattr(sys.argv[3], name, value)
elif way == "fd":
    os.setxattr(os.open(path, os.O_RDONLY), name, value)
elif way == "proc":
    os.setxattr("/proc/self/fd/%d" % os.open(path, os.O_RDONLY), name, value)
elif way == "at":
    done(libc.syscall(463, -100, path.encode(), 0, name, at, len(at)))
elif way == "at-empty":
    done(libc.syscall(463, os.open(path, os.O_RDONLY), b"", 0x1000, name, at, len(at)))
elif way == "remove":
    os.removexattr(path, name)
P
}

@test "an access list makes no held hook executable, in any way of setting it" {
    local way
    need_tools git
    git init -q .
    echo hook >.git/hooks/pre-commit
    chmod 644 .git/hooks/pre-commit
    acl_program
    control /usr/bin/python3 acl.py path .git/hooks/pre-commit
    [[ -x .git/hooks/pre-commit ]] || cannot "no access lists here"
    for way in path nofollow link fd proc at at-empty; do
        chmod 644 .git/hooks/pre-commit
        inside -- /usr/bin/python3 acl.py "$way" .git/hooks/pre-commit on
        if [[ $stderr == *'Function not implemented'* ]]; then continue; fi # a kernel before 6.13
        failed_inside
        [[ ! -x .git/hooks/pre-commit ]] || fail "$way made it executable"
        said "pre-commit"
        inside --guard off -- /usr/bin/python3 acl.py "$way" .git/hooks/pre-commit off
        ended 0
        [[ -x .git/hooks/pre-commit ]] || fail "the control did nothing"
        touch "own-$way"
        works -- /usr/bin/python3 acl.py "$way" "own-$way" own
        [[ -x own-$way ]] || fail "$way did nothing to a file of the job's"
        rm -f on off own
    done
}

# Every call, on every kind of thing, with sound and odd arguments: result and effect.
attribute_table() {
    cat >table.py <<'P'
import ctypes, errno, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
where = sys.argv[1]
os.mkdir(where); os.chdir(where)
open("file", "w").close(); os.mkdir("dir"); os.symlink("file", "link"); os.symlink("none", "dangling")
os.mkfifo("fifo"); open("closed", "w").close(); os.chmod("closed", 0o400); os.symlink("loop", "loop")
NR = {"set": 188, "lset": 189, "fset": 190, "remove": 197, "lremove": 198, "fremove": 199, "setat": 463, "removeat": 466}
acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", t, p, 0xffffffff) for t, p in ((1, 7), (4, 5), (0x20, 1)))
big = b"x" * 65536
names = [b"user.a", b"system.posix_acl_access", b"system.posix_acl_default", b"security.capability",
         b"trusted.a", b"user.", b"user", b"", b"odd.name", b"user." + b"n" * 250, b"user." + b"n" * 251, b"x" * 5000]
values = [(b"", 0), (b"v", 1), (acl, len(acl)), (acl[:-1], len(acl) - 1), (b"v" * 3000, 3000), (big, 65536), (big, 65537), (None, 5), (None, 0)]
paths = ["file", "dir", "link", "dangling", "fifo", "closed", "none", "loop", "file/", "dir/", "/dev/null", "", ".",
         "../" + os.path.basename(where) + "/file", "/proc/self/fd/%d", "/proc/self/cwd/file", "n" * 300]
fds = [("rd", os.open("file", os.O_RDONLY)), ("wr", os.open("file", os.O_RDWR)), ("path", os.open("file", os.O_PATH)),
       ("dir", os.open("dir", os.O_RDONLY)), ("pipe", os.pipe()[0]), ("bad", 999), ("neg", -1)]
paths = [p % fds[0][1] if "%" in p else p for p in paths]
def call(*args):
    ctypes.set_errno(0)
    r = libc.syscall(*[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    return r if r >= 0 else errno.errorcode[ctypes.get_errno()]
def state(path):
    try:
        s = os.stat(path, follow_symlinks=False)
        return oct(s.st_mode), sorted((n, len(os.getxattr(path, n, follow_symlinks=False)))
                                      for n in os.listxattr(path, follow_symlinks=False) if not n.startswith("security.selinux"))
    except OSError as e:
        return errno.errorcode[e.errno]
def args_of(value, size, flags, extra=b""):
    address = 0 if value is None else ctypes.cast(ctypes.c_char_p(value), ctypes.c_void_p).value
    return struct.pack("<QII", address, size, flags) + extra
for name in names:
    for value, size in values:
        for flags in (0, 1, 2, 3, 4) if name == b"user.a" else (0,):
            for kind in ("set", "lset"):
                for path in paths:
                    print(kind, path[:20], name[:30], len(name), size, flags, call(NR[kind], path.encode(), name, value, size, flags), state(path))
            for what, fd in fds:
                print("fset", what, name[:30], len(name), size, flags, call(NR["fset"], fd, name, value, size, flags), state("file"))
    for path in paths:
        for kind in ("remove", "lremove"):
            print(kind, path[:20], name[:30], len(name), call(NR[kind], path.encode(), name), state(path))
    for what, fd in fds:
        print("fremove", what, name[:30], len(name), call(NR["fremove"], fd, name), state("file"))
for flags in (0, 0x100, 0x1000, 0x1100, 0x400, -1):
    for path in ("file", "link", "", "none"):
        for what, fd in fds + [("cwd", -100)]:
            for extra in (b"", b"\0" * 8, b"\1" * 8, None):
                args = args_of(b"v", 1, 0, extra or b"")
                size = 8 if extra is None else len(args)
                print("setat", flags, path, what, extra, call(NR["setat"], fd, path.encode(), flags, b"user.at", args, size), state("file"))
            if path == "" and what == "cwd":
                continue # a quirk of the kernel's, which says EBADF where setxattrat works
            print("removeat", flags, path, what, call(NR["removeat"], fd, path.encode(), flags, b"user.at"), state("file"))
for args in ((188, b"file", 0, b"v", 1, 0), (188, 0, b"user.a", b"v", 1, 0), (188, b"file", b"user.a", 1, 1, 0), (463, -100, b"file", 0, b"user.a", 1, 16)):
    print("fault", args[0], call(*args))
P
}

@test "extended attributes answer the same with and without the guard" {
    [[ $(uname -m) == x86_64 ]] || skip "the table has the numbers of x86-64"
    attribute_table
    mkdir on off
    works -- bash -c '/usr/bin/python3 table.py on/table >on.txt'
    works --guard off -- bash -c '/usr/bin/python3 table.py off/table >off.txt'
    (($(wc -l <off.txt) > 3000)) || fail "the table is short: $(wc -l <off.txt)"
    grep -q 'system.posix_acl_access.* 0 (' off.txt || cannot "no access lists here"
    diff off.txt on.txt >"$WORLD/differences" || true
    [[ ! -s $WORLD/differences ]] || fail "differences: $(head -20 "$WORLD/differences")"
}

@test "access lists are copied with and without the guard" {
    acl_program
    mkdir tree
    echo x >tree/a
    control /usr/bin/python3 acl.py path tree/a
    [[ $(stat -c %a tree/a) == 755 ]] || cannot "no access lists here"
    # a named user, so that it is more than a mode
    /usr/bin/python3 -c '
import os, struct
v = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in ((1, 6, 0xffffffff), (2, 7, os.getuid()), (4, 4, 0xffffffff), (0x10, 7, 0xffffffff), (0x20, 4, 0xffffffff)))
os.setxattr("tree/a", "system.posix_acl_access", v); os.setxattr("tree/a", "user.note", b"kept")'
    works -- cp -a tree on
    works --guard off -- cp -a tree off
    # shellcheck disable=SC2016 # for python
    run /usr/bin/python3 -c '
import os
def of(p): return sorted((n, os.getxattr(p, n)) for n in os.listxattr(p) if not n.startswith("security."))
print(of("tree/a") == of("on/a") == of("off/a"), len(of("tree/a")))'
    printed "True 2"
}

# ---- symlinks in a git folder -------------------------------------------------------------------

@test "no symlink comes into a git folder: git would write through it" {
    local place
    need_tools git
    git init -q .
    git init -q --bare bare
    ln -s "$OUT/ignore" .git/info/own
    ln -s "$OUT/ignore" bare/info/own
    git config --global user.email a@b
    # shellcheck disable=SC2016 # for the shell that reads its rc
    git config --global user.name 'x $(touch ran)'
    cat >links.sh <<'S'
rc=$1; cd "$2" || exit
try() {
    rm -rf logs/HEAD FETCH_HEAD ORIG_HEAD COMMIT_EDITMSG more up x x1 logs/d logs/x logs/.git "$PEN/d"
    mkdir -p logs "$PEN/d"; ln -sfn "$rc" "$PEN/l"; ln -sfn "$rc" "$PEN/d/HEAD"; ln -sfn ../../../l "$PEN/up"
    [[ -L info/own ]] || mv COMMIT_EDITMSG info/own 2>/dev/null
    eval "$1" 2>/dev/null && echo "$1"
}
for way in 'ln -s "$rc" logs/HEAD' 'ln -s ../../../outside logs/more' 'mv "$PEN/l" FETCH_HEAD' 'mv "$PEN/up" ORIG_HEAD' \
    'ln -P "$PEN/l" FETCH_HEAD' 'mv "$PEN/d" more' 'ln -s .. up' 'ln -s refs/../../../x up' 'mkdir x && ln -s / x/y' \
    'touch x1 && mv --exchange "$PEN/l" x1' 'mkdir x1 && mv --exchange "$PEN/d" x1' 'ln -s config COMMIT_EDITMSG' \
    'ln -s . logs/x' 'ln -s ../hooks/pre-commit logs/HEAD' 'mv info/own COMMIT_EDITMSG' 'ln info/own FETCH_HEAD' \
    'mkdir logs/.git && ln -s "$rc" logs/HEAD' 'echo >logs/.git; ln -s "$rc" logs/HEAD' \
    'mkdir -p "$DEEP" && ln -s "$rc" "$DEEP/z"' 'python3 -c "$BY_FD" "$PEN/l" FETCH_HEAD'; do try "$way"; done
true
S
    export DEEP BY_FD
    DEEP=logs/d$(printf '/a%.0s' {1..70})
    BY_FD='import ctypes, os, sys
fd = os.open(sys.argv[1], os.O_PATH | os.O_NOFOLLOW)
path = f"/proc/self/fd/{fd}".encode()
sys.exit(ctypes.CDLL(None).linkat(-100, path, -100, sys.argv[2].encode(), 0x400) != 0)'
    for place in .git bare; do
        inside -e DEEP -e BY_FD -- bash -c "PEN='$PEN' bash links.sh '$OUT/rc' $place"
        ended 0
        printed ""
        rm -rf d l up bare/more bare/x bare/x1 .git/x .git/x1
        echo '# rc' >"$OUT/rc"
        git commit -q --allow-empty -m one
        holds "$OUT/rc" '# rc'
        # what git does itself
        works -- bash -c "cd $place && ln -s testing tXXXXXX && mv tXXXXXX t && rm t"
        works -- bash -c 'mkdir -p node_modules/.bin && ln -s ../x/y node_modules/.bin/y && mv node_modules/.bin/y node_modules/.bin/z && rm -r node_modules'
        inside --guard off -e DEEP -e BY_FD -- bash -c "PEN='$PEN' bash links.sh '$OUT/rc' $place"
        (($(wc -l <<<"$output") >= 17)) || fail "the control did little"
        rm -rf d l up {.git,bare}/{more,x,x1,up,FETCH_HEAD,ORIG_HEAD,COMMIT_EDITMSG,logs/d,logs/x,logs/.git}
    done
    inside --guard off -- bash -c "rm -f .git/logs/HEAD; ln -s '$OUT/rc' .git/logs/HEAD"
    git commit -q --allow-empty -m two
    grep -q touch "$OUT/rc" || fail "git writes through no symlink, and this is for nothing"
}

@test "a symlink is not linked into a git folder in the place of a file that was there a moment before" {
    need_tools git python3
    git init -q .
    cat >race.py <<'P'
import os, sys, threading, time
end = time.monotonic() + 4
def swap():
    while time.monotonic() < end:
        for kind in (lambda: open("a", "w").close(), lambda: os.symlink(sys.argv[1], "a")):
            kind(); time.sleep(0); os.unlink("a")
threading.Thread(target=swap).start()
seen = 0
while time.monotonic() < end and not seen:
    try: os.link("a", sys.argv[2], follow_symlinks=False)
    except OSError: continue
    seen = os.path.islink(sys.argv[2])
    os.unlink(sys.argv[2])
print("landed" if seen else "none")
P
    inside -- python3 race.py "$OUT/rc" .git/x
    printed none
    inside -- python3 race.py "$OUT/rc" x
    printed landed
}

@test "a job does not let others write the owner's configuration of git, by mode or access list" {
    need_tools git python3
    git init -q .
    cat >acl.py <<'P'
import os, struct, sys
entries = [(1, 6, -1), (2, 6, 65534), (4, 4, -1), (16, 6, -1), (32, 4, -1)]
os.setxattr(sys.argv[1], "system.posix_acl_access", struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *e) for e in entries))
P
    chmod 644 .git/config
    inside -- bash -c 'chmod 666 .git/config; chmod g+w .git/config; python3 acl.py .git/config; chmod 600 .git/config'
    same "$(stat -c %a .git/config)" 600 "the mode"
    same "$(getfattr -d -m- .git/config 2>/dev/null | grep -c acl || true)" 0 "access lists"
    works -- bash -c 'git init -q n && chmod 666 n/.git/config'
    inside --guard off -- bash -c 'chmod 666 .git/config'
    same "$(stat -c %a .git/config)" 666 "the mode without the guard"
}

@test "a work tree in the folder of its bare repository has symlinks as any other" {
    need_tools git
    git init -q --bare repo
    git -C repo -c user.name=a -c user.email=a@b commit-tree -m x "$(git -C repo mktree </dev/null)" >"$WORLD/commit"
    git -C repo update-ref refs/heads/main "$(cat "$WORLD/commit")"
    git -C repo worktree add -q -b w tree main
    works -C repo/tree -- bash -c 'mkdir -p a/hooks && ln -s ../b a/c && echo x >a/hooks/d && mv a/c a/e'
}

# ---- leases ------------------------------------------------------------------------------------

@test "a job takes no lease, so that nobody outside waits for it to open a file" {
    need_tools git
    git init -q .
    cat >lease.py <<'P'
import errno, fcntl, os, sys
fd = os.open(".git/config", os.O_RDONLY)
mine = os.open("mine", os.O_RDWR | os.O_CREAT)
for name, target, command, value in (("read", fd, 1024, fcntl.F_RDLCK), ("own", mine, 1024, fcntl.F_WRLCK),
                                     ("folder", os.open(".", os.O_RDONLY), 1026, 4)):
    try:
        fcntl.fcntl(target, command, value)
        print(name, "taken")
    except OSError as e:
        print(name, errno.errorcode[e.errno])
fcntl.flock(mine, fcntl.LOCK_EX); fcntl.lockf(mine, fcntl.LOCK_EX)
print("locks", fcntl.fcntl(mine, 1025), fcntl.fcntl(os.dup(mine), fcntl.F_GETFD))
P
    control /usr/bin/python3 lease.py
    [[ $output == *'read taken'*'own taken'*'folder taken'* ]] || cannot "no leases here: $output"
    works -- /usr/bin/python3 lease.py
    printed $'read EINVAL\nown EINVAL\nfolder EINVAL\nlocks 2 1'
    works --guard off -- /usr/bin/python3 lease.py
    [[ $output == *'read EINVAL'* ]] || fail "without the guard there are leases"
}
