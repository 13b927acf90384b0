"""Random small tensor programs, each of a family of operators followed by elementwise steps."""

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import (
    Tensor,
)
from relay_tune.tensor.tensor import Input
from tests.schedule.random_draw import Draw
from tests.schedule.random_families import FAMILIES
from tests.schedule.random_steps import STEPS


@dataclass(frozen=True)
class RandomProgram:
    """A program with its inputs.

    Attributes:
        family: what it was drawn from.
        outputs: its results.
        feeds: the array of each input.
        constants: the inputs that are known when code is made.
        dtypes: the element types of everything in it.
    """

    family: str
    outputs: tuple[Tensor, ...]
    feeds: dict[Input, np.ndarray[Any, Any]]
    constants: tuple[Input, ...]
    dtypes: frozenset[str]


def random_program(seed: int) -> RandomProgram:
    """The program of a seed."""
    draw = Draw(random.Random(seed))
    family = draw.rng.choice(sorted(FAMILIES))
    result = FAMILIES[family](draw)
    stored = [result]
    for _ in range(draw.rng.choice([0, 0, 1, 1, 2, 3, 4])):
        draw.exact = draw.exact and "16" not in result.dtype
        result = draw.rng.choice(STEPS)(draw, result)
        stored.append(result)
    outputs = [result]
    if draw.rng.random() < 0.15:
        outputs.append(draw.rng.choice(stored))
    dtypes = frozenset(tensor.dtype for tensor in tensors_in_order([*stored, *draw.feeds]))
    return RandomProgram(family, tuple(outputs), draw.feeds, tuple(draw.constants), dtypes)
