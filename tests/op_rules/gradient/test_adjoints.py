"""Each rule of an adjoint, against central differences in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay_tune.ir.expr import Call
from relay_tune.ir.operator import find_operator
from relay_tune.op_rules.gradient.table import GRADIENT
from tests.op_rules.gradient.check import check_adjoints

G = np.random.default_rng(3)
_REDUCTIONS = ("update", "add", "max", "min", "mul")


def _x(*shape: int) -> Any:
    """Numbers of which no two are close, none near zero or one."""
    count = int(np.prod(shape))
    steps = np.linspace(0.13, 2.3, count) + G.random() / (10 * count)
    values = G.permutation(steps) * np.where(G.random(count) < 0.5, -1, 1)
    return values.reshape(shape)


def _positive(*shape: int) -> Any:
    return np.abs(_x(*shape))


def _unit(*shape: int) -> Any:
    return _x(*shape) / 2.5


def _ints(high: int, *shape: int) -> Any:
    return G.integers(0, high, shape)


CASES: list[tuple[Any, ...]] = [
    ("again", _x(2, 3), _x(3)),
    ("decisive", _x(2, 3)),
    *[(name, _x(2, 3), _x(3)) for name in ("add", "subtract", "multiply", "divide")],
    *[(name, _x(2, 3), _x(2, 1)) for name in ("maximum", "minimum", "divide")],
    ("power", _positive(2, 3), _x(3)),
    ("power", _x(2, 3), np.full((), 2.0)),
    *[
        (name, _x(2, 3))
        for name in "negative abs exp tanh sigmoid erf sin cos tan atan sinh cosh asinh copy "
        "nn.relu nn.gelu".split()
    ],
    *[(name, _positive(5)) for name in "log log2 log10 log1p sqrt rsqrt".split()],
    *[(name, _unit(5)) for name in "asin acos atanh".split()],
    ("acosh", 1 + _positive(5)),
    ("nn.gelu", _x(5), {"approximate": "tanh"}),
    ("nn.leaky_relu", _x(5), {"alpha": -0.3}),
    ("nn.prelu", _x(2, 3, 2), _x(3)),
    ("nn.prelu", _x(2, 3), _x(3), {"axis": -1}),
    ("cast", _x(3), {"dtype": "float64"}),
    ("where", _x(2, 3) > 0, _x(3), _x(2, 1)),
    ("clip", _x(6), {"a_min": -1.0, "a_max": 1.0}),
    ("trilu", _x(3, 4), np.array(1), {"upper": False}),
    ("sequence_mask", _x(4, 2), np.array([1, 3]), {"mask_value": 7.0}),
    *[("sum", _x(2, 3, 2), {"axis": axis}) for axis in (None, 1, (0, 2), ())],
    ("sum", _x(2, 3, 2), {"axis": (1,), "exclude": True}),
    ("mean", _x(2, 3, 2), {"axis": (0, 1), "keepdims": True}),
    ("mean", _x(2, 3), {"axis": -1}),
    ("variance", _x(2, 3), _x(2, 1), {"axis": 1, "keepdims": True}),
    ("variance", _x(2, 3), _x(2, 1), {"axis": 1, "unbiased": True}),
    ("reshape", _x(2, 6), {"newshape": (3, 4)}),
    ("reshape_like", _x(2, 6), _x(3, 4)),
    ("squeeze", _x(2, 1, 3), {"axis": (1,)}),
    ("expand_dims", _x(2, 3), {"axis": 1}),
    ("nn.batch_flatten", _x(2, 3, 2)),
    ("broadcast_to", _x(3, 1), {"shape": (2, 3, 4)}),
    ("broadcast_to_like", _x(3, 1), _x(2, 3, 4)),
    ("collapse_sum_to", _x(2, 3, 4), {"shape": (3, 1)}),
    ("collapse_sum_like", _x(2, 3, 4), _x(3, 1)),
    ("transpose", _x(2, 3, 4), {"axes": (1, -1, 0)}),
    ("transpose", _x(2, 3, 4)),
    ("layout_transform", _x(1, 4, 2, 2), {"src_layout": "NCHW", "dst_layout": "NCHW2c"}),
    ("reverse", _x(2, 3), {"axis": 1}),
    ("reverse_sequence", _x(4, 2), np.array([2, 4]), {"seq_axis": 0, "batch_axis": 1}),
    ("tile", _x(2, 3), {"reps": (2, 1, 3)}),
    ("tile", _x(2, 3), {"reps": (2,)}),
    ("repeat", _x(2, 3), {"repeats": 2, "axis": -1}),
    ("repeat", _x(2, 3), {"repeats": 2}),
    ("nn.depth_to_space", _x(1, 8, 2, 3), {"block_size": 2}),
    ("nn.space_to_depth", _x(1, 2, 4, 2), {"block_size": 2}),
    ("full", _x(), {"shape": (2, 3), "dtype": "float64"}),
    ("concatenate", (_x(2, 3), _x(2, 1)), {"axis": -1}),
    ("stack", (_x(2, 3), _x(2, 3)), {"axis": 1}),
    ("split", _x(2, 5), {"indices_or_sections": (1, 3), "axis": -1}),
    ("strided_slice", _x(5, 7), {"begin": (1, 5), "end": (4, 0), "strides": (2, -2)}),
    ("strided_slice", _x(5, 7), {"begin": (1,), "end": (-1,), "axes": (1,)}),
    ("slice_like", _x(5, 7), _x(2, 3)),
    ("strided_set", _x(5, 4), _x(2, 4), {"begin": (1,), "end": (5,), "strides": (2,)}),
    ("take", _x(5, 3), np.array([[4, 0], [4, 9]]), {"axis": 0}),
    ("take", _x(2, 5, 3), np.array([4, 0, -1, 4]), {"axis": 1, "mode": "wrap"}),
    ("take", _x(2, 5), np.array([4, 0, 9, 4])),
    ("take", _x(5, 3), np.array([-1, 2]), {"axis": 0, "mode": "raise"}),
    ("gather", _x(3, 4), _ints(3, 2, 4), {"axis": 0}),
    ("gather_nd", _x(3, 4, 2), _ints(3, 2, 5)),
    ("scatter_elements", _x(3, 4), np.array([[0, 0, 1, 2], [0, 1, 1, 2]]), _x(2, 4)),
    *[
        ("scatter_elements", _x(2, 4), np.array([[3, 0], [1, 1]]), _x(2, 2), options)
        for options in ({"axis": 1, "reduction": how} for how in _REDUCTIONS)
    ],
    *[
        ("scatter_nd", _x(3, 2), np.array([[2, 0, 2]]), _x(3, 2), {"mode": mode})
        for mode in _REDUCTIONS
    ],
    ("scatter_nd", np.ones(2), np.array([[0, 0, 1]]), np.array([0.0, 3, 0]), {"mode": "mul"}),
    ("scatter_nd", np.zeros(1), np.array([[0, 0]]), np.array([0.0, 3]), {"mode": "mul"}),
    ("sort", _x(3, 4), {"axis": 0, "is_ascend": False}),
    ("topk", _x(3, 4), {"k": 2, "ret_type": "values"}),
    ("topk", _x(3, 4), {"k": 2, "axis": 0, "dtype": "int64"}),
    ("cumsum", _x(3, 4), {"axis": 1}),
    ("cumsum", _x(3, 4), {"exclusive": True}),
    ("cumprod", np.array([[0.0, 2.0, 3.0], [2.0, 0.0, 0.5]]), {"axis": 1}),
    ("cumprod", _x(2, 3), {"exclusive": True}),
    ("nn.dense", _x(2, 3, 4), _x(5, 4)),
    ("nn.dense", _x(3, 4), _x(5, 4)),
    *[
        ("nn.matmul", _x(*left), _x(*right), {"transpose_a": a, "transpose_b": b})
        for a, left in ((False, (3, 4)), (True, (4, 3)))
        for b, right in ((False, (4, 5)), (True, (5, 4)))
    ],
    ("nn.matmul", _x(2, 3, 4), _x(4, 5)),
    *[
        ("nn.batch_matmul", _x(*left), _x(*right), {"transpose_a": a, "transpose_b": b})
        for a, left in ((False, (2, 3, 4)), (True, (2, 4, 3)))
        for b, right in ((False, (1, 4, 5)), (True, (2, 5, 4)))
    ],
    ("nn.bias_add", _x(2, 3, 2), _x(3)),
    ("nn.softmax", _x(2, 5)),
    ("nn.softmax", _x(2, 5), {"axis": 0}),
    ("nn.log_softmax", _x(2, 5)),
    ("nn.layer_norm", _x(2, 3, 4), _x(4), _x(4)),
    ("nn.layer_norm", _x(2, 3, 4), _x(3), _x(3), {"axis": 1, "scale": False}),
    ("nn.instance_norm", _x(2, 3, 4), _x(3), _x(3)),
    ("nn.group_norm", _x(2, 4, 3), _x(4), _x(4), {"num_groups": 2}),
    *[
        ("nn.batch_norm", _x(2, 3, 4), *[_positive(size)] * 4, {"training": True, **options})
        for size, options in (
            (3, {}),
            (4, {"axis": -1, "scale": False}),
            (3, {"center": False, "epsilon": 0.1}),
        )
    ],
    ("nn.cross_entropy", _positive(2, 3), _positive(2, 3)),
    ("nn.cross_entropy_with_logits", _x(2, 3), _positive(2, 3)),
    *[
        ("nn.nll_loss", _x(4, 3), np.array([2, 0, -1, 1]), _positive(3), options)
        for options in ({}, {"reduction": "sum", "ignore_index": 0}, {"reduction": "none"})
    ],
    ("nn.nll_loss", _x(2, 3, 2), np.array([[2, 0], [-100, 1]]), _positive(3)),
    ("nn.pad", _x(2, 3), np.full((), 0.5), {"pad_width": ((0, 1), (2, 0))}),
    ("nn.dilate", _x(2, 3), {"strides": (1, 3), "dilation_value": 1.0}),
    ("nn.global_avg_pool2d", _x(2, 3, 4, 2)),
    *[
        ("nn.conv2d", _x(*data), _x(*weight), options)
        for data, weight, options in (
            ((2, 3, 6, 7), (4, 3, 3, 2), {}),
            ((2, 3, 6, 7), (4, 3, 3, 2), {"strides": (2, 3), "padding": (1, 0, 2, 1)}),
            ((1, 4, 7, 7), (6, 2, 3, 3), {"groups": 2, "dilation": (2, 1), "padding": 1}),
            ((2, 4, 5, 5), (4, 1, 3, 3), {"groups": 4, "strides": (2, 2)}),
            ((1, 6, 6, 3), (3, 2, 3, 4), {"data_layout": "NHWC", "kernel_layout": "HWIO"}),
            (
                (2, 6, 6, 4),
                (3, 3, 2, 6),
                {"data_layout": "NHWC", "kernel_layout": "HWIO", "groups": 2},
            ),
            ((1, 3, 6, 6), (2, 3, 1, 1), {"strides": (2, 2)}),
        )
    ],
    ("nn.conv1d", _x(2, 3, 9), _x(2, 3, 4), {"strides": 2, "padding": (1, 1)}),
    ("nn.conv3d", _x(1, 2, 4, 3, 3), _x(2, 2, 2, 2, 2)),
    ("nn.conv1d_transpose", _x(2, 3, 5), _x(3, 2, 4), {"strides": 3, "output_padding": 2}),
    (
        "nn.conv2d_transpose",
        _x(1, 4, 3, 3),
        _x(4, 2, 3, 3),
        {"strides": (2, 2), "padding": 1, "groups": 2},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_adjoints_are_slopes(case: tuple[Any, ...]) -> None:
    name, *arguments = case
    attributes = arguments.pop() if isinstance(arguments[-1], dict) else {}
    check_adjoints(name, *arguments, **attributes)


def test_every_rule_has_a_case() -> None:
    """Dynamic and alternative names go through the rules of the others."""
    others = {
        "cast_like", "dyn.broadcast_to", "dyn.full", "dyn.reshape", "dyn.strided_slice", "dyn.tile",
        "dyn.topk", "full_like",
        "nn.global_avg_pool1d", "nn.global_avg_pool3d", "nn.conv3d_transpose",
    }  # fmt: skip
    known = {case[0] for case in CASES} | others
    with_rule = {name for name in GRADIENT.operators() if _rule(name).adjoints is not None}
    assert with_rule <= known


def _rule(name: str) -> Any:
    operator = find_operator(name)
    assert operator is not None
    return GRADIENT.rule_of(Call(operator, ()))
