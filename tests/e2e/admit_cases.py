"""Cases of admit.bats: what the host lets run, and what of it. Each a function, named by the one
argument. The current folder is no pen yet."""

import shutil
import sys

import cases  # noqa: F401, before mcp_talk: it says where that is
import mcp_talk
from cases import *  # noqa: F403
from cases import exited, mark, refused, sleeping

HOME = os.environ["HOME"]


def configure(**wattle_keys):
    """The owner's config.json; a host that runs does not read it again."""
    os.makedirs(HOME + "/.config/wattle", exist_ok=True)
    with open(HOME + "/.config/wattle/config.json", "w") as file:
        json.dump({"wattle": wattle_keys}, file)


def restart():
    wattle("host", "stop")
    until(lambda: not hosts(), "the host ended")


def script(path, text, shell="/bin/sh"):
    with open(path, "w") as file:
        file.write(f"#!{shell}\n{text}\n")
    os.chmod(path, 0o755)
    return path


# ---- settings ------------------------------------------------------------------------------------

def limits_are_the_owners():
    configure(host={"turnJobs": 2, "jobs": 3, "deadlineLeast": "2s", "deadlineMost": "700s",
                    "foreground": "1s", "records": 3, "idle": "1s"})
    pen = pens_add()
    grant(pen, "sleep", "true")
    with Client(PEN) as client, Client(PEN) as other:
        running = [sleeping(client)[0] for _ in range(2)]
        refused(client.run("sleep", mark(), background=True), *running)
        sleeping(other)
        refused(other.run("sleep", mark(), background=True), "3 commands")
        client.stop(running[0])
        refused(client.run("true", deadline_seconds=1), "from 2 to 700")
        refused(client.run("true", deadline_seconds=701), "from 2 to 700")
        job = client.run("sleep", "300", deadline_seconds=700)
        assert job["state"] == "running", job  # after a second of waiting
        client.stop(job["job_id"])
        for _ in range(5):
            exited(client.run("true"))
        client.stop(running[1])
        kept = wattle("jobs", "list", "--json")["jobs"]
        assert len(kept) == 3 and "running" in [job["state"] for job in kept], kept
    until(lambda: not hosts(), "an idle host ends")


def idle_turns_end():
    configure(host={"turnIdle": "1s"})
    pen = pens_add()
    grant(pen, "sleep")

    def chat():
        return wattle("chats", "list", "--json")["chats"][0]

    with Client(PEN) as client, Client(PEN) as busy:
        job = exited(client.run("pwd"))["job_id"]
        number, _ = sleeping(busy)
        until(lambda: chat()["open_turns"] == 1, "the idle turn ended, not the one that runs something")
        assert busy.status(number)["state"] == "running"
        refused(client.status(job))  # of a turn that is over
        exited(client.run("pwd"))  # another one
        assert chat()["turns"] == 3, chat()
        busy.stop(number)
        until(lambda: chat()["open_turns"] == 0, "both are idle")
        wattle("chats", "end-turn", "--json", chat()["id"])  # of turns that ended by themselves too
        for one in (client, busy):
            refused(one.run("pwd"), "owner ended this turn")


def limits_are_read_at_the_start():
    pens_add()
    configure(host={"deadlineMost": "5s"})
    with Client(PEN) as client:
        exited(client.run("pwd", deadline_seconds=6))
    restart()
    with Client(PEN) as client:
        refused(client.run("pwd", deadline_seconds=6), "from 1 to 5")
        exited(client.run("pwd"))
    restart()
    # What makes no sense starts no host, and says why.
    for host, word in (({"deadlineMost": "5s", "deadlineLeast": "6s"}, "deadlineLeast"),
                       ({"deadlineMost": "25h"}, "24h"), ({"turnJobs": 0}, "turnJobs"),
                       ({"turnJob": 4}, "did you mean 'turnJobs'")):
        configure(host=host)
        ended = subprocess.run([WATTLE, "pens", "list"], capture_output=True, text=True)
        assert ended.returncode == 1 and word in ended.stderr, ended


