"""The C functions of a library that holds a program, as LLVM IR; see `library_header`."""

from __future__ import annotations

from relay_tune.codegen.library_text import string_constant
from relay_tune.codegen.processor_features import support_text
from relay_tune.codegen.programs.c_interface import CConstructor, c_constructors
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.programs.program_text import entry_symbol
from relay_tune.codegen.programs.session import FAILED_INDEX, FAILED_SIZE, MESSAGES
from relay_tune.codegen.programs.values import stored_type
from relay_tune.first_order.layouts import (
    TENSOR_DATA,
    TENSOR_SHAPE,
    class_bytes,
    field_bytes,
    size_class,
)


def program_library_text(program: CompiledFunctions, name: str) -> str:
    """The LLVM module of the functions of the library `name`."""
    messages = (*MESSAGES, *program.messages)
    texts = [string_constant(message) for message in messages]
    strings = [f"@message.{n} = internal constant {text}" for n, text in enumerate(texts)]
    table = ", ".join(f"ptr @message.{n}" for n in range(len(messages)))
    triple, is_open = program.target.triple, program.program.is_open
    return "\n".join(
        [
            f'target triple = "{triple}"',
            *strings,
            f"@messages = internal constant [{len(messages)} x ptr] [{table}]",
            support_text("supported", triple, program.features),
            _TEMPLATE.format(
                name=name,
                entry=entry_symbol("main"),
                messages=len(messages),
                data=TENSOR_DATA,
                failed_index=FAILED_INDEX,
                failed_size=FAILED_SIZE,
            ),
            *([_OPEN_TEMPLATE.format(name=name, sizes=TENSOR_SHAPE)] if is_open else []),
            *(_constructor(made, name) for made in c_constructors(program.program)),
        ]
    )


def _constructor(made: CConstructor, name: str) -> str:
    layout = made.layout
    fields = list(zip(layout.fields, layout.offsets, strict=True))
    types = [stored_type(kind) for kind in layout.fields]
    parameters = "".join(f", {type_} %f{n}" for n, type_ in enumerate(types))
    number = size_class(layout.size)
    lines = [
        f"define ptr @{name}_{made.name}(ptr %session{parameters}) nounwind {{",
        "entry:",
        f"  %object = call ptr @relay_tune_object(ptr %session, i64 {number}, "
        f"i64 {class_bytes(number)}, i32 {number | layout.number << 16})",
        "  %none = icmp eq ptr %object, null",
        "  br i1 %none, label %end, label %fill",
        "fill:",
    ]
    for n, (kind, offset) in enumerate(fields):
        lines += [
            f"  %at{n} = getelementptr i8, ptr %object, i64 {offset}",
            f"  store {types[n]} %f{n}, ptr %at{n}, align {field_bytes(kind)}",
        ]
    lines += ["  br label %end", "end:", "  ret ptr %object", "}"]
    for n, (_, offset) in enumerate(fields):
        lines += [
            f"define {types[n]} @{name}_{made.name}_{n}(ptr %object) nounwind {{",
            f"  %at = getelementptr i8, ptr %object, i64 {offset}",
            f"  %field = load {types[n]}, ptr %at, align 1",
            f"  ret {types[n]} %field",
            "}",
        ]
    return "\n".join(lines)


