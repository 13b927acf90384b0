"""Relations of convolutions."""

from types import SimpleNamespace

from relay_tune.ir.dim import UNKNOWN, Symbol
from relay_tune.ir.dim_arithmetic import add, multiply
from relay_tune.ir.types import IncompleteType
from relay_tune.typing.relations import convolution as relations
from relay_tune.typing.solver import Solver
from tests.typing.relations.cases import relation_tests, tensor

N = Symbol("n")


def window(**changes):
    attributes = {
        "strides": (1, 1),
        "padding": (0, 0),
        "dilation": (1, 1),
        "groups": 1,
        "channels": None,
        "kernel_size": None,
        "data_layout": "NCHW",
        "kernel_layout": "OIHW",
        "out_layout": "",
        "out_dtype": "",
        "sum_bits": 0,
    }
    return attributes | changes


IMAGE = tensor(1, 3, 224, 224)
CASES = [
    (
        "conv",
        [IMAGE, tensor(64, 3, 7, 7)],
        window(strides=(2, 2), padding=(3, 3)),
        tensor(1, 64, 112, 112),
    ),
    ("conv", [IMAGE, tensor(8, 3, 3, 3)], window(padding=(0, 1, 2, 3)), tensor(1, 8, 224, 226)),
    ("conv", [IMAGE, tensor(8, 3, 3, 3)], window(dilation=(2, 2)), tensor(1, 8, 220, 220)),
    ("conv", [tensor(N, 3, 8, N), tensor(8, 3, 3, 3)], window(), tensor(N, 8, 6, add(N, -2))),
    (
        "conv",
        [tensor(UNKNOWN, 3, 8, UNKNOWN), tensor(8, 3, 3, 3)],
        window(),
        tensor(UNKNOWN, 8, 6, UNKNOWN),
    ),
    ("conv", [tensor(1, 32, 8, 8), tensor(32, 1, 3, 3)], window(groups=32), tensor(1, 32, 6, 6)),
    (
        "conv",
        [tensor(1, 8, 8, 3), tensor(3, 3, 3, 16)],
        window(data_layout="NHWC", kernel_layout="HWIO"),
        tensor(1, 6, 6, 16),
    ),
    (
        "conv",
        [tensor(1, 2, 8, 8, 16), tensor(4, 2, 3, 3, 16, 8)],
        window(data_layout="NCHW16c", kernel_layout="OIHW16i8o", out_layout="NCHW8c"),
        tensor(1, 4, 6, 6, 8),
    ),
    (
        "conv",
        [tensor(1, 3, 9), tensor(4, 3, 3)],
        window(data_layout="NCW", kernel_layout="OIW", strides=2, padding=1, dilation=1),
        tensor(1, 4, 5),
    ),
    (
        "conv",
        [tensor(1, 3, 9, 9, 9), tensor(4, 3, 1, 3, 3)],
        window(
            data_layout="NCDHW", kernel_layout="OIDHW", strides=(1, 2, 2), padding=0, dilation=1
        ),
        tensor(1, 4, 9, 4, 4),
    ),
    (
        "conv_transpose",
        [tensor(1, 8, 4, 4), tensor(8, 3, 3, 3)],
        window(kernel_layout="IOHW", strides=(2, 2), padding=(1, 1), output_padding=(1, 1)),
        tensor(1, 3, 8, 8),
    ),
    (
        "conv_transpose",
        [tensor(1, 8, 4, N), tensor(8, 3, 2, 2)],
        window(kernel_layout="IOHW", strides=(2, 2), output_padding=(0, 0), groups=2),
        tensor(1, 6, 8, multiply(N, 2)),
    ),
]

CONFLICTS = [
    ("conv", [IMAGE, tensor(8, 4, 3, 3)], window(), "has 3 channels .* has 4 input channels"),
    ("conv", [IMAGE, tensor(8, 3, 3, 3)], window(channels=9), "channels is 9"),
    ("conv", [IMAGE, tensor(8, 3, 3, 3)], window(kernel_size=(5, 5)), "kernel_size is"),
    ("conv", [IMAGE, tensor(8, 3, 3, 3)], window(groups=2), "2 groups do not divide the 3"),
    ("conv", [tensor(1, 3, 2, 2), tensor(8, 3, 3, 3)], window(), "smaller than the window"),
    ("conv", [IMAGE, tensor(8, 3, 3, 3)], window(padding=(1, 2, 3)), "padding has 3 values"),
    ("conv", [IMAGE, tensor(8, 3, 3, 3)], window(strides=(0, 1)), "stride of axis H is 0"),
    ("conv", [IMAGE, tensor(8, 3, 3)], window(kernel_layout="OIW"), "spatial axes"),
]


def solved_weight(name, attributes):
    solver, weight = Solver(), IncompleteType()
    getattr(relations, name)([tensor(1, 8, 9, 9), weight], SimpleNamespace(**attributes), solver)
    return solver.resolve(weight)


def test_weight_is_solved():
    attributes = window(channels=16, kernel_size=(3, 5), groups=2, kernel_layout="HWIO")
    assert solved_weight("conv", attributes) == tensor(3, 5, 4, 16)


def test_transposed_weight_is_solved():
    attributes = window(
        channels=16, kernel_size=(3, 3), groups=2, kernel_layout="IOHW", output_padding=(0, 0)
    )
    assert solved_weight("conv_transpose", attributes) == tensor(8, 8, 3, 3)


test_result, test_conflict, test_waits_for_unknown_data = relation_tests(
    relations, CASES, CONFLICTS
)