def folders_of_the_owners():
    tools = HOME + "/tools"
    os.makedirs(tools)
    script(tools + "/my-tool", "echo mine")
    os.makedirs(HOME + "/.ssh")
    script(HOME + "/.ssh/bad-tool", "echo bad")
    script(HOME + "/home-tool", "echo bad")
    os.makedirs("bin")
    script("bin/pen-tool", "echo bad")
    # The caller's PATH is no matter: the first client could be anybody.
    os.environ["PATH"] = tools + ":" + os.environ["PATH"]
    made = wattle("pens", "add", "--json", ".")
    assert any("wattle.path" in note["note"] for note in made["notes"]), made
    pen = made["id"]
    wattle("grants", "add", "--json", pen, "my-tool", status=1)
    with Client(PEN) as client:
        refused(client.run("my-tool"), "cannot find", "my-tool")
    configure(path=[tools, HOME, HOME + "/.ssh", PEN + "/bin", HOME + "/.local/state/wattle",
                    HOME + "/missing"])
    wattle("grants", "add", "--json", pen, "my-tool")
    with Client(PEN) as client:
        assert exited(client.run("my-tool"))["output"] == "mine\n"
        for name in ("bad-tool", "home-tool", "pen-tool"):
            refused(client.run(name), "cannot find", name)
    other = HOME + "/work/other"
    os.makedirs(other)
    notes = " ".join(note["note"] for note in wattle("pens", "add", "--json", other)["notes"])
    for word in (f"'{HOME}' on PATH adds nothing", f"'{HOME}/.ssh' on PATH adds nothing",
                 f"'{HOME}/.local/state/wattle' on PATH adds nothing"):
        assert word in notes, notes
    assert "wattle.path" not in notes, notes
    ended = subprocess.run([WATTLE, "pens", "add", "."], capture_output=True, text=True)
    assert ended.returncode == 1, ended


def pens_as_an_option():
    pen = pens_add()
    first = wattle("grants", "add", "--json", "--pen", PEN, "true")
    assert first["pen"] == pen, first
    assert wattle("grants", "add", "--json", "--pen", pen, "true")["id"] == first["id"]
    assert wattle("grants", "add", "--json", pen, "true")["id"] == first["id"]
    assert wattle("grants", "add", "--json", "--pen", ".", "true")["id"] == first["id"]
    assert len(wattle("grants", "list", "--json", "--pen", PEN)["grants"]) == 1
    wattle("grants", "add", "--json", "--pen", pen, pen, "true", status=2)
    wattle("grants", "add", "--json", "--pen", pen, status=2)


# ---- what was looked at is what runs -------------------------------------------------------------

def copies():
    try:
        return os.listdir(HOME + "/.local/state/wattle/copies")
    except FileNotFoundError:
        return []


def swap(path, text, shell="/bin/sh"):
    """Another file at the path, at once; of the same size and times, as far as those can be set."""
    before = os.stat(path)
    other = path + ".other"
    script(other, text, shell)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    os.rename(other, path)


def contents_are_granted():
    pen = pens_add()
    os.makedirs("bin")
    script("bin/tool", "echo one")
    with Client(PEN) as client:
        assert client.run("bin/tool", background=True)["state"] == "awaiting_approval"
        given = wattle("grants", "add", "--json", pen, PEN + "/bin/tool")
        assert given["state"] == "ok" and len(given["content"]) == 64, given
        assert exited(client.run("bin/tool"))["output"] == "one\n"
        # Other bytes of the same size and time, by a new file and in place.
        swap("bin/tool", "echo two")
        assert client.run("bin/tool", background=True)["state"] == "awaiting_approval"
        assert wattle("grants", "list", "--json", pen)["grants"][0]["state"] == "changed"
        swap("bin/tool", "echo one")  # the reviewed bytes, in another file: those are what counts
        assert wattle("grants", "list", "--json", pen)["grants"][0]["state"] == "ok"
        assert exited(client.run("bin/tool"))["output"] == "one\n"
        seen = os.stat("bin/tool")
        with open("bin/tool", "r+") as file:
            file.write("#!/bin/sh\necho 222")
        os.utime("bin/tool", ns=(seen.st_atime_ns, seen.st_mtime_ns))
        assert client.run("bin/tool", background=True)["state"] == "awaiting_approval"
        os.unlink("bin/tool")
        assert wattle("grants", "list", "--json", pen)["grants"][0]["state"] == "missing"
        # A file of the owner's alone is known by its identity, and has no content.
        own = script(HOME + "/own", "echo own")
        assert wattle("grants", "add", "--json", pen, own)["content"] is None
        assert exited(client.run(own))["output"] == "own\n"
    until(lambda: not copies(), "no copy is left")


