#!/bin/bash
# same_tools.sh SECTION...: real work of common tools in the current folder, which is empty. Prints
# what each said and how it ended, then the tree that is left: to be compared between a run with the
# guard of names and one without. Nothing printed may depend on time, process or luck.
# shellcheck disable=SC2016 # for the shells and programs that are started
set -u
export LC_ALL=C TZ=UTC GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=protocol.file.allow GIT_CONFIG_VALUE_0=always
export GIT_CONFIG_KEY_1=pack.threads GIT_CONFIG_VALUE_1=1
umask 022

step() { # COMMAND...: what it says, and how it ends
    local status=0
    "$@" >"$TMPDIR/said" 2>&1 </dev/null || status=$?
    printf '$ %s\n' "${*//$'\n'/ }" | cut -c1-100
    sed 's/^/  /' "$TMPDIR/said"
    [[ $status == 0 ]] || printf '  ended with %d\n' "$status"
}
quiet() { # the same for one whose words differ from run to run
    local status=0
    "$@" >"$TMPDIR/said" 2>&1 </dev/null || status=$?
    printf '$ %s: %d\n' "${*//$'\n'/ }" "$status" | cut -c1-100
    [[ $status == 0 ]] || cat "$TMPDIR/said"
}
modes() { stat -c '%A %h %F %n' "$@"; }

section_git() {
    step git init -q -b main r
    cd r || return
    step git config user.name Somebody
    step git config core.filemode
    step git config core.symlinks
    echo one >f; echo '*.o' >.gitignore; mkdir d; echo two >d/g; ln -s f link; chmod 755 d/g
    step git add -A
    step git commit -q -m first
    step git branch topic
    echo three >>f
    step git stash -q
    step git stash pop -q
    step git commit -q -a -m second
    step git checkout -q topic
    echo other >h; step git add h; step git commit -q -m third
    step git rebase -q main
    step git tag -a v1 -m tag
    step git worktree add -q ../tree -b work
    step git -C ../tree status --porcelain
    echo x >../tree/x; step git -C ../tree add x; step git -C ../tree commit -q -m worktree
    step git config extensions.worktreeConfig true
    step git -C ../tree config --worktree user.name Worker
    step git -C ../tree config user.name
    cd ..
    step git clone -q r clone
    step git -C clone config branch.topic.remote
    step git -C clone checkout -q -b mine
    step git -C clone push -q -u origin mine
    step git -C clone remote add other ../r
    step git -C clone remote rename other third
    step git -C clone remote remove third
    step git -C clone submodule --quiet add ../r sub
    step git -C clone commit -q -m submodule
    step git -C clone submodule status
    step git clone -q --recurse-submodules clone clone2
    step git -C clone2 submodule deinit -q -f sub
    step git -C clone2 submodule update -q --init
    step git -C r worktree remove ../tree
    step git -C r gc -q --prune=now
    step git -C r fsck --strict
    step git -C r log --all --format='%H %s'
    step git -C clone2 status --porcelain
    step cat r/.git/config clone/.git/config clone/.git/modules/sub/config clone/sub/.git
    step git init -q inner
    step rm -rf inner
}

section_build() {
    printf '#include <stdio.h>\nint answer(void);\nint main(void) { return printf("%%d\\n", answer()) < 0; }\n' >main.c
    printf 'int answer(void) { return 42; }\n' >answer.c
    printf 'prog: main.o answer.o\n\tgcc -o $@ $^\n%%.o: %%.c\n\tgcc -g -c -o $@ $<\n' >Makefile
    step make -j2 -s
    step ./prog
    step ar rcsD lib.a answer.o
    step gcc -o linked main.c lib.a
    step ./linked
    touch main.c; quiet make
    printf 'cmake_minimum_required(VERSION 3.10)\nproject(p C)\nadd_executable(p main.c answer.c)\nadd_test(NAME t COMMAND p)\nenable_testing()\n' >CMakeLists.txt
    quiet cmake -S . -B out
    quiet cmake --build out
    step ./out/p
    rm -rf out
}

