"""The adapter to the backend interface of ONNX, which runs its conformance tests.

>>> import onnx.backend.test
>>> suite = onnx.backend.test.BackendTest(Backend, __name__)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from unittest import SkipTest

import numpy as np
from onnx import ModelProto, ValueInfoProto
from onnx.backend.base import Backend as OnnxBackend
from onnx.backend.base import BackendRep

from relay_tune.building.build import build
from relay_tune.errors import InputError, NoNativeCodeError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.frontend.onnx_import.narrow_types import NARROW_TYPES, restored, stored
from relay_tune.ir.module import Module
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.runtime.interpreter.python_values import to_python
from relay_tune.runtime.model import Model


class Executable:
    """Runs a module natively, or in the interpreter where it has no native form.

    Which one shows when it is made, or at the first call where input shapes are symbolic.
    """

    def __init__(self, module: Module) -> None:
        self._module = module
        self._names = [param.name for param in module.main.params]
        self._model: Model | None = None
        with suppress(NoNativeCodeError):
            self._model = build(module)

    @property
    def native(self) -> bool:
        """Whether calls run native code."""
        return self._model is not None

    def __call__(self, inputs: Mapping[str, Any]) -> tuple[Any, ...]:
        """The outputs in order for inputs by name."""
        arguments = [inputs[name] for name in self._names]
        result = self._run(arguments)
        return result if _output_count(self._module) > 1 else (result,)

    def _run(self, arguments: Sequence[Any]) -> Any:
        if self._model is not None:
            try:
                return self._model(*arguments)
            except NoNativeCodeError:  # code for symbolic shapes is made when the shapes are known
                self._model = None
        return interpret(self._module, *arguments)


def _output_count(module: Module) -> int:
    names = module.attributes.get("outputs")
    return len(names) if isinstance(names, tuple) else 1


def make_executable(module: Module) -> Executable:
    """The program that runs a module: here, and only here, it is decided which one it is."""
    return Executable(module)


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
        self._executable: Executable | None = None
        """The program of the last run."""
        try:
            self._executable = make_executable(from_onnx(model))
        except UnsupportedOperatorError as error:
            self._needed = _deciding_inputs(error) or _collections(model)
            if not self._needed:
                raise

    @property
    def native(self) -> bool:
        """Whether the last run, or else the next one, uses native code."""
        return self._executable is not None and self._executable.native

    @property
    def constants(self) -> tuple[str, ...]:
        """The inputs whose values became constants, in the order of the graph."""
        return tuple(each.name for each in self._model.graph.input if each.name in self._needed)

    def run(
        self, inputs: Sequence[Any] | Mapping[str, Any] | np.ndarray, **kwargs: Any
    ) -> tuple[np.ndarray, ...]:
        """The outputs in order; inputs are in the order of the graph, or by name.

        Raises InputError if the number of inputs or a name is wrong.
        """
        named = {name: self._as_stored(name, each) for name, each in self._named(inputs).items()}
        if self._needed:
            with _refusing():
                self._executable = make_executable(self._specialized(named))
        assert self._executable is not None
        results = zip(self._model.graph.output, self._executable(named), strict=True)
        return tuple(_restored(declared, each) for declared, each in results)

    def _as_stored(self, name: str, value: Any) -> Any:
        """A value of a type of at most 8 bits as programs take it."""
        declared = next(each for each in self._model.graph.input if each.name == name)
        kind = NARROW_TYPES.get(declared.type.tensor_type.elem_type)
        return value if kind is None else stored(np.asarray(value, kind.dtype), kind)

    def _specialized(self, inputs: Mapping[str, np.ndarray]) -> Module:
        """The model for these very values of the inputs that it needs to know at import."""
        while True:
            constants = {name: inputs[name] for name in self._needed}
            try:
                return from_onnx(self._model, constants=constants)
            except UnsupportedOperatorError as error:
                needed = _deciding_inputs(error)
                if not set(needed) - set(self._needed):
                    raise
                self._needed = tuple({*self._needed, *needed})

    def _named(self, inputs: Sequence[Any] | Mapping[str, Any] | np.ndarray) -> dict[str, Any]:
        initial = {tensor.name for tensor in self._model.graph.initializer}
        declared = [value.name for value in self._model.graph.input]
        names = [name for name in declared if name not in initial]
        if isinstance(inputs, Mapping):
            missing = [name for name in names if name not in inputs]
            if missing:
                raise InputError(
                    f"The input {missing[0]!r} is missing.",
                    remedy="Give one array for each input of the model.",
                )
            return {name: inputs[name] for name in names}
        given = [inputs] if isinstance(inputs, np.ndarray) else list(inputs)
        if len(given) != len(names):
            raise InputError(
                f"The model has {len(names)} input(s), but {len(given)} are given.",
                remedy="Give one array for each input of the model.",
            )
        return dict(zip(names, given, strict=True))


def _deciding_inputs(error: UnsupportedOperatorError) -> tuple[str, ...]:
    """The inputs whose values the import needs, where the first fault is that it lacks one."""
    if not error.refusals or not error.refusals[0].inputs:
        return ()
    return tuple(dict.fromkeys(name for each in error.refusals for name in each.inputs))


def _collections(model: ModelProto) -> tuple[str, ...]:
    """The inputs that are no tensors: what a file says of their elements is not always so."""
    inputs = model.graph.input
    return tuple(each.name for each in inputs if not each.type.HasField("tensor_type"))


def _restored(declared: ValueInfoProto, value: Any) -> Any:
    """An output in the element type that the model declares; a list of Python for a sequence."""
    kind = NARROW_TYPES.get(declared.type.tensor_type.elem_type)
    return to_python(value) if kind is None else restored(value, kind)


class Backend(OnnxBackend):  # type: ignore[misc]
    """Runs ONNX models on the CPU."""

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> Representation:
        """Import a model; raises ModelNotSupported, or another RelayError, if it cannot be run."""
        if not cls.supports_device(device):
            raise InputError(
                f"The device {device!r} is not supported; use 'CPU'.",
                remedy="Prepare the model with device='CPU'.",
            )
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
