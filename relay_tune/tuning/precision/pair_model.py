"""Costs of a choice of precisions: each layer by itself, and pairs of neighbours.

    cost = sum of a[layer, its precision] + sum of b[pair, its form] over pairs that share one

The form of a layer is how its data are stored, which several precisions share.

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

from relay_tune.quantization.precisions import stored_alike
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
        self._first, self._first_counts = _genes(space, self._terms, 0)
        self._second, self._second_counts = _genes(space, self._terms, -1)
        known = [
            [beliefs[layer, _first_of(space, layer, term.precisions)] for layer in term.layers]
            for term in self._terms
        ]
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
        return float(self._mean[self._terms.index(_Term((layer,), (precision,)))])

    def _features(self, genomes: Sequence[Genome]) -> Array:
        """1 for each coefficient that counts in a choice, shape (choices, coefficients)."""
        genes, terms = np.array(genomes), np.arange(len(self._terms))
        first = self._first_counts[terms, genes[:, self._first]]
        second = self._second_counts[terms, genes[:, self._second]]
        return np.asarray(first & second, np.float64)


@dataclass(frozen=True, slots=True)
class _Term:
    """A coefficient: it counts where its layer, or both, have one of these precisions."""

    layers: tuple[str, ...]
    precisions: tuple[str, ...]


def _terms(space: PrecisionSpace, pairs: Sequence[tuple[str, str]]) -> list[_Term]:
    options = space.options
    own = [_Term((layer,), (each,)) for layer, known in options.items() for each in known[1:]]
    forms: dict[str, tuple[str, ...]] = {}
    for each in space.offered:
        forms[stored_alike(each)] = (*forms.get(stored_alike(each), ()), each)
    shared = [
        _Term((one, other), alike)
        for one, other in pairs
        if one in options and other in options
        for alike in forms.values()
        if set(alike) & set(options[one]) and set(alike) & set(options[other])
    ]
    return [*own, *shared]


def _genes(
    space: PrecisionSpace, terms: Sequence[_Term], which: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The position of one layer of each term, and with which of its genes the term counts."""
    positions, most = list(space.options), max(map(len, space.options.values()))
    counts = np.zeros((len(terms), most), bool)
    for number, term in enumerate(terms):
        for gene, each in enumerate(space.options[term.layers[which]]):
            counts[number, gene] = each in term.precisions
    return np.array([positions.index(term.layers[which]) for term in terms]), counts


def _first_of(space: PrecisionSpace, layer: str, precisions: Sequence[str]) -> str:
    """The first of some precisions that a layer may have."""
    return next(each for each in precisions if each in space.options[layer])


def _deviation(beliefs: Sequence[Belief]) -> float:
    """Of a layer's coefficient, or of what two of them change together."""
    if len(beliefs) == 1:
        return beliefs[0].deviation
    one, other = beliefs
    return PAIR * sqrt(one.deviation * other.deviation)
