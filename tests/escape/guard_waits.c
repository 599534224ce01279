/* guard_waits CASE
 *
 * Opens of a FIFO that wait, and what interrupts them. Prints what came of it, to be the same with
 * and without the guard. Run in an empty folder. */
#include "../helpers/helper.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MANY 100

static const char *open_it(void)
{
    int fd = open("fifo", O_WRONLY | O_CLOEXEC);
    const char *name = fd < 0 ? strerrorname_np(errno) : "ok";

    if (fd >= 0)
        (void) close(fd);
    return name != NULL ? name : "an errno that is none";
}

/* A reader that comes when the writer waits already. No event tells of that. */
static void start_reader(void)
{
    if (fork() != 0)
        return;
    (void) poll(NULL, 0, 200);
    (void) open("fifo", O_RDONLY | O_CLOEXEC);
    (void) poll(NULL, 0, 300);
    _exit(0);
}

static void on_alarm(int signal)
{
    (void) signal;
}

static void set_alarm(int flags)
{
    const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = flags};
    const struct itimerval soon = {.it_value = {.tv_usec = 50000}};

    (void) sigaction(SIGALRM, &action, NULL);
    (void) setitimer(ITIMER_REAL, &soon, NULL);
}

static void reader_comes_later(void)
{
    start_reader();
    (void) printf("%s\n", open_it());
}

static void handler_interrupts(void)
{
    set_alarm(0);
    (void) printf("%s\n", open_it());
}

static void handler_restarts(void)
{
    start_reader();
    set_alarm(SA_RESTART);
    (void) printf("%s\n", open_it());
}

static void ignored_signal_does_nothing(void)
{
    start_reader();
    set_alarm(0);
    (void) signal(SIGALRM, SIG_IGN);
    (void) printf("%s\n", open_it());
}

static void stop_and_go_on(void)
{
    const pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        (void) printf("%s\n", open_it());
        exit(0);
    }
    (void) poll(NULL, 0, 50);
    (void) kill(pid, SIGSTOP);
    (void) waitpid(pid, &status, WUNTRACED);
    (void) printf("stopped %d\n", WIFSTOPPED(status));
    (void) fflush(stdout);
    (void) kill(pid, SIGCONT);
    (void) open("fifo", O_RDONLY | O_CLOEXEC);
    (void) waitpid(pid, &status, 0);
}

static void killed(void)
{
    const pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        (void) open_it();
        _exit(0);
    }
    (void) poll(NULL, 0, 50);
    (void) kill(pid, SIGKILL);
    (void) waitpid(pid, &status, 0);
    (void) printf("signal %d\n", WTERMSIG(status));
}

static void many_at_once(void)
{
    pid_t pids[MANY];
    int ended = 0;

    for (size_t i = 0; i < MANY; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            (void) open_it();
            _exit(0);
        }
    }
    (void) poll(NULL, 0, 300);
    for (size_t i = 0; i < MANY; i++)
        ended += waitpid(pids[i], NULL, WNOHANG) != 0;
    /* while they wait, others get on */
    (void) printf("ended %d, mkdir %d\n", ended, mkdir("meanwhile", 0700));
    (void) rmdir("meanwhile");
    for (size_t i = 0; i < MANY; i++)
        (void) kill(pids[i], SIGKILL);
    while (wait(NULL) > 0)
        continue;
}

static void *open_in_thread(void *result)
{
    *(const char **) result = open_it();
    return NULL;
}

/* Signals that the other thread takes must not be seen by this one as an errno there is not. */
static void other_thread_takes_signals(void)
{
    const char *result = NULL;
    pthread_t thread;

    set_alarm(SA_RESTART);
    if (pthread_create(&thread, NULL, open_in_thread, &result) != 0)
        errx(HELPER_FAILED, "no thread");
    for (int i = 0; i < 20; i++) {
        (void) kill(getpid(), SIGALRM);
        (void) poll(NULL, 0, 5);
    }
    start_reader();
    (void) pthread_join(thread, NULL);
    (void) printf("%s\n", result);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"later", reader_comes_later}, {"interrupt", handler_interrupts},
    {"restart", handler_restarts}, {"ignored", ignored_signal_does_nothing},
    {"stop", stop_and_go_on},      {"kill", killed},
    {"many", many_at_once},        {"threads", other_thread_takes_signals},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < COUNT(cases); i++) {
        if (strcmp(argv[1], cases[i].name) != 0)
            continue;
        (void) unlink("fifo");
        if (mkfifo("fifo", 0600) < 0)
            err(HELPER_FAILED, "fifo");
        (void) alarm(20);
        cases[i].run();
        return 0;
    }
    for (size_t i = 0; i < COUNT(cases); i++)
        (void) printf("%s\n", cases[i].name);
    return argc == 1 ? 0 : HELPER_FAILED;
}
