"""Whether a model can be compiled: found out before any work is spent on it."""

from __future__ import annotations

from relay_tune.building.network import input_type, is_static, network_of, output_types
from relay_tune.building.program_form import fused_module, is_network, kernel_functions
from relay_tune.errors import InputError, fix_sizes
from relay_tune.ir.module import Module
from relay_tune.transform.pipeline import default_pipeline
from relay_tune.typing.infer import infer_types
from relay_tune.typing.type_text import type_text


def kernel_count(typed: Module) -> int | None:
    """How many kernels a typed module becomes; None where its input shapes are open.

    Raises NoNativeCodeError where it cannot be compiled.
    """
    if not is_network(typed):
        return len(kernel_functions(fused_module(typed)))
    output_types(typed)
    if not all(is_static(input_type(param)) for param in typed.main.params):
        return None
    return len(network_of(default_pipeline()(typed)).region.runs)


def require_kernels(module: Module) -> None:
    """Raise RelayError unless a module becomes kernels, whatever its sizes are."""
    kernel_count(infer_types(module))


def require_fixed_kernels(module: Module, what: str) -> None:
    """Raise RelayError unless a module becomes kernels of fixed sizes; `what` has to be so."""
    typed = infer_types(module)
    if kernel_count(typed) is None:
        types = {param.name: input_type(param) for param in typed.main.params}
        open_types = {name: type_ for name, type_ in types.items() if not is_static(type_)}
        dynamic = [f"{name}: {type_text(type_)}" for name, type_ in open_types.items()]
        raise InputError(
            f"{what} for fixed sizes, but the model has inputs of dynamic size: "
            f"{', '.join(dynamic)}.",
            remedy=f"{fix_sizes({name: type_.shape for name, type_ in open_types.items()})} "
            "`tune check` prints likely sizes.",
        )
