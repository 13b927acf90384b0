"""Boxes in images: those that do not overlap."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relay_tune.frontend.onnx_import.build import Builder, dtype_of
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.activation import scaled
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.roi_align import translate_roi_align
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.run_time_axes import range_at_run_time
from relay_tune.ir.expr import Expr


def translate_non_max_suppression(node: OnnxNode, build: Builder) -> Expr:
    """Rows (example, class, box) of the best boxes that do not overlap; as many as there are."""
    boxes, scores = node.input(0), node.input(1)
    if node.flag("center_point_box", 0):
        boxes = _corners(build, boxes)
    most = _limit(build, node.optional(2), 0, "int64")
    most = build.call("maximum", most, build.like(0, most))
    overlap = _limit(build, node.optional(3), 0, dtype_of(boxes))
    least = _limit(build, node.optional(4), -np.inf, dtype_of(boxes))
    name = "vision.all_class_non_max_suppression"
    found = build.call(name, boxes, scores, most, overlap, least)
    count = build.call("reshape", build.item(found, 1), newshape=())
    rows = range_at_run_time(build, build.constant(0), count)
    return build.call("take", build.item(found, 0), rows, axis=0)


def _limit(build: Builder, given: Expr | None, default: float, dtype: str) -> Expr:
    """A limit as a scalar."""
    if given is None:
        return build.constant(default, dtype)
    return cast_to(build, build.call("reshape", given, newshape=()), dtype)


def _corners(build: Builder, boxes: Expr) -> Expr:
    """Boxes [x, y, width, height] of their centres as [y, x, y, x] of two corners.

    As in onnxruntime, boxes of a width or a height below 0 overlap none.
    """
    x, y, width, height = (
        build.call("take", boxes, build.constant(position), axis=2) for position in range(4)
    )
    width, height = (build.call("maximum", each, build.like(0, each)) for each in (width, height))
    corners = []
    for sign in ("subtract", "add"):
        for centre, size in ((y, height), (x, width)):
            corners.append(build.call(sign, centre, scaled(build, size, 0.5)))
    return build.call("stack", build.tuple_of(corners), axis=2)


BOXES: Mapping[str, Translator] = {
    "NonMaxSuppression": translate_non_max_suppression,
    "RoiAlign": translate_roi_align,
}
