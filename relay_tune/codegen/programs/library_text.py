"""The C functions of a library that holds a program, as LLVM IR; see `library_header`.

The processor is asked for its features once: in a virtual machine each answer takes as long as a
small network.
"""

from __future__ import annotations

from relay_tune.codegen.constant_tables import pointer_table, string_constant
from relay_tune.codegen.processor_features import support_text
from relay_tune.codegen.programs.c_interface import CConstructor, c_constructors
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.programs.plain_interface import plain_interface
from relay_tune.codegen.programs.plain_text import plain_text
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

_SESSION_WORDS = (
    "close",
    "reset",
    "retain",
    "release",
    "hand_over",
    "tensor",
)

_VALUE_WORDS = ("build", "read", "gather")


def program_library_text(program: CompiledFunctions, name: str) -> str:
    """The LLVM module of the functions of the library `name`."""
    triple, is_open = program.target.triple, program.program.is_open
    plain = plain_interface(program.program)
    messages = [string_constant(text) for text in error_messages(program)]
    return "\n".join(
        [
            f'target triple = "{triple}"',
            support_text("supported", triple, program.features),
            _IS_ABLE,
            _SESSIONS.format(name=name, data=TENSOR_DATA),
            *pointer_table(f"{name}_message", messages),
            *([_OPEN_TENSORS.format(name=name, sizes=TENSOR_SHAPE)] if is_open else []),
            *(_constructor(made, name) for made in c_constructors(program.program)),
            _only_sessions(name) if plain is None else plain_text(program, plain, name),
        ]
    )


def error_messages(program: CompiledFunctions) -> tuple[str, ...]:
    """What all errors of a library mean, in the order of their numbers."""
    plain = plain_interface(program.program)
    return (*MESSAGES, *program.messages, *(() if plain is None else plain.messages))


def session_aliases(name: str, has_values: bool) -> dict[str, str]:
    """The functions of sessions of the library `name` that are functions of its program.

    With `has_values`, those that make and read values are among them.
    """
    words = (*_SESSION_WORDS, *(_VALUE_WORDS if has_values else ()))
    aliases = {f"{name}_{word}": f"relay_tune_{word}" for word in words}
    return {**aliases, f"{name}_main": entry_symbol("main")}


def _only_sessions(name: str) -> str:
    """What a library without the plain interface has in its place."""
    return _NONE_KEPT + "".join(
        _FAILED.format(name=name, word=word, offset=offset)
        for word, offset in (("index", FAILED_INDEX), ("size", FAILED_SIZE))
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


_IS_ABLE = """\
@able = internal global i8 0, align 1

define internal i1 @is_able() nounwind {
entry:
  %asked = load atomic i8, ptr @able monotonic, align 1
  %known = icmp ne i8 %asked, 0
  br i1 %known, label %yes, label %ask
ask:
  %able = call i1 @supported()
  br i1 %able, label %note, label %no
note:
  store atomic i8 1, ptr @able monotonic, align 1
  br label %yes
yes:
  ret i1 true
no:
  ret i1 false
}
"""

_SESSIONS = """\
declare void @relay_tune_shutdown()
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare ptr @relay_tune_open(i64)
declare ptr @relay_tune_object(ptr, i64, i64, i32)
declare ptr @relay_tune_tensor(ptr, ptr, i64)

define ptr @{name}_open(i64 %threads) nounwind {{
entry:
  %able = call i1 @is_able()
  br i1 %able, label %open, label %unable
open:
  %session = call ptr @relay_tune_open(i64 %threads)
  ret ptr %session
unable:
  ret ptr null
}}

define i32 @{name}_supported() nounwind {{
  %able = call i1 @is_able()
  %result = zext i1 %able to i32
  ret i32 %result
}}

define void @{name}_destroy() nounwind {{
  call void @close_kept()
  call void @relay_tune_shutdown()
  ret void
}}

define i32 @{name}_tag(ptr %object) nounwind {{
  %at = getelementptr i8, ptr %object, i64 6
  %layout = load i16, ptr %at, align 2
  %tag = zext i16 %layout to i32
  ret i32 %tag
}}

define ptr @{name}_elements(ptr %object) nounwind {{
  %data = getelementptr i8, ptr %object, i64 {data}
  ret ptr %data
}}
"""

_NONE_KEPT = """\
define internal void @close_kept() nounwind {
  ret void
}
"""

_FAILED = """\
define i64 @{name}_failed_{word}(ptr %session) nounwind {{
  %at = getelementptr i8, ptr %session, i64 {offset}
  %value = load i64, ptr %at, align 8
  ret i64 %value
}}
"""

_OPEN_TENSORS = """\
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
