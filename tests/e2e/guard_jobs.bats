#!/usr/bin/env bats
# Two jobs of one owner against the guard: what one of them may not do alone, they must not do
# together. Each works in the same folder as the other, or in a folder of the other's.

load lib

# A job that waits for another to hand it the folder '.hg' and the file in it, and then does with them
# what it can. It has to be there first: a socket somebody listens on is covered at a start.
borrow() {
    outside bash -c '"$@" >"$0" 2>&1' "$WORLD/said" "$WATTLE" run -q --pen "$PEN" --guard "$1" -- /usr/bin/python3 -c '
import array, os, socket, time
s = socket.socket(socket.AF_UNIX)
open("waiting", "w").close()
while not os.path.exists("meet"):
    time.sleep(0.01)
s.connect("meet")
_, more, _, _ = s.recvmsg(1, socket.CMSG_SPACE(8))
fds = array.array("i")
fds.frombytes(more[0][2])
folder, file = fds
while not os.path.exists("go"):
    time.sleep(0.01)
def attempt(name, call, *arguments, **more):
    try:
        call(*arguments, **more)
        print("landed", name)
    except OSError:
        pass
new = os.O_CREAT | os.O_WRONLY
attempt("create", os.open, "hgrc-not-shared", new, dir_fd=folder)
attempt("mkdir", os.mkdir, "sharedpath", dir_fd=folder)
attempt("create by procfs", os.open, f"/proc/self/fd/{folder}/hgrc-not-shared", new)
open("mine", "w").close()
attempt("rename", os.rename, "mine", "hgrc", dst_dir_fd=folder)
attempt("write", os.open, f"/proc/self/fd/{file}", os.O_WRONLY | os.O_TRUNC)
attempt("truncate", os.truncate, f"/proc/self/fd/{file}", 0)
attempt("fchmod", os.fchmod, file, 0o777)
attempt("link", os.link, f"/proc/self/fd/{file}", "linked", follow_symlinks=True)
attempt("unlink", os.unlink, "hgrc", dir_fd=folder)
os.fchdir(folder)
attempt("create here", os.open, "hgrc-not-shared", new)
bound = socket.socket(socket.AF_UNIX)
attempt("bind", bound.bind, "sharedpath")
print("end")'
    until_true test -e waiting
}

# Ends when the descriptors are handed over, or lives until the borrower has ended.
lend() {
    # shellcheck disable=SC2016 # for the program inside
    run --separate-stderr "$WATTLE" run -q --pen "$PEN" --guard "$2" -- /usr/bin/python3 -c '
import array, os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind("meet.new")
s.listen(1)
os.rename("meet.new", "meet")
c, _ = s.accept()
fds = array.array("i", [os.open(".hg", os.O_PATH), os.open(".hg/hgrc", os.O_RDONLY)])
c.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
if sys.argv[1] == "stays":
    open("go", "w").close()
    c.recv(1)' "$1"
    ended 0
    : >go
    until_true gone "$PID"
}

lend_and_borrow() {
    rm -rf .hg meet go waiting
    mkdir .hg
    echo owner >.hg/hgrc
    borrow "$2"
    lend "$1" "$2"
    grep -q end "$WORLD/said" || fail "$(cat "$WORLD/said")"
}

@test "a descriptor from another job of the pen, alive or gone, opens no guarded name" {
    local state
    lend_and_borrow gone off
    grep -q 'landed create' "$WORLD/said" || fail "$(cat "$WORLD/said")"
    for state in stays gone; do
        lend_and_borrow "$state" on
        ! grep landed "$WORLD/said" || fail "of a job that $state"
        same "$(ls -A .hg)" hgrc "names in .hg"
        holds .hg/hgrc owner
        same "$(stat -c %a .hg/hgrc)" 644 "its mode"
    done
}

# In its own mounts a job sees 'sub' as 'sub', whatever it is called outside.
@test "the folder another job works in does not become one where names are guarded" {
    local name
    for name in .hg .vscode .git .git/modules/m .husky; do
        rm -rf sub .hg .vscode .git .husky go done
        mkdir -p sub "$(dirname -- "$name")"
        # shellcheck disable=SC2016 # for the shell inside
        outside "$WATTLE" run -q --pen "$PEN/sub" -- bash -c ': >here; until [[ -e go ]]; do :; done
            echo x >hgrc; echo x >tasks.json; mkdir hooks; echo x >hooks/post-merge; : >done'
        until_true test -e sub/here
        # shellcheck disable=SC2016 # for the shell inside
        inside -q -- bash -c 'mv -T sub "$1"; mkdir -p a; mv -T --exchange sub "$1" 2>/dev/null
            mv sub a/sub && mv -T a/sub "$1"; mv a/sub sub; mv a/sub/x "$1"; true' x "$name"
        ended 0
        present sub/here
        : >sub/go
        until_true test -e sub/done
        stop_outside
        present sub/here
        absent "$name/hgrc" "$name/tasks.json" "$name/hooks"
    done
    mkdir other
    works -q -- mv other .vscode
    present .vscode
    works -q -- mv sub elsewhere
}

@test "a pen that is a git folder, or lies in one, guards the names of that" {
    need_tools git
    git init -q .
    git init -q --bare bare.git
    mkdir -p .git/modules .git/worktrees/w .hg .vscode
    local attack='for name in config hooks/pre-commit pre-commit m/config m/hooks/pre-push config.worktree hgrc \
            gitdir tasks.json; do mkdir -p "${name%/*}"; echo x >"$name"; done 2>/dev/null
        git config core.fsmonitor ./x; true' pen before
    for pen in .git .git/hooks .git/modules .git/worktrees/w .hg .vscode; do
        before=$(guarded_files)
        run --separate-stderr "$WATTLE" run -q --pen "$PEN/$pen" -- bash -c "$attack"
        same "$(guarded_files)" "$before" "guarded names with the pen $pen"
    done
    run --separate-stderr "$WATTLE" run -q --guard off --pen "$PEN/.git" -- bash -c "$attack"
    present .git/hooks/pre-commit
}

guarded_files() {
    find .git/config .git/hooks .git/modules .git/worktrees .hg/hgrc .vscode/tasks.json -type f \
        ! -name '*.sample' -exec md5sum {} + 2>/dev/null | sort
}
