"""Costs of a choice of precisions: each layer by itself, and pairs of neighbours.

    cost = sum of a[layer, its precision] + sum of b[pair, its precision] over pairs that share one

Bayesian linear regression (C. Bishop, "Pattern Recognition and Machine Learning", 3.3): what is
believed before anything is measured is a mean and a deviation for each coefficient. So three builds
already say something of every layer, and the model knows what it does not know. Trees were
compared: with so few builds they predict held-out ones worse (docs/decisions/0099).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from relay_tune.quick_dataclass import dataclass
from relay_tune.tuning.precision.choice import PrecisionSpace
from search import Genome

Array: TypeAlias = NDArray[np.float64]

PAIR = 0.5
"""The deviation of what a pair changes, as a part of what its layers are believed to cost."""


@dataclass(frozen=True, slots=True)
class Belief:
    """Prior of a layer's coefficient.

    Attributes:
        mean: the best guess.
        deviation: how far it may be from that.
    """

    mean: float
    deviation: float


class PairModel:
    """Learns the costs of choices; that of the network as it was given is `origin`.

    Beliefs are those of each layer in each other precision.
    """

    def __init__(
        self,
        space: PrecisionSpace,
        pairs: Sequence[tuple[str, str]],
        beliefs: Mapping[tuple[str, str], Belief],
        origin: float,
    ) -> None:
        self._terms = _terms(space, pairs)
        self._origin = origin
        positions, options = list(space.options), list(map(list, space.options.values()))

        def genes(which: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
            """The places of one layer of each term, and the genes of its precision there."""
            found = [
                (positions.index(layers[which]), precision) for layers, precision in self._terms
            ]
            own = [(position, options[position].index(precision)) for position, precision in found]
            return np.array([p for p, _ in own]), np.array([g for _, g in own])

        (self._first, self._first_gene), (self._second, self._second_gene) = genes(0), genes(-1)
        known = [[beliefs[layer, each] for layer in layers] for layers, each in self._terms]
        means = [0.0 if len(own) > 1 else own[0].mean for own in known]
        deviations = list(map(_deviation, known))
        self._mean = np.array(means)
        self._covariance = np.diag(np.array(deviations) ** 2)

    def learn(self, genome: Genome, cost: float, noise: float) -> None:
        """Learn from a choice whose cost was measured with such a deviation."""
        row = self._features([genome])[0]
        spread = self._covariance @ row
        gain = spread / (row @ spread + noise * noise)
        self._mean = self._mean + gain * (cost - self._origin - row @ self._mean)
        self._covariance = self._covariance - np.outer(gain, spread)

    def predict(self, genomes: Sequence[Genome]) -> tuple[Array, Array]:
        """The costs of choices, and how far they may be from that (deviations)."""
        rows = self._features(genomes)
        variance = ((rows @ self._covariance) * rows).sum(axis=1)
        return self._origin + rows @ self._mean, np.sqrt(np.maximum(variance, 0.0))

    def alone(self, layer: str, precision: str) -> float:
        """Posterior of a layer's own coefficient."""
        return float(self._mean[self._terms.index(((layer,), precision))])

    def _features(self, genomes: Sequence[Genome]) -> Array:
        """1 for each coefficient that counts in a choice, shape (choices, coefficients)."""
        genes = np.array(genomes)
        counts = (genes[:, self._first] == self._first_gene) & (
            genes[:, self._second] == self._second_gene
        )
        return np.asarray(counts, np.float64)


def _terms(
    space: PrecisionSpace, pairs: Sequence[tuple[str, str]]
) -> list[tuple[tuple[str, ...], str]]:
    own = [((layer,), each) for layer, options in space.options.items() for each in options[1:]]
    shared = [
        ((one, other), each)
        for one, other in pairs
        if one in space.options and other in space.options
        for each in space.options[one][1:]
        if each in space.options[other]
    ]
    return [*own, *shared]


def _deviation(beliefs: Sequence[Belief]) -> float:
    """Of a layer's coefficient, or of what two of them change together."""
    if len(beliefs) == 1:
        return beliefs[0].deviation
    one, other = beliefs
    return PAIR * sqrt(one.deviation * other.deviation)
