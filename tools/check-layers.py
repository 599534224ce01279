#!/usr/bin/env python3
"""Fail if a file under src/ includes a header that tools/layers.txt does not allow."""
import pathlib
import re
import sys

INCLUDE = re.compile(r'\s*#\s*include\s+"([^"]+)"')


def read_layers(path):
    """Folder -> the folders it may include from; a folder may only name those above it."""
    allowed = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        name, _, rest = line.partition(":")
        unknown = [below for below in rest.split() if below not in allowed]
        if unknown:
            sys.exit(f"{path}: '{name}' names {unknown}, which do not come before it")
        allowed[name] = {name, *rest.split()}
    return allowed


def complaint(allowed, here, header):
    """Why a file in folder `here` may not include `header`, or None."""
    parts = header.split("/")
    if len(parts) < 2:
        return 'write includes from src/ on, as in "base/err.h"'
    there = parts[0]
    if there not in allowed.get(here, set()):
        return f"'{here}' may not use '{there}'"
    if there != here and parts[-1].endswith("_priv.h"):
        return f"{parts[-1]} is private to src/{there}/"
    return None


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    allowed = read_layers(root / "tools/layers.txt")
    bad = 0
    for path in sorted((root / "src").rglob("*.[ch]")):
        here = path.relative_to(root / "src").parts[0]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found = INCLUDE.match(line)
            why = found and complaint(allowed, here, found.group(1))
            if why:
                print(f"{path}:{number}: {why}", file=sys.stderr)
                bad += 1
    sys.exit(1 if bad else 0)


main()
