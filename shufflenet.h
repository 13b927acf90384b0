/* A model as a C library, made by relay_tune for x86_64-unknown-linux-gnu:znver3. */
#ifndef SHUFFLENET_H
#define SHUFFLENET_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Errors. */
#define SHUFFLENET_SUCCESS 0
#define SHUFFLENET_NO_MEMORY 1
#define SHUFFLENET_WRONG_PROCESSOR 2
#define SHUFFLENET_INDEX_OUT_OF_RANGE 4 /* this and all above */

/* What an error means, in words; NULL for other numbers. */
const char* shufflenet_message(int error);

/*
 * Inputs, in the order of the array `inputs`:
 *   0: image: float32[1][3][224][224]
 * Outputs, in the order of the array `outputs`:
 *   0: v229_0: float32[1][1000]
 */

/*
 * Run the model. Each pointer leads to a dense row-major tensor of the caller; outputs must not
 * overlap inputs. `threads` below 1 means 1, for which the code was made.
 * May be called from several threads at the same time. Returns SHUFFLENET_SUCCESS or an error.
 */
int shufflenet_run(const void* const* inputs, void* const* outputs, int threads);

/*
 * Inputs: how many, and what number `index` is (outside NULL or -1).
 */
int shufflenet_input_count(void);
const char* shufflenet_input_name(int index);
const char* shufflenet_input_dtype(int index);
int shufflenet_input_rank(int index);
const int64_t* shufflenet_input_shape(int index);
int64_t shufflenet_input_bytes(int index);

/*
 * Outputs: how many, and what number `index` is (outside NULL or -1).
 */
int shufflenet_output_count(void);
const char* shufflenet_output_name(int index);
const char* shufflenet_output_dtype(int index);
int shufflenet_output_rank(int index);
const int64_t* shufflenet_output_shape(int index);
int64_t shufflenet_output_bytes(int index);

/* The index that was out of range in the last run that ended so, and the size of its axis. */
int64_t shufflenet_failed_index(void);
int64_t shufflenet_failed_size(void);

/* Free memory and end the worker threads; call it before dlclose. A later run starts them again. */
void shufflenet_destroy(void);

#ifdef __cplusplus
}
#endif

#endif
