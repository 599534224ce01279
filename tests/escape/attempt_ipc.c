/* System V objects, POSIX queues and the kernel's keyrings. */
#include "attempt_priv.h"

#include <fcntl.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#define KEY_SESSION (-3)
#define KEY_USER (-4)
#define KEYCTL_JOIN_SESSION 1
#define KEYCTL_SEARCH 10
#define KEYCTL_READ 11

/* shm-make KEY TEXT, shm-read KEY, shm-remove KEY */
static int shm_make(char **args)
{
    int id = shmget((key_t) helper_number(args[0]), 4096, IPC_CREAT | 0600);
    char *bytes = id < 0 ? NULL : shmat(id, NULL, 0);

    if (id < 0 || (intptr_t) bytes == -1)
        return -1;
    (void) snprintf(bytes, 4096, "%s", args[1]);
    return 0;
}

static int shm_read(char **args)
{
    int id = shmget((key_t) helper_number(args[0]), 0, 0);
    const char *bytes = id < 0 ? NULL : shmat(id, NULL, 0);

    if (id < 0 || (intptr_t) bytes == -1)
        return -1;
    (void) printf("%.64s\n", bytes);
    return 0;
}

static int shm_remove(char **args)
{
    int id = shmget((key_t) helper_number(args[0]), 0, 0);

    return id < 0 ? -1 : shmctl(id, IPC_RMID, NULL);
}

static int msg_make(char **args)
{
    return msgget((key_t) helper_number(args[0]), IPC_CREAT | 0600) < 0 ? -1 : 0;
}

static int msg_get(char **args)
{
    return msgget((key_t) helper_number(args[0]), 0) < 0 ? -1 : 0;
}

static int msg_remove(char **args)
{
    int id = msgget((key_t) helper_number(args[0]), 0);

    return id < 0 ? -1 : msgctl(id, IPC_RMID, NULL);
}

static int sem_make(char **args)
{
    return semget((key_t) helper_number(args[0]), 1, IPC_CREAT | 0600) < 0 ? -1 : 0;
}

static int sem_get(char **args)
{
    return semget((key_t) helper_number(args[0]), 0, 0) < 0 ? -1 : 0;
}

static int sem_remove(char **args)
{
    int id = semget((key_t) helper_number(args[0]), 0, 0);

    return id < 0 ? -1 : semctl(id, 0, IPC_RMID);
}

static int queue_make(char **args)
{
    struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 64};

    return mq_open(args[0], O_CREAT | O_RDWR | O_CLOEXEC, 0600, &attr) < 0 ? -1 : 0;
}

static int queue_get(char **args)
{
    return mq_open(args[0], O_RDONLY | O_CLOEXEC) < 0 ? -1 : 0;
}

static int queue_remove(char **args)
{
    return mq_unlink(args[0]);
}

/* with-key TEXT COMMAND: a command whose session keyring holds a secret */
static int with_key(char **args)
{
    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION, NULL) < 0 ||
        syscall(SYS_add_key, "user", "wattle-test", args[0], strlen(args[0]), KEY_SESSION) < 0)
        return -1;
    execl("/bin/sh", "sh", "-c", args[1], (char *) NULL);
    return -1;
}

static int key_read(char **args)
{
    char bytes[64] = {0};
    long key = syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SESSION, "user", "wattle-test", 0);

    (void) args;
    if (key < 0 || syscall(SYS_keyctl, KEYCTL_READ, key, bytes, sizeof bytes - 1) < 0)
        return -1;
    (void) printf("%s\n", bytes);
    return 0;
}

static int key_add(char **args)
{
    (void) args;
    return syscall(SYS_add_key, "user", "wattle-test-inside", "x", 1, KEY_USER) < 0 ? -1 : 0;
}

const struct attempt attempts_ipc[] = {
    {"shm-make", 2, shm_make},     {"shm-read", 1, shm_read},
    {"shm-remove", 1, shm_remove}, {"msg-make", 1, msg_make},
    {"msg-get", 1, msg_get},       {"msg-remove", 1, msg_remove},
    {"sem-make", 1, sem_make},     {"sem-get", 1, sem_get},
    {"sem-remove", 1, sem_remove}, {"queue-make", 1, queue_make},
    {"queue-get", 1, queue_get},   {"queue-remove", 1, queue_remove},
    {"with-key", 2, with_key},     {"key-read", 0, key_read},
    {"key-add", 0, key_add},       {NULL, 0, NULL},
};
