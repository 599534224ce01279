#!/usr/bin/env bats
# What a job must not read or change: files, rules, wattle's own folders. Each test: it works
# outside, it does not inside, and it was the policy that stopped it. Judged by effect.

load lib

# ---- files -----------------------------------------------------------------------------------

@test "a job cannot read a file its policy does not list" {
    control cat "$OUT/secret"
    inside -- cat "$OUT/secret"
    failed_inside
    said_not topsecret
    works --ro "$OUT/secret" -- cat "$OUT/secret"
    printed topsecret
}

@test "a job cannot list the home, nor learn the names in it" {
    touch "$OUT/name-is-the-secret"
    control ls "$OUT"
    inside -- bash -c 'ls -R "$1"; find "$1" "$2"; echo "$1"/*; true' job "$HOME" "$OUT"
    ended 0
    said_not name-is-the-secret
    works --ro "$OUT" -- ls "$OUT"
    said name-is-the-secret
}

@test "another project beside the pen is not there, also by .." {
    mkdir ../other
    echo topsecret >../other/file
    control cat ../other/file
    inside -- cat ../other/file "$HOME/work/other/file" "/proc/self/cwd/../other/file"
    failed_inside
    said_not topsecret
    works --ro "$HOME/work/other" -- cat ../other/file
    printed topsecret
}

@test "nothing is written outside: by path, .., /proc/self/root, /proc/self/cwd" {
    inside -- bash -c '
        for path in "$1/canary" ../../outside/canary "/proc/self/root$1/canary" \
            /proc/self/cwd/../../outside/canary "$1/new" ../new; do
            echo PWNED >"$path"
        done 2>/dev/null; rm -rf "$1/secret"; mkdir "$1/d"; ln -s x "$1/l"; mkfifo "$1/f"; true' \
        job "$OUT"
    ended 0
    holds "$OUT/canary" clean
    present "$OUT/secret"
    absent "$OUT/new" "$OUT/d" "$OUT/l" "$OUT/f" ../new
    works --rw "$OUT" -- bash -c 'echo written >"$1/canary"' job "$OUT"
    holds "$OUT/canary" written
}

@test "symlinks that lay in the pen lead nowhere" {
    ln -s "$OUT/canary" link
    ln -s "$OUT" folder
    ln -s "$OUT/new" log
    control cat link
    inside -- bash -c 'cat link folder/secret; echo PWNED >link; echo PWNED >folder/new2
        echo PWNED >log; mkdir folder/sub; true'
    said_not topsecret
    holds "$OUT/canary" clean
    absent "$OUT/new" "$OUT/new2" "$OUT/sub"
    works --rw "$OUT" -- bash -c 'cat link; echo written >link'
    printed clean
    holds "$OUT/canary" written
}

@test "modes, times and attributes of what is only readable stay as they are" {
    touch -d 2001-01-01 "$OUT/canary"
    local before
    before=$(snapshot "$OUT")
    inside --ro "$OUT" -- bash -c 'chmod 777 "$1/canary"; touch "$1/canary"; chmod 777 "$1"
        /usr/bin/python3 -c "import os, sys; os.setxattr(sys.argv[1], \"user.x\", b\"1\")" "$1/canary"
        rm "$1/canary"; mv "$1/canary" "$1/moved"; touch "$1/new"; true' job "$OUT"
    ended 0
    same "$(snapshot "$OUT")" "$before" "the folder outside"
    works --rw "$OUT" -- chmod 600 "$OUT/canary"
    same "$(stat -c %a "$OUT/canary")" 600 "mode"
}

@test "no hard link gives a second name to something outside" {
    control ln "$OUT/canary" "$PEN/control"
    rm "$PEN/control"
    with_attempts
    inside --ro "$OUT" -- ./attempt hard-link "$OUT/canary" alias
    ended 1
    inside --ro "$OUT" -- ./attempt rename "$OUT/canary" alias
    ended 1
    inside --ro "$OUT" -- ./attempt exchange "$OUT/canary" attempt
    ended 1
    inside --ro "$OUT" -- ./attempt tmpfile . "$OUT/new"
    ended 1
    absent alias "$OUT/new"
    holds "$OUT/canary" clean
    echo x >own
    works -- ./attempt hard-link own alias
    works -- ./attempt tmpfile . new
    present alias new
}