section_npm() {
    mkdir -p a b app
    echo '{"name":"a","version":"1.0.0","bin":{"a":"a.js"}}' >a/package.json
    printf '#!/usr/bin/env node\nconsole.log("a runs")\n' >a/a.js
    echo '{"name":"b","version":"1.0.0","dependencies":{"a":"file:../a-1.0.0.tgz"}}' >b/package.json
    echo 'module.exports = 7' >b/index.js
    echo '{"name":"app","version":"1.0.0","scripts":{"t":"a && node t.js"}}' >app/package.json
    echo 'console.log(require("b"))' >app/t.js
    local npm=(npm --offline --cache "$TMPDIR/npm" --no-audit --no-fund --no-update-notifier --loglevel=error)
    quiet "${npm[@]}" pack ./a
    cd app || return
    quiet "${npm[@]}" install ../a-1.0.0.tgz
    quiet "${npm[@]}" install ../b
    step "${npm[@]}" run --silent t
    cd ..
    rm -f a-1.0.0.tgz # its bytes hold a time
    rm -rf app/package-lock.json app/node_modules/.package-lock.json
}

section_files() {
    mkdir -p src/deep/er; echo 1 >src/one; ln src/one src/hard; ln -s one src/soft; mkfifo src/fifo
    echo 2 >src/deep/er/two; chmod 600 src/deep/er/two; chmod 1777 src/deep; touch -d 2020-02-02 src/one
    # as pnpm does: a store, hard links and links to folders
    mkdir -p store node_modules/.pnpm/x/node_modules; echo module >store/x.js
    step ln store/x.js node_modules/.pnpm/x/node_modules/x.js
    step ln -s .pnpm/x/node_modules node_modules/x
    step modes store/x.js node_modules/x node_modules/x/x.js
    step cp -al store linked
    step cp --reflink=auto store/x.js linked/copy.js
    step tar -cf t.tar src
    mkdir x; step tar -xpf t.tar -C x
    step cp -a src copy
    step rsync -aH --delete src/ synced/
    step rsync -aH --delete --inplace src/ synced/
    for tree in x/src copy synced; do
        (cd "$tree" && find . -printf '%p %y %m %n %l\n' | sort)
    done
    rm -f t.tar # holds times
    step install -m 4755 src/one set-id
    step install -d -m 2775 group
    mkdir group/inner; echo >group/file
    step modes set-id group group/inner group/file
    printf 'a\nb\nc\nd\n' >lines
    step sed -i s/a/A/ lines
    step sed -i.bak s/b/B/ lines
    step split -l 1 lines part-
    step cat part-aa part-ab part-ac part-ad lines.bak
    local made; made=$(mktemp "$PWD/tmp.XXXXXX"); stat -c '%A' "$made"; rm "$made"
    made=$(mktemp -d "$PWD/tmp.XXXXXX"); stat -c '%A' "$made"; rmdir "$made"
    local mask
    for mask in 0 022 027 077 0777; do
        (umask "$mask"; echo >"m$mask"; mkdir "md$mask"; mkfifo "mf$mask"; ln -s x "ml$mask")
        stat -c '%A %n' m"$mask" md"$mask" mf"$mask"
    done
    mkfifo pipe; (echo through >pipe &); step cat pipe
    step script -q -e -c 'echo in a terminal; tty -s' typed
    rm -f typed # holds a time
    step truncate -s 5 lines
    step dd if=/dev/zero of=lines bs=1 count=3 conv=notrunc status=none
    step cat src/missing
    step mkdir src
    step rmdir src
    step mv src/one src/deep
    step mv -T x copy
    step ln -sfn deep src/soft
    step cp src/hard /dev/null
    (exec 9>locked; flock -n 9 && exec 9>&-; exec 8<>locked; flock -n 8 && echo handed over)
}

