#!/bin/bash
# Every header compiles alone, and a .c file with a header of its name includes that one first, or a
# private one of its folder. The arguments are the compiler.
set -uo pipefail

bad=0
while IFS= read -r header; do
    if ! "$@" -std=gnu17 -D_GNU_SOURCE -Isrc -include src/base/banned.h -Wall -Wextra -Werror \
        -fsyntax-only -x c - <<<"#include \"${header#src/}\""; then
        printf '%s: does not compile alone\n' "$header" >&2
        bad=1
    fi
done < <(find src -name '*.h' ! -name banned.h | sort)

while IFS= read -r source; do
    own=${source#src/}
    own=${own%.c}.h
    [[ -f src/$own ]] || continue
    first=$(sed -nE 's/^#include ["<]([^">]+)[">].*/\1/p' "$source" | head -n 1)
    if [[ $first != "$own" && $first != "${own%/*}/"*_priv.h ]]; then
        printf '%s: includes %s before its own header\n' "$source" "$first" >&2
        bad=1
    fi
done < <(find src -name '*.c' | sort)
exit "$bad"
