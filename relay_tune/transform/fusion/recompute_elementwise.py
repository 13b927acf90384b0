"""Let kernels compute values of each element again, where that is estimated to cost less.

before:
    %0 = fn (%p) { multiply(%p, 0.7f) }(%x);
    %1 = fn (%p) { erf(%p) }(%0);
    %2 = fn (%p, %d) { multiply(exp(%p), %d) }(%0, %g);

after:
    %1 = fn (%p) { erf(multiply(%p, 0.7f)) }(%x);
    %2 = fn (%p, %d) { multiply(exp(multiply(%p, 0.7f)), %d) }(%x, %g);

A value that a derivative needs is read twice, so that fusion keeps it: one kernel writes it for
others to read. Where it is a cheap function of what is in memory anyway, all of them read that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from math import prod
from typing import ClassVar

from relay_tune.arguments import whole_number
from relay_tune.codegen.target import native_target
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.expr import Call, Expr, Function, Var
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import children, post_order, rebuild, rewrite
from relay_tune.machine.machine import Machine
from relay_tune.op_rules.matching import static_shape, tensor_type
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.effects import module_has_effects
from relay_tune.transform.fusion.call_graph import call_graph
from relay_tune.transform.fusion.kernel_type import kernel_type
from relay_tune.transform.fusion.partition import partition
from relay_tune.transform.fusion.rules import is_pointwise
from relay_tune.transform.kernel_programs import kernel_of
from relay_tune.transform.layout.kernel_cost import kernel_cycles
from relay_tune.transform.module_pass import map_scopes, same_scope

PLAIN = {"Primitive": 1}
"""The attributes of a kernel that computes, and is no other's pattern."""


@dataclass(frozen=True)
class RecomputeElementwise:
    """Inlines kernels of cheap functions of each element into all that read them.

    Fields:
        machine: that costs are estimated for; by default the processor that runs the pass.
        accuracy: of the algorithms whose costs are estimated.
        maximum_group_size: the most operator calls in one kernel.
    """

    name: ClassVar[str] = "recompute_elementwise"
    machine: Machine = field(default_factory=lambda: native_target().machine)
    accuracy: Accuracy = Accuracy.FAST
    maximum_group_size: int = 64

    def __post_init__(self) -> None:
        whole_number(self.maximum_group_size, "maximum_group_size", 1)

    def __call__(self, module: Module) -> Module:
        """The module with fewer kernels; as it is where the order of its calls matters."""
        if module_has_effects(module):
            return module
        return map_scopes(module, self._recomputed)

    def _recomputed(self, body: Expr) -> Expr:
        scope = _Scope(body)
        for value in list(scope.kernels):
            if scope.may_vanish(value):
                inlined = self._inlined(scope, value)
                if inlined is not None:
                    scope.inline(value, inlined)
        return scope.rebuilt()

    def _inlined(self, scope: _Scope, value: Expr) -> dict[Expr, _Kernel] | None:
        """The readers of a value with its kernel in them, if all may have it and it pays."""
        producer = scope.kernels[value]
        readers = {reader: scope.kernels[reader] for reader in scope.readers[value]}
        inlined = {reader: _inlined(producer, value, each) for reader, each in readers.items()}
        if not all(self._is_one_kernel(each) for each in inlined.values()):
            return None
        before = self._cycles(producer, *readers.values())
        return inlined if self._cycles(*inlined.values()) < before else None

    def _is_one_kernel(self, kernel: _Kernel) -> bool:
        """Whether fusion may make one kernel of the calls in a body."""
        nodes = call_graph(kernel.function.body)
        groups = partition(nodes, self.maximum_group_size)
        return len({id(groups.of(node)) for node in nodes}) == 1

    def _cycles(self, *kernels: _Kernel) -> float:
        functions = (each.function for each in kernels)
        return sum(
            kernel_cycles(each.params, each.body, self.machine, self.accuracy) for each in functions
        )


@dataclass(frozen=True, slots=True)
class _Kernel:
    """A kernel and what it is called with, values of the scope as it was."""

    function: Function
    arguments: tuple[Expr, ...]


