#!/usr/bin/python3
"""try_held.py SECONDS: a job that tries every guarded name of the pen, in every way, all the time.

Several threads; all they write says PWNED, and descriptors that were opened are written to again
later. A 'config.lock' is not made (a job may hold git's lock, and then git says so), only taken.
Prints how many calls were made and how many of them were not refused.
"""

import ctypes
import os
import sys
import threading
import time

NAMES = (
    ".envrc", ".mcp.json", ".git", ".git/config", ".git/config.lock", ".git/config.worktree",
    ".git/commondir", ".git/hooks", ".git/hooks/pre-commit", ".claude", ".claude/settings.json",
    ".vscode/tasks.json",
)  # fmt: skip
RENAME_EXCHANGE = 2
AT_FDCWD = -100
TEXT = b'[core]\n\tfsmonitor = ./PWNED\n'
libc = ctypes.CDLL(None, use_errno=True)


class Thread(threading.Thread):
    def __init__(self, number, end):
        super().__init__()
        self.number, self.end = number, end
        self.kept = []
        self.calls = self.done = 0

    def source(self):
        path = f"source-{self.number}"
        with open(path, "wb") as file:
            file.write(TEXT)
        return path

    def keep(self, descriptor):
        self.kept.append(descriptor)
        if len(self.kept) > 8:
            old = self.kept.pop(0)
            try:
                os.pwrite(old, TEXT, os.fstat(old).st_size)
                os.fchmod(old, 0o777)
            finally:
                os.close(old)

    def create(self, name):
        flags = os.O_WRONLY if name.endswith(".lock") else os.O_WRONLY | os.O_CREAT
        self.keep(os.open(name, flags, 0o755))

    def write(self, name):
        self.keep(os.open(name, os.O_RDWR | os.O_APPEND))

    def truncate(self, name):
        os.truncate(name, 0)

    def by_descriptor(self, name):
        descriptor = os.open(name, os.O_RDONLY)
        try:
            self.keep(os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY))
        finally:
            os.close(descriptor)

    def rename_onto(self, name):
        os.rename(self.source(), name)

    def rename_lock(self, name):
        os.rename(".git/config.lock", name)

    def rename_away(self, name):
        os.rename(name, f"stolen-{self.number}")

    def exchange(self, name):
        if libc.renameat2(AT_FDCWD, self.source().encode(), AT_FDCWD, name.encode(), RENAME_EXCHANGE):
            raise OSError(ctypes.get_errno(), "renameat2")

    def unlink(self, name):
        os.unlink(name)

    def rmdir(self, name):
        os.rmdir(name)

    def chmod(self, name):
        if name not in (".git", ".claude", ".git/hooks", ".git/config"):  # harmless, and allowed
            os.chmod(name, 0o777)

    def mkdir(self, name):
        if name != ".git/hooks":
            os.mkdir(name)

    def symlink(self, name):
        os.symlink(f"source-{self.number}", name)

    def link_onto(self, name):
        os.link(self.source(), name)

    def link_away(self, name):
        os.link(name, f"stolen-{self.number}")

    def run(self):
        ways = (
            self.create, self.write, self.truncate, self.by_descriptor, self.rename_onto,
            self.rename_lock, self.rename_away, self.exchange, self.unlink, self.rmdir, self.chmod,
            self.mkdir, self.symlink, self.link_onto, self.link_away,
        )  # fmt: skip
        turn = self.number
        while time.monotonic() < self.end:
            name = NAMES[turn % len(NAMES)]
            for way in ways:
                self.calls += 1
                try:
                    way(name)
                    self.done += 1
                except OSError:
                    pass
            turn += 1


def main():
    end = time.monotonic() + float(sys.argv[1])
    threads = [Thread(number, end) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("calls", sum(thread.calls for thread in threads))


main()
