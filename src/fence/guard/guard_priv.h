/* The parts of the guard. Private to src/fence/guard.
 *
 * Everything here runs in pid 1 and reads what a hostile program wrote: each buffer is of one size,
 * nothing is allocated for a call, every failure refuses the call. Return values are the kernel's:
 * a result >= 0 or -errno, as the program that made the call will see it. */
#ifndef WATTLE_FENCE_GUARD_PRIV_H
#define WATTLE_FENCE_GUARD_PRIV_H

#include "fence/guard/guard.h"
#include "fence/guard/rules.h"
#include "fence/guard/vet.h"

#include <limits.h>
#include <linux/limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>

#define GUARD_LINKS_MAX 40     /* symlinks followed on the way of one path, as the kernel does */
#define GUARD_BLOCKED_MAX 256u /* opens that wait for the other side of a FIFO, at one time */
#define GUARD_MADE_MAX 1024u   /* git folders the job has made */
#define GUARD_TREE_DEPTH 24u
#define GUARD_MOUNTS_KNOWN 16u
#define GUARD_PENDING_MAX 16u /* pointers the job has opened and not yet written */
#define GUARD_DRAFTS_MAX 32u  /* configurations the job is about to change, at one time */
#define GUARD_LATER (-100000) /* a thread of its own will answer */
#define GUARD_AGAIN (-100001) /* once more from the look, with the exclusive lock */

struct guard_blocked;

/* A folder of a tree that is walked; a stack of them, so that no depth can take our own. */
struct guard_depth {
    int fd;
    struct guard_class class;
    size_t at, end;
    _Alignas(8) char entries[2048];
};

/* What a walk stopped at. */
struct guard_found {
    char name[NAME_MAX + 1]; /* "": the tree is too large, too deep or closed to us */
    int rule;
};

/* A pointer of git's (.git, gitdir, commondir) that the job writes into a file without a name. At
 * the next call it is read, and if it is whole and points to nothing bad, a copy gets the name. */
struct guard_pending {
    int fd;        /* what the job writes to */
    int folder_fd; /* where the name belongs */
    char name[NAME_MAX + 1];
    enum guard_vet vet;
    pid_t tid; /* who opened it, for the report */
    const struct guard_row *row;
};

/* A 'config.lock' of the job's: the file that has the name stays empty, and open here, so that its
 * number is nobody else's; what the job writes is in the other. draft.c */
struct guard_draft {
    int name_fd, text_fd;
};

/* One thread's lock. */
struct guard_board;
struct guard_lock {
    int fd; /* an open file description of its own */
    enum { GUARD_HOLD_SEAT, GUARD_HOLD_SHARED, GUARD_HOLD_EXCLUSIVE } hold; /* the last one */
    struct guard_board *board;                                              /* NULL: none */
    _Atomic uint32_t *seat;                                                 /* NULL: none */
};

/* An inode, and not the next one of that number: file systems give a number again at once. One
 * without times of birth (0) leaves that open; there a number is forgotten when the job takes the
 * name away. */
struct guard_object {
    uint64_t dev, inode, born_ns;
};

struct guard_row;

/* An extended attribute, read once. */
struct guard_attribute {
    uint64_t size;
    int flags;
    char name[XATTR_NAME_MAX + 1];
    char value[XATTR_SIZE_MAX];
};

/* One notified call. Filled again and again by its thread. */
struct guard_call {
    struct guard *guard;
    const struct guard_row *row;
    struct guard_lock lock;
    atomic_uint turn; /* odd while a call of this thread is under way: turns.c */
    mode_t umask_now; /* of this thread */
    struct {
        pid_t tid; /* 0: nobody's */
        int status_fd;
    } known;         /* the task whose umask was asked for last */
    pid_t pidfd_tid; /* whose `pidfd` is; 0: nobody's */
    int pidfd;
    uint64_t id;
    pid_t tid;
    uint64_t args[6];
    int dir_fd[2];  /* of the task, or AT_FDCWD */
    unsigned flags; /* the low half, which is what the kernel reads */
    mode_t mode;
    char path[2][PATH_MAX]; /* read once; the first is overwritten while symlinks are followed */
    struct guard_attribute attribute;
};

