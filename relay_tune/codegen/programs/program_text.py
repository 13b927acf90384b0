"""A first-order program as one LLVM module; kernels and the thread pool stay external."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.programs.append_rows import append_part
from relay_tune.codegen.programs.counts import add_drop_tensor
from relay_tune.codegen.programs.entry_text import add_entry, entry_text
from relay_tune.codegen.programs.function_text import function_text
from relay_tune.codegen.programs.index_check_writer import index_messages
from relay_tune.codegen.programs.layout_tables import layout_tables_text
from relay_tune.codegen.programs.module_writer import ModuleWriter
from relay_tune.codegen.programs.queue_functions import (
    QueueLayout,
    add_empty_queue,
    add_nothing_to_forget,
    add_queue,
)
from relay_tune.codegen.programs.queue_steps import (
    QueuedKernel,
    queued_kernel,
    queued_kernel_text,
)
from relay_tune.codegen.programs.region_step import RegionStep
from relay_tune.codegen.programs.session import session_bytes
from relay_tune.codegen.programs.session_object import heap_part
from relay_tune.codegen.programs.stack_switch import add_stack
from relay_tune.codegen.subnormals import subnormals_text
from relay_tune.ir.expr import Function
from relay_tune.program.program import FirstOrderProgram
from relay_tune.program.region import Region
from relay_tune.quick_dataclass import dataclass

ENTRY_SYMBOL = "relay_tune_call_main"
"""The C function of the entry point."""


@dataclass(frozen=True, slots=True)
class ProgramText:
    """An LLVM module.

    Attributes:
        text: the module.
        messages: those of the errors from FIRST_MESSAGE on.
        is_plain: whether the functions of plain programs (`session_object`) have to be linked.
    """

    text: str
    messages: tuple[str, ...]
    is_plain: bool


def program_text(
    program: FirstOrderProgram,
    waiting: Mapping[Function, RegionStep],
    regions: Mapping[Region, RegionStep],
    constant_object: Callable[[np.ndarray], int],
    triple: str,
) -> ProgramText:
    """The module of a program.

    `waiting` has the step of each primitive that waits, or runs for several calls, `regions` that
    of each region; `constant_object` gives the offset of a static tensor object in the block of
    constants.
    """
    module = ModuleWriter(program, waiting, regions, constant_object)
    module.messages.extend(index_messages(program))  # their numbers come first
    for primitive in program.batches:
        module.queue_number(primitive)
    functions = [function_text(function, module) for function in program.functions.values()]
    entry = entry_text(ENTRY_SYMBOL, program.entry, module)
    queued = [queued_kernel(number, f, module) for f, number in module.queued.items()]
    queue = _queue_texts(queued, module)
    has_calls = any(function.has_calls for function in program.functions.values())
    native = NativeModule()
    native.include(heap_part())
    native.include(append_part())
    is_plain = not (program.layouts or has_calls or queued)
    if not is_plain:
        _add_own_parts(native, program, triple, has_calls, bool(queued))
    if queued:
        add_queue(native, _queue_layout(module, queued))
    else:
        add_empty_queue(native)
    for text in (
        "@relay_tune_constants = external constant i8",
        "declare void @relay_tune_run(ptr, ptr, i64)",
        *module.declarations,
        *(
            f"declare void @{each.job}(ptr, i64, i64)"
            for step in (*waiting.values(), *regions.values())
            for each in step.with_parts()
        ),
        _closure_table(program),
        subnormals_text(triple),
        f"@relay_tune_session_bytes = constant i64 {_session_bytes(queued, module)}",
        layout_tables_text(program.layouts),
        *queue,
        *functions,
        entry,
    ):
        native.add(text)
    add_entry(native, ENTRY_SYMBOL)
    return ProgramText(native.text(triple), tuple(module.messages), is_plain)


def _add_own_parts(
    native: NativeModule,
    program: FirstOrderProgram,
    triple: str,
    has_calls: bool,
    has_queue: bool,
) -> None:
    """What plain programs have in common, as this program needs it."""
    if not program.layouts:
        add_drop_tensor(native)
    add_stack(native, triple, has_calls)
    if not has_queue:
        add_nothing_to_forget(native)


def _session_bytes(kernels: Sequence[QueuedKernel], module: ModuleWriter) -> int:
    if not kernels:
        return session_bytes(module.passed)
    return _queue_layout(module, kernels).end


def _queue_layout(module: ModuleWriter, kernels: Sequence[QueuedKernel]) -> QueueLayout:
    words = max((len(kernel.kinds) for kernel in kernels), default=0) + 1
    joined = sum(1 for kernel in kernels if kernel.batches)
    return QueueLayout(session_bytes(module.passed), joined, len(kernels), words)


def _queue_texts(kernels: Sequence[QueuedKernel], module: ModuleWriter) -> list[str]:
    """The functions of the kernels that wait."""
    if not kernels:
        return []
    joined = [kernel for kernel in kernels if kernel.batches]
    runs = ", ".join(f"ptr @run.{kernel.number}" for kernel in joined)
    follows = ", ".join("ptr null" if k.batches else f"ptr @one.{k.number}" for k in kernels)
    return [
        *(queued_kernel_text(kernel, module) for kernel in kernels),
        f"@runs = internal constant [{len(joined)} x ptr] [{runs}]",
        f"@follows = internal constant [{len(kernels)} x ptr] [{follows}]",
    ]


def _closure_table(program: FirstOrderProgram) -> str:
    """The code of closures by layout number."""
    codes = [program.closure_code.get(number) for number in range(len(program.layouts) + 1)]
    pointers = ", ".join("ptr null" if code is None else f'ptr @"{code}"' for code in codes)
    return f"@closure_code = internal constant [{len(codes)} x ptr] [{pointers}]"
