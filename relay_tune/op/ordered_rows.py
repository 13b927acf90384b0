"""Rows whose first elements are wanted in order: what every way to find them has in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Scalar, Tensor, binary, cast, unary
from relay_tune.tensor.loops import Buffer, LoopBuilder
from relay_tune.tensor.scalar_semantics import is_float
from relay_tune.tensor.tensor import ProcedureOutput, procedure


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One row of a tensor along an axis, and the row of results."""

    builder: LoopBuilder
    values: Buffer
    found: Buffer
    places: Buffer
    outer: Sequence[Scalar]
    axis: int

    @property
    def size(self) -> int:
        """The elements of the row."""
        return self.values.shape[self.axis]

    def element(self, place: Scalar) -> Scalar:
        """The element at a position of the row."""
        return self.values[self._at(place)]

    def write(self, place: Scalar, element: Scalar, origin: Scalar) -> None:
        """Write a result: the element, and the position where it stood."""
        self.builder.store(self.found, self._at(place), element)
        self.builder.store(self.places, self._at(place), cast(origin, self.places.dtype))

    def _at(self, position: Scalar) -> tuple[Scalar, ...]:
        return (*self.outer[: self.axis], position, *self.outer[self.axis + 1 :])


def ordered_rows(
    name: str,
    data: Tensor,
    axis: int,
    kept: int,
    index_dtype: str,
    write_row: Callable[[LoopBuilder, Row], None],
) -> tuple[ProcedureOutput, ...]:
    """The first `kept` elements of each row of `data` along `axis`, and where they stood.

    `write_row` writes the code that finds them in one row.
    """
    shape = (*data.shape[:axis], kept, *data.shape[axis + 1 :])

    def write(builder: LoopBuilder, values: Buffer, found: Buffer, positions: Buffer) -> None:
        with ExitStack() as stack:
            outer = [
                stack.enter_context(builder.loop(f"i{n}", extent if n != axis else 1))
                for n, extent in enumerate(values.shape)
            ]
            write_row(builder, Row(builder, values, found, positions, outer, axis))

    return procedure(name, [data], [(shape, data.dtype), (shape, index_dtype)], write)


def goes_before(first: Scalar, second: Scalar, ascending: bool) -> Scalar:
    """Whether `first` must stand before `second`; nothing stands before its equal.

    NaN is greater than all other elements, and equal to itself.
    """
    lesser, greater = (first, second) if ascending else (second, first)
    before = binary("lt", lesser, greater)
    if not is_float(first.dtype):
        return before
    only_greater = binary("and", unary("isnan", greater), unary("not", unary("isnan", lesser)))
    return binary("or", before, only_greater)
