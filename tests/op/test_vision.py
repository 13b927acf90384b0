"""vision.all_class_non_max_suppression: the best boxes that do not overlap."""

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.ir.operator import find_operator


def boxes_and_scores(batch, classes, count, seed):
    random = np.random.default_rng(seed)
    corners = random.random((batch, count, 2)).astype(np.float32)
    sizes = (random.random((batch, count, 2)) * 0.4 - 0.05).astype(np.float32)
    scores = random.random((batch, classes, count)).round(1).astype(np.float32)
    return np.concatenate([corners, corners + sizes], axis=2), scores


def limits(most, overlap, least):
    return np.array(most), np.array(overlap, np.float32), np.array(least, np.float32)


@pytest.mark.parametrize(
    ("shape", "bounds"),
    [
        ((1, 1, 12), (5, 0.3, 0.0)),
        ((2, 3, 17), (-1, 0.1, 0.4)),
        ((1, 2, 9), (0, 0.5, -np.inf)),
        ((2, 1, 1), (3, 0.5, 0.0)),
        ((1, 2, 70), (-1, 0.6, 0.1)),  # more are chosen than are compared at once
        ((1, 1, 90), (33, 0.9, 0.0)),
    ],
)
def test_the_best_boxes_are_kept(check_record, shape, bounds):
    operator = find_operator("vision.all_class_non_max_suppression")
    boxes, scores = boxes_and_scores(*shape, seed=sum(shape))
    rows, number = check_record(operator, [boxes, scores, *limits(*bounds)])
    kept = rows[: number[0]]
    assert number[0] <= shape[0] * shape[1] * (bounds[0] if bounds[0] >= 0 else shape[2])
    for example, label, box in kept:
        assert scores[example, label, box] > bounds[2]


def test_compiled_code_keeps_as_many_boxes_as_there_are():
    """Vectors of chosen boxes are not whole, and lanes behind them are no boxes."""
    module = rt.parse(
        "def @main(%b: Tensor[(1, n, 4), float32], %s: Tensor[(1, 2, n), float32]) "
        "{ vision.all_class_non_max_suppression(%b, %s, -1i64, 0.7f, 0.05f) }"
    )
    model = rt.build(module)
    for count in (1, 16, 17, 150):
        boxes, scores = boxes_and_scores(1, 2, count, seed=count)
        boxes -= 0.5  # around the origin, where empty boxes would lie
        for found, expected in zip(
            model(boxes, scores), rt.interpret(module, boxes, scores), strict=True
        ):
            np.testing.assert_array_equal(found, expected)
