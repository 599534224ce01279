#!/bin/bash
# clang-tidy over every C file of src/ that the clang build in folder $1 compiles.
# Exits 77 (skipped) for another version than 14: each brings new checks.
set -euo pipefail

build=$1
if ! clang-tidy --version | grep -q ' version 14\.'; then
    printf 'skipped: clang-tidy 14 is needed\n'
    exit 77
fi

# Prints the files, each ended by NUL.
files_of_build() {
    python3 - "$build" <<'PY'
import json, pathlib, sys
build = pathlib.Path(sys.argv[1])
source = pathlib.Path.cwd() / "src"
commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
files = {(pathlib.Path(c["directory"]) / c["file"]).resolve() for c in commands}
for path in sorted(path for path in files if source in path.parents):
    sys.stdout.write(f"{path}\0")
PY
}

status=0
files_of_build | grep -zv '/base/err\.c$' |
    xargs -0 -P "$(nproc)" -n 4 clang-tidy -p "$build" --quiet \
        --extra-arg=-include --extra-arg="$PWD/tools/tidy.h" || status=1
files_of_build | grep -z '/base/err\.c$' | xargs -0 clang-tidy -p "$build" --quiet || status=1
exit "$status"
