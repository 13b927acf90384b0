"""Checks of indices in programs.

before: %e = index_extent(%i);  %c = check_indices(%i, %e, (), sizes=[10]);  take(%t, %c)
after:  e = run index_extent(i);  check that e is below 2 * 10;  run take(t, i)
"""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.ir.expr import Call, Constant, Expr, Tuple
from relay_tune.op.index_check import CheckIndicesAttributes, index_message
from relay_tune.program.block_builder import BlockBuilder
from relay_tune.program.instructions import CheckIndices, LoadConstant, Register, SizeOf
from relay_tune.program.kinds import TensorKind, type_of
from relay_tune.program.values import new_registers


def lower_index_check(
    builder: BlockBuilder, check: Call, registers: Mapping[Expr, tuple[Register, ...]]
) -> Register:
    """Write a call of check_indices; the register of the indices.

    `registers` are those of the parameters, several where one is a tuple.
    """
    attributes = check.attributes
    assert isinstance(attributes, CheckIndicesAttributes)  # the callee is check_indices
    indices, extent, data = check.arguments
    given = register_of(builder, indices, registers)
    fields = data.fields if isinstance(data, Tuple) else (data,)
    tensors = [register for field in fields for register in registers[field]]
    builder.emit(
        CheckIndices(
            given,
            register_of(builder, extent, registers),
            _sizes(attributes, tensors[0]) if tensors else tuple((n,) for n in attributes.sizes),
            index_message(attributes.subject),
        )
    )
    return given


def register_of(
    builder: BlockBuilder, node: Expr, registers: Mapping[Expr, tuple[Register, ...]]
) -> Register:
    """The register of an argument of a primitive, given those of its parameters."""
    if not isinstance(node, Constant):
        (register,) = registers[node]
        return register
    (register,) = new_registers(type_of(node))
    builder.emit(LoadConstant(register, node.data))
    return register


def _sizes(
    attributes: CheckIndicesAttributes, data: Register
) -> tuple[tuple[int | SizeOf | Register, ...], ...]:
    """The factors of each size; those that are known come from the type of the data."""
    if attributes.is_size:
        return ((data,),)
    assert isinstance(data.kind, TensorKind)  # a number has no open size
    shape = data.kind.type.shape
    factors = [
        dim if isinstance(dim, int) else SizeOf(data, axis) for axis, dim in enumerate(shape)
    ]
    if attributes.axes is None:
        return (tuple(factors),)
    return tuple((factors[axis],) for axis in attributes.axes)
