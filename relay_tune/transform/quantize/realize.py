"""Store weights as integers: the last step of quantization.

before: qnn.dequantize(qnn.quantize(W, S, Z, axis=0), S, Z, axis=0)
after:  qnn.dequantize(Q, S, Z, axis=0)                                   Q: int8

The result is a quantized network as ONNX writes them, which a build computes in integers where the
machine multiplies bytes (`relay_tune.transform.compute_in_integers`).
"""

from __future__ import annotations

from typing import ClassVar

from relay_tune.ir.expr import Expr
from relay_tune.ir.module import Module
from relay_tune.op_rules.quantize.table import STORES
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.fold_constants import FoldConstants
from relay_tune.transform.module_pass import rewrite_calls


@dataclass(frozen=True)
class Realize:
    """Computes the integers of constants."""

    name: ClassVar[str] = "realize"

    def __call__(self, module: Module) -> Module:
        """The module whose weights are integers."""
        fold = FoldConstants()

        def visit(node: Expr) -> Expr:
            return fold.folded(node) if STORES.rule_of(node) is not None else node

        return rewrite_calls(module, visit)
