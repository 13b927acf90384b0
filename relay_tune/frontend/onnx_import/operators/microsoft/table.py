"""The operators of com.microsoft that have a translation."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.frontend.onnx_import.operators.linear_attention import LINEAR_ATTENTION
from relay_tune.frontend.onnx_import.operators.microsoft.also_standard import ALSO_STANDARD
from relay_tune.frontend.onnx_import.operators.microsoft.attention import ATTENTIONS
from relay_tune.frontend.onnx_import.operators.microsoft.block_weights import BLOCK_WEIGHTS
from relay_tune.frontend.onnx_import.operators.microsoft.causal_convolution import (
    CAUSAL_CONVOLUTIONS,
)
from relay_tune.frontend.onnx_import.operators.microsoft.channels_last import CHANNELS_LAST
from relay_tune.frontend.onnx_import.operators.microsoft.experts import EXPERTS
from relay_tune.frontend.onnx_import.operators.microsoft.fused import FUSIONS
from relay_tune.frontend.onnx_import.operators.microsoft.gates import GATES
from relay_tune.frontend.onnx_import.operators.microsoft.grouped_attention import (
    translate_group_query_attention,
)
from relay_tune.frontend.onnx_import.operators.microsoft.inverse import INVERSES
from relay_tune.frontend.onnx_import.operators.microsoft.quantized import QUANTIZED
from relay_tune.frontend.onnx_import.operators.microsoft.table_weights import TABLE_WEIGHTS
from relay_tune.frontend.onnx_import.operators.translator import Translator

MICROSOFT: Mapping[str, Translator] = {
    **FUSIONS,
    **ATTENTIONS,
    **QUANTIZED,
    **BLOCK_WEIGHTS,
    **ALSO_STANDARD,
    **EXPERTS,
    **CHANNELS_LAST,
    **LINEAR_ATTENTION,
    **CAUSAL_CONVOLUTIONS,
    **GATES,
    **INVERSES,
    **TABLE_WEIGHTS,
    "GroupQueryAttention": translate_group_query_attention,
}
