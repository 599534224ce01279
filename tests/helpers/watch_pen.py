#!/usr/bin/python3
"""watch_pen.py PEN LOG: every name that is ever seen in PEN, and every line of 'git status' there.

Looks as often as it can until SIGTERM, then writes both, sorted, to LOG. LOG.polls is there, with
the number of looks, after the first one.
"""

import os
import signal
import subprocess
import sys

STATUS = ("git", "--no-optional-locks", "status", "--porcelain", "--untracked-files=all", "--ignored")


def main():
    log = os.path.abspath(sys.argv[2])
    os.chdir(sys.argv[1])
    going = [True]
    signal.signal(signal.SIGTERM, lambda *_: going.clear())
    seen = set()
    polls = 0
    while going:
        for folder, folders, files in os.walk("."):
            seen.update(os.path.join(folder, name) for name in folders + files)
        if polls % 8 == 0:
            said = subprocess.run(STATUS, capture_output=True, text=True, check=False).stdout
            seen.update("status " + line for line in said.splitlines())
        polls += 1
        with open(log + ".polls", "w", encoding="utf-8") as file:
            file.write(f"{polls}\n")
    with open(log, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in sorted(seen))


main()
