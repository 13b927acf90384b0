"""The plain C interface in the header of a library: `NAME_run` and what describes its tensors."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.programs.plain_interface import PlainInterface, PlainTensor

_RUN = """\
/*
 * Inputs, in the order of the array `inputs`:
{inputs}
 * Outputs, in the order of the array `outputs`:
{outputs}
 */

/*
 * Run the model. Each pointer leads to a dense row-major tensor of the caller; outputs must not
 * overlap inputs{in_place}. `threads` below 1 means {threads}, for which the code was made.
 * May be called from several threads at the same time. Returns {upper}_SUCCESS or an error.
 */
int {name}_run(const void* const* inputs, void* const* outputs, int threads);

{accessors}
"""

_OPEN_RUN = """\
/*
 * Inputs, in the order of the arrays `inputs` and `input_shapes`:
{inputs}
 * Outputs, in the order of the arrays `outputs` and `output_shapes`:
{outputs}
 * A name is the same size wherever it stands; ? is any size.
 */

/*
 * Run the model. Each input is a dense row-major tensor of the caller and its sizes, one for each
 * dimension. Each pointer in `outputs` is set to a new tensor, which {name}_free gives back, and
 * its sizes are written to where `output_shapes` points, {name}_output_rank(number) of them.
 * After an error the pointers are NULL; sizes that do not fit are {upper}_REFUSED or above.
 * `threads` below 1 means {threads}, for which the code was made.
 * May be called from several threads at the same time. Returns {upper}_SUCCESS or an error.
 */
int {name}_run(const void* const* inputs, const int64_t* const* input_shapes,
        void** outputs, int64_t* const* output_shapes, int threads);

/* Give back a tensor that {name}_run made; nothing happens for NULL. */
void {name}_free(void* output);

{into}{accessors}
"""

_INTO = """\
/*
 * Run the model with memory for outputs that are an input with more rows behind it:
{appended}
 * Where rooms[i] is not 0, outputs[i] leads to memory of the caller for output i. In it the rows
 * along that axis have room for rooms[i] of them, so far apart lie the slices along axes before it.
 * An input that begins at the same address lies so, too, and stays as it is: only the new rows are
 * written. Any other input is dense, and is copied. Too little room is an error.
 */
int {name}_run_into(const void* const* inputs, const int64_t* const* input_shapes,
        void** outputs, int64_t* const* output_shapes, const int64_t* rooms, int threads);

"""

_FAILED = """\
/* The index that was out of range in the last run that ended so, and the size of its axis. */
int64_t {name}_failed_index(void);
int64_t {name}_failed_size(void);
"""


def plain_header(program: CompiledFunctions, plain: PlainInterface, name: str) -> str:
    """The declarations of `NAME_run` and of the functions that describe inputs and outputs."""
    return (_OPEN_RUN if plain.is_open else _RUN).format(
        name=name,
        upper=name.upper(),
        threads=program.threads,
        into=_into(program, plain, name),
        in_place=_in_place(program, plain),
        inputs=_listed(plain.inputs),
        outputs=_listed(plain.outputs),
        accessors="\n\n".join(
            _accessors(name, side, plain.is_open) for side in ("input", "output")
        ),
    )


def _into(program: CompiledFunctions, plain: PlainInterface, name: str) -> str:
    """The declaration of `NAME_run_into`, where there is such a function."""
    appended = program.program.entry.appended
    lines = [
        f" *   output {each.output} ({comment_text(plain.outputs[each.output].name)}) is input "
        f"{each.input} ({comment_text(plain.inputs[each.input].name)}) with rows along axis "
        f"{each.axis}"
        for each in appended
    ]
    return _INTO.format(name=name, appended="\n".join(lines)) if appended else ""


def _in_place(program: CompiledFunctions, plain: PlainInterface) -> str:
    """Which outputs may be inputs, in words that go on behind those that forbid it."""
    pairs = [
        f" *   output {each.output} ({comment_text(plain.outputs[each.output].name)}) at the "
        f"address of input {each.input} ({comment_text(plain.inputs[each.input].name)})"
        for each in program.program.entry.in_place
    ]
    listed = "\n".join(pairs)
    return f", but each input may be the memory of one output:\n{listed}\n *" if pairs else ""


def failed_header(name: str) -> str:
    """The declarations of the functions that tell which index was out of range."""
    return _FAILED.format(name=name)


def comment_text(text: str) -> str:
    """A text inside of a comment of C."""
    return text.replace("*/", "* /").encode("ascii", "replace").decode()


def _listed(tensors: Sequence[PlainTensor]) -> str:
    lines = []
    for number, each in enumerate(tensors):
        shape = "".join(f"[{dim}]" for dim in each.type.shape)
        lines.append(f" *   {number}: {comment_text(each.name)}: {each.type.dtype}{shape}")
    return "\n".join(lines) or " *   none"


def _accessors(name: str, side: str, is_open: bool) -> str:
    prefix = f"{name}_{side}"
    opened = "\n * Sizes that a run tells are -1, and so are bytes that depend on them." * is_open
    return f"""\
/*
 * {side.capitalize()}s: how many, and what number `index` is (outside NULL or -1).{opened}
 */
int {prefix}_count(void);
const char* {prefix}_name(int index);
const char* {prefix}_dtype(int index);
int {prefix}_rank(int index);
const int64_t* {prefix}_shape(int index);
int64_t {prefix}_bytes(int index);"""