@test "the pen itself can be neither moved away nor replaced" {
    local inode
    inode=$(stat -c %i "$PEN")
    inside -- bash -c 'cd /; mv "$1" "$1.moved"; rmdir "$1"; ln -s /tmp "$1.moved"; mkdir "$1.new"; true' \
        job "$PEN"
    absent "$PEN.moved" "$PEN.new"
    same "$(stat -c %i "$PEN")" "$inode" "inode of the pen"
}

@test "a folder that somebody outside swaps for a symlink leads nowhere" {
    mkdir sub
    echo x >sub/canary
    mkfifo go
    outside "$WATTLE" run --pen "$PEN" -- bash -c \
        'touch started; read -r _ <go; echo PWNED >sub/canary; cat sub/secret >stolen; touch done'
    until_true test -e started
    mv sub sub.old
    ln -s "$OUT" sub
    echo >go
    until_true test -e done
    holds "$OUT/canary" clean
    [[ ! -s stolen ]] || fail "read through the symlink: $(cat stolen)"
}

@test "the start folder is not above the new root" {
    with_attempts
    control bash -c 'cd "$1" && "$2" climb "${3#/}"' control "$PEN" "$PEN/attempt" "$OUT/secret"
    inside -- ./attempt climb "${OUT#/}/secret"
    ended 1
    said_not topsecret
    works --ro "$OUT" -- ./attempt climb "${OUT#/}/secret"
    said topsecret
}

@test "a file handle opens nothing" {
    only_root
    with_attempts
    local type bytes hex
    control "$WATTLE_HELPERS/attempt" handle "$OUT/secret"
    read -r type bytes hex <<<"${lines[0]}"
    control "$WATTLE_HELPERS/attempt" open-handle "$OUT" "$type" "$bytes" "$hex"
    said topsecret
    refused open-handle . "$type" "$bytes" "$hex"
    refused open-handle /usr "$type" "$bytes" "$hex"
    said_not topsecret
}

