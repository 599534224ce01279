"""Cases of mcp.bats and host.bats: each a function, named by the one argument. The current folder
is no pen yet."""

import base64
import os
import signal
import subprocess
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


# ---- the protocol --------------------------------------------------------------------------------

def both_eras():
    pens_add()
    open("a file", "w").close()
    for era in ERAS:
        with Client(PEN, era=era) as client:
            if era == STATELESS:
                found = client.ask("server/discover", {})["result"]
                assert found["supportedVersions"] == [STATELESS], found
            else:
                assert client.hello["result"]["protocolVersion"] == era, client.hello
            tools = client.ask("tools/list", {})["result"]["tools"]
            assert [tool["name"] for tool in tools] == [
                "pen_run_command", "pen_command_status", "pen_stop_command"]
            assert exited(client.run("ls"))["output"] == "a file\n"


def wrong_messages():
    pens_add()
    with Client(PEN) as client:
        for line, code in ((b"nonsense", -32700), (b"[]", -32600), (b"{\"jsonrpc\":\"2.0\"}", -32600),
                           (b"\xff\xfe", -32700), (b"[" * 5000, -32700)):
            client.send(line)
            answer = client.next()
            assert answer["error"]["code"] == code, (line[:20], answer)
        client.send(b"x" * (5 << 20))
        assert client.next()["error"]["code"] in (-32600, -32700)
        assert "error" in client.wait(client.request("no/such", {}))
        assert "error" in client.wait(client.request("tools/call", {"name": "rm"}))
        exited(client.run("pwd"))


def wrong_arguments():
    pens_add()
    with Client(PEN) as client:
        for more in ({"extra": 1}, {"args": "x"}, {"args": [1]}, {"command": ""}, {"network": "no"},
                     {"deadline_seconds": 0}, {"deadline_seconds": 601}, {"deadline_seconds": 1.5},
                     {"background": 1}, {"working_directory": 1}):
            refused(client.call("pen_run_command", **{"command": "pwd", **more}))
        refused(client.call("pen_run_command"), "command")
        refused(client.call("pen_command_status", job_id="j-unknown1"))
        refused(client.call("pen_command_status", job_id="j-unknown1", wait_seconds=11))
        refused(client.call("pen_stop_command", job_id="j-unknown1"))
        refused(client.run("pwd", network=True), "network")
        refused(client.run("no-such-program"), "no-such-program")


# ---- what may run --------------------------------------------------------------------------------

def six_without_asking():
    pens_add()
    with open("words", "w") as file:
        file.write("one\ntwo\n")
    with Client(PEN) as client:
        assert exited(client.run("pwd"))["output"] == PEN + "\n"
        assert exited(client.run("cat", "words"))["output"] == "one\ntwo\n"
        assert exited(client.run("head", "-n1", "words"))["output"] == "one\n"
        assert exited(client.run("tail", "-n1", "words"))["output"] == "two\n"
        assert exited(client.run("wc", "-l", "words"))["output"] == "2 words\n"
        exited(client.run("ls", "no such"), 2)
        # A program of the pen's is none of the six, whatever it is called.
        with open("ls", "w") as file:
            file.write("#!/bin/sh\n")
        os.chmod("ls", 0o755)
        job = client.run("./ls", background=True)
        assert job["state"] == "awaiting_approval", job


def others_ask():
    pen = pens_add()
    with Client(PEN) as client:
        job = client.run("touch", "made", background=True)
        assert job["state"] == "awaiting_approval" and job["exit_code"] is None, job
        assert "touch" in job["notice"] and not os.path.exists("made")
        # A call that is waited for runs as soon as it may.
        number = client.begin("pen_run_command", {"command": "touch", "args": ["more"]})
        client.status(job["job_id"])
        grant(pen, "touch")
        exited(client.job(number))
        exited(client.status(job["job_id"], wait=10))
        assert os.path.exists("made") and os.path.exists("more")
        wattle("grants", "remove", "--json",
               wattle("grants", "list", "--json", pen)["grants"][0]["id"])
        assert client.run("touch", "x", background=True)["state"] == "awaiting_approval"


