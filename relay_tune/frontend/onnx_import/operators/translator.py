"""The type of a translator of an ONNX operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay_tune.frontend.onnx_import.build import Builder
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.ir.expr import Expr

Translator = Callable[[OnnxNode, Builder], Expr | Sequence[Expr | None]]
"""translate(node, builder) -> its one output, or all outputs (None for one that is left out)."""
