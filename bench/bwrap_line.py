#!/usr/bin/env python3
"""bwrap_line.py WATTLE PEN FOLDER [SECCOMP_BAKED_H]

Prints, one a line, the bubblewrap command line that gives /bin/true what `wattle run --pen PEN`
gives it: the same namespaces, binds, synthesised files, /dev, /proc, tmpfs, environment and seccomp
bytes. What it is asked for comes from `wattle policy show --json`, so that both do the same work.
Bubblewrap has no Landlock, and covers less of /proc: it does a little less.

FOLDER holds what the line needs: stand-ins for files whose content wattle makes, and the filter."""
import json
import os
import pathlib
import re
import struct
import subprocess
import sys

FILTER_FD = 9


def ask_policy(wattle, pen):
    command = [wattle, "policy", "show", "--json", "--pen", pen, "--", "/bin/true"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def rule_words(rule):
    flag = {"read": "--ro-bind-try", "write": "--bind-try"}.get(rule["access"])
    return [flag, rule["path"], rule["path"]] if flag else ["--tmpfs", rule["path"]]


def place_words(place, folder):
    path = place["path"]
    kind = place["kind"]
    if kind == "symlink":
        return ["--symlink", place["source"], path]
    if kind == "bind":
        flag = "--bind" if place["access"] == "write" else "--ro-bind"
        return [flag, place["source"], path]
    if kind == "tmpfs":
        size = ["--size", str(place["bytes"])] if place.get("bytes") else []
        return [*size, "--tmpfs", path]
    if kind == "file":
        stand_in = folder / path.strip("/").replace("/", "-")
        stand_in.write_bytes(b"x" * place.get("bytes", 0))
        return ["--ro-bind", str(stand_in), path]
    return {"dev": ["--dev", path], "proc": ["--proc", path], "folder": ["--dir", path]}[kind]


def own_words(folder):
    """The run's home, temporary folder and caches: folders on disk, as wattle makes them."""
    words = []
    for name in ("home", "tmp", "cache"):
        (folder / name).mkdir(exist_ok=True)
        words += ["--bind", str(folder / name), f"/wattle/{name}"]
    return words


def mount_words(policy, folder):
    """Parents before what lies below them, as every mount has to be."""
    steps = {rule["path"]: rule_words(rule) for rule in policy["rules"]}
    for place in policy["places"]:
        if not place["path"].startswith("/wattle/"):
            steps[place["path"]] = place_words(place, folder)
    words = [word for path in sorted(steps) for word in steps[path]]
    return words + own_words(folder)


def write_filter(header, folder):
    """The bytes wattle's commands wear, for this processor; None: not there."""
    machine = os.uname().machine
    text = pathlib.Path(header).read_text(encoding="ascii")
    found = re.search(rf"seccomp_baked_{machine}_command\[\] = \{{(.*?)\n\}};", text, re.S)
    if not found:
        return None
    lines = re.findall(r"\{(\w+), (\w+), (\w+), (\w+)\}", found.group(1))
    path = folder / "filter"
    path.write_bytes(b"".join(struct.pack("HBBI", *(int(x, 0) for x in line)) for line in lines))
    return path


def main():
    wattle, pen, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    policy = ask_policy(wattle, pen)
    words = ["bwrap", "--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--hostname", "wattle",
             "--cap-drop", "ALL", "--clearenv"]
    for variable in policy["environment"]:
        words += ["--setenv", variable["name"], variable["value"] or "x"]
    words += mount_words(policy, folder)
    header = sys.argv[4] if len(sys.argv) > 4 else None
    filter_path = write_filter(header, folder) if header and os.path.exists(header) else None
    if filter_path:
        words = [f"@{FILTER_FD}={filter_path}", *words, "--seccomp", str(FILTER_FD)]
    words += ["--chdir", policy["cwd"], "--", "/bin/true"]
    print("\n".join(words))


main()
