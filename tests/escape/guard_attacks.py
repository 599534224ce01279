#!/usr/bin/python3
"""Attacks on guarded names, one function or one row each, counted and named.

    guard_attacks.py list              their names
    guard_attacks.py prepare FOLDER    outside: what an owner has, below FOLDER/NAME for each attack
    guard_attacks.py run               inside, in FOLDER: tries every one of them
    guard_attacks.py judge FOLDER      outside: "landed NAME: what", and "N attacks, N landed"

No attack says whether it worked. The judge looks at what lies at guarded names afterwards, by rules
of its own (not the guard's), and compares with what was prepared: new, changed, gone, another mode.
"""
import array
import ctypes
import os
import re
import shutil
import socket
import stat
import struct
import subprocess
import sys
import threading

OWNER = b"owner\n"
HARM = b"PWNED\n"
CONFIG = b"[core]\n\tbare = false\n[user]\n\tname = Owner\n"
libc = ctypes.CDLL(None, use_errno=True)
ATTACKS = []


def attack(name, *arguments):
    def add(function):
        ATTACKS.append((name, function, arguments))
        return function
    return add


def rows(prefix, table):
    """One attack a row: (name, arguments...)."""
    def add(function):
        for name, *arguments in table:
            ATTACKS.append((f"{prefix}-{name}", function, arguments))
        return function
    return add


# ---- what the owner has, and what must not happen to it ------------------------------------------

PREPARED = {
    ".git/config": CONFIG, ".git/HEAD": b"ref: refs/heads/main\n", ".git/hooks/held": OWNER,
    ".git/hooks/x.sample": OWNER, ".git/objects/info/x": b"", ".git/refs/heads/x": b"",
    ".git/modules/m/config": CONFIG, ".git/modules/m/HEAD": b"ref: refs/heads/main\n",
    ".git/worktrees/w/gitdir": b"/nowhere/.git\n", ".git/worktrees/w/commondir": b"../..\n",
    ".hg/hgrc": OWNER, ".claude/settings.json": OWNER, ".vscode/tasks.json": OWNER, ".envrc": OWNER,
}
HOLDERS = {"hooks": None, "config": b"", "config.worktree": b"", "commondir": b"", "gitdir": b""}
TOPS = {".envrc", ".mcp.json", ".claude/settings.json", ".claude/hooks", ".vscode/tasks.json", ".cursor",
        ".vscode/settings.json", ".idea/workspace.xml", ".husky/pre-commit", ".devcontainer.json"}


def prepare(folder):
    for name, _, _ in ATTACKS:
        for path, content in PREPARED.items():
            whole = os.path.join(folder, name, path)
            os.makedirs(os.path.dirname(whole), exist_ok=True)
            with open(whole, "wb") as file:
                file.write(content)
            os.chmod(whole, 0o644)


def below_git(parts):
    """Whether these parts below a git folder are a place that runs or leads something."""
    while len(parts) > 1 and parts[0] in ("modules", "worktrees"):
        parts = parts[1:]
        while len(parts) > 1 and parts[0] not in HOLDERS and parts[0] not in ("modules", "worktrees"):
            parts = parts[1:]
    if not parts or parts[0] not in HOLDERS:
        return False
    return parts[0] != "hooks" or (len(parts) > 1 and not parts[-1].endswith(".sample"))


def is_guarded(path):
    parts = path.lower().split("/")
    if ".git" in parts:
        return below_git(parts[parts.index(".git") + 1:])
    return parts[-2:] in ([".hg", "hgrc"], [".hg", "sharedpath"]) or path.lower() in TOPS


def seen_at(path):
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return ("link", os.readlink(path))
    if not stat.S_ISREG(status.st_mode):
        return ("kind", stat.S_IFMT(status.st_mode))
    with open(path, "rb") as file:
        return (stat.S_IMODE(status.st_mode), file.read())


def is_harmless(path, seen):
    """Written by the job, vetted by the guard: git reads it, and it runs nothing."""
    name = os.path.basename(path).lower()
    return (name in (".git", "config", "config.worktree", "commondir", "gitdir") and isinstance(seen[0], int) and
            b"PWNED" not in seen[1])


