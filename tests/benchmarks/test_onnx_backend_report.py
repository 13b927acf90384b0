from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx.backend.test.case.test_case import TestCase

from benchmarks.onnx_backend_report import report, run_case
from benchmarks.onnx_suite_cases import data_sets, load_cases, model_of


def test_light_models_are_cases_with_data() -> None:
    cases = load_cases("real")
    assert len(cases) == 9
    case = next(case for case in cases if case.name == "test_squeezenet")
    ((inputs, outputs),) = data_sets(case, model_of(case))
    assert inputs[0].shape == (1, 3, 224, 224)
    assert outputs[0].shape == (1, 1000, 1, 1)


def test_sequences_among_the_outputs_are_read() -> None:
    case = next(case for case in load_cases("simple") if case.name == "test_sequence_model1")
    ((inputs, outputs),) = data_sets(case, model_of(case))
    assert all(isinstance(each, np.ndarray) for each in (*inputs, *outputs))


CHOICE = onnx.parser.parse_model(
    """<ir_version: 8, opset_import: ["": 18]>
    g (float[2,2] x, int64[1] axis) => (float[n,m] y) {
        pads = Constant<value_ints = [1, 0]>()
        zero = Constant<value_float = 0.0>()
        y = Pad(x, pads, zero, axis)
    }"""
)
"""Which axis grows is known only when its number is."""


def test_what_needs_the_values_of_inputs_is_told_apart() -> None:
    data = np.array([[1, 2], [3, 4]], np.float32)
    sets = [([data, np.array([1])], [np.pad(data, ((0, 0), (1, 0)))])]
    case = TestCase("choice", "", None, None, CHOICE, sets, "node", 1e-3, 1e-7)
    outcome = run_case(case)
    assert (outcome.status, outcome.detail) == ("pass native, constants", "axis")


NEGATIVE = onnx.parser.parse_model(
    """<ir_version: 8, opset_import: ["": 18]> g (float[3] x) => (float[3] y) { y = Neg(x) }"""
)


@pytest.mark.parametrize(("added", "status"), [(0, "pass native"), (1, "wrong")])
def test_other_numbers_are_wrong(added: int, status: str) -> None:
    data = np.array([1, -2, 0], np.float32)
    sets = [([data], [added - data])]
    case = TestCase("negative", "", None, None, NEGATIVE, sets, "node", 1e-3, 1e-7)
    assert run_case(case).status == status


def test_the_report_counts_them(capsys: pytest.CaptureFixture[str]) -> None:
    report([], verbose=False)
    assert "pass native, constants" in capsys.readouterr().out
