/* The decision table: what a call may do with names of these classes. Nothing else decides.
 *
 * Its three ideas. A guarded name is not made, written or moved, but by the few ways its row
 * allows. The beginning of one (PARTIAL) may be made, but nothing that is filled already, or could
 * be filled elsewhere, may come to stand there: no symlink at all, and a folder only after a look
 * into it under the exclusive lock. And what stands at one is not carried away. */
#include "fence/guard/rules.h"

#include <errno.h>

#define TOO_DEEP "its place is too deep, or too long, to be told from a guarded one"
#define PART_OF_GIT "it is a part of a git folder, and could be completed to a repository elsewhere"

static void refuse(struct guard_verdict *verdict, int error, const struct guard_class *class)
{
    verdict->reason = class->overflow ? TOO_DEEP : NULL;
    verdict->error = error;
    verdict->needs = 0;
    verdict->vet = GUARD_VET_NONE;
    verdict->rule = class->rule;
}

static void be_quiet(struct guard_verdict *verdict, int error)
{
    verdict->error = error;
    verdict->needs = 0;
    verdict->vet = GUARD_VET_NONE;
    verdict->quiet = true;
}

static void ask_vet(struct guard_verdict *verdict, enum guard_vet vet)
{
    verdict->needs |= GUARD_NEED_EXCLUSIVE | GUARD_NEED_VET;
    verdict->vet = vet;
}

/* ---- a new name ---------------------------------------------------------------------------- */

/* Whether the row lets the name be made in this way. */
static bool may_make(const struct guard_question *question, struct guard_verdict *verdict)
{
    const struct guard_class *target = question->target;
    const bool is_file = question->op == GUARD_CREATE;
    const bool is_folder = question->op == GUARD_MKDIR;

    switch (target->vet) {
    case GUARD_VET_GIT:
        if (!is_file && !is_folder)
            return false;
        verdict->needs |= GUARD_NEED_EXCLUSIVE | GUARD_NEED_BESIDE;
        if (is_file)
            ask_vet(verdict, GUARD_VET_GIT);
        return true;
    case GUARD_VET_HOOKS:
        return (is_folder && target->is_folder) || (is_file && target->sample);
    case GUARD_VET_COMMONDIR:
    case GUARD_VET_BACK:
    case GUARD_VET_LOCK:
        if (is_file)
            ask_vet(verdict, target->vet);
        return is_file;
    case GUARD_VET_CONFIG: /* comes by a rename, whole */
    case GUARD_VET_NONE:
        return false;
    }
    return false;
}

static bool makes_link(const struct guard_question *question)
{
    return question->op == GUARD_SYMLINK ||
           (question->op == GUARD_LINK && question->kind == GUARD_LINK_TEXT);
}

/* Whose rule speaks against it; NULL: nothing does. */
static const struct guard_class *find_objection(const struct guard_question *question,
                                                struct guard_verdict *verdict)
{
    const struct guard_class *target = question->target;

    if (question->source != NULL && question->source->level == GUARD_DENY)
        return question->source;
    if (target->level == GUARD_DENY && (question->exists || !may_make(question, verdict)))
        return target;
    if (target->level == GUARD_PARTIAL && makes_link(question) && !question->harmless)
        return target;
    return NULL;
}

static void refuse_link(const struct guard_question *question, struct guard_verdict *verdict)
{
    if (question->exists && question->op != GUARD_RENAME && question->op != GUARD_EXCHANGE) {
        be_quiet(verdict, EEXIST);
        return;
    }
    refuse(verdict, GUARD_REFUSED, question->target);
    verdict->reason = guard_link_reason;
}

/* What is there already is no refusal of ours. It may be gone when the call is made, so nothing
 * else rests on it. */
static void decide_new(const struct guard_question *question, struct guard_verdict *verdict)
{
    const struct guard_class *objection = find_objection(question, verdict);

    if (question->target->bare)
        verdict->needs |= GUARD_NEED_EXCLUSIVE | GUARD_NEED_BARE;
    if (objection != NULL && question->exists)
        be_quiet(verdict, question->op == GUARD_BIND ? EADDRINUSE : EEXIST);
    else if (objection != NULL)
        refuse(verdict, GUARD_REFUSED, objection);
    else if (question->redirects)
        refuse_link(question, verdict);
    verdict->of_source = objection != NULL && objection == question->source;
}

/* ---- what is there ------------------------------------------------------------------------- */

