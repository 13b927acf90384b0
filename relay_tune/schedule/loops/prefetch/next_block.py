"""What a group reads of other tensors, asked for one block ahead by the nest with time to spare.

    for block:                                       for block:
      m = max(i) x[block, i]    waits                  m = max(i) x[block, i]    is near
      e[i] = exp(x[block, i] - m)               ->     e[i] = exp(x[block, i] - m)
      ...                                                      prefetch x[block + 1, i]

The first nest that reads a tensor has little arithmetic, as a rule, and waits for the second cache.
Behind it comes a nest without a reduction that reads the same elements and computes more: each of
its vectors asks for the one at the same offset of the next block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from relay_tune.ir.dtypes import DTYPES
from relay_tune.machine.machine import LINE_BYTES
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.loops.prefetch.fetch import Fetch
from relay_tune.schedule.loops.prefetch.limits import FEWEST_OPERATIONS, NEAR_BYTES
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.nests.operation_count import operation_count
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.expression import Axis, Load, Scalar, Tensor
from relay_tune.tensor.index import FlatView
from relay_tune.tensor.size import nominal
from relay_tune.tensor.walk import loads, substitute


@dataclass(frozen=True, slots=True)
class ReadAhead:
    """A load of a nest, and how many elements further on the next block has its own."""

    load: Load
    apart: int

    def fetch(self, values: Mapping[Axis, Scalar]) -> Fetch:
        """What a point asks for; `values` are what the nest's axes are there."""
        at = substitute(self.load.indices[0], values) + self.apart
        return Fetch(((self.load.tensor, at),), near=True)


def read_ahead(
    nests: Sequence[Nest], base: Axis, rows: int, fetched: frozenset[Tensor] = frozenset()
) -> tuple[tuple[ReadAhead, ...], ...]:
    """For each nest of a group what it asks for while it runs, in blocks of so many rows.

    `base` is the first row of a block. Each tensor that the group does not write is asked for by
    one nest, the one with most arithmetic; those that are `fetched` otherwise by none. A single
    block has no next one.
    """
    if nominal(base.extent) <= rows:
        return ((),) * len(nests)
    known = fetched | {nest.target for nest in nests}
    chosen: dict[Tensor, tuple[float, int, list[ReadAhead]]] = {}
    for position, nest in enumerate(nests):
        work = operation_count(nest.result, reduced=False)
        if nest.reduction or work < FEWEST_OPERATIONS:
            continue
        for tensor, found in _moving_loads(nest, base, rows).items():
            if tensor not in known and (tensor not in chosen or work > chosen[tensor][0]):
                chosen[tensor] = work, position, found
    return tuple(
        tuple(
            ahead for _, chooser, found in chosen.values() if chooser == position for ahead in found
        )
        for position in range(len(nests))
    )


def tensors_ahead(nests: Sequence[Nest], base: Axis) -> frozenset[Tensor]:
    """The tensors that a group asks for one block ahead, if nothing fetches them otherwise."""
    return frozenset(each.load.tensor for ahead in read_ahead(nests, base, 1) for each in ahead)


def _moving_loads(nest: Nest, base: Axis, rows: int) -> dict[Tensor, list[ReadAhead]]:
    """The loads of large tensors that are elsewhere in the next block, whole lines at a time."""
    found: dict[Tensor, list[ReadAhead]] = {}
    for load in loads(nest.result):
        if not isinstance(load.tensor, FlatView) or _bytes(load.tensor) <= NEAR_BYTES:
            continue
        form = axis_affine(load.indices[0])
        if form is not None and form.coefficient(base) and _has_whole_lines(form, load.tensor):
            ahead = ReadAhead(load, form.coefficient(base) * rows)
            found.setdefault(load.tensor, []).append(ahead)
    return found


def _has_whole_lines(form: Affine, tensor: Tensor) -> bool:
    """Whether neighbours are neighbours in memory on one axis, and lines apart on the others.

    Vectors that begin anywhere in a line were fetched in vain: softmax over 512 rows of 197 took
    1.15 times as long, over 64 of 1000 as long as before.
    """
    steps = sorted((form.coefficient(axis) for axis in form.terms), key=nominal)
    line = LINE_BYTES // DTYPES[tensor.dtype].itemsize
    return steps[0] == 1 and all(step % line == 0 for step in (*steps[1:], form.constant))


def _bytes(tensor: Tensor) -> int:
    return nominal(prod(tensor.shape)) * DTYPES[tensor.dtype].itemsize
