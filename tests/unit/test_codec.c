#include "base/cleanup.h"
#include "cm.h"
#include "policy/codec.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_RECORD 16 /* after the header */

static void add_rules(struct policy *policy)
{
    char top[] = "/home/u/p";
    char below[] = "/home/u/p/.git/hooks";
    char why[] = "the pen \xff\n";
    char none[] = "";
    const struct policy_rule pen = {.path = top,
                                    .access = POLICY_WRITE,
                                    .origin = POLICY_FROM_PEN,
                                    .why = why,
                                    .dev = UINT64_MAX,
                                    .inode = 1};
    const struct policy_rule held = {.path = below,
                                     .access = POLICY_READ,
                                     .origin = POLICY_FROM_ADMIN,
                                     .why = none,
                                     .optional = true,
                                     .hold = true};

    assert_int_equal(policy_add_rule(policy, &pen, NULL), 0);
    assert_int_equal(policy_add_rule(policy, &held, NULL), 0);
}

static void add_places(struct policy *policy)
{
    char hosts[] = "/etc/hosts";
    char content[] = "127.0.0.1 localhost\n";
    char tmp[] = "/tmp";
    char why[] = "its own";
    const struct policy_place file = {.kind = POLICY_PLACE_FILE,
                                      .access = POLICY_READ,
                                      .path = hosts,
                                      .source = content,
                                      .why = why};
    const struct policy_place tmpfs = {
        .kind = POLICY_PLACE_TMPFS, .access = POLICY_WRITE, .path = tmp, .why = why, .bytes = 4096};

    assert_int_equal(policy_add_place(policy, &file, NULL), 0);
    assert_int_equal(policy_add_place(policy, &tmpfs, NULL), 0);
}

static void add_guard_rules(struct policy *policy)
{
    char glob[] = "**"
                  "/*.pem";
    char folder[] = "/home/u/p/bare.git";
    char why[] = "config.json";
    const struct policy_guard_rule pattern = {
        .kind = POLICY_GUARD_PATTERN, .text = glob, .why = why, .absolute = true};
    const struct policy_guard_rule bare = {
        .kind = POLICY_GUARD_GIT_FOLDER, .text = folder, .why = why};

    assert_int_equal(policy_add_guard_rule(policy, &pattern, NULL), 0);
    assert_int_equal(policy_add_guard_rule(policy, &bare, NULL), 0);
    policy_set_guard(policy, POLICY_GUARD_DETECT);
}

/* Everything a policy can hold, nothing at its default. */
static struct policy *full_policy(void)
{
    struct policy *policy = policy_new();
    char path[] = "/usr/bin/make";
    char found[] = "/bin/make";
    const struct policy_command command = {path, found, NULL, true, 1, 2, 3, -4, INT64_MIN};

    assert_non_null(policy);
    add_rules(policy);
    add_places(policy);
    add_guard_rules(policy);
    assert_int_equal(policy_set_env(policy, "B", "x=y\n", NULL), 0);
    assert_int_equal(policy_set_env(policy, "A", "", NULL), 0);
    assert_int_equal(policy_add_note(policy, "one", NULL), 0);
    assert_int_equal(policy_add_note(policy, "", NULL), 0);
    assert_int_equal(policy_set_pen(policy, "/home/u/p", NULL), 0);
    assert_int_equal(policy_set_cwd(policy, "/home/u/p/x", NULL), 0);
    assert_int_equal(policy_set_command(policy, &command, NULL), 0);
    *policy_limits(policy) = (struct policy_limits){1, 2, 3, 4, 5, 6, 7, UINT64_MAX};
    policy_set_net(policy, POLICY_NET_OPEN);
    policy_set_caches(policy, POLICY_CACHES_JOB);
    policy_require(policy, POLICY_REQUIRE_LANDLOCK | POLICY_REQUIRE_PROCESSES);
    return policy;
}

static void encode(const struct policy *policy, struct buf *buf)
{
    buf_init(buf, POLICY_CODEC_LIMIT_BYTES);
    assert_int_equal(policy_encode(policy, buf, NULL), 0);
}

