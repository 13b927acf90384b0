"""The cases of ONNX's conformance suite: models, inputs, and the outputs that are expected."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import DATA_DIR, load_model_tests
from onnx.backend.test.runner import Runner

KINDS = ("node", "real", "simple", "pytorch-converted", "pytorch-operator")
"""`real` are the light models: whole networks whose weights are constants of one value."""

ROUNDING = 1e-6
"""Of float32 sums of numbers up to 100, divided by 10."""

DataSet = tuple[Sequence[Any], Sequence[Any]]


def load_cases(kind: str) -> list[Any]:
    """The cases of a kind of `KINDS`, or of `all`."""
    return [case for each in (KINDS if kind == "all" else (kind,)) for case in _cases(each)]


def _cases(kind: str) -> list[Any]:
    return sorted(load_model_tests(kind=kind), key=lambda case: str(case.name))


def model_of(case: Any) -> onnx.ModelProto:
    """The model of a case, read where it is a file."""
    return case.model if case.model is not None else onnx.load(str(_model_path(case)))


def data_sets(case: Any, model: onnx.ModelProto) -> Iterator[DataSet]:
    """Inputs and expected outputs."""
    if case.data_sets is not None:
        for inputs, outputs in case.data_sets:
            yield [_as_array(each) for each in inputs], [_as_array(each) for each in outputs]
    elif case.model_dir is None:
        yield _light_data_set(case, model)
    else:
        for folder in sorted(Path(case.model_dir).glob("test_data_set_*")):
            inputs = _read_values(folder, "input", model.graph.input)
            yield inputs, _read_values(folder, "output", model.graph.output)


def _model_path(case: Any) -> Path:
    if case.model_dir is not None:
        return Path(case.model_dir) / "model.onnx"
    return Path(DATA_DIR) / "light" / Path(case.url).name


def _light_data_set(case: Any, model: onnx.ModelProto) -> DataSet:
    """The ramp that ONNX's own runner feeds, and the outputs that lie beside the model."""
    weights = {tensor.name for tensor in model.graph.initializer}
    declared = [each for each in model.graph.input if each.name not in weights]
    path = _model_path(case)
    names = [f"{path.stem}_output_{index}.pb" for index in range(len(model.graph.output))]
    outputs = [
        _read_value(path.parent / name, value)
        for name, value in zip(names, model.graph.output, strict=True)
    ]
    return [Runner.generate_dummy_data(each) for each in declared], outputs


def _read_values(folder: Path, kind: str, declared: Sequence[Any]) -> list[Any]:
    """The values of one data set, in order."""
    count = len(list(folder.glob(f"{kind}_*.pb")))
    files = [folder / f"{kind}_{number}.pb" for number in range(count)]
    return [_read_value(file, value) for file, value in zip(files, declared, strict=False)]


def _read_value(path: Path, declared: Any) -> Any:
    content = path.read_bytes()
    if declared.type.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(content))
    if declared.type.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(content))
    return numpy_helper.to_array(onnx.TensorProto.FromString(content))


def _as_array(value: Any) -> Any:
    """A tensor as an array, where it is not one already."""
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def leniency(case: Any) -> str:
    """Why a case is not compared as ONNX's own runner compares it; empty for almost all."""
    if re.match("test_bernoulli|test_training_dropout(?!_zero)", case.name):
        return (
            "random: ONNX leaves the numbers to the implementation; shapes and types are compared"
        )
    if case.name.startswith("test_dft_inverse"):
        return f"zeros are rounding errors of 1.9e-7 of one library; within {ROUNDING}"
    return ""


def difference(actual: Sequence[Any], expected: Sequence[Any], case: Any) -> str:
    """What is wrong, or nothing; as ONNX's own runner has it unless `leniency` says why."""
    reason, atol = leniency(case), case.atol
    if reason.startswith("random"):
        found, wanted = ([(each.shape, each.dtype) for each in side] for side in (actual, expected))
        return "" if found == wanted else f"{found} instead of {wanted}"
    if reason:
        atol = ROUNDING
    try:
        with np.errstate(all="ignore"):
            Runner.assert_similar_outputs(expected, actual, case.rtol, atol)
    except AssertionError as error:
        return " ".join(str(error).split())[:300]
    return ""
