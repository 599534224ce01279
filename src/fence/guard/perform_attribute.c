/* setxattr, removexattr and their kin. An access list is an extended attribute, and with it a
 * file's mode: it makes a hook executable as chmod does. */
#include "base/cleanup.h"
#include "fence/guard/guard_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#define NO (-1)
#define AT_ARGUMENTS_MAX 4096u /* of the kernel's, for a struct that may grow */

/* Which argument is what. */
static const struct form {
    int number;
    int8_t name;
    int8_t value;  /* with the size and flags behind it; NO: it is removed */
    bool is_whole; /* `value` is a struct of all three, and its size comes behind it */
    bool by_fd, follow;
} forms[] = {
    {SYS_setxattr, 1, 2, false, false, true},
    {SYS_lsetxattr, 1, 2, false, false, false},
    {SYS_fsetxattr, 1, 2, false, true, false},
    {463 /* setxattrat */, 3, 4, true, false, true},
    {SYS_removexattr, 1, NO, false, false, true},
    {SYS_lremovexattr, 1, NO, false, false, false},
    {SYS_fremovexattr, 1, NO, false, true, false},
    {466 /* removexattrat */, 3, NO, false, false, true},
};

static const struct form *find_form(int number)
{
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
        if (forms[i].number == number)
            return &forms[i];
    return NULL;
}

/* ---- what is asked for, in the kernel's order ------------------------------------------------ */

/* struct xattr_args of linux/xattr.h, which came with Linux 6.13. */
struct whole {
    uint64_t value;
    uint32_t size, flags;
};

/* What a later kernel would read must be zero. */
static int read_whole(const struct guard_call *call, uint64_t address, uint64_t size,
                      struct whole *ret_whole)
{
    char bytes[AT_ARGUMENTS_MAX];
    int r;

    if (size < sizeof *ret_whole)
        return -EINVAL;
    if (size > sizeof bytes)
        return -E2BIG;
    r = guard_read_bytes(call->tid, address, bytes, (size_t) size);
    if (r < 0)
        return r;
    for (size_t i = sizeof *ret_whole; i < size; i++)
        if (bytes[i] != 0)
            return -E2BIG;
    memcpy(ret_whole, bytes, sizeof *ret_whole);
    return 0;
}

static int read_name(struct guard_call *call, const struct form *form)
{
    struct guard_attribute *attribute = &call->attribute;
    int r;

    if ((call->flags & ~(unsigned) (AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) != 0)
        return -EINVAL;
    r = guard_read_string(call->tid, call->args[form->name], attribute->name,
                          sizeof attribute->name);
    if (r < 0)
        return r == -ENAMETOOLONG ? -ERANGE : r;
    return attribute->name[0] == '\0' ? -ERANGE : 0;
}

static int read_value(struct guard_call *call, const struct form *form)
{
    struct guard_attribute *attribute = &call->attribute;
    const uint64_t *args = call->args + form->value;
    struct whole whole = {.value = args[0]};
    int r = form->is_whole ? read_whole(call, args[0], args[1], &whole) : 0;

    if (r < 0)
        return r;
    attribute->size = form->is_whole ? whole.size : args[1];
    attribute->flags = form->is_whole ? (int) whole.flags : (int) args[2];
    if ((attribute->flags & ~(XATTR_CREATE | XATTR_REPLACE)) != 0)
        return -EINVAL;
    r = read_name(call, form);
    if (r < 0 || attribute->size == 0)
        return r;
    if (attribute->size > sizeof attribute->value)
        return -E2BIG;
    return guard_read_bytes(call->tid, whole.value, attribute->value, (size_t) attribute->size);
}

/* ---- doing it -------------------------------------------------------------------------------- */

/* By a path that leads to the object and no further, be it a symlink. */
static int set(struct guard_call *call, int fd)
{
    const struct guard_attribute *attribute = &call->attribute;
    char path[GUARD_FD_PATH_SIZE];

    guard_fd_path(fd, path);
    return setxattr(path, attribute->name, attribute->value, (size_t) attribute->size,
                    attribute->flags);
}

static int set_of_descriptor(struct guard_call *call, int fd)
{
    const struct guard_attribute *attribute = &call->attribute;

    return fsetxattr(fd, attribute->name, attribute->value, (size_t) attribute->size,
                     attribute->flags);
}

static int remove_it(struct guard_call *call, int fd)
{
    char path[GUARD_FD_PATH_SIZE];

    guard_fd_path(fd, path);
    return removexattr(path, call->attribute.name);
}

static int remove_of_descriptor(struct guard_call *call, int fd)
{
    return fremovexattr(fd, call->attribute.name);
}

/* setxattrat of no path is fsetxattr: a descriptor that is a mere handle (O_PATH) does not do. */
static bool is_by_fd(const struct guard_call *call, const struct form *form)
{
    return form->by_fd || (call->path[0][0] == '\0' && (call->flags & AT_EMPTY_PATH) != 0 &&
                           call->dir_fd[0] != AT_FDCWD);
}

/* What programs note for themselves gives no right to anybody. */
static bool is_a_note(const char *name)
{
    static const char notes[] = "user.";

    return strncmp(name, notes, sizeof notes - 1) == 0;
}

int guard_perform_attribute(struct guard_call *call)
{
    static int (*const ways[2][2])(struct guard_call *, int) = {
        {set, set_of_descriptor},
        {remove_it, remove_of_descriptor},
    };
    const struct form *form = find_form(call->row->number);
    AUTO_CLOSE int fd = -1;
    int (*way)(struct guard_call *, int);
    bool by_fd;
    int r;

    if (form == NULL)
        return -ENOSYS;
    r = form->value == NO ? read_name(call, form) : read_value(call, form);
    if (r < 0)
        return r;
    by_fd = is_by_fd(call, form);
    fd = by_fd ? guard_take_fd(call, (int) call->args[0]) : guard_find_flagged(call, form->follow);
    if (fd < 0)
        return fd;
    way = ways[form->value == NO][by_fd];
    if (!is_a_note(call->attribute.name))
        return guard_change_object(call, GUARD_CHMOD, TAKE_FD(fd), way);
    if (!guard_is_waiting(call->guard, call->id))
        return -EINTR;
    return way(call, fd) < 0 ? -errno : 0;
}
