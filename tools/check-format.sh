#!/bin/bash
# Fails if clang-format would change a C file. Exits 77 (skipped) for another version than 14,
# which formats a few things otherwise.
set -euo pipefail

if ! clang-format --version | grep -q ' version 14\.'; then
    printf 'skipped: clang-format 14 is needed\n'
    exit 77
fi
find src tests bench -name '*.[ch]' -print0 2>/dev/null | xargs -0 clang-format --dry-run -Werror
