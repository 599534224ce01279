#!/usr/bin/env bats
# What a run made: the list of its names against what 'find' sees, what is told of it, and when.

load lib

# Runs in the pen and compares: all that was not there before is listed, and nothing else.
list_is_true() {
    find "$PEN" -mindepth 1 -printf '%P\0' | sort -z >"$WORLD/before"
    inside --made-fd 4 --status-fd 3 "$@" 3>"$WORLD/events" 4>"$WORLD/made"
    find "$PEN" -mindepth 1 -printf '%P\0' | sort -z >"$WORLD/after"
    comm -z -13 "$WORLD/before" "$WORLD/after" >"$WORLD/new"
    sort -z "$WORLD/made" | cmp -s - "$WORLD/new" ||
        fail "$(diff <(tr '\0' '\n' <"$WORLD/new") <(sort -z "$WORLD/made" | tr '\0' '\n'))"
    same "$(tail -1 "$WORLD/events" | json '(v["made"]["count"], v["made"]["complete"])')" \
        "($(tr -dc '\0' <"$WORLD/new" | wc -c), True)" "the count"
}

told() {
    tail -1 "$WORLD/events" | json '[(t["path"], t["reason"]) for t in v["made"]["told"]]'
}

# ---- the list --------------------------------------------------------------------------------

@test "the list is what was made: tools that make, move, link and remove" {
    need_tools git make tar
    mkdir old old/inner gone
    touch old/inner/file gone/file kept
    # shellcheck disable=SC2016 # for the shell inside
    list_is_true -- bash -c '
        mkdir -p a/b/c; echo x >a/b/c/file; echo y >a/b/c/other; rm a/b/c/other
        ln a/b/c/file a/hard; ln -s nowhere a/soft; mkfifo a/fifo
        mv a/b moved; mv moved/c deeper; mkdir moved/again; rmdir moved/again
        echo 1 >tmp; echo 2 >target; mv tmp target; mv target final
        rm -r gone; echo x >>kept; touch old/inner/new
        echo x >"a	tab"; echo x >"new
line"; echo x >$'"'"'bad\xff\xfebytes'"'"'; echo x >" "; mkdir -- -dash
        tar cf archive.tar a; mkdir unpacked; tar xf archive.tar -C unpacked
        /usr/bin/python3 -c "
import os, socket, tempfile
socket.socket(socket.AF_UNIX).bind(\"sock\")
with tempfile.NamedTemporaryFile(dir=\".\") as f: pass
fd = os.open(\".\", os.O_TMPFILE | os.O_WRONLY); os.link(\"/proc/self/fd/%d\" % fd, \"linked\")
os.symlink(\"through\", \"dangling\"); open(\"dangling\", \"w\").close()
os.mkdir(\"one\"); open(\"one/1\", \"w\"); os.mkdir(\"two\"); open(\"two/2\", \"w\")"
        true'
    ended 0
    # What was in a folder before it is renamed is not listed with it.
    mkdir there
    touch there/file
    inside --made-fd 4 -- mv there here 4>"$WORLD/made"
    same "$(tr '\0' ' ' <"$WORLD/made")" "here " "the list"
}

@test "git clone, a tree of packages, a generated build: listed, and told by what they run" {
    need_tools git make
    git init -q "$OUT/repository"
    git -C "$OUT/repository" -c user.name=n -c user.email=e@e commit -q --allow-empty -m one
    # shellcheck disable=SC2016 # for the shell inside
    list_is_true --ro "$OUT" -- bash -c '
        git -c safe.directory="*" clone -q --no-local "$1" cloned
        for package in one two three; do
            mkdir -p node_modules/$package/lib
            echo "{}" >node_modules/$package/.package.json.tmp
            mv node_modules/$package/.package.json.tmp node_modules/$package/package.json
            echo "x" >node_modules/$package/lib/index.js
        done
        mkdir -p node_modules/one/.vscode; echo "{}" >node_modules/one/.vscode/settings.json
        mkdir build; printf "all:\n\techo built >out\n" >build/Makefile; make -s -C build' - "$OUT/repository"
    ended 0
    [[ $(told) == *"('cloned/.git', 'git takes the folder for a repository of its own"* ]] || fail "$(told)"
    [[ $(told) == *"('build/Makefile', 'it runs when you build')"* ]] || fail "$(told)"
    [[ $(told) == *"('node_modules/two/package.json', 'it can run when you install or test')"* ]] || fail "$(told)"
    said "look before you use it: 'node_modules/one/.vscode/settings.json' (your editor would run what it says)"
    said_not Makefile
}

@test "with -v the names that run by other programs are said, else only guarded ones in deeper folders" {
    works -- touch Makefile package.json plain
    same "$stderr" "" "an ordinary run"
    rm Makefile package.json plain
    works -v -- touch Makefile package.json plain
    said "made 3 names"
    said "look before you use them: 'Makefile' (it runs when you build), 'package.json' (it can run when you install or test)"
    works -- bash -c 'mkdir -p a; echo x >a/.envrc'
    same "$stderr" "wattle: look before you use it: 'a/.envrc' (it would run when your shell enters the folder)"
    works -q -- bash -c 'mkdir -p b; echo x >b/.envrc'
    same "$stderr" ""
    works -v -- bash -c $'echo x >"a\nb.mk"'
    said 'look before you use it: '\''a\nb.mk'\'' (it runs when you build)'
}

@test "a file that was there is told of when it may have been written, not when it was read" {
    echo 'all:' >Makefile
    inside --status-fd 3 -- cat Makefile 3>"$WORLD/events"
    same "$(told)" "[]"
    inside --status-fd 3 -- bash -c 'echo >>Makefile' 3>"$WORLD/events"
    same "$(told)" "[('Makefile', 'it runs when you build')]"
    same "$(tail -1 "$WORLD/events" | json 'v["made"]["count"]')" 0
    inside --status-fd 3 -- /usr/bin/python3 -c 'import os; os.truncate("Makefile", 0)' 3>"$WORLD/events"
    same "$(told)" "[('Makefile', 'it runs when you build')]"
}

@test "names outside of the pen are whole paths; what is not kept is not listed" {
    inside --rw "$OUT" --made-fd 4 -- bash -c "echo x >in; echo x >'$OUT/out'; echo x >/tmp/t; echo x >\"\$HOME/h\"" 4>"$WORLD/made"
    ended 0
    same "$(tr '\0' ' ' <"$WORLD/made")" "$OUT/out in " "the list"
}

@test "a command that is killed has a list, a run without the guard has none" {
    inside --status-fd 3 --timeout 1s -- bash -c 'echo x >Makefile; sleep 60' 3>"$WORLD/events"
    ended 124
    same "$(told)" "[('Makefile', 'it runs when you build')]"
    inside -q --guard off --status-fd 3 --made-fd 4 -- touch plain 3>"$WORLD/events" 4>"$WORLD/made"
    ended 0
    same "$(tail -1 "$WORLD/events" | json '"made" in v')" False
    [[ ! -s $WORLD/made ]] || fail "a list without the guard"
}

@test "threads that make, move and remove the same names lose none that stays" {
    inside --made-fd 4 -- /usr/bin/python3 -c '
import os, threading
names = ["Makefile", "m", "n", "package.json"]
def work(seed):
    for i in range(4000):
        a, b = names[(i * 7 + seed) % 4], names[(i * 3 + seed * 5) % 4]
        try:
            if (i + seed) % 3 == 0:
                os.close(os.open(a, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            elif (i + seed) % 3 == 1:
                os.rename(a, b)
            elif (i + seed) % 5 == 0:
                os.link(a, b)
            else:
                os.unlink(a)
        except OSError:
            pass
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
os.close(os.open("last", os.O_CREAT | os.O_WRONLY))' 4>"$WORLD/made"
    ended 0
    present last
    find . -mindepth 1 -printf '%P\0' | sort -z | comm -z -23 - <(sort -z "$WORLD/made") >"$WORLD/lost"
    [[ ! -s $WORLD/lost ]] || fail "not listed: $(tr '\0' ' ' <"$WORLD/lost")"
}

@test "a name that moves onto a hard link of itself stays, and is told" {
    inside --status-fd 3 -- bash -c 'echo x >Makefile; ln Makefile m
        /usr/bin/python3 -c "import os; os.rename(\"Makefile\", \"m\")"' 3>"$WORLD/events"
    ended 0
    present Makefile
    same "$(told)" "[('Makefile', 'it runs when you build')]"
    inside --status-fd 3 -- bash -c 'echo x >Makefile; mv Makefile n' 3>"$WORLD/events"
    same "$(told)" "[]"
}

@test "more than can be kept is said to be missing" {
    inside --status-fd 3 -- /usr/bin/python3 -c '
import os
for i in range(15):
    os.mkdir("d" * 250); os.chdir("d" * 250)
for i in range(6000):
    os.close(os.open("x", os.O_CREAT | os.O_WRONLY)); os.unlink("x")' 3>"$WORLD/events"
    ended 0
    same "$(tail -1 "$WORLD/events" | json 'v["made"]["complete"]')" False
    said "more names were made than could be kept"
}

# ---- channels --------------------------------------------------------------------------------

@test "--made-fd is checked like --status-fd, and a reader that goes stops nothing" {
    inside --made-fd 1 -- true
    ended 125
    said "'--made-fd' cannot be 1"
    inside --made-fd 9 -- true
    ended 125
    said "'--made-fd' 9 is not open"
    inside --made-fd 4 --status-fd 4 -- true 4>"$WORLD/made"
    ended 125
    said "cannot be the same"
    inside --made-fd 4 -- touch a 4> >(:)
    ended 0
    # The command does not get it.
    inside --made-fd 4 -- bash -c 'ls /proc/self/fd' 4>"$WORLD/made"
    same "$(xargs <<<"$output")" "0 1 2 3" "descriptors inside"
}

@test "a refusal is an event while the command runs" {
    mkfifo "$WORLD/events"
    outside "$WATTLE" run -q --status-fd 5 --pen "$PEN" -- bash -c \
        'echo >.envrc; until [[ -e heard ]]; do sleep 0.02; done' 5<>"$WORLD/events"
    exec 6<"$WORLD/events"
    local line
    while read -r -t 20 line <&6; do [[ $line != *'"denied"'*'.envrc'* ]] || break; done
    [[ $line == *'"denied"'* ]] || fail "no event"
    alive "$PID" || fail "the run is over"
    touch heard
    while read -r -t 20 line <&6; do [[ $line != *'"exit"'* ]] || break; done
    exec 6<&-
    same "$(json '(v["code"], v["denied"])' <<<"$line")" "(0, 1)" "the last event"
}

# ---- why -------------------------------------------------------------------------------------

# because CALL PATH REASON SCRIPT: the script's one refusal is told with them.
because() {
    inside --status-fd 3 -- bash -c "$4; true" 3>"$WORLD/events"
    ended 0
    same "$(grep '"event":"denied"' "$WORLD/events" | json 'v["call"] + " " + v["path"] + ": " + v["reason"]')" \
        "$1 $PEN/$2: $3" "why"
}

@test "each refusal names what speaks against it, and why" {
    need_tools git
    git init -q
    mkdir -p .claude sub deep/.vscode other/.claude
    touch .claude/settings.json sub/.envrc deep/.vscode/tasks.json
    because rename .claude "it holds 'settings.json', which is held: an agent on your side would take its rights or commands from it" \
        'mv .claude c'
    because rename .vscode "it holds 'tasks.json', which is guarded there: your editor would run what it says" \
        'mv deep/.vscode .vscode'
    because mkdir sub/.git "with it, '.envrc' would count: it would run when your shell enters the folder" \
        'mkdir sub/.git'
    because open sub/bare/HEAD "it would make the folder a git repository of its own" \
        'mkdir -p sub/bare/objects sub/bare/refs; echo >sub/bare/HEAD'
    because rename .git/objects "it is a part of a git folder, and could be completed to a repository elsewhere" \
        'mv .git/objects o'
    because symlink .cursor "an agent on your side would take its rights or commands from it" \
        'ln -s sub .cursor'
    because rename .vscode "it holds 'tasks.json', which is guarded there: your editor would run what it says" \
        'mkdir .vscode; /usr/bin/python3 -c "
import ctypes
ctypes.CDLL(None).renameat2(-100, b\"deep/.vscode\", -100, b\".vscode\", 2)"'
    present .claude/settings.json deep/.vscode/tasks.json .git/objects
}
