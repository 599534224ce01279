#!/usr/bin/env python3
"""What we read in a configuration is what git reads in it.

usage: compare-git.py SETTINGS-PROGRAM [COUNT]
       compare-git.py --all ALL-SETTINGS-PROGRAM [COUNT]
Random texts of the pieces that are hard to get right. The guard may refuse what git takes, never
the other way round, and git reads the same in the guard's copy. With --all it is the reader that
looks for what settings lead to: it has to take whatever git takes. Skipped (77) without git.
"""
import re
import random
import shutil
import subprocess
import sys
import tempfile

if shutil.which("git") is None:
    sys.exit(77)
PIECES = ["a", "b c", " ", "  ", '"', '""', '"q ;#"', '\\"', "\\\\", "\\t", "\\n", "\\\n", "\\\r\n",
          "#c", "; c", "é", "x=y", "[", "]", "\t", '"\t"', "\r", "\\b"]
SECTIONS = ["[core]", "[user]", '[branch "m"]', '[branch "a\\"b"]', '[A "b c"]', "[x-1]",
            '[branch "\\x"]', '[s\t"u"]', '[e ""]', "[o.ld]", "[", "[a b]"]


def blank():
    return random.choice(["", "", " ", "  ", "\t", " \t"])


def value():
    return "".join(random.choice(PIECES) for _ in range(random.randint(0, 6)))


def line():
    kind = random.random()
    if kind < 0.2:
        end = random.choice(["", "\n", "\r\n", "#\n"])
        return blank() + random.choice(SECTIONS) + blank() + end
    if kind < 0.3:
        return blank() + random.choice("#;") + value().replace("\n", "") + "\n"
    if kind < 0.35:
        return blank() + "\n"
    key = blank() + random.choice(["name", "Bare", "k-1", "z"]) + blank()
    end = random.choice(["\n", "\n", " \n", "\r\n"])
    return key + random.choice(["", "=", "= ", "=\t", "="]) + value() + end


def git(text):
    with tempfile.NamedTemporaryFile() as file:
        file.write(text)
        file.flush()
        done = subprocess.run(["git", "config", "--file", file.name, "-z", "--list"],
                              capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def ours(program, text, *args):
    done = subprocess.run([program, *args], input=text, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def normal(listed):
    """Versions of git differ in blanks; a key alone is true."""
    return [re.sub(rb"[\t\r]", b" ", item if b"\n" in item else item + b"\ntrue")
            for item in listed.split(b"\0") if item]


def guard_differs(program, text):
    read, theirs = ours(program, text), git(text)
    if read is None:
        return None
    return read != theirs or git(ours(program, text, "copy")) != theirs


def all_differ(program, text):
    read, theirs = ours(program, text), git(text)
    if theirs is None:
        return None
    return read is None or normal(read) != normal(theirs)


def main():
    args = sys.argv[1:]
    differs = all_differ if args[0] == "--all" else guard_differs
    args = args[args[0] == "--all":]
    random.seed(20261201)
    taken = wrong = 0
    for _ in range(int(args[1]) if len(args) > 1 else 300):
        text = ("[s]\n" + "".join(line() for _ in range(random.randint(1, 6)))).encode()
        verdict = differs(args[0], text)
        taken += verdict is not None
        if verdict:
            print(f"{text!r}: git reads {git(text)!r}, we {ours(args[0], text)!r}")
            wrong += 1
    print(f"{taken} were taken")
    sys.exit(1 if wrong or taken < 20 else 0)


main()