def a_grant_is_of_one_file():
    pen = pens_add()
    os.makedirs("bin")
    with open("bin/tool", "w") as file:
        file.write("#!/bin/sh\necho one\n")
    os.chmod("bin/tool", 0o755)
    grant(pen, PEN + "/bin/tool")
    with Client(PEN) as client:
        assert exited(client.run("bin/tool"))["output"] == "one\n"
        with open("bin/tool", "a") as file:
            file.write("echo two\n")
        assert client.run("bin/tool", background=True)["state"] == "awaiting_approval"
        assert wattle("grants", "list", "--json", pen)["grants"][0]["state"] == "changed"
        grant(pen, PEN + "/bin/tool")
        assert exited(client.run("bin/tool"))["output"] == "one\ntwo\n"


def changed_while_asked():
    """What was found at the request is what runs, or nothing."""
    pen = pens_add()
    with open("tool", "w") as file:
        file.write("#!/bin/sh\necho one >>ran\n")
    os.chmod("tool", 0o755)
    with Client(PEN) as client:
        job = client.run("./tool", background=True)
        assert job["state"] == "awaiting_approval", job
        with open("tool", "a") as file:
            file.write("echo two >>ran\n")
        grant(pen, PEN + "/tool")
        state = client.status(job["job_id"], wait=1)
        assert state["state"] in ("awaiting_approval", "refused"), state
        assert not os.path.exists("ran")


def arguments_are_literal():
    pen = pens_add()
    grant(pen, PYTHON)
    code = ("import os, sys; "
            "open('seen', 'wb').write(b'\\0'.join(os.fsencode(a) for a in sys.argv[1:]))")
    args = ["", " ", "a b", "\n", "x\ny\n", "'", '"', "\\", "$(touch pwned)", "`touch pwned`",
            ";touch pwned", "*", "~", "-n", "--", "\u202e\u00e4\U0001f600", "\x7f\x1b[31m", "",
            "k" * 131071]
    with Client(PEN) as client:
        exited(client.run(PYTHON, "-c", code, *args))
        with open("seen", "rb") as file:
            assert file.read().split(b"\0") == [arg.encode() for arg in args]
        assert not os.path.exists("pwned")
        # One more than the kernel takes is an error that can be acted on.
        job = client.run(PYTHON, "-c", code, "k" * 131072)
        assert job["state"] == "refused" and job["notice"], job
        # NUL has no place in an argument.
        for more in ({"args": ["a\0b"]}, {"command": "l\0s"}, {"working_directory": "a\0"}):
            refused(client.call("pen_run_command", **{"command": PYTHON, **more}))
        exited(client.run("pwd"))


def folders_to_start_in():
    pens_add()
    os.makedirs("sub/deeper")
    os.symlink("..", "sub/up")
    os.symlink("/etc", "out")
    os.symlink("sub", "within")
    with Client(PEN) as client:
        for given, where in ((".", PEN), ("sub", PEN + "/sub"), ("sub/deeper/", PEN + "/sub/deeper"),
                             ("./sub", PEN + "/sub")):
            job = exited(client.run("pwd", "-P", working_directory=given))
            assert job["output"] == where + "\n", (given, job)
        for given in ("..", "sub/..", "../pen", "/", "/etc", PEN, "out", "sub/up/..", "missing",
                      "sub/../.."):
            refused(client.run("pwd", working_directory=given))
        job = exited(client.run("pwd", "-P", working_directory="within"))
        assert job["output"] == PEN + "/sub\n", job


def unknown_pens():
    os.makedirs("secret/sub")
    with open("secret/file", "w") as file:
        file.write("topsecret\n")
    for pen in (PEN, PEN + "/secret", "/", os.environ["HOME"], os.environ["HOME"] + "/.ssh",
                PEN + "/missing", os.environ["HOME"] + "/.local/state"):
        with Client(pen) as client:
            for command in (("ls",), ("cat", "file"), ("pwd",)):
                job = client.run(*command)
                assert job["state"] == "awaiting_approval" and job["job_id"] is None, job
                assert "pens add" in job["notice"] and "topsecret" not in json.dumps(job), job
    # None was made by asking; one that the owner makes is found by the same connection.
    assert wattle("pens", "list", "--json")["pens"] == []
    with Client(PEN) as client:
        assert client.run("pwd")["state"] == "awaiting_approval"
        pens_add()
        exited(client.run("pwd"))
    for folder_ in ("/", os.environ["HOME"], os.environ["HOME"] + "/.local/state/wattle"):
        wattle("pens", "add", "--json", folder_, status=1)
    assert len(wattle("pens", "list", "--json")["pens"]) == 1