class _Scope:
    """The kernels of one activation, which change while others are inlined.

    Attributes:
        kernels: by the calls whose values they give, in order of evaluation.
        readers: of each value, kernels.
    """

    def __init__(self, body: Expr) -> None:
        self._body = body
        self._nodes = list(post_order(body, enter=same_scope))
        self._positions = {node: position for position, node in enumerate(self._nodes)}
        self.kernels: dict[Expr, _Kernel] = {}
        self.readers: dict[Expr, dict[Expr, None]] = {}
        self._kept = {body}
        for node in self._nodes:
            kernel = kernel_of(node)
            if kernel is None or not isinstance(node, Call):
                self._kept.update(children(node) if same_scope(node) else ())
                continue
            self.kernels[node] = _Kernel(kernel, node.arguments)
            for argument in node.arguments:
                self.readers.setdefault(argument, {})[node] = None

    def may_vanish(self, value: Expr) -> bool:
        """Whether only kernels that compute read a value of each element, and memory allows it."""
        readers = self.readers.get(value, {})
        if value in self._kept or len(readers) < 2:
            return False
        kernels = [self.kernels[each] for each in (value, *readers)]
        if not all(map(_computes, kernels)) or not _is_elementwise(kernels[0]):
            return False
        return self._held_longer(value) <= _bytes(value)

    def _held_longer(self, value: Expr) -> int:
        """Bytes of arguments that have to be kept for a value's readers alone."""
        last = max(self._positions[reader] for reader in self.readers[value])
        return sum(
            _bytes(argument)
            for argument in dict.fromkeys(self.kernels[value].arguments)
            if argument in self.kernels and not self._is_read_after(argument, value, last)
        )

    def _is_read_after(self, argument: Expr, value: Expr, last: int) -> bool:
        others = (each for each in self.readers[argument] if each is not value)
        return argument in self._kept or any(self._positions[each] >= last for each in others)

    def inline(self, value: Expr, readers: Mapping[Expr, _Kernel]) -> None:
        """Have other kernels for the readers of a value, which nothing reads any more."""
        for argument in self.kernels.pop(value).arguments:
            self.readers[argument].pop(value, None)
        for reader, kernel in readers.items():
            self.kernels[reader] = kernel
            for argument in kernel.arguments:
                self.readers.setdefault(argument, {})[reader] = None
        del self.readers[value]

    def rebuilt(self) -> Expr:
        """The body with the kernels as they are now."""
        done: dict[Expr, Expr] = {}
        for node in self._nodes:
            if not same_scope(node):
                done[node] = node
            elif isinstance(node, Call) and kernel_of(node) is not None:
                if (kernel := self.kernels.get(node)) is not None:
                    arguments = tuple(done[each] for each in kernel.arguments)
                    done[node] = _called(node, kernel.function, arguments)
            else:
                done[node] = rebuild(node, [done[child] for child in children(node)])
        return done[self._body]


def _called(call_: Call, function: Function, arguments: tuple[Expr, ...]) -> Call:
    is_same = function is call_.callee and all(
        new is old for new, old in zip(arguments, call_.arguments, strict=True)
    )
    return call_ if is_same else replace(call_, callee=function, arguments=arguments)


def _is_elementwise(kernel: _Kernel) -> bool:
    """Whether a kernel computes each element from one of each argument."""
    nodes = call_graph(kernel.function.body)
    return all(is_pointwise(node) and not node.operator.stateful for node in nodes)


def _computes(kernel: _Kernel) -> bool:
    """Whether a kernel computes anything, of sizes that are known."""
    function = kernel.function
    values = (*function.params, function.body)
    return function.attributes == PLAIN and all(static_shape(each) is not None for each in values)


def _bytes(value: Expr) -> int:
    """Those of a tensor of known sizes; 0 of anything else."""
    type_, shape = tensor_type(value), static_shape(value)
    return 0 if type_ is None or shape is None else prod(shape) * DTYPES[type_.dtype].itemsize


def _inlined(producer: _Kernel, value: Expr, reader: _Kernel) -> _Kernel:
    """A kernel that computes a value which it was given."""
    outside = (each for each in (*reader.arguments, *producer.arguments) if each is not value)
    leaves = list(dict.fromkeys(outside))
    params = {leaf: Var(f"p{n}", leaf.type, type=leaf.type) for n, leaf in enumerate(leaves)}
    computed = _body_over(producer, params)
    function = reader.function
    body = _body_over(reader, {**params, value: computed})
    type_ = kernel_type(leaves, body)
    function = replace(function, params=tuple(params.values()), body=body, type=type_)
    return _Kernel(function, tuple(leaves))


def _body_over(kernel: _Kernel, values: Mapping[Expr, Expr]) -> Expr:
    """The body of a kernel over expressions for its arguments."""
    given = zip(kernel.function.params, kernel.arguments, strict=True)
    own: dict[Expr, Expr] = {param: values[argument] for param, argument in given}
    return rewrite(kernel.function.body, lambda node: own.get(node, node))
