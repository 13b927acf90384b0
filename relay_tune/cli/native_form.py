"""Whether a model can be compiled: found out before any work is spent on it."""

from __future__ import annotations

from relay_tune.building.chosen_passes import STANDARD_PASSES, ChosenPasses
from relay_tune.building.named_sizes import with_named_sizes
from relay_tune.building.primitives import require_open_code
from relay_tune.building.program_form import (
    fused_module,
    has_open_inputs,
    is_network,
    kernel_functions,
    program_kernels,
    program_module,
)
from relay_tune.errors import InputError, NoNativeCodeError, fix_sizes
from relay_tune.ir.module import Module
from relay_tune.program.kinds import type_of
from relay_tune.program.lower_program import lower_program
from relay_tune.runtime.model import open_inputs
from relay_tune.typing.infer import infer_types
from relay_tune.typing.type_text import type_text


def kernel_count(typed: Module, passes: ChosenPasses = STANDARD_PASSES) -> int | None:
    """How many kernels a typed module becomes; None where its input shapes are open.

    Raises NoNativeCodeError where it cannot be compiled.
    """
    if not is_network(typed):
        return len(kernel_functions(fused_module(typed, passes=passes)))
    if has_open_inputs(typed):
        return None
    return len(list(program_kernels(lower_program(fused_module(typed, passes=passes)))))


def refusal(typed: Module, passes: ChosenPasses = STANDARD_PASSES) -> NoNativeCodeError | None:
    """Why a typed module has no code for all sizes that only a run knows; None where it has.

    Its kernels are lowered, but not written.
    """
    if is_network(typed) and not has_open_inputs(typed):
        return None
    try:
        program = lower_program(program_module(with_named_sizes(typed), passes=passes))
        require_open_code(program_kernels(program))
    except NoNativeCodeError as error:
        return error
    return None


def require_kernels(module: Module, passes: ChosenPasses) -> None:
    """Raise RelayError unless a module becomes kernels, whatever its sizes are."""
    kernel_count(infer_types(module), passes)


def require_fixed_kernels(module: Module, what: str) -> None:
    """Raise RelayError unless a module becomes kernels of fixed sizes; `what` has to be so."""
    typed = infer_types(module)
    if kernel_count(typed) is None:
        open_types = open_inputs({param.name: type_of(param) for param in typed.main.params})
        dynamic = [f"{name}: {type_text(type_)}" for name, type_ in open_types.items()]
        raise InputError(
            f"{what} for fixed sizes, but the model has inputs of dynamic size: "
            f"{', '.join(dynamic)}.",
            remedy=f"{fix_sizes({name: type_.shape for name, type_ in open_types.items()})} "
            "`tune check` prints likely sizes.",
        )