def another_folder_in_its_place():
    pen = pens_add()
    with Client(PEN) as client:
        exited(client.run("pwd"))
        os.rename(PEN, PEN + "-before")
        os.mkdir(PEN)
        refused(client.run("ls"), "another folder", "rebind")
        assert wattle("pens", "list", "--json")["pens"][0]["state"] == "replaced"
        os.rmdir(PEN)
        refused(client.run("ls"), "not there")
        os.symlink(PEN + "-before", PEN)
        refused(client.run("ls"))
        os.unlink(PEN)
        os.rename(PEN + "-before", PEN)
        exited(client.run("pwd"))
        assert wattle("pens", "list", "--json")["pens"][0]["id"] == pen


# ---- how it ends ---------------------------------------------------------------------------------

def deadlines():
    grant(pens_add(), "sleep")
    with Client(PEN) as client:
        word = mark()
        job = client.run("sleep", word, deadline_seconds=1)
        assert job["state"] == "timed_out" and job["timed_out"] and job["exit_code"] is None, job
        gone(word)


def status_and_stop():
    grant(pens_add(), "sleep", "sh")
    with Client(PEN) as client, Client(PEN) as other:
        number, word = sleeping(client)
        assert client.status(number)["state"] == "running"
        assert client.status(number, wait=1)["state"] == "running"
        refused(other.status(number))  # another turn's
        refused(other.stop(number))
        job = client.stop(number)
        assert job["state"] == "stopped" and job["job_id"] == number, job
        gone(word)
        assert client.status(number) == job
        assert client.stop(number) == job
        job = client.run("sh", "-c", "echo before; while ! test -e go; do sleep 0.1; done; echo after",
                         background=True)
        until(lambda: client.status(job["job_id"])["output"] == "before\n", "its output is seen")
        open("go", "w").close()
        assert exited(client.status(job["job_id"], wait=10))["output"] == "before\nafter\n"
        job = client.run("sh", "-c", "kill -KILL $$")
        assert job["state"] == "signaled" and job["signal"] == "SIGKILL", job


def cancelled_calls():
    grant(pens_add(), "sleep")
    for era in ("2025-06-18", STATELESS):
        with Client(PEN, era=era) as client:
            word = mark()
            number = client.begin("pen_run_command", {"command": "sleep", "args": [word]})
            until(lambda: processes_with(word), "it runs")
            client.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                         "params": {"requestId": number}})
            gone(word)
            waiting = client.begin("pen_run_command", {"command": "true"})
            until(lambda: wattle("jobs", "list", "--json", "--state", "awaiting_approval")["jobs"],
                  "it asks")
            client.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                         "params": {"requestId": waiting}})
            until(lambda: not wattle("jobs", "list", "--json", "--state",
                                     "awaiting_approval")["jobs"], "it asks no more")
            exited(client.run("pwd"))
            assert number not in client.answers and waiting not in client.answers
    for job in wattle("jobs", "list", "--json", "--state", "stopped")["jobs"]:
        assert "cancelled" in job["notice"], job


def the_end_of_a_turn():
    grant(pens_add(), "sleep", "sh")
    client = Client(PEN)
    _, word = sleeping(client)
    left = mark()
    client.run("sh", "-c", f"setsid sleep {left} & exec sleep {left}", background=True)
    until(lambda: len(processes_with(left)) >= 2, "a daemon of the job runs")
    assert client.close() == 0
    gone(word)
    gone(left)
    until(lambda: not wattle("jobs", "list", "--json", "--state", "running")["jobs"], "recorded")
    jobs = wattle("jobs", "list", "--json")["jobs"]
    assert [job["state"] for job in jobs] == ["stopped", "stopped"], jobs
    assert all("gone" in job["notice"] for job in jobs), jobs


def the_owner_ends_it():
    pen = pens_add()
    grant(pen, "sleep")
    with Client(PEN, "--chat", "some") as client:
        number = client.begin("pen_run_command", {"command": "sleep", "args": [mark()]})
        until(lambda: wattle("jobs", "list", "--json", "--state", "running")["jobs"], "it runs")
        chat = wattle("chats", "list", "--json")["chats"][0]
        assert chat["name"] == "some" and chat["open_turns"] == 1, chat
        wattle("chats", "delete", "--json", chat["id"], status=1)
        assert wattle("chats", "end-turn", "--json", chat["id"])["ended"] == 1
        job = client.job(number)
        assert job["state"] == "stopped" and "owner" in job["notice"], job
        refused(client.run("pwd"), "owner")
        exited(client.run("pwd"))
        assert wattle("chats", "list", "--json")["chats"][0]["turns"] == 2
    wattle("chats", "end-turn", "--json", chat["id"])
    wattle("chats", "delete", "--json", chat["id"])


