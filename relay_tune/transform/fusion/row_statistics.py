"""Elements that are combined with sums, means or extremes of their own rows.

    before:  m = mean(x)                      after:  fn (x) { d = x - mean(x)
             d = x - m                                         d / sqrt(mean(d * d) + e) }
             v = mean(d * d)
             y = d / sqrt(v + e)

A normalisation that is written in primitive operators then is one kernel, which can read each row
once and work on it in the nearest cache (`relay_tune.schedule.row_groups.groups`): layer
normalisation of older ONNX models, root mean squares, distances by their length, softmax. Measured
with layer normalisation of 128 rows of 768, one core: 26 us in four kernels, 12 us in one.
"""

from __future__ import annotations

from collections.abc import Iterable

from relay_tune.ir.operator import FusionKind
from relay_tune.op.reduction_axes import ReduceAttributes, axes_of
from relay_tune.op_rules.matching import static_shape
from relay_tune.transform.fusion.call_graph import CallNode
from relay_tune.transform.fusion.groups import Groups

Shape = tuple[int, ...]


def reduced_rows(node: CallNode) -> Shape | None:
    """The shape of what a reduction along its last axes reduces, which stay with size 1.

    None for all other calls.
    """
    attributes = node.call.attributes
    if node.kind is not FusionKind.REDUCTION or not isinstance(attributes, ReduceAttributes):
        return None
    shape = static_shape(node.call.arguments[0])
    if shape is None or not attributes.keepdims:
        return None
    axes = axes_of(attributes, shape)
    last = tuple(range(len(shape) - len(axes), len(shape)))
    return shape if axes and tuple(sorted(axes)) == last else None


def keeps_to_rows(nodes: Iterable[CallNode], groups: Groups) -> bool:
    """Whether calls compute rows from the same rows, with a reduction among them.

    All reductions in their kernels are of rows of one shape; each of the calls gives elements of
    such rows, or one for each row.
    """
    anchors = groups.anchors(nodes)
    rows = {reduced_rows(anchor) for anchor in anchors}
    whole = next(iter(rows), None)
    if len(rows) != 1 or whole is None:
        return False
    results = {static_shape(anchor.call) for anchor in anchors}
    if len(results) != 1:
        return False
    return all(node in anchors or static_shape(node.call) in {whole, *results} for node in nodes)
