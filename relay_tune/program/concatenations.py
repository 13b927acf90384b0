"""Kernels that are a concatenation onto a tensor, taken apart.

    run fn (%p0, %p1) { concatenate((%p0, exp(%p1)), axis=0) } (old, x)

is `old`, and behind it the rows that `run fn (%p1) { exp(%p1) } (x)` computes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from relay_tune.ir.dim_arithmetic import symbol_names
from relay_tune.ir.expr import Call, Expr, Function, Tuple, Var
from relay_tune.ir.known_type import known_type
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import post_order
from relay_tune.ir.types import TensorType
from relay_tune.op.joining import ConcatenateAttributes
from relay_tune.op.primitive_key import operators_text
from relay_tune.op.spaced_inputs import spaced_inputs
from relay_tune.program.instructions import (
    CheckSize,
    ComputeScalars,
    DeferKernel,
    Instruction,
    Register,
    RunKernel,
    SizeOf,
)
from relay_tune.program.kinds import MAXIMUM_OPEN_RANK, kinds_of, type_of
from relay_tune.program.open_primitive import OpenPrimitive, open_primitive
from relay_tune.program.size_naming import SizeSource
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.infer import infer_expr


@dataclass(frozen=True, eq=False, slots=True)
class Concatenation:
    """A kernel that joins other rows to a tensor, along an axis of dynamic size of it.

    Attributes:
        kernel: the kernel.
        old: the tensor.
        axis: the axis.
        rows: what comes behind it.
        computed: the kernel that computes that; None if it is there already.
    """

    kernel: RunKernel
    old: Register
    axis: int
    rows: Register
    computed: RunKernel | None

    @property
    def result(self) -> Register:
        """Both together."""
        return self.kernel.outputs[0]

    def checks(self) -> Iterator[CheckSize]:
        """The checks of sizes that the kernel would make."""

        def size_of(source: SizeSource) -> SizeOf:
            return SizeOf(self.kernel.inputs[source.input], source.axis)

        title = operators_text(self.kernel.primitive)
        named = open_primitive(self.kernel.primitive)
        for source, wanted in named.checks:
            symbols = {name: size_of(named.symbols[name]) for name in sorted(symbol_names(wanted))}
            message = f"The inputs of {title} have sizes that do not fit each other."
            yield CheckSize(size_of(source), wanted, symbols, message)


def concatenation(instruction: Instruction) -> Concatenation | None:
    """An instruction as a concatenation; None if it is something else."""
    if not isinstance(instruction, RunKernel):
        return None
    if isinstance(instruction, ComputeScalars | DeferKernel) or len(instruction.outputs) != 1:
        return None
    primitive = instruction.primitive
    if not all(isinstance(known_type(param), TensorType) for param in primitive.params):
        return None
    joined = None if spaced_inputs(primitive) else _joined(primitive)
    if joined is None:
        return None
    first, rest, axis = joined
    inputs = dict(zip(primitive.params, instruction.inputs, strict=True))
    old = inputs[first]
    if instruction.inputs.count(old) > 1 or not _reads_whole_sizes(open_primitive(primitive)):
        return None
    if isinstance(rest, Var):
        return Concatenation(instruction, old, axis, inputs[rest], None)
    used = {node for node in post_order(rest) if isinstance(node, Var)}
    params = tuple(param for param in primitive.params if param in used)
    typed = infer_expr(Function(params, rest, attributes=primitive.attributes, span=primitive.span))
    assert isinstance(typed, Function)  # as it was given
    (kind,) = kinds_of(type_of(typed.body))
    rows = Register(kind)
    computed = RunKernel(typed, tuple(inputs[param] for param in params), (rows,))
    return Concatenation(instruction, old, axis, rows, computed)


def _reads_whole_sizes(named: OpenPrimitive) -> bool:
    """Whether all sizes of a primitive are sizes of axes of its inputs."""
    sources = named.symbols.values()
    return not named.found and all(each.divisor == 1 and not each.offset for each in sources)


def _joined(primitive: Function) -> tuple[Var, Expr, int] | None:
    """The parameter with which a concatenation begins, what comes behind it, and the axis."""
    body = primitive.body
    if not isinstance(body, Call) or not isinstance(body.callee, Operator):
        return None
    if body.callee.name != "concatenate" or not isinstance(body.arguments[0], Tuple):
        return None
    first, *rest = body.arguments[0].fields
    type_ = known_type(first)
    if not rest or not isinstance(first, Var) or first not in primitive.params:
        return None
    assert isinstance(type_, TensorType)  # concatenate takes tensors
    assert isinstance(body.attributes, ConcatenateAttributes)
    axis = body.attributes.axis % len(type_.shape)
    if len(type_.shape) >= MAXIMUM_OPEN_RANK or isinstance(type_.shape[axis], int):
        return None
    if any(node is first for node in post_order(*rest)):
        return None
    if len(rest) == 1:
        return first, rest[0], axis
    return first, replace(body, arguments=(Tuple(tuple(rest)),), type=None), axis
