"""The phases of a transposed convolution along one spatial axis.

Output position y = s * q + r has the phase r. It gets data[i] * weight[k] wherever
y + c = s * i + d * k, with padding c and dilation d. With g = gcd(d, s), the taps of a phase are
k = k0 + (s / g) * j, for which i = q + (r + c - d * k0) / s - (d / g) * j.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import gcd

from relay_tune.op.layout_indices import quotient, remainder
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Scalar, binary
from relay_tune.tensor.size import ceiling_quotient, is_symbolic


@dataclass(frozen=True, slots=True)
class _Phase:
    """A phase with its first tap k0, and the first of the data that its block 0 reads."""

    phase: int
    tap: int
    start: int

    def minus(self, other: _Phase) -> tuple[int, int, int]:
        """How far apart two phases are, in each respect."""
        return self.phase - other.phase, self.tap - other.tap, self.start - other.start


@dataclass(frozen=True, slots=True)
class PhaseGroup:
    """Phases with equally many taps, in which everything is affine.

    Attributes:
        first: the phase with the number 0.
        distances: from one phase to the next: of phases, first taps, and first elements read.
        count: how many phases there are.
        taps: how many taps each of them has.
    """

    first: _Phase
    distances: tuple[int, int, int]
    count: int
    taps: int

    def number(self, phase: Scalar) -> Scalar:
        """The number of one of the phases in the group."""
        return quotient(phase - self.first.phase, self.distances[0])

    def holds(self, phase: Scalar) -> Scalar:
        """Whether a phase is in the group."""
        step = self.distances[0]
        end = self.first.phase + self.count * step
        held = binary("and", binary("ge", phase, self.first.phase), binary("lt", phase, end))
        if step == 1:
            return held
        return binary("and", held, binary("eq", remainder(phase - self.first.phase, step), 0))

    def first_tap(self, number: Scalar) -> Scalar:
        """k0 of the phase with a number."""
        return number * self.distances[1] + self.first.tap

    def start(self, number: Scalar) -> Scalar:
        """The first element of the padded data that block 0 of the phase with a number reads."""
        return number * self.distances[2] + self.first.start


@dataclass(frozen=True, slots=True)
class Phases:
    """One spatial axis of the result, cut into blocks of one element for each phase.

    Attributes:
        stride: the number of phases.
        step: distance, in data elements, of neighbouring taps of one phase.
        tap_step: distance of these taps in the window.
        blocks: how many positions of each phase are computed.
        before: how many zeros (if negative: cuts) the data needs in front.
        extent: size of the padded data.
        groups: the phases with taps.
        is_covered: whether all phases that are read have taps.
    """

    stride: int
    step: int
    tap_step: int
    blocks: int
    before: int
    extent: int
    groups: tuple[PhaseGroup, ...]
    is_covered: bool


def phases_of(size: int, window: int, stride: int, dilation: int, cut: int, output: int) -> Phases:
    """The phases of an axis of `size` data elements; `cut` is the padding in front.

    A single data element is not repeated, so its stride may be chosen such that each output
    position is a phase of its own, with one tap.
    """
    if size == 1:
        stride = max(stride, (window - 1) * dilation + 1, cut + output)
    divisor = gcd(dilation, stride)
    step, tap_step = dilation // divisor, stride // divisor
    read = stride if is_symbolic(output) else min(stride, output)
    first_taps = {(dilation * tap - cut) % stride: tap for tap in range(min(window, tap_step))}
    by_taps: dict[int, list[_Phase]] = {}
    for phase, tap in sorted(first_taps.items()):
        if phase < read:
            taps = -(-(window - tap) // tap_step)
            start = (phase + cut - dilation * tap) // stride - step * (taps - 1)
            by_taps.setdefault(taps, []).append(_Phase(phase, tap, start))
    phases = [(taps, phase) for taps, found in by_taps.items() for phase in found]
    before = -min((phase.start for _, phase in phases), default=0)
    last = max((phase.start + step * (taps - 1) for taps, phase in phases), default=0)
    groups = [
        PhaseGroup(replace(first, start=first.start + before), distances, count, taps)
        for taps, found in by_taps.items()
        for first, distances, count in _progressions(found)
    ]
    blocks = ceiling_quotient(output, stride)
    extent = blocks + last + before
    ordered = tuple(sorted(groups, key=lambda group: group.first.phase))
    return Phases(stride, step, tap_step, blocks, before, extent, ordered, len(phases) == read)


def _progressions(phases: list[_Phase]) -> Iterator[tuple[_Phase, tuple[int, int, int], int]]:
    """The phases in runs of equal distances: the first, the distances, and how many."""
    begin = 0
    while begin < len(phases):
        end = begin + 1
        distances = (1, 0, 0)
        if end < len(phases):
            distances = phases[end].minus(phases[begin])
            while end < len(phases) and phases[end].minus(phases[end - 1]) == distances:
                end += 1
        yield phases[begin], distances, end - begin
        begin = end
