"""Names of values while a graph is walked, and the locations of nodes in messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field

from onnx import AttributeProto, NodeProto

from relay_tune.errors import ModelError, NodeSpan, RelayError, UnsupportedOperatorError
from relay_tune.ir.expr import Expr
from relay_tune.ir.provenance import made_for
from relay_tune.quick_dataclass import dataclass

MAXIMUM_DEPTH = 48

CHECK_NODE = "Check the attributes and the types of the inputs of this node."
"""What to do about a node that cannot be, for a cause that is not known."""


@dataclass(frozen=True, slots=True)
class GraphScope:
    """The values of one graph; a subgraph also sees those of the graphs around it.

    Attributes:
        values: what is computed so far, by name.
        opsets: the version of each operator set.
        parent: the scope around a subgraph; None for a main graph or the body of a function.
        attributes: those of the function call whose body this is.
        depth: how many graphs and functions are around.
        caller: the node whose function body this is.
        is_standard: whether ONNX defines that function, so that its nodes are not the file's.
    """

    opsets: Mapping[str, int]
    values: dict[str, Expr | None] = field(default_factory=dict)
    parent: GraphScope | None = None
    attributes: Mapping[str, AttributeProto] = field(default_factory=dict)
    depth: int = 0
    caller: NodeSpan | None = None
    is_standard: bool = False

    def find(self, name: str) -> Expr | None:
        """The value called `name`, None for the empty name; raises ModelError if there is none."""
        if not name:
            return None
        scope = self._with(name)
        if scope is None:
            raise ModelError(
                f"the value {name!r} is used before it is computed.",
                notes=(
                    "Nodes must be sorted, without cycles, and every value must have a source.",
                ),
            )
        return scope.values[name]

    def bind_once(self, name: str, bind: Callable[[Expr], Expr]) -> None:
        """Call what `bind` makes of a value by its name here; nothing if there is none yet."""
        scope = self._with(name)
        value = None if scope is None else scope.values[name]
        if value is not None:
            self.values[name] = bind(value)

    def _with(self, name: str) -> GraphScope | None:
        """The innermost scope that has a value of this name."""
        scope: GraphScope | None = self
        while scope is not None and name not in scope.values:
            scope = scope.parent
        return scope

    def define(self, name: str, value: Expr | None) -> None:
        """Name a value; raises ModelError if the name is taken."""
        if not name:
            return
        if name in self.values:
            raise ModelError(f"the value {name!r} is computed twice.")
        self.values[name] = value

    def inner(self) -> GraphScope:
        """The scope of a subgraph."""
        depth = self._next_depth()
        return GraphScope(
            self.opsets, {}, self, self.attributes, depth, self.caller, self.is_standard
        )

    def function(
        self,
        opsets: Mapping[str, int],
        attributes: Mapping[str, AttributeProto],
        caller: NodeSpan,
        *,
        is_standard: bool,
    ) -> GraphScope:
        """The scope of the body of a function that a node calls here."""
        depth = self._next_depth()
        return GraphScope(opsets, {}, None, attributes, depth, caller, is_standard)

    def span(self, node: NodeProto) -> NodeSpan:
        """The span of a node: of what it stands for in the file."""
        if self.caller is None:
            return NodeSpan.of(node_label(node), node.op_type)
        if self.is_standard:
            return self.caller
        return NodeSpan.of(f"{self.caller.name}/{node_label(node)}", node.op_type)

    def _next_depth(self) -> int:
        if self.depth >= MAXIMUM_DEPTH:
            raise ModelError(
                f"functions and subgraphs are nested more than {MAXIMUM_DEPTH} deep, "
                "or a function calls itself."
            )
        return self.depth + 1


def node_label(node: NodeProto) -> str:
    """The name of a node, or one made of its first output."""
    return str(node.name or next((name for name in node.output if name), "") or "unnamed")


@contextmanager
def located(span: NodeSpan) -> Iterator[None]:
    """Give nodes made inside the ONNX node's span; any failure is one error that names it."""
    where = str(span)
    try:
        with made_for(span):
            yield
    except (ModelError, UnsupportedOperatorError) as error:
        if error.where is None:
            error.where = where
        raise
    except RelayError as error:
        raise ModelError(
            error.message, where=where, notes=error.notes, remedy=error.remedy
        ) from error
    except (ValueError, TypeError, LookupError, ArithmeticError, MemoryError) as error:
        raise ModelError(
            f"the node contradicts itself: {error}",
            where=where,
            remedy=CHECK_NODE,
        ) from error
