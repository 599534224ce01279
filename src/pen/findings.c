/* From the notes of a walk to what is worth telling. */
#include "base/cleanup.h"
#include "base/path.h"
#include "pen/links.h"
#include "pen/pen_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

void pen_findings_freep(struct pen_findings **findings)
{
    struct pen_findings *old = TAKE_PTR(*findings);

    if (old == NULL)
        return;
    for (size_t i = 0; i < old->count; i++) {
        free(old->items[i].path);
        free(old->items[i].twin);
    }
    for (size_t i = 0; i < old->git_folder_count; i++)
        free(old->git_folders[i]);
    free(old->git_folders);
    free(old->items);
    free(old);
}

/* ---- sockets ----------------------------------------------------------------------------- */

/* Whether a process may be behind a socket file. A file nobody is bound to stays so for ever, since
 * binding makes a new one; left uncovered, a job can remove what its last run left behind.
 *
 * Connecting as a datagram socket tells, and nobody notices: a stream socket is of the wrong type
 * (EPROTOTYPE), a datagram socket takes the address and no datagram follows. Only ECONNREFUSED
 * means that nobody is there. */
static bool may_answer(int top_fd, const char *path)
{
    AUTO_CLOSE int file_fd = path_open_below(top_fd, path, O_PATH, 0);
    AUTO_CLOSE int socket_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (file_fd < 0)
        return file_fd != -ENOENT;
    if (socket_fd < 0)
        return true;
    (void) snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d", file_fd);
    return connect(socket_fd, (const struct sockaddr *) &address, sizeof address) == 0 ||
           errno != ECONNREFUSED;
}

/* ---- the list ---------------------------------------------------------------------------- */

struct gathering {
    int top_fd;
    const struct pen_tree *tree;
    const struct pen_link **by_note; /* NULL: nothing to tell of its links */
    struct pen_findings *findings;
    size_t room;
    uint32_t folder; /* whose path this is */
    size_t folder_size;
    char path[PATH_MAX + NAME_MAX + 2];
};

static const char *path_of(struct gathering *gathering, uint32_t folder, const char *name)
{
    if (folder != gathering->folder) {
        gathering->folder = folder;
        gathering->folder_size = pen_tree_path(gathering->tree, folder, gathering->path);
        if (gathering->folder_size > 0)
            gathering->path[gathering->folder_size++] = '/';
    }
    (void) snprintf(gathering->path + gathering->folder_size,
                    sizeof gathering->path - gathering->folder_size, "%s", name);
    return gathering->path;
}

static void count_one(struct pen_findings *findings, unsigned what)
{
    findings->shared += (what & PEN_FOUND_SHARED) != 0;
    findings->sockets += (what & PEN_FOUND_SOCKET) != 0;
    findings->guarded += (what & PEN_FOUND_GUARDED) != 0;
    findings->repositories += (what & PEN_FOUND_REPOSITORY) != 0;
    findings->mounts += (what & PEN_FOUND_MOUNT) != 0;
    findings->closed += (what & PEN_FOUND_CLOSED) != 0;
    findings->twins += (what & PEN_FOUND_TWIN) != 0;
}

static int add(struct gathering *gathering, const struct pen_found *found, const char *path)
{
    struct pen_findings *findings = gathering->findings;

    if (findings->count == gathering->room) {
        const size_t room = gathering->room == 0 ? 32 : gathering->room * 2;
        struct pen_found *items = reallocarray(findings->items, room, sizeof *items);

        if (items == NULL)
            return -ENOMEM;
        findings->items = items;
        gathering->room = room;
    }
    findings->items[findings->count] = *found;
    findings->items[findings->count].path = strdup(path);
    if (findings->items[findings->count].path == NULL)
        return -ENOMEM;
    findings->count++;
    count_one(findings, found->what);
    return 0;
}

/* The device as stat(2) gives it. */
static uint64_t device(uint64_t dev)
{
    return makedev((unsigned) (dev >> 32), (unsigned) dev);
}

