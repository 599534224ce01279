/* What a fuzzer calls, and replay.c too. Returns 0; a finding is an abort. */
#ifndef WATTLE_TESTS_FUZZ_H
#define WATTLE_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif
