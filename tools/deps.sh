#!/bin/bash
# Which Debian or Ubuntu packages wattle needs, and installing them.
#
#   tools/deps.sh [--install] [GROUP...]      groups: build lint test bench (default: build)
#
# Without --install: names what is missing and exits 1. With it: installs as root, or by sudo when
# sudo works without asking; otherwise names what is missing and exits 1. When nothing is missing it
# says nothing, needs no network and exits 0.
set -euo pipefail

# "a|b": either will do; the first is installed.
readonly build_packages="make gcc libc6-dev meson ninja-build pkgconf|pkg-config python3
    libjansson-dev libseccomp-dev libsodium-dev libsqlite3-dev libuv1-dev libcmocka-dev scdoc git"
readonly lint_packages="clang clang-format clang-tidy cppcheck shellcheck"
# What the tests are run by, and what those of real work do real work with.
readonly test_packages="bats bsdutils cargo cmake default-jdk-headless fish gdb nodejs npm openssh-client
    perl procps python3-jsonschema python3-venv rsync rustc strace util-linux zsh"
readonly debian_test_packages="chromium" # Ubuntu has it as a snap only
readonly bench_packages="bubblewrap"

# Every installed package, and what these provide, as keys.
declare -A installed=()
find_installed() {
    local state package provides name
    while IFS=$'\t' read -r state package provides; do
        [[ $state == ?i* ]] || continue
        installed[$package]=1
        for name in ${provides//,/ }; do
            installed[$name]=1
        done
    done < <(dpkg-query -W -f '${db:Status-Abbrev}\t${Package}\t${Provides}\n')
}

# Prints the packages of "a|b" entries of which no alternative is installed.
missing_of() {
    local entry name found
    for entry in $1; do
        found=
        for name in ${entry//|/ }; do
            if [[ -n ${installed[$name]:-} ]]; then
                found=1
                break
            fi
        done
        [[ -n $found ]] || printf '%s\n' "${entry%%|*}"
    done
}

packages_of_group() {
    case $1 in
    build) printf '%s' "$build_packages" ;;
    lint) printf '%s %s' "$build_packages" "$lint_packages" ;;
    test)
        printf '%s %s %s' "$build_packages" "$lint_packages" "$test_packages"
        ! grep -qsx 'ID=debian' /etc/os-release || printf ' %s' "$debian_test_packages"
        ;;
    bench) printf '%s %s' "$build_packages" "$bench_packages" ;;
    *)
        printf "deps: unknown group '%s' (known: build lint test bench)\n" "$1" >&2
        exit 2
        ;;
    esac
}

install_packages() {
    local -a become=("$@")
    local -a apt=(apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
    "${become[@]}" "${apt[@]}" update </dev/null
    "${become[@]}" env DEBIAN_FRONTEND=noninteractive \
        "${apt[@]}" install --no-install-recommends "${missing[@]}" </dev/null
}

tell_what_is_missing() {
    printf 'deps: these packages are missing: %s\n' "${missing[*]}" >&2
    printf 'deps: hint: as root, run: apt-get install --no-install-recommends %s\n' \
        "${missing[*]}" >&2
}

check_meson() {
    local have
    have=$(meson --version)
    if [[ $(printf '%s\n' 1.0.0 "$have" | sort -V | head -n 1) != 1.0.0 ]]; then
        printf 'deps: meson %s is too old; 1.0.0 or newer is needed (Debian 12, Ubuntu 24.04)\n' \
            "$have" >&2
        exit 1
    fi
}

install=
groups=()
for argument in "$@"; do
    if [[ $argument == --install ]]; then
        install=1
    else
        groups+=("$argument")
    fi
done
[[ ${#groups[@]} -gt 0 ]] || groups=(build)

wanted=
for group in "${groups[@]}"; do
    wanted+=" $(packages_of_group "$group")"
done

if ! command -v dpkg-query >/dev/null; then
    printf 'deps: this is not Debian or Ubuntu; what is needed there is called: %s\n' \
        "$(tr -s ' \n' ' ' <<<"$wanted")" >&2
    command -v meson >/dev/null || exit 1
    exit 0
fi

find_installed
mapfile -t missing < <(missing_of "$wanted" | sort -u)
if [[ ${#missing[@]} -gt 0 ]]; then
    if [[ -z $install ]]; then
        tell_what_is_missing
        exit 1
    elif [[ $EUID -eq 0 ]]; then
        install_packages
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        install_packages sudo -n
    else
        tell_what_is_missing
        exit 1
    fi
    find_installed
    mapfile -t missing < <(missing_of "$wanted" | sort -u)
    if [[ ${#missing[@]} -gt 0 ]]; then
        tell_what_is_missing
        exit 1
    fi
fi
check_meson
