"""Replace operators that are compositions of simpler ones by those.

before: nn.batch_norm(%x, %gamma, %beta, %mean, %variance).0
after:  add(multiply(%x, %scale), %shift), with %scale and %shift computed from the statistics
        (by constant folding at build time, where these are constants)
"""

from __future__ import annotations

from typing import ClassVar

from relay_tune.ir.expr import Call, Expr, TupleGetItem
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator
from relay_tune.op_rules.typed import resolved_item, with_types
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.module_pass import rewrite_calls

MAXIMUM_NESTING = 16
"""How many levels of compositions may stand on each other."""


@dataclass(frozen=True)
class SimplifyInference:
    """Expands each operator that has a composition, unless `keep` names it."""

    name: ClassVar[str] = "simplify_inference"
    keep: frozenset[str] = frozenset()

    def __call__(self, module: Module) -> Module:
        """The module in simpler operators."""
        for _ in range(MAXIMUM_NESTING):
            simplified = rewrite_calls(module, self._visit)
            if simplified is module:
                return module
            module = simplified
        return module

    def _visit(self, node: Expr) -> Expr:
        if isinstance(node, TupleGetItem):
            return resolved_item(node)
        if not isinstance(node, Call) or not isinstance(node.callee, Operator):
            return node
        operator = node.callee
        if operator.composition is None or operator.name in self.keep:
            return node
        return expanded(node)


def expanded(node: Call) -> Expr:
    """A typed call in simpler operators; itself if its operator is no composition."""
    operator = node.callee
    types = tuple(argument.type for argument in node.arguments if argument.type is not None)
    if not isinstance(operator, Operator) or operator.composition is None:
        return node
    if len(types) != len(node.arguments):
        return node
    attributes = node.attributes if node.attributes is not None else operator.attributes()
    return with_types(operator.composition(attributes, node.arguments, types))
