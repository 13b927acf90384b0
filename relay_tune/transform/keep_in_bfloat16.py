"""Keep values between kernels in bfloat16, where kernels that read them round them anyway.

before:
    %0 = fn (%p: Tensor[.., float32]) { nn.relu(nn.conv2d(%p, V)) };
    %1 = fn (%p: Tensor[.., float32]) { nn.conv2d(%p, W) };

after:
    %0 = fn (%p: Tensor[.., float32]) { cast(nn.relu(nn.conv2d(%p, V)), dtype="bfloat16") };
    %1 = fn (%p: Tensor[.., bfloat16]) { nn.conv2d(cast(%p, dtype="float32"), W) };

A kernel computes in float32 and rounds what it stores, once. So are results that products of
another kernel round, perhaps behind functions of each element, and what is added to such results on
the way: all between the layers of a convolutional network. What any kernel needs to the last digit
stays, and so does what leaves the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import ClassVar

from relay_tune.codegen.target import native_target
from relay_tune.errors import BuildError
from relay_tune.ir.expr import Call, Expr, Function, Tuple, Var
from relay_tune.ir.module import Module
from relay_tune.ir.provenance import made_for
from relay_tune.ir.structural import structural_equal
from relay_tune.ir.traversal import children, post_order, rebuild
from relay_tune.ir.types import FuncType
from relay_tune.machine.machine import Machine
from relay_tune.op.lower import lower_function
from relay_tune.op.primitive_key import primitive_key
from relay_tune.op.primitive_views import computes_nothing, is_join, view_offset
from relay_tune.op_rules.matching import static_shape, tensor_type
from relay_tune.op_rules.typed import call, recall, tuple_of
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.rewrites.algorithm import Algorithm
from relay_tune.transform.kernel_readings import Reading, readings, rounding_algorithms
from relay_tune.transform.module_pass import map_scopes, same_scope

WIDE, NARROW = "float32", "bfloat16"


@dataclass(frozen=True)
class KeepInBfloat16:
    """Rounds results of kernels that products of other kernels round.

    Fields:
        machine: whose products these are; by default the processor that runs the pass.
        accuracy: that allows such products, as `relaxed` does.
    """

    name: ClassVar[str] = "keep_in_bfloat16"
    machine: Machine = field(default_factory=lambda: native_target().machine)
    accuracy: Accuracy = Accuracy.FAST

    def __call__(self, module: Module) -> Module:
        """The module with narrower values between its kernels."""
        algorithms = rounding_algorithms(self.machine, self.accuracy)
        if not algorithms:
            return module
        known: dict[str, Sequence[Reading]] = {}

        def of_kernel(kernel: Function) -> Sequence[Reading]:
            key = primitive_key(kernel).digest
            if key not in known:
                known[key] = _readings(kernel, algorithms)
            return known[key]

        return map_scopes(module, lambda body: _narrowed(_Scope(body, of_kernel)))


@dataclass(frozen=True, slots=True)
class _Scope:
    """The kernels that one activation calls.

    Attributes:
        body: of the function.
        readings: what a kernel does with its arguments.
        nodes: of the body, arguments first.
        homes: for results of kernels that compute nothing, the value in whose memory they lie.
    """

    body: Expr
    readings: Callable[[Function], Sequence[Reading]]
    nodes: list[Expr] = field(init=False)
    homes: dict[Expr, Expr] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", list(post_order(self.body, enter=same_scope)))
        for call_, kernel in self._kernels():
            for each in call_.arguments if computes_nothing(kernel) else ():
                self.homes[self.home(call_)] = self.home(each)

    def home(self, node: Expr) -> Expr:
        """The value in whose memory a value lies, with others perhaps."""
        while (other := self.homes.get(node, node)) is not node:
            node = other
        return node

    def narrow(self) -> set[Expr]:
        """The homes of what is to be bfloat16."""
        readers: dict[Expr, list[tuple[Reading, Expr]]] = {}
        fixed = set(map(self.home, self._fixed()))
        for call_, kernel in self._kernels():
            readers.setdefault(self.home(call_), [])
            if not computes_nothing(kernel):
                for each, reading in zip(call_.arguments, self.readings(kernel), strict=True):
                    readers.setdefault(self.home(each), []).append((reading, self.home(call_)))
        fixed |= {
            home for home, known in readers.items() if any(w is Reading.EXACT for w, _ in known)
        }
        found: set[Expr] = set()
        changed = True
        while changed:
            more = [
                home
                for home, known in reversed(readers.items())
                if home not in fixed | found
                and any(way is Reading.ROUNDED or result in found for way, result in known)
            ]
            found |= set(more)
            changed = bool(more)
        return _without_passed_on(found, readers)

    def _kernels(self) -> Iterator[tuple[Call, Function]]:
        found = ((node, _kernel_of(node)) for node in self.nodes)
        return ((node, kernel) for node, kernel in found if isinstance(node, Call) and kernel)

    def _fixed(self) -> Iterator[Expr]:
        """Values that are no float32 results of kernels, or that others than kernels read."""
        yield self.body
        for node in self.nodes:
            kernel = _kernel_of(node)
            if kernel is None:
                yield node
                yield from children(node) if same_scope(node) else ()
            elif not _is_plain(node) or _is_other(kernel):
                yield from (node, *children(node))


def _without_passed_on(
    found: set[Expr], readers: Mapping[Expr, Sequence[tuple[Reading, Expr]]]
) -> set[Expr]:
    """Those of `found` that are added to nothing which keeps all digits."""
    kept, before = found, set[Expr]()
    while kept != before:
        before = kept
        kept = {
            home
            for home in before
            if all(result in before for way, result in readers[home] if way is Reading.PASSED)
        }
    return kept


def _kernel_of(node: Expr) -> Function | None:
    """The kernel that an expression calls, if it does."""
    if not isinstance(node, Call) or not isinstance(node.callee, Function):
        return None
    return node.callee if node.callee.is_primitive else None


def _is_plain(node: Expr) -> bool:
    type_ = tensor_type(node)
    return type_ is not None and type_.dtype == WIDE and static_shape(node) is not None


def _is_other(kernel: Function) -> bool:
    """Whether a kernel that computes nothing is neither a view nor a join."""
    return computes_nothing(kernel) and view_offset(kernel) is None and not is_join(kernel)


def _readings(kernel: Function, algorithms: Sequence[Algorithm]) -> Sequence[Reading]:
    """How a kernel reads its arguments; those of dynamic kernels keep all digits."""
    exact = (Reading.EXACT,) * len(kernel.params)
    if any(static_shape(each) is None for each in kernel.params):
        return exact
    try:
        program = lower_function(kernel)
    except BuildError:
        return exact
    found = readings(program, algorithms)
    return [found.get(each, Reading.EXACT) for each in program.inputs]


def _narrowed(scope: _Scope) -> Expr:
    """The body of a scope, whose kernels have other types."""
    narrow = scope.narrow()
    if not narrow:
        return scope.body
    done: dict[Expr, Expr] = {}
    for node in scope.nodes:
        kernel = _kernel_of(node)
        if not same_scope(node):
            done[node] = node
        elif not isinstance(node, Call) or kernel is None:
            done[node] = rebuild(node, [done[child] for child in children(node)])
        else:
            arguments = [scope.home(each) in narrow for each in node.arguments]
            with made_for(kernel.body.span):
                own = _with_types(kernel, arguments, scope.home(node) in narrow)
            given = tuple(done[each] for each in node.arguments)
            if _is_copy(own):
                (done[node],) = given
            else:
                done[node] = replace(node, callee=own, arguments=given, type=own.body.type)
    return done[scope.body]


def _with_types(kernel: Function, arguments: Sequence[bool], result: bool) -> Function:
    """A kernel of which some arguments, and perhaps the result, are bfloat16."""
    if not result and not any(arguments):
        return kernel
    own = [
        _narrow(param) if is_narrow else param
        for param, is_narrow in zip(kernel.params, arguments, strict=True)
    ]
    moves = computes_nothing(kernel)
    parts: dict[Expr, Expr] = {
        param: now if now is param or moves else call("cast", now, dtype=WIDE)
        for param, now in zip(kernel.params, own, strict=True)
    }
    for node in post_order(kernel.body):
        if node not in parts:
            new = [parts[child] for child in children(node)]
            parts[node] = _moved(node, new) if moves else rebuild(node, new)
    body = parts[kernel.body]
    if result and not moves:
        body = call("cast", body, dtype=NARROW)
    types = tuple(each.type for each in own if each.type is not None)
    type_ = None if body.type is None else FuncType(types, body.type)
    return replace(kernel, params=tuple(own), body=body, result_type=body.type, type=type_)


def _is_copy(kernel: Function) -> bool:
    """Whether a kernel widens its argument and rounds it again, which changes nothing."""
    if len(kernel.params) != 1 or kernel.params[0].type != kernel.body.type:
        return False
    (param,) = kernel.params
    copy = call("cast", call("cast", param, dtype=WIDE), dtype=NARROW)
    return structural_equal(kernel.body, copy, map_free_vars=True)


def _moved(node: Expr, parts: Sequence[Expr]) -> Expr:
    """A node of a kernel that computes nothing, with other parts."""
    match node:
        case Call():
            return recall(node, parts[1:])
        case Tuple():
            return tuple_of(parts)
        case _:
            return node


def _narrow(param: Var) -> Var:
    type_ = tensor_type(param)
    assert type_ is not None
    narrow = replace(type_, dtype=NARROW)
    return Var(param.name, narrow, type=narrow)
