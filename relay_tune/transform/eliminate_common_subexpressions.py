"""Compute equal expressions once.

before: add(nn.relu(%x), nn.relu(%x))          two calls
after:  %0 = nn.relu(%x); add(%0, %0)          one call, used twice
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

from relay_tune.ir.expr import Attributes, Call, Constant, Expr, Tuple, TupleGetItem
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import rewrite
from relay_tune.op_rules.indices.uses import can_fail
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.branches.activation import has_branches
from relay_tune.transform.module_pass import map_scopes, same_scope


@dataclass(frozen=True)
class EliminateCommonSubexpressions:
    """Merges equal calls, tuples and constants within each function.

    Fields:
        maximum_constant_bytes: larger constants are equal only if they are the same object.
    """

    name: ClassVar[str] = "eliminate_common_subexpressions"
    maximum_constant_bytes: int = 4096

    def __call__(self, module: Module) -> Module:
        """The module with every value computed once in a function."""
        return map_scopes(module, self._merge)

    def _merge(self, body: Expr) -> Expr:
        """Hash consing: children are merged first, so equal children are the same object.

        Calls of two branches that can fail stay apart: neither branch may be taken.
        """
        known: dict[Hashable, Expr] = {}
        branches = has_branches(body)

        def visit(node: Expr) -> Expr:
            key = None if branches and can_fail(node) else self._key(node)
            return node if key is None else known.setdefault(key, node)

        return rewrite(body, visit, enter=same_scope)

    def _key(self, node: Expr) -> Hashable | None:
        """What makes a node what it is; None for nodes that are never merged."""
        match node:
            case Call(callee=Operator() as operator) if not operator.stateful:
                return (operator, _attribute_key(node.attributes), node.arguments)
            case Tuple():
                return ("tuple", node.fields)
            case TupleGetItem():
                return ("item", node.tuple_value, node.index)
            case Constant() if node.data.nbytes <= self.maximum_constant_bytes:
                return (node.data.tobytes(), node.data.shape, str(node.data.dtype))
            case Constant():
                return ("constant", id(node.data))
            case _:
                return None


def _attribute_key(attributes: Attributes | None) -> Hashable:
    """Attributes by value; their text tells 1 from 1.0 and from True, which are equal in Python."""
    return None if attributes is None else repr(attributes)
