#!/bin/bash
# Runs shellcheck over every shell script of the tree, found by its first line or its name.
set -euo pipefail

mapfile -t scripts < <(
    find . -path './build*' -prune -o -path ./.git -prune -o -type f -print | sort |
        while IFS= read -r file; do
            case $file in
            *.sh | *.bash | *.bats) printf '%s\n' "$file" ;;
            *) head -n 1 "$file" | grep -qaE '^#!.*\b(ba)?sh\b' && printf '%s\n' "$file" ;;
            esac || true
        done
)
exec shellcheck --severity=warning "${scripts[@]}"
