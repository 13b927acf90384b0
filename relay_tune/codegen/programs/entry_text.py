"""The functions through which a program is called from outside.

    i32 NAME(ptr session, ptr inputs, ptr outputs)

`inputs` has one pointer for each component of the parameters: of a tensor or scalar, to its
elements, which are copied unless kernels alone read them; of any other value, the object itself,
whose reference passes to the program. A tensor with open sizes is followed by a pointer to all of
its sizes, an i64 each. `outputs` has one pointer for each component of the result: where to write
the elements of a tensor, or, for any other value and for tensors with open sizes, where to put the
pointer to the object. No output may overlap another one or an input. The result is the number of an
error, or 0; after an error the session has no objects any more.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence, Set

from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.signature import Callee, function
from relay_tune.codegen.llvm_types import BYTES
from relay_tune.codegen.programs.arguments import pass_arguments
from relay_tune.codegen.programs.module_writer import ModuleWriter
from relay_tune.codegen.programs.object_writer import ObjectWriter
from relay_tune.codegen.programs.session import (
    ERROR,
    FAILED_SIZE,
    INPUTS,
    OUTPUTS,
    PASSED,
)
from relay_tune.codegen.programs.session_functions import RESET_SESSION
from relay_tune.codegen.programs.stack_switch import ENTER
from relay_tune.codegen.programs.values import result_type
from relay_tune.codegen.subnormals import FLUSH_SUBNORMALS, RESTORE_CONTROL
from relay_tune.program.kinds import Kind, ScalarKind, TensorKind, kinds_of
from relay_tune.program.layouts import element_bytes
from relay_tune.program.program import EntryPoint


def entry_text(symbol: str, entry: EntryPoint, module: ModuleWriter) -> str:
    """The function that calls an entry point and hands over its results."""
    inputs = [kind for type_ in entry.inputs.values() for kind in kinds_of(type_)]
    outputs = kinds_of(entry.output)
    objects = ObjectWriter(module)
    objects.need_passed(len(outputs) - 1)
    writer = objects.writer
    table = objects.load("ptr", "%session", INPUTS)
    words = itertools.count()

    def next_word() -> str:
        return objects.load("ptr", table, 8 * next(words))

    function = module.program.functions[entry.function]
    values = [
        _argument(kind, parameter in function.borrowed_inputs, next_word, objects)
        for kind, parameter in zip(inputs, function.parameters, strict=True)
    ]
    arguments = pass_arguments(inputs, values, objects)
    called = f'{result_type(outputs)} @"{entry.function}"(ptr %session{arguments})'
    call = f"call tailcc {called} alwaysinline"
    writer.line(f"%result = {call}" if outputs else call)
    writer.line("call void @run_queue(ptr %session)")
    _write_results(outputs, set(function.results_in_place.values()), objects)
    writer.line("ret void")
    module.declarations |= writer.declarations
    return "\n".join(
        [
            f"define internal void @{symbol}.run(ptr %session) nounwind {{",
            "entry:",
            writer.text(),
            "}",
        ]
    )


def input_words(kinds: Sequence[Kind]) -> list[int]:
    """For each component of the parameters the number of its first word in `inputs`."""
    counts = [2 if isinstance(kind, TensorKind) and kind.is_open else 1 for kind in kinds]
    return list(itertools.accumulate(counts, initial=0))[:-1]


def _argument(
    kind: Kind, is_lent: bool, next_word: Callable[[], str], objects: ObjectWriter
) -> str:
    pointer = next_word()
    if is_lent:
        assert isinstance(kind, TensorKind)
        if kind.is_open:
            next_word()  # the function reads its sizes
        return objects.before_data(pointer)
    if isinstance(kind, ScalarKind):
        return objects.load_value(kind, pointer, 0)
    if not isinstance(kind, TensorKind):
        return pointer
    if not kind.is_open:
        tensor = objects.new_tensor(kind)
        objects.copy(objects.data(tensor), pointer, element_bytes(kind))
        return tensor
    sizes = next_word()
    shape = [objects.load("i64", sizes, 8 * axis) for axis in range(len(kind.type.shape))]
    tensor = objects.new_open_tensor(shape, kind.type.dtype)
    size = objects.product([*shape, str(BYTES[kind.type.dtype])])
    objects.copy(objects.data(tensor), pointer, size)
    return tensor


def _write_results(kinds: Sequence[Kind], in_place: Set[int], objects: ObjectWriter) -> None:
    """Hand over the results but those that the function has written where they belong."""
    results = ["%result"] * bool(kinds)
    for index, kind in enumerate(kinds[1:]):
        results.append(objects.load_value(kind, "%session", PASSED + 8 * index))
    table = objects.load("ptr", "%session", OUTPUTS)
    for index, (kind, result) in enumerate(zip(kinds, results, strict=True)):
        if index in in_place:
            continue
        target = objects.load("ptr", table, 8 * index)
        if isinstance(kind, TensorKind) and not kind.is_open:
            objects.copy(target, objects.data(result), element_bytes(kind))
            objects.release(result)
        else:
            objects.store_value(kind, result, target, 0)


def add_entry(native: NativeModule, symbol: str) -> None:
    """The function that runs what `entry_text` has written, on the program's stack."""
    with native.define(entry_callee(symbol)) as code:
        session, inputs, outputs = code.parameters
        session.at("ptr", INPUTS).store(inputs)
        session.at("ptr", OUTPUTS).store(outputs)
        error = session.at("i64", ERROR)
        error.store(0)
        session.at("i64", FAILED_SIZE).store(-1)
        control = code.call(FLUSH_SUBNORMALS)
        code.call(ENTER, session, code.symbol(f"{symbol}.run"))
        code.call(RESTORE_CONTROL, control)
        number = error.load()
        with code.when(number.ne(0)):
            code.call(RESET_SESSION, session)
        code.ret(number.trunc("i32"))


def entry_callee(symbol: str) -> Callee:
    """The C function of an entry point, of a session, inputs and outputs."""
    return function("i32", symbol, "ptr", "ptr", "ptr")
