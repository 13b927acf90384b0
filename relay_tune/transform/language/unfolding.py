"""Which calls partial evaluation replaces by the body of the function that they call.

Recursion must come to an end while the program is built: a call within a call of the same function
is unfolded only if something that is known of an argument has become smaller.
"""

from __future__ import annotations

from relay_tune.ir.expr import Function, Let
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import free_vars, post_order
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.call_graph import recursive_groups, used_globals

Sizes = tuple[int | None, ...]
"""How large the arguments of a call are; None where that is not known."""


@dataclass(frozen=True, slots=True)
class UnfoldedCall:
    """A call whose body is being evaluated, within `outer`; `depth` counts these."""

    function: Function
    sizes: Sizes
    outer: UnfoldedCall | None
    depth: int


class Unfolding:
    """Allows a limited number of calls to be unfolded, up to a limited depth."""

    def __init__(self, recursive: set[Function], maximum_count: int, maximum_depth: int) -> None:
        self.recursive = recursive
        self._left = maximum_count
        self._maximum_depth = maximum_depth

    def allows(self, function: Function, sizes: Sizes, within: UnfoldedCall | None) -> bool:
        """Whether a call is unfolded."""
        if self._left <= 0 or (within is not None and within.depth >= self._maximum_depth):
            return False
        if function not in self.recursive:
            return True
        while within is not None and within.function is not function:
            within = within.outer
        if within is None:
            return any(size is not None for size in sizes)
        return any(
            new is not None and (old is None or new < old)
            for new, old in zip(sizes, within.sizes, strict=True)
        )

    def enter(self, function: Function, sizes: Sizes, within: UnfoldedCall | None) -> UnfoldedCall:
        """The call that is unfolded now."""
        self._left -= 1
        return UnfoldedCall(function, sizes, within, 1 if within is None else within.depth + 1)


def uncertain_call(function: Function) -> UnfoldedCall:
    """A call with arguments of which nothing is known."""
    return UnfoldedCall(function, (None,) * len(function.params), None, 0)


def recursive_functions(module: Module) -> set[Function]:
    """The functions and closures that call themselves, by way of others perhaps."""
    found: set[Function] = set()
    for group in recursive_groups(module):
        for name in group:
            if len(group) > 1 or name in used_globals(module[name]):
                found.add(module[name])
    for node in post_order(*module.functions.values()):
        match node:
            case Let(value=Function() as closure) if node.var in free_vars(closure):
                found.add(closure)
    return found
