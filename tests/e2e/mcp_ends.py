"""Cases of mcp.bats: how a command ends, and its output. Each is a function, named by the one argument.
The current folder is no pen yet."""

import base64
import subprocess
import sys

from cases import *  # noqa: F403

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


def ended_for_good(client, job):
    """Not only what is asked next; nor does another host begin a new turn."""
    for _ in range(3):
        refused(client.run("pwd"), "owner ended this turn")
    refused(client.status(job), "owner ended this turn")
    refused(client.stop(job), "owner ended this turn")
    wattle("host", "stop")
    refused(client.run("pwd"), "owner ended this turn")


def pens_end_turns():
    """A pen that is removed or gets another folder: its turns are over, those of others are not."""
    other = os.environ["HOME"] + "/work/other"
    place = os.environ["HOME"] + "/work/place"
    os.makedirs(other)
    os.makedirs(place)
    pens_add(other)
    with Client(other) as beside:
        exited(beside.run("pwd"))
        for words in (("rebind", PEN, place), ("remove", PEN)):
            pen = pens_add()
            grant(pen, "sleep")
            with Client(PEN) as client:
                job, word = sleeping(client)
                wattle("pens", words[0], "--json", *words[1:])
                gone(word)
                with Client(PEN) as new:  # as of any folder that is no pen
                    assert new.run("pwd")["state"] == "awaiting_approval"
                exited(beside.run("pwd"))
                ended_for_good(client, job)
        with Client(place) as client:
            assert exited(client.run("pwd"))["output"] == place + "\n"


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
        ended_for_good(client, job["job_id"])
        with Client(PEN, "--chat", "some") as other:  # a new connection is a new turn
            exited(other.run("pwd"))
            assert wattle("chats", "list", "--json")["chats"][0]["turns"] == 2
            assert wattle("chats", "end-turn", "--json", chat["id"])["ended"] == 1
        # Moved and forgotten, the chat wakes no connection of its old turns.
        place = os.environ["HOME"] + "/work/moved"
        os.makedirs(place)
        moved = pens_add(place)
        wattle("chats", "move", "--json", chat["id"], moved)
        ended_for_good(client, job["job_id"])
    wattle("chats", "delete", "--json", chat["id"])


def ended_while_the_host_was_away():
    """Between two hosts there is no turn to end; what it was does not go on all the same."""
    place, moved = (os.environ["HOME"] + "/work/" + name for name in ("place", "moved"))
    os.makedirs(place)
    os.makedirs(moved)
    other = pens_add(moved)
    ends = {
        "end": lambda pen, chat: wattle("chats", "end-turn", "--json", chat),
        "move": lambda pen, chat: wattle("chats", "move", "--json", chat, other),
        "delete": lambda pen, chat: wattle("chats", "delete", "--json", chat),
        "rebind": lambda pen, chat: wattle("pens", "rebind", "--json", pen, place),
        "remove": lambda pen, chat: wattle("pens", "remove", "--json", pen),
    }
    for name, end in ends.items():
        with Client(PEN, "--chat", name) as client, Client(moved, "--chat", "beside") as beside:
            late = client.run("pwd")  # this folder becomes a pen after the turn was asked for
            assert late["state"] == "awaiting_approval" and late["job_id"] is None, late
            pen = pens_add()
            exited(client.run("pwd"))
            exited(beside.run("pwd"))
            wattle("host", "stop")
            exited(client.run("pwd"))  # control: the end of a host is not the end of a turn
            wattle("host", "stop")
            end(pen, next(chat["id"] for chat in wattle("chats", "list", "--json")["chats"]
                          if chat["name"] == name))
            wattle("host", "stop")
            for _ in range(2):
                refused(client.run("pwd"), "owner ended this turn")
            exited(beside.run("pwd"))
            with Client(PEN, "--chat", name) as new:  # a new connection is a new turn
                if name in ("rebind", "remove"):
                    assert new.run("pwd")["state"] == "awaiting_approval"
                    continue
                exited(new.run("pwd"))
            wattle("pens", "remove", "--json", pen)


def ended_and_not_told():
    pens_add()
    with Client(PEN, "--chat", "some") as client, Client(PEN) as beside:
        exited(client.run("pwd"))
        exited(beside.run("pwd"))
        chat = next(chat["id"] for chat in wattle("chats", "list", "--json")["chats"]
                    if chat["name"] == "some")
        assert wattle("chats", "end-turn", "--json", chat)["ended"] == 1
        wattle("host", "stop")
        refused(client.run("pwd"), "owner ended this turn")
        exited(beside.run("pwd"))


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


if __name__ == "__main__":
    globals()[sys.argv[1]]()
