"""The slices of a batch with which a training step keeps a limit of memory.

Each slice reads all weights again, but a step of fewer slices may have to compute some results
again, or to have kernels that need less memory and more time. So where a limit has changed what a
whole batch or slices run, more slices are built as well, up to those that it does not change, or
until two in a row seem to be no faster: two slices that compute again may be slower than a whole
batch that does, and four that need not be faster than both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from relay_tune.errors import InputError, MemoryLimitError
from relay_tune.ir.expr import Var
from relay_tune.training.slices import divisors, samples_of

Step = TypeVar("Step")

MOST_SLOWER = 2
"""So many steps in a row that seem to be no faster end the search."""


def slices_within_limit(
    made: Callable[[int], Step],
    batch: Sequence[Var],
    is_strained: Callable[[Step], bool],
    is_faster: Callable[[Step, Step], bool],
    least_held: int = 0,
) -> Step:
    """The step in few slices that keeps its limit.

    Args:
        made: the step in so many slices; MemoryLimitError where its limit is not kept, InputError
            where there is none.
        batch: the inputs of the whole batch.
        is_strained: whether the limit has changed what a step runs.
        is_faster: whether a step seems to be faster than another one of fewer slices.
        least_held: the bytes that slices hold at least.

    Raises the first MemoryLimitError, with the reason as a note where the batch cannot be sliced.
    """
    best: Step | None = None
    error: MemoryLimitError | None = None
    counts, reason = _counts(batch)
    tried, least, slower = 1, 0, 0
    for count in counts:
        if error is not None and best is None and count * error.limit < tried * least:
            continue
        if error is not None and count > 1 and error.limit < least_held:
            break
        try:
            step = made(count)
        except MemoryLimitError as other:
            error, tried, least = error or other, count, other.least
            if best is not None:
                break
            continue
        except InputError as other:
            if count == 1:
                raise
            reason = other.message
            break
        is_better = best is None or is_faster(step, best)
        best = step if best is None or is_better else best
        slower = 0 if is_better else slower + 1
        if not is_strained(step) or slower == MOST_SLOWER:
            break
    if best is not None:
        return best
    assert error is not None  # one slice was tried
    error.notes = (*error.notes, reason) if reason else error.notes
    raise error


def _counts(batch: Sequence[Var]) -> tuple[list[int], str]:
    """The numbers of slices, and why there is but one."""
    try:
        return divisors(samples_of(batch)), ""
    except InputError as reason:
        return [1], reason.message