static void decide_write(const struct guard_question *question, struct guard_verdict *verdict)
{
    const struct guard_class *target = question->target;
    const bool is_open = question->op == GUARD_WRITE;

    if (target->bare)
        verdict->needs |= GUARD_NEED_BARE;
    if (target->level != GUARD_DENY || target->sample)
        return;
    if (is_open && (target->vet == GUARD_VET_GIT || target->vet == GUARD_VET_COMMONDIR ||
                    target->vet == GUARD_VET_BACK || target->vet == GUARD_VET_LOCK))
        ask_vet(verdict, target->vet);
    else
        refuse(verdict, GUARD_REFUSED, target);
}

/* What makes a folder a bare repository stays: without it its hooks would be nothing guarded, until
 * it is put back. Taking away what the job made itself is its own affair. Of a lock, one at a time:
 * else one thread would remove what the owner's git has put in the place of what another thread
 * removed. Where nothing is, nothing is taken away: what comes there before the call is made is
 * somebody else's.
 */
static void decide_unlink(const struct guard_question *question, struct guard_verdict *verdict)
{
    const struct guard_class *target = question->target;

    if (target->vet == GUARD_VET_LOCK)
        verdict->needs |= GUARD_NEED_EXCLUSIVE;
    if (target->bare)
        verdict->needs |= GUARD_NEED_BARE_STAYS;
    if (target->level == GUARD_DENY && !question->exists)
        be_quiet(verdict, ENOENT);
    else if (target->level == GUARD_DENY && question->held)
        refuse(verdict, EBUSY, target);
}

/* A mode matters for what is executed; git sets that of its configuration to try the file system.
 * Who lets others write the owner's has changed it by another's hand. */
static void decide_chmod(const struct guard_question *question, struct guard_verdict *verdict)
{
    const struct guard_class *target = question->target;
    const bool harmless = target->vet != GUARD_VET_NONE && target->vet != GUARD_VET_HOOKS &&
                          (target->vet != GUARD_VET_LOCK || !question->held) &&
                          !(question->opens && question->held);

    /* The owner's own folder of hooks, closed, would switch them off. */
    if (target->level == GUARD_DENY && !harmless && !target->sample &&
        (!target->is_folder || question->held))
        refuse(verdict, GUARD_REFUSED, target);
}

/* ---- moves --------------------------------------------------------------------------------- */

/* Whether the row lets something be renamed onto the name. */
static bool may_replace(const struct guard_question *question, struct guard_verdict *verdict)
{
    const enum guard_vet vet = question->target->vet;

    if (question->op != GUARD_RENAME || vet == GUARD_VET_NONE || vet == GUARD_VET_HOOKS ||
        vet == GUARD_VET_LOCK)
        return false;
    if (vet == GUARD_VET_CONFIG && question->source->vet != GUARD_VET_LOCK)
        return false; /* else what the owner's git has just written there could be lost */
    if (vet == GUARD_VET_GIT)
        verdict->needs |= GUARD_NEED_EXCLUSIVE | GUARD_NEED_BESIDE;
    if (question->kind == GUARD_FILE) {
        ask_vet(verdict, vet);
        return true;
    }
    if (question->kind != GUARD_FOLDER || vet != GUARD_VET_GIT)
        return false;
    verdict->needs |= GUARD_NEED_TREE;
    return true;
}

/* A folder of a git folder, without its names that are guarded, is a repository to be completed
 * elsewhere. */
static bool leaves_git(const struct guard_class *from, const struct guard_class *to)
{
    return from->in_git && !to->in_git && !(to->level == GUARD_DENY && to->vet == GUARD_VET_GIT);
}

/* What stands at `from` comes to stand at `to`. The bits to ask for are given, since an exchange
 * goes both ways. Returns 0 or the errno. */
static int decide_way(const struct guard_class *from, const struct guard_class *to,
                      enum guard_kind kind, unsigned tree, unsigned leaves, unsigned *needs)
{
    if (from->in_git != to->in_git || from->level == GUARD_PARTIAL || to->level == GUARD_PARTIAL)
        *needs |= GUARD_NEED_EXCLUSIVE;
    if (kind == GUARD_FOLDER && leaves_git(from, to))
        return EBUSY;
    if (kind == GUARD_FOLDER && to->in_git && !from->in_git)
        *needs |= tree; /* for the links in it */
    if (to->level == GUARD_PARTIAL && kind == GUARD_LINK_TEXT)
        return GUARD_REFUSED;
    if (from->level == GUARD_PARTIAL && kind == GUARD_LINK_TEXT)
        return EBUSY;
    if (to->level == GUARD_PARTIAL && kind == GUARD_FOLDER)
        *needs |= tree;
    if (from->level == GUARD_PARTIAL && kind == GUARD_FOLDER)
        *needs |= leaves;
    return 0;
}

/* What decide_way() found. The rule of `to` is why a symlink does not come there, that of `from`
 * why it does not leave. */
