#!/usr/bin/env bats
# Real work, each in a fresh fence: what people and agents do all day must simply work.

load lib

# ---- git ---------------------------------------------------------------------------------------

@test "git: init, commit, branch, rebase, stash, clone, gc with no variable set" {
    need_tools git
    works -- bash -ec '
        git init -q repo; cd repo
        echo 1 >a; git add a; git commit -qm one
        first=$(git branch --show-current)
        git switch -qc side; echo 2 >b; git add b; git commit -qm two
        git switch -q "$first"; echo 3 >c; git add c; git commit -qm three
        git switch -q side; git rebase -q "$first"
        echo more >>a; git stash -q; git stash pop -q; git commit -qam four; git commit -q --amend -m "four again"
        git tag v1; git gc -q; git clone -q . ../copy; git -C ../copy log --format=%s
        git worktree add -q ../linked -b linked; git -C ../linked status --porcelain
        git format-patch -1 -q HEAD; git fsck --no-dangling'
    printed "$(printf 'four again\ntwo\nthree\none')"
    # and it is ordinary git afterwards, outside
    run -0 git -c safe.directory='*' -C repo fsck --no-dangling
    same "$(git -C repo rev-list --count side)" 4 "commits outside"
    same "$(stat -c %u repo/.git/HEAD)" "$EUID" "owner outside"
}

@test "git: the owner's name and e-mail are used" {
    need_tools git
    printf '[user]\n\tname = Ada L\n\temail = ada@example.org\n[commit]\n\tgpgSign = true\n[alias]\n\tx = !touch pwned\n' >"$HOME/.gitconfig"
    works -- bash -ec 'git init -q .; git commit -q --allow-empty -m x; git log -1 --format="%an <%ae> %G?"; git x || true'
    printed "Ada L <ada@example.org> N"
    absent pwned
}

@test "git: a clean repository is clean inside, and an empty one takes everything" {
    need_tools git
    git init -q .
    echo x >file
    git -c user.name=a -c user.email=a@b add file
    git -c user.name=a -c user.email=a@b commit -qm one
    works -- bash -ec 'git status --porcelain; git clean -nd; git stash list; git add -A; git status --porcelain'
    printed ""
    same "$(git status --porcelain)" "" "status outside"
}

# ---- compilers -----------------------------------------------------------------------------------

c_project() {
    local i
    for i in 1 2 3 4 5 6; do echo "int f$i(void) { return $i; }" >"f$i.c"; done
    cat >main.c <<'C'
#include <pthread.h>
#include <stdio.h>
int f1(void), f2(void), f3(void), f4(void), f5(void), f6(void);
static void *work(void *sum) { *(int *) sum = f1() + f2() + f3() + f4() + f5() + f6(); return NULL; }
int main(void)
{
    pthread_t thread; int sum = 0;
    pthread_create(&thread, NULL, work, &sum); pthread_join(thread, NULL);
    return printf("sum %d\n", sum) < 0;
}
C
}

@test "gcc and make -j2" {
    need_tools gcc make
    c_project
    printf 'prog: main.o f1.o f2.o f3.o f4.o f5.o f6.o\n\tgcc -o $@ $^ -pthread\ntest: prog\n\t./prog\n' >Makefile
    works -- make -j2 -s test
    printed "sum 21"
}

@test "cmake and ninja" {
    need_tools cmake ninja gcc
    c_project
    printf 'cmake_minimum_required(VERSION 3.10)\nproject(p C)\nfind_package(Threads REQUIRED)\nfile(GLOB s *.c)\nadd_executable(prog ${s})\ntarget_link_libraries(prog Threads::Threads)\nenable_testing()\nadd_test(t prog)\n' >CMakeLists.txt
    works -- bash -ec 'cmake -S . -B build -G Ninja >log && ninja -C build >>log && ctest --test-dir build >>log && build/prog'
    printed "sum 21"
}

@test "an address-sanitized program with leak check passes" {
    need_tools gcc
    echo 'int main(void) { return 0; }' >a.c
    gcc -fsanitize=address -o control a.c 2>/dev/null || cannot "no libasan"
    control ./control
    works -- bash -ec 'gcc -fsanitize=address -o a a.c; ./a; echo fine'
    printed fine
}

