"""What a program does to run primitives: kernels, one after the other or on several threads."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from itertools import chain
from math import prod

from relay_tune.building.constant_block import ConstantBlock
from relay_tune.building.kernel_arguments import KernelArguments
from relay_tune.building.open_primitives import example_sizes
from relay_tune.building.primitive import Primitive
from relay_tune.building.primitives import PrimitiveCode
from relay_tune.building.region_layout import RegionLayout
from relay_tune.codegen.main_function import KernelCall, Place, call_of, main_text
from relay_tune.codegen.programs.kernel_step import (
    SMALLEST_SHARED_WORK,
    FoundSizes,
    KernelStep,
    OpenSizes,
    RegionStep,
    SizeCase,
    StepCall,
    StretchedStep,
)
from relay_tune.codegen.target import Target
from relay_tune.first_order.open_primitive import OpenPrimitive
from relay_tune.first_order.region import Region
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.expr import Function
from relay_tune.op.node_names import kernel_title, node_names
from relay_tune.op.primitive_key import primitive_title
from relay_tune.tensor.size import is_symbolic, nominal, size_value


class StepWriter:
    """Makes the steps of a program from compiled primitives.

    Attributes:
        jobs: the functions that run a step's kernels on several threads, as LLVM modules by name.
        regions: the functions that run the kernels of regions, in the same way.
    """

    def __init__(
        self,
        primitives: Mapping[Function, Primitive],
        codes: Mapping[str, PrimitiveCode],
        constants: ConstantBlock,
        target: Target,
        threads: int,
    ) -> None:
        self.jobs: dict[str, str] = {}
        self.regions: dict[str, str] = {}
        self._primitives = primitives
        self._codes = codes
        self._constants = constants
        self._target = target
        self._threads = threads

    def region(self, region: Region) -> RegionStep:
        """The step of a region; its constants enter the block."""
        layout = RegionLayout(region, self._primitives, self._codes, self._constants)
        calls = tuple(layout.calls(number) for number in range(len(region.runs)))
        name = f"region_{len(self.regions)}"
        self.regions[name] = main_text(name, list(chain(*calls)), self._target.triple)
        points = sum(kernel.points for code in layout.codes for kernel in code.scheduled.kernels)
        is_shared = self._threads > 1 and points >= SMALLEST_SHARED_WORK
        return RegionStep(name, layout.workspace_bytes, is_shared, calls)

    def step(self, function: Function) -> KernelStep:
        """The step of a primitive function; its constants enter the block."""
        title = kernel_title(primitive_title(function), node_names(function)[:1])
        return self._step(self._primitives[function], title)

    def _step(self, primitive: Primitive, title: str) -> KernelStep:
        code = self._codes[primitive.key.digest]
        scheduled = code.scheduled
        places = KernelArguments(primitive.program, scheduled, self._constants)
        job_calls = _job_calls(code, places)
        points = sum(kernel.points for kernel in scheduled.kernels)
        is_swept = any(call.swept is not None for call in job_calls)
        calls = tuple(
            StepCall(kernel.name, tuple(places.of(a) for a in kernel.arguments), kernel.sizes)
            for kernel in scheduled.kernels
        )
        return KernelStep(
            title=title,
            calls=calls,
            arguments=tuple(argument for call in calls for argument in call.arguments),
            workspace=tuple(prod(t.shape) * DTYPES[t.dtype].itemsize for t in scheduled.workspace),
            job=self._job(code, job_calls),
            job_sizes=_job_sizes(code),
            points=nominal(points) if is_swept else points,
            sizes=None if primitive.open is None else _open_sizes(primitive.open),
            found=None if primitive.sizes is None else self._found(primitive.sizes, title),
            cases=tuple(
                SizeCase(case.bounds, self._step(case.primitive, title)) for case in primitive.cases
            ),
            stretched=tuple(
                StretchedStep(
                    (each.place.input, each.place.axis), self._step(each.primitive, title)
                )
                for each in primitive.stretched
            ),
        )

    def _found(self, primitive: Primitive, title: str) -> FoundSizes:
        assert primitive.open is not None  # it has names for what it finds
        return FoundSizes(primitive.open.found, self._step(primitive, title))

    def _job(self, code: PrimitiveCode, calls: list[KernelCall]) -> str | None:
        if not _is_worth_a_job(code, calls, self._threads):
            return None
        name = f"job_{code.key.digest}"
        self.jobs[name] = main_text(name, calls, self._target.triple)
        return name


def _open_sizes(primitive: OpenPrimitive) -> OpenSizes:
    sizes = example_sizes(primitive)
    return OpenSizes(
        symbols={name: (at.input, at.axis, at.divisor) for name, at in primitive.symbols.items()},
        checks=tuple(((at.input, at.axis), size_value(dim, sizes)) for at, dim in primitive.checks),
        outputs=tuple(
            tuple(size_value(dim, sizes) for dim in shape) for shape in primitive.outputs
        ),
    )


def _job_sizes(code: PrimitiveCode) -> tuple[str, ...]:
    """The symbols that the kernels of a primitive are given, each once."""
    return tuple(sorted({name for kernel in code.scheduled.kernels for name in kernel.sizes}))


def _job_calls(code: PrimitiveCode, places: KernelArguments) -> list[KernelCall]:
    """The kernels of a primitive; their arguments stand in one table, the open sizes at its end."""
    calls: list[KernelCall] = []
    slots = itertools.count()
    first_size = sum(len(kernel.arguments) for kernel in code.scheduled.kernels)
    size_slots = {name: first_size + n for n, name in enumerate(_job_sizes(code))}
    for kernel in code.scheduled.kernels:
        table = {tensor: Place(next(slots)) for tensor in kernel.arguments}
        sizes = {place: places.constant_bytes(tensor) for tensor, place in table.items()}
        constants = {place: size for place, size in sizes.items() if size}
        open_slots = [size_slots[name] for name in kernel.sizes]
        calls.append(call_of(kernel, list(table.values()), constants, open_slots))
    return calls


def _is_worth_a_job(code: PrimitiveCode, calls: list[KernelCall], threads: int) -> bool:
    """Whether the kernels of a primitive should run in shares."""
    work = sum(kernel.points for kernel in code.scheduled.kernels)
    is_large = threads > 1 and (is_symbolic(work) or work >= SMALLEST_SHARED_WORK)
    return any(call.swept is not None or (is_large and call.grain > 0) for call in calls)
