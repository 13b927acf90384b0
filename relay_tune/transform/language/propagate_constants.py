"""Put constants where they are used: through bindings, closures and parameters.

before:
    def @cell(%x: Tensor[(4), float32], %w: Tensor[(8, 4), float32]) { nn.dense(%x, %w) }
    def @main(%x: Tensor[(4), float32]) {
      let %weight = meta[relay.Constant][0];
      @cell(%x, %weight)
    }

after:
    def @cell(%x: Tensor[(4), float32]) { nn.dense(%x, meta[relay.Constant][0]) }
    def @main(%x: Tensor[(4), float32]) { @cell(%x) }

A parameter is a constant where every call of the function is known and gives it the same one; that
a recursive function hands it on to itself changes nothing. Where its type has sizes with names, or
open ones, it stays: other values of the function have these sizes, too. So kernels find their
weights in the arguments of operators, and can have them in the order in which they read them. This
is the optimistic interprocedural propagation of Wegman and Zadeck, "Constant Propagation with
Conditional Branches" (TOPLAS 1991), section 6, without the branches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator
from dataclasses import replace
from typing import ClassVar

from relay_tune.ir.expr import Call, Constant, Expr, Function, GlobalVar, Let, Var
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import children, post_order, rewrite_with_original
from relay_tune.ir.types import TensorType
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.infer import infer_types

LARGEST_COMPARED = 4096
"""Constants of more bytes are the same only if they are the same array."""


@dataclass(frozen=True)
class PropagateConstants:
    """Replaces variables that stand for one constant; `entry` keeps its parameters."""

    name: ClassVar[str] = "propagate_constants"
    entry: str = "main"

    def __call__(self, module: Module) -> Module:
        """The module with constants in place of variables, typed anew."""
        flow = _ConstantFlow(module, self.entry)
        constants = flow.solve()
        if not constants:
            return module
        functions = {
            name: _rewritten(function, flow, constants)
            for name, function in module.functions.items()
        }
        return infer_types(replace(module, functions=functions))


def _rewritten(root: Function, flow: _ConstantFlow, constants: dict[Var, Constant]) -> Function:
    targets: dict[Expr, Function] = {}
    for node in post_order(root):
        target = flow.target(node.callee) if isinstance(node, Call) else None
        if target is not None:
            targets[node] = target

    def visit(original: Expr, node: Expr) -> Expr:
        if isinstance(original, Var):
            return constants.get(original, node)
        if isinstance(original, Let) and isinstance(node, Let) and original.var in constants:
            return node.body
        if isinstance(node, Call) and original in targets:
            pairs = zip(node.arguments, targets[original].params, strict=True)
            kept = tuple(argument for argument, param in pairs if param not in constants)
            return node if len(kept) == len(node.arguments) else replace(node, arguments=kept)
        if isinstance(node, Function) and any(param in constants for param in node.params):
            params = tuple(param for param in node.params if param not in constants)
            return replace(node, params=params, type=None)
        return node

    result = rewrite_with_original(root, visit)
    assert isinstance(result, Function)
    return result


class _ConstantFlow:
    """Which variables get their value from where."""

    def __init__(self, module: Module, entry: str) -> None:
        self._module = module
        self._local: dict[Var, Function] = {}
        self._sources: dict[Var, list[Expr]] = {}
        nodes = [n for function in module.functions.values() for n in _outside_kernels(function)]
        for node in nodes:
            if isinstance(node, Let):
                self._add_binding(node)
        escaped = {module.functions[entry]} if entry in module.functions else set()
        for node in nodes:
            escaped |= self._escaping(node)
        for node in nodes:
            target = self.target(node.callee) if isinstance(node, Call) else None
            if target is not None and target not in escaped and isinstance(node, Call):
                for param, argument in zip(target.params, node.arguments, strict=True):
                    self._sources.setdefault(param, []).append(argument)

    def target(self, callee: Expr) -> Function | None:
        """The function that a callee certainly is."""
        match callee:
            case GlobalVar():
                return self._module.functions.get(callee.name)
            case Var():
                return self._local.get(callee)
            case Function() if not callee.is_primitive:
                return callee
            case _:
                return None

    def solve(self) -> dict[Var, Constant]:
        """The variables that stand for one constant."""
        users: dict[Var, list[Var]] = {}
        for var, sources in self._sources.items():
            for source in sources:
                if isinstance(source, Var):
                    users.setdefault(source, []).append(var)
        found: dict[Var, Constant | None] = {}
        pending = deque(self._sources)
        while pending:
            var = pending.popleft()
            known, value = self._meet(var, found)
            if known and (var not in found or found[var] is not value):
                found[var] = value
                pending.extend(users.get(var, ()))
        return {var: value for var, value in found.items() if value is not None}

    def _meet(self, var: Var, found: dict[Var, Constant | None]) -> tuple[bool, Constant | None]:
        """Whether something is known of a variable, and its constant, None if it has none."""
        values: dict[Hashable, Constant] = {}
        for source in self._sources[var]:
            match source:
                case Constant():
                    values.setdefault(_identity(source), source)
                case Var() if source in found:
                    value = found[source]
                    if value is None:
                        return True, None
                    values.setdefault(_identity(value), value)
                case Var() if source in self._sources:
                    continue
                case _:
                    return True, None
        if len(values) > 1 or not all(_has_type_of(var, value) for value in values.values()):
            return True, None
        return bool(values), next(iter(values.values()), None)

    def _add_binding(self, node: Let) -> None:
        if isinstance(node.value, Function):
            if not node.value.is_primitive and node.var.annotation is None:
                self._local[node.var] = node.value
        else:
            self._sources[node.var] = [node.value]

    def _escaping(self, node: Expr) -> set[Function]:
        """The functions that a node uses in another way than to call or to name them."""
        parts = children(node)
        if isinstance(node, Call):
            parts = node.arguments
        elif isinstance(node, Let) and self._local.get(node.var) is node.value:
            parts = (node.body,)
        found = (self.target(part) for part in parts)
        return {function for function in found if function is not None}


def _has_type_of(var: Var, constant: Constant) -> bool:
    """Whether a variable has the sizes of a constant; there may be names for them instead."""
    type_ = var.annotation or var.type
    data = constant.data
    return type_ is None or type_ == TensorType(data.shape, data.dtype.name)


def _identity(constant: Constant) -> Hashable:
    data = constant.data
    if data.nbytes > LARGEST_COMPARED:
        return id(data)
    return data.tobytes(), data.shape, data.dtype.name


def _outside_kernels(function: Function) -> Iterator[Expr]:
    return post_order(
        function, enter=lambda node: not (isinstance(node, Function) and node.is_primitive)
    )
