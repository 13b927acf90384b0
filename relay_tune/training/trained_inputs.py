"""What a step trains: constants and inputs, checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from relay_tune.arguments import instance_of, wrong_type
from relay_tune.errors import InputError
from relay_tune.ir.dtypes import is_float
from relay_tune.ir.expr import Var
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType
from relay_tune.training.parameters import no_parameter, parameters_of, scalars_of, with_parameters
from relay_tune.typing.infer import infer_types
from relay_tune.typing.type_text import type_text


def with_trained_inputs(
    network: Module, parameters: Iterable[str] | None
) -> tuple[Module, tuple[str, ...]]:
    """The network with all that is trained as inputs, and the names of these."""
    typed = infer_types(network)
    inputs = [param.name for param in typed.main.params]
    constants = parameters_of(typed)
    names = tuple(constants) if parameters is None else _names(parameters)
    if not names:
        raise InputError(
            "The network has nothing to train.",
            remedy="Give it weights as constants, or name inputs: parameters=['w'].",
        )
    known = [*constants, *scalars_of(typed), *inputs]
    for name in names:
        if name not in known:
            raise no_parameter(name, known)
    _require_floats(typed.main.params, names)
    return with_parameters(typed, [name for name in names if name not in inputs]), names


def _names(parameters: object) -> tuple[str, ...]:
    """The names that a user gives, each once."""
    if isinstance(parameters, str) or not isinstance(parameters, Iterable):
        example = "Write them like ['fc.weight'] or {'w': array}."
        raise wrong_type("parameters", "a list of names, or a dict", parameters, example)
    names = tuple(parameters)
    for name in names:
        instance_of(str, name, "A parameter", "Name parameters as parameters_of does.")
        if names.count(name) > 1:
            raise InputError(f"The parameter {name!r} is named twice.", remedy="Name it once.")
    return names


def _require_floats(inputs: Sequence[Var], names: Sequence[str]) -> None:
    """InputError where an input is to be trained that is no tensor of floats."""
    for each in inputs:
        type_ = each.annotation or each.type
        is_tensor = isinstance(type_, TensorType) and is_float(type_.dtype)
        if each.name in names and not is_tensor:
            raise InputError(
                f"The input {each.name!r} cannot be trained: it is "
                f"{'of no type' if type_ is None else type_text(type_)}, no tensor of floats.",
                remedy="Name other inputs or constants in parameters.",
            )
