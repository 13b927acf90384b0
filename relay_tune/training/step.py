"""`step`: a training step in native code, with its parameters.

step = rt.training.step(network, loss="cross_entropy", optimiser=rt.training.Adam(1e-3))
loss = step(images, labels)
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from relay_tune.arguments import whole_number
from relay_tune.building.recomputation.limit import MemoryLimit
from relay_tune.building.work import rough_cycles
from relay_tune.errors import InputError
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType, Type
from relay_tune.op.elements import wide_dtype
from relay_tune.runtime.interpreter.inputs import arguments_in_order
from relay_tune.runtime.model import Model
from relay_tune.runtime.target_machine import machine_of
from relay_tune.training.checkpoint import read_checkpoint, write_checkpoint
from relay_tune.training.losses import Loss
from relay_tune.training.many_steps import ManySteps, many_steps
from relay_tune.training.optimisers import SGD, Optimiser
from relay_tune.training.parameters import parameters_of, scalars_of, statistics_of, with_values
from relay_tune.training.program import StepProgram, step_program
from relay_tune.training.random_numbers import without_dropout
from relay_tune.training.settings import POSITIVE, require_number
from relay_tune.training.slices_within_limit import slices_within_limit
from relay_tune.training.statistics import by_batch, for_inference
from relay_tune.training.summed_slices import ENDS
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.tuning.tuned_build import build
from relay_tune.typing.infer import infer_types
from relay_tune.typing.type_text import type_text

Array = np.ndarray[Any, Any]

WORTH = 0.97
"""The part of another one's estimate that a step has at most to be taken for faster."""


