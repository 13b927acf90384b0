"""Bring a weight that many products read into panels once, where that is estimated to cost less.

before: nn.dense(%h1, %w); nn.dense(%h2, %w); ..                    the steps of a recurrence
after:  %p = transpose(reshape(%w, ..)); nn.batch_matmul(%h1, %p); nn.batch_matmul(%h2, %p); ..

For weights that are no constants, as in training; constants are packed when the program is built.
A kernel of few rows does not copy its weight by itself, which it reads once or twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import field
from typing import ClassVar

from relay_tune.codegen.target import native_target
from relay_tune.ir.expr import Expr, Var
from relay_tune.ir.module import Module
from relay_tune.ir.provenance import made_for
from relay_tune.ir.traversal import post_order
from relay_tune.machine.machine import Machine
from relay_tune.op_rules.segments import is_kept_apart
from relay_tune.op_rules.shared_panels import SharedProduct, shared_product
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.branches.activation import branch_plan, has_branches
from relay_tune.transform.layout.kernel_cost import kernel_cycles
from relay_tune.transform.module_pass import map_scopes, replace_nodes, same_scope

LEAST_READERS = 4
"""Products that are worth a look; a copy costs about as much as one of few rows."""

LEAST_GAIN = 0.1
"""The share of the estimate that has to be saved: what follows is a kernel of its own behind it."""


@dataclass(frozen=True)
class SharePanels:
    """Brings weights of many products into panels.

    Fields:
        machine: that costs are estimated for; by default the processor that runs the pass.
        accuracy: of the algorithms whose costs are estimated.
    """

    name: ClassVar[str] = "share_panels"
    machine: Machine = field(default_factory=lambda: native_target().machine)
    accuracy: Accuracy = Accuracy.FAST

    def __call__(self, module: Module) -> Module:
        """The module in which weights are in panels."""
        return map_scopes(module, self._with_panels)

    def _with_panels(self, body: Expr) -> Expr:
        replacements: dict[Expr, Expr] = {}
        for products in _by_weight(body):
            if len(products) < LEAST_READERS or not self._pays(products):
                continue
            with made_for(products[0].product.span):
                panels = products[0].panels(products[0].weight)
            for each in products:
                rows = each.product.arguments[0]
                with made_for(each.product.span):
                    replacements[each.product] = each.with_panels(rows, panels)
        return replace_nodes(body, replacements)

    def _pays(self, products: Sequence[SharedProduct]) -> bool:
        """Whether the estimates with panels, and for making them, are below those without."""
        kinds = {repr(each.product.arguments[0].type): each for each in products}
        counts = Counter(repr(each.product.arguments[0].type) for each in products)
        weight = _variable("weight", products[0].weight)
        panels = _variable("panels", products[0].panels(weight))
        before, after = 0.0, self._cycles((weight,), products[0].panels(weight))
        for kind, each in kinds.items():
            rows = _variable("rows", each.product.arguments[0])
            before += counts[kind] * self._cycles((rows, weight), each.on(rows, weight))
            after += counts[kind] * self._cycles((rows, panels), each.with_panels(rows, panels))
        return after < (1 - LEAST_GAIN) * before

    def _cycles(self, variables: tuple[Var, ...], body: Expr) -> float:
        return kernel_cycles(variables, body, self.machine, self.accuracy)


def _by_weight(body: Expr) -> list[list[SharedProduct]]:
    """The products of one branch that read one weight in the same way.

    Rows that wait for others are multiplied later: panels would be kept until then.
    """
    nodes = list(post_order(body, enter=same_scope))
    homes = branch_plan(body).homes if has_branches(body) else {}
    found: dict[Hashable, list[SharedProduct]] = {}
    for node in nodes:
        product = shared_product(node)
        if product is not None and not is_kept_apart(product.product.arguments[0]):
            home = id(homes[node]) if homes else None
            key = (product.weight, product.output_axis, home)
            found.setdefault(key, []).append(product)
    return list(found.values())


def _variable(name: str, like: Expr) -> Var:
    return Var(name, like.type, type=like.type)
