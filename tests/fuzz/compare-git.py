#!/usr/bin/env python3
"""What the guard reads in a configuration is what git reads in it, and in the guard's copy of it.

usage: compare-git.py SETTINGS-PROGRAM [COUNT]
Random texts of the pieces that are hard to get right. The guard may refuse what git takes, never
the other way round. Skipped (77) without git.
"""
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


def guard(text, *args):
    done = subprocess.run([sys.argv[1], *args], input=text, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def main():
    random.seed(20261201)
    taken = wrong = 0
    for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 300):
        text = ("[s]\n" + "".join(line() for _ in range(random.randint(1, 6)))).encode()
        ours, theirs = guard(text), git(text)
        if ours is None:
            continue
        taken += 1
        if ours != theirs or git(guard(text, "copy")) != theirs:
            print(f"{text!r}: git reads {theirs!r}, the guard {ours!r}")
            wrong += 1
    print(f"{taken} were taken")
    sys.exit(1 if wrong or taken < 20 else 0)


main()
