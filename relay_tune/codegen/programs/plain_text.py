"""The plain C interface of a program as LLVM IR; see `plain_header`.

A run takes a session that an earlier one left, or a new one if other threads have them; so runs may
overlap, and memory is not asked for again and again.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.codegen.constant_tables import (
    integers_constant,
    number_table,
    pointer_table,
    string_constant,
)
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.programs.open_run_text import open_run_text
from relay_tune.codegen.programs.plain_interface import PlainInterface, PlainTensor
from relay_tune.codegen.programs.program_text import entry_symbol
from relay_tune.codegen.programs.session import (
    FAILED_INDEX,
    FAILED_SIZE,
    NO_ERROR,
    NO_MEMORY,
    THREADS,
    WRONG_PROCESSOR,
)

KEPT_SESSIONS = 16
"""At most so many sessions are left for later runs."""


def plain_text(program: CompiledFunctions, plain: PlainInterface, name: str) -> str:
    """The functions of the library `name`, which needs those of sessions and `is_able`."""
    failed = _FAILED_WITHOUT_SESSION if plain.is_alone else _FAILED
    offsets = {"index": FAILED_INDEX, "size": FAILED_SIZE}
    return "\n".join(
        [
            _SESSIONS.format(
                entry=entry_symbol("main"),
                kept=KEPT_SESSIONS,
                threads_at=THREADS,
                threads=program.threads,
                no_error=NO_ERROR,
                failed_index=FAILED_INDEX,
                failed_size=FAILED_SIZE,
                has_cells="true" if program.program.has_cells else "false",
            ),
            open_run_text(program, plain, name) if plain.is_open else _run_text(name),
            *(failed.format(name=name, word=word, offset=offsets[word]) for word in offsets),
            *_accessors(f"{name}_input", plain.inputs),
            *_accessors(f"{name}_output", plain.outputs),
        ]
    )


def _run_text(name: str) -> str:
    return _RUN.format(
        name=name,
        entry=entry_symbol("main"),
        no_memory=NO_MEMORY,
        wrong_processor=WRONG_PROCESSOR,
    )


def _accessors(prefix: str, tensors: Sequence[PlainTensor]) -> list[str]:
    """NAME_input_count(), and name, dtype, rank, shape and bytes of input number i."""
    names, dtypes = [each.name for each in tensors], [each.type.dtype for each in tensors]
    shapes = [each.shape for each in tensors]
    return [
        f"define i32 @{prefix}_count() nounwind {{\n  ret i32 {len(tensors)}\n}}",
        *pointer_table(f"{prefix}_name", [string_constant(text) for text in names]),
        *pointer_table(f"{prefix}_dtype", [string_constant(text) for text in dtypes]),
        *pointer_table(f"{prefix}_shape", [integers_constant(shape) for shape in shapes]),
        *number_table(f"{prefix}_rank", "i32", [len(shape) for shape in shapes]),
        *number_table(f"{prefix}_bytes", "i64", [each.bytes for each in tensors]),
    ]


_SESSIONS = """\
declare void @relay_tune_close(ptr)
declare void @relay_tune_reset(ptr)
declare i32 @{entry}(ptr, ptr, ptr)

@kept = internal global [{kept} x ptr] zeroinitializer, align 64
@last_failed_index = internal global i64 -1, align 8
@last_failed_size = internal global i64 -1, align 8

define internal ptr @take_kept() nounwind {{
entry:
  br label %next
next:
  %number = phi i64 [ 0, %entry ], [ %following, %look ]
  %all = icmp eq i64 %number, {kept}
  br i1 %all, label %none, label %look
look:
  %following = add i64 %number, 1
  %place = getelementptr ptr, ptr @kept, i64 %number
  %session = atomicrmw xchg ptr %place, ptr null acq_rel
  %empty = icmp eq ptr %session, null
  br i1 %empty, label %next, label %found
found:
  ret ptr %session
none:
  ret ptr null
}}

