"""A stable bottom-up merge sort as a loop nest (Knuth, The Art of Computer Programming 3, 5.2.4).

Runs of 1, 2, 4, ... elements are merged from one half of a local buffer into the other.
"""

from __future__ import annotations

from relay_tune.op.ordered_rows import Row, goes_before, ordered_rows
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import INDEX, Scalar, Tensor, binary, cast, literal, select
from relay_tune.tensor.loops import Buffer, LoopBuilder
from relay_tune.tensor.tensor import ProcedureOutput


@dataclass(frozen=True, slots=True, eq=False)
class Workspace:
    """The local buffers: two rows of keys and of the positions they came from, and counters."""

    keys: Buffer
    places: Buffer
    source: Buffer
    width: Buffer
    left: Buffer
    right: Buffer
    taken: Buffer


def sorted_tensors(
    name: str, data: Tensor, axis: int, kept: int, ascending: bool, index_dtype: str
) -> tuple[ProcedureOutput, ...]:
    """The first `kept` elements of `data` sorted along `axis`, and where they stood.

    Equal elements keep their order; NaN counts as greater than all else.
    """

    def write_row(builder: LoopBuilder, row: Row) -> None:
        work = workspace(builder, row.size, data.dtype)
        with builder.loop("read", row.size) as position:
            builder.store(work.keys, (0, position), row.element(position))
            builder.store(work.places, (0, position), position)
        sort_row(builder, work, row.size, ascending)
        with builder.loop("write", kept) as position:
            source = work.source[()]
            row.write(position, work.keys[source, position], work.places[source, position])

    return ordered_rows(name, data, axis, kept, index_dtype, write_row)


def workspace(builder: LoopBuilder, size: int, dtype: str) -> Workspace:
    """Room for the sort of rows of up to `size` elements."""
    return Workspace(
        keys=builder.local("keys", (2, size), dtype),
        places=builder.local("places", (2, size), INDEX),
        source=builder.local("source", (), INDEX),
        width=builder.local("width", (), INDEX),
        left=builder.local("left", (), INDEX),
        right=builder.local("right", (), INDEX),
        taken=builder.local("taken", (), INDEX),
    )


def sort_row(builder: LoopBuilder, work: Workspace, size: Scalar | int, ascending: bool) -> None:
    """Sort the first `size` keys of row 0; the result is in row `source`."""
    builder.store(work.source, (), 0)
    builder.store(work.width, (), 1)
    with builder.while_(binary("lt", work.width[()], size)):
        pair = work.width[()] * 2
        pairs = binary("floordiv", pair + (size - 1), pair)
        with builder.loop("pair", pairs) as number:
            begin = number * pair
            middle = binary("min", begin + work.width[()], size)
            end = binary("min", begin + pair, size)
            _merge(builder, work, (begin, middle, end), ascending)
        builder.store(work.source, (), binary("sub", 1, work.source[()]))
        builder.store(work.width, (), work.width[()] * 2)


def _merge(
    builder: LoopBuilder, work: Workspace, bounds: tuple[Scalar, Scalar, Scalar], ascending: bool
) -> None:
    """Merge the sorted runs [begin, middle) and [middle, end) into the other row."""
    begin, middle, end = bounds
    source = work.source[()]
    left, right = work.left[()], work.right[()]
    builder.store(work.left, (), begin)
    builder.store(work.right, (), middle)
    with builder.loop("merged", end, begin=begin) as position:
        before = goes_before(work.keys[source, right], work.keys[source, left], ascending)
        from_right = select(
            binary("ge", left, middle),
            literal(True, "bool"),
            select(binary("lt", right, end), before, literal(False, "bool")),
        )
        # `right` changes with the second store, `left` follows from the number of elements taken.
        builder.store(work.taken, (), select(from_right, right, left))
        builder.store(work.right, (), right + cast(binary("eq", work.taken[()], right), INDEX))
        builder.store(work.left, (), position + 1 - (right - middle))
        target = binary("sub", 1, source)
        builder.store(work.keys, (target, position), work.keys[source, work.taken[()]])
        builder.store(work.places, (target, position), work.places[source, work.taken[()]])