def copies_are_what_runs():
    """Inside, the file at the path is the copy: read-only, and the script is what was reviewed."""
    pen = pens_add()
    script("tool", "cat \"$0\"; touch waits; while ! test -e go; do sleep 0.05; done; echo more >>$0;"
           " rm -f $0; echo $?")
    text = open("tool").read()
    grant(pen, PEN + "/tool")
    with Client(PEN) as client:
        job = client.run("./tool", background=True)
        until(lambda: os.path.exists("waits"), "it runs")
        with open("tool", "a") as file:  # in place: the script is read while it runs
            file.write("echo changed\n")
        open("go", "w").close()
        job = client.status(job["job_id"], wait=10)
        assert job["state"] == "exited" and job["output"].startswith(text), job
        assert "changed" not in job["output"] and job["output"].endswith("1\n"), job
        assert os.path.exists("tool")
    until(lambda: not copies(), "no copy is left")


def interpreters_count():
    pen = pens_add()
    os.makedirs("bin")
    script("bin/inner", "echo inner \"$@\"")
    script("bin/outer", "", shell=PEN + "/bin/inner")
    grant(pen, PEN + "/bin/outer")
    with Client(PEN) as client:
        assert exited(client.run("bin/outer", "x"))["output"] == f"inner bin/outer x\n".replace(
            "bin/outer", PEN + "/bin/outer"), client.run("bin/outer", "x")
        swap("bin/inner", "echo other \"$@\"")
        assert client.run("bin/outer", background=True)["state"] == "awaiting_approval"
        swap("bin/inner", "echo inner \"$@\"")
        exited(client.run("bin/outer"))
        # A chain without an end, a relative one, one that is not there, one that does not show.
        for number in range(7):
            script(f"bin/{number}", "", shell=f"{PEN}/bin/{number + 1}")
        refused(client.run("bin/0"), "chain of more than 4")
        script("bin/tool", "", shell="bin/inner")
        refused(client.run("bin/tool"), "no absolute path")
        script("bin/tool", "", shell="/usr/bin/no-such")
        refused(client.run("bin/tool"), "not there")
        secret = script(HOME + "/outside/hidden", "echo secret")
        script("bin/tool", "", shell=secret)
        refused(client.run("bin/tool"), "not there inside")
        script("bin/tool", "", shell="/dev/zero")
        refused(client.run("bin/tool"))
        os.mkfifo("bin/fifo", 0o755)
        script("bin/tool", "", shell=PEN + "/bin/fifo")
        refused(client.run("bin/tool"))
        refused(client.run("bin/fifo"))
        # An interpreter through a symlink of the pen's, as virtual environments have it.
        os.symlink("/bin/sh", "bin/sh")
        script("bin/tool", "echo linked", shell=PEN + "/bin/sh")
        grant(pen, PEN + "/bin/tool")
        assert exited(client.run("bin/tool"))["output"] == "linked\n"
        os.unlink("bin/sh")
        os.symlink("/bin/cat", "bin/sh")
        assert client.run("bin/tool", background=True)["state"] == "awaiting_approval"