/* Pages nobody touches cost nothing, and each that is touched costs a start more than ten system
 * calls: what every start needs comes first, and what is large at the end. */
struct guard {
    struct guard_settings settings;
    pid_t pid;
    int fds_fd;                /* O_PATH of /proc/self/fd */
    struct guard_board *board; /* of the lock */
    pthread_mutex_t gate;      /* held until guard_go */
    atomic_uint taker;         /* of `calls`: whose thread takes the next call */
    _Atomic uint32_t unwatched;
    _Atomic uint64_t mounts_known[GUARD_MOUNTS_KNOWN]; /* of ours, as they were met */
    atomic_uint mounts_next;
    atomic_bool has_recorded;
    pthread_mutex_t denied_mutex;
    uint64_t denied_count;

    pthread_mutex_t blocked_mutex; /* for the next four */
    pthread_cond_t blocked_some;
    struct guard_blocked *blocked;
    unsigned blocked_count;
    bool watching;

    /* Git folders and pointers the job has made: it may take them away again. */
    pthread_mutex_t made_mutex;
    unsigned made_count;
    struct guard_object made[GUARD_MADE_MAX];

    /* Used by the holder of the exclusive lock only. */
    atomic_uint pending_count;
    unsigned draft_count;
    struct guard_draft drafts[GUARD_DRAFTS_MAX]; /* read under the shared lock too */
    struct guard_pending pending[GUARD_PENDING_MAX];
    struct guard_found found;
    struct guard_vetted vetted;
    struct guard_depth levels[GUARD_TREE_DEPTH];
    char source_text[GUARD_VET_LIMIT], old_text[GUARD_VET_LIMIT], new_text[GUARD_VET_LIMIT];

    struct guard_call calls[GUARD_LOCKS]; /* of each thread, and that of the end */
};

/* How a call is read, and who performs it. loop.c has the table. */
struct guard_row {
    int number;
    const char *name;
    int8_t dir[2];  /* the argument that holds a folder's descriptor; -1: the current folder */
    int8_t path[2]; /* the argument that points to a string; -1: none */
    int8_t flags, mode;
    bool gives_fd;
    int (*perform)(struct guard_call *call);
};

/* ---- loop.c ---------------------------------------------------------------------------------- */

/* Whether the task still waits: only then is what was read by its number its own. */
bool guard_is_waiting(const struct guard *guard, uint64_t id);
void guard_answer(const struct guard *guard, uint64_t id, int64_t value, int error);
/* Puts `fd` into the task, closes it here and only then lets the task go on: a copy that outlives
 * the return makes programs see their own file busy. Closes in any case. */
void guard_answer_fd(const struct guard *guard, uint64_t id, int fd, bool cloexec);

/* A detached one. 0 or -errno. */
int guard_start_thread(size_t stack_bytes, void *(*run)(void *context), void *context,
                       pthread_t *ret_thread);

/* ---- turns.c: which thread takes calls
 * -----------------------------------------------------------
 */

bool guard_turn_is_mine(const struct guard_call *call);
void guard_turn_wait(struct guard_call *call); /* until it is */
/* Around each call that was taken. */
void guard_turn_begin(struct guard_call *call);
void guard_turn_end(struct guard_call *call);

/* ---- task.c: what belongs to the task ----------------------------------------------------------
 */

