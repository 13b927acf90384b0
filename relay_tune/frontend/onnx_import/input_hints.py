"""Advice on which sizes and values to give, in the names of the model's own inputs."""

from __future__ import annotations

from collections.abc import Collection

from onnx import GraphProto

from relay_tune.errors import (
    FIX_SIZES,
    ModelError,
    RelayError,
    UnsupportedOperatorError,
    telling,
)
from relay_tune.frontend.onnx_import.dynamic_inputs import GUESSES, DeclaredInputs, declared_inputs
from relay_tune.frontend.onnx_import.scope import CHECK_NODE

_GENERAL = (None, CHECK_NODE, ModelError.REMEDY, UnsupportedOperatorError.REMEDY)
"""Remedies that do not know the cause, which may be that sizes are open."""


def add_input_hint(error: RelayError, graph: GraphProto, given: Collection[str]) -> None:
    """Let the remedy of an error at a node name the inputs whose sizes or values may be its cause.

    A model whose inputs, but for those `given`, are all fixed keeps its remedy, and so does an
    error with one of its own, such as of a missing file or of classes that are strings: no sizes
    help there.
    """
    if FIX_SIZES not in (error.remedy or "") and error.remedy not in _GENERAL:
        return
    inputs = declared_inputs(graph)
    shapes, values = _shapes_text(inputs, given), _values_text(inputs, given)
    if not shapes and not values:
        return
    parts = [shapes, values]
    error.notes = (*error.notes, *_notes(inputs, given))
    error.remedy = " ".join(part for part in (*parts, *_other_remedies(error)) if part)


def _other_remedies(error: RelayError) -> tuple[str, ...]:
    """Remedies for those of several faults that sizes and values do not mend."""
    if len(error.refusals) < 2:
        return ()
    return tuple(dict.fromkeys(r.remedy for r in error.refusals if FIX_SIZES not in r.remedy))


def _notes(inputs: DeclaredInputs, given: Collection[str]) -> tuple[str, ...]:
    dynamic = "; ".join(str(each) for each in inputs.dynamic if each.name not in given)
    return (f"Inputs of dynamic size: {dynamic}.",) if dynamic else ()


def _shapes_text(inputs: DeclaredInputs, given: Collection[str]) -> str:
    likely = inputs.likely_shapes(GUESSES[0])
    declared = {each.name: each.sizes or ("",) for each in inputs.dynamic}
    wanted = telling({name: [size or "?" for size in declared[name]] for name in likely})
    shapes = {name: shape for name, shape in likely.items() if name in wanted and name not in given}
    if not shapes:
        return ""
    options = " ".join(f"--shape {n}={','.join(map(str, s))}" for n, s in shapes.items())
    return (
        f"Give the inputs fixed sizes, such as {options} on the command line, or "
        f"from_onnx(model, shapes={shapes}); `tune check` looks for sizes that work."
    )


def _values_text(inputs: DeclaredInputs, given: Collection[str]) -> str:
    values = {name: v[0] for name, v in inputs.deciding.items() if name not in given}
    if not values:
        return ""
    names = ", ".join(values)
    options = " ".join(f"--constant {name}={value}" for name, value in values.items())
    return (
        f"What runs is decided by {names}; give a value, such as {options} on the command line, "
        f"or from_onnx(model, constants={values})."
    )
