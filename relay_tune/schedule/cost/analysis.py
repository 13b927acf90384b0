"""What can be said of a nest before a schedule is chosen: its accesses, its operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import field, replace
from hashlib import sha256
from math import prod

from relay_tune.ir.dtypes import DTYPES
from relay_tune.quick_dataclass import dataclass
from relay_tune.remembered import remembered
from relay_tune.schedule.cost.access import (
    NOTHING_NEAR,
    Access,
    Near,
    accesses_of,
    with_siblings,
)
from relay_tune.schedule.cost.word_cost import MadeWord, loaded_in_parts, words_made
from relay_tune.schedule.intrinsics.match import IntrinsicMatch, intrinsic_match
from relay_tune.schedule.loops.scaled_sums import has_integer_sums
from relay_tune.schedule.nests.conversions import conversions
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.nests.operation_count import (
    operation_count,
    shared_operation_count,
    written_out_axes,
)
from relay_tune.schedule.nests.sliding_windows import slides
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.expression import Axis, Literal, Load, Scalar, Tensor
from relay_tune.tensor.index import FlatView
from relay_tune.tensor.repeated import counted_form
from relay_tune.tensor.walk import operands, sub_expressions

REMEMBERED_NESTS = 1 << 11


@dataclass(frozen=True, eq=False, slots=True)
class NestAnalysis:
    """The schedule-independent part of the estimate.

    Attributes:
        nest: the nest.
        match: what stands where in it for the intrinsic that computes it, if one does.
        body_accesses: the loads of one reduction step.
        result_accesses: the loads of the result.
        body_operations: vector instructions of one reduction step.
        result_operations: vector instructions for one result, on average over `written_out`.
        store_form: where the result goes, if that is affine, but for steps from row to row.
        store_bytes: of one element.
        stored: the bytes of the result.
        stored_around: the bytes among which the result is stored, lines that are read for it too.
        written_out: axes that a register tile always covers (see `written_out_axes`).
        near: what the nests before have left.
        beside_windows: the positions of axes that sliding windows do not move along, where no axis
            uses a window again (a depthwise convolution, a pool): blocks of them keep rows near.
        conversions: the nodes of the body that convert constants of a narrow type; they are no part
            of `body_operations`.
        independent: the positions of axes of which each point has operands of its own, inside of
            those along which a window moves (groups of a convolution): a tile of several of them
            has more sums at a time, and no more lines in the same sets of a cache.
        words: those that a step puts together; they are no part of `body_operations`.
        integer_sums: whether dot products are summed as integers, block by block; what a block
            takes beside them is no part of `body_operations`.
    """

    nest: Nest
    match: IntrinsicMatch | None
    body_accesses: tuple[Access, ...]
    result_accesses: tuple[Access, ...]
    body_operations: float
    result_operations: float
    store_form: Affine | None
    store_bytes: int
    stored: int
    stored_around: int
    written_out: frozenset[Axis]
    near: Near
    beside_windows: tuple[int, ...]
    independent: tuple[int, ...]
    conversions: frozenset[Scalar]
    words: tuple[MadeWord, ...]
    integer_sums: bool

    @property
    def has_blocks(self) -> bool:
        """Whether constants of a narrow type, or sums of integers, are in blocks of steps."""
        return (bool(self.conversions) and len(self.nest.reduction) > 1) or self.integer_sums

    @property
    def accesses(self) -> tuple[Access, ...]:
        """All loads."""
        return (*self.body_accesses, *self.result_accesses)

    def is_read_once(self, access: Access) -> bool:
        """Whether the nest is a sum, but of windows, that reads each element of an operand once."""
        if access.constant or access.form is None or self.beside_windows or self.match is not None:
            return False
        return bool(self.nest.reduction) and self.nest.points <= access.elements


@dataclass(frozen=True, slots=True)
class _Subject:
    """A nest to analyse; nests of one structure are one subject."""

    structure: bytes
    nest: Nest = field(compare=False)
    constants: frozenset[Tensor] = field(compare=False)
    near: Near = field(compare=False)


def analyse(nest: Nest, constants: frozenset[Tensor], near: Near = NOTHING_NEAR) -> NestAnalysis:
    """What can be said of a nest before a schedule is chosen.

    It may be about another nest of the same structure: spaces for different numbers of threads, and
    of layers that are alike, share it, and with it their estimates.
    """
    return _analysis(_Subject(_structure(nest, constants, near), nest, constants, near))


@remembered(REMEMBERED_NESTS)
def _analysis(subject: _Subject) -> NestAnalysis:
    nest, constants, near = subject.nest, subject.constants, subject.near
    body = () if nest.body is None else tuple(accesses_of(nest.body, constants, near))
    match = intrinsic_match(nest)
    if match is not None:
        body = _parts_alone(body)
    words = words_made(nest)
    made = sum(word.joins + word.operations for word in words)
    body = loaded_in_parts(body, words, nest)
    store_bytes = DTYPES[nest.target.dtype].itemsize
    around = prod(nest.target.shape) * store_bytes
    written_out = written_out_axes(nest)
    converting = conversions(nest, constants)
    return NestAnalysis(
        nest=nest,
        match=match,
        body_accesses=body,
        result_accesses=with_siblings(tuple(accesses_of(nest.result, constants, near)), nest.axes),
        body_operations=_body_operations(nest, converting) - made,
        result_operations=(
            shared_operation_count(nest.result, written_out)
            if written_out
            else operation_count(nest.result, reduced=False)
        ),
        store_form=axis_affine(nest.index) or counted_form(nest.index),
        store_bytes=store_bytes,
        stored=prod(axis.extent for axis in nest.axes) * store_bytes,
        stored_around=near.bytes if nest.target in near.tensors else 2 * around,
        written_out=written_out,
        near=near,
        beside_windows=_beside_windows(nest, body),
        independent=_independent(nest, body),
        conversions=converting,
        words=words,
        integer_sums=has_integer_sums(nest),
    )


def _body_operations(nest: Nest, converting: frozenset[Scalar]) -> float:
    if nest.body is None:
        return 0.0
    if converting or has_integer_sums(nest):
        return 1.0
    return operation_count(nest.body, reduced=True)


def _parts_alone(accesses: tuple[Access, ...]) -> tuple[Access, ...]:
    """Loads of the parts of operands, each of which is among the elements of that part alone."""
    parts = Counter((access.constant, access.elements) for access in accesses)
    return tuple(
        replace(access, elements=access.elements // parts[access.constant, access.elements])
        for access in accesses
    )


def _beside_windows(nest: Nest, accesses: Sequence[Access]) -> tuple[int, ...]:
    for access in accesses:
        form = access.form
        if form is None or access.constant or not all(form.coefficient(a) for a in nest.axes):
            continue
        moving = [axis for axis in nest.axes if slides(form, axis, nest.reduction)]
        if moving:
            return tuple(n for n, axis in enumerate(nest.axes) if axis not in moving)
    return ()


def _independent(nest: Nest, accesses: Sequence[Access]) -> tuple[int, ...]:
    forms = [access.form for access in accesses if access.form is not None]
    moving = [n for n, a in enumerate(nest.axes) for f in forms if slides(f, a, nest.reduction)]
    if not moving or len(forms) < len(accesses) or _beside_windows(nest, accesses):
        return ()
    return tuple(
        position
        for position in range(max(moving) + 1, len(nest.axes) - 1)
        if nest.axes[position].extent > 1 and all(f.coefficient(nest.axes[position]) for f in forms)
    )


def _structure(nest: Nest, constants: frozenset[Tensor], near: Near) -> bytes:
    """A digest that is equal for nests of the same form, accesses and surroundings.

    Networks repeat layers: the transforms and the products of a convolution are the same nests
    whatever is done to its result. Tensors and axes are numbered where they first occur, names do
    not count, nor does the pattern of an algorithm in a nest that has no products for it.
    """
    axes = {axis: number for number, axis in enumerate((*nest.axes, *nest.reduction))}
    numbers: dict[Scalar, int] = {}
    tensors: dict[Tensor, int] = {}
    nodes: list[Hashable] = []
    for node in sub_expressions(*nest.roots):
        about: Hashable = getattr(node, "operation", None)
        match node:
            case Axis():
                about = axes.setdefault(node, len(axes)), node.extent
            case Literal():
                about = repr(node.value)
            case Load():
                about = tensors.setdefault(node.tensor, len(tensors))
        inner = tuple(numbers[operand] for operand in operands(node))
        nodes.append((type(node).__name__, node.dtype, about, inner))
        numbers[node] = len(numbers)
    tensors.setdefault(nest.target, len(tensors))
    match = intrinsic_match(nest)
    structure = (
        tuple(axis.extent for axis in nest.axes),
        tuple(axis.extent for axis in nest.reduction),
        (nest.operation, match and match.pattern.name, tensors[nest.target]),
        tuple(numbers[root] for root in nest.roots),
        tuple(nodes),
        tuple(_described(tensor, constants, near) for tensor in tensors),
        (near.bytes, near.repeats, near.siblings, near.joined, near.asked_for),
    )
    return sha256(repr(structure).encode()).digest()


def _described(tensor: Tensor, constants: frozenset[Tensor], near: Near) -> Hashable:
    is_constant = isinstance(tensor, FlatView) and tensor.viewed in constants
    return type(tensor).__name__, tensor.shape, tensor.dtype, is_constant, tensor in near.tensors
