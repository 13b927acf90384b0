"""Compute quantized networks in integers.

before:
    %0 = qnn.dequantize(%x, 0.02f, 3u8);
    %1 = nn.dense(%0, qnn.dequantize(W, 0.01f, 0i8));
    qnn.quantize(nn.relu(%1), 0.05f, 0u8, out_dtype="uint8")

after:
    %0 = nn.dense(%x, W, out_dtype="int32");
    %1 = maximum(%0, Z);                                       Z: 3 * the sums of rows of W
    %2 = multiply(cast(subtract(%1, Z), dtype="float32"), 0.004f);
    cast(minimum(maximum(round(%2), 0f), 255f), dtype="uint8")

Rules say of each operator how its result can be stored where its arguments are stored as integers
with a scale and a zero point (`relay_tune.op_rules.quantize`). What has no rule is computed in
float32 from integers that are converted in front of it; so are layers that cost less in float32 on
a machine, by the estimate of kernels' costs. Sums are exact, whatever the accuracy, and
a result is rounded once: it differs from that of sums in float32 by one where these are on the
other side of a half. A product whose sums might not fit int32 stays in float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import partial
from typing import ClassVar

import numpy as np

from relay_tune.codegen.target import native_target
from relay_tune.errors import InputError
from relay_tune.ir.expr import Call, Constant, Expr, Tuple
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator
from relay_tune.ir.provenance import made_for
from relay_tune.ir.traversal import children, post_order, rebuild
from relay_tune.machine.machine import Machine
from relay_tune.op_rules.quantize.rule import Given
from relay_tune.op_rules.quantize.table import AFFINE, SOURCES, STORES
from relay_tune.op_rules.typed import constant_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.integer_costs import IntegerCosts
from relay_tune.transform.module_pass import map_scopes, same_scope


@dataclass(frozen=True)
class ComputeInIntegers:
    """Computes on what is stored where that costs less than in float32.

    Fields:
        integers: "auto" (layers whose estimate says so, on machines with dot products of narrow
            integers), "always" or "never".
        machine: that costs are estimated for; by default the processor that runs the pass.
        accuracy: of the algorithms that float32 may use.
    """

    name: ClassVar[str] = "compute_in_integers"
    integers: str = "auto"
    machine: Machine = field(default_factory=lambda: native_target().machine)
    accuracy: Accuracy = Accuracy.FAST

    def __post_init__(self) -> None:
        if self.integers not in ("auto", "always", "never"):
            raise InputError(
                f"Integers cannot be used {self.integers!r}.",
                remedy='Use "auto", "always" or "never".',
            )

    def __call__(self, module: Module) -> Module:
        """The module with products of bytes."""
        can = self.integers == "always" or self.machine.multiplies_words
        if self.integers == "never" or not can:
            return module
        costs = IntegerCosts(self.machine, self.accuracy) if self.integers == "auto" else None
        return map_scopes(module, partial(_in_integers, costs))


def _in_integers(costs: IntegerCosts | None, body: Expr) -> Expr:
    nodes = list(post_order(body, enter=same_scope))
    if not any(SOURCES.rule_of(node) for node in nodes):
        return body
    stored: dict[Expr, Given] = {}
    done: dict[Expr, Expr] = {}
    for node in nodes:
        parts = [done[child] for child in children(node)] if same_scope(node) else []
        with made_for(node.span):
            new = rebuild(node, parts) if parts else node
            done[node] = _rewritten(node, new, stored, costs)
    return done[body]


def _rewritten(
    node: Expr, new: Expr, stored: dict[Expr, Given], costs: IntegerCosts | None
) -> Expr:
    """What computes a node; how its result is stored is entered into `stored`."""
    if isinstance(node, Tuple):
        stored[node] = tuple(stored.get(each) for each in node.fields)
        return new
    if not isinstance(node, Call) or not isinstance(new, Call):
        return new
    given = [stored.get(each) for each in node.arguments]
    store, rule = STORES.rule_of(new), AFFINE.rule_of(new)
    if store is not None:
        return store(new, given) or new
    found = None if rule is None else rule(new, given)
    if found is None or (costs is not None and not costs.are_less(new, found)):
        return new
    found = found.like(_folded(found.stored))
    stored[node] = found
    return found.real()


def _folded(integers: Expr) -> Expr:
    """Integers that are moved as the program is compiled, so that they stay constant."""
    match integers:
        case Call(callee=Operator() as operator, arguments=arguments):
            values = _constants(arguments)
            if values is not None:
                attributes = integers.attributes or operator.attributes()
                return constant_of(np.asarray(operator.reference(attributes, *values)))
    return integers


def _constants(arguments: Sequence[Expr]) -> list[np.ndarray] | None:
    values = [each.data for each in arguments if isinstance(each, Constant)]
    return values if len(values) == len(arguments) else None
