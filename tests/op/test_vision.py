"""vision.all_class_non_max_suppression: the best boxes that do not overlap."""

import numpy as np
import pytest

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
