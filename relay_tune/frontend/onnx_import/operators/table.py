"""The table of all ONNX operators that have a direct translation."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.frontend.onnx_import.operators.activation import ACTIVATIONS
from relay_tune.frontend.onnx_import.operators.blocks import BLOCKS
from relay_tune.frontend.onnx_import.operators.boxes import BOXES
from relay_tune.frontend.onnx_import.operators.constant import CONSTANTS
from relay_tune.frontend.onnx_import.operators.convolution import CONVOLUTIONS
from relay_tune.frontend.onnx_import.operators.deformable import DEFORMABLE
from relay_tune.frontend.onnx_import.operators.determinant import DETERMINANTS
from relay_tune.frontend.onnx_import.operators.elementwise import ELEMENTWISE
from relay_tune.frontend.onnx_import.operators.expand import EXPANSIONS
from relay_tune.frontend.onnx_import.operators.image import IMAGES
from relay_tune.frontend.onnx_import.operators.indexing import INDEXING
from relay_tune.frontend.onnx_import.operators.integer_products import INTEGER_PRODUCTS
from relay_tune.frontend.onnx_import.operators.linear_attention import LINEAR_ATTENTION
from relay_tune.frontend.onnx_import.operators.matmul import MATMULS
from relay_tune.frontend.onnx_import.operators.microsoft.causal_convolution import (
    CAUSAL_CONVOLUTIONS,
)
from relay_tune.frontend.onnx_import.operators.microsoft.table import MICROSOFT
from relay_tune.frontend.onnx_import.operators.ml.table import CLASSICAL
from relay_tune.frontend.onnx_import.operators.ngrams import NGRAMS
from relay_tune.frontend.onnx_import.operators.normalization import NORMALIZATIONS
from relay_tune.frontend.onnx_import.operators.pad import PADS
from relay_tune.frontend.onnx_import.operators.pooling import POOLS
from relay_tune.frontend.onnx_import.operators.quantization import QUANTIZATIONS
from relay_tune.frontend.onnx_import.operators.quantized_layers import QUANTIZED_LAYERS
from relay_tune.frontend.onnx_import.operators.random import RANDOM
from relay_tune.frontend.onnx_import.operators.recurrent import RECURRENT
from relay_tune.frontend.onnx_import.operators.reduction import REDUCTIONS
from relay_tune.frontend.onnx_import.operators.region_maxima import REGION_MAXIMA
from relay_tune.frontend.onnx_import.operators.resize import RESIZES
from relay_tune.frontend.onnx_import.operators.sequence import SEQUENCES
from relay_tune.frontend.onnx_import.operators.shape import SHAPES
from relay_tune.frontend.onnx_import.operators.signal import SIGNALS
from relay_tune.frontend.onnx_import.operators.sorting import SORTING
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.operators.unique import UNIQUES
from relay_tune.frontend.onnx_import.operators.window_elements import WINDOW_ELEMENTS

_STANDARD: Mapping[str, Translator] = {
    **ELEMENTWISE,
    **ACTIVATIONS,
    **REDUCTIONS,
    **SHAPES,
    **EXPANSIONS,
    **BLOCKS,
    **INDEXING,
    **CONSTANTS,
    **MATMULS,
    **LINEAR_ATTENTION,
    **CONVOLUTIONS,
    **CAUSAL_CONVOLUTIONS,
    **POOLS,
    **NORMALIZATIONS,
    **WINDOW_ELEMENTS,
    **BOXES,
    **UNIQUES,
    **NGRAMS,
    **DEFORMABLE,
    **DETERMINANTS,
    **PADS,
    **REGION_MAXIMA,
    **RESIZES,
    **SORTING,
    **QUANTIZATIONS,
    **INTEGER_PRODUCTS,
    **QUANTIZED_LAYERS,
    **RANDOM,
    **RECURRENT,
    **SEQUENCES,
    **SIGNALS,
    **IMAGES,
}


_DOMAINS: Mapping[str, Mapping[str, Translator]] = {
    "": _STANDARD,
    "com.microsoft": MICROSOFT,
    "ai.onnx.ml": CLASSICAL,
}


def find_translator(domain: str, operator: str) -> Translator | None:
    """The translation of an operator of a domain ("" is ONNX itself), or None."""
    return _DOMAINS.get(domain, {}).get(operator)
