"""Lists of passes that run one after the other, and the list that builds use.

>>> [step.name for step in default_pipeline().passes][-1]
'fuse'
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from relay_tune.arguments import did_you_mean, instance_of
from relay_tune.codegen.target import native_target
from relay_tune.errors import BuildError, IndexRangeError, InputError, RelayError
from relay_tune.ir.module import Module
from relay_tune.machine.machine import Machine
from relay_tune.op_rules.simplify.table import NOT_EXACT, RELAXED
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.branches.divide_products import DivideProducts
from relay_tune.transform.branches.repeat_slices import RepeatSlices
from relay_tune.transform.branches.sink_bindings import SinkBindings
from relay_tune.transform.branches.split_tuples import SplitTuples
from relay_tune.transform.check_indices import CheckIndices
from relay_tune.transform.combine_parallel import CombineParallel
from relay_tune.transform.eliminate_common_subexpressions import EliminateCommonSubexpressions
from relay_tune.transform.eliminate_dead_code import EliminateDeadCode
from relay_tune.transform.fold_constants import FoldConstants
from relay_tune.transform.fold_scale_axis import FoldScaleAxis
from relay_tune.transform.fusion.fuse import Fuse
from relay_tune.transform.hoist_invariants import HoistInvariants
from relay_tune.transform.infer import InferTypes
from relay_tune.transform.instruments import Instrument
from relay_tune.transform.language.catalogue import LANGUAGE_PASSES
from relay_tune.transform.language.graph_normal_form import ToGraphNormalForm
from relay_tune.transform.layout.choose_layout import ChooseLayout
from relay_tune.transform.materialize_padding import MaterializePadding
from relay_tune.transform.module_pass import ModulePass
from relay_tune.transform.note_shapes import NoteShapes
from relay_tune.transform.simplify_expression import SimplifyExpression
from relay_tune.transform.simplify_inference import SimplifyInference


@dataclass(frozen=True)
class Pipeline:
    """Passes in order; instruments are told of each one that ran."""

    passes: tuple[ModulePass, ...]
    instruments: tuple[Instrument, ...] = ()
    name: str = "pipeline"

    def __call__(self, module: Module) -> Module:
        """The module after all passes; an error says in which pass it happened."""
        for step in self.passes:
            start = time.perf_counter()
            result = _run(step, module)
            seconds = time.perf_counter() - start
            for instrument in self.instruments:
                instrument.after_pass(step.name, module, result, seconds)
            module = result
        return module

    def until(self, name: str) -> Pipeline:
        """The passes up to the last one called `name`; InputError if there is none."""
        names = [step.name for step in self.passes]
        if name not in names:
            known = ", ".join(dict.fromkeys(names))
            raise InputError(
                f"There is no pass {name!r}.",
                notes=(f"The passes are: {known}.",),
                remedy=did_you_mean(name, names, "Give the name of one of these passes."),
            )
        end = len(names) - names[::-1].index(name)
        return replace(self, passes=self.passes[:end])

    def observed_by(self, *instruments: Instrument) -> Pipeline:
        """This pipeline with more instruments."""
        return replace(self, instruments=(*self.instruments, *instruments))


@dataclass(frozen=True)
class PipelineOptions:
    """What can be chosen about the default pipeline.

    Fields:
        layout: "cost", "NHWC" or "NCHW"; see `ChooseLayout`.
        maximum_group_size: the most operator calls in one kernel.
        explicit_padding: whether producers write the padding that consumers need.
        slice_views: whether slices can be views of planned memory.
        accuracy: of the algorithms that kernels may use, where their costs are estimated.
        machine: that costs are estimated for; by default the processor that runs the passes.
    """

    layout: str = "cost"
    maximum_group_size: int = 64
    explicit_padding: bool = True
    slice_views: bool = True
    accuracy: Accuracy = Accuracy.FAST
    machine: Machine = field(default_factory=lambda: native_target().machine)


def _left_out(accuracy: Accuracy) -> frozenset[str]:
    """The rules of simplification by name that a level of accuracy has not."""
    match accuracy:
        case Accuracy.RELAXED:
            return frozenset()
        case Accuracy.FAST:
            return RELAXED
        case Accuracy.EXACT:
            return RELAXED | NOT_EXACT


def default_pipeline(options: PipelineOptions | None = None) -> Pipeline:
    """From a module as the user gave it to one of fused primitive functions."""
    chosen = PipelineOptions() if options is None else options
    instance_of(PipelineOptions, chosen, "The options of the pipeline", "Omit them.")
    padding: tuple[ModulePass, ...] = (MaterializePadding(),) if chosen.explicit_padding else ()
    simplify = SimplifyExpression(_left_out(chosen.accuracy))
    return Pipeline(
        (
            InferTypes(),
            NoteShapes(),
            EliminateDeadCode(),
            ToGraphNormalForm(),
            SimplifyInference(),
            FoldConstants(),
            EliminateCommonSubexpressions(),
            CombineParallel(chosen.machine, chosen.accuracy),
            simplify,
            FoldScaleAxis(),
            simplify,
            EliminateCommonSubexpressions(),
            SplitTuples(),
            ToGraphNormalForm(),
            HoistInvariants(),
            ToGraphNormalForm(),
            SinkBindings(),
            DivideProducts(),
            ChooseLayout(chosen.layout, chosen.machine, chosen.accuracy),
            FoldConstants(),
            simplify,
            *padding,
            simplify,
            EliminateCommonSubexpressions(),
            EliminateDeadCode(),
            CheckIndices(),
            RepeatSlices(),
            Fuse(chosen.maximum_group_size, chosen.slice_views),
        )
    )


def pipeline_after(name: str, options: PipelineOptions | None = None) -> Pipeline:
    """The default pipeline up to a pass, or a pass of the language after type inference.

    Raises InputError if there is no pass called `name`.
    """
    whole = default_pipeline(options)
    if name in LANGUAGE_PASSES and name not in [step.name for step in whole.passes]:
        return Pipeline((InferTypes(), LANGUAGE_PASSES[name]))
    try:
        return whole.until(name)
    except InputError as error:
        known = ", ".join(LANGUAGE_PASSES)
        raise InputError(
            error.message,
            notes=(*error.notes, f"Passes of the language are: {known}."),
            remedy=did_you_mean(
                name, (*LANGUAGE_PASSES, *(step.name for step in whole.passes)), error.remedy or ""
            ),
        ) from error


def _run(step: ModulePass, module: Module) -> Module:
    try:
        return step(module)
    except RelayError as error:
        if isinstance(step, InferTypes) or isinstance(error, IndexRangeError):
            raise
        raise BuildError(
            f"Pass {step.name} failed: {error.message}",
            where=error.where,
            notes=error.notes,
            remedy=error.remedy,
        ) from error
