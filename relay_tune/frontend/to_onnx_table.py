"""The operators that can be written as ONNX."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from relay_tune.frontend.to_onnx_call import OperatorTranslator
from relay_tune.frontend.to_onnx_elementwise import ELEMENTWISE
from relay_tune.frontend.to_onnx_indexing import INDEXING
from relay_tune.frontend.to_onnx_matmul import MATMULS
from relay_tune.frontend.to_onnx_normalization import NORMALIZATIONS
from relay_tune.frontend.to_onnx_reduction import REDUCTIONS
from relay_tune.frontend.to_onnx_shape import SHAPES
from relay_tune.frontend.to_onnx_windows import WINDOWS

OPERATOR_TRANSLATORS: Mapping[str, OperatorTranslator] = MappingProxyType(
    {
        **ELEMENTWISE,
        **INDEXING,
        **MATMULS,
        **NORMALIZATIONS,
        **REDUCTIONS,
        **SHAPES,
        **WINDOWS,
    }
)
"""Translators by the name of the operator."""
