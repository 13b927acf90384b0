"""Putting a program together: memory, constants, and one call for each kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from relay_tune.building.constant_block import ConstantBlock
from relay_tune.building.memory_limit import check_total
from relay_tune.building.network import Network, Origin, Step, Storage
from relay_tune.building.primitive import Primitive
from relay_tune.building.primitives import PrimitiveCode
from relay_tune.codegen.compiled_program import MAIN_SYMBOL, CompiledProgram, ProgramStep
from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.index_checks import ProgramCheck, status_text
from relay_tune.codegen.main_function import Place, call_of, main_text
from relay_tune.codegen.processor_features import required_features
from relay_tune.codegen.target import Target
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.expr import Function
from relay_tune.op.lower import TensorProgram
from relay_tune.op.node_names import kernel_title, node_names, unique_titles
from relay_tune.op.primitive_key import primitive_title
from relay_tune.runtime.memory_plan import Lifetime, plan_memory
from relay_tune.schedule.algorithms import prepared_program
from relay_tune.tensor.expression import Tensor


def assemble(
    network: Network,
    primitives: Mapping[Function, Primitive],
    codes: Mapping[str, PrimitiveCode],
    objects: Sequence[bytes],
    target: Target,
    threads: int,
) -> CompiledProgram:
    """The compiled program of a network whose primitives are compiled."""
    layout = _Layout(network, [codes[primitives[s.function].key.digest] for s in network.steps])
    steps = _with_unique_titles(
        _program_step(number, step, primitives[step.function], layout)
        for number, step in enumerate(network.steps)
    )
    calls = [call for step in steps for call in step.calls]
    storages = [*network.inputs.values(), *network.outputs.values()]
    held = sum(storage.size for storage in storages) + layout.constants.size
    check_total(held + layout.workspace_bytes, (*storages, *_produced(network)))
    texts = [main_text(MAIN_SYMBOL, calls, target.triple)]
    checks = tuple(
        ProgramCheck(
            layout.place(check.extent),
            tuple(s if isinstance(s, int) else layout.place(s) for s in check.sizes),
            check.message,
        )
        for check in network.checks
    )
    if checks:
        texts.append(status_text(checks, target.triple))
    return CompiledProgram(
        target=target,
        features=required_features(target, (code.text for code in codes.values())),
        threads=threads,
        inputs={name: storage.type for name, storage in network.inputs.items()},
        outputs=dict(network.output_types),
        objects=(*objects, *(compile_text(text, target) for text in texts)),
        constants=layout.constants,
        workspace_bytes=layout.workspace_bytes,
        steps=tuple(steps),
        checks=checks,
    )


def _produced(network: Network) -> Iterator[Storage]:
    for step in network.steps:
        yield from step.outputs


class _Layout:
    """Where the storages of a network and the workspaces of its steps lie."""

    def __init__(self, network: Network, codes: Sequence[PrimitiveCode]) -> None:
        self.codes = codes
        self._network = network
        self.constants = ConstantBlock()
        self._slots = {s: n for n, s in enumerate(network.inputs.values())}
        first_output = len(network.inputs)
        self._slots |= {s: first_output + n for n, s in enumerate(network.outputs.values())}
        self._workspace_slot = first_output + len(network.outputs)
        self._offsets: dict[object, int] = {}
        self.workspace_bytes = self._plan(network.steps)

    def place(self, storage: Storage) -> Place:
        """Where a storage lies."""
        located = self._network.located(storage)
        whole = located.whole
        if whole in self._slots:
            return Place(self._slots[whole], located.offset)
        if whole.data is not None:
            return self.constant(self.constants.add(whole.data) + located.offset)
        return Place(self._workspace_slot, self._offsets[whole] + located.offset)

    def workspace(self, step: int, tensor: Tensor) -> Place:
        """Where a tensor of a step's own workspace lies."""
        return Place(self._workspace_slot, self._offsets[step, tensor])

    def constant(self, offset: int) -> Place:
        """A place in the block of constants."""
        return Place(self._workspace_slot + 1, offset)

    def _plan(self, steps: Sequence[Step]) -> int:
        """Give every intermediate tensor an offset; the bytes of all."""
        lifetimes: dict[object, Lifetime] = {}
        for number, step in enumerate(steps):
            for storage in self._intermediate((*step.inputs, *step.outputs)):
                known = lifetimes.get(storage)
                first = number if known is None else known.first
                lifetimes[storage] = Lifetime(storage.size, first, number)
            for tensor in self.codes[number].scheduled.workspace:
                lifetimes[number, tensor] = Lifetime(_bytes(tensor), number, number)
        read = (storage for check in self._network.checks for storage in check.read)
        for storage in self._intermediate(read):
            lifetimes[storage] = replace(lifetimes[storage], last=len(steps) - 1)
        plan = plan_memory(list(lifetimes.values()))
        self._offsets = dict(zip(lifetimes, plan.offsets, strict=True))
        return plan.total

    def _intermediate(self, storages: Iterable[Storage]) -> list[Storage]:
        """The storages of their own memory that are neither given nor results."""
        wholes = dict.fromkeys(self._network.located(storage).whole for storage in storages)
        return [s for s in wholes if s.origin is Origin.COMPUTED and s not in self._slots]


