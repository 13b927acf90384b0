"""Lanes that share elements in groups: x[begin + factor * (lane // divisor)].

    x0 x1 x2 x3 x4 x5 ..    ->    x0 x0 x0 x0 x4 x4 x4 x4 ..      factor 4, divisor 4

One load and one shuffle; neighbouring begins share the load.
"""

from __future__ import annotations

from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class RepeatedLanes:
    """The shape of such an access: lanes, how many of them count, and how they share elements."""

    lanes: int
    active: int
    factor: int
    divisor: int

    @property
    def fits(self) -> bool:
        """Whether all elements lie in a vector that begins at any position of the first group."""
        return self.factor <= self.divisor and self.lanes % self.divisor == 0

    @property
    def reach(self) -> int:
        """The elements from the first to the last that is read."""
        return (self.active - 1) // self.divisor * self.factor + 1

    def order(self, place: int) -> list[int]:
        """For each lane the element of a vector that it is; the first is at `place`."""
        return [
            place + self.factor * (lane // self.divisor) if lane < self.active else 0
            for lane in range(self.lanes)
        ]
