"""Talks to `wattle mcp` as an agent's host does, and to the doors of the host as a program may."""

import contextlib
import json
import os
import select
import socket
import struct
import subprocess
import time

WATTLE = os.environ["WATTLE"]
STATELESS = "2026-07-28"
META = "io.modelcontextprotocol/"


class Gone(Exception):
    """The other side ended."""


class Client:
    """One connection to `wattle mcp`; era is a handshake version, or STATELESS."""

    def __init__(self, pen, *options, era="2025-06-18", env=None):
        self.era = era
        self.process = subprocess.Popen(
            [WATTLE, "mcp", "--pen", pen, *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, bufsize=0)
        self.last_id = 0
        self.bytes = b""
        self.notifications = []
        self.answers = {}
        if era != STATELESS:
            self.hello = self.ask("initialize", {
                "protocolVersion": era, "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"}})
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, message):
        text = message if isinstance(message, bytes) else json.dumps(message).encode()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(text + b"\n")

    def request(self, method, params, **meta):
        self.last_id += 1
        params = dict(params)
        if self.era == STATELESS:
            meta = {META + "protocolVersion": STATELESS, META + "clientCapabilities": {}, **meta}
        if meta:
            params["_meta"] = meta
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        return self.last_id

    def next(self, seconds=60):
        """The next message, whatever it is."""
        end = time.monotonic() + seconds
        while b"\n" not in self.bytes:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise TimeoutError("no message came")
            some = os.read(self.process.stdout.fileno(), 1 << 20)
            if not some:
                raise Gone
            self.bytes += some
        line, self.bytes = self.bytes.split(b"\n", 1)
        return json.loads(line)

    def wait(self, number, seconds=60):
        """The answer to a request; what comes before it is kept."""
        while number not in self.answers:
            message = self.next(seconds)
            if "method" in message:
                self.notifications.append(message)
            else:
                self.answers[message.get("id")] = message
        return self.answers.pop(number)

    def ask(self, method, params, **meta):
        return self.wait(self.request(method, params, **meta))

    def begin(self, tool, arguments, **meta):
        return self.request("tools/call", {"name": tool, "arguments": arguments}, **meta)

    def job(self, number, seconds=60):
        """The structured object of an answered call; its text must be the same."""
        answer = self.wait(number, seconds)
        result = answer["result"]
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        return result["structuredContent"]

    def call(self, tool, **arguments):
        return self.job(self.begin(tool, arguments))

    def run(self, command, *args, **more):
        return self.call("pen_run_command", command=command, args=list(args), **more)

    def status(self, job, wait=0):
        return self.call("pen_command_status", job_id=job, wait_seconds=wait)

    def stop(self, job):
        return self.call("pen_stop_command", job_id=job)

    def close(self, seconds=30):
        self.process.stdin.close()
        self.process.wait(seconds)
        self.process.stdout.close()
        return self.process.returncode


def folder():
    """Where the doors are."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        return runtime + "/wattle"
    return os.environ.get("XDG_STATE_HOME", os.environ["HOME"] + "/.local/state") + "/wattle/run"


class Door:
    """A door of the host, with nothing between."""

    def __init__(self, name="owner", hello=True):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(f"{folder()}/{name}.sock")
        self.socket.settimeout(60)
        self.last_id = 0
        if hello:
            self.ask("hello", {"api": 1, "program": "test"})

    def send(self, message):
        text = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.raw(struct.pack(">I", len(text)) + text)

    def raw(self, some):
        self.socket.sendall(some)

    def exactly(self, size):
        some = b""
        while len(some) < size:
            more = self.socket.recv(size - len(some))
            if not more:
                raise Gone
            some += more
        return some

    def next(self):
        try:
            return json.loads(self.exactly(struct.unpack(">I", self.exactly(4))[0]))
        except ConnectionResetError:
            raise Gone from None

    def ask(self, method, params=None):
        self.last_id += 1
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params or {}})
        return self.next()

    def closed(self):
        """Waits until the host has closed this connection."""
        with contextlib.suppress(Gone, ConnectionResetError):
            while True:
                self.next()


class Terminal:
    """Where the owner types: a process that descends from nobody who started a `wattle mcp`."""

    def __init__(self):
        self.socket, other = socket.socketpair()
        child = os.fork()
        if child == 0:
            os.closerange(3, other.fileno())  # a client's pipes too, or its end is never seen
            os.closerange(other.fileno() + 1, 1024)
            os.setsid()
            if os.fork() == 0:
                self.serve(other)
            os._exit(0)
        os.waitpid(child, 0)
        other.close()
        self.stream = self.socket.makefile("rw")

    @staticmethod
    def serve(end):
        with end.makefile("rw") as stream:
            for line in stream:
                wish = json.loads(line)
                try:
                    ended = subprocess.run(wish["words"], env=wish["env"], cwd=wish["cwd"],
                                           capture_output=True, text=True, timeout=60)
                    answer = [ended.returncode, ended.stdout, ended.stderr]
                except (OSError, subprocess.TimeoutExpired) as error:
                    answer = [-1, "", str(error)]
                stream.write(json.dumps(answer) + "\n")
                stream.flush()

    def run(self, words):
        self.stream.write(json.dumps({"words": words, "env": dict(os.environ),
                                      "cwd": os.getcwd()}) + "\n")
        self.stream.flush()
        return subprocess.CompletedProcess(words, *json.loads(self.stream.readline()))


TERMINALS = []  # the one there is


def owner_runs(*words):
    if not TERMINALS:
        TERMINALS.append(Terminal())
    return TERMINALS[0].run([WATTLE, *words])


def wattle(*words, status=0):
    """One command of the owner's, its --json read."""
    ended = owner_runs(*words)
    assert ended.returncode == status, (words, ended)
    return json.loads(ended.stdout) if ended.stdout.startswith("{") else ended.stdout


def pens_add(path="."):
    return wattle("pens", "add", "--json", path)["id"]


def grant(pen, *programs):
    for program in programs:
        wattle("grants", "add", "--json", pen, program)


def host_pid():
    return wattle("host", "status", "--json")["pid"]


def until(condition, what, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"did not come true: {what}"
        time.sleep(0.02)


def processes_with(mark):
    """Pids of living processes with `mark` among their arguments."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if mark.encode() in file.read().split(b"\0") and int(pid) != os.getpid():
                    found.append(int(pid))
    return found
