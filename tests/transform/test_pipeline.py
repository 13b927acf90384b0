"""Pipelines as a whole: order, instruments, errors."""

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from relay_tune.errors import BuildError, InputError, RelayError
from relay_tune.ir.module import Module
from relay_tune.transform.instruments import Timing
from relay_tune.transform.pipeline import (
    Pipeline,
    PipelineOptions,
    default_pipeline,
)
from relay_tune.transform.verification import Verification

NETWORK = """(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32],
    %w2: Tensor[(4, 4, 3, 3), float32], %d: Tensor[(5, 64), float32],
    %g: Tensor[(4,), float32], %b: Tensor[(4,), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1]);
  %1 = nn.relu(nn.batch_norm(%0, %g, %b, %b, %g).0);
  %2 = nn.conv2d(%1, %w2, padding=[1, 1]);
  %3 = nn.relu(add(nn.batch_norm(%2, %g, %b, %b, %g).0, %1));
  nn.dense(nn.batch_flatten(nn.max_pool2d(%3, pool_size=[2, 2], strides=[2, 2])), %d)
}"""
WEIGHTS = ("w", "w2", "d", "g", "b")


@dataclass(frozen=True)
class Fails:
    """A pass that raises."""

    name: ClassVar[str] = "fails"

    def __call__(self, module: Module) -> Module:
        raise RelayError("no")


def test_residual_network_keeps_its_meaning_through_every_pass(
    typed: Any, calls: Any, assert_same_meaning: Any
) -> None:
    module = typed(NETWORK, *WEIGHTS)
    passes: list[str] = []

    class Comparison:
        def after_pass(self, name: str, before: Module, after: Module, seconds: float) -> None:
            passes.append(name)
            if after is not before:
                assert_same_meaning(before, after)

    result = default_pipeline().observed_by(Verification(), Comparison())(module)
    assert len(passes) == len(default_pipeline().passes)
    assert calls(result) == [
        *["add"] * 3,
        *["nn.conv2d", "nn.conv2d", "nn.dense", "nn.max_pool2d", "nn.pad", "nn.pad"],
        *["nn.relu", "nn.relu", "reshape", "strided_slice"],
    ]


@pytest.mark.parametrize(
    "options",
    [
        PipelineOptions(layout="NCHW"),
        PipelineOptions(explicit_padding=False),
        PipelineOptions(maximum_group_size=1),
    ],
)
def test_options_keep_the_meaning(
    options: PipelineOptions, typed: Any, assert_same_meaning: Any
) -> None:
    module = typed(NETWORK, *WEIGHTS)
    assert_same_meaning(module, default_pipeline(options)(module))


def test_timing_has_an_entry_for_each_pass(typed: Any) -> None:
    timing = Timing()
    pipeline = default_pipeline().observed_by(timing)
    pipeline(typed("(%x: float32) { exp(%x) }"))
    assert [name for name, _ in timing.seconds] == [step.name for step in pipeline.passes]


def test_until_stops_after_the_last_pass_of_that_name() -> None:
    passes = default_pipeline().until("fold_scale_axis").passes
    assert passes[-1].name == "fold_scale_axis"
    with pytest.raises(InputError, match="There is no pass 'nothing'"):
        default_pipeline().until("nothing")


def test_error_names_the_pass(typed: Any) -> None:
    with pytest.raises(BuildError, match="Pass fails failed: no"):
        Pipeline((Fails(),))(typed("(%x: float32) { %x }"))
