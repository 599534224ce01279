#!/bin/bash
# Builds wattle in every way it is tested and runs every test; `make test` calls it.
#
#   tools/test.sh [PART...]      parts: gcc clang sanitize lint user (default: all that apply)
#
#   gcc       as it is shipped: unit, fuzz (replay of the corpora), end-to-end tests, the demo
#   clang     the other compiler: unit and fuzz
#   sanitize  gcc with ASan and UBSan: unit and fuzz
#   lint      format, clang-tidy, cppcheck, layers, headers, shell, words (in the clang build)
#   user      started by root only: part "gcc" once more as an ordinary user, from a copy of the
#             source below /var/tmp, since a clone below /root is closed to others
#
# A boundary test that cannot run here is skipped and says so; WATTLE_MUST_RUN=1 makes it a failure.
# The last line is "N passed, N failed"; each part's own figures stand above it. The tests get an
# empty home folder of their own. The ordinary user is $WATTLE_TEST_USER, else who called sudo, else
# wattle-test when there is one, else nobody.
set -uo pipefail
cd -- "${BASH_SOURCE[0]%/*}/.." || exit 1

readonly every_suite=(--no-suite lint)
readonly quick_suites=(--suite unit --suite fuzz)
readonly user_sees=(CI WATTLE_MUST_RUN WATTLE_CLIENTS WATTLE_CONFORMANCE WATTLE_MCP_SCHEMAS)
readonly jobs=${WATTLE_TEST_JOBS:-$(nproc)}

total_passed=0
total_failed=0
total_skipped=0
summary=()
broken=() # a line for each test that failed

# ---- counting ---------------------------------------------------------------------------------

add_result() {
    local label=$1 passed=$2 failed=$3 skipped=$4
    summary+=("$(printf '%-28s %5d passed, %d failed, %d skipped' \
        "$label" "$passed" "$failed" "$skipped")")
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
    total_skipped=$((total_skipped + skipped))
}

add_broken() {
    printf 'test: %s\n' "$2" >&2
    broken+=("$1: $2")
    add_result "$1" 0 1 0
}