section_python() {
    step /usr/bin/python3 -c '
import ctypes, fcntl, os, resource, sqlite3, stat, tempfile
os.chdir(os.getcwd())
def mode(path_or_fd): return oct(os.stat(path_or_fd).st_mode)
with tempfile.NamedTemporaryFile(dir=".") as f: print(mode(f.name), os.path.dirname(f.name) == os.getcwd())
with tempfile.TemporaryDirectory(dir=".") as d: print(mode(d)); open(d + "/x", "w").close()
with tempfile.TemporaryFile(dir=".") as f: f.write(b"x"); print(mode(f.fileno()), os.fstat(f.fileno()).st_nlink)
fd, name = tempfile.mkstemp(dir="."); print(mode(fd), fcntl.fcntl(fd, fcntl.F_GETFD)); os.close(fd); os.unlink(name)
a = sqlite3.connect("db", isolation_level=None, timeout=0); b = sqlite3.connect("db", isolation_level=None, timeout=0)
print(a.execute("pragma journal_mode=wal").fetchall()); a.execute("create table t(x)")
a.execute("begin immediate"); a.execute("insert into t values(1)")
try: b.execute("begin immediate")
except sqlite3.OperationalError as e: print(e)
print(b.execute("select count(*) from t").fetchall(), sorted(os.listdir(".")))
a.execute("commit"); print(b.execute("select * from t").fetchall(), a.execute("pragma wal_checkpoint(truncate)").fetchall())
a.close(); b.close(); print(sorted(os.listdir("."))); os.unlink("db")
fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o640); os.write(fd, b"text")
os.link(f"/proc/self/fd/{fd}", "linked", src_dir_fd=fd, follow_symlinks=True); print(mode("linked"), os.stat("linked").st_nlink)
fds = [os.open("linked", os.O_RDWR) for _ in range(8)]; os.close(fds[2]); os.close(fds[5])
print(os.open("linked", os.O_WRONLY) == fds[2], os.open("new", os.O_CREAT | os.O_WRONLY) == fds[5])
print("nofollow", oct(fcntl.fcntl(os.open("linked", os.O_RDWR | os.O_NOFOLLOW), fcntl.F_GETFL)))
for flags in (os.O_CREAT | os.O_DIRECTORY, os.O_CREAT | os.O_RDWR):
    try: os.open("n" * 5000, flags)
    except OSError as e: print("long", flags, e.errno)
os.symlink("none", "dangling"); os.mkdir("folder"); open("folder/file", "w").close()
libc = ctypes.CDLL(None, use_errno=True)
for path in ("none", "none/", "none/x", "./none/.", "", ".", "..", "/", "dangling/", "folder", "folder/", "folder/file/",
             "folder/..", "linked/x", "/usr/none", "/usr/none/", "/usr/bin/true", "/proc/none", "/proc/self/fd/99", "n" * 300):
    for flags in (0, 0x200, 0x200 | 1): # AT_REMOVEDIR, and one that is none
        r = libc.unlinkat(-100, path.encode(), flags); print("unlink", path[:20], flags, r, ctypes.get_errno() if r else "")
for path in ("", ".", "..", "/", "/usr", "/usr/none", "dangling", "dangling/", "folder", "folder/", "folder/file", "folder/file/", "made/", "made"):
    try: print("mkdir", path, os.mkdir(path, 0o750), mode(path))
    except OSError as e: print("mkdir", path, e.errno)
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40)); count = 0
try:
    while True: os.open("linked", os.O_RDWR); count += 1
except OSError as e: print(count, e.errno)
try: os.open("never", os.O_CREAT | os.O_RDWR)
except OSError as e: print("full", e.errno, os.path.exists("never"))
if os.path.exists("never"): os.unlink("never")
'
}

