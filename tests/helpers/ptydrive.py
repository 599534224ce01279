#!/usr/bin/python3
"""ptydrive.py [--size ROWSxCOLS] STEP... -- COMMAND [ARGUMENT...]

Runs a command on a terminal of its own, as a person would, and prints all that the terminal
showed, then one line "exit: N" (128+N for a signal). Steps, in order; each waits for its event:

  expect=TEXT    until the terminal showed TEXT (after what was expected before)
  send=TEXT      types TEXT; \\n \\r \\t \\xNN as in C
  size=RxC       resizes the terminal (the foreground group gets SIGWINCH)
  kill=NAME      sends a signal to the command
  stopped        until the command is stopped (job control), then continues it
  cooked         fails unless the terminal is in its first state: echo and line mode on
  wait           until the command ended

At most 15 s a step (PTYDRIVE_SECONDS); a step that fails ends the command, prints what was seen
and exits 1.
"""
import errno
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

LIMIT = float(os.environ.get("PTYDRIVE_SECONDS", "15"))


class Failed(Exception):
    """A step that did not come true."""


class Terminal:
    """The command, its terminal, and what was shown so far."""

    def __init__(self, size, command):
        self.shown = b""
        self.at = 0
        self.status = None
        self.master, slave = pty.openpty()
        self.slave_name = os.ttyname(slave)
        self.resize(size)
        self.first = termios.tcgetattr(slave)
        self.pid = os.fork()
        if self.pid == 0:
            self.become(slave, command)
        self.slave = slave  # stays open: the state of the line can be asked after the end

    @staticmethod
    def become(slave, command):
        """In the child: leader of a session on that terminal."""
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for fd in range(3):
            os.dup2(slave, fd)
        os.closerange(3, 256)
        try:
            os.execvp(command[0], command)
        except OSError as error:
            os.write(2, f"{command[0]}: {error}\n".encode())
            os._exit(127)

    def resize(self, size):
        rows, cols = (int(part) for part in size.split("x"))
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def pump(self, seconds):
        """Takes in what the terminal shows, for at most `seconds`."""
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return
        try:
            self.shown += os.read(self.master, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise

    def until(self, what, done):
        end = time.monotonic() + LIMIT
        while not done():
            if time.monotonic() > end:
                raise Failed(f"{what} did not come within {LIMIT:g} s")
            self.pump(0.02)

    def found(self, text):
        place = self.shown.find(text, self.at)
        if place < 0:
            return False
        self.at = place + len(text)
        return True

    def waited(self, flags=0):
        """Whether the command's state changed to ended (or, with WUNTRACED, to stopped)."""
        if self.status is not None:
            return True
        pid, status = os.waitpid(self.pid, os.WNOHANG | flags)
        if pid == 0:
            return False
        if os.WIFSTOPPED(status):
            return bool(flags)
        self.status = status
        return True

    def stopped(self):
        if not self.waited(os.WUNTRACED):
            return False
        if self.status is not None:
            raise Failed("the command ended instead of stopping")
        return True


def step_expect(terminal, value):
    text = value.encode()
    terminal.until(f"'{value}'", lambda: terminal.found(text))


def step_send(terminal, value):
    os.write(terminal.master, value.encode().decode("unicode_escape").encode("latin-1"))


def step_size(terminal, value):
    terminal.resize(value)


def step_kill(terminal, value):
    os.kill(terminal.pid, getattr(signal, "SIG" + value))


def step_stopped(terminal, _value):
    terminal.until("a stop", terminal.stopped)
    os.kill(terminal.pid, signal.SIGCONT)


def step_cooked(terminal, _value):
    state = termios.tcgetattr(terminal.slave)
    if state != terminal.first:
        raise Failed(f"the terminal was left in another state: {state[:4]} was {terminal.first[:4]}")


def step_wait(terminal, _value):
    terminal.until("the end", terminal.waited)
    terminal.pump(0)


STEPS = {"expect": step_expect, "send": step_send, "size": step_size, "kill": step_kill,
         "stopped": step_stopped, "cooked": step_cooked, "wait": step_wait}


def exit_of(status):
    return os.waitstatus_to_exitcode(status) if not os.WIFSIGNALED(status) else \
        128 + os.WTERMSIG(status)


def main():
    words = sys.argv[1:]
    mark = words.index("--")
    steps, command = words[:mark], words[mark + 1:]
    size = "24x80"
    if steps and steps[0].startswith("--size="):
        size = steps.pop(0)[len("--size="):]
    terminal = Terminal(size, command)
    failed = None
    try:
        for step in steps:
            name, _, value = step.partition("=")
            STEPS[name](terminal, value)
    except Failed as why:
        failed = why
    if failed is not None and terminal.status is None:
        os.kill(terminal.pid, signal.SIGKILL)
    if terminal.status is None:
        try:
            step_wait(terminal, "")
        except Failed as why:
            failed = failed or why
            os.kill(terminal.pid, signal.SIGKILL)
            terminal.status = os.waitpid(terminal.pid, 0)[1]
    while select.select([terminal.master], [], [], 0)[0]:
        terminal.pump(0)
    sys.stdout.write(terminal.shown.decode("utf-8", "replace").replace("\r\n", "\n"))
    print(f"\nexit: {exit_of(terminal.status)}")
    if failed is not None:
        print(f"ptydrive: {failed}")
        sys.exit(1)


main()