print_summary() {
    printf '\n'
    printf '%s\n' "${summary[@]}"
    [[ ${#broken[@]} -eq 0 ]] || printf 'failed: %s\n' "${broken[@]}"
    [[ $total_skipped -eq 0 ]] || printf '%d skipped\n' "$total_skipped"
    printf '%d passed, %d failed\n' "$total_passed" "$total_failed"
}

# ---- building ---------------------------------------------------------------------------------

# Warnings are errors with the compilers this tree is kept clean with; a newer one may know more.
werror_for() {
    case $("$1" -dumpversion) in
    12 | 12.* | 14.0.*) printf 'true' ;;
    *) printf 'false' ;;
    esac
}

# build_in FOLDER COMPILER [OPTION...]
build_in() {
    local folder=$1 compiler=$2
    shift 2
    if [[ ! -f $folder/build.ninja ]]; then
        CC=$compiler meson setup "$folder" -Dwerror="$(werror_for "$compiler")" "$@" || return 1
    fi
    ninja -C "$folder" -j "$jobs"
}

# ---- running ----------------------------------------------------------------------------------

# run_suites LABEL FOLDER OPTION...
run_suites() {
    local label=$1 folder=$2 log=$2/meson-logs/testlog.json status name
    local -a counts names
    shift 2
    rm -f "$log"
    meson test -C "$folder" --no-rebuild --print-errorlogs --num-processes "$jobs" "$@"
    status=$?
    if [[ ! -s $log ]]; then
        add_broken "$label" "no test ran in $folder"
        return
    fi
    mapfile -t names < <(tools/count-tests.py "$log")
    read -r -a counts <<<"${names[0]}"
    if [[ $status -ne 0 && ${counts[1]:-0} -eq 0 ]]; then
        counts[1]=1
        names+=("meson saw a failure that its log does not show")
    fi
    for name in "${names[@]:1}"; do
        broken+=("$label: $name")
    done
    add_result "$label" "${counts[@]}"
}

# The README's first promise.
run_demo() {
    if tools/demo.sh build/src/cli/wattle; then
        add_result "demo, as $(id -un)" 1 0 0
    else
        add_broken "demo, as $(id -un)" "the demo failed"
    fi
}

test_gcc() {
    build_in build gcc || { add_broken gcc "the gcc build failed"; return; }
    if tools/userns-check.sh "$PWD/build/src/cli/wattle" "$PWD/build"; then
        run_suites "gcc, as $(id -un)" build "${every_suite[@]}"
        run_demo
    else
        run_suites "gcc, as $(id -un)" build "${quick_suites[@]}"
        add_broken "fence, as $(id -un)" "no fence can be built here, so no test of one was run"
    fi
}

test_clang() {
    build_in build-clang clang || { add_broken clang "the clang build failed"; return; }
    run_suites "clang" build-clang "${quick_suites[@]}"
}

test_sanitize() {
    # With sanitizers gcc warns of what is not so ("Instrumentation options" of its manual); the builds
    # without look for warnings.
    build_in build-san gcc -Db_sanitize=address,undefined -Dwerror=false ||
        { add_broken sanitize "the sanitizer build failed"; return; }
    UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
        run_suites "gcc, ASan and UBSan" build-san "${quick_suites[@]}"
}

test_lint() {
    build_in build-clang clang || { add_broken lint "the clang build failed"; return; }
    run_suites "lint" build-clang --suite lint
}

ordinary_user() {
    local name
    for name in "${WATTLE_TEST_USER:-}" "${SUDO_USER:-}" wattle-test nobody; do
        if [[ -n $name && $name != root ]] && id -u "$name" >/dev/null 2>&1; then
            printf '%s' "$name"
            return
        fi
    done
}

# Runs part "gcc" in a copy of the source as the ordinary user, with none of root's environment.
test_user() {
    local user folder=$scratch/user name
    local -a counts handed_on=()
    user=$(ordinary_user)
    if [[ -z $user ]]; then
        add_broken user "no ordinary user to test as; set WATTLE_TEST_USER"
        return
    fi
    mkdir -p "$folder/source" "$folder/home"
    tar -c --exclude=./.git --exclude='./build*' . | tar -x -C "$folder/source" --no-same-owner
    chown -R "$(id -u "$user"):$(id -g "$user")" "$folder"
    for name in "${user_sees[@]}"; do
        [[ -z ${!name:-} ]] || handed_on+=("$name=${!name}")
    done
    env -i PATH="$PATH" LC_ALL="$LC_ALL" HOME="$folder/home" USER="$user" LOGNAME="$user" \
        "${handed_on[@]}" \
        WATTLE_TEST_JOBS="$jobs" \
        setpriv --reuid "$(id -u "$user")" --regid "$(id -g "$user")" --init-groups \
        --inh-caps=-all bash "$folder/source/tools/test.sh" gcc | tee "$folder/log"
    read -r -a counts < <(awk '/^[0-9]+ skipped$/ { skipped = $1 }
        /^[0-9]+ passed, [0-9]+ failed$/ { print $1, $3, skipped + 0 }' "$folder/log")
    if [[ ${#counts[@]} -ne 3 ]]; then
        add_broken user "the run as $user ended without its figures"
        return
    fi
    mapfile -t -O "${#broken[@]}" broken < <(sed -n 's/^failed: //p' "$folder/log")
    add_result "gcc, as $user" "${counts[@]}"
}

# ---- main -------------------------------------------------------------------------------------

scratch=$(mktemp -d /var/tmp/wattle-test.XXXXXX) || exit 1
readonly scratch
remove_scratch() {
    # Tests leave folders nobody may enter when they are interrupted.
    chmod -R u+rwX "$scratch" 2>/dev/null
    rm -rf -- "$scratch"
}
trap remove_scratch EXIT
trap 'exit 130' INT TERM HUP
chmod 755 "$scratch"
mkdir "$scratch/home"

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin # the packages' programs
export HOME=$scratch/home LC_ALL=C.UTF-8
unset "${!XDG_@}" "${!GIT_@}" MAKEFLAGS MAKELEVEL MFLAGS

parts=("$@")
if [[ ${#parts[@]} -eq 0 ]]; then
    parts=(gcc clang sanitize lint)
    [[ $EUID -ne 0 ]] || parts+=(user)
fi
for part in "${parts[@]}"; do
    case $part in
    gcc | clang | sanitize | lint | user) "test_$part" ;;
    *)
        printf "test: unknown part '%s' (known: gcc clang sanitize lint user)\n" "$part" >&2
        exit 2
        ;;
    esac
done
print_summary
[[ $total_failed -eq 0 && $total_passed -gt 0 ]]
