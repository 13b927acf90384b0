"""Type relations of operators on boxes in images."""

from __future__ import annotations

from typing import Any

from relay_tune.ir.dim_arithmetic import product
from relay_tune.ir.operator import RelationError
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.typing.relations.support import of_tensors, require_rank, require_same_dtype
from relay_tune.typing.type_text import type_text


@of_tensors
def non_max_suppression(
    attributes: Any, boxes: TensorType, scores: TensorType, *limits: TensorType
) -> Type:
    """(boxes [batch, n, 4], scores [batch, classes, n], three limits): rows, and their number.

    The rows are int64 [batch * classes * n, 3], their number is int64 of shape (1,).
    """
    for each in (boxes, scores):
        require_rank(each, 3, "vision.all_class_non_max_suppression")
    for each in (scores, *limits[1:]):
        require_same_dtype("vision.all_class_non_max_suppression", boxes, each)
    if any(limit.shape for limit in limits):
        raise RelationError("the limits of vision.all_class_non_max_suppression must be scalars")
    for left, right in ((boxes.shape[0], scores.shape[0]), (boxes.shape[1], scores.shape[2])):
        if isinstance(left, int) and isinstance(right, int) and left != right:
            raise RelationError(
                f"boxes {type_text(boxes)} and scores {type_text(scores)} do not fit: "
                f"{left} and {right} differ"
            )
    if isinstance(boxes.shape[2], int) and boxes.shape[2] != 4:
        raise RelationError(f"boxes have four corners, but the type is {type_text(boxes)}")
    rows = TensorType((product(scores.shape), 3), "int64")
    return TupleType((rows, TensorType((1,), "int64")))
