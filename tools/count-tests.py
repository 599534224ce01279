#!/usr/bin/env python3
"""Count what meson ran: prints "PASSED FAILED SKIPPED" for the testlog.json files given.

A TAP program counts once for each of its tests, any other program once. A program that crashed,
ran out of time or broke its plan counts as one failure more, whatever it said before.
"""
import json
import re
import sys

RESULT = re.compile(r"(not )?ok \d+\b([^#]*)(?:#\s*(\w+))?", re.IGNORECASE)
GOOD = ("OK", "SKIP", "EXPECTEDFAIL")


def count_tap(text):
    """(passed, failed, skipped) of TAP lines."""
    passed = failed = skipped = 0
    left_early = False
    for line in text.splitlines():
        if line.startswith("# skipped: "):
            left_early = True  # a cmocka test's way to say so (tests/unit/cm.h)
        found = RESULT.match(line)
        if not found:
            continue
        if found.group(1):
            failed += 1
        elif left_early or (found.group(3) or "").upper().startswith("SKIP"):
            skipped += 1
        else:
            passed += 1
        left_early = False
    return passed, failed, skipped


def count_program(entry):
    """(passed, failed, skipped) of one line of the log."""
    passed, failed, skipped = count_tap(entry.get("stdout") or "")
    good = entry["result"] in GOOD
    if passed + failed + skipped == 0:
        skipped = int(entry["result"] == "SKIP")
        passed = int(good and not skipped)
    if not good and failed == 0:
        failed = 1
    return passed, failed, skipped


def main():
    total = [0, 0, 0]
    for name in sys.argv[1:]:
        with open(name, encoding="utf-8") as log:
            for line in log:
                total = [a + b for a, b in zip(total, count_program(json.loads(line)))]
    print(*total)


main()
