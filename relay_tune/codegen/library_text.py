"""The C interface of an exported library, as LLVM IR: the functions that its header declares.

A run takes the workspace that the last one left, or a new one if another thread has it; so runs may
overlap, and memory is not asked for again and again. The processor is asked for its features once:
in a virtual machine each answer takes as long as a small network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from relay_tune.codegen.compiled_program import MAIN_SYMBOL, CompiledProgram
from relay_tune.codegen.constant_tables import (
    integers_constant,
    number_table,
    pointer_table,
    string_constant,
)
from relay_tune.codegen.constants import CONSTANTS_SYMBOL
from relay_tune.codegen.index_checks import STATUS_SYMBOL
from relay_tune.codegen.processor_features import support_text
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.types import TensorType

SUCCESS, NO_MEMORY, WRONG_PROCESSOR, INDEX_OUT_OF_RANGE = 0, 1, 2, 3
"""What NAME_run returns; INDEX_OUT_OF_RANGE and above tell whose index it is."""

_MESSAGES = (
    "There was no error.",
    "There is no memory for the intermediate tensors of the model.",
    "The model is made for another processor.",
)
"""What they mean."""

_RUN = """\
define i32 @{name}_run(ptr %inputs, ptr %outputs, i32 %wanted) nounwind {{
entry:
  %asked = load atomic i8, ptr @able monotonic, align 1
  %known = icmp ne i8 %asked, 0
  br i1 %known, label %take, label %ask
ask:
  %able = call i1 @supported()
  br i1 %able, label %yes, label %unable
yes:
  store atomic i8 1, ptr @able monotonic, align 1
  br label %take
take:
  %table = alloca [{slots} x ptr], align 64
  %room = alloca ptr, align 8
  %kept = atomicrmw xchg ptr @workspace, ptr null acq_rel
  %none = icmp eq ptr %kept, null
  br i1 %none, label %reserve, label %fill
reserve:
  %failed = call i32 @posix_memalign(ptr %room, i64 64, i64 {workspace})
  %bad = icmp ne i32 %failed, 0
  br i1 %bad, label %poor, label %reserved
reserved:
  %new = load ptr, ptr %room, align 8
  br label %fill
fill:
  %memory = phi ptr [ %kept, %take ], [ %new, %reserved ]
{stores}
  %given = icmp sgt i32 %wanted, 0
  %count = select i1 %given, i32 %wanted, i32 {threads}
  %threads = zext i32 %count to i64
  call void @relay_tune_run(ptr @{main}, ptr %table, i64 %threads)
{check}
  %pair = cmpxchg ptr @workspace, ptr null, ptr %memory acq_rel acquire
  %put = extractvalue {{ ptr, i1 }} %pair, 1
  br i1 %put, label %done, label %drop
drop:
  call void @free(ptr %memory)
  br label %done
done:
  ret i32 %result
poor:
  ret i32 {no_memory}
unable:
  ret i32 {wrong_processor}
}}

define void @{name}_destroy() nounwind {{
entry:
  %kept = atomicrmw xchg ptr @workspace, ptr null acq_rel
  call void @free(ptr %kept)
  call void @relay_tune_shutdown()
  ret void
}}
"""


def library_text(program: CompiledProgram, name: str) -> str:
    """The LLVM module of a library's own functions, whose names begin with `name`."""
    lines = [
        f'target triple = "{program.target.triple}"',
        "@workspace = internal global ptr null, align 8",
        "@able = internal global i8 0, align 1",
        f"@{CONSTANTS_SYMBOL} = external constant i8",
        f"declare void @{MAIN_SYMBOL}(ptr, i64, i64)",
        "declare void @relay_tune_run(ptr, ptr, i64)",
        "declare void @relay_tune_shutdown()",
        "declare i32 @posix_memalign(ptr, i64, i64)",
        "declare void @free(ptr)",
    ]
    if program.checks:
        lines.append(f"declare i64 @{STATUS_SYMBOL}(ptr, ptr)")
    lines += _error_lines(name, [*_MESSAGES, *(check.message for check in program.checks)])
    lines += _accessors(f"{name}_input", program.inputs)
    lines += _accessors(f"{name}_output", program.outputs)
    support = support_text("supported", program.target.triple, program.features)
    return "\n".join([*lines, support, _run_text(program, name)])