class TrainingStep:
    """A compiled training step; calling it trains on one batch and gives the loss before that.

    Attributes:
        program: the step as a program, which `rt.tune` and `tune run` tune as any other.
        model: the step in native code.
        parameters: the trained arrays by name, as they are now.
        states: what the optimiser keeps of them, by name.
        statistics: the moving statistics of normalisations by the batch, by name.
        number: how many steps were made.
    """

    def __init__(
        self,
        network: Module,
        program: StepProgram,
        build_model: Callable[..., Model],
        first: Mapping[str, Array],
        memory_limit: int | None = None,
    ) -> None:
        self._network = network
        self.program = program
        self._build = build_model
        self._many: dict[bool, tuple[ManySteps, Model]] = {}
        self._limit = memory_limit
        self.model = build_model(program.module, memory_limit=self._limit_of_step())
        self.parameters = {name: first[name] for name in program.parameters}
        self.states = {name: _zeros(program.module, name) for name in program.states}
        self.statistics = {name: first[name] for name in program.statistics}
        self.number = 0
        self._turn = threading.Lock()  # steps of several threads follow each other

    def __call__(self, *batch: object, **named: object) -> float:
        """Train on one batch: the inputs of the network and the target, in order or by name.

        Raises InputError where the batch does not fit; nothing changes then.
        """
        feeds = self._batch(batch, named)
        with self._turn:
            kept = self._arrays()
            donate = tuple(name for name in kept if name != self.program.number)
            loss, *new = self.model.run(feeds | kept, donate=donate)
            self._take(dict(zip(kept, new, strict=True)))
        return float(loss)

    def run_many(self, *batches: object, order: object = None, **named: object) -> Array:
        """Train on many batches in one native call, and give their losses.

        Args:
            batches: the inputs of a step, each with one more axis in front, that of the steps.
                With an order, samples: arrays whose first axis may have any size.
            order: which samples make up each batch, int64 [steps, batch]; see
                `rt.training.shuffled`.
            named: batches by name.

        The bits are those of single steps. Raises InputError where the arrays do not fit; nothing
        changes then.
        """
        feeds = self._batch(batches, named)
        with self._turn:
            many, model = self._many_steps(order is not None)
            if many.order is not None:
                feeds[many.order] = np.asarray(order)
            kept = self._arrays()
            losses, *new = model.run(feeds | kept)
            self._take(dict(zip(kept, new, strict=True)))
        return np.asarray(losses)

    @property
    def memory_bytes(self) -> int:
        """The bytes between its kernels with what slices add up: `memory_limit` limits them."""
        return self.model.workspace_bytes + self._held()

    def _held(self) -> int:
        """The bytes that slices hold: sums of gradients, and what is computed before the first."""
        return self.model.compiled().held if self.program.slices > 1 else 0

    def _limit_of_step(self) -> MemoryLimit | None:
        if self._limit is None:
            return None
        return MemoryLimit(self._limit, with_held=self.program.slices > 1)

    def _limit_of_many(self) -> int | None:
        """That of the kernels of each step: the loop over steps holds parameters, too."""
        return None if self._limit is None else self._limit - self._held()

    def many_steps(self, ordered: bool = False) -> Module:
        """The program of `run_many`, with or without an order; `rt.tune` tunes it as any other."""
        return many_steps(self.program, ordered).module

    def _many_steps(self, ordered: bool) -> tuple[ManySteps, Model]:
        if ordered not in self._many:
            many = many_steps(self.program, ordered)
            self._many[ordered] = many, self._build(many.module, memory_limit=self._limit_of_many())
        return self._many[ordered]

    def _take(self, arrays: Mapping[str, Array]) -> None:
        """Have these values from now on."""
        self.number = int(arrays[self.program.number])
        self.parameters = {name: arrays[name] for name in self.parameters}
        self.states = {name: arrays[name] for name in self.states}
        self.statistics = {name: arrays[name] for name in self.statistics}

    def seems_faster(self, other: TrainingStep) -> bool:
        """Whether it takes less time than another one, by what its kernels have to do."""
        return self._cycles() < WORTH * other._cycles()

    def _cycles(self) -> float:
        """About what the kernels of all slices take.

        Two are one region; of more, the first and the last differ from those of the loop.
        """
        compiled = self.model.compiled()
        machine = machine_of(compiled.target)
        regions = ([each.work for each in region.steps] for region in compiled.regions)
        taken = [
            sum(rough_cycles(work, machine) for work in each if work is not None)
            for each in regions
        ]
        if self.program.slices <= ENDS:
            return sum(taken)
        of_slices = [cycles for cycles in taken if 2 * cycles >= max(taken)]
        return self.program.slices * sum(of_slices) / max(len(of_slices), 1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write parameters, states and the number of steps to one file (safetensors)."""
        with self._turn:
            write_checkpoint(path, self._arrays())

    def load(self, path: str | os.PathLike[str]) -> None:
        """Go on from what `save` wrote; InputError where the file is not of such a step."""
        with self._turn:
            self._take(read_checkpoint(path, self._arrays()))

    def trained(self) -> Module:
        """The network for inference: parameters and statistics as they are now; no dropout."""
        values = {**self.parameters, **self.statistics}
        constants = _constants_of(self._network)
        known = {name: value for name, value in values.items() if name in constants}
        inputs = {name: value for name, value in values.items() if name not in known}
        network = for_inference(with_values(self._network, known), self.statistics)
        bound = BindParameters(inputs)(network) if inputs else network
        return infer_types(without_dropout(bound))

    def _arrays(self) -> dict[str, Array]:
        number = np.asarray(self.number, dtype=np.int64)
        return {**self._kept(), self.program.number: number}

    def _kept(self) -> dict[str, Array]:
        """What each step changes."""
        return {**self.parameters, **self.states, **self.statistics}

    def _batch(self, batch: Sequence[object], named: Mapping[str, object]) -> dict[str, object]:
        """The arrays by name; InputError unless each is there once."""
        names = self.program.batch
        return dict(zip(names, arguments_in_order(names, batch, named), strict=True))


def step(
    network: Module,
    loss: str | Loss | None = "cross_entropy",
    optimiser: Optimiser | None = None,
    *,
    parameters: Iterable[str] | Mapping[str, Array] | None = None,
    target: Type | None = None,
    clip: float | None = None,
    batch_statistics: bool = False,
    seed: int | None = None,
    slices: int | None = None,
    log: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    accuracy: str = "fast",
    memory_limit: int | None = None,
) -> TrainingStep:
    """A training step of a network in native code.

    Args:
        network: a program; its inputs are a batch.
        loss: the name of one of `rt.training.LOSSES`, or loss(output, target) of two expressions,
            which gives a scalar; None: what the network returns, a scalar, without a target.
        optimiser: how gradients change parameters; by default SGD.
        parameters: names of the constants that are trained, or of inputs with their first values;
            None: all constants.
        target: the type of the target; by default as the loss wants it.
        clip: the largest common norm of all gradients; None: any.
        batch_statistics: whether batch normalisation is by the statistics of the batch also where
            the network, exported for inference, has it by moving ones.
        seed: of random numbers, which differ from step to step; with one, each nn.dropout of the
            network drops elements.
        slices: of the batch, one after the other, whose gradients are added up; a divisor of the
            number of samples. None: as few as the memory limit asks for, or more where that
            seems to be faster; without one the batch.
        log: a tuning log with schedules; tune `step.program.module` to fill it.
        threads: of each step; by default all processors of this process.
        accuracy: "exact", "fast" or "relaxed"; see `rt.build`.
        memory_limit: the most bytes for activations and all else between kernels; see `rt.build`.
            Gradients that are added up over slices are in it.

    Raises InputError where these do not fit, RelayError where there is no derivative.
    """
    chosen = SGD() if optimiser is None else optimiser
    _check_options(chosen, clip, seed)
    trained = by_batch(network) if batch_statistics else network
    build_model = partial(build, log=log, threads=threads, accuracy=accuracy)

    def program(count: int) -> StepProgram:
        return step_program(trained, loss, chosen, parameters, target, clip, seed, count)

    def made(each: StepProgram) -> TrainingStep:
        values = _first_values(trained, each, parameters)
        return TrainingStep(trained, each, build_model, values, memory_limit)

    if memory_limit is None or slices is not None:
        return made(program(1 if slices is None else whole_number(slices, "slices", 1)))
    return _within_limit(program, made)


def _within_limit(
    program: Callable[[int], StepProgram], made: Callable[[StepProgram], TrainingStep]
) -> TrainingStep:
    """The step with as few slices as keep to its memory limit, or more that seem to be faster."""
    whole = program(1)
    batch = [param for param in whole.module.main.params if param.name in whole.batch]
    return slices_within_limit(
        lambda count: made(whole if count == 1 else program(count)),
        batch,
        lambda found: found.model.compiled().is_strained,
        TrainingStep.seems_faster,
        least_held=_least_held(whole),
    )


def _least_held(program: StepProgram) -> int:
    """The bytes that slices of a batch hold at least: a sum for each parameter."""
    types = [_type_of_input(program.module, name) for name in program.parameters]
    sizes = [prod(int(str(dim)) for dim in each.shape) for each in types]
    wide = [DTYPES[wide_dtype(each.dtype)].itemsize for each in types]
    return sum(size * item for size, item in zip(sizes, wide, strict=True))


def _check_options(optimiser: object, clip: object, seed: object) -> None:
    """InputError unless these are an optimiser, a positive number and a whole one, or None."""
    is_one = hasattr(optimiser, "updated") and hasattr(optimiser, "states")
    if not is_one or isinstance(optimiser, type):
        raise InputError(
            f"The optimiser is {optimiser!r}, which updates no parameters.",
            remedy="Give an optimiser such as rt.training.Adam(1e-3).",
        )
    if clip is not None:
        require_number(clip, "clip", POSITIVE)
    if seed is not None:
        whole_number(seed, "seed", 0)


def _first_values(
    network: Module, program: StepProgram, parameters: Iterable[str] | Mapping[str, Array] | None
) -> dict[str, Array]:
    constants = _constants_of(network)
    given = parameters if isinstance(parameters, Mapping) else {}
    values: dict[str, Array] = {}
    for name in (*program.parameters, *program.statistics):
        value = given[name] if name in given else constants.get(name)
        if value is None:
            raise InputError(
                f"The input {name} has no first value.",
                remedy=f"Give it: parameters={{'{name}': array}}.",
            )
        values[name] = _fitting(name, np.array(value), program.module)
    return values


def _constants_of(network: Module) -> dict[str, Array]:
    """All constants that a step may change, by name."""
    return parameters_of(network) | scalars_of(network) | statistics_of(network)


def _fitting(name: str, value: Array, module: Module) -> Array:
    """The first value of a parameter; InputError unless it has the type of its input."""
    wanted = _type_of_input(module, name)
    given = TensorType(value.shape, value.dtype.name)
    if wanted != given:
        raise InputError(
            f"The first value of {name} is {type_text(given)}, but the input is "
            f"{type_text(wanted)}.",
            remedy="Give an array of that shape and element type.",
        )
    return value


def _zeros(module: Module, name: str) -> Array:
    """Zeros of the type of an input."""
    type_ = _type_of_input(module, name)
    return np.zeros([int(str(size)) for size in type_.shape], dtype=type_.dtype)


def _type_of_input(module: Module, name: str) -> TensorType:
    (param,) = (each for each in module.main.params if each.name == name)
    type_ = param.annotation or param.type
    assert isinstance(type_, TensorType)
    return type_