/* CAP_SYS_PTRACE in the pen's user namespace, for this thread and this moment only. */
void guard_trace_right(bool on);
/* The string at `address`, read once. -EFAULT, -ENAMETOOLONG, -EACCES. */
int guard_read_string(pid_t tid, uint64_t address, char *text, size_t size);
/* Two of PATH_MAX at once. false: one of them is longer than most, or cannot be read so. */
bool guard_read_two(pid_t tid, const uint64_t addresses[2], char texts[2][PATH_MAX]);
int guard_read_bytes(pid_t tid, uint64_t address, void *bytes, size_t size);
/* O_PATH of the task's folder `dir_fd` (AT_FDCWD: its current one). */
int guard_open_start(const struct guard_call *call, int dir_fd);
/* O_PATH of whatever the task's descriptor is. */
int guard_open_object(const struct guard_call *call, int fd);
/* The task's descriptor itself. */
int guard_take_fd(struct guard_call *call, int fd);
/* A number of /proc/TID/status; -ESRCH. */
int guard_task_number(pid_t tid, const char *key, int base);
int guard_task_status(pid_t tid, char *text, size_t size);
int guard_task_terminal(pid_t tid); /* device number; -ENXIO */
void guard_task_program(pid_t tid, char *name, size_t size);
/* Makes this thread's umask the task's. */
void guard_wear_umask(struct guard_call *call);

/* ---- walk.c: from a string to a folder and a name ----------------------------------------------
 */

struct guard_place {
    int fd;                   /* O_PATH of the folder; owned, unless it is `borrowed` */
    bool borrowed;            /* from the other place of the same call */
    unsigned mount;           /* of the folder: guard_mount_of() */
    bool proc;                /* on procfs, where nothing can be made */
    bool slow;                /* the string leads somewhere else for us than for the task */
    char name[NAME_MAX + 2];  /* as given; "." and ".." and one trailing slash may be there */
    char plain[NAME_MAX + 1]; /* without that slash */
    char location[PATH_MAX];  /* of the folder; only after guard_locate, under the lock */
};
#define GUARD_NO_PLACE                                                                             \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

void guard_place_close(struct guard_place *place); /* for AUTO() */

/* The folder the last component of `path` lies in. `base_fd` (not taken; -1: none) is where a
 * relative path starts, else the task's `dir_fd`. */
int guard_find(const struct guard_call *call, int base_fd, int dir_fd, const char *path,
               struct guard_place *ret_place);
/* The place of the second path. Where it starts and goes like the first, up to the name, one folder
 * is both: it is borrowed from `first`, which is closed after it. */
int guard_find_second(const struct guard_call *call, const struct guard_place *first,
                      struct guard_place *ret_place);
/* O_PATH of what has the name, not following it. */
int guard_open_named(const struct guard_call *call, const struct guard_place *place);
/* Fills `location`. Only under the lock is it still true when the call is made. -EXDEV: it lies in
 * no mount of ours. */
int guard_locate(const struct guard *guard, struct guard_place *place);
/* Where an object lies, as the kernel names it; does not begin with "/" for what has no name. */
int guard_location(const struct guard *guard, int fd, char *text);
/* Walks all of `path`, following links, as the task would: "self" is the task. O_PATH. */
int guard_walk(const struct guard_call *call, int start_fd, const char *path);
/* What `path` names, symlinks followed unless `follow` is false (then it may be a symlink). */
int guard_find_object(struct guard_call *call, int dir_fd, char *path, bool follow);
bool guard_is_own(const struct guard *guard, int fd); /* something of pid 1 in procfs */
bool guard_is_proc(int fd);
/* The path of an own descriptor; and its name in guard->fds_fd, which takes less to walk. */
#define GUARD_FD_PATH_SIZE 40
void guard_fd_path(int fd, char path[GUARD_FD_PATH_SIZE]);
void guard_fd_name(int fd, char name[GUARD_FD_PATH_SIZE]);

/* ---- mounted.c ---------------------------------------------------------------------------------
 */

/* Bits. FOREIGN: `fd` came from outside of our mounts, so that its location means nothing. Also
 * what no mount of a tree has: a pipe, a file in memory. What cannot be told is both. */
#define GUARD_MOUNT_FOREIGN 1u
#define GUARD_MOUNT_PROC 2u
#define GUARD_MOUNT_READS 4u /* read-only */
unsigned guard_mount_of(struct guard *guard, int fd);

/* ---- judge.c: asking rules.h, and looking at what it needs to know -----------------------------
 */

