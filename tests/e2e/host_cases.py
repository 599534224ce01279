"""Cases of host.bats: its start and end, its doors. Each is a function, named by the one argument.
The current folder is no pen yet."""

import os
import shutil
import signal
import subprocess
import sys

import cases  # noqa: F401, before mcp_talk: it says where that is
import mcp_talk
from cases import *  # noqa: F403

# ---- the host ------------------------------------------------------------------------------------

def killed_at_any_time():
    grant(pens_add(), "sleep")
    client = Client(PEN)
    number, word = sleeping(client)
    os.kill(host_pid(), signal.SIGKILL)
    gone(word)
    job = wattle("jobs", "show", "--json", number)  # by another host
    assert job["state"] == "stopped" and "host" in job["notice"], job
    assert wattle("jobs", "list", "--json", "--state", "running")["jobs"] == []
    until(lambda: client.run("pwd")["state"] == "exited", "the client goes on")
    number, word = sleeping(client)
    client.process.kill()
    client.process.wait()
    gone(word)
    until(lambda: wattle("jobs", "show", "--json", number)["state"] == "stopped", "it is recorded")
    scratch = os.environ["HOME"] + "/.cache/wattle/scratch"
    until(lambda: not [name for name in os.listdir(scratch) if name.startswith("run-")],
          "scratch is swept")


def one_store_one_host():
    grant(pens_add(), "sleep")
    client = Client(PEN)
    number, word = sleeping(client)
    elsewhere = os.environ["HOME"] + "/run"
    os.mkdir(elsewhere, 0o700)

    def elsewhere_runs(*words):
        return subprocess.run([os.environ["WATTLE"], *words], text=True, capture_output=True, check=False,
                              env={**os.environ, "XDG_RUNTIME_DIR": elsewhere})

    ran = elsewhere_runs("jobs", "list")
    assert ran.returncode != 0 and "another host of yours has the store" in ran.stderr, ran
    assert wattle("jobs", "show", "--json", number)["state"] == "running"
    assert processes_with(word)
    wattle("host", "stop")
    gone(word)
    ran = elsewhere_runs("jobs", "list")
    assert ran.returncode == 0 and number in ran.stdout, ran
    assert elsewhere_runs("host", "stop").returncode == 0


def twenty_at_once():
    pens_add()
    wattle("host", "stop")
    clients = [Client(PEN) for _ in range(20)]
    numbers = [client.begin("pen_run_command", {"command": "pwd"}) for client in clients]
    for client, number in zip(clients, numbers):
        exited(client.job(number))
    assert len(hosts()) == 1, hosts()
    assert wattle("host", "status", "--json")["clients"] == 21
    for client in clients:
        client.close()


def bad_clients():
    pens_add()
    with Client(PEN) as client:
        exited(client.run("pwd"))
        silent = [Door("model", hello=False), Door("owner", hello=False)]
        half = Door("owner")
        half.raw(struct.pack(">I", 100) + b"{")
        for some in (b"\xff" * 64, b"GET / HTTP/1.1\r\n\r\n", struct.pack(">I", 64 << 20),
                     struct.pack(">I", 2) + b"[]", struct.pack(">I", 3) + b"\xff\xff\xff",
                     struct.pack(">I", 0)):
            for name in ("model", "owner"):
                door = Door(name, hello=False)
                door.raw(some)
                if some[:4] == b"\xff" * 4 or len(some) == 4 + struct.unpack(">I", some[:4])[0] or \
                        struct.unpack(">I", some[:4])[0] > 4 << 20:
                    door.closed()
        early = Door("owner", hello=False)
        assert early.ask("pens.list")["error"]["code"] == -32600
        # Whoever asks and never reads is closed, and nobody waits for it.
        deaf = Door("owner")
        with contextlib.suppress(OSError):
            deaf.socket.settimeout(5)
            for number in range(200000):
                deaf.send({"jsonrpc": "2.0", "id": number, "method": "pens.list"})
        exited(client.run("pwd"))
        assert wattle("host", "status", "--json")["running"] == 0
        for door in silent:
            door.closed()  # after the ten seconds of its patience
        exited(client.run("pwd"))


def the_models_door():
    grant(pens_add(), PYTHON)
    door = Door("model")
    for method in ("pens.add", "pens.list", "grants.add", "host.stop", "jobs.stop", "chats.list"):
        assert door.ask(method, {"path": PEN})["error"]["code"] == -32601, method
    assert Door("owner").ask("job.run", {"command": "ls"})["error"]["code"] == -32601
    assert "error" in door.ask("job.run", {"command": "ls"})
    assert door.ask("turn.begin", {"pen": PEN})["result"]["pen"] is not None
    assert "error" in door.ask("turn.begin", {"pen": PEN})
    # From inside neither is there, by its path.
    code = ("import socket, sys\n"
            "for name in sys.argv[1:]:\n"
            "    try:\n"
            "        socket.socket(socket.AF_UNIX).connect(name)\n"
            "        print('reached', name)\n"
            "    except OSError as error:\n"
            "        print('no')\n")
    with Client(PEN) as client:
        job = client.run(PYTHON, "-c", code, *(f"{folder()}/{name}.sock"
                                               for name in ("owner", "model")))
        assert exited(job)["output"] == "no\nno\n", job


