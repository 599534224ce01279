"""Cases of host.bats that look at records, log and store: each a function, named by the one
argument. The current folder is no pen yet."""

import collections
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cases import *  # noqa: E402, F403

STATE = os.environ["HOME"] + "/.local/state/wattle"


def rows(kind="%"):
    """What the log has: kind, body, oldest first."""
    with sqlite3.connect(f"file:{STATE}/wattle.db?mode=ro", uri=True) as store:
        return [(kind, json.loads(body)) for kind, body in store.execute(
            "SELECT kind, body FROM log WHERE kind LIKE ? ORDER BY number", (kind,))]


def shown(job):
    """A record as a person sees it, and as JSON."""
    text = subprocess.run([WATTLE, "jobs", "show", job], capture_output=True, check=True).stdout
    return text.decode(), wattle("jobs", "show", "--json", job)


def in_store(job):
    """The state of its row, as a number: 1 runs, 2 exited."""
    with sqlite3.connect(f"file:{STATE}/wattle.db?mode=ro", uri=True) as store:
        return store.execute("SELECT state FROM jobs WHERE id = ?", (job,)).fetchone()[0]


@contextlib.contextmanager
def store_unwritable():
    """For everybody else, as on a full disk; reading goes on."""
    store = sqlite3.connect(f"{STATE}/wattle.db", isolation_level=None)
    store.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        store.execute("ROLLBACK")
        store.close()


def an_end_waits_for_the_store():
    grant(pens_add(), "bash")
    wait = "until [[ -e go ]]; do sleep 0.05; done; echo end; exit 3"

    def listed(state=None, *more):
        words = ("--state", state, *more) if state else more
        return [one["job_id"] for one in wattle("jobs", "list", "--json", *words)["jobs"]]

    def run_until_unwritten(client):
        job = client.run("bash", "-c", wait, background=True)["job_id"]
        assert in_store(job) == 1  # control: written while it could be
        return job

    with Client(PEN) as client:
        job = run_until_unwritten(client)
        with store_unwritable():
            open("go", "w").close()
            for _ in range(3):  # the first answer, and those after it
                assert exited(client.status(job, wait=10), 3)["output"] == "end\n"
            assert wattle("jobs", "show", "--json", job)["state"] == "exited"
            assert listed() == [job] and listed("exited") == [job] and listed("running") == []
            assert listed("exited", "--limit", "1") == [job]
            assert in_store(job) == 1
            host = wattle("host", "status", "--json")
            assert host["unwritten"] == 1 and "nothing was saved" in host["store_problem"], host
            assert "nothing was saved" in wattle("host", "status")
        until(lambda: in_store(job) == 2, "the end is written", 70)
        assert listed("exited") == [job] and listed("running") == []
        host = wattle("host", "status", "--json")
        assert host["unwritten"] == 0 and host["store_problem"] is None, host
        assert exited(client.status(job), 3)["output"] == "end\n"
        # Of an end that was never written the next host knows nothing.
        os.remove("go")
        job = run_until_unwritten(client)
        with store_unwritable():
            open("go", "w").close()
            exited(client.status(job, wait=10), 3)
            os.kill(host_pid(), signal.SIGKILL)
        assert in_store(job) == 1
    assert wattle("jobs", "show", "--json", job)["state"] == "stopped"


def a_turn_that_could_not_begin():
    """It begins with the next call; nothing runs in half of one."""
    with Client(PEN) as client:
        assert client.run("pwd")["job_id"] is None  # no pen yet
        pen = pens_add()
        with store_unwritable():
            refused(client.run("pwd"), "nothing was saved")
        job = exited(client.run("pwd"))
        record = wattle("jobs", "show", "--json", job["job_id"])
        chats = wattle("chats", "list", "--json")["chats"]
        assert [(chat["id"], chat["pen"], chat["open_turns"]) for chat in chats] == [
            (record["chat"], pen, 1)], (record, chats)
        assert record["turn"].startswith("t-"), record


# ---- records -------------------------------------------------------------------------------------

