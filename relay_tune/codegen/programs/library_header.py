"""The C header of a library that holds a program."""

from __future__ import annotations

from relay_tune.codegen.programs.c_interface import CConstructor, c_constructors, c_type
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.programs.session import NO_MEMORY, TOO_DEEP
from relay_tune.first_order.kinds import (
    MAXIMUM_OPEN_RANK,
    ScalarKind,
    TensorKind,
    component_types,
    kinds_of,
)
from relay_tune.first_order.program import EntryPoint
from relay_tune.typing.type_text import type_text

_TEMPLATE = """\
/* A program as a C library, made by relay_tune for {target}. */
#ifndef {guard}
#define {guard}

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

/* A heap and a stack for the program; one thread at a time may use a session. */
typedef struct {name}_session {name}_session;

/* A tensor, or a value of a data type. Whoever has a value releases it or passes it on. */
typedef struct {name}_value {name}_value;

/* 1 if this processor can run the program, else 0. */
int {name}_supported(void);

/* NULL without memory or on a processor that the program is not made for; `threads` for kernels. */
{name}_session* {name}_open(int64_t threads);

/* Ends a session; its values are gone. */
void {name}_close({name}_session*);

/* End the worker threads; call it before dlclose, when all sessions are closed. */
void {name}_destroy(void);

/*
 * Run the program. One pointer for each input:
{inputs}
 * and one for each output:
{outputs}
 * Of numbers and tensors, a pointer to the elements; of other inputs, the value, which passes to
 * the program; of other outputs, a pointer to the {name}_value* to be set.
 * Returns 0, or the number of an error; then all values of the session are gone.
 */
int {name}_main({name}_session*, const void* const* inputs, void* const* outputs);

#define {upper}_NO_MEMORY {no_memory}
#define {upper}_TOO_DEEP {too_deep}

/* What an error means. */
const char* {name}_message(int error);

/* After a run that met an index out of range: the index, and the size of its axis (else -1). */
int64_t {name}_failed_index(const {name}_session*);
int64_t {name}_failed_size(const {name}_session*);

{name}_value* {name}_retain({name}_value*);
void {name}_release({name}_session*, {name}_value*);

/* Which constructor made a value: one of the numbers below. */
int {name}_tag(const {name}_value*);

/* A tensor with a copy of these elements; NULL without memory. And its elements. */
{name}_value* {name}_tensor({name}_session*, const void* elements, int64_t bytes);
const void* {name}_elements(const {name}_value*);
{open_tensors}{constructors}
#ifdef __cplusplus
}}
#endif

#endif
"""


_OPEN_TENSORS = """
/*
 * Tensors with sizes that are known at run time only: as inputs, a pointer to the elements is
 * followed by one to all sizes (int64_t each); as outputs, they are values. Inside of other values,
 * all tensors are made with their sizes (up to {most} of them).
 */
const int64_t* {name}_sizes(const {name}_value*);
{name}_value* {name}_sized_tensor({name}_session*, const void* elements, int64_t bytes,
                                  int64_t rank, const int64_t* sizes);
"""


def program_header(program: CompiledFunctions, name: str) -> str:
    """The text of the header of the library `name`."""
    entry = program.program.entries["main"]
    constructors = c_constructors(program.program)
    return _TEMPLATE.format(
        name=name,
        upper=name.upper(),
        guard=f"{name.upper()}_H",
        target=program.target,
        inputs=_inputs(entry),
        outputs=_components("result", entry.output, "value"),
        no_memory=NO_MEMORY,
        too_deep=TOO_DEEP,
        open_tensors=_OPEN_TENSORS.format(name=name, most=MAXIMUM_OPEN_RANK)
        if program.program.is_open
        else "",
        constructors="".join(_constructor(each, name) for each in constructors),
    )


def _inputs(entry: EntryPoint) -> str:
    lines = [_components(name, type_) for name, type_ in entry.inputs.items()]
    return "\n".join(line for line in lines if line) or " *   none"


def _components(name: str, type_: object, opened: str = "elements, then sizes") -> str:
    """The components of an input or output; tensors with open sizes are passed as `opened`."""
    lines = []
    for number, part in enumerate(component_types(type_)):  # type: ignore[arg-type]
        (kind,) = kinds_of(part)
        what = "elements" if isinstance(kind, ScalarKind | TensorKind) else "value"
        if isinstance(kind, TensorKind) and kind.is_open:
            what = opened
        lines.append(f" *   {name}.{number}: {type_text(part)} ({what})")
    printable = "\n".join(lines).replace("*/", "* /")
    return printable.encode("ascii", "replace").decode()


def _constructor(made: CConstructor, name: str) -> str:
    """The functions of one constructor: making takes its arguments over, reading does not."""
    types = [c_type(kind, name) for kind in made.layout.fields]
    arguments = ", ".join([f"{name}_session*", *types])
    lines = [
        f"\n/* {made.description} */",
        f"#define {name.upper()}_{made.name.upper()} {made.layout.number}",
        f"{name}_value* {name}_{made.name}({arguments});",
    ]
    lines += [
        f"{type_} {name}_{made.name}_{number}(const {name}_value*);"
        for number, type_ in enumerate(types)
    ]
    return "\n".join(lines) + "\n"