def files_beside_the_pen():
    pen = pens_add()
    beside = os.environ["HOME"] + "/beside"
    os.makedirs(beside)
    with open(beside + "/file", "w") as file:
        file.write("beside\n")
    with Client(PEN) as client:
        exited(client.run("cat", beside + "/file"), 1)
        wattle("pens", "files", "--json", pen, "add", beside)
        assert exited(client.run("cat", beside + "/file"))["output"] == "beside\n"
        number = wattle("pens", "files", "--json", pen, "list")["files"][0]["id"]
        grant(pen, "touch")
        exited(client.run("touch", beside + "/more"), 1)
        wattle("pens", "files", "--json", pen, "edit", number, "write")
        exited(client.run("touch", beside + "/more"))
        wattle("pens", "files", "--json", pen, "remove", number)
        exited(client.run("cat", beside + "/file"), 1)


def files_that_no_run_would_get():
    """The owner is told at once what a run would be told; a place for credentials is named, in words."""
    home = os.environ["HOME"]
    pen = pens_add()
    for name in (".ssh", "beside", "beside/lib"):
        os.makedirs(f"{home}/{name}")
    os.symlink(home + "/beside", home + "/link")
    os.symlink(home + "/.ssh", home + "/beside/keys")
    state = home + "/.local/state/wattle"

    def files(*words, status=0):
        if status == 0:
            return wattle("pens", "files", "--json", pen, *words)
        ended = mcp_talk.owner_runs("pens", "files", "--json", pen, *words)
        assert ended.returncode == status, (words, ended)
        return ended.stderr

    kept = files("add", home + "/beside")["files"]
    assert [row["state"] for row in kept] == ["ok"], kept
    with Client(PEN) as client:
        for path, access, word in (
                ("/", "read", "whole system"), (home + "/missing", "read", "cannot find"),
                (home, "write", "home folder"), ("/home", "write", "'/home'"),
                (state, "read", "wattle itself"), (state + "/wattle.db", "write", "wattle"),
                (home + "/.config/wattle", "write", "wattle"), ("/proc", "write", "kernel"),
                ("/proc", "read", "kernel"), ("/dev/null", "read", "kernel"),
                (mcp_talk.folder() + "/owner.sock", "unix", "wattle itself"),
                (home + "/beside/lib", "unix", "no socket"), ("/usr/bin", "write", "'/usr/bin'"),
                (home + "/link", "read", f"leads to '{home}/beside'"),
                (home + "/link/lib", "write", f"leads to '{home}/beside/lib'"),
                (home + "/beside/keys", "read", f"leads to '{home}/.ssh'")):
            for words in (("add", path, access), ("edit", kept[0]["id"], access, path)):
                told = files(*words, status=1)
                assert word in told and "pens files" in told, (words, told)
        assert files("list")["files"] == kept
        exited(client.run("ls", home + "/beside"))  # and jobs go on
    made = files("add", home + "/.ssh")
    assert [note["note"] for note in made["notes"] if home + "/.ssh" in note["note"] and
            "credentials" in note["note"]], made
    assert len(made["files"]) == 2, made
    changed = files("edit", kept[0]["id"], "write", home + "/beside/lib")
    assert changed["files"][0]["path"] == home + "/beside/lib", changed
    assert changed["files"][0]["access"] == "write", changed
    os.rename(home + "/beside", home + "/was")
    assert files("list")["files"][0]["state"] == "missing"
    os.symlink(home + "/was", home + "/beside")
    assert files("list")["files"][0]["state"] == "moved"
    files("remove", kept[0]["id"])  # what is refused can be taken away


def files_beside_the_pen_that_moved():
    """A job of another pen puts a symlink in the place of what the owner named, or of a folder on the
    way: nothing behind it is read, written or told."""
    home = os.environ["HOME"]
    other, private = home + "/work/other", home + "/private"
    os.makedirs(private)
    with open(private + "/diary", "w") as file:
        file.write("diary\n")
    pen = pens_add()
    os.makedirs(other)
    grant(pens_add(other), "mv", "ln", "rm")
    grant(pen, "tee")
    for access, place, swapped in (("read", "shared", "shared"), ("write", "shared", "shared"),
                                   ("hide", "shared", "shared"), ("write", "deep/shared", "deep")):
        os.makedirs(f"{other}/{place}")
        beside = f"{other}/{place}/diary"
        with open(beside, "w") as file:
            file.write("shared\n")
        os.makedirs(f"{private}/shared", exist_ok=True)
        shutil.copy(private + "/diary", private + "/shared/diary")
        files = wattle("pens", "files", "--json", pen, "add", f"{other}/{place}", access)["files"]
        with Client(PEN) as client, Client(other) as planter:
            def tries(client=client, beside=beside):
                return client.run("cat", beside), client.run("tee", "-a", beside)

            read, wrote = tries()  # control: nothing was planted
            assert (read["exit_code"], wrote["exit_code"]) == {
                "read": (0, 1), "write": (0, 0), "hide": (1, 1)}[access], (read, wrote)
            exited(planter.run("mv", swapped, "was"))
            exited(planter.run("ln", "-s", private, swapped))
            for job in tries():
                refused(job, "leads to another")
                assert "private" not in str(job) and "diary" not in job["notice"], job
            exited(planter.run("rm", swapped))
            exited(planter.run("mv", "was", swapped))
            assert [job["state"] for job in tries()] == ["exited", "exited"]  # counter-control
            exited(planter.run("rm", "-r", swapped))
        wattle("pens", "files", "--json", pen, "remove", files[0]["id"])
        for path in (private + "/diary", private + "/shared/diary"):
            with open(path) as file:
                assert file.read() == "diary\n"


def idle_hosts_can_be_ended():
    wattle("host", "status", "--json", status=1)
    wattle("host", "stop")
    pens_add()
    pid = host_pid()
    wattle("host", "stop")
    until(lambda: not os.path.exists(f"/proc/{pid}"), "it ended")
    assert wattle("pens", "list", "--json")["pens"][0]["path"] == PEN


if __name__ == "__main__":
    globals()[sys.argv[1]]()