def other_pens_can_write_too():
    """What jobs of another pen can change is copied, though this pen's cannot write it."""
    other = HOME + "/work/other"
    beside = HOME + "/beside"
    os.makedirs(other)
    os.makedirs(beside)
    pen, second = pens_add(), pens_add(other)
    wattle("pens", "files", "--json", second, "add", beside, "write")
    for folder_ in (other, beside):
        tool = script(folder_ + "/tool", "echo one")
        assert wattle("grants", "add", "--json", pen, tool)["content"] is not None
        with Client(PEN) as client:
            assert exited(client.run(tool))["output"] == "one\n"
            swap(tool, "echo two")
            assert client.run(tool, background=True)["state"] == "awaiting_approval"


def copies_are_bounded():
    configure(host={"copySize": "64K"})
    pen = pens_add()
    script("tool", "exit 0\n" + "#" * 60000)
    grant(pen, PEN + "/tool")
    with Client(PEN) as client:
        exited(client.run("./tool"))
        script("tool", "exit 0\n" + "#" * 70000)
        refused(client.run("./tool"), "64", "copySize")
        wattle("grants", "add", "--json", pen, PEN + "/tool", status=1)
        with open("huge", "w") as file:
            file.truncate(1 << 40)
        os.chmod("huge", 0o755)
        refused(client.run("./huge"), "copySize")
        assert wattle("grants", "list", "--json", pen)["grants"][0]["state"] == "changed"
    until(lambda: not copies(), "no copy is left")


def swapped_before_the_mount():
    """Between the second look and the mount: wattle-job is one that waits, so the moment is sure."""
    place = HOME + "/installed"
    os.makedirs(place + "/bin")
    os.makedirs(place + "/libexec/wattle")
    built = os.path.dirname(os.path.dirname(os.path.abspath(WATTLE)))
    for source, name in ((WATTLE, "bin/wattle"), (built + "/host/wattle-host",
                                                  "libexec/wattle/wattle-host")):
        shutil.copy(source, f"{place}/{name}")
    os.mkfifo(HOME + "/reached")
    os.mkfifo(HOME + "/go")
    script(place + "/libexec/wattle/wattle-job",
           f"echo >{HOME}/reached; read -r _ <{HOME}/go; exec {built}/job/wattle-job \"$@\"")
    mcp_talk.WATTLE = place + "/bin/wattle"
    pen = pens_add()

    def at_the_mount(command, change, grants=()):
        for name in grants:
            grant(pen, name)
        with Client(PEN) as client:
            number = client.begin("pen_run_command", {"command": command})
            with open(HOME + "/reached") as file:
                file.read()
            change()
            with open(HOME + "/go", "w") as file:
                file.write("\n")
            return client.job(number)

    def write_in_place(path):
        with open(path, "r+") as file:
            file.write("#!/bin/sh\necho bad\n")

    def put(path, make):
        os.rename(path, path + ".was")
        make(path)

    # Control: nothing is changed.
    script("tool", "echo reviewed")
    assert exited(at_the_mount("./tool", lambda: None, [PEN + "/tool"]))["output"] == "reviewed\n"
    # Of the pen: the reviewed bytes run, or none.
    for change in (lambda: swap("tool", "echo bad"), lambda: write_in_place("tool")):
        script("tool", "echo reviewed")
        assert exited(at_the_mount("./tool", change))["output"] == "reviewed\n"
    for make, runs in ((lambda path: os.symlink("/usr/bin/id", path), False), (os.mkdir, False),
                       (lambda path: None, False), (os.mkfifo, True)):
        script("tool", "echo reviewed")
        job = at_the_mount("./tool", lambda: put("tool", make))
        if runs:
            assert exited(job)["output"] == "reviewed\n", job
        else:
            refused(job)
        if os.path.isdir("tool"):
            os.rmdir("tool")
        os.rename("tool.was", "tool")
    # Of the owner's: replaced or changed in place, it does not run.
    own = script(HOME + "/own", "echo reviewed")
    assert exited(at_the_mount(own, lambda: None, [own]))["output"] == "reviewed\n"
    refused(at_the_mount(own, lambda: swap(own, "echo bad")), "replaced")
    script(own, "echo reviewed")
    grant(pen, own)
    refused(at_the_mount(own, lambda: write_in_place(own)), "replaced")
    # The pen itself.
    def another_pen():
        os.rename(PEN, PEN + "-before")
        os.mkdir(PEN)
        script(PEN + "/tool", "echo bad")
    refused(at_the_mount("./tool", another_pen), "replaced")