def find(top):
    found = {}
    for folder, folders, files in os.walk(top):
        relative = os.path.relpath(folder, top)
        here = {name for name in folders + files}
        if {"HEAD", "objects", "refs"} <= here and ".git" not in relative.split("/"):
            found[f"a git repository in {relative}"] = ("new",)
        for name in here:
            path = os.path.normpath(os.path.join(relative, name))
            whole = os.path.join(folder, name)
            if is_guarded(path) and not (os.path.isdir(whole) and not os.path.islink(whole)):
                found[path] = seen_at(whole)
            elif name.lower() == ".git" and not os.path.isdir(whole):
                found[path] = seen_at(whole)
            elif name.lower() in (".git", ".claude", ".hg", ".vscode") and os.path.islink(whole):
                found[path] = seen_at(whole)
    return found


def judge(folder):
    landed = 0
    for name, _, _ in ATTACKS:
        found = find(os.path.join(folder, name))
        before = {path: (0o644, content) for path, content in PREPARED.items() if is_guarded(path)}
        marks = [f"{path} is new" for path, seen in found.items()
                 if path not in before and not is_harmless(path, seen)]
        marks += [f"{path} is gone" for path in before if path not in found]
        marks += [f"{path} changed" for path, seen in found.items()
                  if path in before and seen != before[path] and not is_harmless(path, seen)]
        if marks:
            landed += 1
            print(f"landed {name}: {'; '.join(marks[:3])}")
    print(f"{len(ATTACKS)} attacks, {landed} landed")
    return landed > 0


# ---- tools -----------------------------------------------------------------------------------------

def put(path, content=HARM, **more):
    fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o755, **more)
    os.write(fd, content)
    os.close(fd)


def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *[
        ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.c_long(a) for a in arguments])
    if result < 0:
        raise OSError(ctypes.get_errno(), "syscall")
    return result


def rename2(old, new, flags):
    call(316, -100, os.fsencode(old), -100, os.fsencode(new), flags)


def tmpfile(folder="."):
    fd = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o755)
    os.write(fd, HARM)
    return fd


NEW = ".git/hooks/pre-commit"
HELD = ".git/hooks/held"
VICTIMS = [("hook", NEW), ("hgrc", "sub/.hg/hgrc"), ("mcp", ".mcp.json"), ("module", ".git/modules/m/hooks/x"),
           ("commondir", ".git/commondir")]


# ---- a name, said in odd ways ----------------------------------------------------------------------

@rows("name", [
    ("case", ".GIT/HOOKS/pre-commit"), ("mixed-case", ".Git/Hooks/pre-commit"), ("dots", ".git/./hooks/../hooks/pre-push"),
    ("slashes", ".git///hooks//pre-push"), ("newline", ".git/hooks/pre\npush"), ("space", ".git/hooks/ "),
    ("dash", ".git/hooks/-x"), ("byte", b".git/hooks/\xff\xfe"), ("long", ".git/hooks/" + "x" * 255),
    ("dotdot", "sub/../.git/hooks/pre-push"), ("sample-below", ".git/hooks/x.sample.d/pre-push"),
    ("deep-module", ".git/modules/a/b/c/d/hooks/x"), ("module-in-module", ".git/modules/a/modules/b/hooks/x"),
    ("module-of-worktree", ".git/worktrees/w/modules/a/hooks/x"), ("nested", "a/b/c/d/e/.git/hooks/x"),
    ("nested-case", "a/b/.gIT/hooks/x"), ("worktree-config", ".git/config.worktree"),
    ("module-config", ".git/modules/n/config"), ("module-commondir", ".git/modules/n/commondir"),
    ("worktree-own-config", ".git/worktrees/w/config.worktree"), ("commondir", ".git/commondir"),
    ("hg", "deep/er/.hg/hgrc"), ("hg-case", "deep/.HG/HGRC"), ("mcp", ".mcp.json"), ("cursor", ".cursor/rules"),
    ("husky", ".husky/pre-commit"), ("devcontainer", ".devcontainer.json"), ("idea", ".idea/workspace.xml"),
    ("beside-nested-git", "pkg/.envrc"),
])
def named(path):
    if path == "pkg/.envrc":
        os.makedirs("pkg/.git")
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    put(path)


# ---- where the way begins ------------------------------------------------------------------------

def by_cwd(path):
    os.chdir(os.path.dirname(path) or ".")
    put(os.path.basename(path))


def by_proc_fd(path):
    fd = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
    put(f"/proc/self/fd/{fd}/{os.path.basename(path)}")


def by_dev_fd(path):
    fd = os.open(os.path.dirname(path) or ".", os.O_PATH)
    put(f"/dev/fd/{fd}/{os.path.basename(path)}")


