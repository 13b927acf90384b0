"""Taking views off the borders of kernels: they cost nothing.

Views are reshapes, and slices of what exists in memory if they are one piece of it. Kernels that
differ in such a slice only, as the steps of a recurrent network do, are then equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from relay_tune.ir.expr import Constant
from relay_tune.op.primitive_views import VIEW_OFFSET
from relay_tune.transform.fusion.call_graph import CallNode, argument_leaves


def separate_views(kernels: Iterable[list[CallNode]], *, slices: bool) -> Iterator[list[CallNode]]:
    """The kernels without views at their borders, and those views as kernels of their own.

    Kernels are lists in order of evaluation; the last call is the result. Without `slices`, only
    reshapes are taken for views.
    """
    for kernel in kernels:
        if all(_is_reshape(node) for node in kernel):
            yield kernel
            continue
        core, last = _without_last_reshapes(kernel)
        core, first = _without_first_views(core, slices=slices)
        yield from ([node] for node in first)
        yield core
        yield from ([node] for node in last)


def _without_last_reshapes(kernel: list[CallNode]) -> tuple[list[CallNode], list[CallNode]]:
    end = len(kernel)
    while _is_reshape(kernel[end - 1]) and _reads_only(kernel[end - 1], kernel[end - 2]):
        end -= 1
    return kernel[:end], kernel[end:]


def _without_first_views(
    kernel: list[CallNode], *, slices: bool
) -> tuple[list[CallNode], list[CallNode]]:
    """Views all of whose arguments come from outside of the kernel."""
    inside = {node.call for node in kernel}
    first: list[CallNode] = []
    for node in kernel[:-1]:
        leaves = argument_leaves(node.call)
        from_outside = not any(leaf in inside or isinstance(leaf, Constant) for leaf in leaves)
        is_slice = slices and VIEW_OFFSET in node.rule.primitive_attributes(node.call)
        if from_outside and (is_slice or _is_reshape(node)):
            first.append(node)
            inside.discard(node.call)
    return [node for node in kernel if node.call in inside], first


def _reads_only(reshape: CallNode, previous: CallNode) -> bool:
    return argument_leaves(reshape.call) == [previous.call]


def _is_reshape(node: CallNode) -> bool:
    return node.rule.keeps_order and len(node.call.arguments) == 1