def a_fifth_job():
    grant(pens_add(), "sleep")
    with Client(PEN) as client, Client(PEN) as other:
        running = [sleeping(client)[0] for _ in range(4)]
        fifth = client.run("sleep", mark(), background=True)
        refused(fifth, *running)
        sleeping(other)
        client.stop(running[0])
        sleeping(client)


# ---- output --------------------------------------------------------------------------------------

def any_bytes_of_output():
    grant(pens_add(), PYTHON)
    with Client(PEN) as client:
        def out(code):
            return exited(client.run(PYTHON, "-c", f"import sys; w=sys.stdout.buffer.write; {code}"))
        assert out("w(b'\\xff\\xc3(\\xe2\\x82x')")["output"] == "\ufffd\ufffd(\ufffd\ufffdx"
        assert out("w(b'a\\0b')")["output"] == "a\0b"
        assert out("w(b'\\x1b[31m\\xe2\\x80\\xaeq')")["output"] == "\x1b[31m\u202eq"
        job = out("w(b'h' * 20000 + b'm' * 100000 + b't' * 20000)")
        assert job["truncated"] and len(job["output"].encode()) <= 32 << 10, job
        kept = job["output"].replace(f"\n[{job['omitted_bytes']} bytes left out]\n", "")
        assert len(kept) + job["omitted_bytes"] == 140000
        assert kept[0] == "h" and kept[-1] == "t"
        number = client.run(PYTHON, "-c", "print('\\x1b[2J\\u202ex\\ty')")["job_id"]
        shown = wattle("jobs", "logs", number)
        assert shown == "\\x1b[2J\\u{202e}x\ty\n", repr(shown)
        logs = wattle("jobs", "logs", "--json", number)
        assert base64.b64decode(logs["head"]) + base64.b64decode(logs["tail"]) == (
            "\x1b[2J\u202ex\ty\n".encode())
        record = wattle("jobs", "show", "--json", number)
        assert record["executable"].startswith("/usr/bin/python3"), record
        assert "\x1b" not in wattle("jobs", "show", number)
        assert "\x1b" not in wattle("jobs", "list")


def followed_output():
    grant(pens_add(), "sh")
    with Client(PEN) as client:
        job = client.run("sh", "-c", "echo one; while ! test -e go; do sleep 0.1; done; echo two",
                         background=True)
        logs = subprocess.Popen([WATTLE, "jobs", "logs", "-f", job["job_id"]],
                                stdout=subprocess.PIPE, text=True)
        assert logs.stdout.readline() == "one\n"
        open("go", "w").close()
        assert logs.stdout.read() == "two\n"
        assert logs.wait(10) == 0


def a_gigabyte_of_output():
    """One line of 1 GiB, in bounded time and memory; the counts are right."""
    grant(pens_add(), "head")
    size = 1 << 30
    with Client(PEN) as client:
        job = exited(client.run("head", "-c", str(size), "/dev/zero", deadline_seconds=100))
        assert job["truncated"] and len(job["output"].encode()) <= 32 << 10, len(job["output"])
        kept = job["output"].replace(f"\n[{job['omitted_bytes']} bytes left out]\n", "")
        assert set(kept) == {"\0"} and len(kept) + job["omitted_bytes"] == size, len(kept)
        logs = wattle("jobs", "logs", "--json", job["job_id"])
        assert len(base64.b64decode(logs["head"]) + base64.b64decode(logs["tail"])) < 2 << 20
        with open(f"/proc/{host_pid()}/status", encoding="ascii") as file:
            peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))
        assert peak < 64 << 10, f"the host took {peak} KiB"


def bad_lines():
    """What one client's line is harms neither its own conversation nor another's."""
    pens_add()
    with Client(PEN) as client, Client(PEN) as other:
        for line in (b"\0" * 100, b"\xff" * (5 << 20), b"{" * (1 << 20), b'{"jsonrpc":"2.0","id":1,'):
            client.send(line)
            assert client.next()["error"]["code"] in (-32600, -32700), line[:10]
            exited(other.run("pwd"))
        for _ in range(64):  # 64 MiB without an end, and then the end
            client.process.stdin.write(b"x" * (1 << 20))
        exited(other.run("pwd"))
        client.send(b"")
        assert client.next()["error"]["code"] in (-32600, -32700)
        exited(client.run("pwd"))
        # Half a message, and silence: whoever waits is the one who sent it.
        client.process.stdin.write(b'{"jsonrpc":"2.0","id":77,"method":"tools/')
        exited(other.run("pwd"))
        client.send(b'list","params":{}}')
        assert client.wait(77)["result"]["tools"]


