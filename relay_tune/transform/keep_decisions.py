"""Find the kernels whose roundings decide conditions of derivatives, and mark them as decisive.

before:
    %0 = fn (%p) { nn.relu(nn.conv2d(%p, V)) }(%x);
    %1 = fn (%p, %q) { where(decisive(greater(%p, 0f)), %q, 0f) }(%0, %d);

after:
    %0 = fn (%p, Decisive=1) { nn.relu(nn.conv2d(%p, V)) }(%x);
    %1 = fn (%p, %q) { where(greater(%p, 0f), %q, 0f) }(%0, %d);

Values are followed from conditions to where they come from: through kernels, names, tuples, data
types, cells, and functions. A function that has conditions and calls itself, as a loop over steps
of training, begins with what it is given: an update decides nothing that its own step computes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

from relay_tune.errors import BuildError
from relay_tune.ir.expr import (
    Call,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import children, pattern_vars, post_order, rewrite
from relay_tune.op.decisive import DECISIVE
from relay_tune.op.lower import multiplies
from relay_tune.op_rules.gradient.decisions import decided_inputs, marked
from relay_tune.op_rules.typed import tuple_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.tensor import Computed
from relay_tune.transform.kernel_programs import kernel_of, kernel_program
from relay_tune.transform.module_pass import rewrite_calls
from relay_tune.typing.infer import infer_expr


@dataclass(frozen=True)
class KeepDecisions:
    """Marks kernels that have to add up as direct sums do, and leaves no call of `decisive`."""

    name: ClassVar[str] = "keep_decisions"

    def __call__(self, module: Module) -> Module:
        """The module with marked kernels; itself where no derivative has a condition."""
        decisive = _Flow(module).decisive()
        made: dict[Function, Function] = {}

        def visit(node: Expr) -> Expr:
            kernel = kernel_of(node)
            if kernel is None:
                return node
            assert isinstance(node, Call)
            if kernel not in made:
                made[kernel] = _written(kernel, is_decisive=kernel in decisive)
            own = made[kernel]
            if own is not kernel and own.body in own.params:
                return node.arguments[own.params.index(own.body)]
            return node if own is kernel else replace(node, callee=own)

        return rewrite_calls(module, visit)


class _Flow:
    """Where the values of a module come from.

    Attributes:
        module: its kernels are fused.
        kernels: the calls of kernels, in each function.
        values: what variables are bound to, or are taken out of.
        positions: the function and the position of each parameter.
        callers: the calls of each function, with the function that they stand in.
        written: what is put into cells.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.kernels: list[tuple[str, Call, Function]] = []
        self.values: dict[Expr, Expr] = {}
        self.positions: dict[Expr, tuple[str, int]] = {}
        self.callers: dict[str, list[tuple[str, Call]]] = defaultdict(list)
        self.written: list[Expr] = []
        for name, function in module.functions.items():
            self.positions |= {param: (name, n) for n, param in enumerate(function.params)}
            for node in post_order(function.body, enter=lambda node: not _is_kernel(node)):
                self._note(name, node)

    def _note(self, name: str, node: Expr) -> None:
        kernel = kernel_of(node)
        match node:
            case Call() if kernel is not None:
                self.kernels.append((name, node, kernel))
            case Call(callee=GlobalVar(name=called)):
                self.callers[called].append((name, node))
            case Let():
                self.values[node.var] = node.value
            case Match():
                for clause in node.clauses:
                    self.values |= dict.fromkeys(pattern_vars(clause.pattern), node.value)
            case RefCreate(value=value) | RefWrite(value=value):
                self.written.append(value)

    def decisive(self) -> set[Function]:
        """The kernels whose roundings decide conditions."""
        found: set[Function] = set()
        done: set[Expr] = set()
        asking = {kernel: _conditions(kernel) for _, _, kernel in self.kernels}
        choosing = {name for name, _, kernel in self.kernels if asking[kernel]}
        pending: list[Expr] = []
        for _, call, kernel in self.kernels:
            pending += _arguments(call, kernel, asking[kernel])
        found |= {kernel for kernel, values in asking.items() if _adds_up(kernel, values)}
        while pending:
            node = pending.pop()
            made_by = kernel_of(node)
            if node in done:
                continue
            done.add(node)
            if isinstance(node, Call) and made_by is not None:
                values = [made_by.body]
                pending += _arguments(node, made_by, values)
                found |= {made_by} if _adds_up(made_by, values) else set()
            else:
                pending += self._sources(node, choosing)
        return found

    def _sources(self, node: Expr, choosing: Collection[str]) -> Iterable[Expr]:
        """What a value that decides comes from, but for a kernel's."""
        match node:
            case Call(callee=GlobalVar(name=name)):
                return (self.module[name].body, *node.arguments)
            case Var() if node in self.values:
                return (self.values[node],)
            case Var() if node in self.positions:
                name, position = self.positions[node]
                calls = (e for at, e in self.callers[name] if at != name or at not in choosing)
                return [each.arguments[position] for each in calls]
            case TupleGetItem():
                whole = node.tuple_value
                while whole in self.values:
                    whole = self.values[whole]
                return (whole.fields[node.index] if isinstance(whole, Tuple) else whole,)
            case If():
                return (node.true_branch, node.false_branch)
            case Let() | Function():
                return (node.body,)
            case Match():
                return [clause.body for clause in node.clauses]
            case RefRead():
                return (node.ref, *self.written)
            case _:
                return children(node)


def _is_kernel(node: Expr) -> bool:
    return isinstance(node, Function) and node.is_primitive


def _conditions(kernel: Function) -> list[Expr]:
    """What conditions of derivatives in a kernel are computed from."""
    found: list[Expr] = []
    for node in post_order(kernel.body):
        condition = marked(node)
        if condition is not None:
            found.append(condition)
        elif isinstance(node, Call):
            for number in decided_inputs(node):
                inputs = node.arguments[0]
                found.append(inputs.fields[number] if isinstance(inputs, Tuple) else inputs)
    return found


def _arguments(call: Call, kernel: Function, values: Sequence[Expr]) -> list[Expr]:
    """The arguments that some values in a kernel depend on."""
    inside = set(post_order(*values))
    pairs = zip(kernel.params, call.arguments, strict=True)
    return [argument for param, argument in pairs if param in inside]


def _adds_up(kernel: Function, values: Sequence[Expr]) -> bool:
    """Whether some values in a kernel are made of sums of products.

    Of other sums there is no algorithm that rounds more.
    """
    if all(isinstance(node, Var) for node in values):
        return False
    body = values[0] if len(values) == 1 else tuple_of(values)
    part = infer_expr(Function(kernel.params, body, attributes={"Primitive": 1}))
    assert isinstance(part, Function)
    try:
        stages = tensors_in_order(kernel_program(part).outputs)
    except BuildError:
        return False
    return any(isinstance(stage, Computed) and multiplies(stage) for stage in stages)


def _written(kernel: Function, *, is_decisive: bool) -> Function:
    """A kernel without calls of `decisive`, with what was found of it."""

    def visit(node: Expr) -> Expr:
        condition = marked(node)
        return node if condition is None else condition

    body = rewrite(kernel.body, visit)
    attributes = {**kernel.attributes, **({DECISIVE: 1} if is_decisive else {})}
    if body is kernel.body and not is_decisive:
        return kernel
    return replace(kernel, body=body, attributes=attributes)