define internal ptr @take_session(i32 %wanted) nounwind {{
entry:
  %kept = call ptr @take_kept()
  %none = icmp eq ptr %kept, null
  br i1 %none, label %open, label %use
open:
  %opened = call ptr @relay_tune_open(i64 0)
  %poor = icmp eq ptr %opened, null
  br i1 %poor, label %end, label %use
use:
  %session = phi ptr [ %kept, %entry ], [ %opened, %open ]
  %given = icmp sgt i32 %wanted, 0
  %count = select i1 %given, i32 %wanted, i32 {threads}
  %threads = zext i32 %count to i64
  %threads_at = getelementptr i8, ptr %session, i64 {threads_at}
  store i64 %threads, ptr %threads_at, align 8
  br label %end
end:
  %taken = phi ptr [ null, %open ], [ %session, %use ]
  ret ptr %taken
}}

define internal void @leave_session(ptr %session, i32 %error) nounwind {{
entry:
  %fine = icmp eq i32 %error, {no_error}
  br i1 %fine, label %empty, label %failed
failed:
  %index_at = getelementptr i8, ptr %session, i64 {failed_index}
  %size_at = getelementptr i8, ptr %session, i64 {failed_size}
  %index = load i64, ptr %index_at, align 8
  %size = load i64, ptr %size_at, align 8
  %of_index = icmp sge i64 %size, 0
  br i1 %of_index, label %note, label %empty
note:
  store atomic i64 %index, ptr @last_failed_index monotonic, align 8
  store atomic i64 %size, ptr @last_failed_size monotonic, align 8
  br label %empty
empty:
  br i1 {has_cells}, label %reset, label %leave
reset:
  call void @relay_tune_reset(ptr %session)
  br label %leave
leave:
  %number = phi i64 [ 0, %empty ], [ 0, %reset ], [ %following, %look ]
  %all = icmp eq i64 %number, {kept}
  br i1 %all, label %close, label %look
look:
  %following = add i64 %number, 1
  %place = getelementptr ptr, ptr @kept, i64 %number
  %pair = cmpxchg ptr %place, ptr null, ptr %session acq_rel acquire
  %left = extractvalue {{ ptr, i1 }} %pair, 1
  br i1 %left, label %end, label %leave
close:
  call void @relay_tune_close(ptr %session)
  br label %end
end:
  ret void
}}

define internal void @close_kept() nounwind {{
entry:
  br label %next
next:
  %kept = call ptr @take_kept()
  %none = icmp eq ptr %kept, null
  br i1 %none, label %end, label %close
close:
  call void @relay_tune_close(ptr %kept)
  br label %next
end:
  ret void
}}
"""

_RUN = """\
define i32 @{name}_run(ptr %inputs, ptr %outputs, i32 %threads) nounwind {{
entry:
  %able = call i1 @is_able()
  br i1 %able, label %take, label %unable
take:
  %session = call ptr @take_session(i32 %threads)
  %none = icmp eq ptr %session, null
  br i1 %none, label %poor, label %run
run:
  %error = call i32 @{entry}(ptr %session, ptr %inputs, ptr %outputs)
  call void @leave_session(ptr %session, i32 %error)
  ret i32 %error
poor:
  ret i32 {no_memory}
unable:
  ret i32 {wrong_processor}
}}
"""

_FAILED_WITHOUT_SESSION = """\
define i64 @{name}_failed_{word}() nounwind {{
  %value = load atomic i64, ptr @last_failed_{word} monotonic, align 8
  ret i64 %value
}}
"""

_FAILED = """\
define i64 @{name}_failed_{word}(ptr %session) nounwind {{
entry:
  %none = icmp eq ptr %session, null
  br i1 %none, label %last, label %own
last:
  %last_value = load atomic i64, ptr @last_failed_{word} monotonic, align 8
  ret i64 %last_value
own:
  %at = getelementptr i8, ptr %session, i64 {offset}
  %value = load i64, ptr %at, align 8
  ret i64 %value
}}
"""