static void assert_refused(const void *bytes, size_t size, const char *words)
{
    struct policy *policy = NULL;
    struct err err = {0};

    assert_int_equal(policy_decode(bytes, size, &policy, &err), -EBADMSG);
    assert_null(policy);
    assert_string_equal(err.id, "policy.codec");
    if (strstr(err.what, words) == NULL)
        fail_msg("'%s' does not say '%s'", err.what, words);
}

static void assert_same_lists(const struct policy *a, const struct policy *b)
{
    assert_int_equal(policy_rules(a), policy_rules(b));
    for (size_t i = 0; i < policy_rules(a); i++) {
        const struct policy_rule *x = policy_rule_at(a, i);
        const struct policy_rule *y = policy_rule_at(b, i);

        assert_string_equal(x->path, y->path);
        assert_string_equal(x->why, y->why);
        assert_true(x->access == y->access && x->origin == y->origin && x->hold == y->hold);
        assert_true(x->optional == y->optional && x->dev == y->dev && x->inode == y->inode);
    }
    assert_int_equal(policy_places(a), policy_places(b));
    for (size_t i = 0; i < policy_places(a); i++) {
        const struct policy_place *x = policy_place_at(a, i);
        const struct policy_place *y = policy_place_at(b, i);

        assert_string_equal(x->path, y->path);
        assert_true(x->kind == y->kind && x->access == y->access && x->bytes == y->bytes);
        assert_true((x->source == NULL) == (y->source == NULL));
        assert_string_equal(x->source == NULL ? "" : x->source, y->source == NULL ? "" : y->source);
        assert_string_equal(x->why, y->why);
    }
    assert_int_equal(policy_envs(a), policy_envs(b));
    for (size_t i = 0; i < policy_envs(a); i++)
        assert_string_equal(policy_env_at(a, i), policy_env_at(b, i));
    assert_int_equal(policy_notes(a), policy_notes(b));
    for (size_t i = 0; i < policy_notes(a); i++)
        assert_string_equal(policy_note_at(a, i), policy_note_at(b, i));
}

static void everything_comes_back(void **state)
{
    AUTO(policy_freep) struct policy *policy = full_policy();
    AUTO(policy_freep) struct policy *copy = NULL;
    AUTO(buf_free) struct buf buf = {0};
    const struct policy_command *command = NULL;

    (void) state;
    encode(policy, &buf);
    assert_int_equal(policy_decode(buf.bytes, buf.size, &copy, NULL), 0);
    assert_same_lists(policy, copy);
    assert_string_equal(policy_pen(copy), "/home/u/p");
    assert_string_equal(policy_cwd(copy), "/home/u/p/x");
    command = policy_command(copy);
    assert_string_equal(command->path, "/usr/bin/make");
    assert_string_equal(command->found, "/bin/make");
    assert_true(command->pinned && command->dev == 1 && command->inode == 2);
    assert_true(command->size_bytes == 3 && command->mtime_ns == -4);
    assert_true(command->ctime_ns == INT64_MIN);
    assert_memory_equal(policy_get_limits(policy), policy_get_limits(copy),
                        sizeof(struct policy_limits));
    assert_int_equal(policy_get_net(copy), POLICY_NET_OPEN);
    assert_int_equal(policy_get_caches(copy), POLICY_CACHES_JOB);
    assert_int_equal(policy_required(copy), policy_required(policy));
    assert_int_equal(policy_get_guard(copy), POLICY_GUARD_DETECT);
    assert_int_equal(policy_guard_rules(copy), 2);
    assert_int_equal(policy_guard_rule_at(copy, 1)->kind, POLICY_GUARD_GIT_FOLDER);
    assert_string_equal(policy_guard_rule_at(copy, 0)->text, "**"
                                                             "/*.pem");
    assert_string_equal(policy_guard_rule_at(copy, 1)->why, "config.json");
}

static void an_empty_policy_comes_back_empty(void **state)
{
    AUTO(policy_freep) struct policy *policy = policy_new();
    AUTO(policy_freep) struct policy *copy = NULL;
    AUTO(buf_free) struct buf buf = {0};

    (void) state;
    encode(policy, &buf);
    assert_int_equal(policy_decode(buf.bytes, buf.size, &copy, NULL), 0);
    assert_same_lists(policy, copy);
    assert_null(policy_pen(copy));
    assert_null(policy_cwd(copy));
    assert_null(policy_command(copy));
    assert_memory_equal(policy_get_limits(copy), &policy_default_limits,
                        sizeof policy_default_limits);
}

