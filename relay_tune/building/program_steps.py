"""What a program does to run regions: jobs of kernels, on one thread or several."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from relay_tune.building.constant_block import ConstantBlock
from relay_tune.building.kept_kernels import PrimitiveCode
from relay_tune.building.primitive import Primitive, Stretched
from relay_tune.building.region_layout import RegionLayout
from relay_tune.codegen.kernel_calls import Calls, KernelChoice, bytes_read, single_calls
from relay_tune.codegen.main_function import Job, jobs_text
from relay_tune.codegen.program_step import ProgramStep
from relay_tune.codegen.programs.compiled import CompiledRegion
from relay_tune.codegen.programs.region_step import FoundSizes, RegionStep, StretchedStep
from relay_tune.codegen.target import Target
from relay_tune.ir.dim_arithmetic import substitute
from relay_tune.ir.expr import Function
from relay_tune.ir.types import TensorType
from relay_tune.op.node_names import kernel_title, node_names, unique_titles
from relay_tune.op.primitive_key import primitive_key, primitive_title
from relay_tune.program.lone_regions import lone_region
from relay_tune.program.region import Buffer, KernelRun, Origin, Region
from relay_tune.program.region_sizes import kernel_words, no_size


class StepWriter:
    """Makes the steps of a program from compiled primitives.

    Attributes:
        regions: the jobs that run the kernels of regions, with titles for people, which may be
            those of several.
    """

    def __init__(
        self,
        primitives: Mapping[Function, Primitive],
        codes: Mapping[str, PrimitiveCode],
        constants: ConstantBlock,
        target: Target,
        threads: int,
        limit: int | None = None,
    ) -> None:
        """`limit` is that of the bytes between kernels; see `RegionLayout`."""
        self.regions: list[CompiledRegion] = []
        self._primitives = primitives
        self._codes = codes
        self._constants = constants
        self._target = target
        self._threads = threads
        self._limit = limit

    @property
    def text(self) -> str:
        """The LLVM module of all jobs."""
        jobs = {region.job: Job(region.calls, region.elsewhere) for region in self.regions}
        return jobs_text(jobs, self._target.triple)

    @property
    def titled(self) -> tuple[CompiledRegion, ...]:
        """The jobs with a title for each step, that of no other."""
        given = [step.title for region in self.regions for step in region.steps]
        titles = iter(unique_titles(given))
        return tuple(
            replace(region, steps=tuple(replace(s, title=next(titles)) for s in region.steps))
            for region in self.regions
        )

    def note_once_a_run(self, symbols: Collection[str]) -> None:
        """Each run of the program passes these jobs once, so that between two are all others."""
        read = {
            region.job: bytes_read(region.calls) for region in self.regions if region.job in symbols
        }
        whole = sum(read.values())
        self.regions = [
            replace(region, elsewhere=whole - read[region.job]) if region.job in read else region
            for region in self.regions
        ]

    def step(self, region: Region) -> RegionStep:
        """The step of a region; its constants enter the block."""
        return self._step(region, self._primitives)

    def _step(self, region: Region, primitives: Mapping[Function, Primitive]) -> RegionStep:
        layout = RegionLayout(region, primitives, self._codes, self._constants, self._limit)
        made = [layout.calls(number) for number in range(len(region.runs))]
        calls = tuple(chain.from_iterable(made))
        steps = chain.from_iterable(
            _titled(run, primitives[run.function], codes, each)
            for run, codes, each in zip(region.runs, layout.codes, made, strict=True)
        )
        job = f"region_{len(self.regions)}"
        workspace = layout.workspace_bytes
        self.regions.append(CompiledRegion(job, calls, tuple(steps), workspace=workspace))
        is_shared = self._threads > 1 and any(call.grain for call in single_calls(calls))
        step = RegionStep(
            job,
            calls,
            layout.workspace_bytes,
            layout.points if is_shared else 0,
            region.shapes,
            layout.sizes,
        )
        return self._with_alternatives(step, region, primitives[region.runs[0].function])

    def _with_alternatives(
        self, step: RegionStep, region: Region, primitive: Primitive
    ) -> RegionStep:
        """The step with what finds its sizes, and what runs where some are 1."""
        if primitive.sizes is None and not primitive.stretched:
            return step
        title = kernel_words(region.runs[0].function)
        return replace(
            step,
            found=self._found(region, primitive, title),
            stretched=tuple(
                StretchedStep(
                    each.place,
                    self._step(
                        lone_region(each.function, each.primitive.open, title),
                        {each.function: each.primitive},
                    ),
                )
                for each in _stretched(region.runs[0], primitive)
            ),
        )

    def _found(self, region: Region, primitive: Primitive, title: str) -> FoundSizes | None:
        """The region that finds the sizes of a primitive's results from the same inputs."""
        if primitive.sizes is None or primitive.open is None:
            return None
        (run,) = region.runs
        names = primitive.open.found
        result = Buffer(TensorType((len(names),), "int64"), Origin.COMPUTED)
        own = replace(
            region,
            outputs=(result,),
            runs=(KernelRun(run.function, run.inputs, (result,), run.sizes),),
            shapes=((len(names),),),
            checks=(),
        )
        return FoundSizes(names, self._step(own, {run.function: primitive.sizes}), no_size(title))


def _stretched(run: KernelRun, primitive: Primitive) -> tuple[Stretched, ...]:
    """What runs instead where sizes do not fit: nothing where it is known that they do."""
    named = primitive.open
    fits = named is None or all(
        run.inputs[at.input].type.shape[at.axis] == substitute(wanted, run.sizes)
        for at, wanted in named.checks
    )
    return () if fits else primitive.stretched


def _titled(
    run: KernelRun, primitive: Primitive, codes: Sequence[PrimitiveCode], calls: Calls
) -> Iterator[ProgramStep]:
    """The steps of a run: one for each of its cases, and that for all other sizes."""
    nodes = node_names(run.function)
    made = [each.alternatives for each in calls if isinstance(each, KernelChoice)]
    parts = (*(case.primitive for case in primitive.cases), primitive)
    singles = made[0] if made else (tuple(single_calls(calls)),)
    for part, code, own in zip(parts, codes, singles, strict=True):
        is_general = part.open is not None and part.key == primitive_key(part.function)
        is_own = is_general or part.open is None and part is primitive
        title = primitive_title(run.function) if is_own else part.key.title
        work = code.work if part.open is None else None
        yield ProgramStep(kernel_title(title, nodes[:1]), code.key.digest, own, work, nodes)
