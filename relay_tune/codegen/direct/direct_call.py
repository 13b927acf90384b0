"""A call of a program from Python as one native function.

    PyObject *relay_tune_direct_call(PyObject *call, PyObject **arguments, i64 count)
    PyObject *relay_tune_direct_results(PyObject *call, PyObject *)

They are functions of Python's C interface (calling conventions METH_FASTCALL and METH_NOARGS).
`call` is a Python number: the address of the words that describe the call
(`relay_tune.codegen.direct.words`). Arguments are those of the program, then the number of threads.
The first function reads them, makes arrays for the outputs whose shapes are known, runs the program
without Python's lock, and makes the result; the second makes the result only, after there was too
little room for it.

The result is None, and nothing was run, if an argument is not exactly as wanted. It is a number,
which no program gives, if something is missing: NO_ROOM or NO_RESULT_ROOM to describe values, or
NO_INPUT_MEMORY for objects of the program; a number above 0 is the error of the program.
"""

from __future__ import annotations

from relay_tune.codegen.builder.function_builder import FunctionBuilder
from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.operand import Operand
from relay_tune.codegen.builder.signature import Signature, function, internal
from relay_tune.codegen.direct.constructor_search import NAME
from relay_tune.codegen.direct.make_results import (
    DROP_OUTPUTS,
    EMPTY_SESSION,
    MAKE_RESULTS,
    RESET,
    add_make_results,
)
from relay_tune.codegen.direct.python_objects import (
    ARRAY,
    AS_NUMBER,
    AS_POINTER,
    CONSTRUCTOR,
    DATA,
    FROM_NUMBER,
    INCREMENT,
    NEW_ARRAY,
    NONE,
    RESTORE_THREAD,
    SAVE_THREAD,
    TUPLE,
    VALUE,
    PythonObjects,
)
from relay_tune.codegen.direct.read_arguments import NO_ROOM, READ_ARGUMENTS, add_read_arguments
from relay_tune.codegen.direct.words import Call, FixedOutput
from relay_tune.codegen.programs.session import THREADS

NO_INPUT_MEMORY = -4

DIRECT_CALL = function("ptr", "relay_tune_direct_call", "ptr", "ptr", "i64")
DIRECT_RESULTS = function("ptr", "relay_tune_direct_results", "ptr", "ptr")

_RUN_PROGRAM = internal("i64", "run_program", "ptr", "i64")
_BUILD_INPUTS = internal("i64", "build_inputs", "ptr", "i64")
_PROGRAM = Signature("i32", ("ptr", "ptr", "ptr"))
_BUILD = Signature("i64", ("ptr", "ptr", "i64", "ptr", "ptr"))


def direct_call_text(triple: str, python: PythonObjects) -> str:
    """The LLVM module."""
    module = NativeModule()
    for name in (ARRAY, TUPLE, VALUE, CONSTRUCTOR, NONE):
        module.external(name, "i8")
    module.add(f'@{NAME} = internal constant [{len(NAME) + 1} x i8] c"{NAME}\\00"')
    add_read_arguments(module, python)
    add_make_results(module, python)
    _add_steps(module)
    with module.define(DIRECT_CALL) as code:
        _write_call(code, python)
    with module.define(DIRECT_RESULTS) as code:
        code.ret(code.call(MAKE_RESULTS, code.call(AS_POINTER, code.parameters[0])))
    return module.text(triple)


def _add_steps(module: NativeModule) -> None:
    """What a call does between reading arguments and making results."""
    with module.define(_RUN_PROGRAM) as code:
        call, threads = code.parameters
        inputs, outputs, function_, session = call.words(
            Call.INPUTS, Call.OUTPUTS, Call.FUNCTION, Call.SESSION
        )
        session.at("i64", THREADS).store(threads)
        code.ret(code.call_through(function_, _PROGRAM, session, inputs, outputs).sext("i64"))
    with module.define(EMPTY_SESSION) as code:
        session, reset = code.parameters[0].words(Call.SESSION, Call.RESET)
        with code.when(~session.is_null()):
            code.call_through(reset, RESET, session)
    with module.define(_BUILD_INPUTS) as code:
        call, written = code.parameters
        session, build, codes, pairs, leaves, slots, slot_count = call.words(
            *(Call.SESSION, Call.BUILD, Call.CODES, Call.PAIRS, Call.LEAVES),
            *(Call.PLACES, Call.PLACE_COUNT),
        )
        built = code.call_through(build, _BUILD, session, codes, written, leaves, pairs)
        code.ret_if(built.eq(0), 0)
        with code.count(slot_count) as each:
            object_ = pairs.item("ptr", each.index).load()
            slots.item("ptr", each.index).load().store(object_)
        code.ret(built)


def _write_call(code: FunctionBuilder, python: PythonObjects) -> None:
    self, arguments, count = code.parameters
    call = code.call(AS_POINTER, self)
    argument_count = call.word(Call.ARGUMENT_COUNT).load()
    status = code.local(NO_ROOM)
    with code.block() as numbered:
        with code.block() as refused:
            refused.leave_if(count.ne(argument_count + 1))
            codes = code.call(READ_ARGUMENTS, arguments, call)
            with code.when(codes.slt(0)):
                numbered.leave_if(codes.eq(NO_ROOM))
                refused.leave()
            with code.when(codes.ne(0)):
                status.set(NO_INPUT_MEMORY)
                with code.when(code.call(_BUILD_INPUTS, call, codes).eq(0)):
                    code.call(EMPTY_SESSION, call)
                    numbered.leave()
            _make_outputs(code, python, call)
            threads = code.call(AS_NUMBER, arguments.item("ptr", argument_count).load())
            state = code.call(SAVE_THREAD)
            status.set(code.call(_RUN_PROGRAM, call, threads))
            code.call(RESTORE_THREAD, state)
            with code.when(status.value.ne(0)):
                code.call(DROP_OUTPUTS, call)
                numbered.leave()
            code.ret(code.call(MAKE_RESULTS, call))
        none = code.symbol(NONE)
        code.call(INCREMENT, none)
        code.ret(none)
    code.ret(code.call(FROM_NUMBER, status.value))


def _make_outputs(code: FunctionBuilder, python: PythonObjects, call: Operand) -> None:
    """Arrays for the outputs of known shape; returns null where one cannot be made."""
    fixed, count = call.words(Call.FIXED, Call.FIXED_COUNT)
    with code.count(count) as each:
        output = fixed.entry(FixedOutput, each.index)
        slot, component, dtype, rank, sizes = output.words(*FixedOutput)
        code.call(INCREMENT, dtype)
        array = code.call(NEW_ARRAY, rank, sizes, dtype, 0)
        with code.when(array.is_null()):
            code.call(DROP_OUTPUTS, call)
            code.call(EMPTY_SESSION, call)
            code.ret(code.null)
        slot.store(python.field(array, DATA))
        component.store(array)
