"""Functions of one byte become tables of its 256 values.

before:
    %0 = multiply(cast(subtract(cast(%x, dtype="int32"), 122), dtype="float32"), 0.02f);
    %1 = multiply(sigmoid(%0), 255f);                          %x: uint8
    cast(minimum(maximum(round(%1), 0f), 255f), dtype="uint8")

after:
    qnn.lookup(%x, table)                                      table: what it is for 0 .. 255

The elements of a table are those that the operators' references have. What a quantizer writes of an
activation, each step with conversions to and from floats, is one table. It is looked up in front of
a reshape, so that it is part of the kernel which the bytes are from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import ClassVar

import numpy as np

from relay_tune.codegen.target import native_target
from relay_tune.errors import InputError
from relay_tune.ir.expr import Call, Constant, Expr
from relay_tune.ir.module import Module
from relay_tune.ir.operator import FusionKind, Operator
from relay_tune.ir.provenance import made_for
from relay_tune.ir.traversal import children, post_order, rebuild
from relay_tune.machine.machine import Machine
from relay_tune.op_rules.fusion.table import fusion_rule
from relay_tune.op_rules.matching import tensor_type
from relay_tune.op_rules.typed import call, constant_of, recall
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.nests.operation_count import LOOKUP
from relay_tune.tensor.byte_lookup import BYTE_TYPES, TABLE_SIZE
from relay_tune.tensor.scalar_semantics import Array
from relay_tune.transform.module_pass import map_scopes, same_scope


@dataclass(frozen=True)
class TabulateBytes:
    """Looks up functions of one byte where the machine has tables in registers.

    Fields:
        tables: "auto" (on machines that look up bytes in registers, functions that take more
            instructions than a lookup), "always" or "never".
        machine: that decides; by default the processor that runs the pass.
    """

    name: ClassVar[str] = "tabulate_bytes"
    tables: str = "auto"
    machine: Machine = field(default_factory=lambda: native_target().machine)

    def __post_init__(self) -> None:
        if self.tables not in ("auto", "always", "never"):
            raise InputError(
                f"Tables cannot be used {self.tables!r}.",
                remedy='Use "auto", "always" or "never".',
            )

    def __call__(self, module: Module) -> Module:
        """The module with tables in place of functions of one byte."""
        can = self.tables == "always" or self.machine.looks_up_bytes
        return map_scopes(module, _with_tables) if can and self.tables != "never" else module


def _with_tables(body: Expr) -> Expr:
    nodes = list(post_order(body, enter=same_scope))
    sources = _sources(nodes)
    done: dict[Expr, Expr] = {}
    for node in nodes:
        with made_for(node.span):
            done[node] = _rewritten(node, sources, done)
    return done[body]


def _rewritten(node: Expr, sources: Mapping[Expr, Expr], done: Mapping[Expr, Expr]) -> Expr:
    source = sources.get(node)
    if source is not None and _is_byte(node):
        chain = _chain(node, source, sources)
        if len(chain) > LOOKUP:
            return _looked_up(source, done, constant_of(_table(chain, source)))
    parts = [done[child] for child in children(node)] if same_scope(node) else []
    return rebuild(node, parts) if parts else node


def _looked_up(source: Expr, done: Mapping[Expr, Expr], table: Constant) -> Expr:
    """The lookup of a byte, in front of the reshapes that it comes through."""
    if isinstance(source, Call) and fusion_rule(source).keeps_order and _is_byte(source):
        inner = _looked_up(source.arguments[0], done, table)
        return recall(source, (inner, *(done[each] for each in source.arguments[1:])))
    return call("qnn.lookup", done[source], table)


def _sources(nodes: Sequence[Expr]) -> dict[Expr, Expr]:
    """For each call that is a function of the elements of one tensor of bytes: that tensor."""
    found: dict[Expr, Expr] = {}
    for node in nodes:
        if not isinstance(node, Call) or not _is_by_elements(node):
            continue
        given = [each for each in node.arguments if not _is_number(each)]
        origins = {found.get(each) or (each if _is_byte(each) else None) for each in given}
        origin = origins.pop() if len(origins) == 1 else None
        if origin is not None:
            own, other = tensor_type(node), tensor_type(origin)
            if own is not None and other is not None and own.shape == other.shape:
                found[node] = origin
    return found


def _is_by_elements(node: Call) -> bool:
    """Whether each element of a call depends only on the elements at its index."""
    operator = node.callee
    if not isinstance(operator, Operator) or operator.stateful:
        return False
    is_elementwise = operator.kind is FusionKind.ELEMENTWISE
    return is_elementwise or (operator.kind is FusionKind.BROADCAST and len(node.arguments) > 1)


def _is_number(node: Expr) -> bool:
    return isinstance(node, Constant) and node.data.ndim == 0


def _is_byte(node: Expr) -> bool:
    type_ = tensor_type(node)
    return type_ is not None and type_.dtype in BYTE_TYPES


def _chain(node: Expr, source: Expr, sources: Mapping[Expr, Expr]) -> list[Call]:
    """The calls that a function of a byte is made of, operands first."""
    inside = post_order(node, enter=lambda each: each in sources and each is not source)
    return [each for each in inside if isinstance(each, Call) and sources.get(each) is source]


def _table(chain: Sequence[Call], source: Expr) -> Array:
    """What a function of a byte is for each of its values."""
    type_ = tensor_type(source)
    assert type_ is not None
    every = np.arange(TABLE_SIZE, dtype=np.uint8).view(type_.dtype)
    values: dict[Expr, Array] = {source: every}
    for node in chain:
        operator = node.callee
        assert isinstance(operator, Operator)
        attributes = node.attributes if node.attributes is not None else operator.attributes()
        given = [e.data if isinstance(e, Constant) else values[e] for e in node.arguments]
        with np.errstate(all="ignore"):
            values[node] = np.asarray(operator.reference(attributes, *given))
    return np.broadcast_to(values[chain[-1]], every.shape).copy()
