#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "base/tree.h"
#include "cm.h"
#include "rpc/client.h"
#include "rpc/frame.h"
#include "rpc/message.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

/* ---- messages -------------------------------------------------------------------------------- */

static void what_is_no_message_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "[]",
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}]",
        "{\"jsonrpc\":\"2.0\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1}",
        "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"x\"}",
        "{\"id\":1,\"method\":\"x\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"x\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":[]}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"more\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"x\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"result\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"error\":{\"code\":1,\"message\":\"\"}}",
        "{\"jsonrpc\":\"2.0\",\"result\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":9999999999,\"message\":\"\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"} ,",
    };

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        AUTO(rpc_message_free) struct rpc_message message = {.json = NULL};
        struct err err = {0};

        if (rpc_message_parse(bad[i], strlen(bad[i]), &message, &err) == 0)
            fail_msg("taken: %s", bad[i]);
        assert_true(rpc_code_of(&err) == RPC_PARSE || rpc_code_of(&err) == RPC_INVALID);
    }
}

static void what_is_made_is_read_back(void **state)
{
    AUTO(rpc_message_free) struct rpc_message message = {.json = NULL};
    AUTO(json_free) json_t *json = NULL;
    AUTO_FREE char *text = NULL;
    struct err err = {0};

    (void) state;
    (void) err_set(&err, ESTALE, "grants.stale", "it was changed");
    (void) err_hint(&err, "look again");
    json = rpc_error(NULL, rpc_code_of(&err), &err);
    text = json_dumps(json, 0);
    assert_int_equal(rpc_message_parse(text, strlen(text), &message, &err), 0);
    assert_int_equal(message.kind, RPC_ERROR);
    assert_int_equal(message.code, RPC_STALE);
    assert_string_equal(message.error_id, "grants.stale");
    assert_string_equal(message.hint, "look again");
    assert_non_null(strstr(message.what, "it was changed"));
}

static void frames_come_in_any_pieces(void **state)
{
    AUTO(json_free) json_t *message = rpc_request(json_integer(7), "hello", json_object());
    AUTO(buf_free) struct buf bytes = {0};

    (void) state;
    buf_init(&bytes, 1024);
    assert_int_equal(rpc_frame_put(&bytes, message), 0);
    assert_int_equal(rpc_frame_put(&bytes, message), 0);
    for (size_t piece = 1; piece <= bytes.size; piece++) {
        struct rpc_reader reader;
        int whole = 0;

        rpc_reader_init(&reader);
        for (size_t at = 0; at < bytes.size;) {
            const size_t most = bytes.size - at < piece ? bytes.size - at : piece;
            size_t taken = 0;
            const int r = rpc_reader_feed(&reader, bytes.bytes + at, most, &taken);

            assert_true(r >= 0);
            at += taken;
            whole += r;
            if (r == 1)
                rpc_reader_next(&reader);
        }
        assert_int_equal(whole, 2);
        assert_false(rpc_reader_is_half(&reader));
        rpc_reader_free(&reader);
    }
}

static void a_size_over_the_limit_takes_no_memory(void **state)
{
    static const unsigned char large[] = {0x04, 0, 0, 0, '{'};
    struct rpc_reader reader;
    size_t taken = 0;

    (void) state;
    rpc_reader_init(&reader);
    assert_int_equal(rpc_reader_feed(&reader, large, sizeof large, &taken), -EMSGSIZE);
    assert_int_equal(reader.body.room_, 0);
    rpc_reader_free(&reader);
}

/* ---- the folder ------------------------------------------------------------------------------ */

struct place {
    char top[40];
};

static int make_place(void **state)
{
    struct place *place = calloc(1, sizeof *place);

    if (place == NULL)
        return -1;
    (void) snprintf(place->top, sizeof place->top, "/var/tmp/wattle-rpc-XXXXXX");
    *state = place;
    return mkdtemp(place->top) == NULL ? -1 : 0;
}

