"""The form of a network that is quantized: without what training needs, scales in the weights."""

from __future__ import annotations

from relay_tune.errors import InputError
from relay_tune.ir.module import Module, require_module
from relay_tune.ir.operator import operators
from relay_tune.ir.traversal import post_order
from relay_tune.ir.types import TensorType
from relay_tune.op_rules.quantize.annotations import is_conversion
from relay_tune.transform.eliminate_common_subexpressions import EliminateCommonSubexpressions
from relay_tune.transform.eliminate_dead_code import EliminateDeadCode
from relay_tune.transform.fold_constants import FoldConstants
from relay_tune.transform.fold_scale_axis import FoldScaleAxis
from relay_tune.transform.infer import InferTypes
from relay_tune.transform.language.graph_normal_form import ToGraphNormalForm
from relay_tune.transform.module_pass import ModulePass
from relay_tune.transform.pipeline import Pipeline
from relay_tune.transform.simplify_expression import SimplifyExpression
from relay_tune.transform.simplify_inference import SimplifyInference
from relay_tune.typing.infer import infer_types

TRAINED = frozenset({"nn.batch_norm", "nn.dropout"})
"""Operators with compositions that other operators take in."""


def prepared(module: Module) -> Module:
    """The typed network with batch normalization in its weights.

    Raises InputError where it is quantized already, or an input is no tensor.
    """
    typed = infer_types(require_module(module))
    for param in typed.main.params:
        if not isinstance(param.type or param.annotation, TensorType):
            raise InputError(
                f"The network cannot be quantized: its input {param.name!r} is no tensor.",
                remedy="Quantize a network of tensors.",
            )
    for function in typed.functions.values():
        if any(map(is_conversion, post_order(function.body))):
            raise InputError(
                "The network is quantized already.", remedy="Give the network in float32."
            )
    return Pipeline(_passes())(typed)


def _passes() -> tuple[ModulePass, ...]:
    whole = {each.name for each in operators() if each.composition is not None}
    return (
        InferTypes(),
        EliminateDeadCode(),
        ToGraphNormalForm(),
        SimplifyInference(keep=frozenset(whole - TRAINED)),
        FoldConstants(),
        SimplifyExpression(),
        FoldScaleAxis(),
        SimplifyExpression(),
        FoldConstants(),
        EliminateCommonSubexpressions(),
        InferTypes(),
    )
