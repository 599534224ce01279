#!/usr/bin/env python3
"""Fail on text that must not be in the tree. One table of rules; each finding is FILE:LINE: WHY.

Also: relative links of the documents lead somewhere, and C files stay below 600 lines.
"""
import pathlib
import re
import sys

C = (".c", ".h")
MARKDOWN = (".md",)
MAX_LINES = 600
SKIPPED_FOLDERS = {".git", "__pycache__"}

# First folders that a path in this tree may name: those of a Linux system, of runs, of examples.
TOPS = set(
    """bin boot dev etc home lib lib32 lib64 libx32 media mnt nix opt proc root run sbin srv sys
    tmp usr var wattle private go gnu base""".split()
)
# Hosts that a document or a comment may point to.
HOSTS = re.compile(
    r"(^|\.)(apache\.org|debian\.org|ubuntu\.com|kernel\.org|landlock\.io|github\.com|man7\.org"
    r"|json-schema\.org|mesonbuild\.com|cve\.org|example\.(com|org|net)|localhost)$"
)
PATH = re.compile(r"(?<![\w.~$}*/\])>:-])/([A-Za-z][\w.-]*)/[\w.-]+")
URL = re.compile(r"https?://([^/\s:'\"`)>\]]+)")
LINK = re.compile(r"\]\(([^)#\s:]+)(#[^)\s]*)?\)")

RULES = [  # pattern, ends of file names it is for (None: all), why
    (re.compile(r"\b(TODO|FIXME|XXX|HACK)\b(?!\|)"), None, "an open end: finish it or file it"),
    (re.compile(r"[ \t]$"), None, "blank at the end of the line"),
    (re.compile(r"\r"), None, "carriage return"),
    (re.compile(r"\t"), C, "tab"),
    (re.compile(r"^[^/*\"]*\bgoto\s+\w+;"), C, "goto (STYLE.md, section 2)"),
    (re.compile(r"\b(alloca|strerror_r)\s*\("), C, "not used here (STYLE.md)"),
    (re.compile(r"^\s*typedef\s+struct\b"), C, "structs have no typedef (STYLE.md, section 2)"),
]
FREE_OF_PATH_RULE = ("tests/",)  # tests make up paths


def files_of(root):
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if parts[0].startswith("build") or SKIPPED_FOLDERS & set(parts) or not path.is_file():
            continue
        if parts[:2] == ("tests", "fuzz") or parts[:2] == ("tests", "data"):
            continue  # raw bytes on purpose
        yield path, "/".join(parts)


def complaints_of_line(name, line):
    for pattern, ends, why in RULES:
        if (ends is None or name.endswith(ends)) and pattern.search(line):
            yield why
    for host in URL.findall(line):
        if not HOSTS.search(host.lower()):
            yield f"host '{host}' is not one this tree points to"
    if not name.startswith(FREE_OF_PATH_RULE):
        for top in PATH.findall(line):
            if len(top) > 1 and top not in TOPS:
                yield f"'/{top}/...' looks like a path of one machine"


def complaints_of_file(root, path, name):
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        for why in complaints_of_line(name, line):
            yield number, why
        if name.endswith(MARKDOWN):
            for target, _ in LINK.findall(line):
                if not (path.parent / target).exists():
                    yield number, f"the link leads nowhere: {target}"
    if text and not text.endswith("\n"):
        yield len(lines), "no newline at the end of the file"
    if name.endswith(C) and len(lines) > MAX_LINES:
        yield len(lines), f"over {MAX_LINES} lines: this is two modules"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    bad = 0
    for path, name in files_of(root):
        if name in ("tools/check-words.py", "LICENSE"):
            continue
        try:
            for number, why in complaints_of_file(root, path, name):
                print(f"{name}:{number}: {why}", file=sys.stderr)
                bad += 1
        except UnicodeDecodeError:
            print(f"{name}: not UTF-8 text", file=sys.stderr)
            bad += 1
    sys.exit(1 if bad else 0)


main()