_TEMPLATE = """\
declare void @relay_tune_shutdown()
declare ptr @relay_tune_open(i64)
declare void @relay_tune_close(ptr)
declare void @relay_tune_reset(ptr)
declare i64 @relay_tune_build(ptr, ptr, i64, ptr, ptr)
declare i64 @relay_tune_read(ptr, i64, ptr, i64, ptr, i64)
declare void @relay_tune_gather(ptr, i64, i64, ptr)
declare ptr @relay_tune_object(ptr, i64, i64, i32)
declare ptr @relay_tune_tensor(ptr, ptr, i64)
declare void @relay_tune_retain(ptr)
declare void @relay_tune_release(ptr, ptr)
declare ptr @relay_tune_hand_over(ptr)
declare i32 @{entry}(ptr, ptr, ptr)

define ptr @{name}_open(i64 %threads) nounwind {{
entry:
  %able = call i1 @supported()
  br i1 %able, label %open, label %unable
open:
  %session = call ptr @relay_tune_open(i64 %threads)
  ret ptr %session
unable:
  ret ptr null
}}

define i32 @{name}_supported() nounwind {{
  %able = call i1 @supported()
  %result = zext i1 %able to i32
  ret i32 %result
}}

define void @{name}_destroy() nounwind {{
  call void @relay_tune_shutdown()
  ret void
}}

define void @{name}_close(ptr %session) nounwind {{
  call void @relay_tune_close(ptr %session)
  ret void
}}

define void @{name}_reset(ptr %session) nounwind {{
  call void @relay_tune_reset(ptr %session)
  ret void
}}

define i64 @{name}_build(ptr %session, ptr %codes, i64 %count, ptr %leaves, ptr %stack) nounwind {{
  %done = call i64 @relay_tune_build(ptr %session, ptr %codes, i64 %count, ptr %leaves, ptr %stack)
  ret i64 %done
}}

define i64 @{name}_read(ptr %roots, i64 %count, ptr %objects, i64 %room, ptr %rows,
                        i64 %width) nounwind {{
  %found = call i64 @relay_tune_read(ptr %roots, i64 %count, ptr %objects, i64 %room, ptr %rows,
                                     i64 %width)
  ret i64 %found
}}

define void @{name}_gather(ptr %tensors, i64 %count, i64 %bytes, ptr %elements) nounwind {{
  call void @relay_tune_gather(ptr %tensors, i64 %count, i64 %bytes, ptr %elements)
  ret void
}}

define i32 @{name}_main(ptr %session, ptr %inputs, ptr %outputs) nounwind {{
  %error = call i32 @{entry}(ptr %session, ptr %inputs, ptr %outputs)
  ret i32 %error
}}

define ptr @{name}_message(i32 %error) nounwind {{
entry:
  %known = icmp ult i32 %error, {messages}
  br i1 %known, label %look, label %unknown
look:
  %at = getelementptr [{messages} x ptr], ptr @messages, i64 0, i32 %error
  %message = load ptr, ptr %at, align 8
  ret ptr %message
unknown:
  ret ptr null
}}

define i64 @{name}_failed_index(ptr %session) nounwind {{
  %at = getelementptr i8, ptr %session, i64 {failed_index}
  %value = load i64, ptr %at, align 8
  ret i64 %value
}}

define i64 @{name}_failed_size(ptr %session) nounwind {{
  %at = getelementptr i8, ptr %session, i64 {failed_size}
  %value = load i64, ptr %at, align 8
  ret i64 %value
}}

define ptr @{name}_retain(ptr %object) nounwind {{
  call void @relay_tune_retain(ptr %object)
  ret ptr %object
}}

define void @{name}_release(ptr %session, ptr %object) nounwind {{
  call void @relay_tune_release(ptr %session, ptr %object)
  ret void
}}

define ptr @{name}_hand_over(ptr %object) nounwind {{
  %memory = call ptr @relay_tune_hand_over(ptr %object)
  ret ptr %memory
}}

define i32 @{name}_tag(ptr %object) nounwind {{
  %at = getelementptr i8, ptr %object, i64 6
  %layout = load i16, ptr %at, align 2
  %tag = zext i16 %layout to i32
  ret i32 %tag
}}

define ptr @{name}_tensor(ptr %session, ptr %elements, i64 %bytes) nounwind {{
  %object = call ptr @relay_tune_tensor(ptr %session, ptr %elements, i64 %bytes)
  ret ptr %object
}}

define ptr @{name}_elements(ptr %object) nounwind {{
  %data = getelementptr i8, ptr %object, i64 {data}
  ret ptr %data
}}
"""

_OPEN_TEMPLATE = """\
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define ptr @{name}_sizes(ptr %object) nounwind {{
  %sizes = getelementptr i8, ptr %object, i64 {sizes}
  ret ptr %sizes
}}

define ptr @{name}_sized_tensor(ptr %session, ptr %elements, i64 %bytes, i64 %rank,
                                ptr %sizes) nounwind {{
entry:
  %object = call ptr @relay_tune_tensor(ptr %session, ptr %elements, i64 %bytes)
  %none = icmp eq ptr %object, null
  br i1 %none, label %end, label %write
write:
  %target = getelementptr i8, ptr %object, i64 {sizes}
  %room = shl i64 %rank, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %sizes, i64 %room, i1 false)
  br label %end
end:
  ret ptr %object
}}
"""
