"""The C header of an exported library."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.codegen.compiled_program import CompiledProgram
from relay_tune.codegen.library_text import INDEX_OUT_OF_RANGE, NO_MEMORY, SUCCESS, WRONG_PROCESSOR
from relay_tune.ir.types import TensorType

_TEMPLATE = """\
/* A neural network as a C library, made by relay_tune for {target}. */
#ifndef {guard}
#define {guard}

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

/*
 * Inputs, in the order of the array `inputs`:
{inputs}
 * Outputs, in the order of the array `outputs`:
{outputs}
 */

/* What {name}_run returns. */
#define {upper}_SUCCESS {success}
#define {upper}_NO_MEMORY {no_memory}
#define {upper}_WRONG_PROCESSOR {wrong_processor}
#define {upper}_INDEX_OUT_OF_RANGE {index_out_of_range} /* this and all above */

/*
 * Run the network. Each pointer leads to a dense row-major tensor of the caller; outputs must not
 * overlap inputs. `threads` below 1 means {threads}, for which the code was made.
 * May be called from several threads at the same time.
 */
int {name}_run(const void* const* inputs, void* const* outputs, int threads);

/* What a result of {name}_run means, in words; NULL for other numbers. */
const char* {name}_message(int status);

/* The index that was out of range in the last run that ended so, and the size of its axis. */
int64_t {name}_failed_index(void);
int64_t {name}_failed_size(void);

/* Free memory and end the worker threads; call it before dlclose. A later run starts them again. */
void {name}_destroy(void);

{accessors}

#ifdef __cplusplus
}}
#endif

#endif
"""


def library_header(program: CompiledProgram, name: str) -> str:
    """The text of the header."""
    return _TEMPLATE.format(
        name=name,
        upper=name.upper(),
        guard=f"{name.upper()}_H",
        target=program.target,
        threads=program.threads,
        inputs=_listed(program.inputs),
        outputs=_listed(program.outputs),
        success=SUCCESS,
        no_memory=NO_MEMORY,
        wrong_processor=WRONG_PROCESSOR,
        index_out_of_range=INDEX_OUT_OF_RANGE,
        accessors="\n\n".join(_accessors(name, side) for side in ("input", "output")),
    )


def _listed(types: Mapping[str, TensorType]) -> str:
    lines = []
    for number, (name, type_) in enumerate(types.items()):
        shape = "".join(f"[{dim}]" for dim in type_.shape)
        printable = name.replace("*/", "* /").encode("ascii", "replace").decode()
        lines.append(f" *   {number}: {printable}: {type_.dtype}{shape}")
    return "\n".join(lines) or " *   none"


def _accessors(name: str, side: str) -> str:
    prefix = f"{name}_{side}"
    return f"""\
/* {side.capitalize()}s: how many, and the properties of number `index` (NULL or -1 outside). */
int {prefix}_count(void);
const char* {prefix}_name(int index);
const char* {prefix}_dtype(int index);
int {prefix}_rank(int index);
const int64_t* {prefix}_shape(int index);
int64_t {prefix}_bytes(int index);"""
