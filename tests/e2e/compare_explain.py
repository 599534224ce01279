"""compare_explain.py POLICY SAID KERNEL: holds the answers of `policy explain --json` against what
probe_paths saw inside. Prints the differences and exits 1, or the number of paths.

A hidden folder above something open is there inside as an empty one of the run's own, with nothing
in it but the way down: it can be listed, and says nothing of the host.

The kernel may give less than the policy: owner and mode of a file have their say inside as they do
outside. It must never give more, and never less where the file's own mode would allow it."""
import json
import os
import stat
import sys

ORDER = {"hidden": 0, "read": 1, "write": 2}


def own_rights(path):
    """What the caller may do with it outside a fence, at most."""
    if not os.path.exists(path):
        return 0
    mode = os.stat(path).st_mode
    if os.getuid() == 0 and os.stat(path).st_uid != 0:
        return None  # root without its capabilities: not to be told from here
    if not os.access(path, os.R_OK):
        return 0
    if stat.S_ISDIR(mode) and not os.access(path, os.X_OK):
        return 0
    return 2 if os.access(path, os.W_OK) else 1


def ways_down(policy):
    """The folders above everything that a run has."""
    found = set()
    for thing in policy["rules"] + policy["places"]:
        path = os.path.dirname(thing["path"])
        while path not in found:
            found.add(path)
            path = os.path.dirname(path)
    return found


def differ(path, said, seen, ours):
    """Why this pair is wrong, or None. `ours`: the run's own place, the host has no say."""
    if seen > said:
        return "the kernel gives more"
    if ours:
        return None
    allowed = own_rights(path)
    if allowed is None:
        return None
    if seen < min(said, allowed):
        return "the kernel gives less"
    return None


def main():
    with open(sys.argv[1], encoding="utf-8", errors="surrogateescape") as text:
        above = ways_down(json.load(text))
    with open(sys.argv[2], encoding="utf-8", errors="surrogateescape") as lines:
        answers = [json.loads(line) for line in lines]
    with open(sys.argv[3], encoding="utf-8", errors="surrogateescape") as lines:
        kernel = dict(reversed(line.rstrip("\n").split("\t", 1)) for line in lines)
    wrong = []
    for answer in answers:
        path = answer["path"]
        if path not in kernel:
            wrong.append(f"{path}: said of, and not probed")
            continue
        if path in above and answer["verdict"] == "hidden" and kernel[path] == "read":
            continue
        why = differ(path, ORDER[answer["verdict"]], ORDER[kernel[path]], answer["place"])
        if why:
            wrong.append(f"{path}: {why}: said {answer['verdict']} ({answer['why']}), is {kernel[path]}")
    print("\n".join(wrong[:40]) if wrong else f"{len(answers)} paths agree")
    if len(answers) < 300:
        print(f"only {len(answers)} paths")
    sys.exit(1 if wrong or len(answers) < 300 else 0)


main()
