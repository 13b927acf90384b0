"""Keep values between kernels in bfloat16, where these or kernels that read them round them anyway.

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

What a program rounds itself, `cast(cast(x, dtype="bfloat16"), dtype="float32")` at the end of a
kernel, loses nothing by being stored so. It is where products read it, as those of bfloat16 are
faster than those of float32, but in exact builds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import ClassVar

from relay_tune.codegen.target import native_target
from relay_tune.errors import BuildError
from relay_tune.ir.expr import Call, Expr, Function
from relay_tune.ir.module import Module
from relay_tune.ir.provenance import made_for
from relay_tune.ir.traversal import children, post_order, rebuild
from relay_tune.machine.machine import Machine
from relay_tune.op.primitive_key import primitive_key
from relay_tune.op.primitive_views import computes_nothing, is_join, view_offset
from relay_tune.op_rules.matching import tensor_type
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.rewrites.algorithm import Algorithm
from relay_tune.transform.kernel_programs import kernel_of, kernel_program
from relay_tune.transform.kernel_readings import (
    Reading,
    is_narrow_result,
    readings,
    rounding_algorithms,
)
from relay_tune.transform.module_pass import map_scopes, same_scope
from relay_tune.transform.narrow_kernels import NARROW, is_copy, is_plain, with_types


@dataclass(frozen=True)
class KeepInBfloat16:
    """Rounds results of kernels that products of other kernels round; stores rounded ones so.

    Fields:
        machine: whose products these are; by default the processor that runs the pass.
        accuracy: that allows to round, as `relaxed` does.
    """

    name: ClassVar[str] = "keep_in_bfloat16"
    machine: Machine = field(default_factory=lambda: native_target().machine)
    accuracy: Accuracy = Accuracy.FAST

    def __call__(self, module: Module) -> Module:
        """The module with narrower values between its kernels."""
        algorithms = rounding_algorithms(self.machine, Accuracy.RELAXED)
        rounds = bool(rounding_algorithms(self.machine, self.accuracy))
        if not algorithms or self.accuracy is Accuracy.EXACT:
            return module
        known: dict[str, _Facts] = {}

        def of_kernel(kernel: Function) -> _Facts:
            key = primitive_key(kernel).digest
            if key not in known:
                known[key] = _facts(kernel, algorithms)
            return known[key]

        return map_scopes(module, lambda body: _narrowed(_Scope(body, of_kernel), rounds))


@dataclass(frozen=True, slots=True)
class _Facts:
    """What a kernel does.

    Attributes:
        readings: with each of its arguments.
        is_narrow: whether its result has no more digits than bfloat16.
    """

    readings: Sequence[Reading]
    is_narrow: bool = False


@dataclass(frozen=True, slots=True)
class _Scope:
    """The kernels that one activation calls.

    Attributes:
        body: of the function.
        facts: of a kernel.
        nodes: of the body, arguments first.
        homes: for results of kernels that compute nothing, the value in whose memory they lie.
    """

    body: Expr
    facts: Callable[[Function], _Facts]
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

    def narrow(self, rounds: bool) -> set[Expr]:
        """The homes of what is to be bfloat16: what has no more digits, and what may lose them."""
        exact = self._exact()
        if not rounds and not exact:
            return set()
        readers: dict[Expr, list[tuple[Reading, Expr]]] = {}
        for call_, kernel in self._kernels():
            readers.setdefault(self.home(call_), [])
            if not computes_nothing(kernel):
                for each, reading in zip(call_.arguments, self.facts(kernel).readings, strict=True):
                    readers.setdefault(self.home(each), []).append((reading, self.home(call_)))
        found = _rounded(readers, exact)
        if not rounds:
            return found
        fixed = set(map(self.home, self._fixed()))
        free = {
            home
            for home, known in readers.items()
            if home not in fixed and all(way is not Reading.EXACT for way, _ in known)
        }
        return found | _without_passed_on(_rounded(readers, free), readers)

    def _exact(self) -> set[Expr]:
        """The homes of what bfloat16 stores as it is."""
        wide: set[Expr] = set()
        found: set[Expr] = set()
        for call_, kernel in self._kernels():
            if not computes_nothing(kernel):
                is_exact = _widens(kernel) and self.facts(kernel).is_narrow
                (found if is_exact else wide).add(self.home(call_))
        found -= wide
        return found - set(map(self.home, self._fixed())) if found else found

    def _kernels(self) -> Iterator[tuple[Call, Function]]:
        found = ((node, kernel_of(node)) for node in self.nodes)
        return ((node, kernel) for node, kernel in found if isinstance(node, Call) and kernel)

    def _fixed(self) -> Iterator[Expr]:
        """Values that are no float32 results of kernels, or that others than kernels read."""
        yield self.body
        for node in self.nodes:
            kernel = kernel_of(node)
            if kernel is None:
                yield node
                yield from children(node) if same_scope(node) else ()
            elif not is_plain(node) or _is_other(kernel):
                yield from (node, *children(node))


def _rounded(readers: dict[Expr, list[tuple[Reading, Expr]]], free: Collection[Expr]) -> set[Expr]:
    """Those of `free` that products round, or that pass to others of these."""
    found: set[Expr] = set()
    changed = True
    while changed:
        more = [
            home
            for home, known in reversed(readers.items())
            if home in free
            and home not in found
            and any(way is Reading.ROUNDED or result in found for way, result in known)
        ]
        found |= set(more)
        changed = bool(more)
    return found


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


def _widens(kernel: Function) -> bool:
    """Whether a kernel makes float32 of bfloat16 anywhere."""
    types = (tensor_type(node) for node in post_order(kernel.body))
    return any(type_ is not None and type_.dtype == NARROW for type_ in types)


def _is_other(kernel: Function) -> bool:
    """Whether a kernel that computes nothing is neither a view nor a join."""
    return computes_nothing(kernel) and view_offset(kernel) is None and not is_join(kernel)


def _facts(kernel: Function, algorithms: Sequence[Algorithm]) -> _Facts:
    """What a kernel does; arguments of those that are no tensor programs keep all digits."""
    try:
        program = kernel_program(kernel)
    except BuildError:
        return _Facts((Reading.EXACT,) * len(kernel.params))
    found = readings(program, algorithms)
    return _Facts(
        [found.get(each, Reading.EXACT) for each in program.inputs],
        all(map(is_narrow_result, program.outputs)),
    )


def _narrowed(scope: _Scope, rounds: bool) -> Expr:
    """The body of a scope, whose kernels have other types."""
    narrow = scope.narrow(rounds)
    if not narrow:
        return scope.body
    done: dict[Expr, Expr] = {}
    for node in scope.nodes:
        kernel = kernel_of(node)
        if not same_scope(node):
            done[node] = node
        elif not isinstance(node, Call) or kernel is None:
            done[node] = rebuild(node, [done[child] for child in children(node)])
        else:
            arguments = [scope.home(each) in narrow for each in node.arguments]
            with made_for(kernel.body.span):
                own = with_types(kernel, arguments, scope.home(node) in narrow)
            given = tuple(done[each] for each in node.arguments)
            if is_copy(own):
                (done[node],) = given
            else:
                done[node] = replace(node, callee=own, arguments=given, type=own.body.type)
    return done[scope.body]