@test "cargo: build and test of a crate" {
    need_tools cargo rustc
    works -- bash -ec 'cargo init -q --vcs none --name crate1 c; cd c
        echo "#[test] fn adds() { assert_eq!(1 + 1, 2); }" >>src/main.rs
        cargo build -q --offline; cargo test -q --offline >log; grep -c "1 passed" log; target/debug/crate1'
    printed "$(printf '1\nHello, world!')"
}

@test "javac and java" {
    need_tools javac java
    echo 'public class A { public static void main(String[] a) throws Exception {
        Thread t = new Thread(() -> System.out.println("thread")); t.start(); t.join();
        System.out.println(java.nio.file.Files.createTempFile("x", "y").toString().isEmpty());
        System.out.println(new ProcessBuilder("echo", "child").inheritIO().start().waitFor());
        System.out.println(System.getProperty("user.home")); } }' >A.java
    works -- bash -ec 'javac A.java && java A'
    printed "$(printf 'thread\nfalse\nchild\n0\n/wattle/home')"
}

# ---- interpreters ----------------------------------------------------------------------------------

@test "python: venv, multiprocessing, shared memory, sqlite in WAL mode" {
    need_tools /usr/bin/python3
    cat >p.py <<'P'
import multiprocessing as mp, sqlite3, tempfile
from multiprocessing import shared_memory
def square(x): return x * x
if __name__ == "__main__":
    with mp.Pool(2) as pool: print(sum(pool.map(square, range(10))))
    lock = mp.Lock(); lock.acquire(); lock.release()
    block = shared_memory.SharedMemory(create=True, size=100); block.buf[0] = 7; print(block.buf[0]); block.close(); block.unlink()
    a = sqlite3.connect("d.db"); print(a.execute("pragma journal_mode=wal").fetchone()[0])
    a.execute("create table t(x)"); a.execute("insert into t values(1)"); a.commit()
    b = sqlite3.connect("d.db"); print(b.execute("select count(*) from t").fetchone()[0])
    with tempfile.NamedTemporaryFile() as f: f.write(b"x")
P
    works -- bash -ec '/usr/bin/python3 -m venv --without-pip v; v/bin/python p.py'
    printed "$(printf '285\n7\nwal\n1')"
}

@test "python: asyncio children, signals, eventfd, pidfd, user names" {
    need_tools /usr/bin/python3
    works -- /usr/bin/python3 -c '
import asyncio, getpass, os, pwd, grp, signal, socket
async def main():
    child = await asyncio.create_subprocess_exec("echo", "async", stdout=asyncio.subprocess.PIPE)
    print((await child.communicate())[0].decode().strip())
    event = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, event.set)
    os.kill(os.getpid(), signal.SIGUSR1)
    await asyncio.wait_for(event.wait(), 3)
asyncio.run(main())
fd = os.eventfd(3); print(os.eventfd_read(fd), os.pidfd_open(os.getpid()) > 0)
print(pwd.getpwuid(os.getuid()).pw_name == getpass.getuser(), pwd.getpwuid(os.getuid()).pw_dir == os.environ["HOME"])
grp.getgrgid(os.getgid()); print(socket.gethostname(), socket.gethostbyname("localhost"))'
    printed "$(printf 'async\n3 True\nTrue True\nwattle 127.0.0.1')"
}

@test "perl with fork, pipes and temporary files" {
    need_tools perl
    works -- perl -MFile::Temp=tempfile -e '($f,$n)=tempfile(); print $f "x"; close $f; print -s $n, "\n";
        open(P,"-|","echo piped"); print <P>; $p=fork(); exit 3 unless $p; waitpid($p,0); print $?>>8,"\n"'
    printed "$(printf '1\npiped\n3')"
}

@test "node: workers, child processes, crypto, files" {
    need_tools node
    works -- node -e '
const { Worker } = require("worker_threads"), cp = require("child_process"), fs = require("fs");
const worker = new Worker("require(\"worker_threads\").parentPort.postMessage(6*7)", { eval: true });
worker.on("message", (m) => { console.log(m);
  console.log(cp.execFileSync(process.execPath, ["-e", "console.log(process.ppid > 0)"]).toString().trim());
  const c = cp.fork("f.js"); c.on("message", (x) => { console.log(x); c.disconnect(); });
  fs.mkdtempSync(require("os").tmpdir() + "/x"); });
fs.writeFileSync("f.js", "process.send(\"forked\")");'
    printed "$(printf '42\ntrue\nforked')"
}