def changed_in_a_loop():
    """While another thread writes the file all the time: the reviewed bytes run, or none. In
    place; what is renamed over it is in hold_cases.py."""
    import threading

    texts = ["#!/bin/sh\necho reviewed       ", "#!/bin/sh\necho bad;touch pwned"]
    pen = pens_add()
    script("tool", "")
    with open("tool", "w") as file:
        file.write(texts[0])
    grant(pen, PEN + "/tool")
    over = threading.Event()

    def change():
        number = 0
        while not over.is_set():
            number += 1
            with open("tool", "r+") as file:
                file.write(texts[number % 2])
            if number % 64 == 0:
                time.sleep(0.01)

    changer = threading.Thread(target=change)
    changer.start()
    seen = {}
    try:
        with Client(PEN) as client:
            for _ in range(int(os.environ.get("WATTLE_ROUNDS", "60"))):
                job = client.run("./tool", background=True)
                job = client.status(job["job_id"], wait=10) if job["state"] == "running" else job
                if job["state"] == "awaiting_approval":
                    client.stop(job["job_id"])
                seen[job["state"]] = seen.get(job["state"], 0) + 1
                assert job["output"] in ("", "reviewed\n"), job
                assert not os.path.exists("pwned")
    finally:
        over.set()
        changer.join()
    assert seen.get("exited") and len(seen) > 1, seen  # it was raced


def the_pen_swapped_in_a_loop():
    """While another thread exchanges the pen with a folder beside it: jobs see the pen, or do not
    run; of the other folder nothing."""
    import ctypes
    import threading

    exchange = ctypes.CDLL(None, use_errno=True).renameat2
    other = HOME + "/work/other"
    os.makedirs(other)
    pens_add()
    for path, name in ((PEN, "mine"), (other, "theirs")):
        with open(f"{path}/{name}", "w") as file:
            file.write(name)
    over = threading.Event()

    def change():
        while not over.is_set():
            assert exchange(-100, PEN.encode(), -100, other.encode(), 2) == 0  # RENAME_EXCHANGE
            time.sleep(0.0005)

    seen = {}
    with Client(PEN) as client:
        assert exited(client.run("ls", "-d", PEN + "/mine"))  # control: nothing is changed
        changer = threading.Thread(target=change)
        changer.start()
        try:
            for _ in range(int(os.environ.get("WATTLE_ROUNDS", "60"))):
                job = client.run("ls")
                seen[job["state"]] = seen.get(job["state"], 0) + 1
                assert "theirs" not in job["output"], job
                if job["state"] == "refused":
                    seen["told"] = seen.get("told", 0) + ("another folder" in job["notice"])
        finally:
            over.set()
            changer.join()
    assert seen.get("refused") and seen["told"], seen  # it was raced


def names_on_the_path():
    """A name that another folder has as well, before or after the look."""
    first, second = HOME + "/first", HOME + "/second"
    os.makedirs(first)
    os.makedirs(second)
    script(second + "/tool", "echo reviewed")
    configure(path=[first, second])
    pen = pens_add()
    grant(pen, "tool")
    with Client(PEN) as client:
        assert exited(client.run("tool"))["output"] == "reviewed\n"
        script(first + "/tool", "echo bad")
        assert client.run("tool", background=True)["state"] == "awaiting_approval"
        os.unlink(first + "/tool")
        exited(client.run("tool"))
        # While it is asked: the answer was for the one that was found.
        script(second + "/late", "echo reviewed")
        job = client.run("late", background=True)
        assert job["state"] == "awaiting_approval", job
        script(first + "/late", "echo bad")
        grant(pen, second + "/late")
        refused(client.status(job["job_id"], wait=10), "changed", "ask again")
        # What the pen has by the name of a program is never meant by that name.
        script("sleep", "echo bad")
        grant(pen, "sleep")
        assert exited(client.run("sleep", "0"))["output"] == ""