section_java() {
    printf '%s\n' 'import java.net.*; import java.nio.channels.*; import java.nio.file.*; import java.nio.file.attribute.*;' \
        'public class T { public static void main(String[] a) throws Exception {' \
        'Path d = Files.createTempDirectory(Path.of("."), "t"), f = Files.createTempFile(d, "f", "");' \
        'System.out.println(PosixFilePermissions.toString(Files.getPosixFilePermissions(f)));' \
        'Files.writeString(f, "text"); Files.move(f, d.resolve("g"), StandardCopyOption.ATOMIC_MOVE);' \
        'Files.createLink(d.resolve("h"), d.resolve("g")); Files.createSymbolicLink(d.resolve("s"), Path.of("g"));' \
        'System.out.println(Files.readString(d.resolve("s")) + Files.getAttribute(d.resolve("h"), "unix:nlink"));' \
        'try { Files.createDirectory(d); } catch (FileAlreadyExistsException e) { System.out.println("there"); }' \
        'var s = ServerSocketChannel.open(StandardProtocolFamily.UNIX); var at = UnixDomainSocketAddress.of("socket");' \
        's.bind(at); System.out.println(s.getLocalAddress()); SocketChannel.open(at).close(); s.accept().close(); s.close();' \
        'Files.delete(Path.of("socket")); for (String n : new String[] {"g", "h", "s"}) Files.delete(d.resolve(n)); Files.delete(d);' \
        '} }' >T.java
    step javac -J-XX:TieredStopAtLevel=1 -J-Xshare:auto T.java
    step java -XX:TieredStopAtLevel=1 -cp . T
}

section_node() {
    step node -e '
const fs = require("fs"), net = require("net"), path = require("path");
const d = fs.mkdtempSync("./n-"); fs.writeFileSync(d + "/a", "1", {mode: 0o640}); fs.appendFileSync(d + "/a", "2");
fs.renameSync(d + "/a", d + "/b"); fs.symlinkSync("b", d + "/c"); fs.linkSync(d + "/b", d + "/e"); fs.copyFileSync(d + "/b", d + "/f");
console.log(fs.readFileSync(d + "/c", "utf8"), fs.statSync(d + "/b").nlink, (fs.statSync(d + "/f").mode & 0o777).toString(8));
try { fs.writeFileSync(d + "/f", "x", {flag: "wx"}) } catch (e) { console.log(e.code) }
fs.cpSync(d, d + "2", {recursive: true}); console.log(fs.readdirSync(d + "2").join()); fs.rmSync(d + "2", {recursive: true}); fs.rmSync(d, {recursive: true});
const server = net.createServer(c => c.end("hello")).listen("node.sock", () => {
  net.connect("node.sock").on("data", x => console.log(String(x))).on("close", () => server.close()); });
fs.promises.writeFile("async", "x").then(() => fs.promises.unlink("async"));'
}

section_trace() {
    quiet strace -f -o /dev/null sh -c 'echo traced >traced; mkdir traced.d; (cd traced.d; echo x >y)'
    quiet strace -f -e trace=mkdir -o "$TMPDIR/trace" mkdir seen.d
    step grep -c 'mkdir("seen.d"' "$TMPDIR/trace"
    quiet strace -f --seccomp-bpf -e trace=openat,mkdir,rename -o "$TMPDIR/trace" sh -c 'mkdir bpf.d; echo y >bpf.d/z; mv bpf.d bpf.e'
    echo "seccomp-bpf saw $(grep -c 'mkdir("bpf.d"' "$TMPDIR/trace")"
    eval "$(ssh-agent -s -a "$PWD/agent")" >/dev/null
    quiet ssh-keygen -q -t ed25519 -N '' -f "$PWD/key"
    quiet ssh-add "$PWD/key"
    stat -c '%A %F' agent key
    step ssh-add -D
    step ssh-add -l
    step ssh-agent -k
    rm -f key key.pub
}

tree() { # all there is, but for what holds times or inodes
    chmod -R u+rwX files 2>/dev/null
    find . -printf '%p %y %m %n %l\n' | sort
    find . -type f ! -path '*/.git/*index' ! -name '*.o' ! -name '*.rev' -size -4M -exec sha256sum {} + | sort -k2
}

for section; do
    mkdir "$section"
    printf '== %s\n' "$section"
    (cd "$section" && "section_$section") 2>&1 | sed "s/[Aa]gent pid [0-9]*/agent pid N/"
done
printf '== tree\n'
tree