def by_thread_self(path):
    put(f"/proc/thread-self/cwd/{path}")


def by_root(path):
    put(f"/proc/self/root{os.getcwd()}/{path}")


def by_parent(path):
    if os.fork() == 0:
        try:
            put(f"/proc/{os.getppid()}/cwd/{path}")
        finally:
            os._exit(0)
    os.wait()


def by_link_of_links(path, count):
    text = os.path.abspath(path)
    for i in range(count):
        os.symlink(text, f"l{i}")
        text = f"l{i}"
    put(text)


def by_links_on_the_way(path, count):
    os.symlink(os.path.abspath(os.path.dirname(path) or "."), "f0")
    for i in range(1, count):
        os.symlink(f"f{i - 1}", f"f{i}")
    put(f"f{count - 1}/{os.path.basename(path)}")


def by_link_through_proc(path):
    fd = os.open(os.path.dirname(path) or ".", os.O_PATH)
    os.symlink(f"/proc/self/fd/{fd}/{os.path.basename(path)}", "way")
    put("way")


def by_link_into_link(path):
    os.symlink("/proc/self/cwd", "here")
    os.symlink(f"here/{path}", "way")
    put("way")


def by_old_descriptor(path):
    folder = os.path.dirname(path) or "."
    fd = os.open(folder, os.O_RDONLY)
    os.mkdir("elsewhere")
    os.chdir("elsewhere")
    put(os.path.basename(path), dir_fd=fd)


def by_thread(path):
    def other():
        libc.unshare(0x200)
        try:
            os.chdir(os.path.dirname(path) or ".")
            put(os.path.basename(path))
        except OSError:
            pass
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()


def by_sent_descriptor(path):
    one, two = socket.socketpair()
    fd = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
    one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
    _, more, _, _ = two.recvmsg(1, socket.CMSG_SPACE(4))
    put(os.path.basename(path), dir_fd=array.array("i", more[0][2])[0])


def by_page_end(path):
    """The string ends where the mapped memory does."""
    libc.mmap.restype = ctypes.c_void_p
    at = libc.mmap(None, 8192, 3, 0x22, -1, 0)
    libc.munmap(ctypes.c_void_p(at + 4096), 4096)
    text = os.fsencode(path) + b"\0"
    ctypes.memmove(at + 4096 - len(text), text, len(text))
    libc.syscall(ctypes.c_long(257), ctypes.c_long(-100), ctypes.c_void_p(at + 4096 - len(text)),
                 ctypes.c_long(os.O_CREAT | os.O_WRONLY), ctypes.c_long(0o755))


def by_two_pages(path):
    libc.mmap.restype = ctypes.c_void_p
    at = libc.mmap(None, 8192, 3, 0x22, -1, 0)
    text = os.fsencode(path) + b"\0"
    start = at + 4096 - len(text) // 2
    ctypes.memmove(start, text, len(text))
    libc.syscall(ctypes.c_long(257), ctypes.c_long(-100), ctypes.c_void_p(start),
                 ctypes.c_long(os.O_CREAT | os.O_WRONLY), ctypes.c_long(0o755))


WAYS = [("cwd", by_cwd), ("proc-fd", by_proc_fd), ("dev-fd", by_dev_fd), ("thread-self", by_thread_self), ("root", by_root),
        ("proc-parent", by_parent), ("39-links", lambda p: by_link_of_links(p, 39)),
        ("40-links", lambda p: by_link_of_links(p, 40)), ("20-links-on-the-way", lambda p: by_links_on_the_way(p, 20)),
        ("link-through-proc", by_link_through_proc), ("link-into-link", by_link_into_link),
        ("old-descriptor", by_old_descriptor), ("thread", by_thread), ("sent-descriptor", by_sent_descriptor),
        ("page-end", by_page_end), ("two-pages", by_two_pages)]


@rows("way", [(f"{way}-{victim}", function, path) for way, function in WAYS for victim, path in VICTIMS[:3]])
def on_the_way(function, path):
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    function(path)


# ---- what brings a name ------------------------------------------------------------------------------

def bring_rename(path):
    put("mine")
    os.rename("mine", path)


def bring_noreplace(path):
    put("mine")
    rename2("mine", path, 1)


def bring_exchange(path):
    put("mine")
    rename2("mine", path, 2)


def bring_whiteout(path):
    put("mine")
    rename2("mine", path, 4)


def bring_link(path):
    put("mine")
    os.link("mine", path)