def _bytes(tensor: Tensor) -> int:
    size = DTYPES[tensor.dtype].itemsize
    for extent in tensor.shape:
        size *= extent
    return size


def _program_step(number: int, step: Step, primitive: Primitive, layout: _Layout) -> ProgramStep:
    code = layout.codes[number]
    places = _StepPlaces(number, step, primitive.program, layout)
    calls = tuple(
        call_of(
            kernel,
            [places.of(argument) for argument in kernel.arguments],
            {places.of(a): size for a in kernel.arguments if (size := places.constant_bytes(a))},
        )
        for kernel in code.scheduled.kernels
    )
    nodes = node_names(step.function)
    title = kernel_title(primitive_title(step.function), nodes[:1])
    return ProgramStep(title, code.key.digest, calls, code.work, nodes)


def _with_unique_titles(steps: Iterable[ProgramStep]) -> list[ProgramStep]:
    given = list(steps)
    titles = unique_titles(step.title for step in given)
    return [replace(step, title=title) for step, title in zip(given, titles, strict=True)]


class _StepPlaces:
    """Where the kernel arguments of a step lie.

    The kernels name the tensors of the first primitive of their key; a step has its own storages
    and constants, which correspond by position.
    """

    def __init__(self, number: int, step: Step, program: TensorProgram, layout: _Layout) -> None:
        self._number = number
        self._layout = layout
        scheduled = layout.codes[number].scheduled
        written = scheduled.program
        self._storages: dict[Tensor, Storage] = {}
        self._storages.update(zip(written.inputs, step.inputs, strict=True))
        self._storages.update(zip(written.outputs, step.outputs, strict=True))
        self._constants: dict[Tensor, np.ndarray] = {}
        own = prepared_program(program, scheduled.algorithm).constants
        for (tensor, _), (_, data) in zip(written.constants, own, strict=True):
            self._constants[tensor] = data
        self._packed = {packed.tensor: packed for packed in scheduled.packed}

    def of(self, tensor: Tensor) -> Place:
        """The place of a kernel's argument."""
        layout = self._layout
        if tensor in self._storages:
            return layout.place(self._storages[tensor])
        if tensor in self._constants:
            return layout.constant(layout.constants.add(self._constants[tensor]))
        packed = self._packed.get(tensor)
        if packed is None:
            return layout.workspace(self._number, tensor)
        data = self._constants[packed.source]
        return layout.constant(layout.constants.add(data, packed.recipe))

    def constant_bytes(self, tensor: Tensor) -> int:
        """The bytes of an argument that is a constant, as the kernel reads it; else 0."""
        packed = self._packed.get(tensor)
        if packed is not None:
            return packed.recipe.size * self._constants[packed.source].itemsize
        return self._constants[tensor].nbytes if tensor in self._constants else 0
