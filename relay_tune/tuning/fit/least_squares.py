"""Robust least squares of estimated and measured times, in logarithms, step by step.

The residual of a schedule is the logarithm of its estimated cycles over its measured seconds. Only
differences count: within a kernel those between its schedules, which decide what is chosen, and
with less weight those between kernels. Each step solves the linear problem at hand, with a penalty
for large changes (Levenberg, "A method for the solution of certain non-linear problems in least
squares", 1944; Marquardt, 1963), and weights by Huber's loss, to which a few times that went wrong
mean little. Coefficients that only decide where something begins have no slope: they are tried out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from relay_tune.machine.coefficients import FITTED, Coefficients, is_possible, nearest_possible
from relay_tune.quick_dataclass import dataclass
from relay_tune.tuning.fit.costs import Costs

STEPS = 6
"""At most; four were enough as a rule."""

SLOPE = 0.1
"""The step of differences, in logarithms: rounding of counts hides smaller ones."""

LONGEST = 0.5
"""The change of a coefficient's logarithm in one step, at most."""

HUBER, HUBER_BETWEEN = 0.15, 0.5
"""Residuals within a kernel, and those between kernels, that count with their square."""

BETWEEN = 0.05
"""The weight of differences between kernels, by those within one."""

STIFFNESS = 0.01
"""The penalty for leaving the coefficients that a fit begins with, by the weight of a residual."""

ENOUGH = 0.995
"""Steps end where one makes the loss less than this much smaller."""

TRIED = (0.5, 0.7, 1.4, 2.0)
"""Factors by which a coefficient without a slope is tried."""

WORTH_CHANGING = 0.999
"""A factor that is taken makes the loss so much smaller."""