def bring_tmpfile_proc(path):
    os.link(f"/proc/self/fd/{tmpfile()}", path, follow_symlinks=True)


def bring_tmpfile_empty(path):
    call(265, tmpfile(), b"", -100, os.fsencode(path), 0x1000)


def bring_symlink(path):
    put("mine")
    os.symlink(os.path.abspath("mine"), path)


def bring_fifo(path):
    os.mkfifo(path)


def bring_socket(path):
    os.mknod(path, stat.S_IFSOCK | 0o755)


def bring_bind(path):
    socket.socket(socket.AF_UNIX).bind(path)


def bring_bind_proc(path):
    socket.socket(socket.AF_UNIX).bind(f"/proc/self/cwd/{path}")


def bring_bind_datagram(path):
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).bind(path)


def bring_openat2(path):
    how = struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, 0o755, 0)
    call(437, -100, os.fsencode(path), how, len(how))


def bring_x32(path):
    call(0x40000000 + 257, -100, os.fsencode(path), os.O_CREAT | os.O_WRONLY, 0o755)


def bring_creat(path):
    call(85, os.fsencode(path), 0o755)


def bring_clone3(path):
    """A child made by a call the filter does not know."""
    args = struct.pack("QQQQQQQQ", 0, 0, 0, 0, 17, 0, 0, 0)
    if call(435, args, len(args)) == 0:
        try:
            put(path)
        finally:
            os._exit(0)
    os.wait()


def bring_folder_with(path):
    """The whole tree is made elsewhere, and moved."""
    first, _, rest = path.partition("/")
    os.makedirs(os.path.join("made", os.path.dirname(rest) if rest else ""), exist_ok=True)
    put(os.path.join("made", rest) if rest else "made/x")
    os.makedirs("sub2/" + os.path.dirname(path), exist_ok=True)
    shutil.rmtree("sub2/" + first, ignore_errors=True)
    os.rename("made", "sub2/" + first)


def bring_copy(path):
    put("mine")
    subprocess.run(["cp", "-a", "mine", path], stderr=subprocess.DEVNULL, check=False)


BRINGERS = [(f.__name__[6:].replace("_", "-"), f) for f in (
    bring_rename, bring_noreplace, bring_exchange, bring_whiteout, bring_link, bring_tmpfile_proc, bring_tmpfile_empty,
    bring_symlink, bring_fifo, bring_socket, bring_bind, bring_bind_proc, bring_bind_datagram, bring_openat2,
    bring_x32, bring_creat, bring_clone3, bring_folder_with, bring_copy)]


@rows("bring", [(f"{way}-{victim}", function, path) for way, function in BRINGERS for victim, path in VICTIMS])
def brought(function, path):
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    function(path)


# ---- what is there already ---------------------------------------------------------------------------

def change_reopen(path):
    fd = os.open(path, os.O_RDONLY)
    put(f"/proc/self/fd/{fd}")


def change_reopen_path(path):
    fd = os.open(path, os.O_PATH)
    os.write(os.open(f"/dev/fd/{fd}", os.O_WRONLY), HARM)


def change_append(path):
    os.write(os.open(path, os.O_WRONLY | os.O_APPEND), HARM)


def change_truncate(path):
    os.truncate(path, 0)


def change_truncate_fd(path):
    os.truncate(f"/proc/self/fd/{os.open(path, os.O_PATH)}", 0)


def change_read_truncate(path):
    os.open(path, os.O_RDONLY | os.O_TRUNC)


def change_chmod(path):
    os.chmod(path, 0o755)


def change_fchmod(path):
    os.fchmod(os.open(path, os.O_RDONLY), 0o755)


def change_fchmodat2(path):
    call(452, os.open(path, os.O_PATH), b"", 0o755, 0x1000)


def change_chmod_proc(path):
    os.chmod(f"/proc/self/fd/{os.open(path, os.O_PATH)}", 0o755)


def change_link_then_write(path):
    os.link(path, "linked")
    put("linked")


def change_link_fd_then_write(path):
    os.link(f"/proc/self/fd/{os.open(path, os.O_RDONLY)}", "linked", follow_symlinks=True)
    put("linked")


def change_handle(path):
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    libc.name_to_handle_at(-100, os.fsencode(path), handle, ctypes.byref(mount), 0)
    fd = libc.open_by_handle_at(os.open(".", os.O_RDONLY), handle, os.O_WRONLY | os.O_TRUNC)
    os.write(fd, HARM)


def change_unlink_create(path):
    try:
        os.unlink(path)
    finally:
        put(path)