static void appends_to_what_is_there(void **state)
{
    AUTO(policy_freep) struct policy *policy = policy_new();
    AUTO(policy_freep) struct policy *copy = NULL;
    AUTO(buf_free) struct buf buf;

    (void) state;
    buf_init(&buf, POLICY_CODEC_LIMIT_BYTES);
    assert_int_equal(buf_add_text(&buf, "before"), 0);
    assert_int_equal(policy_encode(policy, &buf, NULL), 0);
    assert_int_equal(policy_decode(buf.bytes + 6, buf.size - 6, &copy, NULL), 0);
}

static void every_shorter_form_is_refused(void **state)
{
    AUTO(policy_freep) struct policy *policy = full_policy();
    AUTO(buf_free) struct buf buf = {0};

    (void) state;
    encode(policy, &buf);
    for (size_t size = 0; size < buf.size; size++) {
        AUTO_FREE char *bytes = malloc(size + 1); /* exact, so that a sanitizer sees every step */

        assert_non_null(bytes);
        memcpy(bytes, buf.bytes, size);
        assert_refused(bytes, size, "");
        if (size < FIRST_RECORD)
            continue;
        /* and when the header agrees */
        memcpy(bytes + 12, &(uint32_t){htole32((uint32_t) size)}, 4);
        assert_refused(bytes, size, "");
    }
}

static void any_changed_byte_is_refused_or_means_something_else(void **state)
{
    AUTO(policy_freep) struct policy *policy = full_policy();
    AUTO(buf_free) struct buf buf = {0};

    (void) state;
    encode(policy, &buf);
    for (size_t i = 0; i < buf.size * 8; i++) {
        AUTO(policy_freep) struct policy *copy = NULL;
        AUTO(buf_free) struct buf again = {0};

        buf.bytes[i / 8] = (char) (buf.bytes[i / 8] ^ (1 << i % 8));
        if (policy_decode(buf.bytes, buf.size, &copy, NULL) == 0) {
            encode(copy, &again);
            assert_int_equal(again.size, buf.size);
            assert_memory_equal(again.bytes, buf.bytes, buf.size);
        }
        buf.bytes[i / 8] = (char) (buf.bytes[i / 8] ^ (1 << i % 8));
    }
}

/* The bytes of a whole policy whose records are `records`. */
static void wrap(struct buf *buf, const void *records, size_t size)
{
    const uint32_t numbers[] = {htole32(1), htole32((uint32_t) (FIRST_RECORD + size))};

    buf_init(buf, POLICY_CODEC_LIMIT_BYTES);
    (void) buf_add(buf, "WATTLEP\n", 8);
    (void) buf_add(buf, numbers, sizeof numbers);
    assert_int_equal(buf_add(buf, records, size), 0);
}

