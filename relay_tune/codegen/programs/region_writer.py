"""Runs of regions: where their inputs lie, memory for what they write, one job for all kernels."""

from __future__ import annotations

from relay_tune.codegen.programs.kernel_step import RegionStep
from relay_tune.codegen.programs.object_writer import ObjectWriter
from relay_tune.codegen.programs.session import THREADS
from relay_tune.first_order.instructions import Register, RunRegion
from relay_tune.first_order.kinds import ScalarKind
from relay_tune.first_order.layouts import TENSOR_DATA, TENSOR_LAYOUT, field_bytes


def write_region(instruction: RunRegion, step: RegionStep, objects: ObjectWriter) -> None:
    """Run a region on registers; numbers pass through memory."""
    inputs = [objects.elements_of(register) for register in instruction.inputs]
    outputs = [_output_address(register, objects) for register in instruction.outputs]
    block = None
    if step.workspace:
        block = objects.new_block(TENSOR_DATA + step.workspace, TENSOR_LAYOUT)
    workspace = "null" if block is None else objects.data(block)
    words = [*inputs, *outputs, workspace, "@relay_tune_constants"]
    table = objects.stack_slot(8 * len(words))
    for place, word in enumerate(words):
        address = objects.address(table, 8 * place)
        objects.writer.line(f"store ptr {word}, ptr {address}, align 8")
    _run(step, table, objects)
    if block is not None:
        objects.free_tensor(block, TENSOR_DATA + step.workspace)
    for register, address in zip(instruction.outputs, outputs, strict=True):
        if isinstance(register.kind, ScalarKind):
            objects.names[register] = objects.load_value(register.kind, address, 0)


def _run(step: RegionStep, table: str, objects: ObjectWriter) -> None:
    if not step.is_shared:
        objects.writer.line(f"call void @{step.job}(ptr {table}, i64 0, i64 1)")
        return
    threads = objects.load("i64", "%session", THREADS)
    objects.writer.line(f"call void @relay_tune_run(ptr @{step.job}, ptr {table}, i64 {threads})")


def _output_address(register: Register, objects: ObjectWriter) -> str:
    kind = register.kind
    if isinstance(kind, ScalarKind):
        return objects.stack_slot(field_bytes(kind))
    objects.names[register] = objects.new_result(register)
    return objects.data(objects.names[register])
