"""The C header of a library that holds a program."""

from __future__ import annotations

from relay_tune.codegen.programs.c_interface import CConstructor, c_constructors, c_type
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.programs.index_check_writer import index_messages
from relay_tune.codegen.programs.library_functions import error_messages
from relay_tune.codegen.programs.plain_header import comment_text, failed_header, plain_header
from relay_tune.codegen.programs.plain_interface import PlainInterface, plain_interface
from relay_tune.codegen.programs.session import (
    FIRST_MESSAGE,
    NO_ERROR,
    NO_MEMORY,
    TOO_DEEP,
    WRONG_PROCESSOR,
)
from relay_tune.program.kinds import (
    MAXIMUM_OPEN_RANK,
    ScalarKind,
    TensorKind,
    component_types,
    kinds_of,
)
from relay_tune.program.program import EntryPoint
from relay_tune.typing.type_text import type_text

_WHOLE = """\
/* A model as a C library, made by relay_tune for {target}. */
#ifndef {guard}
#define {guard}

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

/* Errors. */
{numbers}

/* What an error means, in words; NULL for other numbers. */
const char* {name}_message(int error);

{parts}

/* {destroyed} */
void {name}_destroy(void);

#ifdef __cplusplus
}}
#endif

#endif
"""

_SESSIONS = """\
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

/*
 * After a run that met an index out of range: the index, and the size of its axis (else -1).{last}
 */
int64_t {name}_failed_index(const {name}_session*);
int64_t {name}_failed_size(const {name}_session*);

{name}_value* {name}_retain({name}_value*);
void {name}_release({name}_session*, {name}_value*);

/* Which constructor made a value: one of the numbers below. */
int {name}_tag(const {name}_value*);

/* A tensor with a copy of these elements; NULL without memory. And its elements. */
{name}_value* {name}_tensor({name}_session*, const void* elements, int64_t bytes);
const void* {name}_elements(const {name}_value*);
{open_tensors}{constructors}"""

_LAST = "\n * NULL for a session means the last {name}_run that ended so."

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
    plain = plain_interface(program.program)
    parts = [] if plain is None else [plain_header(program, plain, name)]
    if plain is not None and plain.is_alone:
        parts.append(failed_header(name))
        destroyed = "Free memory and end the worker threads; call it before dlclose. A later run "
        destroyed += "starts them again."
    else:
        parts.append(_sessions(program, plain, name))
        destroyed = "End the worker threads; call it before dlclose, when all sessions are closed."
    return _WHOLE.format(
        name=name,
        guard=f"{name.upper()}_H",
        target=program.target,
        numbers=_numbers(program, name),
        parts="\n".join(parts).rstrip(),
        destroyed=destroyed,
    )


def _numbers(program: CompiledFunctions, name: str) -> str:
    """The macros of the errors."""
    indices = len(index_messages(program.program))
    others = len(error_messages(program)) > FIRST_MESSAGE + indices
    numbers = {"SUCCESS": NO_ERROR, "NO_MEMORY": NO_MEMORY, "WRONG_PROCESSOR": WRONG_PROCESSOR}
    if any(function.has_calls for function in program.program.functions.values()):
        numbers["TOO_DEEP"] = TOO_DEEP
    numbers["INDEX_OUT_OF_RANGE"] = FIRST_MESSAGE
    above = f"and above, below {name.upper()}_REFUSED" if others else "this and all above"
    notes = {"INDEX_OUT_OF_RANGE": f" /* {above} */"}
    if others:
        numbers["REFUSED"] = FIRST_MESSAGE + indices
        notes["REFUSED"] = " /* and above: sizes or values that the program does not take */"
    lines = [
        f"#define {name.upper()}_{word} {number}{notes.get(word, '')}"
        for word, number in numbers.items()
    ]
    return "\n".join(lines)


def _sessions(program: CompiledFunctions, plain: PlainInterface | None, name: str) -> str:
    """The declarations of sessions and values."""
    entry = program.program.entry
    constructors = c_constructors(program.program)
    opened = _OPEN_TENSORS.format(name=name, most=MAXIMUM_OPEN_RANK)
    return _SESSIONS.format(
        name=name,
        inputs=_inputs(entry),
        outputs=_components("result", entry.output, "value"),
        last="" if plain is None else _LAST.format(name=name),
        open_tensors=opened if program.program.is_open else "",
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
    return comment_text("\n".join(lines))


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
