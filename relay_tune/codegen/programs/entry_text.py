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
from relay_tune.codegen.programs.values import result_type
from relay_tune.first_order.kinds import Kind, ScalarKind, TensorKind, kinds_of
from relay_tune.first_order.layouts import element_bytes
from relay_tune.first_order.program import EntryPoint


def entry_text(symbol: str, entry: EntryPoint, module: ModuleWriter) -> str:
    """The function `symbol` that calls an entry point."""
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
        _argument(kind, parameter in function.lent, next_word, objects)
        for kind, parameter in zip(inputs, function.parameters, strict=True)
    ]
    arguments = pass_arguments(inputs, values, objects)
    call = f'call tailcc {result_type(outputs)} @"{entry.function}"(ptr %session{arguments})'
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
            _ENTRY.format(
                symbol=symbol,
                inputs=INPUTS,
                outputs=OUTPUTS,
                error=ERROR,
                failed_size=FAILED_SIZE,
            ),
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
    for place, kind in enumerate(kinds[1:]):
        results.append(objects.load_value(kind, "%session", PASSED + 8 * place))
    table = objects.load("ptr", "%session", OUTPUTS)
    for place, (kind, result) in enumerate(zip(kinds, results, strict=True)):
        if place in in_place:
            continue
        target = objects.load("ptr", table, 8 * place)
        if isinstance(kind, TensorKind) and not kind.is_open:
            objects.copy(target, objects.data(result), element_bytes(kind))
            objects.release(result)
        else:
            objects.store_value(kind, result, target, 0)


_ENTRY = """\
define i32 @{symbol}(ptr %session, ptr %inputs, ptr %outputs) nounwind {{
entry:
  %inputs_at = getelementptr i8, ptr %session, i64 {inputs}
  store ptr %inputs, ptr %inputs_at, align 8
  %outputs_at = getelementptr i8, ptr %session, i64 {outputs}
  store ptr %outputs, ptr %outputs_at, align 8
  %error_at = getelementptr i8, ptr %session, i64 {error}
  store i64 0, ptr %error_at, align 8
  %size_at = getelementptr i8, ptr %session, i64 {failed_size}
  store i64 -1, ptr %size_at, align 8
  %control = call i32 @flush_subnormals()
  call void @relay_tune_enter(ptr %session, ptr @{symbol}.run)
  call void @restore_control(i32 %control)
  %error = load i64, ptr %error_at, align 8
  %failed = icmp ne i64 %error, 0
  br i1 %failed, label %clean, label %end
clean:
  call void @relay_tune_reset(ptr %session)
  br label %end
end:
  %code = trunc i64 %error to i32
  ret i32 %code
}}"""
