/* The compiled policy: one block of bytes that wattle-job takes. Layer 1.
 *
 * Written by a trusted process of the same version; read as if it were hostile all the same: every
 * length is checked, unknown versions, tags and trailing bytes are refused, nothing in it is a
 * pointer. Format: src/policy/codec.c, top. */
#ifndef WATTLE_POLICY_CODEC_H
#define WATTLE_POLICY_CODEC_H

#include "base/buf.h"
#include "policy/policy.h"

#define POLICY_CODEC_LIMIT_BYTES (4u << 20)

/* Appends to `buf`. Errors: EMSGSIZE policy.codec-size, ENOMEM. */
int policy_encode(const struct policy *policy, struct buf *buf, struct err *err) MUST_CHECK;

/* Makes a new policy. Errors: EBADMSG policy.codec (the sentence says what and where), ENOMEM. */
int policy_decode(const void *bytes, size_t size, struct policy **ret_policy,
                  struct err *err) MUST_CHECK;

#endif
