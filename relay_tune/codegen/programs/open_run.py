"""`NAME_run` of programs with sizes that are known at run time only.

    i32  NAME_run(ptr inputs, ptr input_shapes, ptr outputs, ptr output_shapes, i32 threads)
    i32  NAME_run_into(ptr inputs, ptr input_shapes, ptr outputs, ptr output_shapes, ptr rooms,
                       i32 threads)
    void NAME_free(ptr output)

The sizes of the inputs are compared with the types; the program is run in a session, and the
outputs are given to the caller (`giving`). After an error there are no outputs.
`NAME_run_into`, where outputs may be inputs with more rows, takes memory for them.
"""

from __future__ import annotations

from collections.abc import Set

from relay_tune.codegen.builder.function_builder import FunctionBuilder
from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.operand import Operand
from relay_tune.codegen.builder.signature import function, internal
from relay_tune.codegen.processor_features import IS_ABLE
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.programs.entry_text import entry_callee
from relay_tune.codegen.programs.giving import DROP_OUTPUTS, GIVE, NEW_OUTPUT
from relay_tune.codegen.programs.kept_sessions import LEAVE_SESSION, TAKE_SESSION
from relay_tune.codegen.programs.plain_interface import PlainInterface
from relay_tune.codegen.programs.program_text import ENTRY_SYMBOL
from relay_tune.codegen.programs.session import NO_ERROR, NO_MEMORY, STORES, WRONG_PROCESSOR, Store
from relay_tune.codegen.programs.session_functions import RESET_SESSION
from relay_tune.codegen.programs.size_checks import CHECK_SIZES
from relay_tune.codegen.word_table import WORD
from relay_tune.ir.dtypes import DTYPES

_RUN_WITH = internal("i32", "run_with", "ptr", "ptr", "ptr", "ptr", "i32", "ptr")
_CALL_PROGRAM = internal("i32", "call_program", "ptr", "ptr", "ptr", "ptr", "ptr", "ptr")
_GIVE_OUTPUTS = internal("i1", "give_outputs", "ptr", "ptr", "ptr", "ptr", "ptr")


def add_open_run(
    module: NativeModule, program: CompiledFunctions, plain: PlainInterface, name: str
) -> None:
    """The functions of the library `name`; they need those of `plain_functions`."""
    count = len(plain.outputs)
    appended = {each.output for each in program.program.entry.appended}
    with module.define(_CALL_PROGRAM) as code:
        _write_call(code, plain)
    with module.define(_GIVE_OUTPUTS) as code:
        _write_give(code, plain, name, appended)
    with module.define(_RUN_WITH) as code:
        _write_run(code, count)
    tables = ("ptr", "ptr", "ptr", "ptr")
    with module.define(function("i32", f"{name}_run", *tables, "i32")) as code:
        code.ret(code.call(_RUN_WITH, *code.parameters, code.null))
    if appended:
        with module.define(function("i32", f"{name}_run_into", *tables, "ptr", "i32")) as code:
            _write_into(code, count)


def _write_call(code: FunctionBuilder, plain: PlainInterface) -> None:
    """Calls the program: fills its tables, with memory for the outputs of known sizes."""
    session, inputs, shapes, outputs, objects, stores = code.parameters
    words: list[Operand] = []
    for number, each in enumerate(plain.inputs):
        words.append(inputs.item("ptr", number).load())
        if each.is_open:
            words.append(shapes.item("ptr", number).load())
    rooms: list[Operand] = []
    for number, each in enumerate(plain.outputs):
        if each.is_open:
            rooms.append(objects.item("ptr", number).pointer)
            continue
        room = code.call(NEW_OUTPUT, each.bytes)
        outputs.item("ptr", number).store(room)
        code.ret_if(room.is_null(), NO_MEMORY)
        rooms.append(room)
    session.at("ptr", STORES).store(stores)
    entry = entry_callee(ENTRY_SYMBOL)
    error = code.call(entry, session, _table(code, words), _table(code, rooms))
    session.at("ptr", STORES).clear()
    code.ret(error)


def _table(code: FunctionBuilder, pointers: list[Operand]) -> Operand:
    table = code.stack_slot(WORD * max(len(pointers), 1))
    for number, pointer in enumerate(pointers):
        table.item("ptr", number).store(pointer)
    return table


def _write_give(
    code: FunctionBuilder, plain: PlainInterface, name: str, appended: Set[int]
) -> None:
    """Gives the elements of the objects of outputs away, and writes the sizes of all outputs.

    An output that memory was given for lies there. Its address is written in the end only: after an
    error, what `outputs` has is freed.
    """
    session, objects, outputs, shapes, stores = code.parameters
    for number, each in enumerate(plain.outputs):
        rank = len(each.shape)
        if not rank:
            continue
        sizes = shapes.item("ptr", number).load()
        if not each.is_open:
            code.copy(sizes, code.symbol(f"{name}_output_shape.{number}"), WORD * rank)
            continue
        with code.block() as stored:
            if number in appended:
                with code.when(~stores.is_null()):
                    memory = stores.entry(Store, number).word(Store.MEMORY).load()
                    stored.leave_if(~memory.is_null())
            object_, slot = objects.item("ptr", number).load(), outputs.item("ptr", number)
            item = DTYPES[each.type.dtype].itemsize
            given = code.call(GIVE, session, object_, slot.pointer, sizes, rank, item)
            code.ret_if(~given, False)
    with code.when(~stores.is_null()):
        for number in sorted(appended):
            memory = stores.entry(Store, number).word(Store.MEMORY).load()
            slot = outputs.item("ptr", number)
            slot.store(memory.is_null().select(slot.load(), memory))
    code.ret(True)


def _write_run(code: FunctionBuilder, count: int) -> None:
    inputs, input_shapes, outputs, output_shapes, threads, stores = code.parameters
    objects = code.stack_slot(WORD * max(count, 1))
    code.fill(outputs, 0, WORD * count)
    code.ret_if(~code.call(IS_ABLE), WRONG_PROCESSOR)
    misfit = code.call(CHECK_SIZES, input_shapes)
    code.ret_if(misfit.ne(NO_ERROR), misfit)
    session = code.call(TAKE_SESSION, threads)
    code.ret_if(session.is_null(), NO_MEMORY)
    error = code.local(
        code.call(_CALL_PROGRAM, session, inputs, input_shapes, outputs, objects, stores)
    )
    with code.when(error.value.eq(NO_ERROR)):
        given = code.call(_GIVE_OUTPUTS, session, objects, outputs, output_shapes, stores)
        with code.when(~given):
            code.call(RESET_SESSION, session)
            error.set(NO_MEMORY)
    with code.when(error.value.ne(NO_ERROR)):
        code.call(DROP_OUTPUTS, outputs, count)
    code.call(LEAVE_SESSION, session, error.value)
    code.ret(error.value)


def _write_into(code: FunctionBuilder, count: int) -> None:
    inputs, input_shapes, outputs, output_shapes, rooms, threads = code.parameters
    stores = code.stack_slot(WORD * len(Store) * count)
    with code.count(count) as each:
        rows = rooms.item("i64", each.index).load()
        output = outputs.item("ptr", each.index).load()
        store = stores.entry(Store, each.index)
        store.word(Store.MEMORY).store(rows.sgt(0).select(output, code.null))
        store.word(Store.ROWS).store(rows)
        store.word(Store.SIZES).store(output_shapes.item("ptr", each.index).load())
    code.ret(code.call(_RUN_WITH, inputs, input_shapes, outputs, output_shapes, threads, stores))
