"""Options with which a model works that does not work as it comes: found by trying likely ones."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import field
from itertools import product

from relay_tune.cli.model_file import Constants, Shapes
from relay_tune.frontend.onnx_import.dynamic_inputs import DeclaredInputs
from relay_tune.quick_dataclass import dataclass

MOST_TRIALS = 8
"""Models that are imported in search of options that work."""


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Sizes and values for inputs by name, as --shape and --constant give them."""

    shapes: Shapes = field(default_factory=dict)
    constants: Constants = field(default_factory=dict)

    def words(self) -> Iterator[str]:
        """The options as words of a command line."""
        for name, shape in self.shapes.items():
            yield from ("--shape", f"{name}={','.join(map(str, shape))}")
        for name, value in self.constants.items():
            values = value if isinstance(value, list) else [value]
            yield from ("--constant", f"{name}={','.join(map(_word, values))}")


def working_options(
    inputs: DeclaredInputs, given: ModelOptions, works: Callable[[ModelOptions], bool]
) -> ModelOptions | None:
    """The first likely options, those given included, with which a model works; None if none do.

    All dynamic inputs get sizes; values are given only where sizes are not enough.
    """
    candidates = _candidates(inputs, given)
    tried = (options for _, options in zip(range(MOST_TRIALS), candidates, strict=False))
    return next((options for options in tried if works(options)), None)


def _candidates(inputs: DeclaredInputs, given: ModelOptions) -> Iterator[ModelOptions]:
    deciding = {n: v for n, v in inputs.deciding.items() if n not in given.constants}
    values = [dict(zip(deciding, chosen, strict=True)) for chosen in product(*deciding.values())]
    seen: list[ModelOptions] = [given]
    for guess in inputs.guesses:
        for constants in ({}, *values):
            known = {**constants, **given.constants}
            likely = inputs.likely_shapes(guess)
            shapes = {n: s for n, s in likely.items() if n not in known} | dict(given.shapes)
            options = ModelOptions(shapes, known)
            if options not in seen:
                seen.append(options)
                yield options


def command_line(model: str, options: ModelOptions) -> str:
    """The whole line that tunes and builds a model with options, ready to be pasted."""
    return shlex.join(["tune", "run", model, *options.words()])


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
