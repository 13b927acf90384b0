"""What cannot be made a training step."""

from __future__ import annotations

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.training.program import step_program
from tests.training.network import network, with_constants

SGD = rt.training.SGD()


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(rt.InputError, match="no loss 'cros_entropy'") as found:
        step_program(with_constants(), "cros_entropy", SGD)
    assert "cross_entropy" in str(found.value)
    with pytest.raises(rt.InputError, match="nothing to train"):
        step_program(network(), "cross_entropy", SGD)
    with pytest.raises(rt.InputError, match="no parameter 'u'"):
        step_program(network(), "cross_entropy", SGD, ["u"])


def test_two_outputs_need_a_loss_of_ones_own() -> None:
    two = rt.parse("def @main(%x: Tensor[(2), float32]) { (%x, %x) }")
    with pytest.raises(rt.InputError, match="that of one tensor"):
        step_program(two, "mean_squared_error", SGD, ["x"])


def test_the_step_is_one_function() -> None:
    program = step_program(with_constants(), "cross_entropy", SGD)
    assert list(program.module.functions) == ["main"]
    assert [each.name for each in program.module.main.params][-1] == "number"


def test_inputs_may_be_called_as_those_of_the_step() -> None:
    network = rt.parse(
        "def @main(%number: Tensor[(2), float32], %target: Tensor[(2), float32]) "
        "{ %number * %target }"
    )
    program = step_program(network, "mean_squared_error", SGD, ["target"])
    assert program.batch == ("number", "target_")
    assert program.number == "number_"


OWN_LOSS = """
def @main(%x: Tensor[(3), float32], %w: Tensor[(3), float32]) { sum(%x * %w * %w) }
"""


def test_a_network_may_return_its_loss() -> None:
    program = step_program(rt.parse(OWN_LOSS), None, SGD, ["w"])
    assert program.batch == ("x",)
    step = rt.training.step(
        rt.parse(OWN_LOSS), None, rt.training.SGD(0.1), parameters={"w": np.ones(3, "float32")}
    )
    x = np.array([1, 2, 3], "float32")
    assert step(x) == pytest.approx(6)
    np.testing.assert_allclose(step.parameters["w"], 1 - 0.2 * x, rtol=1e-6)


def test_what_is_minimised_is_one_number() -> None:
    with pytest.raises(rt.InputError, match=r"is minimised, but it is Tensor\[\(6, 3\)"):
        step_program(with_constants(), None, SGD)
