"""Cases of admit.bats: what a job runs stays in its place while it runs, whatever other jobs do. Each
a function, named by the one argument. The current folder is no pen yet."""

import shutil
import sys

from admit_cases import *  # noqa: F403
from admit_cases import HOME, exited, restart, script  # noqa: F401
from cases import PYTHON

# What another job tries; `tool` is what runs, 'bin' the folder it lies in. "x" is other bytes.
COMMON = """
import ctypes, errno, os, random, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def exchange(a, b):
    if libc.renameat2(-100, a.encode(), -100, b.encode(), 2) != 0:
        raise OSError(ctypes.get_errno(), "exchange")
def make(path, text):
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, 0o755)
tool = "bin/tool"
"""
MOVES = {
    "replace": "make('x', text); os.rename('x', tool)",
    "remove": "os.unlink(tool); make(tool, text)",
    "exchange": "make('x', text); exchange('x', tool)",
    "exchange the other way": "make('x', text); exchange(tool, 'x')",
    "move": "os.rename(tool, 'was'); make(tool, text)",
    "folder": "os.makedirs('other/bin', exist_ok=True); make('other/bin/tool', text); "
              "os.rename('bin', f'was-{time.monotonic_ns()}'); os.rename('other/bin', 'bin')",
    "folders": "os.makedirs('other', exist_ok=True); make('other/tool', text); exchange('other', 'bin')",
}
REVIEWED = "#!/bin/sh\ntouch waits; while ! test -e go; do sleep 0.02; done; cat \"$0\"; rm waits go\n"
OTHER = "#!/bin/sh\necho bad\n"


def told(path):
    with open(path) as file:
        return file.read()


