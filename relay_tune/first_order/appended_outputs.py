"""Results that are an input with more rows: they may lie where the input lies.

    before: function @main(past, x):
              new = run dense(x);  all = run concatenate(past, new);  y = run softmax(all)
              return y, all
    after:  function @main(past, x):
              new = run dense(x);  all = append(past, new);  y = run softmax(all, spaced)
              return y, all

The memory of such a result has room for more rows than it has, so that the next call can append to
it: kernels that read it are made for any distance of its slices (see `op.spaced_inputs`).
Where a caller gives the memory in which the input lies, only the new rows are written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from relay_tune.first_order.instructions import (
    AppendRows,
    CheckRoom,
    CheckSize,
    ComputeScalars,
    DeferKernel,
    Instruction,
    Register,
    RunKernel,
    SizeOf,
)
from relay_tune.first_order.kinds import MAXIMUM_OPEN_RANK, kinds_of, type_of
from relay_tune.first_order.open_primitive import OpenPrimitive, is_open_primitive, open_primitive
from relay_tune.first_order.program import AppendedOutput, Block, FirstOrderFunction
from relay_tune.first_order.size_naming import SizeSource
from relay_tune.first_order.terminators import Return
from relay_tune.ir.dim import UnknownDim
from relay_tune.ir.dim_arithmetic import symbol_names
from relay_tune.ir.expr import Call, Expr, Function, Tuple, Var
from relay_tune.ir.known_type import known_type
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import post_order
from relay_tune.ir.types import TensorType
from relay_tune.op.joining import ConcatenateAttributes
from relay_tune.op.primitive_key import operators_text
from relay_tune.op.spaced_inputs import with_spaced_inputs
from relay_tune.typing.infer import infer_expr


def with_appended_outputs(
    function: FirstOrderFunction,
) -> tuple[FirstOrderFunction, tuple[AppendedOutput, ...]]:
    """An entry that appends rows to inputs where it can, and the results that come about so."""
    if len(function.blocks) != 1:
        return function, ()
    (block,) = function.blocks
    found = {append.instruction: append for append in _appends(function, block)}
    if not found:
        return function, ()
    results = {append.result: append.axis for append in found.values()}
    spaced: dict[tuple[Function, tuple[int, ...]], Function] = {}
    instructions: list[Instruction] = []
    for instruction in block.instructions:
        if instruction in found:
            instructions += found[instruction].instructions()
        elif isinstance(instruction, RunKernel):
            instructions.append(_reading(instruction, results, spaced))
        else:
            instructions.append(instruction)
    places = {parameter: number for number, parameter in enumerate(function.parameters)}
    outputs = tuple(AppendedOutput(a.output, places[a.old], a.axis) for a in found.values())
    whole = replace(block, instructions=tuple(instructions))
    return replace(function, blocks=(whole,)), outputs


@dataclass(frozen=True, eq=False, slots=True)
class _Append:
    """A concatenation that begins with an input.

    Attributes:
        instruction: the kernel.
        output: the component of the result that it computes.
        old: the input.
        axis: the axis of the concatenation.
        rows: what comes behind the input.
        computed: the kernel that computes that; None if it is there already.
        checks: what the sizes of both must be.
    """

    instruction: RunKernel
    output: int
    old: Register
    axis: int
    rows: Register
    computed: RunKernel | None
    checks: tuple[CheckSize, ...]

    @property
    def result(self) -> Register:
        """What is concatenated."""
        return self.instruction.outputs[0]

    def instructions(self) -> Iterator[Instruction]:
        """The instructions in place of the kernel."""
        yield from self.checks
        if self.computed is not None:
            yield self.computed
        yield AppendRows(self.result, self.old, self.rows, self.axis, self.output)


def _appends(function: FirstOrderFunction, block: Block) -> Iterator[_Append]:
    """The concatenations of a block that can become appends."""
    if not isinstance(block.terminator, Return):
        return
    returned = block.terminator.values
    times = Counter(returned)
    readers: dict[Register, list[Instruction]] = {}
    for instruction in block.instructions:
        for register in dict.fromkeys(instruction.operands):
            readers.setdefault(register, []).append(instruction)
    for instruction in block.instructions:
        if not isinstance(instruction, RunKernel) or len(instruction.outputs) != 1:
            continue
        (result,) = instruction.outputs
        if times[result] != 1 or not all(map(_can_read_spaced, readers.get(result, ()))):
            continue
        append = _append(instruction, returned.index(result), function.parameters)
        if append is None or append.old in returned:
            continue
        others = (reader for reader in readers[append.old] if reader is not instruction)
        if all(isinstance(reader, CheckSize | CheckRoom) for reader in others):
            yield append


def _append(
    instruction: RunKernel, output: int, parameters: tuple[Register, ...]
) -> _Append | None:
    """A kernel as an append to a parameter; None if it is something else."""
    joined = _concatenation(instruction) if _is_plain(instruction) else None
    if joined is None:
        return None
    first, rest, axis = joined
    primitive = instruction.primitive
    inputs = dict(zip(primitive.params, instruction.inputs, strict=True))
    old = inputs[first]
    if old not in parameters or instruction.inputs.count(old) > 1:
        return None
    named = open_primitive(primitive)
    if named.found or any(source.divisor != 1 for source in named.symbols.values()):
        return None
    checks = tuple(_checks(named, instruction))
    if isinstance(rest, Var):
        return _Append(instruction, output, old, axis, inputs[rest], None, checks)
    used = {node for node in post_order(rest) if isinstance(node, Var)}
    params = tuple(param for param in primitive.params if param in used)
    typed = infer_expr(Function(params, rest, attributes=primitive.attributes, span=primitive.span))
    assert isinstance(typed, Function)  # as it was given
    (kind,) = kinds_of(type_of(typed.body))
    result = Register(kind)
    run = RunKernel(typed, tuple(inputs[param] for param in params), (result,))
    return _Append(instruction, output, old, axis, result, run, checks)


def _concatenation(instruction: RunKernel) -> tuple[Var, Expr, int] | None:
    """The parameter with which a concatenation along a dynamic axis of it begins, all that comes
    behind it, and the axis; None if a kernel computes something else.
    """
    body = instruction.primitive.body
    if not isinstance(body, Call) or not isinstance(body.callee, Operator):
        return None
    fields = body.arguments[0]
    if body.callee.name != "concatenate" or not isinstance(fields, Tuple):
        return None
    first, *rest = fields.fields
    type_ = known_type(first)
    if not rest or first not in instruction.primitive.params:
        return None
    if not isinstance(first, Var) or not isinstance(type_, TensorType):
        return None
    assert isinstance(body.attributes, ConcatenateAttributes)
    axis = body.attributes.axis % len(type_.shape)
    if len(type_.shape) >= MAXIMUM_OPEN_RANK or isinstance(type_.shape[axis], int):
        return None
    if any(node is first for node in post_order(*rest)):
        return None
    if len(rest) == 1:
        return first, rest[0], axis
    return first, replace(body, arguments=(Tuple(tuple(rest)),), type=None), axis


def _checks(named: OpenPrimitive, instruction: RunKernel) -> Iterator[CheckSize]:
    """The checks of sizes that the kernel would make."""

    def size_of(source: SizeSource) -> SizeOf:
        return SizeOf(instruction.inputs[source.input], source.axis)

    title = operators_text(instruction.primitive)
    for source, wanted in named.checks:
        symbols = {name: size_of(named.symbols[name]) for name in sorted(symbol_names(wanted))}
        message = f"The inputs of {title} have sizes that do not fit each other."
        yield CheckSize(size_of(source), wanted, symbols, message)


def _is_plain(instruction: RunKernel) -> bool:
    """Whether a kernel takes a tensor for each parameter, all of whose sizes have names or are
    known: sizes without a name may have to be 1 to fit others.
    """
    if isinstance(instruction, ComputeScalars | DeferKernel):
        return False
    types = [known_type(param) for param in instruction.primitive.params]
    if not all(isinstance(t, TensorType) and UnknownDim() not in t.shape for t in types):
        return False
    return is_open_primitive(instruction.primitive)


def _can_read_spaced(reader: Instruction) -> bool:
    """Whether an instruction can read a tensor whose slices lie apart."""
    if isinstance(reader, CheckSize | CheckRoom):
        return True
    if not isinstance(reader, RunKernel) or not _is_plain(reader):
        return False
    return not open_primitive(reader.primitive).found


def _reading(
    run: RunKernel,
    results: Mapping[Register, int],
    known: dict[tuple[Function, tuple[int, ...]], Function],
) -> RunKernel:
    """A kernel that reads appended results wherever their slices lie; `known` are those made."""
    axes = {place: results[r] for place, r in enumerate(run.inputs) if r in results}
    if not axes:
        return run
    key = run.primitive, tuple(axes)
    if key not in known:
        known[key] = with_spaced_inputs(run.primitive, axes)
    return replace(run, primitive=known[key])
