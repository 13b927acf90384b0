"""Calls of kernels: where their arguments lie, and memory for what they write."""

from __future__ import annotations

from relay_tune.codegen.programs.kernel_step import Argument, KernelStep, Source
from relay_tune.codegen.programs.object_writer import ObjectWriter
from relay_tune.codegen.programs.session import THREADS
from relay_tune.first_order.instructions import Register, RunKernel
from relay_tune.first_order.kinds import ScalarKind, TensorKind
from relay_tune.first_order.layouts import TENSOR_DATA, TENSOR_LAYOUT, field_bytes


def write_kernel_step(instruction: RunKernel, step: KernelStep, objects: ObjectWriter) -> None:
    """Run the kernels of a primitive on registers; scalars pass through memory."""
    writer, names = objects.writer, objects.names
    pointers: dict[Argument, str] = {}
    for place, register in enumerate(instruction.inputs):
        pointers[Argument(Source.INPUT, place)] = _input_address(register, objects)
    for place, register in enumerate(instruction.outputs):
        pointers[Argument(Source.OUTPUT, place)] = _output_address(register, objects)
    blocks = [objects.new_block(TENSOR_DATA + size, TENSOR_LAYOUT) for size in step.workspace]
    for place, block in enumerate(blocks):
        pointers[Argument(Source.WORKSPACE, place)] = objects.data(block)
    for argument in step.arguments:
        if argument.source is Source.CONSTANT:
            pointers[argument] = objects.address("@relay_tune_constants", argument.place)
    if step.job is None:
        for call in step.calls:
            texts = ", ".join(f"ptr {pointers[argument]}" for argument in call.arguments)
            writer.line(f"call void @{call.symbol}({texts}, i64 0, i64 1)")
    else:
        _write_job(step.job, [pointers[argument] for argument in step.arguments], objects)
    for size, block in zip(step.workspace, blocks, strict=True):
        objects.free_tensor(block, TENSOR_DATA + size)
    for place, register in enumerate(instruction.outputs):
        if isinstance(register.kind, ScalarKind):
            slot = pointers[Argument(Source.OUTPUT, place)]
            names[register] = objects.load_value(register.kind, slot, 0)


def _input_address(register: Register, objects: ObjectWriter) -> str:
    name = objects.names[register]
    if not isinstance(register.kind, ScalarKind):
        return objects.data(name)
    slot = objects.stack_slot(field_bytes(register.kind))
    objects.store_value(register.kind, name, slot, 0)
    return slot


def _output_address(register: Register, objects: ObjectWriter) -> str:
    kind = register.kind
    if isinstance(kind, ScalarKind):
        return objects.stack_slot(field_bytes(kind))
    assert isinstance(kind, TensorKind)
    objects.names[register] = objects.new_tensor(kind)
    return objects.data(objects.names[register])


def _write_job(job: str, pointers: list[str], objects: ObjectWriter) -> None:
    """Run kernels on the threads of the pool."""
    writer = objects.writer
    table = objects.stack_slot(8 * len(pointers))
    for place, pointer in enumerate(pointers):
        writer.line(f"store ptr {pointer}, ptr {objects.address(table, 8 * place)}, align 8")
    threads = objects.load("i64", "%session", THREADS)
    writer.line(f"call void @relay_tune_run(ptr @{job}, ptr {table}, i64 {threads})")
