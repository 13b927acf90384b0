"""The tutorial's char-RNN computes what the zoo's does, and has no more products in a step."""

from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.char_rnn_forms import forms, onnx_loop, relay_text, sizes, tutorial_weights
from benchmarks.char_rnn_python import char_rnn
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.matching import operator_call, static_shape
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.runtime.interpreter.values import Value
from relay_tune.transform.pipeline import default_pipeline
from relay_tune.zoo.program_catalogue import PROGRAMS
from relay_tune.zoo.programs import program_weights

WEIGHTS = tutorial_weights(program_weights(PROGRAMS["char_rnn"], 0, False, 1))


def test_all_forms_write_the_same_name() -> None:
    names = {form: run() for form, run in forms(6, build=_interpreted).items()}
    assert len(set(map(tuple, names.values()))) == 1 and names["zoo"]


def _interpreted(module: Module) -> Callable[..., Value]:
    """What calls a module after all passes before fusion, without native code."""
    unfused = default_pipeline().until("repeat_slices")(module)
    return lambda **inputs: interpret(unfused, **inputs)


@pytest.mark.parametrize("form", ["relay", "python", "onnx"])
def test_a_step_multiplies_what_changes_alone(form: str) -> None:
    module = {
        "relay": lambda: relay_text(WEIGHTS),
        "python": lambda: char_rnn(WEIGHTS, *sizes(WEIGHTS)).module,
        "onnx": lambda: onnx_loop(WEIGHTS),
    }[form]()
    steps = [
        operator_call(n, "nn.dense", "nn.matmul")
        for n in post_order(default_pipeline()(module).main)
    ]
    inner = [shape[-1] for call in steps if call and (shape := static_shape(call.arguments[0]))]
    letters = len(WEIGHTS["i2o_bias"])
    hidden = np.shape(WEIGHTS["hidden"])[1]
    assert max(inner) == hidden + letters and letters + hidden + 18 not in inner
