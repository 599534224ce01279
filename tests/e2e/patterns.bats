#!/usr/bin/env bats
# The owner's own guarded names: patterns of denyWrite and --deny-write. Each attack lands without
# the rule, and outside of a run.

load lib

readonly PEMS=(--deny-write '**/*.pem')

settings() {
    mkdir -p "$HOME/.config/wattle"
    echo "$1" >"$HOME/.config/wattle/config.json"
}

# One way each of getting at a name that fits; a world is made for it by `world`.
ATTACKS=(
    'echo x >new.pem'
    'echo x >New.PEM'
    'mkdir made.pem'
    'mkdir -p a/b/c/d/e/f/g/h/i/j && echo x >a/b/c/d/e/f/g/h/i/j/k.pem'
    'mv file new.pem'
    'mv -T folder new.pem'
    'ln file new.pem'
    'ln -s file new.pem'
    'mkfifo new.pem'
    'cp file new.pem'
    'echo x >deep/er/key.pem'
    'echo x >>deep/er/key.pem'
    'truncate -s 0 deep/er/key.pem'
    'rm deep/er/key.pem'
    'mv deep/er/key.pem key'
    'mv file deep/er/key.pem'
    'ln deep/er/key.pem key && echo x >key'
    'ln -s deep/er/key.pem key && echo x >key'
    'cd deep/er && echo x >key.pem'
    'chmod 777 deep/er/key.pem'
    'rm -r deep'
    'echo x >dir.pem/inside'
    'rm dir.pem/there'
    'mv dir.pem dir'
)

world() {
    rm -rf "$1"
    mkdir -p "$1/deep/er" "$1/folder" "$1/dir.pem"
    echo file >"$1/file"
    echo owner | tee "$1/deep/er/key.pem" "$1/dir.pem/there" >/dev/null
}

# All that fits, with its content, and what came of it elsewhere.
pems() {
    find "$1" -ipath '*.pem*' -printf '%P %y %m %l\n' | sort
    find "$1" -type f -ipath '*.pem*' -exec cat {} +
}

@test "a name that fits a pattern is not made, moved onto, linked, written, removed or moved away" {
    local attack before
    world "$PEN/w"
    before=$(pems w)
    for attack in "${ATTACKS[@]}"; do
        world "$PEN/w"
        run bash -c "cd w; $attack"
        [[ $(pems w) != "$before" ]] || fail "the control did nothing: $attack"
        world "$PEN/w"
        inside -q -C w -- bash -c "$attack"
        [[ $(pems w) != "$before" ]] || fail "the counter-control did nothing: $attack"
        world "$PEN/w"
        inside "${PEMS[@]}" -C w -- bash -c "$attack"
        failed_inside
        said "the rule '**/*.pem' of --deny-write"
        same "$(pems w)" "$before" "$attack"
    done
}

@test "other names are free beside a pattern, and tools work" {
    need_tools git
    works "${PEMS[@]}" -- bash -ec 'mkdir d; echo x >d/pem; echo x >key.pem2; mv d/pem x.pe; ln x.pe y
        git init -q .; git add y; git -c user.name=a -c user.email=b commit -qm x; rm -r d y'
    present key.pem2 x.pe
}

@test "a folder that holds a name cannot be renamed to where it would fit, or away from there" {
    mkdir -p docs/plans other/plans
    echo owner | tee docs/plans/one other/plans/one >/dev/null
    inside --deny-write 'docs/plan?/*' -- bash -c 'mv docs d; mv docs/plans docs/x; echo x >docs/plans/one
        rm -r docs; true'
    ended 0
    holds docs/plans/one owner
    absent d docs/x
    # Elsewhere it is any name, until it would come there.
    inside --deny-write 'docs/plan?/*' -- bash -c 'echo x >other/plans/one; mv other/plans docs/plant'
    failed_inside
    holds other/plans/one x
    absent docs/plant
    works --deny-write 'docs/plan?/?*-x' -- bash -c 'mv other/plans docs/plant'
    holds docs/plant/one x
}

