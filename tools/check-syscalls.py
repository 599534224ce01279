#!/usr/bin/env python3
"""Hold the call numbers of src/fence/native/seccomp_table.h against this machine's kernel headers.

A number the headers have and the table does not know is a finding: wattle answers ENOSYS to it until
somebody has read what it does, put it among the known numbers, and written a row if it needs one.
Part of the lint suite, so that a newer header never fails anybody's build. Arguments: the compiler.
"""
import pathlib
import re
import subprocess
import sys

TABLE = pathlib.Path("src/fence/native/seccomp_table.h")
MACHINE = re.compile(r'^    \{"(\w+)", AUDIT_ARCH_\w+, \{(.*)\}\},$', re.MULTILINE)
RANGE = re.compile(r"\{(\d+), (\d+)\}")
ROW = re.compile(r'CALL\("(\w+)", (\w+), (\w+)\)')
NUMBER = re.compile(r"^#define __NR_(\w+) (\S+)$", re.MULTILINE)

# Where each processor's numbers stand, in the order of the table. The generic header has them for
# aarch64 once it is asked for the older calls that aarch64 kept.
HEADERS = {
    "x86_64": ("asm/unistd_64.h", []),
    "aarch64": (
        "asm-generic/unistd.h",
        """__ARCH_WANT_RENAMEAT __ARCH_WANT_NEW_STAT __ARCH_WANT_SET_GET_RLIMIT
        __ARCH_WANT_TIME32_SYSCALLS __ARCH_WANT_SYS_CLONE3 __ARCH_WANT_MEMFD_SECRET""".split(),
    ),
}
NOT_CALLS = {"syscalls", "arch_specific_syscall"}  # where lists end or begin


def numbers_of(compiler, header, wanted):
    """Name -> number as the header has them, or None where it is not installed."""
    command = [*compiler, "-E", "-dM", *(f"-D{name}" for name in wanted), "-x", "c", "-"]
    run = subprocess.run(
        command, input=f"#include <{header}>\n", capture_output=True, text=True, check=False
    )
    if run.returncode != 0:
        return None
    macros = dict(NUMBER.findall(run.stdout))
    macros.update(re.findall(r"^#define (__NR3264_\w+) (\d+)$", run.stdout, re.MULTILINE))
    found = {name: macros.get(value, value) for name, value in macros.items()}
    return {
        name: int(value)
        for name, value in found.items()
        if value.isdigit() and name not in NOT_CALLS and not name.startswith("__NR3264_")
    }


def findings(known, rows, numbers, header):
    for name, number in sorted(numbers.items(), key=lambda item: item[1]):
        if not any(first <= number <= last for first, last in known):
            yield f"<{header}> has {name}, {number}, which is not among the known numbers"
    for name, number in sorted(rows.items()):
        if number != numbers.get(name, number):
            yield f"the table says {name} is {number}, <{header}> says {numbers[name]}"


def main():
    compiler = sys.argv[1:] or ["cc"]
    text = TABLE.read_text(encoding="utf-8")
    machines = MACHINE.findall(text)
    if [name for name, _ in machines] != list(HEADERS):
        sys.exit(f"{TABLE}: the processors are not {' and '.join(HEADERS)}")
    bad = checked = 0
    for index, (machine, ranges) in enumerate(machines):
        header, wanted = HEADERS[machine]
        numbers = numbers_of(compiler, header, wanted)
        if numbers is None:
            print(f"{machine}: no <{header}> on this machine")
            continue
        known = [(int(first), int(last)) for first, last in RANGE.findall(ranges)]
        rows = {row[0]: int(row[1 + index].replace("NONE", "-1")) for row in ROW.findall(text)}
        for finding in findings(known, rows, numbers, header):
            print(f"{TABLE}: {machine}: {finding}", file=sys.stderr)
            bad += 1
        checked += len(numbers)
    print(f"{checked} numbers compared")
    sys.exit(1 if bad or not checked else 0)


main()