static void says_what_is_wrong_and_where(void **state)
{
#define BYTES(text) text, sizeof(text) - 1
    static const struct {
        const char *records;
        size_t size;
        const char *words;
    } cases[] = {
        {BYTES(""), "no end"},
        {BYTES("\0\0\0\0\0"), "an unknown tag at byte"},
        {BYTES("\x0a\0\0\0\0"), "an unknown tag at byte 17"},
        {BYTES("\x08\x01\0\0\0\x03"), "an unknown guard"},
        {BYTES("\x08\x02\0\0\0\x01\x04"), "an unknown kind of guarded name"},
        {BYTES("\x09\x01\0\0\0\x01"), "records out of order"},
        {BYTES("\x05\xff\xff\xff\xff"), "a record longer than the rest"},
        {BYTES("\x05\x06\0\0\0\x02\0\0\0/p\x04\0\0\0\0\0\0\0"), "records out of order"},
        {BYTES("\x05\x06\0\0\0\x02\0\0\0/p\x05\x06\0\0\0\x02\0\0\0/q"), "records out of order"},
        {BYTES("\x05\x06\0\0\0\x02\0\0\0p/"), "is not plain"},
        {BYTES("\x05\x05\0\0\0\x01\0\0\0/"), "the whole system"},
        {BYTES("\x05\x06\0\0\0\x02\0\0\0/\0"), "a NUL in a text"},
        {BYTES("\x05\x06\0\0\0\x03\0\0\0/p"), "too short"},
        {BYTES("\x05\x06\0\0\0\x01\0\0\0/p"), "before byte"},
        {BYTES("\x04\x06\0\0\0\x01\0\0\0/p"), "bytes left over"},
        {BYTES("\x03\x06\0\0\0\x02\0\0\0AB"), "a variable without '='"},
        {BYTES("\x03\x06\0\0\0\x02\0\0\0A=\x03\x06\0\0\0\x02\0\0\0A="), "a variable given twice"},
        {BYTES("\x03\x06\0\0\0\x02\0\0\0=A"), "cannot be the name"},
        {BYTES("\x01\x01\0\0\0\x03"), "an unknown access"},
        {BYTES("\x01\x02\0\0\0\x01\x63"), "an unknown origin"},
        {BYTES("\x01\x03\0\0\0\x01\x01\x04"), "unknown flags"},
    };
#undef BYTES

    (void) state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        AUTO(buf_free) struct buf buf = {0};

        wrap(&buf, cases[i].records, cases[i].size);
        assert_refused(buf.bytes, buf.size, cases[i].words);
    }
}

static void refuses_another_kind_version_or_size(void **state)
{
    AUTO(policy_freep) struct policy *policy = policy_new();
    AUTO(buf_free) struct buf buf = {0};

    (void) state;
    encode(policy, &buf);
    (void) buf_add(&buf, "x", 1);
    assert_refused(buf.bytes, buf.size, "a wrong size");
    buf.bytes[8]++;
    assert_refused(buf.bytes, buf.size - 1, "of another version");
    buf.bytes[0]++;
    assert_refused(buf.bytes, buf.size - 1, "not one");
    assert_refused("", 0, "too short");
}

static void refuses_rules_out_of_order(void **state)
{
    AUTO(policy_freep) struct policy *policy = policy_new();
    AUTO(buf_free) struct buf buf = {0};
    char *path = NULL;
    char text[] = "/a";
    struct policy_rule rule = {.path = text, .access = POLICY_READ};

    (void) state;
    assert_int_equal(policy_add_rule(policy, &rule, NULL), 0);
    text[1] = 'b';
    assert_int_equal(policy_add_rule(policy, &rule, NULL), 0);
    encode(policy, &buf);
    path = memmem(buf.bytes, buf.size, "/b", 2);
    assert_non_null(path);
    path[1] = 'a'; /* would merge */
    assert_refused(buf.bytes, buf.size, "rules out of order");
    path = memmem(buf.bytes, buf.size, "/a", 2);
    path[1] = 'c';
    assert_refused(buf.bytes, buf.size, "rules out of order");
}

static void refuses_a_policy_that_is_too_large(void **state)
{
    AUTO(policy_freep) struct policy *policy = policy_new();
    AUTO(buf_free) struct buf buf;
    AUTO_FREE char *note = malloc(POLICY_CODEC_LIMIT_BYTES);
    struct err err = {0};

    (void) state;
    assert_non_null(note);
    memset(note, 'x', POLICY_CODEC_LIMIT_BYTES - 1);
    note[POLICY_CODEC_LIMIT_BYTES - 1] = '\0';
    assert_int_equal(policy_add_note(policy, note, NULL), 0);
    buf_init(&buf, POLICY_CODEC_LIMIT_BYTES);
    assert_int_equal(policy_encode(policy, &buf, &err), -EMSGSIZE);
    assert_string_equal(err.id, "policy.codec-size");
    assert_int_equal(buf.size, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_back),
        cmocka_unit_test(an_empty_policy_comes_back_empty),
        cmocka_unit_test(appends_to_what_is_there),
        cmocka_unit_test(every_shorter_form_is_refused),
        cmocka_unit_test(any_changed_byte_is_refused_or_means_something_else),
        cmocka_unit_test(says_what_is_wrong_and_where),
        cmocka_unit_test(refuses_another_kind_version_or_size),
        cmocka_unit_test(refuses_rules_out_of_order),
        cmocka_unit_test(refuses_a_policy_that_is_too_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