def _run_text(program: CompiledProgram, name: str) -> str:
    return _RUN.format(
        name=name,
        main=MAIN_SYMBOL,
        slots=program.slots,
        workspace=max(program.workspace_bytes, 64),
        stores="\n".join(_table_lines(program)),
        threads=program.threads,
        check=_check_text(program),
        no_memory=NO_MEMORY,
        wrong_processor=WRONG_PROCESSOR,
    )


def _check_text(program: CompiledProgram) -> str:
    """The result of a run; of one with an index out of range, the index is kept."""
    if not program.checks:
        return f"  %result = add i32 0, {SUCCESS}"
    return f"""\
  %found = alloca [2 x i64], align 8
  %failure = call i64 @{STATUS_SYMBOL}(ptr %table, ptr %found)
  %fits = icmp eq i64 %failure, 0
  %narrow = trunc i64 %failure to i32
  %number = add i32 %narrow, {INDEX_OUT_OF_RANGE - 1}
  %result = select i1 %fits, i32 {SUCCESS}, i32 %number
  br i1 %fits, label %finish, label %keep
keep:
  %index = load i64, ptr %found, align 8
  %size_at = getelementptr i64, ptr %found, i64 1
  %size = load i64, ptr %size_at, align 8
  store atomic i64 %index, ptr @failed_index monotonic, align 8
  store atomic i64 %size, ptr @failed_size monotonic, align 8
  br label %finish
finish:"""


def _error_lines(name: str, messages: Sequence[str]) -> list[str]:
    """NAME_message(status), and the index and the size of the last run that failed at one."""
    words = [f"failed_{word}" for word in ("index", "size")]
    return [
        *(f"@{word} = internal global i64 -1, align 8" for word in words),
        *(
            f"define i64 @{name}_{word}() nounwind {{\n"
            f"  %value = load atomic i64, ptr @{word} monotonic, align 8\n  ret i64 %value\n}}"
            for word in words
        ),
        *pointer_table(f"{name}_message", [string_constant(message) for message in messages]),
    ]


def _table_lines(program: CompiledProgram) -> list[str]:
    """Fill the table of addresses: inputs, outputs, workspace, constants."""
    lines: list[str] = []
    sources = [("inputs", n) for n in range(len(program.inputs))]
    sources += [("outputs", n) for n in range(len(program.outputs))]
    for slot, (array, number) in enumerate(sources):
        lines += [
            f"  %from{slot} = getelementptr ptr, ptr %{array}, i64 {number}",
            f"  %pointer{slot} = load ptr, ptr %from{slot}, align 8",
            f"  %slot{slot} = getelementptr ptr, ptr %table, i64 {slot}",
            f"  store ptr %pointer{slot}, ptr %slot{slot}, align 8",
        ]
    first = program.workspace_slot
    return [
        *lines,
        f"  %slot{first} = getelementptr ptr, ptr %table, i64 {first}",
        f"  store ptr %memory, ptr %slot{first}, align 8",
        f"  %slot{first + 1} = getelementptr ptr, ptr %table, i64 {first + 1}",
        f"  store ptr @{CONSTANTS_SYMBOL}, ptr %slot{first + 1}, align 8",
    ]


def _accessors(prefix: str, types: Mapping[str, TensorType]) -> list[str]:
    """NAME_input_count(), and name, dtype, rank, shape and bytes of input number i."""
    shapes = [tuple(int(str(dim)) for dim in type_.shape) for type_ in types.values()]
    sizes = [
        prod(shape) * DTYPES[type_.dtype].itemsize
        for shape, type_ in zip(shapes, types.values(), strict=True)
    ]
    lines = [f"define i32 @{prefix}_count() nounwind {{\n  ret i32 {len(types)}\n}}"]
    strings = {"name": list(types), "dtype": [type_.dtype for type_ in types.values()]}
    for property_, texts in strings.items():
        lines += pointer_table(f"{prefix}_{property_}", [string_constant(text) for text in texts])
    lines += pointer_table(f"{prefix}_shape", [integers_constant(shape) for shape in shapes])
    lines += number_table(f"{prefix}_rank", "i32", [len(shape) for shape in shapes])
    return [*lines, *number_table(f"{prefix}_bytes", "i64", sizes)]
