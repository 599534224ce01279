#!/bin/bash
# Every man page renders. Exits 77 (skipped) where scdoc is not installed.
set -euo pipefail

command -v scdoc >/dev/null || {
    printf 'skipped: scdoc is needed\n'
    exit 77
}
for page in docs/man/*.scd; do
    [[ -e $page ]] || continue
    scdoc <"$page" >/dev/null || {
        printf '%s: does not render\n' "$page" >&2
        exit 1
    }
done