static void refuse_way(struct guard_verdict *verdict, int error, const struct guard_class *from,
                       const struct guard_class *to, enum guard_kind kind)
{
    refuse(verdict, error, error == EBUSY ? from : to);
    if (kind == GUARD_FOLDER && leaves_git(from, to))
        verdict->reason = PART_OF_GIT;
}

static void decide_exchange(const struct guard_question *question, struct guard_verdict *verdict)
{
    const struct guard_class *target = question->target;
    const int error = decide_way(target, question->source, question->other, GUARD_NEED_OTHER,
                                 GUARD_NEED_OTHER_LEAVES, &verdict->needs);

    if (question->source->bare)
        verdict->needs |= GUARD_NEED_EXCLUSIVE | GUARD_NEED_BARE_SOURCE;
    if (error == 0)
        return;
    refuse_way(verdict, error, target, question->source, question->other);
    verdict->of_source = error != EBUSY;
}

static void decide_move(const struct guard_question *question, struct guard_verdict *verdict)
{
    const struct guard_class *target = question->target;
    const struct guard_class *source = question->source;
    int error = 0;

    if (target->bare)
        verdict->needs |= GUARD_NEED_EXCLUSIVE | GUARD_NEED_BARE;
    if (source->bare && question->op == GUARD_RENAME)
        verdict->needs |= GUARD_NEED_BARE_STAYS_SOURCE;
    if (target->level == GUARD_DENY && !may_replace(question, verdict)) {
        refuse(verdict, GUARD_REFUSED, target);
        return;
    }
    if (source->level == GUARD_DENY &&
        (source->vet != GUARD_VET_LOCK || target->vet != GUARD_VET_CONFIG)) {
        refuse(verdict, EBUSY, source);
        verdict->of_source = true;
        return;
    }
    error = decide_way(source, target, question->kind, GUARD_NEED_TREE, GUARD_NEED_TREE_LEAVES,
                       &verdict->needs);
    if (error == 0 && question->op == GUARD_EXCHANGE)
        decide_exchange(question, verdict);
    if (error == 0 && verdict->error == 0 && question->redirects)
        refuse_link(question, verdict);
    if (error == 0)
        return;
    refuse_way(verdict, error, source, target, question->kind);
    verdict->of_source = error == EBUSY;
}

/* ---- the public side ----------------------------------------------------------------------- */

void guard_decide(const struct guard_question *question, struct guard_verdict *ret_verdict)
{
    *ret_verdict = (struct guard_verdict){.rule = question->target->rule};

    switch (question->op) {
    case GUARD_CREATE:
    case GUARD_MKDIR:
    case GUARD_MKNOD:
    case GUARD_BIND:
    case GUARD_SYMLINK:
    case GUARD_LINK:
        decide_new(question, ret_verdict);
        return;
    case GUARD_WRITE:
    case GUARD_TRUNCATE:
        decide_write(question, ret_verdict);
        return;
    case GUARD_RENAME:
    case GUARD_EXCHANGE:
        decide_move(question, ret_verdict);
        return;
    case GUARD_UNLINK:
        decide_unlink(question, ret_verdict);
        return;
    case GUARD_CHMOD:
        decide_chmod(question, ret_verdict);
        return;
    case GUARD_WHITEOUT: /* leaves a name that overlay file systems read as "nothing here" */
        break;
    }
    be_quiet(ret_verdict, EINVAL);
}

bool guard_is_free(enum guard_op op, const struct guard_class *target,
                   const struct guard_class *source)
{
    if (target->level != GUARD_NO || target->bare || op == GUARD_WHITEOUT ||
        (op == GUARD_SYMLINK && target->in_git))
        return false;
    return source == NULL || (source->level == GUARD_NO && source->in_git == target->in_git &&
                              (!source->bare || (op != GUARD_EXCHANGE && op != GUARD_RENAME)));
}

const char *guard_op_name(enum guard_op op)
{
    static const char *const names[GUARD_OPS] = {
        [GUARD_CREATE] = "create",     [GUARD_WRITE] = "write",   [GUARD_TRUNCATE] = "truncate",
        [GUARD_MKDIR] = "mkdir",       [GUARD_MKNOD] = "mknod",   [GUARD_BIND] = "bind",
        [GUARD_SYMLINK] = "symlink",   [GUARD_LINK] = "link",     [GUARD_RENAME] = "rename",
        [GUARD_EXCHANGE] = "exchange", [GUARD_UNLINK] = "remove", [GUARD_CHMOD] = "chmod",
        [GUARD_WHITEOUT] = "whiteout",
    };

    return (unsigned) op < GUARD_OPS ? names[op] : "change";
}