def no_signs_unasked():
    """Each kind of call, one with a token and one without: only the one with has signs, strictly
    increasing, and none after its answer."""
    grant(pens_add(), "sleep")
    with Client(PEN) as client:
        asked = [client.begin("pen_run_command", {"command": "sleep", "args": ["23"]},
                              progressToken=7),
                 client.begin("pen_run_command", {"command": "sleep", "args": ["23"]}),
                 client.begin("pen_run_command", {"command": "env"}, progressToken="waits")]
        exited(client.job(asked[0]))
        seen = len([note for note in client.notifications if note["params"]["progressToken"] == 7])
        exited(client.job(asked[1]))
        exited(client.run("pwd"))
        by_token = {}
        for note in client.notifications:
            assert note["method"] == "notifications/progress", note
            by_token.setdefault(note["params"]["progressToken"], []).append(note["params"]["progress"])
        assert set(by_token) == {7, "waits"}, by_token
        assert len(by_token[7]) == seen >= 2, by_token
        for signs in by_token.values():
            assert all(a < b for a, b in zip(signs, signs[1:])), by_token


def signs_of_life():
    grant(pens_add(), "sleep")
    with Client(PEN) as client:
        number = client.begin("pen_run_command", {"command": "sleep", "args": ["12"]},
                              progressToken="token")
        exited(client.job(number))
        tokens = [note["params"]["progressToken"] for note in client.notifications]
        assert tokens == ["token"], client.notifications


# ---- the host ------------------------------------------------------------------------------------

def hosts():
    found = []
    for pid in processes_with(folder()):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/exe").endswith("wattle-host"):
                found.append(pid)
    return found


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


def idle_hosts_can_be_ended():
    wattle("host", "status", "--json", status=1)
    wattle("host", "stop")
    pens_add()
    pid = host_pid()
    wattle("host", "stop")
    until(lambda: not os.path.exists(f"/proc/{pid}"), "it ended")
    assert wattle("pens", "list", "--json")["pens"][0]["path"] == PEN


def as_the_schemas_say():
    """Each answer against the definition its revision has for it; and a wrong one, as a control."""
    import jsonschema

    grant(pens_add(), "sleep")
    for era in ERAS:
        with open(f"{os.environ['WATTLE_MCP_SCHEMAS']}/schema-{era}.json", encoding="utf-8") as file:
            schema = json.load(file)
        place = "definitions" if "definitions" in schema else "$defs"

        def valid(value, name):
            jsonschema.validate(value, {**schema, "$ref": f"#/{place}/{name}"})

        result = "JSONRPCResponse" if "JSONRPCResultResponse" not in schema[place] else (
            "JSONRPCResultResponse")
        error = "JSONRPCError" if "JSONRPCError" in schema[place] else "JSONRPCErrorResponse"
        with Client(PEN, era=era) as client:
            hello = client.ask("server/discover", {}) if era == STATELESS else client.hello
            valid(hello, result)
            valid(hello["result"], "DiscoverResult" if era == STATELESS else "InitializeResult")
            answer = client.ask("tools/list", {})
            valid(answer, result)
            valid(answer["result"], "ListToolsResult")
            output = answer["result"]["tools"][0]["outputSchema"]
            for arguments in ({"command": "pwd"}, {"command": "no-such"}, {"command": 7},
                              {"command": "true", "background": True}):
                answer = client.wait(client.begin("pen_run_command", arguments))
                valid(answer, result)
                valid(answer["result"], "CallToolResult")
                jsonschema.validate(answer["result"]["structuredContent"], output)
            valid(client.ask("no/such", {}), error)
            if era in (ERAS[-1], ERAS[-2]):  # a sign of life takes ten seconds
                client.wait(client.begin("pen_run_command", {"command": "sleep", "args": ["11"]},
                                         progressToken=1))
                assert client.notifications
            for note in client.notifications:
                valid(note, "ProgressNotification")
            try:
                valid({"tools": 7}, "ListToolsResult")
            except jsonschema.ValidationError:
                continue
            raise AssertionError("anything is valid")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