def laid():
    """The reviewed script, where it was reviewed."""
    for name in ("waits", "go"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
    os.makedirs("bin", exist_ok=True)
    script("bin/tool", "")
    with open("bin/tool", "w") as file:
        file.write(REVIEWED)


def attempt(client, move, text=OTHER):
    """What another job says of it: "landed", or the errno."""
    code = (COMMON + f"text = {text!r}\ntry:\n    {move}\n    print('landed')\n"
            "except OSError as error:\n    print(errno.errorcode[error.errno])\n")
    return exited(client.run(PYTHON, "-c", code))["output"].strip()


@contextlib.contextmanager
def running(client):
    """The script, while it runs; at the end it has told what it sees at its own place."""
    job = client.run("bin/tool", background=True)
    assert job["state"] == "running", job
    until(lambda: os.path.exists("waits"), "it runs")
    yield
    open("go", "w").close()
    job = exited(client.status(job["job_id"], wait=10))
    assert job["output"] == REVIEWED, job


def what_runs_stays():
    pen = pens_add()
    laid()
    grant(pen, PEN + "/bin/tool", PYTHON)
    with Client(PEN) as client, Client(PEN) as other:
        for name, move in MOVES.items():
            laid()
            assert attempt(other, move) == "landed", name  # control: it does not run
            assert told("bin/tool") == OTHER, name
            laid()
            with running(client):
                assert attempt(other, move) == "EBUSY", name
                assert told("bin/tool") == REVIEWED, name
                # And nothing else is held.
                assert attempt(other, "make('bin/y', text); make('z', text); os.rename('z', 'bin/y');"
                                      "os.unlink('bin/y'); os.link(tool, 'z'); os.unlink('z')"
                               ) == "EBUSY"  # the second name is the same file
                os.unlink("z")
                assert attempt(other, "make('bin/y', text); make('z', text); os.rename('z', 'bin/y');"
                                      "os.rename('bin/y', 'z'); os.unlink('z')") == "landed"
            assert attempt(other, move) == "landed", name  # counter-control: it is over
            assert told("bin/tool") == OTHER, name
        # In place anybody may write: the copy is what runs.
        laid()
        with running(client):
            assert attempt(other, "make(tool, text)") == "landed"
            assert told("bin/tool") == OTHER


def what_runs_stays_for_runs_around():
    """A pen may lie in what another run of the owner's may write; and the reason is told."""
    above = os.path.dirname(PEN)
    name = os.path.basename(PEN)
    pen = pens_add()
    laid()
    grant(pen, PEN + "/bin/tool")

    def around():
        return subprocess.run([WATTLE, "run", "--pen", above, "--", "mv", "-T", name, "elsewhere"],
                              cwd=above, capture_output=True, text=True)

    with Client(PEN) as client:
        with running(client):
            ended = around()
            assert ended.returncode == 1 and "runs from there" in ended.stderr, ended
            assert os.path.exists(PEN + "/bin/tool")
    assert around().returncode == 0
    os.rename(above + "/elsewhere", PEN)


def what_runs_stays_after_a_kill():
    """What held it is gone with the job, however it ends."""
    pen = pens_add()
    laid()
    grant(pen, PEN + "/bin/tool", PYTHON)
    with Client(PEN) as client, Client(PEN) as other:
        job = client.run("bin/tool", background=True)
        until(lambda: os.path.exists("waits"), "it runs")
        assert attempt(other, MOVES["replace"]) == "EBUSY"
        client.stop(job["job_id"])
        until(lambda: attempt(other, MOVES["replace"]) == "landed", "it is not held any more")


def moved_in_a_loop():
    """Another job does it all the time, while the script is started again and again: the reviewed
    bytes run, or none."""
    texts = ("#!/bin/sh\necho reviewed\n", "#!/bin/sh\necho bad; touch pwned\n")
    pen = pens_add()
    grant(pen, PYTHON)
    for name, move in MOVES.items():
        os.makedirs("bin", exist_ok=True)
        script("bin/tool", "")
        with open("bin/tool", "w") as file:
            file.write(texts[0])
        grant(pen, PEN + "/bin/tool")
        with contextlib.suppress(FileNotFoundError):
            os.unlink("over")
        loop = (COMMON + f"texts = {texts!r}\nlanded = busy = 0\nwhile not os.path.exists('over'):\n"
                "    text = texts[(landed + busy) % 2]\n"
                f"    try:\n        {move}\n        landed += 1\n"
                "    except OSError as error:\n"
                "        if error.errno != errno.EBUSY:\n            raise\n        busy += 1\n"
                "    time.sleep(random.choice((0, 0.001, 0.003, 0.01)))\n"
                "print(landed, busy)\n")
        seen = {}
        with Client(PEN) as client, Client(PEN) as other:
            changer = other.run(PYTHON, "-c", loop, background=True)
            assert changer["state"] == "running", changer
            for _ in range(int(os.environ.get("WATTLE_ROUNDS", "40"))):
                job = client.run("bin/tool", background=True)
                if job["state"] == "running":
                    job = client.status(job["job_id"], wait=10)
                if job["state"] == "awaiting_approval":
                    client.stop(job["job_id"])
                seen[job["state"]] = seen.get(job["state"], 0) + 1
                assert job["output"] in ("", "reviewed\n"), (name, job)
                assert not os.path.exists("pwned"), name
            open("over", "w").close()
            landed, _ = exited(other.status(changer["job_id"], wait=10))["output"].split()
        assert int(landed) > 10 and seen.get("exited") and len(seen) > 1, (name, landed, seen)


# ---- symlinks that lead to what runs --------------------------------------------------------------

# "venv/bin/python" leads to an interpreter by another symlink and a folder that is one.
TURNS = {
    "replace": "os.symlink('/bin/cat', 'x'); os.rename('x', 'real/bin/python')",
    "remove": "os.unlink('real/bin/python'); os.symlink('/bin/cat', 'real/bin/python')",
    "exchange": "os.symlink('/bin/cat', 'x'); exchange('x', 'real/bin/python')",
    "the second": "os.symlink('/bin/cat', 'x'); os.rename('x', 'real/bin/python3')",
    "move": "os.rename('real/bin/python', 'was'); os.symlink('/bin/cat', 'real/bin/python')",
    "the folder's": "os.makedirs('other/bin', exist_ok=True); os.symlink('/bin/cat', 'other/bin/python');"
                    "os.symlink('other', 'x'); os.rename('x', 'venv')",
    "folder": "os.makedirs('other/bin', exist_ok=True); os.symlink('/bin/cat', 'other/bin/python');"
              "exchange('real', 'other')",
}
WAITS = "import os, time\nopen('waits', 'w').close()\nwhile not os.path.exists('go'):\n    time.sleep(0.02)\n" \
        "os.unlink('waits'); os.unlink('go'); print('done')\n"


def without(*names):
    for name in names:
        shutil.rmtree(name, ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def linked():
    """A virtual environment as it was reviewed."""
    without("real", "other", "venv", "was", "x", "waits", "go")
    os.makedirs("real/bin")
    os.symlink("real", "venv")
    os.symlink("python3", "real/bin/python")
    os.symlink(PYTHON, "real/bin/python3")


def symlinks_stay():
    """By which the interpreter of a script is found, or the command itself."""
    pen = pens_add()
    linked()
    script("tool", WAITS, shell=PEN + "/venv/bin/python")
    grant(pen, PYTHON)
    grant(pen, PEN + "/tool")
    commands = (["./tool"], ["venv/bin/python", "-c", WAITS])
    with Client(PEN) as client, Client(PEN) as other:
        for name, turn in TURNS.items():
            linked()
            assert attempt(other, turn) == "landed", name  # control: nothing runs by it
            for command in commands:
                linked()
                job = client.run(*command, background=True)
                assert job["state"] == "running", (name, job)
                until(lambda: os.path.exists("waits"), "it runs")
                assert attempt(other, turn) == "EBUSY", (name, command)
                assert attempt(other, "os.symlink('a', 'y'); os.rename('y', 'real/bin/y'); "
                                      "os.unlink('real/bin/y')") == "landed"  # nothing else is held
                open("go", "w").close()
                assert exited(client.status(job["job_id"], wait=10))["output"] == "done\n", name
            without("other", "x")
            assert attempt(other, turn) == "landed", name  # counter-control: it is over


def symlinks_that_turn_back():
    """What a path passes by is not held: such a path is no way to an interpreter."""
    pen = pens_add()
    linked()
    os.makedirs("a")
    script("tool", "print('done')", shell=PEN + "/a/../venv/bin/python")
    with Client(PEN) as client:
        refused(client.run("./tool"), "back by '..'")
        script("tool", "print('done')", shell=PEN + "/venv/bin/python")
        for text in ("a/../real", f"../{os.path.basename(PEN)}/real"):
            without("venv")
            os.symlink(text, "venv")
            if text.startswith("a"):
                refused(client.run("./tool"), "back by '..'")
        grant(pen, PEN + "/tool")
        assert exited(client.run("./tool"))["output"] == "done\n"  # control: '..' at first is fine


def turned_in_a_loop():
    """Another job turns the symlink all the time: the reviewed interpreter runs, or none."""
    pen = pens_add()
    linked()
    script("tool", "print('reviewed', flush=True)", shell=PEN + "/real/bin/python")
    grant(pen, PYTHON)
    grant(pen, PEN + "/tool")
    loop = (COMMON + "landed = busy = 0\nwhile not os.path.exists('over'):\n"
            "    to = ('/bin/cat', 'python3')[(landed + busy) % 2]\n    os.symlink(to, 'x')\n"
            "    try:\n        os.rename('x', 'real/bin/python')\n        landed += 1\n"
            "    except OSError as error:\n"
            "        if error.errno != errno.EBUSY:\n            raise\n"
            "        busy += 1\n        os.unlink('x')\n"
            "    time.sleep(random.choice((0, 0.001, 0.003, 0.01)))\nprint(landed, busy)\n")
    seen = {}
    with Client(PEN) as client, Client(PEN) as other:
        changer = other.run(PYTHON, "-c", loop, background=True)
        assert changer["state"] == "running", changer
        for _ in range(int(os.environ.get("WATTLE_ROUNDS", "60"))):
            job = client.run("./tool", background=True)
            if job["state"] == "running":
                job = client.status(job["job_id"], wait=10)
            if job["state"] == "awaiting_approval":
                client.stop(job["job_id"])
            seen[job["state"]] = seen.get(job["state"], 0) + 1
            assert job["output"] in ("", "reviewed\n"), job
        open("over", "w").close()
        landed, _ = exited(other.status(changer["job_id"], wait=10))["output"].split()
    assert int(landed) > 10 and seen.get("exited") and len(seen) > 1, (landed, seen)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
