"""The first elements of a sorted row, without sorting the row: those kept so far form a heap.

At its root stands the one that would go last. A later element that goes before it takes its place;
in the end the root is taken away again and again (heapsort: Williams, Communications of the ACM 7,
1964; Floyd's construction in the same volume). Most elements cost one comparison.
"""

from __future__ import annotations

from relay_tune.op.ordered_rows import Row, goes_before, ordered_rows
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import INDEX, Scalar, Tensor, binary, literal, select, unary
from relay_tune.tensor.loops import Buffer, LoopBuilder
from relay_tune.tensor.tensor import ProcedureOutput

LEAST_PASSED_OVER = 4
"""A heap is used where at most one element in so many is kept.

Rows of 1000 floats in random order, microseconds a row, one core of an AMD server processor: 10
kept 1.0, 100 kept 5.7, 250 kept 31; sorted 70. 50 of 50257: 38. The worst order, in which every
element is kept for a while: 9, 20, 23; 1430.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Heap:
    """The local buffers: the heap, the element that looks for its position, and where it looks."""

    keys: Buffer
    places: Buffer
    key: Buffer
    place: Buffer
    hole: Buffer
    child: Buffer
    size: Buffer
    goes_on: Buffer


def selected_tensors(
    data: Tensor, axis: int, kept: int, ascending: bool, index_dtype: str
) -> tuple[ProcedureOutput, ...]:
    """The first `kept` elements of `data` sorted along `axis`, and where they stood.

    Equal elements keep their order; NaN counts as greater than all else.
    """

    def write_row(builder: LoopBuilder, row: Row) -> None:
        heap = heap_buffers(builder, kept, data.dtype)
        with builder.loop("first", kept) as position:
            builder.store(heap.keys, (position,), row.element(position))
            builder.store(heap.places, (position,), position)
        with builder.loop("root", kept // 2) as number:
            root = binary("sub", kept // 2 - 1, number)
            sift(builder, heap, element_at(heap, root), root, kept, ascending)
        with builder.loop("later", row.size, begin=kept) as position:
            value = row.element(position)
            with builder.when(goes_before(value, heap.keys[0], ascending)):
                sift(builder, heap, (value, position), literal(0, INDEX), kept, ascending)
        with builder.loop("taken", kept) as number:
            last = binary("sub", kept - 1, number)
            row.write(last, heap.keys[0], heap.places[0])
            sift(builder, heap, element_at(heap, last), literal(0, INDEX), last, ascending)

    return ordered_rows("topk", data, axis, kept, index_dtype, write_row)


def heap_buffers(builder: LoopBuilder, kept: int, dtype: str) -> Heap:
    """Room for a heap of up to `kept` elements."""
    return Heap(
        keys=builder.local("keys", (kept,), dtype),
        places=builder.local("places", (kept,), INDEX),
        key=builder.local("key", (), dtype),
        place=builder.local("place", (), INDEX),
        hole=builder.local("hole", (), INDEX),
        child=builder.local("child", (), INDEX),
        size=builder.local("size", (), INDEX),
        goes_on=builder.local("goes_on", (), "bool"),
    )


def element_at(heap: Heap, place: Scalar) -> tuple[Scalar, Scalar]:
    """The key at a position of the heap, and where it stood in the row."""
    return heap.keys[place], heap.places[place]


def sift(
    builder: LoopBuilder,
    heap: Heap,
    element: tuple[Scalar, Scalar],
    hole: Scalar,
    size: Scalar | int,
    ascending: bool,
) -> None:
    """Put an element into a hole of the heap's first `size` slots, or below it."""
    builder.store(heap.key, (), element[0])
    builder.store(heap.place, (), element[1])
    builder.store(heap.hole, (), hole)
    builder.store(heap.size, (), size)
    left = heap.hole[()] * 2 + 1
    with builder.while_(binary("lt", left, heap.size[()])):
        right = binary("min", left + 1, heap.size[()] - 1)
        later = _goes_behind(element_at(heap, right), element_at(heap, left), ascending)
        builder.store(heap.child, (), select(later, right, left))
        child, own = element_at(heap, heap.child[()]), (heap.key[()], heap.place[()])
        builder.store(heap.goes_on, (), _goes_behind(child, own, ascending))
        with builder.when(heap.goes_on[()]):
            builder.store(heap.keys, (heap.hole[()],), child[0])
            builder.store(heap.places, (heap.hole[()],), child[1])
            builder.store(heap.hole, (), heap.child[()])
        with builder.when(unary("not", heap.goes_on[()])):
            builder.store(heap.size, (), 0)
    builder.store(heap.keys, (heap.hole[()],), heap.key[()])
    builder.store(heap.places, (heap.hole[()],), heap.place[()])


def _goes_behind(
    element: tuple[Scalar, Scalar], other: tuple[Scalar, Scalar], ascending: bool
) -> Scalar:
    """Whether an element must stand behind another: the later one of two that are equal."""
    behind = goes_before(other[0], element[0], ascending)
    before = goes_before(element[0], other[0], ascending)
    is_later = binary("gt", element[1], other[1])
    return binary("or", behind, binary("and", unary("not", before), is_later))