def what_a_job_made():
    grant(pens_add(), "sh")
    with open("Makefile", "w") as file:
        file.write("all:\n")
    with open("plain", "w") as file:
        file.write("before\n")
    script = ("mkdir deep; echo x >deep/file; echo y >>Makefile; echo z >>plain; touch .envrc; "
              "touch \"$(printf 'e\\033[31mvil\\342\\200\\256')\"; : >build.sh; true")
    with Client(PEN) as client:
        job = exited(client.run("sh", "-c", script))
        text, record = shown(job["job_id"])
        names = {name["path"]: name for name in record["names"]}
        assert names["deep/file"]["how"] == "created" and names["deep/file"]["reason"] is None
        assert names["deep"]["how"] == "created", names
        assert names["Makefile"]["how"] == "changed" and names["Makefile"]["reason"], names
        assert "plain" not in names, "only files that may run or be trusted are watched for writes"
        assert ".envrc" not in names and not os.path.exists(".envrc")
        assert record["names_total"] == len(names) and record["names_complete"] is True, record
        assert record["denied"] >= 1 and record["denials"][0]["path"].endswith("/.envrc"), record
        assert record["denials"][0]["program"] == "touch", record
        for word in ("deep/file", "Makefile", ".envrc", "touch"):
            assert word in text, (word, text)
        assert "\033" not in text and "\u202e" not in text, text
        # What it was, and what kept it.
        status = os.stat(record["executable"])
        assert record["identity"]["inode"] == status.st_ino, record
        assert record["identity"]["ctime_ns"] == status.st_ctime_ns, record
        assert record["limits"]["deadline_ms"] == 120000 and record["limits"]["processes"] > 0
        assert record["fence"]["mechanism"] == "native", record
        assert record["request"]["command"] == "sh" and record["request"]["args"][0] == "-c"
        assert record["asked_ms"] <= record["began_ms"] <= record["ended_ms"], record


def why_is_the_owners_to_know():
    """A model learns that the owner's rules fail, and whom to ask; the owner, which and where."""
    home = os.environ["HOME"]
    pen = pens_add()
    secret = home + "/plans/topsecret"
    os.makedirs(secret)
    os.makedirs(home + "/.config/wattle")
    wattle("pens", "files", "--json", pen, "add", secret, "write")
    with Client(PEN) as client:
        exited(client.run("pwd"))  # control
        before = exited(client.run("pwd"))["job_id"]

        def fails(word, where):
            job = client.run("pwd")
            refused(job, word, "ask the owner")
            assert home + "/" not in job["notice"].replace(PEN, ""), job
            assert where not in job["notice"], job
            text, record = shown(job["job_id"])
            assert where in record["cause"] and where in text, record
            assert record["notice"] == job["notice"] and record["denied"] is None, record

        os.rename(secret, home + "/plans/elsewhere")
        os.symlink(home + "/plans/elsewhere", secret)
        fails("derive.path-moved", home + "/plans/elsewhere")
        os.remove(secret)
        os.rename(home + "/plans/elsewhere", secret)
        exited(client.run("pwd"))
        with open(home + "/.config/wattle/config.json", "w") as file:
            file.write('{"filesystem": {"denyRead": ["topsecret/../x"], "topsecret": 1}}')
        fails("settings.", "topsecret")
        wattle("host", "stop")  # nor is there another host with such settings
        refused(client.run("pwd"), "cannot be reached", "ask the owner")
        assert "topsecret" not in client.run("pwd")["notice"]
        os.remove(home + "/.config/wattle/config.json")
        exited(client.run("pwd"))
        assert shown(before)[1]["cause"] is None


