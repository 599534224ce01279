/* Bytes that are taken for a compiled policy have one form: they encode to themselves again. */
#include "base/cleanup.h"
#include "fuzz.h"
#include "policy/codec.h"

#include <stdlib.h>
#include <string.h>

static void expect(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO(policy_freep) struct policy *policy = NULL;
    AUTO(buf_free) struct buf buf;
    struct err err = {0};
    int r = policy_decode(bytes, size, &policy, &err);

    buf_init(&buf, POLICY_CODEC_LIMIT_BYTES);
    expect((r == 0) == (policy != NULL));
    expect(r == 0 || err.code == -r);
    if (r < 0)
        return 0;
    expect(policy_encode(policy, &buf, NULL) == 0);
    expect(buf.size == size && memcmp(buf.bytes, bytes, size) == 0);
    return 0;
}
