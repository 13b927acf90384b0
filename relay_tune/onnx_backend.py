"""The adapter to the backend interface of ONNX, which runs its conformance tests.

>>> import onnx.backend.test
>>> suite = onnx.backend.test.BackendTest(Backend, __name__)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto
from onnx.backend.base import Backend as OnnxBackend
from onnx.backend.base import BackendRep

from relay_tune.errors import InputError
from relay_tune.frontend.onnx_import import from_onnx
from relay_tune.ir.module import Module
from relay_tune.runtime.interpreter import interpret

Executable = Callable[[Mapping[str, np.ndarray]], Any]
"""Inputs by name -> an array, or a tuple of arrays."""


def make_executable(module: Module) -> Executable:
    """The program that runs a module: here, and only here, it is decided which one it is."""
    names = [param.name for param in module.main.params]

    def run(inputs: Mapping[str, np.ndarray]) -> Any:
        return interpret(module, *(inputs[name] for name in names))

    return run


class Representation(BackendRep):  # type: ignore[misc]
    """A model that is ready to run."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._run = make_executable(module)

    def run(
        self, inputs: Sequence[Any] | Mapping[str, Any] | np.ndarray, **kwargs: Any
    ) -> tuple[np.ndarray, ...]:
        """The outputs in order; inputs are in the order of the graph, or by name.

        Raises InputError if the number of inputs or a name is wrong.
        """
        result = self._run(self._named(inputs))
        return result if isinstance(result, tuple) else (result,)

    def _named(self, inputs: Sequence[Any] | Mapping[str, Any] | np.ndarray) -> dict[str, Any]:
        names = [param.name for param in self._module.main.params]
        if isinstance(inputs, Mapping):
            missing = [name for name in names if name not in inputs]
            if missing:
                raise InputError(f"The input {missing[0]!r} is missing.")
            return {name: inputs[name] for name in names}
        given = [inputs] if isinstance(inputs, np.ndarray) else list(inputs)
        if len(given) != len(names):
            raise InputError(f"The model has {len(names)} input(s), but {len(given)} are given.")
        return dict(zip(names, given, strict=True))


class Backend(OnnxBackend):  # type: ignore[misc]
    """Runs ONNX models on the CPU."""

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> Representation:
        """Import a model; raises RelayError if it cannot be run."""
        if not cls.supports_device(device):
            raise InputError(f"The device {device!r} is not supported; use 'CPU'.")
        return Representation(from_onnx(model))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether models can run there."""
        return device.split(":")[0] == "CPU"

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Every model may be tried; `prepare` says what is not supported."""
        return cls.supports_device(device)

    @classmethod
    def run_model(
        cls, model: ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any
    ) -> tuple[np.ndarray, ...]:
        """Import a model and run it once."""
        return cls.prepare(model, device, **kwargs).run(inputs)


prepare = Backend.prepare
run_model = Backend.run_model
supports_device = Backend.supports_device
is_compatible = Backend.is_compatible