def change_rename_away(path):
    os.rename(path, "away")


def change_exchange(path):
    put("mine")
    rename2(path, "mine", 2)


def change_parent_away(path):
    os.rename(os.path.dirname(path) or ".envrc", "away")


def change_parent_exchange(path):
    os.mkdir("mine")
    put("mine/" + os.path.basename(path))
    rename2(os.path.dirname(path) or ".envrc", "mine", 2)


def change_top_away(path):
    os.rename(path.split("/")[0], "away")


def change_remove_all(path):
    shutil.rmtree(path.split("/")[0])


def change_rmdir_parent(path):
    os.rmdir(os.path.dirname(path) or ".envrc")


def change_map(path):
    fd = os.open(path, os.O_RDWR)
    import mmap
    mmap.mmap(fd, 0)[0:5] = b"PWNED"


def change_copy_range(path):
    put("mine")
    os.copy_file_range(os.open("mine", os.O_RDONLY), os.open(path, os.O_WRONLY), 6)


def change_fallocate(path):
    os.posix_fallocate(os.open(path, os.O_WRONLY), 0, 100)


def change_link_over(path):
    put("mine")
    os.link("mine", "other")
    os.rename("other", path)


def change_symlink_write(path):
    os.symlink(os.path.abspath(path), "way")
    put("way")


CHANGERS = [(name[7:].replace("_", "-"), f) for name, f in sorted(globals().items()) if name.startswith("change_")]


@rows("change", [(f"{how}-{victim}", function, path) for how, function in CHANGERS
                 for victim, path in (("hook", HELD), ("agent", ".claude/settings.json"), ("hgrc", ".hg/hgrc"))])
def changed(function, path):
    function(path)


# ---- folders that become something -----------------------------------------------------------------

