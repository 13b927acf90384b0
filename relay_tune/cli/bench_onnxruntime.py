"""A model in ONNX Runtime, an extra package that is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from relay_tune.errors import InputError
from relay_tune.frontend.onnx_export.to_onnx import to_onnx
from relay_tune.ir.module import Module

_REFUSALS = (
    "Fail",
    "InvalidArgument",
    "InvalidGraph",
    "InvalidProtobuf",
    "NoSuchFile",
    "NotImplemented",
    "RuntimeException",
)


def onnxruntime_call(
    model: str, module: Module, inputs: Mapping[str, np.ndarray], threads: int
) -> Callable[[], object]:
    """A call of `model` with these inputs.

    An .onnx file is read as it is; of any other model the module is exported. Raises InputError
    where the package is missing or refuses the model.
    """
    runtime = _package()
    source = model if Path(model).suffix == ".onnx" else to_onnx(module).SerializeToString()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    try:
        session = runtime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except _refusals() as error:
        raise InputError(
            f"ONNX Runtime refuses the model: {error}.",
            remedy="Compare without --against, or export the model for a newer operator set.",
        ) from error
    return partial(session.run, None, dict(inputs))


def _refusals() -> tuple[type[Exception], ...]:
    """The exceptions of the package; they have no common root."""
    state = import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    return tuple(getattr(state, name) for name in _REFUSALS)


def _package() -> Any:
    try:
        return import_module("onnxruntime")
    except ImportError as error:
        raise InputError(
            "ONNX Runtime is not installed.", remedy="Install it: pip install onnxruntime."
        ) from error
