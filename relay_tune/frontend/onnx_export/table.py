"""The operators that can be written as ONNX."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from relay_tune.frontend.onnx_export.block_weights import BLOCK_WEIGHTS
from relay_tune.frontend.onnx_export.call import OperatorTranslator
from relay_tune.frontend.onnx_export.elementwise import ELEMENTWISE
from relay_tune.frontend.onnx_export.indexing import INDEXING
from relay_tune.frontend.onnx_export.matmul import MATMULS
from relay_tune.frontend.onnx_export.normalization import NORMALIZATIONS
from relay_tune.frontend.onnx_export.quantization import QUANTIZATIONS
from relay_tune.frontend.onnx_export.reduction import REDUCTIONS
from relay_tune.frontend.onnx_export.shape import SHAPES
from relay_tune.frontend.onnx_export.windows import WINDOWS

OPERATOR_TRANSLATORS: Mapping[str, OperatorTranslator] = MappingProxyType(
    {
        **BLOCK_WEIGHTS,
        **ELEMENTWISE,
        **INDEXING,
        **MATMULS,
        **NORMALIZATIONS,
        **QUANTIZATIONS,
        **REDUCTIONS,
        **SHAPES,
        **WINDOWS,
    }
)
"""Translators by the name of the operator."""