static int add_note(struct gathering *gathering, uint32_t folder, uint32_t index)
{
    static const unsigned meanings[][2] = {
        {PEN_GUARDED, PEN_FOUND_GUARDED},
        {PEN_REPOSITORY, PEN_FOUND_REPOSITORY},
        {PEN_MOUNTED, PEN_FOUND_MOUNT},
    };
    const struct pen_note *note = &gathering->tree->notes[index];
    const struct pen_link *link = gathering->by_note[index];
    const char *path = path_of(gathering, folder, pen_tree_name(gathering->tree, note->name));
    struct pen_found found = {
        .type = note->type,
        .links = note->links,
        .links_here = note->links,
        .dev = device(note->dev),
        .inode = note->inode,
    };

    for (size_t i = 0; i < ARRAY_SIZE(meanings); i++)
        if ((note->what & meanings[i][0]) != 0)
            found.what |= meanings[i][1];
    if (link != NULL) {
        found.what |= link->shared ? PEN_FOUND_SHARED : 0;
        found.what |= link->twin ? PEN_FOUND_TWIN : 0;
        found.links = link->links;
        found.links_here = link->here;
    }
    if ((note->what & PEN_SOCKET) != 0 && may_answer(gathering->top_fd, path))
        found.what |= PEN_FOUND_SOCKET;
    return found.what == 0 ? 0 : add(gathering, &found, path);
}

/* What is to be said of a folder itself. */
static int add_folder(struct gathering *gathering, uint32_t index)
{
    const struct pen_folder *folder = &gathering->tree->folders[index];
    struct pen_found found = {.type = DT_DIR, .dev = device(folder->dev), .inode = folder->inode};

    if ((folder->flags & PEN_UNSURE) != 0)
        found.what |= PEN_FOUND_CLOSED;
    if ((folder->flags & PEN_FOREIGN) != 0 &&
        folder->mount != gathering->tree->folders[folder->parent].mount)
        found.what |= PEN_FOUND_MOUNT;
    if (found.what == 0)
        return 0;
    if (index == 0)
        return add(gathering, &found, ".");
    return add(gathering, &found,
               path_of(gathering, folder->parent, pen_tree_name(gathering->tree, folder->name)));
}

static int gather(struct gathering *gathering)
{
    const struct pen_tree *tree = gathering->tree;
    int r = 0;

    for (size_t i = 0; r == 0 && i < tree->folder_count; i++) {
        const struct pen_folder *folder = &tree->folders[i];

        r = add_folder(gathering, (uint32_t) i);
        for (uint32_t k = folder->note; r == 0 && k < folder->note + folder->notes; k++)
            r = add_note(gathering, (uint32_t) i, k);
    }
    return r;
}

static int gather_git_folders(struct gathering *gathering)
{
    const struct pen_tree *tree = gathering->tree;
    struct pen_findings *findings = gathering->findings;
    size_t count = 0;

    for (size_t i = 0; i < tree->folder_count; i++)
        count += pen_tree_is_objects(tree, i);
    findings->git_folders = calloc(count + 1, sizeof *findings->git_folders);
    if (findings->git_folders == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < tree->folder_count; i++) {
        char **path = &findings->git_folders[findings->git_folder_count];

        if (!pen_tree_is_objects(tree, i))
            continue;
        (void) pen_tree_path(tree, tree->folders[i].parent, gathering->path);
        gathering->folder = PEN_NONE;
        *path = strdup(gathering->path);
        if (*path == NULL)
            return -ENOMEM;
        findings->git_folder_count++;
    }
    return 0;
}

int pen_findings_make(const struct pen_tree *tree, int top_fd, struct pen_findings **ret_findings)
{
    AUTO(pen_findings_freep) struct pen_findings *findings = calloc(1, sizeof *findings);
    AUTO_FREE const struct pen_link **by_note =
        calloc(tree->note_count + 1, sizeof(struct pen_link *));
    AUTO_FREE struct gathering *gathering = calloc(1, sizeof *gathering);
    AUTO_FREE uint8_t *places = pen_twins_places(tree);
    AUTO_FREE struct pen_link *links = NULL;
    size_t count_of_links = 0;
    int r =
        findings == NULL || by_note == NULL || gathering == NULL || places == NULL ? -ENOMEM : 0;

    if (r == 0)
        r = pen_links_find(tree, places, &links, &count_of_links);
    if (r < 0)
        return r;
    for (size_t i = 0; i < count_of_links; i++)
        by_note[links[i].note] = &links[i];
    *gathering = (struct gathering){
        .top_fd = top_fd,
        .tree = tree,
        .by_note = by_note,
        .findings = findings,
        .folder = PEN_NONE,
    };
    r = gather(gathering);
    if (r == 0)
        r = gather_git_folders(gathering);
    if (r < 0)
        return r;
    findings->entries = tree->entries;
    findings->folders = tree->folder_count;
    *ret_findings = TAKE_PTR(findings);
    return 0;
}
