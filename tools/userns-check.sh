#!/bin/bash
# Whether this user may make user namespaces here, which every fence needs; if not, what mends it.
#
#   tools/userns-check.sh PROGRAM [BUILD-FOLDER]
#
# PROGRAM is the wattle to ask, BUILD-FOLDER the folder with further programs that make namespaces
# (tests). Exits 0 when PROGRAM can build a fence, or when nothing known stands in the way (then
# `wattle doctor` says more); 1 after naming the restriction. Root is never restricted.
set -u

root=$(cd -- "${BASH_SOURCE[0]%/*}/.." && pwd)
readonly root
readonly program=${1:?usage: userns-check.sh PROGRAM [BUILD-FOLDER]}
readonly folder=${2:-${program%/*}}
readonly proc=${WATTLE_CHECK_PROC:-/proc/sys} # a test sets another

# The value of a sysctl, or nothing when this kernel has none of that name.
setting() {
    cat "$proc/$1" 2>/dev/null
}

tell_apparmor() {
    cat >&2 <<TEXT
userns-check: Ubuntu's AppArmor forbids user namespaces to programs without a profile
userns-check: (sysctl kernel.apparmor_restrict_unprivileged_userns is 1), so no fence can be built
userns-check: for the programs in $folder allow it until the next boot with:
  sed 's|^@{wattle_programs} = .*|@{wattle_programs} = "$folder/**"|' \\
    '$root/contrib/apparmor/wattle' | sudo apparmor_parser -r
userns-check: for an installed wattle, for good:
  sudo install -m 0644 '$root/contrib/apparmor/wattle' /etc/apparmor.d/wattle &&
    sudo apparmor_parser -r /etc/apparmor.d/wattle
TEXT
}

tell_sysctl() {
    printf 'userns-check: %s is %s: user namespaces are off, so no fence can be built\n' "$1" "$2"
    printf 'userns-check: hint: as root, run: sysctl -w %s=%s\n' "$1" "$3"
} >&2

[[ $(id -u) -ne 0 ]] || exit 0
if [[ -x $program ]]; then
    "$program" doctor -q </dev/null &>/dev/null
    [[ $? -gt 1 ]] || exit 0 # 0 all, 1 weaker than the best, 3 cannot confine
fi

if [[ $(setting kernel/apparmor_restrict_unprivileged_userns) == 1 ]]; then
    tell_apparmor
elif [[ $(setting kernel/unprivileged_userns_clone) == 0 ]]; then
    tell_sysctl kernel.unprivileged_userns_clone 0 1
elif [[ $(setting user/max_user_namespaces) == 0 ]]; then
    tell_sysctl user.max_user_namespaces 0 15000
else
    exit 0
fi
exit 1
