"""Note in the span of each call which shape its result has in the user's program.

before: nn.relu(nn.conv2d(%x, W))          spans say which node of the file, or which line
after:  nn.relu(nn.conv2d(%x, W))          and that its result is (1, 64, 56, 56)

Later passes change layouts and add margins; what they make inherits the span. So the title of a
kernel can show the shape that the user knows (`relay_tune.op.logical_shape`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from relay_tune.ir.expr import Call, Expr
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator
from relay_tune.op.logical_shape import result_shape
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.module_pass import rewrite_calls


@dataclass(frozen=True)
class NoteShapes:
    """Makes spans know the shapes of results."""

    name: ClassVar[str] = "note_shapes"

    def __call__(self, module: Module) -> Module:
        """The same module, with other spans."""
        return rewrite_calls(module, _noted)


def _noted(node: Expr) -> Expr:
    if not isinstance(node, Call) or not isinstance(node.callee, Operator) or node.span is None:
        return node
    return replace(node, span=replace(node.span, shape=result_shape(node.type)))
