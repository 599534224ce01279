#!/usr/bin/env python3
"""Count what meson ran: prints "PASSED FAILED SKIPPED" for the testlog.json files given, and then a
line for each test that failed.

A TAP program counts once for each of its tests, any other program once. A program that crashed,
ran out of time or broke its plan counts as one failure more, whatever it said before.
"""
import json
import re
import sys

RESULT = re.compile(r"(not )?ok \d+\b([^#]*)(?:#\s*(\w+))?", re.IGNORECASE)
GOOD = ("OK", "SKIP", "EXPECTEDFAIL")


def count_tap(text):
    """(passed, names of the failed, skipped) of TAP lines."""
    passed = skipped = 0
    failed = []
    left_early = False
    for line in text.splitlines():
        if line.startswith("# skipped: "):
            left_early = True  # a cmocka test's way to say so (tests/unit/cm.h)
        found = RESULT.match(line)
        if not found:
            continue
        if found.group(1):
            failed.append(found.group(2).strip())
        elif left_early or (found.group(3) or "").upper().startswith("SKIP"):
            skipped += 1
        else:
            passed += 1
        left_early = False
    return passed, failed, skipped


def count_program(entry):
    """(passed, names of the failed, skipped) of one line of the log."""
    passed, failed, skipped = count_tap(entry.get("stdout") or "")
    good = entry["result"] in GOOD
    if passed + len(failed) + skipped == 0:
        skipped = int(entry["result"] == "SKIP")
        passed = int(good and not skipped)
    if not good and not failed:
        failed = [entry["result"]]
    return passed, [f"{entry['name']}: {name}" for name in failed], skipped


def main():
    passed = skipped = 0
    failed = []
    for name in sys.argv[1:]:
        with open(name, encoding="utf-8") as log:
            for line in log:
                counts = count_program(json.loads(line))
                passed += counts[0]
                failed += counts[1]
                skipped += counts[2]
    print(passed, len(failed), skipped)
    for name in failed:
        print(name)


main()
