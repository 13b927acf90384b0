"""Relations of layout changes."""

from relay_tune.ir.dim import Symbol
from relay_tune.ir.dim_arithmetic import multiply
from relay_tune.typing.relations import layout as relations
from tests.typing.relations.cases import relation_tests, tensor

N = Symbol("n")


def layouts(source, target):
    return {"src_layout": source, "dst_layout": target}


CASES = [
    ("layout_transform", [tensor(1, 32, N, 7)], layouts("NCHW", "NHWC"), tensor(1, N, 7, 32)),
    (
        "layout_transform",
        [tensor(1, 32, 7, 7)],
        layouts("NCHW", "NCHW16c"),
        tensor(1, 2, 7, 7, 16),
    ),
    (
        "layout_transform",
        [tensor(64, 32, 3, 3)],
        layouts("OIHW", "OIHW16i8o"),
        tensor(8, 2, 3, 3, 16, 8),
    ),
    (
        "layout_transform",
        [tensor(1, 2, 7, 7, 16)],
        layouts("NCHW16c", "NCHW8c"),
        tensor(1, 4, 7, 7, 8),
    ),
    (
        "depth_to_space",
        [tensor(1, 8, 3, N)],
        {"block_size": 2, "layout": "NCHW"},
        tensor(1, 2, 6, multiply(N, 2)),
    ),
    (
        "space_to_depth",
        [tensor(1, 6, 4, 2)],
        {"block_size": 2, "layout": "NHWC"},
        tensor(1, 3, 2, 8),
    ),
    (
        "space_to_batch_nd",
        [tensor(1, 5, 6, 2)],
        {"block_shape": (2, 3), "paddings": ((1, 0), (0, 0))},
        tensor(6, 3, 2, 2),
    ),
    (
        "batch_to_space_nd",
        [tensor(6, 3, 2, 2)],
        {"block_shape": (2, 3), "crops": ((1, 0), (0, 0))},
        tensor(1, 5, 6, 2),
    ),
]

CONFLICTS = [
    ("layout_transform", [tensor(1, 30, 7, 7)], layouts("NCHW", "NCHW16c"), "no blocks of 16"),
    ("layout_transform", [tensor(1, 30, 7)], layouts("NCHW", "NHWC"), "has 4 axes"),
    ("layout_transform", [tensor(1, 30, 7, 7)], layouts("NCHW", "NHWO"), "does not have the axes"),
    ("layout_transform", [tensor(1, 30, 7, 7)], layouts("NCHW", "NC-W"), "not a layout"),
    ("layout_transform", [tensor(1, 2, 7, 8)], layouts("NCW16c", "NCW"), "blocks of 16"),
    (
        "depth_to_space",
        [tensor(1, 6, 3, 3)],
        {"block_size": 2, "layout": "NCHW"},
        "does not divide",
    ),
]

test_result, test_conflict, test_waits_for_unknown_data = relation_tests(
    relations, CASES, CONFLICTS
)
