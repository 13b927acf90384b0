"""Compute networks of float16 in float32, with each result rounded as before.

before:
    %0 = nn.dense(%x, W);                                          all of float16
    nn.relu(%0)

after:
    %0 = nn.dense(cast(%x, dtype="float32"), cast(W, dtype="float32"));
    %1 = nn.relu(cast(cast(%0, dtype="float16"), dtype="float32"));
    cast(%1, dtype="float16")

Processors have no arithmetic of float16, or it sums in float16: operators compute in float32 and
round each result once. So the numbers are the same; but tensors between kernels are read without
conversions, and convolutions of float32 have more algorithms. Calls that only move elements, or
replace some by 0, need no rounding. What has no form in float32, such as a call whose attribute
names float16, stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar

from relay_tune.errors import RelayError
from relay_tune.ir.expr import Call, Expr, Tuple
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator, RelationError
from relay_tune.ir.provenance import made_for
from relay_tune.ir.traversal import children, post_order, rebuild
from relay_tune.op_rules.matching import tensor_type
from relay_tune.op_rules.quantize.questions import keeps_elements
from relay_tune.op_rules.typed import call, recall
from relay_tune.transform.module_pass import map_scopes, same_scope

NARROW, WIDE = "float16", "float32"


@dataclass(frozen=True)
class ComputeInFloat32:
    """Gives calls on float16 the same numbers as float32."""

    name: ClassVar[str] = "compute_in_float32"

    def __call__(self, module: Module) -> Module:
        """The module with results of float16 between its functions alone."""
        return map_scopes(module, _in_float32)


def _in_float32(body: Expr) -> Expr:
    nodes = list(post_order(body, enter=same_scope))
    if not any(_is_narrow(node) for node in nodes):
        return body
    scope = _Scope({}, {})
    for node in nodes:
        with made_for(node.span):
            scope.enter(node)
    return scope.done[body]


@dataclass(frozen=True, slots=True)
class _Scope:
    """What stands for the nodes of a scope.

    Attributes:
        done: of the type of the node.
        wide: of float32, with the same numbers.
    """

    done: dict[Expr, Expr]
    wide: dict[Expr, Expr]

    def enter(self, node: Expr) -> None:
        """Enter a node whose children are."""
        parts = [self.done[child] for child in children(node)] if same_scope(node) else []
        self.done[node] = rebuild(node, parts) if parts else node
        new = self._computed(node)
        if new is None:
            return
        narrow = call("cast", new, dtype=NARROW)
        self.done[node] = narrow
        self.wide[node] = new if keeps_elements(new) else call("cast", narrow, dtype=WIDE)

    def _computed(self, node: Expr) -> Expr | None:
        """What computes the numbers of a call in float32; None where it stays."""
        if not isinstance(node, Call) or not isinstance(node.callee, Operator):
            return None
        given = [_fields(each) for each in node.arguments]
        if not _is_narrow(node) or not any(_is_narrow(each) for part in given for each in part):
            return None
        if _names_type(node):
            return None
        try:
            new = recall(node, tuple(map(self._widened, node.arguments)))
        except (RelationError, RelayError):
            return None
        before, after = tensor_type(node), tensor_type(new)
        same = before is not None and after == replace(before, dtype=WIDE)
        return new if same else None

    def _widened(self, argument: Expr) -> Expr:
        """An argument in float32 where it is of float16."""
        if isinstance(argument, Tuple):
            return replace(argument, fields=tuple(map(self._widened, argument.fields)), type=None)
        if not _is_narrow(argument):
            return self.done[argument]
        return self.wide.get(argument) or call("cast", self.done[argument], dtype=WIDE)


def _fields(argument: Expr) -> Sequence[Expr]:
    return argument.fields if isinstance(argument, Tuple) else (argument,)


def _is_narrow(node: Expr) -> bool:
    type_ = tensor_type(node)
    return type_ is not None and type_.dtype == NARROW


def _names_type(node: Call) -> bool:
    """Whether an attribute says that the result is of float16."""
    attributes = node.attributes
    named = () if attributes is None else fields(attributes)
    return any(getattr(attributes, each.name) == NARROW for each in named)