@rows("order", [
    ("fill-then-move", ["d:mg", "f:mg/hgrc", "m:mg:sub/.hg"]), ("move-then-fill", ["d:mg", "m:mg:sub/.hg", "f:sub/.hg/hgrc"]),
    ("move-fill-by-descriptor", ["d:mg", "o:mg", "m:mg:sub/.hg", "F:hgrc"]),
    ("descriptor-of-a-file", ["d:mg", "f:mg/hgrc", "m:mg/hgrc:mg/x", "m:mg:sub/.hg", "m:sub/.hg/x:sub/.hg/hgrc"]),
    ("link-to-partial", ["d:mg", "f:mg/hgrc", "l:mg:sub/.hg"]), ("link-then-move", ["d:mg", "f:mg/hgrc", "l:mg:way", "m:way:sub/.hg"]),
    ("exchange-with-partial", ["d:mg", "f:mg/hgrc", "d:sub/.hg", "x:mg:sub/.hg"]),
    ("deep-then-up", ["d:a/.claude-x", "d:a/n/skills", "f:a/n/settings.json", "m:a/n:.zed", "m:a:.claude2"]),
    ("git-whole", ["d:g/hooks", "f:g/hooks/x", "m:g:sub/.git"]), ("git-parts", ["d:sub/.git", "d:h", "f:h/x", "m:h:sub/.git/hooks"]),
    ("git-parts-exchange", ["d:sub/.git/hooks", "d:h", "f:h/x", "x:h:sub/.git/hooks"]),
    ("module-whole", ["d:g/hooks", "f:g/hooks/x", "m:g:.git/modules/n"]),
    ("module-up", ["d:.git/mo/n/hooks", "f:.git/mo/n/hooks/x", "m:.git/mo:.git/modules2", "x:.git/modules2:.git/modules"]),
    ("worktree-whole", ["d:g", "f:g/config.worktree", "m:g:.git/worktrees/n"]),
    ("inside-git-to-modules", ["d:.git/n/hooks", "f:.git/n/hooks/x", "m:.git/n:.git/modules/n"]),
    ("beside-after", ["d:p", "f:p/.envrc", "d:p/.git", "m:p/.git:p/.git"]), ("beside-before", ["d:p/.git", "f:p/.envrc"]),
    ("beside-moved", ["d:p/.git", "d:q", "f:q/.envrc", "m:q/.envrc:p/.envrc"]),
    ("beside-folder", ["d:p/.vscode", "f:p/.vscode/tasks.json", "d:g", "m:g:p/.git"]),
    ("sample-renamed", ["f:.git/hooks/a.sample", "m:.git/hooks/a.sample:.git/hooks/a"]),
    ("sample-linked", ["f:.git/hooks/a.sample", "L:.git/hooks/a.sample:.git/hooks/a"]),
    ("sample-exchanged", ["f:.git/hooks/a.sample", "x:.git/hooks/a.sample:.git/hooks/held"]),
    ("parent-is-link", ["d:h", "f:h/x", "l:h:sub/.git"]), ("hooks-is-link", ["d:h", "f:h/x", "d:sub/.git", "l:../../h:sub/.git/hooks"]),
    ("git-file-anywhere", ["d:g/hooks", "f:g/hooks/x", "g:sub/.git:gitdir: ../g PWNED\n"]),
    ("git-file-renamed", ["g:mine:gitdir: ../PWNED\n", "m:mine:sub/.git"]), ("git-file-linked", ["g:mine:gitdir: ../PWNED\n", "L:mine:sub/.git"]),
    ("git-file-up", ["g:sub/.git:gitdir: ../../../PWNED\n"]), ("git-file-absolute", ["g:sub/.git:gitdir: /tmp/PWNED\n"]),
    ("git-file-no-space", ["g:sub/.git:gitdir:/tmp/PWNED\n"]), ("git-file-cr", ["g:sub/.git:gitdir: ../.git/modules/m\r\nPWNED"]),
    ("commondir-elsewhere", ["g:.git/worktrees/n/commondir:/tmp/PWNED\n"]), ("commondir-renamed", ["d:.git/worktrees/n", "g:mine:/tmp/PWNED\n", "m:mine:.git/worktrees/n/commondir"]),
    ("gitdir-elsewhere", ["g:.git/worktrees/n/gitdir:/tmp/PWNED/.git\n"]), ("objects-commondir", ["g:.git/commondir:PWNED\n"]),
    ("bare-in-order", ["d:b/objects", "d:b/refs", "f:b/HEAD"]), ("bare-head-first", ["f:b/HEAD", "d:b/refs", "d:b/objects"]),
    ("bare-by-rename", ["d:b/o", "d:b/refs", "f:b/HEAD", "m:b/o:b/objects"]), ("bare-by-head-rename", ["d:b/objects", "d:b/refs", "f:b/h", "m:b/h:b/HEAD"]),
    ("bare-by-link", ["d:b/objects", "d:b/refs", "f:h", "L:h:b/HEAD"]), ("bare-by-symlink", ["d:b/refs", "f:b/HEAD", "l:/tmp:b/objects"]),
    ("bare-by-exchange", ["d:b/o", "d:b/refs", "f:b/HEAD", "f:o", "x:b/o:o", "m:o:b/objects"]),
    ("bare-of-git", ["m:.git/refs:b", "m:.git/objects:c"]),
])
def in_order(steps):
    fd = -1
    os.makedirs("sub", exist_ok=True)
    for step in steps:
        kind, _, rest = step.partition(":")
        one, _, two = rest.partition(":")
        try:
            if kind == "d":
                os.makedirs(one, exist_ok=True)
            elif kind in "fg":
                os.makedirs(os.path.dirname(one) or ".", exist_ok=True)
                put(one, two.encode() if kind == "g" else HARM)
            elif kind == "o":
                fd = os.open(one, os.O_RDONLY)
            elif kind == "F":
                put(one, dir_fd=fd)
            elif kind == "m":
                os.rename(one, two)
            elif kind == "x":
                rename2(one, two, 2)
            elif kind == "l":
                os.symlink(one if one[0] in "./" else os.path.abspath(one), two)
            elif kind == "L":
                os.link(one, two)
        except OSError:
            pass


# ---- settings ------------------------------------------------------------------------------------------

