"""The plain C interface of a program; see `plain_header`."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.signature import function
from relay_tune.codegen.constant_tables import (
    add_number_table,
    add_pointer_table,
    integers_constant,
    string_constant,
)
from relay_tune.codegen.processor_features import IS_ABLE
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.programs.entry_text import entry_callee
from relay_tune.codegen.programs.giving import add_giving
from relay_tune.codegen.programs.kept_sessions import (
    FAILED,
    LEAVE_SESSION,
    TAKE_SESSION,
    add_failed,
    add_kept_sessions,
)
from relay_tune.codegen.programs.open_run import add_open_run
from relay_tune.codegen.programs.plain_interface import PlainInterface, PlainTensor
from relay_tune.codegen.programs.program_text import ENTRY_SYMBOL
from relay_tune.codegen.programs.session import (
    FIRST_MESSAGE,
    NO_MEMORY,
    WRONG_PROCESSOR,
)
from relay_tune.codegen.programs.size_checks import add_size_checks


def add_plain_functions(
    module: NativeModule, program: CompiledFunctions, plain: PlainInterface, name: str
) -> None:
    """The functions of the library `name`, which needs those of sessions and `is_able`."""
    add_kept_sessions(module, program.threads, has_cells=program.program.has_cells)
    if plain.is_open:
        add_giving(module, name)
        add_size_checks(module, plain, FIRST_MESSAGE + len(program.messages))
        add_open_run(module, program, plain, name)
    else:
        _add_run(module, name)
    for word in FAILED:
        add_failed(module, name, word, has_session=not plain.is_alone)
    _add_accessors(module, f"{name}_input", plain.inputs)
    _add_accessors(module, f"{name}_output", plain.outputs)


def _add_accessors(module: NativeModule, prefix: str, tensors: Sequence[PlainTensor]) -> None:
    """NAME_input_count(), and name, dtype, rank, shape and bytes of input number i."""
    names, dtypes = [each.name for each in tensors], [each.type.dtype for each in tensors]
    shapes = [each.shape for each in tensors]
    with module.define(function("i32", f"{prefix}_count")) as code:
        code.ret(len(tensors))
    add_pointer_table(module, f"{prefix}_name", [string_constant(text) for text in names])
    add_pointer_table(module, f"{prefix}_dtype", [string_constant(text) for text in dtypes])
    add_pointer_table(module, f"{prefix}_shape", [integers_constant(each) for each in shapes])
    add_number_table(module, f"{prefix}_rank", "i32", [len(shape) for shape in shapes])
    add_number_table(module, f"{prefix}_bytes", "i64", [each.bytes for each in tensors])


def _add_run(module: NativeModule, name: str) -> None:
    with module.define(function("i32", f"{name}_run", "ptr", "ptr", "i32")) as code:
        inputs, outputs, threads = code.parameters
        code.ret_if(~code.call(IS_ABLE), WRONG_PROCESSOR)
        session = code.call(TAKE_SESSION, threads)
        code.ret_if(session.is_null(), NO_MEMORY)
        error = code.call(entry_callee(ENTRY_SYMBOL), session, inputs, outputs)
        code.call(LEAVE_SESSION, session, error)
        code.ret(error)
