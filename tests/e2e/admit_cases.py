"""Cases of admit.bats: what the host lets run, and what of it. Each a function, named by the one
argument. The current folder is no pen yet."""

import sys

from mcp_cases import *  # noqa: F403
from mcp_cases import exited, mark, refused, sleeping

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


if __name__ == "__main__":
    globals()[sys.argv[1]]()