@dataclass(frozen=True, eq=False, slots=True)
class Measured:
    """Observations to fit to.

    Attributes:
        seconds: the logarithms of the times.
        kernels: for each the number of its kernel, counted from 0.
        weights: of each: schedules near the best one of their kernel count most.
    """

    seconds: np.ndarray
    kernels: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, seconds: Sequence[float], kernels: Sequence[object]) -> Measured:
        """Times of kernels that are the same where they are equal."""
        numbers = {kernel: number for number, kernel in enumerate(dict.fromkeys(kernels))}
        own = np.array([numbers[kernel] for kernel in kernels])
        times = np.log(np.array(seconds))
        best = np.full(len(numbers), np.inf)
        np.minimum.at(best, own, times)
        return cls(times, own, np.exp(best[own] - times))

    def means(self, values: np.ndarray) -> np.ndarray:
        """The weighted mean of each kernel; of each column of a matrix."""
        totals = np.zeros((int(self.kernels.max()) + 1, *values.shape[1:]))
        np.add.at(totals, self.kernels, (self.weights * values.T).T)
        found: np.ndarray = (totals.T / self.kernel_weights).T
        return found

    @property
    def kernel_weights(self) -> np.ndarray:
        """The weights of all schedules of each kernel together."""
        found: np.ndarray = np.bincount(self.kernels, self.weights)
        return found

    def rows(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The differences within kernels, and those between them."""
        means = self.means(values)
        overall = np.average(means, axis=0, weights=self.kernel_weights)
        return values - means[self.kernels], means - overall

    def loss(self, costs: np.ndarray) -> float:
        """How far estimates are from the times: zero where they are proportional."""
        within, between = self.rows(costs - self.seconds)
        near = float(np.sum(self.weights * _huber(within, HUBER)))
        far = float(np.sum(self.kernel_weights * _huber(between, HUBER_BETWEEN)))
        return (near + BETWEEN * far) / float(np.sum(self.weights))


def _huber(residuals: np.ndarray, limit: float) -> np.ndarray:
    """Half of the square, beyond the limit the tangent there."""
    size = np.abs(residuals)
    found: np.ndarray = np.where(size <= limit, size**2 / 2, limit * (size - limit / 2))
    return found


def fitted(measured: Measured, costs: Costs, start: Coefficients) -> Coefficients:
    """The coefficients with which estimates are most nearly proportional to the times."""
    known, values = start, costs.at(start)
    loss = measured.loss(values)
    readers = costs.readers(start)
    positions: Mapping[str, Sequence[int]] = readers
    for _ in range(STEPS):
        slopes = _slopes(costs, known, values, positions)
        found = _step(measured, costs, known, start, values, slopes, loss)
        if found is None:
            break
        positions = {name: np.flatnonzero(own).tolist() for name, own in _columns(slopes)}
        known, values, after = found
        is_done, loss = after > ENOUGH * loss, after
        if is_done:
            break
    flat = {name: readers[name] for name in FITTED if readers[name] and not positions[name]}
    return _tried(measured, costs, known, start, values, loss, flat)


def _columns(slopes: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """The slopes by each coefficient."""
    yield from zip(FITTED, slopes.T, strict=True)


def _penalised(loss: float, known: Coefficients, start: Coefficients) -> float:
    return loss + STIFFNESS * float(np.mean((_logs(known) - _logs(start)) ** 2)) / 2


def _logs(known: Coefficients) -> np.ndarray:
    found: np.ndarray = np.log(np.array([getattr(known, name) for name in FITTED]))
    return found


def _slopes(
    costs: Costs, known: Coefficients, values: np.ndarray, indices: Mapping[str, Sequence[int]]
) -> np.ndarray:
    """The derivative of each cost by each coefficient, all of them logarithms.

    `indices` are those of the costs that depend on a coefficient.
    """
    slopes = np.zeros((len(values), len(FITTED)))
    for name, column in _columns(slopes):
        own = indices[name]
        if len(own):
            changed = known.changed({name: getattr(known, name) * float(np.exp(SLOPE))})
            column[own] = (costs.at(changed, own) - values[own]) / SLOPE
    return slopes


def _step(
    measured: Measured,
    costs: Costs,
    known: Coefficients,
    start: Coefficients,
    values: np.ndarray,
    slopes: np.ndarray,
    loss: float,
) -> tuple[Coefficients, np.ndarray, float] | None:
    """The next coefficients with their costs and loss; None if no step makes that smaller."""
    within, between = measured.rows(values - measured.seconds)
    slopes_within, slopes_between = measured.rows(slopes)
    near = measured.weights / np.maximum(np.abs(within) / HUBER, 1)
    far = BETWEEN * measured.kernel_weights / np.maximum(np.abs(between) / HUBER_BETWEEN, 1)
    matrix = slopes_within.T @ (near[:, None] * slopes_within)
    matrix += slopes_between.T @ (far[:, None] * slopes_between)
    right = slopes_within.T @ (near * within) + slopes_between.T @ (far * between)
    stiff = STIFFNESS * float(np.sum(measured.weights)) / len(FITTED)
    right += stiff * (_logs(known) - _logs(start))
    for damping in (1.0, 10.0, 100.0):
        change = -np.linalg.solve(matrix + damping * stiff * np.eye(len(FITTED)), right)
        moved = _moved(known, np.clip(change, -LONGEST, LONGEST))
        after = costs.at(moved)
        smaller = _penalised(measured.loss(after), moved, start)
        if smaller < loss:
            return moved, after, smaller
    return None


def _moved(known: Coefficients, change: np.ndarray) -> Coefficients:
    """The coefficients times the exponentials of a change, as far as they are possible."""
    return known.changed(
        {
            name: nearest_possible(name, float(getattr(known, name) * np.exp(own)))
            for name, own in zip(FITTED, change, strict=True)
        }
    )


def _tried(
    measured: Measured,
    costs: Costs,
    known: Coefficients,
    start: Coefficients,
    values: np.ndarray,
    loss: float,
    flat: Mapping[str, Sequence[int]],
) -> Coefficients:
    """The same with better factors for coefficients without a slope, which some costs read."""
    for name, positions in flat.items():
        for factor in TRIED:
            value = getattr(known, name) * factor
            if not is_possible(name, value):
                continue
            other, after = known.changed({name: value}), values.copy()
            after[positions] = costs.at(other, positions)
            smaller = _penalised(measured.loss(after), other, start)
            if smaller < WORTH_CHANGING * loss:
                known, values, loss = other, after, smaller
                break
    return known
