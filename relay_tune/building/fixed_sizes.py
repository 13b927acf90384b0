"""Networks with one size for each axis of their inputs.

    before:  def @main(%x: Tensor[(n, c), float32]) {
               let %v: Tensor[(n, ?), float32] = nn.relu(%x);
               let %w: Tensor[(n, 6), float32] = %v; .. }       with {"x": (2, 4)}
    after:   a TypeInferenceError: %w has 6 columns, its value has 4

All sizes are known then: what annotations forget by a `?` is compared here, as nothing compares it
when the network runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from relay_tune.ir.dim import Dim, UnknownDim
from relay_tune.ir.expr import Expr, Let, Var
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import post_order, rewrite
from relay_tune.ir.types import TensorType, Type
from relay_tune.transform.fix_input_shapes import FixInputShapes
from relay_tune.typing.infer import infer_types


def with_fixed_sizes(network: Module, shapes: Mapping[str, tuple[Dim, ...]]) -> Module:
    """A typed network for inputs of these shapes; TypeInferenceError if it has no type then."""
    fixed = FixInputShapes(shapes)(network)
    main = fixed.main
    new = {
        node.var: Var(node.var.name, span=node.var.span)
        for node in post_order(main)
        if isinstance(node, Let) and _is_open(node.var.annotation)
    }

    def visit(node: Expr) -> Expr:
        if isinstance(node, Var):
            return new.get(node, node)
        return replace(node, var=new.get(node.var, node.var)) if isinstance(node, Let) else node

    if not new:
        return infer_types(fixed)
    return infer_types(fixed.with_function("main", replace(main, body=rewrite(main.body, visit))))


def _is_open(type_: Type | None) -> bool:
    return isinstance(type_, TensorType) and any(isinstance(d, UnknownDim) for d in type_.shape)
