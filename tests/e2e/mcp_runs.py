"""Cases of mcp.bats: what may run, and where. Each is a function, named by the one argument.
The current folder is no pen yet."""

import os
import sys

from cases import *  # noqa: F403

# ---- why it failed -------------------------------------------------------------------------------

def why_it_failed():
    """As `wattle run` tells it, but with what a model can do: no option, no rule."""
    grant(pens_add(), "bash")
    home = os.environ["HOME"]
    os.makedirs(home + "/.ssh", exist_ok=True)
    os.symlink(home + "/.ssh", "link")
    os.symlink("/proc/self/exe", "exe")

    def told(job, *words):
        for word in words:
            assert word in (job["notice"] or ""), (word, job)
        for word in ("--", "chmod", "PATH", " -C", " -t"):
            assert word not in job["notice"], (word, job)

    with Client(PEN) as client:
        assert exited(client.run("cat", "nothing"), 1)["notice"] is None  # control: the job's own
        told(exited(client.run("cat", home + "/.ssh/id"), 1), "blocked: read of", "credentials")
        told(exited(client.run("bash", "-c", "echo x >" + home + "/x"), 1), "outside", "owner")
        told(exited(client.run("bash", "-c", "exec 3<>/dev/tcp/192.0.2.1/80"), 1), "network")
        told(exited(client.run("bash", "-c", "echo 'not a tty' >&2; exit 7"), 7), "terminal")
        long = "printf '%060000d' 0; echo; echo 'not a tty'; exit 7"
        told(exited(client.run("bash", "-c", long), 7), "terminal")
        for command, more, words in (("pwd", {"working_directory": "link"}, ["name a folder"]),
                                     ("no-such-program", {}, ["give its path"]),
                                     ("/proc/self/exe", {}, []), ("./exe", {}, []),
                                     ("/proc/self/../self/exe", {}, [])):
            job = client.run(command, background=True, **more)
            refused(job)
            told(job, *words)
        # The longest argument the kernel takes, and one byte more.
        exited(client.run("ls", "-" * 131071), 2)
        refused(client.run("ls", "-" * 131072), "131072 bytes", "131071", "file")


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


if __name__ == "__main__":
    globals()[sys.argv[1]]()
