"""The coefficients of the estimate fitted to a log, compared on kernels that were held out.

fit = fit_coefficients(observations, machine)
fit.best                        # those that choose better on the kernels that were held out
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.machine.coefficients import Coefficients
from relay_tune.machine.machine import Machine
from relay_tune.quick_dataclass import dataclass
from relay_tune.tuning.fit.costs import Costs
from relay_tune.tuning.fit.least_squares import Measured, fitted
from relay_tune.tuning.fit.observations import Observation
from relay_tune.tuning.fit.quality import Quality, quality

HELD_OUT = 3
"""One kernel of so many is held out of the fit that is judged."""

FEWEST_KERNELS = 6
"""With several schedules each, that a fit takes."""

FEWEST_MEASUREMENTS = 60
"""The same of measurements: about as many as there are coefficients."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Coefficients that were fitted.

    Attributes:
        before: the coefficients at the beginning.
        after: those fitted to all measurements.
        quality_before: of the first ones on the kernels that were held out.
        quality_after: of what was fitted to the other kernels, on the same ones.
        kernels: how many there are.
        measurements: of all of them.
    """

    before: Coefficients
    after: Coefficients
    quality_before: Quality
    quality_after: Quality
    kernels: int
    measurements: int

    @property
    def is_better(self) -> bool:
        """Whether kernels that were held out are chosen better after the fit."""
        return self.quality_after.is_better_than(self.quality_before)

    @property
    def best(self) -> Coefficients:
        """The coefficients to go on with."""
        return self.after if self.is_better else self.before


@dataclass(frozen=True, slots=True)
class TooLittle:
    """Too few observations for a fit.

    Attributes:
        kernels: how many there are with several schedules.
        measurements: of all of them.
    """

    kernels: int
    measurements: int

    def __str__(self) -> str:
        return (
            f"This is too little to fit coefficients to: it takes {FEWEST_MEASUREMENTS} "
            f"measurements of {FEWEST_KERNELS} kernels. Tune some models into the log."
        )


def fit_coefficients(observations: Sequence[Observation], machine: Machine) -> Fit | TooLittle:
    """The machine's coefficients fitted to observations.

    A third of the kernels judges what was fitted to the others; what is kept is fitted to all.
    Where there are too few, these are counted.
    """
    usable = _comparable(observations)
    kernels = sorted({each.kernel for each in usable})
    if len(kernels) < FEWEST_KERNELS or len(usable) < FEWEST_MEASUREMENTS:
        return TooLittle(len(kernels), len(usable))
    held_out = set(kernels[::HELD_OUT])
    judging = _Part([each for each in usable if each.kernel in held_out], machine)
    others = _Part([each for each in usable if each.kernel not in held_out], machine)
    before = machine.coefficients
    found = others.fitted(before)
    return Fit(
        before,
        _Part(usable, machine).fitted(found),
        judging.quality(before),
        judging.quality(found),
        len(kernels),
        len(usable),
    )


def _comparable(observations: Sequence[Observation]) -> list[Observation]:
    """The observations of kernels that have several."""
    counts: dict[tuple[str, int], int] = {}
    for each in observations:
        counts[each.kernel] = counts.get(each.kernel, 0) + 1
    return [each for each in observations if counts[each.kernel] > 1]


class _Part:
    """Some observations, with their costs."""

    def __init__(self, observations: Sequence[Observation], machine: Machine) -> None:
        self._costs = Costs(observations, machine)
        self._measured = Measured.of(
            [each.seconds for each in observations], [each.kernel for each in observations]
        )

    def fitted(self, start: Coefficients) -> Coefficients:
        return fitted(self._measured, self._costs, start)

    def quality(self, known: Coefficients) -> Quality:
        return quality(self._measured, self._costs.at(known))
