/* For clang-tidy only, put before every file but base/err.c (tools/check-tidy.sh). The analyzer
 * sees one file at a time; this tells it what the functions of base/err.h promise: a value below 0.
 */
#include "base/err.h"

#define err_set(...) (err_set(__VA_ARGS__), -1)
#define err_hint(...) (err_hint(__VA_ARGS__), -1)
#define err_context(...) (err_context(__VA_ARGS__), -1)
#define err_memory(err) (err_memory(err), -1)