@test "absolute patterns and those that begin above the pen hold in it" {
    local pattern
    for pattern in "$PEN/*.pem" "$HOME/**/*.pem" "$HOME/*/pen/*.pem"; do
        inside --deny-write "$pattern" -- bash -c 'echo x >new.pem'
        failed_inside
        absent new.pem
    done
    works --deny-write "$OUT/**/*.pem" -- bash -c 'echo x >new.pem'
    rm new.pem
    # shellcheck disable=SC2016 # for the shell inside
    inside --rw "$OUT" --deny-write "$OUT/**/*.pem" -- bash -c 'echo x >new.pem; echo x >"$1/new.pem"' job "$OUT"
    failed_inside
    present new.pem
    absent "$OUT/new.pem"
    inside --deny-write "$HOME/wor?/**" -- bash -c 'echo x >file'
    failed_inside
    absent file
}

@test "a pattern for one tree holds in it however names come there, and not in another" {
    mkdir -p sub/d "$OUT/d" kept/d
    echo x | tee sub/d/a.pem "$OUT/d/a.pem" kept/d/a.pem >/dev/null
    # shellcheck disable=SC2016 # for the shell inside
    inside --rw "$OUT" --rw "$PEN/sub" --deny-write "$PEN/sub/**/*.pem" -- bash -c 'mv kept/d sub/e; mv "$1/d" sub/f
        cp -r kept/d sub/g; mv sub/d here; echo y >kept/d/b.pem; echo y >"$1/d/b.pem"; true' job "$OUT"
    ended 0
    same "$(find sub -name '*.pem' -print)" sub/d/a.pem "names in the tree"
    present sub/d/a.pem "$OUT/d/b.pem" kept/d/b.pem
    absent here/a.pem
}

@test "a pattern from a file holds, in each tree that can be written; 'docs/x' from its top only" {
    settings '{"filesystem": {"denyWrite": ["**/*.pem", "docs/x"]}}'
    mkdir -p docs sub/docs "$OUT/docs"
    # shellcheck disable=SC2016 # for the shell inside
    inside --rw "$OUT" -- bash -c 'for top in . sub "$1"; do echo x >"$top/n.pem"; echo x >"$top/docs/x"; done; true' \
        job "$OUT"
    ended 0
    said "the rule '**/*.pem' of config.json"
    absent n.pem sub/n.pem "$OUT/n.pem" docs/x "$OUT/docs/x"
    present sub/docs/x
    settings '{"filesystem": {"denyWrite": ["**/[a].pem"]}}'
    inside -- touch ran
    ended 125
    said "has a '[' or"
    absent ran
}

@test "policy explain and policy show name the rule" {
    run --separate-stderr "$WATTLE" policy explain "${PEMS[@]}" secret.pem a/b/SECRET.PEM
    ended 0
    same "$(grep -c "^guarded .*: held; the rule '\*\*/\*.pem' of --deny-write" <<<"$output")" 2 "answers"
    run --separate-stderr "$WATTLE" policy explain --write "${PEMS[@]}" secret.pem
    ended 1
    run --separate-stderr "$WATTLE" policy explain --write secret.pem
    ended 0
    said_not guarded
    run --separate-stderr "$WATTLE" policy show "${PEMS[@]}"
    said "the rule '**/*.pem' of --deny-write"
}

@test "without the guard a pattern is refused by name; a path is held all the same" {
    echo owner >kept
    inside --guard off "${PEMS[@]}" -- touch ran
    ended 125
    said "the rule '**/*.pem' of --deny-write cannot be kept where names are not guarded"
    run --separate-stderr "$WATTLE" run --dry-run --json --guard off "${PEMS[@]}" -- true
    # shellcheck disable=SC2154 # of bats
    same "$(json 'v["error"]["id"]' <<<"$stderr")" fence.pattern "the error"
    absent ran
    works --guard off -- touch ran
    inside --guard off --deny-write kept -- bash -c 'echo x >kept'
    failed_inside
    holds kept owner
    works --guard off -- bash -c 'echo x >kept'
}

@test "--guard detect holds what fits and is there, and says that new ones are not prevented" {
    local attack
    world "$PEN/w"
    for attack in 'echo x >w/deep/er/key.pem' 'rm w/deep/er/key.pem' 'mv w/deep/er/key.pem k' 'rm -r w/dir.pem'; do
        inside --guard detect "${PEMS[@]}" -- bash -c "$attack"
        failed_inside
        said "that are there are held, new ones are not prevented"
        holds w/deep/er/key.pem owner
        holds w/dir.pem/there owner
    done
    works --guard detect "${PEMS[@]}" -- bash -c 'echo x >other'
    works --guard detect -- bash -c 'echo x >w/deep/er/key.pem'
}
