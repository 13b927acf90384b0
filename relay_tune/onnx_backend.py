"""The adapter to the backend interface of ONNX, which runs its conformance tests.

>>> import onnx.backend.test
>>> suite = onnx.backend.test.BackendTest(Backend, __name__)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import SkipTest

import numpy as np
from onnx import ModelProto
from onnx.backend.base import Backend as OnnxBackend
from onnx.backend.base import BackendRep

from relay_tune.errors import InputError, UnsupportedOperatorError
from relay_tune.frontend.onnx_build import RunTimeValueError
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


def _output_count(module: Module) -> int:
    names = module.attributes.get("outputs")
    return len(names) if isinstance(names, tuple) else 1


class ModelNotSupported(UnsupportedOperatorError, SkipTest):
    """An UnsupportedOperatorError that ONNX's own test runner counts as skipped."""


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except UnsupportedOperatorError as error:
        raise ModelNotSupported(
            error.message, where=error.where, notes=error.notes, remedy=error.remedy
        ) from error


class Representation(BackendRep):  # type: ignore[misc]
    """A model that is ready to run.

    Where the import needs the values of some inputs (the axes of a reduction, say), the model is
    imported for these values when they are given.
    """

    def __init__(self, model: ModelProto) -> None:
        self._model = model
        self._needed: tuple[str, ...] = ()
        self._module: Module | None = None
        try:
            self._module = from_onnx(model)
        except RunTimeValueError as error:
            if not error.inputs:
                raise
            self._needed = error.inputs

    def run(
        self, inputs: Sequence[Any] | Mapping[str, Any] | np.ndarray, **kwargs: Any
    ) -> tuple[np.ndarray, ...]:
        """The outputs in order; inputs are in the order of the graph, or by name.

        Raises InputError if the number of inputs or a name is wrong.
        """
        named = self._named(inputs)
        with _refusing():
            module = self._module if self._module is not None else self._specialized(named)
        result = make_executable(module)(named)
        return result if _output_count(module) > 1 else (result,)

    def _specialized(self, inputs: Mapping[str, np.ndarray]) -> Module:
        """The model for these very values of the inputs that it needs to know at import."""
        while True:
            constants = {name: inputs[name] for name in self._needed}
            try:
                return from_onnx(self._model, constants=constants)
            except RunTimeValueError as error:
                if not set(error.inputs) - set(self._needed):
                    raise
                self._needed = tuple({*self._needed, *error.inputs})

    def _named(self, inputs: Sequence[Any] | Mapping[str, Any] | np.ndarray) -> dict[str, Any]:
        initial = {tensor.name for tensor in self._model.graph.initializer}
        declared = [value.name for value in self._model.graph.input]
        names = [name for name in declared if name not in initial]
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
        """Import a model; raises ModelNotSupported, or another RelayError, if it cannot be run."""
        if not cls.supports_device(device):
            raise InputError(f"The device {device!r} is not supported; use 'CPU'.")
        with _refusing():
            return Representation(model)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether models can run there."""
        return device.split(":")[0] == "CPU"

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether all operators of the model have a translation."""
        try:
            cls.prepare(model, device)
        except UnsupportedOperatorError:
            return False
        return True

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