SETTINGS = [
    ("fsmonitor", "[core]\n\tfsmonitor = PWNED\n"), ("case", "[CORE]\n\tFsMonitor = PWNED\n"), ("one-line", "[core] fsmonitor = PWNED\n"),
    ("no-blanks", "[core]fsmonitor=PWNED\n"), ("quoted", "[core]\n\tfsmonitor = \"PWNED\"\n"), ("split-quotes", "[core]\n\tfsmonitor = PW\"NED\" ; PWNED\n"),
    ("continued", "[core]\n\tfsmonitor = PWN\\\nED # PWNED\n"), ("continued-comment", "[user]\n\tname = a # \\\n[core]\n\tfsmonitor = PWNED\n"),
    ("carriage-return", "[core]\r\n\tfsmonitor = PWNED\r\n"), ("bare-return", "[user]\n\tname = a\r[core]\n\thookspath = PWNED\n"),
    ("mark", "\ufeff[core]\n\tfsmonitor = PWNED\n"), ("nul", "[user]\n\tname = a\0\n[core]\n\tfsmonitor = PWNED\n"), ("no-end", "[core]\n\tfsmonitor = PWNED"),
    ("hookspath", "[core]\n\thooksPath = PWNED\n"), ("hookspath-old", "[core \"x\"]\n[core]\n\thOOksPATH=PWNED\n"), ("sshcommand", "[core]\n\tsshCommand = PWNED\n"),
    ("pager", "[core]\n\tpager = PWNED\n"), ("pager-of", "[pager]\n\tlog = PWNED\n"), ("editor", "[core]\n\teditor = PWNED\n"), ("sequence-editor", "[sequence]\n\teditor = PWNED\n"),
    ("askpass", "[core]\n\taskPass = PWNED\n"), ("gitproxy", "[core]\n\tgitProxy = PWNED\n"), ("attributes", "[core]\n\tattributesFile = PWNED\n"), ("alternate", "[core]\n\talternateRefsCommand = PWNED\n"),
    ("include", "[include]\n\tpath = PWNED\n"), ("include-if", "[includeIf \"gitdir:/\"]\n\tpath = PWNED\n"), ("include-branch", "[includeIf \"onbranch:**\"]\n\tpath = PWNED\n"),
    ("alias", "[alias]\n\tst = !PWNED\n"), ("alias-sub", "[alias \"st\"]\n\tcommand = !PWNED\n"), ("filter", "[filter \"f\"]\n\tclean = PWNED\n"), ("filter-dotted", "[filter.f]\n\tsmudge = PWNED\n"),
    ("filter-process", "[filter \"f\"]\n\tprocess = PWNED\n"), ("diff", "[diff]\n\texternal = PWNED\n"), ("diff-command", "[diff \"x\"]\n\tcommand = PWNED\n"), ("textconv", "[diff \"x\"]\n\ttextconv = PWNED\n"),
    ("merge", "[merge \"x\"]\n\tdriver = PWNED\n"), ("difftool", "[difftool \"x\"]\n\tcmd = PWNED\n"), ("mergetool", "[mergetool \"x\"]\n\tpath = PWNED\n"), ("gpg", "[gpg]\n\tprogram = PWNED\n"),
    ("gpg-ssh", "[gpg \"ssh\"]\n\tdefaultKeyCommand = PWNED\n"), ("credential", "[credential]\n\thelper = !PWNED\n"), ("credential-url", "[credential \"git@x\"]\n\thelper = PWNED\n"),
    ("ext", "[remote \"o\"]\n\turl = ext::PWNED\n"), ("ext-push", "[remote \"o\"]\n\tpushurl = ext::PWNED\n"), ("ext-branch", "[branch \"m\"]\n\tremote = ext::PWNED\n"), ("ext-quoted", "[remote \"o\"]\n\turl = \"ext\"::PWNED\n"),
    ("ext-submodule", "[submodule \"s\"]\n\turl = ext::PWNED\n"), ("option-url", "[remote \"o\"]\n\turl = --upload-pack=PWNED\n"), ("option-host", "[remote \"o\"]\n\turl = ssh://-oProxyCommand=PWNED/x\n"),
    ("option-scp", "[remote \"o\"]\n\turl = -oProxyCommand=PWNED:x\n"), ("option-user", "[remote \"o\"]\n\turl = ssh://a@-oPWNED/x\n"), ("other-scheme", "[remote \"o\"]\n\turl = PWNED://x\n"),
    ("insteadof", "[url \"ext::PWNED\"]\n\tinsteadOf = git@x:\n"), ("push-insteadof", "[url \"PWNED\"]\n\tpushInsteadOf = x\n"), ("uploadpack", "[remote \"o\"]\n\tuploadpack = PWNED\n"),
    ("receivepack", "[remote \"o\"]\n\treceivepack = PWNED\n"), ("vcs", "[remote \"o\"]\n\tvcs = PWNED\n"), ("submodule-update", "[submodule \"s\"]\n\tupdate = !PWNED\n"), ("worktree", "[core]\n\tworktree = /PWNED\n"),
    ("browser", "[browser \"b\"]\n\tcmd = PWNED\n"), ("web", "[instaweb]\n\thttpd = PWNED\n"), ("imap", "[imap]\n\ttunnel = PWNED\n"), ("sendmail", "[sendemail]\n\tsmtpserver = /PWNED\n"), ("trailer", "[trailer \"x\"]\n\tcommand = PWNED\n"),
    ("tar", "[tar \"x\"]\n\tcommand = PWNED\n"), ("man", "[man \"x\"]\n\tcmd = PWNED\n"), ("safe", "[safe]\n\tdirectory = *PWNED\n"), ("huge", "#" * 70000 + "\n[core]\n\tfsmonitor = PWNED\n"),
    ("many", "[user]\n\tname = a\n" * 2000 + "[core]\n\tfsmonitor = PWNED\n"), ("escaped-section", "[core \"a\\\"]\n[core]\n\tfsmonitor = PWNED\n#\"]\n"), ("tab-section", "[core\t\"x\"]\n\tfsmonitor = PWNED\n"),
    ("lock-by-name", "[core]\n\tfsmonitor = PWNED\n"), ("bad-utf8", "[core]\n\tfsmonitor = PWNED\udcff\n"),
]


