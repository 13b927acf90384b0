"""What cannot be made a training step."""

from __future__ import annotations

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
