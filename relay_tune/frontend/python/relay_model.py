"""`@relay_model`: classes whose methods are programs and whose attributes are weights.

@rt.relay_model
class Layer:
    weight: "Tensor[(10, 64), float32]"

    def main(self, x: "Tensor[(1, 64), float32]"):
        return tanh(x @ self.weight.T)

rt.interpret(Layer(weight=array).main.module, x)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from inspect import get_annotations, isfunction
from typing import Any, overload

import numpy as np

from relay_tune.arguments import instance_of
from relay_tune.errors import InputError
from relay_tune.frontend.python.program import WEIGHT_NAMES
from relay_tune.frontend.python.relay_function import relay
from relay_tune.frontend.python.types import is_f_string
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse_type
from relay_tune.ir.types import TensorType, Type
from relay_tune.typing.type_text import type_text


@overload
def relay_model(model: type) -> type[Any]: ...
@overload
def relay_model(*, base: Module | None = None) -> Callable[[type], type[Any]]: ...
def relay_model(
    model: type | None = None, *, base: Module | None = None
) -> type[Any] | Callable[[type], type[Any]]:
    """A decorator for classes: methods become programs, annotated attributes become weights.

    A model is made from its weights by name, or by `random(seed)`; in methods they are constants,
    which training knows by these names.
    A class with an `__init__` of its own says itself what its attributes are.

    Args:
        model: the class.
        base: the data types and functions that methods may name; the prelude if nothing is given.
    """
    if model is None:
        return lambda decorated: _with_programs(decorated, base)
    return _with_programs(model, base)


def _with_programs(model: type, base: Module | None) -> type[Any]:
    instance_of(type, model, "What relay_model decorates", "Write @relay_model above a class.")
    for name, member in list(vars(model).items()):
        if isfunction(member) and not name.startswith("__"):
            setattr(model, name, relay(base=base)(member))
    setattr(model, WEIGHT_NAMES, frozenset(get_annotations(model)))
    if "__init__" not in vars(model):
        types = {name: _weight_type(model, name, a) for name, a in get_annotations(model).items()}
        model.__init__ = _initializer(types)  # type: ignore[misc]
        model.random = classmethod(_random(types))  # type: ignore[attr-defined]
    return model


def _weight_type(model: type, name: str, annotation: object) -> TensorType:
    type_ = annotation
    if isinstance(annotation, str):  # quoted by hand, or by `from __future__ import annotations`
        text = _formatted(model, name, annotation) if is_f_string(annotation) else annotation
        type_ = parse_type(text.replace("'", "").replace('"', ""))
    if isinstance(type_, TensorType) and all(isinstance(dim, int) for dim in type_.shape):
        return type_
    found = type_text(type_) if isinstance(type_, Type) else repr(annotation)
    raise InputError(
        f"The weight {name} of {model.__name__} is {found}, which is no tensor of known size.",
        remedy='Annotate it with a type such as "Tensor[(10, 64), float32]".',
    )


def _formatted(model: type, name: str, text: str) -> str:
    """Evaluate an f-string that Python has not, with the names of the class's module."""
    try:
        return str(eval(text, dict(vars(sys.modules[model.__module__]))))
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        NameError,
        TypeError,
        ValueError,
    ) as error:
        raise InputError(
            f"The annotation of {name} of {model.__name__} cannot be evaluated: {error}.",
            remedy="Use names of the module in it, or write the sizes as numbers.",
        ) from error


def _initializer(types: Mapping[str, TensorType]) -> Callable[..., None]:
    def __init__(self: object, **weights: object) -> None:
        missing = [name for name in types if name not in weights]
        unknown = [name for name in weights if name not in types]
        if missing or unknown:
            raise InputError(
                f"{type(self).__name__} has the weights {', '.join(types)}.",
                notes=(f"Missing: {missing}. Unknown: {unknown}.",),
                remedy="Give each weight by its name: Model(name=array, ...).",
            )
        for name, value in weights.items():
            setattr(self, name, _checked(name, np.asarray(value), types[name]))

    return __init__


def _checked(name: str, value: np.ndarray, type_: TensorType) -> np.ndarray:
    found = TensorType(value.shape, str(value.dtype))
    if found != type_:
        raise InputError(
            f"The weight {name} is {type_text(found)}, not {type_text(type_)}.",
            remedy="Give an array of the declared shape and type.",
        )
    return value


def _random(types: Mapping[str, TensorType]) -> Callable[..., Any]:
    def random(cls: type[Any], seed: int = 0) -> Any:
        """A model with seeded weights, uniform in the bounds 1 / sqrt(size of the last axis)."""
        source = np.random.default_rng(seed)
        weights = {}
        for name, type_ in types.items():
            shape = tuple(dim for dim in type_.shape if isinstance(dim, int))
            bound = 1 / float(np.sqrt(shape[-1])) if shape and shape[-1] else 1.0
            weights[name] = source.uniform(-bound, bound, shape).astype(type_.dtype)
        return cls(**weights)

    return random
