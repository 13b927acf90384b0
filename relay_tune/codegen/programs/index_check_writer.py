"""Checks of indices of programs in LLVM IR."""

from __future__ import annotations

from relay_tune.codegen.programs.object_writer import ObjectWriter
from relay_tune.codegen.programs.session import FAILED_INDEX, FAILED_SIZE
from relay_tune.program.instructions import CheckIndices, Register, SizeOf
from relay_tune.program.kinds import ScalarKind, TensorKind
from relay_tune.program.program import FirstOrderProgram


def index_messages(program: FirstOrderProgram) -> list[str]:
    """What a program says of indices out of range, in the order of the errors' numbers."""
    instructions = (
        instruction
        for function in program.functions.values()
        for block in function.blocks
        for instruction in block.instructions
    )
    checks = (each for each in instructions if isinstance(each, CheckIndices))
    return list(dict.fromkeys(check.message for check in checks))


def write_index_check(check: CheckIndices, objects: ObjectWriter) -> None:
    """Fail, with the index and the size in the session, unless all indices are in range."""
    writer = objects.writer
    for position, factors in enumerate(check.sizes):
        extent = _number(check.extent, position, objects)
        size = objects.product([_factor(factor, objects) for factor in factors])
        limit = writer.pure(f"shl i64 {size}, 1")
        fits = writer.pure(f"icmp ult i64 {extent}, {limit}")
        if isinstance(check.indices.kind, TensorKind) and check.indices.kind.is_open:
            shape = objects.shape(objects.names[check.indices], check.indices.kind)
            none = writer.pure(f"icmp eq i64 {objects.product(shape)}, 0")
            fits = writer.pure(f"or i1 {fits}, {none}")

        def note(extent: str = extent, size: str = size) -> None:
            index = writer.fresh("index")
            _write_index(index, extent, objects)
            for value, offset in ((index, FAILED_INDEX), (size, FAILED_SIZE)):
                address = writer.fresh("failed")
                writer.line(f"{address} = getelementptr i8, ptr %session, i64 {offset}")
                writer.line(f"store i64 {value}, ptr {address}, align 8")

        objects.require(fits, check.message, note)


def _number(register: Register, index: int, objects: ObjectWriter) -> str:
    """A number of 64 bits in a register, or an element of its tensor."""
    name = objects.names[register]
    if isinstance(register.kind, ScalarKind):
        return name
    return objects.load("i64", objects.data(name), 8 * index)


def _factor(factor: int | SizeOf | Register, objects: ObjectWriter) -> str:
    if isinstance(factor, int):
        return str(factor)
    if isinstance(factor, Register):
        return _number(factor, 0, objects)
    return objects.size(objects.names[factor.tensor], factor.axis)


def _write_index(result: str, extent: str, objects: ObjectWriter) -> None:
    """Find the index that an extent stands for: its half, or the complement of that."""
    writer = objects.writer
    writer.line(f"{result}.sign = and i64 {extent}, 1")
    writer.line(f"{result}.mask = sub i64 0, {result}.sign")
    writer.line(f"{result}.half = lshr i64 {extent}, 1")
    writer.line(f"{result} = xor i64 {result}.half, {result}.mask")