def what_is_the_same_policy():
    """The digest tells runs that could do the same from those that could not."""
    pen = pens_add()
    os.makedirs(os.environ["HOME"] + "/beside", exist_ok=True)
    with Client(PEN) as client:
        jobs = [exited(client.run("pwd")) for _ in range(2)]
        wattle("pens", "files", "--json", pen, "add", os.environ["HOME"] + "/beside", "read")
        jobs.append(exited(client.run("pwd")))
        digests = [wattle("jobs", "show", "--json", job["job_id"])["policy_digest"] for job in jobs]
        assert digests[0] == digests[1] != digests[2], digests
        assert digests[0].startswith("blake2b:") and len(digests[0]) == 8 + 64, digests
        refused_ = client.run("no-such-program")
        record = wattle("jobs", "show", "--json", refused_["job_id"])
        assert record["policy_digest"] is None and record["names"] is None, record


def records_are_bounded():
    """Whatever a job makes, tries or is given."""
    grant(pens_add(), "sh")
    script = ("i=0; while [ $i -lt 1000 ]; do : >n$i; true 2>/dev/null >.envrc; i=$((i+1)); done; true")
    with Client(PEN) as client:
        job = exited(client.run("sh", "-c", script, "x" * 100000))
        text, record = shown(job["job_id"])
        assert record["names_total"] == 1000 and 100 < len(record["names"]) <= 264, record
        assert record["denied"] == 1000 and 0 < len(record["denials"]) <= 64, record["denied"]
        assert "…and 950 more" in text, text[-3000:]
        listed = wattle("jobs", "list", "--json")
        assert listed["complete"] is True and listed["jobs"][0]["request"]["args_left_out"] >= 1
        assert len(json.dumps(listed)) < 8000 and "names" not in listed["jobs"][0]
        with sqlite3.connect(f"file:{STATE}/wattle.db?mode=ro", uri=True) as store:
            assert store.execute("SELECT max(length(report)) FROM jobs").fetchone()[0] < 1 << 18


def a_hundred_are_kept():
    """And one that runs is never removed."""
    pen = pens_add()
    grant(pen, "sleep")
    with Client(PEN) as client:
        number, _ = sleeping(client)
        for _ in range(105):
            exited(client.run("pwd"))
        jobs = wattle("jobs", "list", "--json", "--limit", "1000")["jobs"]
        assert len(jobs) == 100 and jobs[-1]["job_id"] == number, len(jobs)
        assert jobs[-1]["state"] == "running" and jobs[0]["state"] == "exited"
        client.stop(number)


# ---- the log -------------------------------------------------------------------------------------

def what_is_done_is_in_the_log():
    pen = pens_add()
    grant(pen, "touch")
    with Client(PEN) as client:
        exited(client.run("touch", "made"))
        waiting = client.run("mkdir", "x", background=True)
        wattle("jobs", "stop", "--json", waiting["job_id"])
        refused(client.run("no-such-program"))
    until(lambda: rows("turn.end"), "the turn's end is there")
    wattle("host", "stop")
    until(lambda: not hosts(), "it ended")
    kinds = [kind for kind, _ in rows()]
    assert kinds == ["host.start", "pen.add", "grant.put", "chat.add", "turn.begin",
                     "job.request", "grant.use", "job.start", "job.end",
                     "job.request", "job.wait", "job.end", "job.request", "job.refuse",
                     "turn.end", "host.stop"], kinds
    assert rows("host.stop")[0][1] == {"why": "owner"}
    assert rows("job.end")[1][1]["notice"] == "the owner stopped it", rows("job.end")


# ---- the spool -----------------------------------------------------------------------------------

def spooled():
    """Ids of runs in the log: those that began, and those that ended."""
    return ([body["run"] for kind, body in rows("run.start")],
            [body["run"] for kind, body in rows("run.end")])


def run(*words, status=0):
    ended = subprocess.run([WATTLE, "run", "-q", "--", *words], capture_output=True, timeout=60)
    assert ended.returncode == status, ended


