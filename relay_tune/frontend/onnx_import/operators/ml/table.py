"""The operators of ai.onnx.ml that have a translation."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.errors import UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.ml.features import FEATURES
from relay_tune.frontend.onnx_import.operators.ml.linear import LINEAR
from relay_tune.frontend.onnx_import.operators.ml.support_vectors import SUPPORT_VECTORS
from relay_tune.frontend.onnx_import.operators.ml.trees import TREES
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.ir.expr import Expr


def refuse_maps(node: OnnxNode, build: Builder) -> Expr:
    """Raise UnsupportedOperatorError: maps from names to numbers are no tensors."""
    raise UnsupportedOperatorError(
        f"{node.operator} makes or takes maps, which are not supported.",
        remedy="Export the model without it: options={'zipmap': False} of skl2onnx.",
    )


CLASSICAL: Mapping[str, Translator] = {
    **FEATURES,
    **LINEAR,
    **SUPPORT_VECTORS,
    **TREES,
    "ZipMap": refuse_maps,
}