@test "no program with set-id bits is left in the pen" {
    with_attempts
    local way
    for way in setid-chmod setid-fchmod setid-open setid-mknod; do
        control "$WATTLE_HELPERS/attempt" "$way" "$OUT/$way"
        refused "$way" "$way"
        inside --rw "$OUT" -- ./attempt "$way" "$OUT/inside-$way"
        ended 1
    done
    same "$(find "$PEN" "$OUT" -name 'inside*' -perm /6000 -o -path "$PEN/*" -perm /6000)" "" "set-id files"
    works -- bash -c 'cp attempt copy && chmod 755 copy && ./copy call 39'
}

@test "root's job makes no device node" {
    only_root
    with_attempts
    control "$WATTLE_HELPERS/attempt" device "$OUT/node"
    refused device node
    inside -- ./attempt device /tmp/node
    ended 1
    same "$(find "$PEN" -type c -o -type b)" "" "device nodes"
}

# Nothing here hurts the machine, should the fence not hold.
@test "system files are neither changed nor, where they are secret, read" {
    local before path planted=()
    before=$(stat -c '%n %a %s %Y %i' /etc/passwd /etc/hosts /usr/bin/env)
    inside -- bash -c 'for p in /etc/passwd /etc/hosts /usr/bin/env; do touch -d 2001-01-01 "$p"; printf "" >>"$p"; done
        for d in / /etc /usr/bin /usr/local/bin /opt /var/lib /boot; do touch "$d/wattle-planted"; done
        cat /etc/shadow /etc/gshadow /etc/sudoers; ls /sys /boot /root /var/log /srv /mnt; true'
    for path in / /etc /usr/bin /usr/local/bin /opt /var/lib /boot; do
        [[ ! -e $path/wattle-planted ]] || planted+=("$path")
        rm -f "$path/wattle-planted" 2>/dev/null || true
    done
    same "${planted[*]}" "" "where a file was planted"
    ended 0
    same "$(stat -c '%n %a %s %Y %i' /etc/passwd /etc/hosts /usr/bin/env)" "$before" "system files"
    same "$output" "" "what a job saw of /etc/shadow, /sys, /boot, /root, /var/log"
}

@test "kernel settings are out of reach" {
    local names=(kernel/core_pattern kernel/hostname kernel/threads-max vm/swappiness fs/file-max
        net/ipv4/ip_forward kernel/pid_max)
    local before
    before=$(cd /proc/sys && head -v "${names[@]}")
    inside -- bash -c 'cd /proc/sys; for name; do
            value=$(cat "$name" 2>/dev/null); { echo "${value:-0}" >"$name"; } 2>/dev/null && echo "wrote $name"
        done; true' job "${names[@]}"
    ended 0
    said_not wrote
    same "$(cd /proc/sys && head -v "${names[@]}")" "$before" "settings"
}

@test "what /proc tells of the kernel's memory and keys is masked" {
    local for_root=''
    [[ $EUID != 0 ]] || for_root='slabinfo vmallocinfo iomem ioports kpagecount kpageflags'
    inside -- bash -c 'for f in kcore keys key-users kallsyms kmsg timer_list sched_debug config.gz '"$for_root"'; do
            got=$(head -c 40 "/proc/$f" 2>/dev/null | tr -d "\0"); [ -z "$got" ] || echo "$f: $got"
        done; ls -A /proc/acpi /proc/scsi 2>/dev/null; cat /proc/cpuinfo >/dev/null && echo cpuinfo'
    printed cpuinfo
}

@test "/tmp, /var/tmp and /dev/shm of the host are not the job's" {
    local mark=wattle-test-$$-$RANDOM folder
    for folder in /tmp /var/tmp /dev/shm; do
        echo topsecret >"$folder/$mark"
    done
    inside -- bash -c 'for d in /tmp /var/tmp /dev/shm; do cat "$d/$1"; echo PWNED >"$d/$1"; echo PWNED >"$d/$1.new"
        done; cat /tmp/"$1".new' job "$mark"
    local heard=$output
    for folder in /tmp /var/tmp /dev/shm; do
        holds "$folder/$mark" topsecret
        absent "$folder/$mark.new"
        rm "$folder/$mark"
    done
    said_not topsecret
    same "${heard##*$'\n'}" PWNED "the job's own /tmp"
}

# ---- rules of the owner ------------------------------------------------------------------------

@test "--deny hides a file of the pen, also by another name, and cannot be moved away" {
    mkdir -p a/b
    echo topsecret >a/b/file
    echo seen >a/b/other
    works -- cat a/b/file
    inside --deny "$PEN/a/b/file" -- bash -c 'cat a/b/file; ln a/b/file l && cat l; ln -s a/b/file s; cat s
        cat /proc/self/root"$PWD"/a/b/file; mv a/b/file m && cat m; mv a c && cat c/b/file
        cp -r a d; cat d/b/file; rm -f a/b/file; echo PWNED >a/b/file; cat a/b/other c/b/other; true'
    said_not topsecret
    said seen
    local found
    found=$(find . -name file -path '*b/file' -exec cat {} +)
    same "$found" topsecret "the hidden file afterwards"
}

@test "--deny hides a folder of something that was opened" {
    mkdir "$OUT/private"
    echo topsecret >"$OUT/private/file"
    works --ro "$OUT" -- cat "$OUT/private/file"
    inside --ro "$OUT" --deny "$OUT/private" -- bash -c 'ls -A "$1/private"; cat "$1/private/file"; cat "$1/canary"
        mv "$1/private" "$1/p"; true' job "$OUT"
    said_not topsecret
    printed clean
}

@test "--ro holds a file of the pen: unwritable, unremovable, also by renaming what it lies in" {
    mkdir -p a/b
    echo held >a/b/file
    chmod 644 a/b/file
    works -- bash -c 'echo held >a/b/file'
    inside --ro "$PEN/a/b/file" -- bash -c '
        echo PWNED >a/b/file; rm -f a/b/file; mv a/b/file x; echo PWNED >y; mv y a/b/file
        chmod 777 a/b/file; mv a/b a/c; mkdir -p a/b; echo PWNED >a/b/file
        mv a z; mkdir -p a/b; echo PWNED >a/b/file; ln -f y a/b/file; ./attempt exchange a/b y
        cat a/b/file 2>/dev/null || cat z/b/file; echo other >a/b/other; true' 2>/dev/null
    holds a/b/file held
    same "$(stat -c %a a/b/file)" 644 "mode"
    said held
    present a/b/other
}

@test "--rw opens one file below a closed folder and nothing beside it" {
    works --rw "$OUT/canary" -- bash -c 'echo written >"$1/canary"; cat "$1/secret"; ls "$1"; touch "$1/new"; true' job "$OUT"
    said_not topsecret
    holds "$OUT/canary" written
    absent "$OUT/new"
}

@test "credentials in a home stay closed when the home is opened" {
    local place
    for place in .ssh/id_rsa .aws/credentials .gnupg/secring .kube/config .netrc .npmrc .config/gh/hosts.yml \
        .password-store/a.gpg .git-credentials .docker/config.json; do
        mkdir -p "$HOME/$(dirname "$place")"
        echo "k3y-$place" >"$HOME/$place"
    done
    echo fine >"$HOME/notes"
    control cat "$HOME/.ssh/id_rsa"
    inside --ro "$HOME" -- bash -c 'cat "$1/notes"; cat "$1"/.ssh/* "$1"/.aws/* "$1"/.gnupg/* "$1"/.kube/* "$1/.netrc" \
        "$1/.npmrc" "$1"/.config/gh/* "$1"/.password-store/* "$1/.git-credentials" "$1"/.docker/*; grep -r k3y "$1"
        cp -r "$1/.ssh" stolen; true' job "$HOME"
    ended 0
    said fine
    said_not k3y
    rmdir stolen # the copy of a cover's mode: no run starts beside what nobody may look into
    works --ro "$HOME/.ssh/id_rsa" -- cat "$HOME/.ssh/id_rsa"
    printed k3y-.ssh/id_rsa
}

# ---- wattle's own folders ------------------------------------------------------------------------

own_folders_with_secrets() {
    works -- true # makes what a run makes
    mkdir -p "$HOME/.config/wattle" "$HOME/.local/state/wattle" "$HOME/.local/share" "$HOME/.cache/wattle"
    echo '{"wattle": {}}' >"$HOME/.config/wattle/config.json"
    echo topsecret >"$HOME/.local/state/wattle/named"
    echo topsecret >"$HOME/.cache/wattle/named"
}

@test "wattle's own folders are closed whatever is opened around them" {
    own_folders_with_secrets
    local before path
    before=$(cat "$HOME/.config/wattle/config.json")
    for path in "$HOME" "$HOME/.local" "$HOME/.local/state" "$HOME/.config" "$HOME/.cache"; do
        inside --rw "$path" -- bash -c '
            cd "$1"
            cat .config/wattle/config.json .local/state/wattle/* .cache/wattle/named
            ls -A .config/wattle .local/state/wattle
            for d in .config .local/state .cache; do
                echo PWNED >"$d/wattle/config.json"; echo PWNED >"$d/wattle/planted"
                mv "$d/wattle" "$d/moved"; rm -rf "$d/wattle"; mkdir -p "$d/wattle"; echo PWNED >"$d/wattle/planted"
            done
            mv .local .l; mv .config .c; mv .cache .k
            mkdir -p .config/wattle .local/state/wattle; echo PWNED >.config/wattle/config.json
            true' job "$HOME"
        said_not topsecret
        said_not named$'\n'
        holds "$HOME/.config/wattle/config.json" "$before"
        holds "$HOME/.local/state/wattle/named" topsecret
        absent "$HOME/.config/wattle/planted" "$HOME/.local/state/wattle/planted" "$HOME/.cache/wattle/planted" \
            "$HOME/.config/moved" "$HOME/.local/state/moved" "$HOME/.l" "$HOME/.c" "$HOME/.k"
    done
    works --rw "$HOME/.local/share" -- touch "$HOME/.local/share/made"
    present "$HOME/.local/share/made"
}

@test "a configuration that does not exist yet cannot be made by a job" {
    mkdir -p "$HOME/.config"
    inside --rw "$HOME/.config" -- bash -c 'mkdir -p "$1/wattle" && echo "{}" >"$1/wattle/config.json"; mv "$1" "$1.x"; true' \
        job "$HOME/.config"
    absent "$HOME/.config/wattle/config.json" "$HOME/.config.x"
}

@test "a job cannot make the configuration that a run with other variables would obey" {
    local default=$HOME/.config/wattle other=$HOME/.cfg2
    mkdir -p "$HOME/.config"
    XDG_CONFIG_HOME=$other inside --rw "$HOME/.config" -- bash -c \
        'mkdir -p "$1/wattle" && echo "{}" >"$1/wattle/config.json"; mv "$1/wattle" "$1/w"; touch "$1/reached"' \
        job "$HOME/.config"
    present "$HOME/.config/reached"
    absent "$default/config.json" "$HOME/.config/w"
    XDG_CONFIG_HOME=$other works --rw "$HOME/.config" -- true
    mkdir -p "$default"
    echo '{"filesystem": {"allowRead": ["~/outside"]}}' >"$default/config.json" # what it would have been for
    works -- cat "$OUT/secret"
    printed topsecret
}

@test "a symlink that a job leaves in the pen does not choose what the next run opens" {
    works -- ln -s "$OUT" gitlink
    control cat gitlink/secret
    inside --ro gitlink -- cat gitlink/secret
    ended 125
    said_not topsecret
    inside --rw gitlink -- bash -c 'echo PWNED >gitlink/canary'
    ended 125
    holds "$OUT/canary" clean
    works --ro "$OUT" -- cat gitlink/secret
    printed topsecret
}

@test "a job cannot replace the symlink through which the configuration is found" {
    mkdir -p "$HOME/dotfiles/wattle" "$HOME/.config"
    ln -s ../dotfiles/wattle "$HOME/.config/wattle"
    inside --rw "$HOME/.config" -- bash -c 'rm "$1/wattle"; mkdir "$1/wattle"; echo "{}" >"$1/wattle/config.json"' \
        job "$HOME/.config"
    ended 125
    absent "$HOME/dotfiles/wattle/config.json"
    [[ -L $HOME/.config/wattle ]] || fail "the symlink is gone"
    works --rw "$HOME/dotfiles" -- bash -c 'echo "{}" >"$1/wattle/config.json"; touch "$1/made"' job "$HOME/dotfiles"
    present "$HOME/dotfiles/made"
    absent "$HOME/dotfiles/wattle/config.json"
}

@test "a job cannot rewrite the rules that were given by -p" {
    mkdir "$HOME/rules"
    echo '{}' >"$HOME/rules/r.json"
    inside -p "$HOME/rules/r.json" --rw "$HOME/rules" -- bash -c 'echo PWNED >"$1"' job "$HOME/rules/r.json"
    ended 125
    holds "$HOME/rules/r.json" '{}'
    works -p "$HOME/rules/r.json" --ro "$HOME/rules" -- cat "$HOME/rules/r.json"
    printed '{}'
}

@test "own folders named outright are refused" {
    own_folders_with_secrets
    local path
    for path in "$HOME/.config/wattle" "$HOME/.config/wattle/config.json" "$HOME/.local/state/wattle"; do
        inside --rw "$path" -- bash -c 'cat "$1"/* "$1"; echo PWNED >"$1/planted"; echo PWNED >"$1"; true' job "$path"
        said_not topsecret
        said_not '"wattle"'
    done
    holds "$HOME/.config/wattle/config.json" '{"wattle": {}}'
    absent "$HOME/.config/wattle/planted" "$HOME/.local/state/wattle/planted"
}