def runs_are_in_the_log():
    """Those before the host's start, and those meanwhile."""
    run("true")
    run("sh", "-c", ": >.envrc", status=2)
    pen = pens_add()
    until(lambda: len(spooled()[1]) == 2, "they are taken in")
    run("false", status=1)
    until(lambda: len(spooled()[1]) == 3, "and the next one")
    began, ended_ = spooled()
    assert began == ended_ and len(set(began)) == 3, (began, ended_)
    assert [body["path"] for _, body in rows("run.denied")] == [PEN + "/.envrc"]
    assert rows("run.start")[0][1]["command"] == ["true"], rows("run.start")
    with sqlite3.connect(f"file:{STATE}/wattle.db?mode=ro", uri=True) as store:
        pens = store.execute("SELECT pen FROM log WHERE kind = 'run.start'").fetchall()
        assert pens == [(None,), (None,), (pen,)], pens
    status = wattle("host", "status", "--json")
    assert status["spool_lines"] == 7 and status["spool_unread"] == 0, status
    assert status["spool_problem"] is None and os.listdir(STATE + "/spool") == [], status


def what_is_no_line_of_a_run():
    os.makedirs(STATE + "/spool", mode=0o700)
    with open(os.open(STATE + "/spool/run.jsonl", os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(b"nonsense\n" + b"x" * (3 << 20) + b"\n{\"half")
    run("true")  # its first line is of the half one
    pens_add()
    until(lambda: wattle("host", "status", "--json")["spool_unread"] == 3, "counted")
    until(lambda: len(spooled()[1]) == 1, "what follows is read")
    status = subprocess.run([WATTLE, "host", "status"], capture_output=True, text=True).stdout
    assert "unreadable lines" in status, status
    assert [body["begins"][:8] for _, body in rows("spool.unread")] == [
        "nonsense", "x" * 8, "{\"half{\""], rows("spool.unread")


def a_killed_host_loses_no_line():
    """Nor is one there twice. WATTLE_ROUNDS: how often."""
    pens_add()
    dice = random.Random()
    rounds = int(os.environ.get("WATTLE_ROUNDS", "8"))
    for _ in range(rounds):
        running = subprocess.Popen([WATTLE, "run", "-q", "--", "true"], stdin=subprocess.DEVNULL)
        wattle("pens", "list", "--json")
        time.sleep(dice.random() / 3)  # the moment is what is tried
        for pid in hosts():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert running.wait(60) == 0
    wattle("pens", "list", "--json")
    until(lambda: len(spooled()[1]) >= rounds, "all are there")
    began, ended_ = spooled()
    assert len(began) == len(set(began)) == rounds and sorted(began) == sorted(ended_), (
        began, ended_)


# ---- kill -9 -------------------------------------------------------------------------------------

SCRATCH = os.environ["HOME"] + "/.cache/wattle/scratch"


def be_client(word, short):
    """A process of its own, as an agent host is: two commands of a model, one with a daemon, or one
    short command after the other. Until it is killed."""
    with contextlib.suppress(Gone):
        client = Client(PEN)
        script = f"setsid sleep {word} & sleep {word}"
        while short:
            client.run("sh", "-c", "echo x >made; rm made", word)
        client.begin("pen_run_command", {"command": "sh", "args": ["-c", script]})
        client.begin("pen_run_command", {"command": "sleep", "args": [word], "background": True})
        while True:
            client.next(600)
    signal.pause()


def start_client(word, short):
    pid = os.fork()
    if pid == 0:
        try:
            be_client(word, short)
        finally:
            os._exit(1)
    return pid


def children(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]
    return []


def kill(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def job_processes():
    """wattle-job of any job of this world: each holds its folder in our scratch."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/exe").endswith("/wattle-job") and any(
                    os.readlink(f"/proc/{pid}/fd/{fd}").startswith(SCRATCH)
                    for fd in os.listdir(f"/proc/{pid}/fd")):
                found.append(int(pid))
    return found


def one_kill(dice, seen):
    word, short = mark(), dice.random() < 0.3
    client = start_client(word, short)
    time.sleep(dice.random() * 0.4)  # the moment is what is tried
    servers = children(client)
    whom = dice.choice(("host", "mcp", "client"))
    seen[whom, "of jobs" if processes_with(word) or job_processes() else "of none"] += 1
    kill({"host": hosts(), "mcp": servers, "client": [client]}[whom])
    if whom == "host":
        until(lambda: not processes_with(word), "no process of a job is left", 2)
    kill(children(client) if whom != "client" else [])
    kill([client])
    os.waitpid(client, 0)
    until(lambda: not processes_with(word) and not job_processes(), "no process is left", 2)
    until(lambda: not processes_with(PEN), "the server ends after its client")  # else it may start a host


def all_is_whole():
    """After one more start of the host."""
    wattle("host", "stop")
    until(lambda: not hosts(), "it ended")
    assert wattle("jobs", "list", "--json", "--state", "running")["jobs"] == []
    assert wattle("jobs", "list", "--json", "--state", "awaiting_approval")["jobs"] == []
    assert wattle("chats", "list", "--json")["chats"][0]["open_turns"] == 0
    assert [name for name in os.listdir(SCRATCH) if name.startswith(("run-", "aside-"))] == []
    wattle("host", "stop")
    until(lambda: not hosts(), "it ended")
    with sqlite3.connect(STATE + "/wattle.db") as store:
        assert store.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert store.execute("PRAGMA foreign_key_check").fetchall() == []
    kinds = collections.Counter(kind for kind, _ in rows())
    assert kinds["job.request"] == kinds["job.end"] + kinds["job.refuse"], kinds
    assert kinds["turn.begin"] == kinds["turn.end"], kinds
    return kinds


def checked():
    report = json.loads(subprocess.run([WATTLE, "doctor", "--json"], capture_output=True).stdout)
    return [check for check in report["checks"] if check["name"] == "store"][0]


def the_doctor_reads_the_store():
    """All of it, also while the host has it open; the host's start does not."""
    assert checked()["status"] == "ok" and "none" in checked()["detail"], checked()
    assert not os.path.exists(STATE)
    pens_add()
    assert checked()["status"] == "ok", checked()
    with sqlite3.connect(STATE + "/wattle.db") as store:
        store.execute("UPDATE log SET body = '[]' WHERE number = 1")
    broken = checked()
    assert broken["status"] == "missing" and "row 1 of the log" in broken["detail"], broken
    assert "wattle.db" in broken["mend"], broken
    wattle("host", "stop")
    until(lambda: not hosts(), "it ended")
    assert len(wattle("pens", "list", "--json")["pens"]) == 1  # a start does not mind


def killed_at_random():
    """The host, `wattle mcp` or its client is killed at any moment. WATTLE_ROUNDS: how often; the
    long form, tests/long/host_kills.sh, has 500. WATTLE_SEED repeats a sequence."""
    grant(pens_add(), "sleep", "sh")
    seed = int(os.environ.get("WATTLE_SEED", time.time_ns() % 100000))
    dice = random.Random(seed)
    seen = collections.Counter()
    print("WATTLE_SEED", seed)
    for number in range(int(os.environ.get("WATTLE_ROUNDS", "15"))):
        one_kill(dice, seen)
        if number % 50 == 49:
            all_is_whole()
    kinds = all_is_whole()
    print({" ".join(key): count for key, count in sorted(seen.items())}, dict(kinds))


def what_was_put_aside_is_removed():
    """Empty folders of runs that were over; a run that goes on keeps its own."""
    grant(pens_add(), "sleep")
    with Client(PEN) as client:
        sleeping(client)
    wattle("host", "stop")
    until(lambda: not hosts(), "it ended")
    for number in range(5):
        os.makedirs(f"{SCRATCH}/aside-{number:016x}", mode=0o700)
    with subprocess.Popen([WATTLE, "run", "-q", "--", "cat"], stdin=subprocess.PIPE) as running:
        until(lambda: [name for name in os.listdir(SCRATCH) if name.startswith("run-")], "it runs")
        wattle("pens", "list", "--json")
        names = os.listdir(SCRATCH)
        assert not [name for name in names if name.startswith("aside-")], names
        assert len([name for name in names if name.startswith("run-")]) == 1, names
        running.stdin.close()
        assert running.wait(60) == 0


if __name__ == "__main__":
    globals()[sys.argv[1]]()
