"""The passes with which a program is built, where its user chooses them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay_tune.arguments import wrong_type
from relay_tune.building.same_answers import SameAnswers
from relay_tune.errors import InputError
from relay_tune.ir.expr import Call
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.matching import is_opaque_function
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.branches.repeat_slices import RepeatSlices
from relay_tune.transform.check_indices import CheckIndices
from relay_tune.transform.fusion.fuse import Fuse
from relay_tune.transform.instruments import Instrument
from relay_tune.transform.module_pass import ModulePass
from relay_tune.transform.pipeline import Pipeline, PipelineOptions, default_pipeline
from relay_tune.transform.pipeline_text import EXAMPLE, parse_pipeline
from relay_tune.transform.verification import Verification

VERIFICATIONS = ("structure", "answers")
"""What can be verified after each pass."""


@dataclass(frozen=True, slots=True)
class ChosenPasses:
    """The pipeline of a build, and what is verified after each pass.

    Attributes:
        pipeline: a pipeline, or its text (`relay_tune.transform.pipeline_text`); None for the
            default one.
        verify: "structure", "answers" (which is also "structure"), or None for nothing.
        segments: into which the default pipeline divides recurrences.

    Raises InputError for what is neither, for passes and options that there are not, and for a
    pipeline without fusion.
    """

    pipeline: Pipeline | str | None = None
    verify: str | None = None
    segments: int = 1

    def __post_init__(self) -> None:
        if self.verify is not None and self.verify not in VERIFICATIONS:
            raise InputError(
                f"verify is {self.verify!r}, but must be one of {', '.join(VERIFICATIONS)}.",
                remedy="Omit it to verify nothing.",
            )
        if isinstance(self.pipeline, Pipeline | str):
            _checking_indices(self._written(PipelineOptions()).passes)
        elif self.pipeline is not None:
            raise wrong_type("The pipeline", "a Pipeline or its text", self.pipeline, EXAMPLE)

    def pipeline_for(self, options: PipelineOptions) -> Pipeline:
        """What runs for a module, verified as chosen."""
        if self.pipeline is None:
            chosen = replace(options, segments=self.segments)
            return verifying(default_pipeline(chosen), self.verify)
        written = self._written(options)
        passes = tuple(_checking_indices(written.passes))
        return verifying(replace(written, passes=passes).typed(), self.verify)

    def require_fused(self, module: Module) -> Module:
        """A module of which every call of an operator is in a kernel; InputError if one is not."""
        if self.pipeline is None:
            return module
        nodes = post_order(
            *module.functions.values(), enter=lambda node: not is_opaque_function(node)
        )
        for node in nodes:
            if isinstance(node, Call) and isinstance(node.callee, Operator):
                raise InputError(
                    f"The pipeline leaves a call of {node.callee.name} in no kernel.",
                    where=node.span,
                    remedy="Let fuse be its last pass.",
                )
        return module

    def _written(self, options: PipelineOptions) -> Pipeline:
        match self.pipeline:
            case str() as text:
                return parse_pipeline(text, options)
            case Pipeline() as pipeline:
                return pipeline
            case _:
                return default_pipeline(options)


STANDARD_PASSES = ChosenPasses()
"""Those of a build that chooses nothing."""


def verifying(pipeline: Pipeline, verify: str | None) -> Pipeline:
    """A pipeline that verifies after each pass what `verify` says (`VERIFICATIONS`)."""
    instruments: dict[str | None, tuple[Instrument, ...]] = {
        "structure": (Verification(),),
        "answers": (Verification(), SameAnswers()),
    }
    return pipeline.observed_by(*instruments.get(verify, ()))


def _checking_indices(passes: Sequence[ModulePass]) -> list[ModulePass]:
    """Passes that check indices before fusion: whatever is left out, kernels stay in their arrays.

    InputError where there is no fusion.
    """
    names = [step.name for step in passes]
    if Fuse.name not in names:
        raise InputError(
            "The pipeline has no fuse, so that nothing becomes kernels.",
            remedy="Let fuse be its last pass.",
        )
    end = names.index(Fuse.name)
    earlier = [name for name in names[:end] if name != RepeatSlices.name]
    missing = [] if earlier[-1:] == [CheckIndices.name] else [CheckIndices()]
    return [*passes[:end], *missing, *passes[end:]]