def ways_out_of_the_pen():
    pen = pens_add()
    os.makedirs("sub")
    os.symlink(HOME + "/outside", "out")
    script(HOME + "/outside/tool", "echo outside")
    os.symlink(HOME + "/outside/tool", "leads-out")
    os.symlink("/usr/bin/id", "leads-to-system")
    with Client(PEN) as client:
        refused(client.run("./leads-out"), "leads out")
        refused(client.run("out/tool"), "leads out")
        wattle("grants", "add", "--json", pen, PEN + "/leads-out", status=1)
        # What shows anyway may be meant: the grant is then of what it leads to.
        job = client.run("./leads-to-system", background=True)
        assert job["state"] == "awaiting_approval" and "/usr/bin/id" in job["notice"], job
        refused(client.run("pwd", working_directory="out"))
        refused(client.run("pwd", working_directory="sub/../.."), "'..'")
        refused(client.run("pwd", working_directory=PEN), "relative")
        refused(client.run("../pen/sub"))


def what_a_job_does_not_see_is_not_told():
    """Whether something is there, can be executed or is a credential: one answer outside of the pen and
    of what shows, by a path, a symlink of the pen's or '..'."""
    pen = pens_add()
    outside = HOME + "/outside"
    os.makedirs(outside + "/folder")
    os.makedirs(outside + "/closed", mode=0)
    os.makedirs(HOME + "/.ssh")
    open(outside + "/file", "w").close()
    script(HOME + "/.ssh/tool", "echo bad")
    os.symlink(outside + "/missing", outside + "/dangles")
    os.symlink(PEN + "/missing", outside + "/leads-back")
    asked = [outside + "/" + name for name in ("missing", "file", "file/below", "missing/below", "folder",
                                               "dangles", "leads-back", "closed/below")]
    asked += [HOME + "/.ssh/" + name for name in ("tool", "missing", "tool/below")]
    os.makedirs("links")
    for number, path in enumerate(asked[:]):
        os.symlink(path, f"links/{number}")
        asked.append(f"links/{number}")
    os.symlink(outside, "links/out")
    script(outside + "/tool", "echo outside")
    asked += ["links/out/missing", "links/out/file", "links/out/tool", "../../outside/file",
              "../../outside/missing", outside + "/folder/../../work/pen/missing",
              outside + "/missing/../../work/pen/missing"]
    open("file", "w").close()
    answers = set()
    with Client(PEN) as client:
        for path in asked:
            job = client.run(path)
            refused(job, "not something that can be run here")
            answers.add(job["notice"].replace(path, "PATH"))
        assert len(answers) == 1, answers
        # Of what shows it is told.
        for path, word in (("./missing", "cannot find"), ("./file", "cannot execute"),
                           ("links", "cannot"), ("/usr/bin/no-such", "cannot find"),
                           ("/bin/no-such", "cannot find")):
            refused(client.run(path if "/" in path else "./" + path), word)
    ended = mcp_talk.owner_runs("grants", "add", pen, outside + "/file")  # and the owner
    assert ended.returncode == 1 and "cannot execute" in ended.stderr, ended


# ---- who asks ------------------------------------------------------------------------------------

def touched_in(trace):
    """Lines of system calls that name a path of the test's home, but for wattle's own folders."""
    own = tuple(HOME + name for name in ("/.local", "/.config", "/.cache"))
    with open(trace) as file:
        for line in file:
            for path in line.split('"')[1::2]:
                if path.startswith(HOME) and not path.startswith(own):
                    yield path, line