npm_package() { # NAME SCRIPT: a tarball of a package whose program is SCRIPT
    mkdir -p "$OUT/$1"
    printf '{"name": "%s", "version": "1.0.0", "main": "index.js", "bin": {"%s": "bin.js"}}\n' "$1" "$1" >"$OUT/$1/package.json"
    printf '#!/usr/bin/env node\n%s\n' "$2" >"$OUT/$1/bin.js"
    echo 'module.exports = (a, b) => a + b;' >"$OUT/$1/index.js"
    chmod +x "$OUT/$1/bin.js"
    (cd "$OUT" && tar --transform 's,^[^/]*,package,' -czf "$PEN/$1-1.0.0.tgz" "$1")
}

@test "npm: install and test of a project, offline, from a local tarball" {
    need_tools npm node
    npm_package adder 'console.log("adder runs");'
    cat >package.json <<'J'
{"name": "project", "version": "1.0.0", "scripts": {"test": "adder && node test.js", "postinstall": "node -e \"0\""},
 "dependencies": {"adder": "file:adder-1.0.0.tgz"}}
J
    echo 'require("assert").equal(require("adder")(1, 2), 3); console.log("tests pass");' >test.js
    works -- bash -ec 'npm install --offline --no-audit --no-fund --loglevel=error >log; npm test --silent; npm ci --offline --no-audit --no-fund >>log'
    said 'adder runs'
    said 'tests pass'
    present package-lock.json node_modules/adder
    same "$(ls -A "$HOME" | grep -v -e work -e outside | tr '\n' ' ')" ".cache .local " "what a run leaves in the home"
}

@test "npm: husky may not set core.hooksPath; HUSKY=0 installs, and without the guard its hook runs" {
    need_tools npm node git
    # What husky does when it is installed.
    npm_package husky 'const fs = require("fs"), cp = require("child_process");
if (process.env.HUSKY === "0" || !fs.existsSync(".git")) process.exit(0);
cp.execFileSync("git", ["config", "core.hooksPath", ".husky/_"]);
fs.mkdirSync(".husky/_", { recursive: true });
fs.writeFileSync(".husky/_/.gitignore", "*");
fs.writeFileSync(".husky/_/pre-commit", "#!/usr/bin/env sh\nsh -e .husky/pre-commit\n", { mode: 0o755 });'
    git init -q .
    mkdir .husky
    echo 'npm test --silent' >.husky/pre-commit
    cat >package.json <<'J'
{"name": "project", "version": "1.0.0", "scripts": {"test": "echo tested >>tested", "prepare": "husky"},
 "devDependencies": {"husky": "file:husky-1.0.0.tgz"}}
J
    printf 'node_modules\ntested\n' >.gitignore
    local job='npm install --offline --no-audit --no-fund --loglevel=error >log; git add -A; git commit -qm one; git log --format=%s'
    inside -- bash -ec "$job"
    said core.hooksPath
    ! git config core.hooksPath || fail "the job has set core.hooksPath"
    works -e HUSKY=0 -- bash -ec "$job"
    printed one
    rm -rf .git
    git init -q .
    works --guard off -q -- bash -ec "$job"
    printed one
    holds tested tested
}

# ---- debuggers -----------------------------------------------------------------------------------------

@test "gdb and strace of an own child" {
    need_tools gdb strace gcc
    echo 'int answer(int x) { return x + 1; } int main(void) { return answer(41) == 42 ? 0 : 1; }' >d.c
    works -- bash -ec 'gcc -g -o d d.c
        gdb -batch -nx -ex "break answer" -ex run -ex "print x" -ex continue ./d 2>&1 | grep -o "\$1 = 41"
        strace -f -e trace=openat -o log cat /etc/hostname >/dev/null; grep -c hostname log
        sleep 60 & gdb -batch -nx -p $! -ex "info proc" 2>&1 | grep -c "^process"; kill $!'
    printed "$(printf '$1 = 41\n1\n1')"
}

# ---- kernel services -------------------------------------------------------------------------------------

