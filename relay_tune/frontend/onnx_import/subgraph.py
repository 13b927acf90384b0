"""Interface to a node's graphs for translators of control flow."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onnx import GraphProto

from relay_tune.errors import UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.ir.expr import Expr
from relay_tune.quick_dataclass import dataclass

MAXIMUM_UNROLLED_NODES = 16_384


@dataclass(frozen=True, slots=True)
class Subgraph:
    """A body: how many nodes, inputs and outputs it has.

    `run` translates it anew. `bind_captured` is called before, where it becomes a function that is
    called several times: what it reads of the graphs around is computed once then.
    """

    size: int
    input_count: int
    output_count: int
    run: Callable[[Sequence[Expr | None]], list[Expr]]
    bind_captured: Callable[[], None]

    def can_be_unrolled(self, rounds: int) -> bool:
        """Whether so many copies of the body are not too many."""
        return rounds * (self.size + 1) <= MAXIMUM_UNROLLED_NODES


Enter = Callable[[GraphProto], Subgraph]
ControlTranslator = Callable[[OnnxNode, Builder, Enter], Sequence[Expr | None]]


def check_unrolled(rounds: int, body: Subgraph) -> None:
    """UnsupportedOperatorError where a loop is too long to be written out."""
    if not body.can_be_unrolled(rounds):
        raise UnsupportedOperatorError(
            f"the loop is too long to be written out: more than {rounds - 1} rounds of "
            f"{body.size} nodes."
        )
