"""Which tensors of a program get a loop nest of their own, and which become part of others.

    before:  pad[i] = select(0 < i < 9, x[i - 1], 0);  y[i] = pad[i] + 1;  z[i] = exp(y[i])
    after:   z[i] = exp(select(0 < i < 9, x[i - 1], 0) + 1)

A tensor is inlined where that repeats no work worth saving: it is no output, no reduction, and
either trivial (an access at other indices, a literal), computed from constants, or read once for
each of its elements. What several inlined tensors read in common stays one expression: a reduction
under x * sigmoid(x) is read once and can take both into its loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeGuard

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.nests.regions import regions_of
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import (
    INDEX,
    Axis,
    Binary,
    Cast,
    Literal,
    Load,
    Reduce,
    Scalar,
    Select,
    Tensor,
    Unary,
    literal,
    neutral_element,
)
from relay_tune.tensor.index import simplify
from relay_tune.tensor.scalar_semantics import NARROW_FLOATS, is_float
from relay_tune.tensor.size import nominal, surely_less
from relay_tune.tensor.tensor import Computed, Copy, ProcedureOutput, stored
from relay_tune.tensor.walk import (
    axes_of,
    loads,
    share_equal,
    sub_expressions,
    substitute,
    transform,
)

MAXIMUM_INLINED_NODES = 150
"""An expression that would grow beyond this many nodes is stored instead."""

MAXIMUM_PERIODIC_NODES = 1000
"""The same where selects by position in a period leave each position only a part of the nodes."""

LEAST_WIDENED_READS = 32
"""Narrow floats that sums of products read as often are widened once, into memory."""

MAXIMUM_HALO = 2.0
"""A single elementwise reader this much larger only adds a border around what it reads."""


@dataclass(frozen=True, eq=False, slots=True)
class Stage:
    """A tensor that is stored, and its element in terms of other stored tensors."""

    tensor: Tensor
    axes: tuple[Axis, ...]
    body: Scalar


def inline_stages(
    outputs: Sequence[Tensor], constants: frozenset[Tensor] = frozenset()
) -> list[Stage | ProcedureOutput]:
    """The stages that remain, producers first, their bodies without inlined tensors.

    What is left to compute from `constants` alone is how they are stored, and part of its readers.

    Outputs stay as they are in number and order (the last stages need not be outputs).
    """
    order = tensors_in_order(outputs)
    readers = _readers(order)
    inlined: dict[Tensor, Stage] = {}
    remaining: list[Stage | ProcedureOutput] = []
    for tensor in order:
        if isinstance(tensor, ProcedureOutput):
            remaining.append(tensor)
        if not isinstance(tensor, Computed):
            continue
        body = _without_empty_reduction(tensor.body)
        stage = Stage(tensor, tensor.axes, share_equal(simplify(_inline_loads(body, inlined))))
        has_indices = tensor not in outputs and all(load for _, load in readers[tensor])
        has_indices = has_indices and not isinstance(tensor, Copy)
        is_stored = has_indices and _is_stored(stage, constants)
        if is_stored or _worth_inlining(stage, outputs, readers[tensor]):
            inlined[tensor] = stage
        else:
            remaining.append(stage)
    return _with_elements_together(remaining, outputs)


def _with_elements_together(
    stages: Sequence[Stage | ProcedureOutput], outputs: Sequence[Tensor]
) -> list[Stage | ProcedureOutput]:
    """The stages without those that one other reads, several times but at one index.

    before:  s[i] = sigmoid(x[i]);  y[i] = s[i] * a[i] + (1 - s[i]) * b[i]
    after:   y[i] = sigmoid(x[i]) * a[i] + (1 - sigmoid(x[i])) * b[i]     which is computed once
    """
    given = {
        t for each in stages if isinstance(each, ProcedureOutput) for t in each.procedure.inputs
    }
    found = {each.tensor: each for each in stages if isinstance(each, Stage)}
    reads = {tensor: _read_indices(stage) for tensor, stage in found.items()}
    for stage in [each for each in reversed(stages) if isinstance(each, Stage)]:
        tensor = stage.tensor
        readers = [other for other, positions in reads.items() if tensor in positions]
        if len(readers) != 1 or tensor in given or tensor in outputs:
            continue
        (reader,) = readers
        if not _reads_in_turn(found[reader], stage, reads[reader][tensor]):
            continue
        whole = share_equal(simplify(_inline_loads(found[reader].body, {tensor: stage})))
        if _is_small(whole):
            found[reader] = Stage(reader, found[reader].axes, whole)
            reads[reader] = _read_indices(found[reader])
            del found[tensor], reads[tensor]
    return [
        found[each.tensor] if isinstance(each, Stage) else each
        for each in stages
        if not isinstance(each, Stage) or each.tensor in found
    ]


def _read_indices(stage: Stage) -> dict[Tensor, set[object]]:
    """Where a stage reads each tensor: keys of indices, and None for words."""
    found: dict[Tensor, set[object]] = {}
    for load in loads(stage.body):
        source, key = stored(load.tensor), tuple(map(_index_key, load.indices))
        found.setdefault(source, set()).add(key if source is load.tensor else None)
    return found


def _reads_in_turn(reader: Stage, stage: Stage, positions: set[object]) -> bool:
    """Whether each element of a stage is read for one of the reader, which adds nothing up."""
    tensor = stage.tensor
    if isinstance(tensor, Copy) or any(isinstance(e.body, Reduce) for e in (stage, reader)):
        return False
    return len(positions) == 1 and None not in positions and _repetition(tensor, reader.tensor) <= 1


def _without_empty_reduction(body: Scalar) -> Scalar:
    """A reduction over nothing is its neutral element."""
    if isinstance(body, Reduce) and any(axis.extent == 0 for axis in body.axes):
        return literal(neutral_element(body.operation, body.dtype), body.dtype)
    return body


def _readers(order: Sequence[Tensor]) -> dict[Tensor, list[tuple[Tensor, Load | None]]]:
    """For each tensor the tensors that read it, with the load (None: procedures, and words)."""
    readers: dict[Tensor, list[tuple[Tensor, Load | None]]] = {tensor: [] for tensor in order}
    for tensor in order:
        if isinstance(tensor, Computed):
            for node in sub_expressions(tensor.body):
                if isinstance(node, Load):
                    source = stored(node.tensor)
                    readers[source].append((tensor, node if source is node.tensor else None))
        elif isinstance(tensor, ProcedureOutput):
            for source in tensor.procedure.inputs:
                readers[source].append((tensor, None))
    return readers


def _inline_loads(body: Scalar, inlined: dict[Tensor, Stage]) -> Scalar:
    known: dict[tuple[Tensor, tuple[object, ...]], Scalar] = {}

    def visit(node: Scalar) -> Scalar:
        if not isinstance(node, Load) or node.tensor not in inlined:
            return node
        key = (node.tensor, tuple(_index_key(index) for index in node.indices))
        if key not in known:
            producer = inlined[node.tensor]
            known[key] = substitute(
                producer.body, dict(zip(producer.axes, node.indices, strict=True))
            )
        return known[key]

    return transform(body, visit)


def _index_key(index: Scalar) -> object:
    return (Literal, index.value) if isinstance(index, Literal) else index


def _is_stored(stage: Stage, constants: frozenset[Tensor]) -> bool:
    """Whether a stage says how constants are stored, of which readers take each element once."""
    read = [load.tensor for load in loads(stage.body)]
    return bool(read) and not isinstance(stage.body, Reduce) and constants.issuperset(read)


def _worth_inlining(
    stage: Stage,
    outputs: Sequence[Tensor],
    readers: Sequence[tuple[Tensor, Load | None]],
) -> bool:
    tensor = stage.tensor
    if tensor in outputs or isinstance(stage.body, Reduce) or isinstance(tensor, Copy):
        return False
    if any(load is None for _, load in readers):
        return False
    if _is_access(stage.body):
        return not _is_widened_often(stage, readers)
    if not _is_small(stage.body) or _loses_positions(stage, readers):
        return False
    repeated = max((_repetition(tensor, reader) for reader, _ in readers), default=1.0)
    only_reader = readers[0][0] if len({reader for reader, _ in readers}) == 1 else None
    if only_reader is not None and repeated <= 1:
        return True
    if isinstance(only_reader, Computed) and len(readers) == 1:
        if isinstance(only_reader.body, Reduce):
            return False
        return repeated <= MAXIMUM_HALO or _is_read_once(tensor, only_reader)
    return repeated <= 1 and _cost(stage.body) <= 4


def _is_widened_often(stage: Stage, readers: Sequence[tuple[Tensor, Load | None]]) -> bool:
    """Whether products would widen each narrow float again and again: two instructions a read."""
    body = stage.body
    if not isinstance(body, Cast) or body.operand.dtype not in NARROW_FLOATS:
        return False
    return any(
        isinstance(reader, Computed)
        and _is_sum_of_products(reader.body)
        and _repetition(stage.tensor, reader) >= LEAST_WIDENED_READS
        for reader, _ in readers
    )


def _is_sum_of_products(body: Scalar) -> bool:
    if not isinstance(body, Reduce) or body.operation != "sum":
        return False
    return isinstance(body.body, Binary) and body.body.operation == "mul"


def _is_small(body: Scalar) -> bool:
    """Whether an expression is small enough to become part of another one."""
    nodes = sub_expressions(body)
    if len(nodes) <= MAXIMUM_INLINED_NODES:
        return True
    return len(nodes) <= MAXIMUM_PERIODIC_NODES and any(
        isinstance(node, Select) and _is_periodic(node.condition) for node in nodes
    )


def _is_periodic(condition: Scalar) -> bool:
    """Whether a condition compares an index taken modulo a number, or whole parts of it."""
    return isinstance(condition, Binary) and any(
        _is_modulo(side) or (_is_division(side) and _is_modulo(side.left))
        for side in (condition.left, condition.right)
    )


def _is_modulo(index: Scalar) -> bool:
    return isinstance(index, Binary) and index.operation == "floormod" and index.dtype == INDEX


def _is_division(index: Scalar) -> TypeGuard[Binary]:
    return isinstance(index, Binary) and index.operation == "floordiv" and index.dtype == INDEX


def _loses_positions(stage: Stage, readers: Sequence[tuple[Tensor, Load | None]]) -> bool:
    """Whether a stage differs by position, and a reader's indices keep these from being told.

    By itself such a stage is written out position by position. An axis under a minimum is never
    split, so that in the reader all that they compute would be computed for each element.
    """
    conditions = [
        node.condition for node in sub_expressions(stage.body) if isinstance(node, Select)
    ]
    told = axes_of(*conditions)
    if not told or _cost(stage.body) <= 4:
        return False
    positions = [position for position, axis in enumerate(stage.axes) if axis in told]
    return any(
        load is not None and _has_minimum(load.indices[position])
        for _, load in readers
        for position in positions
    )


def _has_minimum(index: Scalar) -> bool:
    return any(
        isinstance(node, Binary) and node.operation == "min" for node in sub_expressions(index)
    )


def _is_access(body: Scalar) -> bool:
    """Nothing but a load, a literal, or a conversion of one but to bfloat16."""
    while isinstance(body, Cast) and not _rounds(body):
        body = body.operand
    return isinstance(body, Load | Literal) or body.dtype == INDEX


def _rounds(node: Cast) -> bool:
    """Whether wider floats become bfloat16, which takes many processors several instructions."""
    return node.dtype == "bfloat16" and is_float(node.operand.dtype)


def _repetition(tensor: Tensor, reader: Tensor) -> float:
    """How often each element of `tensor` is read by `reader`, on average."""
    assert isinstance(reader, Computed)
    points = prod(reader.shape)
    if isinstance(reader.body, Reduce):
        points *= prod(axis.extent for axis in reader.body.axes)
    return nominal(points) / max(1, nominal(prod(tensor.shape)))


def _is_read_once(tensor: Tensor, reader: Computed) -> bool:
    """Whether the regions of a joined tensor that read `tensor` are no larger than it."""
    reading = [
        prod(axis.extent for axis in region.axes)
        for region in regions_of(reader.axes, reader.body)
        if any(load.tensor is tensor for load in loads(region.body))
    ]
    return surely_less(sum(reading) - 1, prod(tensor.shape))


def _cost(body: Scalar) -> int:
    """Rough operation count; functions such as exp weigh 10."""
    cost = 0
    for node in sub_expressions(body):
        if isinstance(node, Unary):
            cost += 1 if node.operation in ("neg", "abs", "not", "sign") else 10
        elif isinstance(node, Binary) and node.dtype != INDEX:
            cost += 10 if node.operation in ("div", "pow") else 1
        elif isinstance(node, Select):
            cost += 2
    return cost
