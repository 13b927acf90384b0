"""Kernels that end where their result is narrow, because the next one can widen it.

    before:  fn (..) { multiply(cast(%bytes), 0.1f) };  fn (%p0, ..) { add(.., %p0) }
    after:   fn (..) { %bytes };                fn (%p0, ..) { add(.., multiply(cast(%p0), 0.1f)) }

A sum of two quantized convolutions is computed in the kernel of one of them. The other one would
dequantize its bytes and store floats.
"""

from __future__ import annotations

from relay_tune.ir.dtypes import DTYPES
from relay_tune.op_rules.matching import tensor_type
from relay_tune.transform.fusion.call_graph import CallNode
from relay_tune.transform.fusion.groups import Groups
from relay_tune.transform.fusion.rules import is_pointwise, may_fuse, same_shape


def ends_narrow(node: CallNode, groups: Groups, maximum_size: int) -> bool:
    """Whether what follows a call only widens it for a kernel with an anchor of its own."""
    last, steps = node, 0
    while (sink := last.dominator) is not None and last.consumers == [sink]:
        if not (is_pointwise(sink) and may_fuse(sink) and same_shape(node, sink)):
            return False
        if groups.producers_of(sink) != [last]:
            other = groups.of(sink)
            is_other = other.anchor is not None and other is not groups.of(node)
            return is_other and other.size + steps <= maximum_size and _is_narrower(node, last)
        last, steps = sink, steps + 1
    return False


def _is_narrower(node: CallNode, other: CallNode) -> bool:
    widths = [_width(each) for each in (node, other)]
    return widths[0] < widths[1]


def _width(node: CallNode) -> int:
    """The bytes of an element."""
    type_ = tensor_type(node.call)
    return 0 if type_ is None else DTYPES[type_.dtype].itemsize