@test "a unix socket in the pen and in TMPDIR, passed descriptors, abstract names" {
    need_tools /usr/bin/python3
    echo content >file
    works -- /usr/bin/python3 -c '
import os, socket
for name in ("x.sock", os.environ["TMPDIR"] + "/y.sock", "\0own"):
    server = socket.socket(socket.AF_UNIX); server.bind(name); server.listen(1)
    if os.fork() == 0:
        client = socket.socket(socket.AF_UNIX); client.connect(name)
        socket.send_fds(client, [b"f"], [os.open("file", os.O_RDONLY)]); os._exit(0)
    peer, _ = server.accept(); _, fds, _, _ = socket.recv_fds(peer, 10, 1); os.wait()
    print(os.read(fds[0], 100).decode().strip())
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.send(b"pair"); print(b.recv(9).decode())'
    printed "$(printf 'content\ncontent\ncontent\npair')"
}

@test "TCP and UDP between processes of one job on 127.0.0.1, ::1 and localhost" {
    need_tools /usr/bin/python3
    works -- /usr/bin/python3 -c '
import http.server, os, socket, threading, urllib.request
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"), (socket.AF_INET, "localhost")):
    server = socket.create_server((host, 0), family=family)
    if os.fork() == 0:
        print(socket.create_connection(server.getsockname()[:2], 3).recv(9).decode(), flush=True); os._exit(0)
    peer, _ = server.accept(); peer.send(b"tcp"); os.wait()
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(("127.0.0.1", 0)); u.sendto(b"udp", u.getsockname()); print(u.recv(9).decode())
class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *a): pass
web = http.server.HTTPServer(("127.0.0.1", 0), Quiet); threading.Thread(target=web.serve_forever, daemon=True).start()
open("page", "w").write("http"); print(urllib.request.urlopen("http://localhost:%d/page" % web.server_port, timeout=4).read().decode())'
    printed "$(printf 'tcp\ntcp\ntcp\nudp\nhttp')"
}

@test "locks, inotify, fifos, file operations" {
    need_tools flock
    works -- bash -ec '
        exec 9>lock; flock -n 9; ! flock -n lock true; echo locked
        mkfifo f; echo through >f & cat f; wait
        /usr/bin/python3 - <<P
import ctypes, mmap, os
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(0); assert libc.inotify_add_watch(fd, b".", 0x100) >= 0
open("made", "w").write("A" * 5000); print(b"made" in os.read(fd, 4096))
os.rename("made", "b"); os.link("b", "c"); os.symlink("c", "d"); print(os.stat("d").st_nlink)
f = open("b", "r+b"); m = mmap.mmap(f.fileno(), 0); m[0:1] = b"Z"; m.flush(); print(open("c").read(1))
os.posix_fallocate(f.fileno(), 0, 100000); os.utime("b", (1, 1)); print(int(os.stat("c").st_mtime))
os.setxattr("b", "user.k", b"v"); print(os.getxattr("b", "user.k").decode())
o = open("e", "wb"); os.sendfile(o.fileno(), f.fileno(), 0, 100); os.chmod("e", 0o755); print(os.stat("e").st_size)
P'
    printed "$(printf 'locked\nthrough\nTrue\n2\nZ\n1\nv\n100')"
}