struct guard_judged {
    enum guard_op op;
    struct guard_place *target; /* located here */
    struct guard_place *source; /* RENAME, EXCHANGE, WHITEOUT: located here; else NULL */
    int source_fd;              /* LINK: the object; else -1 */
    int object_fd;              /* WRITE, TRUNCATE, CHMOD of an object that was not reached by the
                                   target's name: `target` is filled from where it lies */
    const char *text;           /* SYMLINK */
    bool exclusive;             /* the lock that is held */
    bool held;                  /* the target is not the job's own */
    bool opens;                 /* CHMOD: it lets others write */
    bool brings_link;           /* into a git folder, a symlink that git would write through */
    struct guard_class target_class, source_class;
    struct guard_verdict verdict;
    char found[160]; /* what `verdict.needs` found to speak against it; "": nothing */
};

/* 0: perform it, by verdict.vet where that is set. GUARD_AGAIN, or -errno: refused and reported. */
int guard_judge(struct guard_call *call, struct guard_judged *judged);
/* Whether what is called by a descriptor lies where nothing is guarded. It stays so: see
 * change_object() in perform_mode.c. */
bool guard_object_is_free(struct guard_call *call, int fd);

/* lock.c: takes the lock, shared and if `step` wants exclusive, and calls it under it. */
int guard_locked(struct guard_call *call,
                 int (*step)(struct guard_call *call, void *context, bool exclusive),
                 void *context);
bool guard_exists(const struct guard_place *place, struct stat *ret_status);
void guard_note_made(struct guard_call *call, const struct guard_judged *judged);
/* Before the target's name is taken away: whether it may be one that was noted, and which; after.
 */
bool guard_leaves_made(const struct guard_judged *judged, struct guard_object *ret_object);
void guard_forget_made(struct guard *guard, const struct guard_object *object);

/* ---- denied.c ---------------------------------------------------------------------------------
 */

/* `err` NULL: the reason of the rule. */
void guard_report(struct guard_call *call, const struct guard_judged *judged,
                  const struct err *err);

/* The answer to a call whose text cannot be vetted: reports it, with `why` instead of the rule's
 * reason (NULL: that). Returns -GUARD_REFUSED. */
int guard_refuse_vet(struct guard_call *call, const struct guard_judged *judged, const char *why);
#define GUARD_NO_TMPFILE "this file system has no files without a name, which vetting needs"

/* ---- record.c: the list of made names. All under the lock the call is made under ----------------
 */

/* `place` has come into existence. */
void guard_record_made(const struct guard_call *call, const struct guard_place *place);
/* What is at `place` may be written from now on. */
void guard_record_written(const struct guard_call *call, const struct guard_place *place);
/* Before a name goes (the source, where there is one, else the target), and after. */
size_t guard_record_leaving(const struct guard_call *call, const struct guard_judged *judged);
void guard_record_left(const struct guard_call *call, const struct guard_judged *judged,
                       size_t place, bool happened);

/* ---- tree.c -----------------------------------------------------------------------------------
 */

/* Whether the folder `name` of `dir_fd` would hold a guarded name if its class were `class`, which
 * is then in guard->found. What is no folder holds none; what cannot be looked into does. Exclusive
 * lock. */
bool guard_tree_holds(struct guard *guard, int dir_fd, const char *name,
                      const struct guard_class *class);

/* ---- perform_*.c ------------------------------------------------------------------------------
 */

int guard_perform_open(struct guard_call *call);
int guard_perform_creat(struct guard_call *call);
int guard_perform_truncate(struct guard_call *call);
int guard_perform_make(struct guard_call *call); /* mkdir, mknod, symlink */
int guard_perform_rename(struct guard_call *call);
int guard_perform_link(struct guard_call *call);
int guard_perform_unlink(struct guard_call *call);
int guard_perform_chmod(struct guard_call *call);
int guard_perform_fchmod(struct guard_call *call);
int guard_perform_attribute(struct guard_call *call); /* {set,remove}xattr and their kin */
int guard_perform_bind(struct guard_call *call);

