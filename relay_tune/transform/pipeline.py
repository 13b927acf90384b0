"""Lists of passes that run one after the other, and the list that builds use.

The text of a list is read by `relay_tune.transform.pipeline_text`.

>>> [step.name for step in default_pipeline().passes][-1]
'bound_constants'
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import field, replace

from relay_tune.arguments import did_you_mean, instance_of
from relay_tune.codegen.target import native_target
from relay_tune.errors import BuildError, IndexRangeError, InputError, RelayError
from relay_tune.ir.module import Module
from relay_tune.machine.machine import Machine
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.bound_constants import BoundConstants
from relay_tune.transform.branches.divide_products import DivideProducts
from relay_tune.transform.branches.repeat_slices import RepeatSlices
from relay_tune.transform.branches.sink_bindings import SinkBindings
from relay_tune.transform.branches.split_tuples import SplitTuples
from relay_tune.transform.check_indices import CheckIndices
from relay_tune.transform.combine_parallel import CombineParallel
from relay_tune.transform.compute_in_float32 import ComputeInFloat32
from relay_tune.transform.compute_in_integers import ComputeInIntegers
from relay_tune.transform.eliminate_common_subexpressions import EliminateCommonSubexpressions
from relay_tune.transform.eliminate_dead_code import EliminateDeadCode
from relay_tune.transform.fold_constants import FoldConstants
from relay_tune.transform.fold_scale_axis import FoldScaleAxis
from relay_tune.transform.fusion.fuse import Fuse
from relay_tune.transform.fusion.recompute_elementwise import RecomputeElementwise
from relay_tune.transform.gradient.differentiate import Differentiate
from relay_tune.transform.hoist_invariants import HoistInvariants
from relay_tune.transform.infer import InferTypes
from relay_tune.transform.instruments import Instrument
from relay_tune.transform.join_sums import JoinSums
from relay_tune.transform.keep_decisions import KeepDecisions
from relay_tune.transform.keep_in_bfloat16 import KeepInBfloat16
from relay_tune.transform.language.graph_normal_form import ToGraphNormalForm
from relay_tune.transform.layout.choose_layout import ChooseLayout
from relay_tune.transform.materialize_padding import MaterializePadding
from relay_tune.transform.module_pass import ModulePass, PassClass
from relay_tune.transform.note_shapes import NoteShapes
from relay_tune.transform.number_words import NumberWords
from relay_tune.transform.option_values import field_names, written
from relay_tune.transform.row_sums.collect_rows import CollectRows
from relay_tune.transform.segments.segment_recurrences import SegmentRecurrences
from relay_tune.transform.share_panels import SharePanels
from relay_tune.transform.simplify_expression import SimplifyExpression
from relay_tune.transform.simplify_inference import SimplifyInference
from relay_tune.transform.tabulate_bytes import TabulateBytes


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

    def __str__(self) -> str:
        """The passes as text, with the options that are no defaults; machines have no text."""
        return ",".join(written(step.name, step) for step in self.passes)

    def before(self, name: str, *passes: ModulePass) -> Pipeline:
        """This pipeline with more passes before the last one called `name`, or InputError."""
        rest = len(self.until(name).passes) - 1
        return replace(self, passes=(*self.passes[:rest], *passes, *self.passes[rest:]))

    def typed(self) -> Pipeline:
        """This pipeline with type inference behind passes that may leave expressions untyped."""
        keep = {kind.name for kind in STANDARD_PASSES}
        passes = [
            each
            for step in self.passes
            for each in ((step,) if step.name in keep else (step, InferTypes()))
        ]
        return replace(self, passes=tuple(passes))

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
        integers: where quantized networks are computed in integers; see `ComputeInIntegers`.
        tables: where functions of one byte are looked up; see `TabulateBytes`.
        segments: into which recurrences are divided; see `SegmentRecurrences`.
        machine: that costs are estimated for; by default the processor that runs the passes.
    """

    layout: str = "cost"
    maximum_group_size: int = 64
    explicit_padding: bool = True
    slice_views: bool = True
    accuracy: Accuracy = Accuracy.FAST
    integers: str = "auto"
    tables: str = "auto"
    segments: int = 1
    machine: Machine = field(default_factory=lambda: native_target().machine)


STANDARD_PASSES: tuple[PassClass, ...] = (
    InferTypes,
    Differentiate,
    NoteShapes,
    EliminateDeadCode,
    ToGraphNormalForm,
    CollectRows,
    ComputeInIntegers,
    ComputeInFloat32,
    SimplifyInference,
    FoldConstants,
    EliminateCommonSubexpressions,
    JoinSums,
    CombineParallel,
    SimplifyExpression,
    FoldScaleAxis,
    SimplifyExpression,
    EliminateCommonSubexpressions,
    SplitTuples,
    ToGraphNormalForm,
    HoistInvariants,
    ToGraphNormalForm,
    SinkBindings,
    DivideProducts,
    ChooseLayout,
    FoldConstants,
    SimplifyExpression,
    MaterializePadding,
    SimplifyExpression,
    NumberWords,
    EliminateCommonSubexpressions,
    TabulateBytes,
    EliminateDeadCode,
    CheckIndices,
    RepeatSlices,
    SegmentRecurrences,
    SharePanels,
    Fuse,
    RecomputeElementwise,
    KeepDecisions,
    KeepInBfloat16,
    BoundConstants,
)
"""The passes of builds, in order."""


def default_pipeline(options: PipelineOptions | None = None) -> Pipeline:
    """From a module as the user gave it to one of fused primitive functions."""
    chosen = PipelineOptions() if options is None else options
    instance_of(PipelineOptions, chosen, "The options of the pipeline", "Omit them.")
    kinds = (
        kind
        for kind in STANDARD_PASSES
        if chosen.explicit_padding or kind is not MaterializePadding
    )
    return Pipeline(tuple(configured(kind, chosen) for kind in kinds))


def configured(
    kind: PassClass, options: PipelineOptions, given: Mapping[str, object] | None = None
) -> ModulePass:
    """A pass of a class with options by name.

    Those that are not `given` take the values of the pipeline's options that are called the same.
    """
    common = {
        name: getattr(options, name)
        for name in field_names(kind)
        if name in PipelineOptions.__dataclass_fields__
    }
    return kind(**{**common, **(given or {})})


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