@rows("setting", SETTINGS)
def set_by_git_way(text):
    content = text.encode("utf-8", "surrogateescape")
    for name in ".git/config", ".git/modules/m/config", ".git/worktrees/w/config.worktree", "sub/.git/config":
        for way in name + ".lock", "mine":
            try:
                os.makedirs(os.path.dirname(name), exist_ok=True)
                put(way, content)
                os.rename(way, name)
            except OSError:
                pass


@attack("late-write-to-lock")
def late_write():
    fd = os.open(".git/config.lock", os.O_CREAT | os.O_RDWR, 0o644)
    os.write(fd, CONFIG)
    os.rename(".git/config.lock", ".git/config")
    os.pwrite(fd, b"[core]\n\tfsmonitor = PWNED\n", 0)


@attack("late-map-of-lock")
def late_map():
    import mmap
    fd = os.open(".git/config.lock", os.O_CREAT | os.O_RDWR, 0o644)
    os.write(fd, CONFIG.ljust(4096, b"#"))
    memory = mmap.mmap(fd, 4096)
    os.rename(".git/config.lock", ".git/config")
    memory[0:26] = b"[core]\n\tfsmonitor = PWNED\n"


@attack("late-write-to-pointer")
def late_pointer():
    os.makedirs("sub")
    fd = os.open("sub/.git", os.O_CREAT | os.O_WRONLY, 0o644)
    os.write(fd, b"gitdir: ../.git/modules/m\n")
    os.stat("sub")
    os.mkdir("again")
    os.pwrite(fd, b"gitdir: ../PWNED/PWNED/PWN\n", 0)
    os.mkdir("again2")


@attack("io-uring")
def by_uring():
    if call(425, 8, bytes(256)) >= 0:
        put(NEW)


@attack("git-config-by-git")
def by_git():
    for key in "core.fsmonitor", "core.hooksPath", "alias.x", "filter.x.clean":
        subprocess.run(["git", "config", "--file", ".git/config", key, "PWNED"], stderr=subprocess.DEVNULL, check=False)


@attack("abstract-then-named")
def abstract():
    bound = socket.socket(socket.AF_UNIX)
    bound.bind(b"\0" + os.fsencode(NEW))
    socket.socket(socket.AF_UNIX).bind(NEW)


@attack("bind-full-length")
def bind_full():
    path = os.fsencode("./" * 60)[:108 - len(NEW)] + os.fsencode(NEW)
    address = struct.pack("H", socket.AF_UNIX) + path.rjust(108, b".")[:108]
    libc.bind(socket.socket(socket.AF_UNIX).fileno(), address, len(address))


# ---- all of them -----------------------------------------------------------------------------------------

def run():
    top = os.getcwd()
    for name, function, arguments in ATTACKS:
        child = os.fork()
        if child == 0:
            try:
                os.chdir(os.path.join(top, name))
                function(*arguments)
            except (OSError, ValueError):
                pass
            finally:
                os._exit(0)
        os.waitpid(child, 0)
    return 0


def main():
    names = [name for name, _, _ in ATTACKS]
    assert len(set(names)) == len(names) and all(re.fullmatch("[a-z0-9-]+", name) for name in names)
    what, *folder = sys.argv[1:]
    if what == "list":
        print("\n".join(names))
        return 0
    return {"prepare": prepare, "run": run, "judge": judge}[what](*folder) or 0


if __name__ == "__main__":
    sys.exit(main())
