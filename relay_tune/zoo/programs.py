"""Networks that are programs: written in Relay text for any size, with loops, lists and trees.

The parameters of `main` that are no inputs are weights: they are drawn at random, in order, and
become constants. The names of sizes in the text's types get numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from importlib.resources import files

import numpy as np

from relay_tune.errors import InputError
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.interpreter.values import Value
from relay_tune.std import prelude
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.fix_input_shapes import FixInputShapes
from relay_tune.typing.type_terms import substitute_symbols
from relay_tune.zoo.weights import Array, Weights

Sizes = Mapping[str, int]
Inputs = dict[str, Value]


@dataclass(frozen=True, slots=True)
class ZooProgram:
    """A text beside this file.

    Attributes:
        name: the file is `name`.relay.
        uses: what it takes from the prelude.
        full, small: the numbers for the names of sizes.
        inputs: (random, sizes) -> values for the parameters that stay parameters.
        states: parameters that start at zero.
        numbers: parameters that are fixed integers, by name.
    """

    name: str
    uses: tuple[str, ...]
    full: Sizes
    small: Sizes
    inputs: Callable[[np.random.Generator, Sizes], Inputs]
    states: tuple[str, ...] = ()
    numbers: Callable[[Sizes], Sizes] = field(default=lambda sizes: {})


def program_module(program: ZooProgram, seed: int, small: bool, batch: int) -> Module:
    """The program with random weights; InputError for a batch that it cannot take."""
    module = _module(program)
    shapes = _known_shapes(module, _sizes(program, small, batch))
    weights = program_weights(program, seed, small, batch)
    return BindParameters(weights)(FixInputShapes(shapes)(module))


def program_weights(program: ZooProgram, seed: int, small: bool, batch: int) -> dict[str, Array]:
    """The values of the parameters that become constants, by name."""
    sizes = _sizes(program, small, batch)
    inputs = program.inputs(np.random.default_rng(0), sizes)
    shapes = _known_shapes(_module(program), sizes)
    weights = {name: shape for name, shape in shapes.items() if name not in inputs}
    return _weights(program, weights, sizes, Weights(seed))


def program_inputs(program: ZooProgram, seed: int, small: bool) -> Inputs:
    """Seeded random inputs of the program, by name: one sample."""
    return program.inputs(np.random.default_rng(seed), _sizes(program, small, 1))


def _module(program: ZooProgram) -> Module:
    text = files("relay_tune.zoo").joinpath(f"{program.name}.relay").read_text(encoding="utf-8")
    return parse(text, f"zoo/{program.name}.relay", prelude(*program.uses))


def _sizes(program: ZooProgram, small: bool, batch: int) -> Sizes:
    sizes = program.small if small else program.full
    if "b" in sizes:
        return {**sizes, "b": batch}
    if batch != 1:
        raise InputError(
            f"The program {program.name} takes one sample, not a batch of {batch}.",
            remedy="Omit the batch size.",
        )
    return sizes


def _known_shapes(module: Module, sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """The shapes of the tensors that `main` takes, where all sizes are known."""
    shapes: dict[str, tuple[int, ...]] = {}
    for var in module.main.params:
        type_ = var.annotation and substitute_symbols(var.annotation, sizes)
        if isinstance(type_, TensorType):
            shape = tuple(dim for dim in type_.shape if isinstance(dim, int))
            if len(shape) == len(type_.shape):
                shapes[var.name] = shape
    return shapes


def _weights(
    program: ZooProgram, shapes: Mapping[str, tuple[int, ...]], sizes: Sizes, source: Weights
) -> dict[str, Array]:
    """A value for each weight; uniform ones are of the size that keeps gates in their middle."""
    bound = 1 / float(np.sqrt(sizes["h"]))
    numbers = program.numbers(sizes)
    values: dict[str, Array] = {}
    for name, shape in shapes.items():
        if name in numbers:
            values[name] = np.asarray(numbers[name], np.int64)
        elif name in program.states:
            values[name] = np.zeros(shape, np.float32)
        else:
            values[name] = source.uniform(shape, -bound, bound)
    return values
