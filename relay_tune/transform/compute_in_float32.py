"""Compute networks of float16 in float32, which is what is rounded in the end, or everywhere.

before:
    %0 = nn.dense(%x, W);                                          all of float16
    nn.relu(%0)

after:
    %0 = nn.dense(cast(%x, dtype="float32"), cast(W, dtype="float32"));
    %1 = nn.relu(%0);
    cast(%1, dtype="float16")

after, where each result is rounded:
    %1 = nn.relu(cast(cast(%0, dtype="float16"), dtype="float32"));

Processors have no arithmetic of float16, or it sums in float16: operators compute in float32 and
round each result once. Without what is rounded between them, results have more digits, and batch
normalization becomes part of weights; with it, the numbers are the same. In both cases tensors
between kernels are read without conversions, and convolutions of float32 have more algorithms.
Calls that only move elements, or replace some by 0, need no rounding. What has no form in float32,
such as a call whose attribute names float16, stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, fields, replace
from typing import ClassVar

from relay_tune.errors import RelayError
from relay_tune.ir.expr import Call, Expr, Tuple, TupleGetItem
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator, RelationError
from relay_tune.ir.provenance import made_for
from relay_tune.ir.traversal import children, post_order, rebuild
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.op_rules.quantize.questions import keeps_elements
from relay_tune.op_rules.typed import call, recall
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.module_pass import map_scopes, same_scope

NARROW, WIDE = "float16", "float32"


@dataclass(frozen=True)
class ComputeInFloat32:
    """Gives calls on float16 the same numbers as float32, or ones with more digits.

    Fields:
        accuracy: where it is exact, each result is rounded to float16.
    """

    name: ClassVar[str] = "compute_in_float32"
    accuracy: Accuracy = Accuracy.FAST

    def __call__(self, module: Module) -> Module:
        """The module with results of float16 between its functions alone."""
        rounds = self.accuracy is Accuracy.EXACT
        return map_scopes(module, lambda body: _in_float32(body, rounds))


def _in_float32(body: Expr, rounds: bool) -> Expr:
    nodes = list(post_order(body, enter=same_scope))
    if not any(_is_narrow(node) for node in nodes):
        return body
    scope = _Scope(rounds)
    for node in nodes:
        with made_for(node.span):
            scope.enter(node)
    return scope.done[body]


@dataclass(frozen=True, slots=True)
class _Scope:
    """What stands for the nodes of a scope.

    Attributes:
        rounds: whether numbers in float32 are those of float16.
        done: of the type of the node.
        wide: of float32.
    """

    rounds: bool
    done: dict[Expr, Expr] = field(default_factory=dict)
    wide: dict[Expr, Expr] = field(default_factory=dict)

    def enter(self, node: Expr) -> None:
        """Enter a node whose children are."""
        parts = [self.done[child] for child in children(node)] if same_scope(node) else []
        self.done[node] = rebuild(node, parts) if parts else node
        new = self._field(node) if isinstance(node, TupleGetItem) else self._computed(node)
        if new is None:
            return
        if isinstance(new.type, TupleType):
            self.wide[node] = new
            return
        narrow = call("cast", new, dtype=NARROW)
        is_kept = not self.rounds or (isinstance(new, Call) and keeps_elements(new))
        self.done[node] = narrow
        self.wide[node] = new if is_kept else call("cast", narrow, dtype=WIDE)

    def _field(self, node: TupleGetItem) -> Expr | None:
        """A field of a tuple that is computed in float32."""
        whole = self.wide.get(node.tuple_value)
        if whole is None or not isinstance(whole.type, TupleType):
            return None
        return TupleGetItem(whole, node.index, type=whole.type.fields[node.index])

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
        return new if new.type == _widened_type(node.type) else None

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
    """Whether a tensor, or the tensors of a tuple, are of float16."""
    parts = node.type.fields if isinstance(node.type, TupleType) else (node.type,)
    return all(isinstance(each, TensorType) and each.dtype == NARROW for each in parts)


def _widened_type(type_: Type | None) -> Type | None:
    """A type of float16 in float32."""
    if isinstance(type_, TupleType):
        fields = (_widened_type(each) for each in type_.fields)
        return TupleType(tuple(each for each in fields if each is not None))
    return replace(type_, dtype=WIDE) if isinstance(type_, TensorType) else type_


def _names_type(node: Call) -> bool:
    """Whether an attribute says that the result is of float16."""
    attributes = node.attributes
    named = () if attributes is None else fields(attributes)
    return any(getattr(attributes, each.name) == NARROW for each in named)