/* perform_mode.c: O_PATH of what the first path is, by AT_EMPTY_PATH and AT_SYMLINK_NOFOLLOW. */
int guard_find_flagged(struct guard_call *call, bool follow);
/* `change`, which gives -1 and errno, of the object `fd` (taken; less than 0 is an
 * error number) when it is judged. */
int guard_change_object(struct guard_call *call, enum guard_op op, int fd,
                        int (*change)(struct guard_call *call, int fd));

/* ---- vetted.c ---------------------------------------------------------------------------------
 */

/* Renames `source` onto git's configuration or one of its pointers: what it holds is read, vetted,
 * and put there in a file nobody has a descriptor of. Exclusive lock. */
int guard_install(struct guard_call *call, const struct guard_judged *judged);

/* draft.c: a descriptor for the job to write a configuration into, of a 'config.lock' that it makes
 * now or has made. Exclusive lock, as for all that follow but the first. */
bool guard_is_draft(struct guard *guard, const struct stat *named); /* the job's own */
int guard_open_draft(struct guard_call *call, const struct guard_judged *judged);
/* -EPERM: `place` is no draft. */
int guard_read_draft(struct guard *guard, const struct guard_place *place, char *text, size_t room,
                     size_t *ret_size);
int guard_install_draft(struct guard_call *call, const struct guard_judged *judged,
                        const char *text, size_t size);

/* pointer.c: a descriptor for the job to write a pointer into. Exclusive lock. */
int guard_create_pointer(struct guard_call *call, const struct guard_judged *judged);
/* Gives those that are whole their names. Called before each call, without the lock, and at the
 * end (`last`). */
void guard_settle(struct guard_call *call, bool last);
/* Whether the `size` bytes in guard->source_text may stand in `folder_fd` as a pointer; the reason
 * in `err`. What to put there, as many, is then in guard->new_text. Exclusive lock. */
int guard_vet_text(struct guard_call *call, enum guard_vet vet, int folder_fd, size_t size,
                   struct err *err);
/* Reads from the beginning; less than `room` bytes, else -EFBIG. */
int guard_read_text(int fd, char *text, size_t room, size_t *ret_size);
/* The same of a regular file by its name. */
int guard_read_file(int dir_fd, const char *name, char *text, size_t room, size_t *ret_size,
                    mode_t *ret_mode);

/* ---- lock.c: one for all jobs of the owner -----------------------------------------------------
 */

#define GUARD_LOCK_BYTES 4096 /* of the file that are the lock's own */

/* The board of the lock's file; NULL: this file has none. -errno. */
int guard_lock_map(int lock_fd, struct guard_board **ret_board) MUST_CHECK;
void guard_lock_unmap(struct guard_board *board);
/* Gives `lock`, which has its `fd`, a seat on it, where one is free. */
void guard_lock_sit(struct guard_lock *lock, struct guard_board *board);
int guard_lock_shared(struct guard_lock *lock) MUST_CHECK;
/* Gives `lock` the board that the file has by now, where it has none yet. */
int guard_lock_exclusive(struct guard_lock *lock) MUST_CHECK;
void guard_unlock(struct guard_lock *lock);

/* ---- hold.c: what stays where it is. Under the lock --------------------------------------------
 */

/* Whether some job writes in this folder, by its path. */
bool guard_is_held_place(const struct guard *guard, const struct stat *status);
/* Whether what has the name, no symlink followed, or something in it is what a job runs. */
bool guard_is_run(const struct guard *guard, const struct guard_place *place);
/* 0, or -EBUSY: the call would move or remove that; reported. */
int guard_judge_runs(struct guard_call *call, struct guard_judged *judged);

/* ---- blocking.c: opens that wait ---------------------------------------------------------------
 */

/* Opens the object again in a thread of its own, which answers. Takes `fd`. Returns GUARD_LATER or
 * -errno. */
int guard_open_later(struct guard_call *call, int fd, unsigned flags);
void guard_catch_interrupts(void);

#endif
