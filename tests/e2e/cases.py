"""What the cases of mcp.bats, host.bats and admit.bats share. The current folder is no pen yet."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "helpers"))
from mcp_talk import *  # noqa: E402, F403

PEN = os.getcwd()
ERAS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", STATELESS)
PYTHON = "/usr/bin/python3"
MARKS = iter(range(1 << 20))


def mark():
    """An argument of sleep that no other process has."""
    return f"300.{os.getpid()}{next(MARKS):04}"


def refused(job, *words):
    assert job["state"] == "refused", job
    assert job["exit_code"] is None and job["output"] == "", job
    for word in words:
        assert word in job["notice"], (word, job["notice"])


def exited(job, code=0):
    assert job["state"] == "exited" and job["exit_code"] == code, job
    return job


def sleeping(client):
    """A command in the background that runs: its id, and its mark."""
    word = mark()
    job = client.run("sleep", word, background=True)
    assert job["state"] == "running", job
    until(lambda: processes_with(word), "the job runs")
    return job["job_id"], word


def gone(word, seconds=2):
    until(lambda: not processes_with(word), f"no process of {word} is left", seconds)


def hosts():
    found = []
    for pid in processes_with(folder()):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/exe").endswith("wattle-host"):
                found.append(pid)
    return found