@test "folders 200 deep are made, walked and removed" {
    works -- bash -ec '/usr/bin/python3 -c "
import os
for i in range(200): os.mkdir(\"d\"); os.chdir(\"d\")
open(\"leaf\", \"w\").write(\"x\")"; find . -name leaf | tr -cd / | wc -c; rm -rf d; [ ! -e d ]'
    printed 201
}

@test "10 MB go through stdin and stdout unchanged" {
    head -c 10485760 /dev/urandom >in
    run bash -o pipefail -c '"$1" run --pen "$2" -- cat <"$2/in" | sha256sum' caller "$WATTLE" "$PEN"
    ended 0
    printed "$(sha256sum <in)"
    run bash -o pipefail -c 'cat "$2/in" | "$1" run --pen "$2" -- cat >"$2/out"' caller "$WATTLE" "$PEN"
    ended 0
    cmp in out || fail "the file differs"
    run bash -o pipefail -c '"$1" run --pen "$2" -- cat in 2>&1 | sha256sum' caller "$WATTLE" "$PEN"
    printed "$(sha256sum <in)"
}

@test "pipelines, here-documents, process substitution, mktemp, sort" {
    works -- bash -ec 'cat <<X | tr a-z A-Z
hello
X
        diff <(printf "1\n2\n") <(printf "1\n3\n") | grep -c "^[<>]"
        cat /dev/fd/3 3<<<three; printf "b\na\n" | sort | tee >(cat >p.txt) | head -1
        f=$(mktemp); echo temp >"$f"; cat "$f"; seq 300000 | sort -R -S 1M | sort -n -S 1M | tail -1
        echo out >/dev/stdout; echo err >/dev/stderr; { echo x >/dev/full; } 2>/dev/null || echo full; head -c 3 /dev/zero | wc -c'
    printed "$(printf 'HELLO\n2\nthree\na\ntemp\n300000\nout\nfull\n3')"
    same "$stderr" err stderr
}

@test "signals between a job's own processes, and orphans are reaped" {
    works -- bash -c 'bash -c "trap \"exit 9\" USR1; touch ready; while :; do sleep 0.05; done" & p=$!
        until [ -e ready ]; do sleep 0.02; done; kill -USR1 $p; wait $p; echo $?
        sleep 30 & kill -KILL $!; wait $! 2>/dev/null; echo $?
        for i in $(seq 100); do (true &); done
        for i in $(seq 100); do n=$(cat /proc/[0-9]*/stat 2>/dev/null | grep -c ") Z"); [ "$n" = 0 ] && break; sleep 0.02; done; echo "$n"'
    printed "$(printf '9\n137\n0')"
}

@test "a terminal of the job's own: script, pty" {
    need_tools script
    works -- bash -c 'script -qec "tty" /dev/null </dev/null | tr -d "\r" | grep -c "^/dev/pts"
        /usr/bin/python3 -c "import os, pty; m, s = pty.openpty(); print(os.isatty(s))"'
    printed "$(printf '1\nTrue')"
}

@test "a browser: Chromium headless with --no-sandbox" {
    need_tools chromium
    echo '<p id=x></p><script>document.getElementById("x").textContent = "js" + (6 * 7)</script>' >p.html
    works -- bash -c 'timeout 60 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/profile" \
        --dump-dom "file://$PWD/p.html" 2>log | grep -o js42 || { cat log; exit 1; }'
    printed js42
}

# ---- toolchains of a home ----------------------------------------------------------------------------------

tool() { # PATH TEXT: a program of the owner's that says TEXT
    mkdir -p "$(dirname "$1")"
    printf '#!/bin/sh\necho "%s"\n' "$2" >"$1"
    chmod +x "$1"
}

@test "toolchains in a home are found and only they become readable" {
    tool "$HOME/.nvm/versions/node/v18.1.0/bin/node" old
    tool "$HOME/.nvm/versions/node/v22.3.0/bin/node" new
    tool "$HOME/.cargo/bin/cargo-thing" cargo-thing
    echo 'token = "topsecret"' >"$HOME/.cargo/credentials.toml"
    PATH=$HOME/.nvm/versions/node/v22.3.0/bin:$HOME/.cargo/bin:$PATH
    works -- node
    printed new
    works -- cargo-thing
    printed cargo-thing
    works -- bash -c 'node; cargo-thing'
    printed "$(printf 'new\ncargo-thing')"
    inside -- bash -c 'cat "$1/.cargo/credentials.toml"; ls -A "$1" "$1/outside"; echo PWNED >>"$1/.cargo/bin/cargo-thing"; true' job "$HOME"
    said_not topsecret
    said_not canary
    same "$(tail -1 "$HOME/.cargo/bin/cargo-thing")" 'echo "cargo-thing"' "the tool"
}

@test "caches of a pen last from run to run, and are not another pen's" {
    mkdir ../other
    works -- bash -c 'for d in "$XDG_CACHE_HOME" "$npm_config_cache" "$CARGO_HOME" "$PIP_CACHE_DIR"; do
        [ -z "$d" ] || { mkdir -p "$d" && echo kept >"$d/kept"; }; done; [ -n "$XDG_CACHE_HOME$npm_config_cache" ] && find /wattle/cache -name kept | grep -q .'
    works -- bash -c 'find /wattle/cache -name kept | grep -q . && echo kept'
    printed kept
    run "$WATTLE" run --pen "$HOME/work/other" -- bash -c 'find /wattle/cache -name kept'
    printed ""
}
