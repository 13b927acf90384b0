/* A program as a C library, made by relay_tune for x86_64-unknown-linux-gnu:rocketlake. */
#ifndef NEVER_H
#define NEVER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A heap and a stack for the program; one thread at a time may use a session. */
typedef struct never_session never_session;

/* A tensor, or a value of a data type. Whoever has a value releases it or passes it on. */
typedef struct never_value never_value;

/* NULL without memory or on a processor that the program is not made for; `threads` for kernels. */
never_session* never_open(int64_t threads);

/* Ends a session; its values are gone. */
void never_close(never_session*);

/*
 * Run the program. One pointer for each input:
 *   n.0: int32 (elements)
 *   x.0: Tensor[(b, 4), float32] (elements)
 *   y.0: Tensor[(b,), float32] (elements)
 * and one for each output:
 *   result.0: Tensor[(b, 4), float32] (elements)
 *   result.1: int32 (elements)
 * Of numbers and tensors, a pointer to the elements; of other inputs, the value, which passes to
 * the program; of other outputs, a pointer to the never_value* to be set.
 * Returns 0, or the number of an error; then all values of the session are gone.
 */
int never_main(never_session*, const void* const* inputs, void* const* outputs);

#define NEVER_NO_MEMORY 1
#define NEVER_TOO_DEEP 2

/* What an error means. */
const char* never_message(int error);

never_value* never_retain(never_value*);
void never_release(never_session*, never_value*);

/* Which constructor made a value: one of the numbers below. */
int never_tag(const never_value*);

/* A tensor with a copy of these elements; NULL without memory. And its elements. */
never_value* never_tensor(never_session*, const void* elements, int64_t bytes);
const void* never_elements(const never_value*);

#ifdef __cplusplus
}
#endif

#endif
