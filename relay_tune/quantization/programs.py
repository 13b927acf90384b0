"""Programs around a network: run natively, with tensors from its inside as further outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from relay_tune.building.build import build
from relay_tune.errors import InputError, RelayError
from relay_tune.ir.expr import Expr, Function, Let, Tuple, TupleGetItem, Var
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import free_vars
from relay_tune.ir.types import TensorType, TupleType
from relay_tune.op_rules.typed import tuple_of
from relay_tune.quantization.calibration_data import Sample
from relay_tune.runtime.model import Model
from relay_tune.transform.quantize.layers import straight_nodes


def output_tensors(module: Module) -> list[Expr]:
    """The outputs of a typed network, one by one; InputError where one is no tensor."""
    body = module.main.body
    fields = body.fields if isinstance(body, Tuple) else None
    if fields is None and isinstance(body.type, TupleType):
        types = body.type.fields
        fields = tuple(TupleGetItem(body, n, type=type_) for n, type_ in enumerate(types))
    outputs = [body] if fields is None else list(fields)
    for output in outputs:
        if not isinstance(output.type, TensorType):
            raise InputError(
                "The network cannot be quantized: one of its outputs is no tensor.",
                remedy="Quantize a network of tensors.",
            )
    return outputs


def native_program(
    module: Module, outputs: Sequence[Expr], inputs: Sequence[Var] = (), threads: int | None = None
) -> Model:
    """A build of `main` with other outputs, perhaps from its inside, and more inputs."""
    main = module.main
    whole = tuple_of(list(outputs)) if len(outputs) > 1 else outputs[0]
    for node in straight_nodes(main.body):  # inner bindings first
        if isinstance(node, Let) and node.var in free_vars(whole):
            whole = replace(node, body=whole, type=whole.type)
    function = Function((*main.params, *inputs), whole)
    others = {name: each for name, each in module.functions.items() if name != "main"}
    program = replace(module, functions={**others, "main": function}, attributes={})
    return build(program, threads=threads)


def input_types(module: Module) -> dict[str, TensorType]:
    """The types of the inputs of a typed network by name."""
    types = {param.name: param.type or param.annotation for param in module.main.params}
    return {name: type_ for name, type_ in types.items() if isinstance(type_, TensorType)}


def results(model: Model, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of a call as arrays; errors of a call name the sample."""
    try:
        found = model.run(dict(inputs))
    except RelayError as error:
        if isinstance(inputs, Sample):
            error.where = inputs.origin
        raise
    return [np.asarray(each) for each in found]
