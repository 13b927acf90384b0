"""The largest element of a softmax is that of its data."""

import numpy as np
import pytest

from relay_tune.ir.parser.parse import parse
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.matching import operator_name
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.pipeline import PipelineOptions, default_pipeline
from relay_tune.transform.simplify_expression import SimplifyExpression
from relay_tune.typing.infer import infer_types


@pytest.mark.parametrize(
    ("shape", "body", "is_dropped"),
    [
        ((3, 9), "argmax(nn.log_softmax(%x, axis=1), axis=1)", True),
        ((3, 9), "argmin(nn.log_softmax(%x, axis=-1), axis=[1], keepdims=True)", True),
        ((1, 9), "argmax(nn.softmax(%x, axis=1))", True),
        ((3, 9), "argmax(nn.softmax(%x, axis=1), axis=0, exclude=True)", True),
        ((3, 9), "argmax(nn.softmax(%x, axis=1))", False),
        ((3, 9), "argmax(nn.softmax(%x, axis=1), axis=0)", False),
        ((3, 9), "argmin(nn.softmax(%x, axis=1), axis=1)", False),
    ],
)
def test_order_along_the_axis_is_kept(shape: tuple[int, ...], body: str, is_dropped: bool) -> None:
    module = infer_types(parse(f"def @main(%x: Tensor[{shape}, float32]) {{ {body} }}"))
    after = SimplifyExpression()(module)
    assert (after is not module) is is_dropped
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    np.testing.assert_array_equal(interpret(after, x), np.asarray(interpret(module, x)))


def test_exact_programs_round_before_they_compare() -> None:
    text = "def @main(%x: Tensor[(1, 9), float32]) { argmax(nn.log_softmax(%x, axis=1)) }"
    after = default_pipeline(PipelineOptions(accuracy=Accuracy.EXACT))(infer_types(parse(text)))
    assert "nn.log_softmax" in {operator_name(node) for node in post_order(after.main)}
