"""`build`: from a module to a model that runs natively."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from relay_tune.arguments import function_argument
from relay_tune.building.chosen_passes import STANDARD_PASSES, ChosenPasses
from relay_tune.building.default_schedules import DefaultSchedules
from relay_tune.building.fixed_sizes import with_fixed_sizes
from relay_tune.building.input_sizes import InputSizes, KnownSizes, input_sizes
from relay_tune.building.kept_kernels import ChooseSchedule
from relay_tune.building.named_sizes import with_named_sizes
from relay_tune.building.planned_ahead import start_early
from relay_tune.building.program_form import fused_module, is_network
from relay_tune.building.programs import compile_program
from relay_tune.building.recomputation.limit import MemoryLimit, memory_limit_of
from relay_tune.building.recomputation.segmented_program import most_segments, within_limit
from relay_tune.building.size_cases import USUAL_SIZES
from relay_tune.building.size_points import SizePoint, size_points
from relay_tune.building.workers import BuildWorkers, Compiling
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.target import Target, target_argument
from relay_tune.errors import NoNativeCodeError
from relay_tune.ir.module import Module
from relay_tune.ir.output_names import named_outputs
from relay_tune.logger import LOGGER
from relay_tune.program.kinds import function_type
from relay_tune.quick_dataclass import dataclass
from relay_tune.remembered import results_for_one_build
from relay_tune.runtime.model import Model, open_inputs
from relay_tune.runtime.threads import thread_count
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.fix_input_shapes import FixInputShapes
from relay_tune.typing.infer import infer_types

Report = Callable[[str], None]
"""Called with one line of text as the work goes on."""


def build(
    module: Module,
    *,
    target: str | Target = "native",
    threads: int | None = None,
    accuracy: Accuracy = Accuracy.FAST,
    schedules: ChooseSchedule | None = None,
    report: Report | None = None,
    sizes: Sequence[int] = USUAL_SIZES,
    defaults: DefaultSchedules | None = None,
    shapes: InputSizes | Sequence[InputSizes] = (),
    passes: ChosenPasses = STANDARD_PASSES,
    memory_limit: int | MemoryLimit | None = None,
) -> Model:
    """Compile a module's main function.

    Args:
        module: the program, typed or not, as the user gave it.
        target: `native`, or `TRIPLE[:CPU[:+feature,...]]`.
        threads: how many threads the code is made for; by default all processors of this process.
        accuracy: of the algorithms that `schedules` gives, by whose costs layouts are chosen.
        schedules: gives the schedule of a primitive, or None for the default one.
        report: is told what is being compiled.
        sizes: sizes of open dimensions for which products with weights get code of their own, with
            the schedules of these sizes, beside the code for all sizes.
        defaults: those that `schedules` gives, which other processes may find beforehand.
        shapes: sizes of inputs by name, some of them ranges, for which kernels are chosen
            (`relay_tune.building.size_points`), beside the code for all sizes.
        passes: what turns the module into kernels.
        memory_limit: the most bytes between kernels, without inputs, outputs and constants; results
            are computed again where they would take more.

    Where sizes of inputs are open (symbols or `?`), the code is for all sizes. Where an operator
    has no such code, code is made when inputs of new shapes first come, and `report` is told why.
    Raises BuildError where the program has no native form, TypeInferenceError where it has no type,
    InputError where the limit cannot be kept.
    """
    compilation = _Compilation(
        target_argument(target),
        thread_count(threads),
        accuracy,
        schedules,
        _logged(function_argument(_silent if report is None else report, "report")),
        sizes,
        defaults,
        input_sizes(shapes),
        passes,
        memory_limit_of(memory_limit),
    )
    typed = infer_types(module)
    type_ = function_type(typed.main)
    inputs = {param.name: t for param, t in zip(typed.main.params, type_.params, strict=True)}
    outputs = named_outputs(typed, type_.result)
    if not open_inputs(inputs):
        compiled = compilation.program(typed, compilation.sizes)
        return Model(inputs, outputs, compilation.threads, None, compiled)
    general = _for_all_sizes(typed, compilation)
    known = None if isinstance(general, NoNativeCodeError) else general
    error = general if isinstance(general, NoNativeCodeError) else None
    return Model(inputs, outputs, compilation.threads, compilation.fixed(typed, error), known)


@dataclass(frozen=True, slots=True)
class _Compilation:
    """How the code of one build is made; the fields are the arguments of `build`."""

    target: Target
    threads: int
    accuracy: Accuracy
    schedules: ChooseSchedule | None
    report: Report
    sizes: Sequence[int]
    defaults: DefaultSchedules | None
    shapes: Sequence[KnownSizes]
    passes: ChosenPasses
    memory_limit: MemoryLimit | None

    def program(
        self,
        typed: Module,
        sizes: Sequence[int] = USUAL_SIZES,
        points: Sequence[SizePoint] = (),
    ) -> CompiledFunctions:
        """The compiled program of a typed module, with code of its own for some sizes."""
        limit = self.memory_limit
        if limit is None or limit.with_held or self.passes.pipeline is not None:
            return self._segmented(typed, sizes, points, 1)
        return within_limit(
            lambda count: self._segmented(typed, sizes, points, count), most_segments(typed)
        )

    def _segmented(
        self, typed: Module, sizes: Sequence[int], points: Sequence[SizePoint], segments: int
    ) -> CompiledFunctions:
        """The program with its recurrences in so many segments."""
        passes = replace(self.passes, segments=segments)
        with (
            results_for_one_build(around_program=True),
            BuildWorkers(self.target, self.defaults) as workers,
            Compiling(self.target, workers) as compiling,
        ):
            start_early(workers, typed)
            compiling.start_sessions()
            return compile_program(
                fused_module(typed, self.accuracy, self.target, passes),
                self.target,
                self.threads,
                self.schedules,
                self.report,
                sizes,
                points,
                self.defaults,
                compiling=compiling,
                memory_limit=self.memory_limit,
            )

    def fixed(
        self, typed: Module, general: NoNativeCodeError | None = None
    ) -> Callable[[Mapping[str, tuple[int, ...]]], CompiledFunctions]:
        """What compiles a typed module for some shapes; `general` is why it is not for all."""

        def compile_for(shapes: Mapping[str, tuple[int, ...]]) -> CompiledFunctions:
            fixed = (
                with_fixed_sizes(typed, shapes)
                if is_network(typed)
                else infer_types(FixInputShapes(shapes)(typed))
            )
            try:
                return self.program(fixed)
            except NoNativeCodeError as error:
                if general is None or is_network(fixed):
                    raise
                raise general from error  # sizes that only a run knows need the code there is not

        return compile_for


def _for_all_sizes(
    typed: Module, compilation: _Compilation
) -> CompiledFunctions | NoNativeCodeError:
    """Code for all sizes of the inputs, or why an operator has none."""
    named = with_named_sizes(typed)
    points = size_points(named, compilation.shapes)
    try:
        return compilation.program(named, compilation.sizes, points)
    except NoNativeCodeError as error:
        compilation.report(
            f"There is no code for all sizes, it is made for those that come: {error}"
        )
        return error


def _logged(report: Report) -> Report:
    """A report that also goes to the logger of the package."""

    def tell(line: str) -> None:
        LOGGER.debug(line)
        report(line)

    return tell


def _silent(line: str) -> None:
    """Report nothing."""