static int remove_place(void **state)
{
    struct place *place = *state;
    AUTO_CLOSE int fd = open("/var/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const int r = tree_remove(fd, path_base(place->top), NULL);

    free(place);
    return r;
}

static void the_folder_is_the_owners_alone(void **state)
{
    const struct place *place = *state;
    AUTO_FREE char *state_dir = path_join(place->top, "state");
    AUTO_FREE char *open_dir = path_join(place->top, "runtime/wattle");
    AUTO_FREE char *runtime = path_join(place->top, "runtime");
    AUTO_FREE char *folder = NULL;
    AUTO_FREE char *again = NULL;
    struct err err = {0};
    struct stat status;

    NEEDS_OPENAT2();
    assert_int_equal(mkdir(runtime, 0755), 0); /* a runtime folder others can enter is none */
    assert_int_equal(rpc_folder(open_dir, state_dir, &folder, &err), 0);
    assert_non_null(strstr(folder, "/state/run"));
    assert_int_equal(stat(folder, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    assert_int_equal(chmod(runtime, 0700), 0);
    assert_int_equal(rpc_folder(open_dir, state_dir, &again, &err), 0);
    assert_string_equal(again, open_dir);
    assert_int_equal(chmod(folder, 0750), 0);
    assert_int_equal(rpc_folder(NULL, state_dir, &again, &err), -EPERM);
    assert_string_equal(err.id, "rpc.folder");
}

static void a_folder_too_long_for_an_address_is_named(void **state)
{
    const struct place *place = *state;
    AUTO_FREE char *folder = NULL;
    struct err err = {0};
    char long_dir[160];

    (void) snprintf(long_dir, sizeof long_dir, "%s/%0100d", place->top, 0);
    assert_int_equal(rpc_folder(NULL, long_dir, &folder, &err), -ENAMETOOLONG);
    assert_string_equal(err.id, "rpc.folder-long");
}

/* ---- the client ------------------------------------------------------------------------------ */

/* A host of few words: answers hello with `api` and all else with an error. Ends with its peer. */
static pid_t serve(const char *folder, int api)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pid_t pid;

    (void) snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", folder, RPC_OWNER_SOCKET);
    assert_int_equal(bind(listener, (const struct sockaddr *) &address, sizeof address), 0);
    assert_int_equal(listen(listener, 4), 0);
    pid = fork();
    if (pid == 0) {
        const int fd = accept(listener, NULL, NULL);
        struct rpc_reader reader;
        char bytes[4096];
        ssize_t n;

        rpc_reader_init(&reader);
        while ((n = read(fd, bytes, sizeof bytes)) > 0) {
            struct rpc_message message = {.json = NULL};
            struct err err = {0};
            struct buf answer;
            size_t taken = 0;
            json_t *json;

            if (rpc_reader_feed(&reader, bytes, (size_t) n, &taken) != 1 ||
                rpc_message_parse(reader.body.bytes, reader.body.size, &message, &err) < 0)
                _exit(1);
            rpc_reader_next(&reader);
            (void) err_set(&err, EINVAL, "pens.unknown", "no such pen");
            (void) err_hint(&err, "add it");
            json = strcmp(message.method, "hello") == 0
                       ? rpc_result(message.id, json_pack("{s:i}", "api", api))
                       : rpc_error(message.id, RPC_REFUSED, &err);
            buf_init(&answer, 4096);
            if (rpc_frame_put(&answer, json) < 0 ||
                write(fd, answer.bytes, answer.size) != (ssize_t) answer.size)
                _exit(1);
        }
        _exit(0);
    }
    (void) close(listener);
    return pid;
}

static void assert_served(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void an_error_of_the_host_keeps_its_words(void **state)
{
    const struct place *place = *state;
    const struct rpc_connect wish = {.folder = place->top, .door = RPC_OWNER, .program = "test"};
    const pid_t pid = serve(place->top, RPC_API_VERSION);
    struct rpc_client *client = NULL;
    json_t *result = NULL;
    struct err err = {0};

    assert_int_equal(rpc_client_open(&wish, &client, &err), 0);
    assert_int_equal(rpc_client_call(client, "pens.show", json_object(), &result, &err), -EINVAL);
    assert_string_equal(err.id, "pens.unknown");
    assert_string_equal(err.what, "no such pen");
    assert_string_equal(err.hint, "add it");
    assert_null(result);
    rpc_client_freep(&client);
    assert_served(pid);
}

static void another_version_is_refused(void **state)
{
    const struct place *place = *state;
    const struct rpc_connect wish = {.folder = place->top, .door = RPC_OWNER, .program = "test"};
    const pid_t pid = serve(place->top, RPC_API_VERSION + 1);
    struct rpc_client *client = NULL;
    struct err err = {0};

    assert_int_equal(rpc_client_open(&wish, &client, &err), -EPROTO);
    assert_string_equal(err.id, "rpc.version");
    assert_null(client);
    assert_served(pid);
}

static void a_host_that_is_not_there_is_named(void **state)
{
    const struct place *place = *state;
    struct rpc_connect wish = {
        .folder = place->top, .door = RPC_OWNER, .program = "test", .host = "/nowhere/wattle-host"};
    struct rpc_client *client = NULL;
    struct err err = {0};

    assert_int_equal(rpc_client_open(&wish, &client, &err), -ENOENT);
    assert_string_equal(err.id, "rpc.host-missing");
    wish.host = "/bin/true"; /* says nothing and ends */
    assert_int_equal(rpc_client_open(&wish, &client, &err), -EPIPE);
    assert_string_equal(err.id, "rpc.host-start");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_message_is_refused),
        cmocka_unit_test(what_is_made_is_read_back),
        cmocka_unit_test(frames_come_in_any_pieces),
        cmocka_unit_test(a_size_over_the_limit_takes_no_memory),
        cmocka_unit_test_setup_teardown(the_folder_is_the_owners_alone, make_place, remove_place),
        cmocka_unit_test_setup_teardown(a_folder_too_long_for_an_address_is_named, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(an_error_of_the_host_keeps_its_words, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(another_version_is_refused, make_place, remove_place),
        cmocka_unit_test_setup_teardown(a_host_that_is_not_there_is_named, make_place,
                                        remove_place),
    };

    return cmocka_run_group_tests_name("rpc", tests, NULL, NULL);
}
