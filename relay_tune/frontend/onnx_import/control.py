"""Control flow: branches and loops that are known are taken and written out, at import."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.frontend.onnx_import.branch import translate_if
from relay_tune.frontend.onnx_import.loop import translate_loop
from relay_tune.frontend.onnx_import.scan import translate_scan
from relay_tune.frontend.onnx_import.sequence_map import translate_sequence_map
from relay_tune.frontend.onnx_import.subgraph import ControlTranslator

CONTROL_OPERATORS: Mapping[str, ControlTranslator] = {
    "If": translate_if,
    "Loop": translate_loop,
    "Scan": translate_scan,
    "SequenceMap": translate_sequence_map,
}
"""The operators that hold subgraphs."""
