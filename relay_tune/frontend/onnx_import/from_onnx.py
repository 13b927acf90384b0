"""ONNX in: a file, its bytes, or a parsed model becomes a typed module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ValueInfoProto

from relay_tune.arguments import by_name, instance_of
from relay_tune.errors import FIX_SIZES, ModelError, RelayError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.branch_ranks import BranchRanks, with_branch_ranks
from relay_tune.frontend.onnx_import.build import Builder, rank_of, tensor_type, type_of, weight
from relay_tune.frontend.onnx_import.declared_types import declared_value_type
from relay_tune.frontend.onnx_import.given_constants import GivenValue, given_constants
from relay_tune.frontend.onnx_import.graph import GraphTranslator
from relay_tune.frontend.onnx_import.input_hints import add_input_hint
from relay_tune.frontend.onnx_import.inputs import Shapes, parameters
from relay_tune.frontend.onnx_import.model import ModelSource, OnnxModel, checked_text, read_model
from relay_tune.frontend.onnx_import.narrow_types import NARROW_TYPES
from relay_tune.frontend.onnx_import.refusals import REFUSED, Refusals
from relay_tune.frontend.onnx_import.scope import GraphScope
from relay_tune.frontend.onnx_import.sequences import NOTHING, converted, nothing
from relay_tune.frontend.onnx_import.support import collect_missing_operators
from relay_tune.frontend.onnx_import.types import dtype_name
from relay_tune.ir.expr import Expr, Function, Var
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType
from relay_tune.std import with_prelude
from relay_tune.typing.infer import infer_types


def from_onnx(
    model: ModelSource,
    *,
    shapes: Shapes | None = None,
    constants: Mapping[str, np.ndarray | bool | float | Sequence[Any]] | None = None,
    name: str = "main",
) -> Module:
    """Import an ONNX model of operator sets 6 to the newest.

    Args:
        model: a path, the bytes of a file, or a parsed ModelProto.
        shapes: sizes for inputs by name, or a size for a symbol by its name (`{"batch": 1}`); a
            symbolic size that is bound is bound in all inputs.
        constants: values for inputs by name: arrays, numbers or lists of them; lists of arrays for
            sequences, None for an empty optional. Such an input is no parameter any more, and what
            it decides is decided at import.
        name: what the function is called in the module.

    Returns:
        A typed module. The parameters are the inputs of the graph, in order and by name; weights
        are constants; several outputs are a tuple. `module.attributes["outputs"]` holds the names
        of the outputs. Sequences and optionals among the inputs are lists and options of the
        prelude. Integers of 2 and 4 bits are int8 or uint8 tensors with their values, and
        floats of 4 and 8 bits uint8 tensors with their bits.

    Raises:
        InputError: the file cannot be read, or `shapes` or `constants` do not fit the inputs.
        ModelError: the model is malformed; says at which nodes.
        UnsupportedOperatorError: lists everything of the model that cannot be imported: operators,
            forms of operators, types of inputs and weights.
    """
    wanted = by_name({} if shapes is None else shapes, "shapes", "{'x': (1, 3, 224, 224)}")
    given = by_name({} if constants is None else constants, "constants", "{'axes': array}")
    instance_of(str, name, "The name of the function", "Omit it for main.")
    content = read_model(model)
    try:
        return with_branch_ranks(lambda ranks: _translated(content, wanted, given, name, ranks))
    except (ModelError, UnsupportedOperatorError) as error:
        if error.where is not None or FIX_SIZES in (error.remedy or ""):
            add_input_hint(error, content.graph, {*wanted, *given})
        raise


def _translated(
    content: OnnxModel,
    wanted: Mapping[str, object],
    given: Mapping[str, object],
    name: str,
    ranks: BranchRanks,
) -> Module:
    """The module; raises one error with all that was refused.

    What ends the translation is listed with what was refused before.
    """
    refusals = Refusals()
    collect_missing_operators(content, refusals)
    translator = GraphTranslator(content.functions, content.folder, refusals, ranks)
    scope = GraphScope(content.opsets)
    params: tuple[Var, ...] = ()
    try:
        params = _define_inputs(content, wanted, given, translator, scope)
        translator.run(content.graph.node, scope)
    except RelayError as error:
        if not refusals:
            raise
        refusals.add_last(error)
    refusals.raise_found()
    names, outputs = _outputs(content, scope, translator.build)
    build = translator.build
    body = build.binding(outputs[0] if len(outputs) == 1 else build.tuple_of(outputs))
    function = Function(params, body, result_type=type_of(body))
    module = Module({name: function}, attributes={"outputs": names})
    complete = with_prelude(module)
    return infer_types(complete) if complete.types else module


def _define_inputs(
    content: OnnxModel,
    wanted: Mapping[str, object],
    given: Mapping[str, object],
    translator: GraphTranslator,
    scope: GraphScope,
) -> tuple[Var, ...]:
    """Name the weights, the inputs that became constants, and the parameters, which it gives."""
    element_types = {each.name: each.type.tensor_type.elem_type for each in content.graph.input}
    translator.define_weights(content.graph, scope)
    for label, given_value in given_constants(content.graph, scope.values, given).items():
        value = _constant(translator.build, given_value)
        translator.build.note_element_type(value, element_types[label])
        scope.define(label, value)
    params = parameters(content.graph, scope.values, wanted, translator.refusals)
    for param in params:
        scope.define(param.name, param)
        translator.build.note_element_type(param, element_types[param.name])
        translator.build.note_sizes(param)
    for declared in content.graph.input:
        if declared.name not in scope.values:
            scope.define(declared.name, REFUSED)
    return params


def _constant(build: Builder, value: GivenValue) -> Expr:
    """A value that is given, as an expression."""
    match value:
        case None:
            return nothing()
        case list():
            return build.tuple_of([_constant(build, each) for each in value])
        case _:
            return weight(value)


def _outputs(
    model: OnnxModel, scope: GraphScope, build: Builder
) -> tuple[tuple[str, ...], list[Expr]]:
    names: list[str] = []
    outputs: list[Expr] = []
    for declared in model.graph.output:
        name = checked_text(declared.name, "output name")
        value = scope.values.get(name)
        if value is None:
            raise ModelError(f"The output {name!r} of the model is computed by no node.")
        if value.type == NOTHING:
            value = converted(build, value, declared_value_type(declared.type, name))
        _check_dtype(name, declared, value, build)
        if build.branch_ranks.chosen:
            _check_rank(name, declared, value)
        names.append(name)
        outputs.append(value)
    if not outputs:
        raise ModelError("The model has no outputs.")
    return tuple(names), outputs


def _check_rank(name: str, declared: ValueInfoProto, value: Expr) -> None:
    """Raise ModelError where an output has not the rank that the file declares, if it does.

    No axes are no declaration: writers of files leave them out where they know nothing.
    """
    wanted = len(declared.type.tensor_type.shape.dim)
    if not wanted or not isinstance(value.type, TensorType):
        return
    found = rank_of(value)
    if found != wanted:
        raise ModelError(f"The output {name!r} is declared with {wanted} axes, but has {found}.")


def _check_dtype(name: str, declared: object, value: Expr, build: Builder) -> None:
    tensor = getattr(declared, "type", None)
    kind = tensor.tensor_type.elem_type if tensor is not None else 0
    if not kind or not isinstance(value.type, TensorType):
        return
    narrow = NARROW_TYPES.get(kind)
    wanted = narrow.name if narrow is not None else dtype_name(kind, f"The output {name!r}")
    stored = build.narrow.get(value)
    found = tensor_type(value).dtype if stored is None else stored.name
    if found != wanted:
        raise ModelError(
            f"The output {name!r} is declared as {wanted}, but is computed as {found}."
        )
