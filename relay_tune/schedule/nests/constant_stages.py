"""Stages that depend on constants alone, computed once when the program is planned.

before:  phases[r, t] = select(.., weight[2 * t + r], 0);  y[..] = sum(x[..] * phases[..])
after:   y[..] = sum(x[..] * constant[..])

Constants of a narrow type stay narrow: what reads them converts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from relay_tune.schedule.nests.rewritten_stages import Rewriting, with_rewritten_stages
from relay_tune.tensor.dependencies import dependencies
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Reduce, Tensor
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.scalar_semantics import Array, numpy_dtype
from relay_tune.tensor.size import size_symbols, surely_less
from relay_tune.tensor.tensor import Computed, Input, input_tensor

MAXIMUM_GROWTH = 4
"""A stage is not computed ahead if it is so many times larger than the constants it reads."""


def fold_constant_stages(program: TensorProgram) -> TensorProgram:
    """The program with constants in place of stages that read nothing else."""

    def rewrite(stage: Computed, rewriting: Rewriting) -> Tensor | None:
        if stage in program.outputs or _is_widened(stage, rewriting):
            return None
        return folded(stage, rewriting)

    return with_rewritten_stages(program, rewrite) or program


def _is_widened(stage: Computed, rewriting: Rewriting) -> bool:
    """Whether a stage is what a constant stores in fewer bytes, which a pass has left so."""
    sources = [each for each in dependencies(stage) if each in rewriting.constants]
    largest = max(sources, key=lambda each: prod(each.shape), default=stage)
    stored, made = numpy_dtype(largest.dtype), numpy_dtype(stage.dtype)
    in_words = stored.kind == "i" and made.kind == "f" and largest.shape != stage.shape
    if not in_words and stored.itemsize >= made.itemsize:
        return False
    if len(stage.shape) < 2 or isinstance(stage.body, Reduce):
        return False
    return surely_less(prod(largest.shape) - 1, prod(stage.shape))


def folded(stage: Computed, rewriting: Rewriting) -> Tensor:
    """The constant that a stage is; what it is now, if it is none, too large, or of open sizes."""
    now = rewriting.rebuilt(stage)
    read, known = dependencies(now), rewriting.constants
    sources = [tensor for tensor in read if isinstance(tensor, Input) and tensor in known]
    if not sources or len(sources) < len(read) or size_symbols(prod(stage.shape)):
        return now
    if prod(stage.shape) > MAXIMUM_GROWTH * sum(known[source].size for source in sources):
        return now

    def elements(arrays: Mapping[Tensor, Array]) -> Array:
        return evaluate([now], {source: arrays[source] for source in sources})[0]

    return rewriting.constant(input_tensor(stage.name, stage.shape, stage.dtype), sources, elements)
