"""Relations of pooling and resizing."""

from relay_tune.ir.dim import Symbol
from relay_tune.ir.dim_arithmetic import add, floor_divide, maximum, multiply
from relay_tune.typing.relations import pooling as relations
from tests.typing.relations.cases import relation_tests, tensor

N = Symbol("n")


def pooled(size, strides, padding=(0, 0), ceil_mode=False, **more):
    return {
        "pool_size": size,
        "strides": strides,
        "dilation": (1, 1),
        "padding": padding,
        "ceil_mode": ceil_mode,
        "layout": "NCHW",
    } | more


IMAGE = tensor(1, 8, 7, N)
LAYOUT = {"layout": "NCHW"}
CASES = [
    ("pool", [tensor(1, 8, 112, 112)], pooled((3, 3), (2, 2), (1, 1)), tensor(1, 8, 56, 56)),
    ("pool", [tensor(1, 8, 6, 6)], pooled((3, 3), (2, 2), ceil_mode=True), tensor(1, 8, 3, 3)),
    # A partial window that would start behind the data is not taken.
    (
        "pool",
        [tensor(1, 8, 4, 4)],
        pooled((1, 1), (3, 3), (0, 0, 2, 2), ceil_mode=True),
        tensor(1, 8, 2, 2),
    ),
    ("pool", [IMAGE], pooled((3, 3), (1, 1)), tensor(1, 8, 5, add(N, -2))),
    # Windows that move by one have no position where one element is missing.
    ("pool", [tensor(1, 8, 2, 2)], pooled((3, 3), (1, 1)), tensor(1, 8, 0, 0)),
    ("pool", [tensor(1, 8, 2, 2)], pooled((3, 3), (1, 1), ceil_mode=True), tensor(1, 8, 0, 0)),
    # A window that lacks less than a step is one partial window.
    ("pool", [tensor(1, 8, 2, 3)], pooled((3, 5), (2, 3)), tensor(1, 8, 1, 1)),
    (
        "pool",
        [IMAGE],
        pooled((2, 2), (2, 2)),
        tensor(1, 8, 3, maximum(floor_divide(N, 2), 1)),
    ),
    ("pool", [IMAGE], pooled((3, 3), (2, 2), (1, 1)), tensor(1, 8, 4, floor_divide(add(N, 1), 2))),
    ("global_pool", [IMAGE], LAYOUT, tensor(1, 8, 1, 1)),
    ("global_pool", [tensor(1, 7, 7, 8)], {"layout": "NHWC"}, tensor(1, 1, 1, 8)),
    ("adaptive_pool", [IMAGE], LAYOUT | {"output_size": (3,)}, tensor(1, 8, 3, 3)),
    ("adaptive_pool", [IMAGE], LAYOUT | {"output_size": None}, IMAGE),
    ("resize", [IMAGE], LAYOUT | {"size": (9, 10)}, tensor(1, 8, 9, 10)),
    ("resize", [tensor(1, 8, 0, 3)], LAYOUT | {"size": (0, 5)}, tensor(1, 8, 0, 5)),
    (
        "upsampling",
        [IMAGE],
        LAYOUT | {"scale_h": 1.5, "scale_w": 2.0},
        tensor(1, 8, round(10.5), multiply(N, 2)),
    ),
    ("grid_sample", [IMAGE, tensor(1, 2, 5, 6)], {}, tensor(1, 8, 5, 6)),
]

CONFLICTS = [
    ("pool", [tensor(1, 8, 1, 1)], pooled((3, 3), (1, 1)), "smaller than the window"),
    ("pool", [tensor(1, 8, 2, 2)], pooled((3, 3, 3), (1, 1)), "pool_size has 3 values"),
    ("adaptive_pool", [tensor(1, 8, 0, 3)], LAYOUT | {"output_size": (3,)}, "axis H of the data"),
    ("resize", [tensor(1, 8, 3, 0)], LAYOUT | {"size": (9, 10)}, "no elements to make 10 of"),
    ("grid_sample", [IMAGE, tensor(1, 1, 5, 6)], {}, "a point has 2 coordinates"),
    ("grid_sample", [IMAGE, tensor(1, 2, 5)], {}, "number of dimensions"),
    ("grid_sample", [tensor(1, 8, 0, 3), tensor(1, 2, 5, 6)], {}, "the data have no elements"),
]

test_result, test_conflict, test_waits_for_unknown_data = relation_tests(
    relations, CASES, CONFLICTS
)
