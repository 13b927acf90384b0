"""The table of all ONNX operators that have a direct translation."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.frontend.onnx_ops_activation import ACTIVATIONS
from relay_tune.frontend.onnx_ops_constant import CONSTANTS
from relay_tune.frontend.onnx_ops_convolution import CONVOLUTIONS
from relay_tune.frontend.onnx_ops_elementwise import ELEMENTWISE
from relay_tune.frontend.onnx_ops_image import IMAGES
from relay_tune.frontend.onnx_ops_indexing import INDEXING
from relay_tune.frontend.onnx_ops_matmul import MATMULS
from relay_tune.frontend.onnx_ops_normalization import NORMALIZATIONS
from relay_tune.frontend.onnx_ops_pad import PADS
from relay_tune.frontend.onnx_ops_pooling import POOLS
from relay_tune.frontend.onnx_ops_quantization import QUANTIZATIONS
from relay_tune.frontend.onnx_ops_recurrent import RECURRENT
from relay_tune.frontend.onnx_ops_reduction import REDUCTIONS
from relay_tune.frontend.onnx_ops_resize import RESIZES
from relay_tune.frontend.onnx_ops_sequence import SEQUENCES
from relay_tune.frontend.onnx_ops_shape import SHAPES
from relay_tune.frontend.onnx_ops_signal import SIGNALS
from relay_tune.frontend.onnx_ops_sorting import SORTING
from relay_tune.frontend.onnx_translator import Translator

_STANDARD: Mapping[str, Translator] = {
    **ELEMENTWISE,
    **ACTIVATIONS,
    **REDUCTIONS,
    **SHAPES,
    **INDEXING,
    **CONSTANTS,
    **MATMULS,
    **CONVOLUTIONS,
    **POOLS,
    **NORMALIZATIONS,
    **PADS,
    **RESIZES,
    **SORTING,
    **QUANTIZATIONS,
    **RECURRENT,
    **SEQUENCES,
    **SIGNALS,
    **IMAGES,
}


def find_translator(domain: str, operator: str) -> Translator | None:
    """The translation of an operator of a domain ("" is ONNX itself), or None."""
    return _STANDARD.get(operator) if domain == "" else None