def paths_that_are_no_pens():
    """One answer for all of them, and nothing below them is opened or looked at by anybody."""
    os.makedirs(HOME + "/.ssh/below", mode=0o700)
    os.makedirs("inside/.git")
    open("file", "w").close()
    os.symlink(HOME + "/.ssh", "link")
    wattle("pens", "list", "--json")  # there is a host
    trace = HOME + "/trace"
    tracer = subprocess.Popen(["strace", "-f", "-qq", "-o", trace, "-e", "trace=%file", "-p",
                               str(host_pid())], stderr=subprocess.DEVNULL)
    until(lambda: "TracerPid:\t0\n" not in open(f"/proc/{host_pid()}/status").read(), "it traces")
    answers, asked = set(), [
        PEN, HOME, "/", HOME + "/.ssh", HOME + "/.ssh/below", HOME + "/.ssh/missing", "/missing",
        HOME + "/.local/state", HOME + "/.local/state/wattle", PEN + "/file", PEN + "/link",
        PEN + "/inside", PEN + "/file/below"]
    calls = "".join(json.dumps({
        "jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {
            "_meta": {META + "protocolVersion": STATELESS, META + "clientCapabilities": {}},
            "name": "pen_run_command", "arguments": {"command": command}}}) + "\n"
                    for number, command in enumerate(("ls", "./no-such", PEN + "/file")))
    try:
        for number, path in enumerate(asked):
            client = subprocess.Popen(
                ["strace", "-f", "-qq", "-o", f"{trace}.{number}", "-e", "trace=%file", WATTLE, "mcp",
                 "--pen", path], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL)
            client.stdin.write(calls)
            client.stdin.flush()
            for _ in range(3):
                answers.add(json.dumps(
                    json.loads(client.stdout.readline())["result"]["structuredContent"]))
            client.stdin.close()
            client.wait(60)
            for seen, line in touched_in(f"{trace}.{number}"):
                # Its own name, those above it, and what a symlink names; never what is below, and
                # nothing is opened.
                assert path.startswith(seen) or seen == HOME or (
                    path.endswith("/link") and seen == HOME + "/.ssh"), line
                assert "open" not in line.split("(")[0] or "O_PATH" in line, line
    finally:
        tracer.terminate()
        tracer.wait()
    assert len(answers) == 1 and "awaiting_approval" in list(answers)[0], answers
    for _, line in touched_in(trace):
        raise AssertionError(line)  # the host looks at none of them


def kin_of_a_model_decides_nothing():
    pen = pens_add()
    with Client(PEN) as client:
        exited(client.run("pwd"))
        # We started it: what we start is no owner.
        for words in (("grants", "add", pen, "true"), ("pens", "add", HOME + "/outside"),
                      ("pens", "files", pen, "add", HOME + "/outside"),
                      ("pens", "rebind", pen, HOME + "/outside")):
            for before in ((), ("sh", "-c", '"$0" "$@"; exit $?')):
                ended = subprocess.run([*before, WATTLE, *words], capture_output=True, text=True)
                assert ended.returncode == 1 and "another terminal" in ended.stderr, ended
        assert wattle("grants", "list", "--json", pen)["grants"] == []
        # It may look, and stop.
        subprocess.run([WATTLE, "jobs", "list"], check=True, capture_output=True)
        subprocess.run([WATTLE, "grants", "list", pen], check=True, capture_output=True)
        wattle("grants", "add", "--json", pen, "true")  # control: from another terminal
    # And when no `wattle mcp` of ours is connected any more.
    until(lambda: wattle("host", "status", "--json")["clients"] == 1, "it is gone")
    subprocess.run([WATTLE, "grants", "add", pen, "env"], check=True, capture_output=True)


def an_unconfined_parent_is_named():
    words = "is not confined"
    with open("/proc/self/status") as file:
        line = file.read()
    ended = subprocess.run([WATTLE, "mcp"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert ended.returncode == 0 and ended.stdout == "", ended
    assert (words in ended.stderr) == ("Seccomp:\t0" in line and "NoNewPrivs:\t0" in line), ended
    ended = subprocess.run(["setpriv", "--no-new-privs", "sh", "-c", f"{WATTLE} mcp; exit $?"],
                           stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert ended.returncode == 0 and words not in ended.stderr, ended


if __name__ == "__main__":
    globals()[sys.argv[1]]()
