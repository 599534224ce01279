#!/bin/bash
# Runs shellcheck over every shell script of the tree, found by its first line or its name.
# What a fuzzer is fed is none.
set -euo pipefail

shell_files=()
bats_files=()
mapfile -t scripts < <(
    find . -path './build*' -prune -o -path ./.git -prune -o -path ./tests/fuzz/corpus -prune -o -type f -print | sort |
        while IFS= read -r file; do
            case $file in
            *.sh | *.bash | *.bats) printf '%s\n' "$file" ;;
            *) head -n 1 "$file" | grep -qaE '^#!.*\b(ba)?sh\b' && printf '%s\n' "$file" ;;
            esac || true
        done
)
for script in "${scripts[@]}"; do
    case $script in
    # Of what bats' `run` sets it knows nothing: only what cannot be right counts there.
    *.bats) bats_files+=("$script") ;;
    *) shell_files+=("$script") ;;
    esac
done
shellcheck --severity=warning "${shell_files[@]}"
[[ ${#bats_files[@]} -eq 0 ]] || shellcheck --severity=error --exclude=SC1010 "${bats_files[@]}"
