"""Who writes the padding, and who reads it."""

from typing import Any

import numpy as np
import pytest

from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.matching import attribute, constant_data, operator_name
from relay_tune.transform.materialize_padding import MaterializePadding
from relay_tune.typing.infer import infer_types
from relay_tune.typing.relations.slice_sizes import OPEN_END

X = "%x: Tensor[(1, 6, 6, 4), float32]"
W = "%w: Tensor[(3, 3, 4, 4), float32]"
LAYOUT = 'data_layout="NHWC", kernel_layout="HWIO"'


def conv(data: str, padding: str) -> str:
    return f"nn.conv2d({data}, %w, padding={padding}, {LAYOUT})"


def test_padding_becomes_a_pad(typed: Any, calls: Any, assert_same_meaning: Any) -> None:
    before = typed(f"({X}, {W}) {{ {conv('nn.relu(%x)', '[1, 1]')} }}", "w")
    after = MaterializePadding()(before)
    assert calls(after) == ["nn.conv2d", "nn.pad", "nn.relu"]
    assert_same_meaning(before, after)


def test_one_pad_serves_all_consumers(typed: Any, calls: Any, assert_same_meaning: Any) -> None:
    text = (
        f"({X}, {W}) {{ %0 = nn.relu(%x); "
        f"add(add({conv('%0', '[1, 1]')}, "
        f"strided_slice({conv('%0', '[2, 2]')}, begin=[0, 1, 1, 0], end=[1, 7, 7, 4])), %0) }}"
    )
    before = typed(text, "w")
    after = MaterializePadding()(before)
    assert calls(after).count("nn.pad") == 1
    assert_same_meaning(before, after)


@pytest.mark.parametrize("batch", ["n", "?"])
def test_padding_of_an_open_batch(typed: Any, calls: Any, batch: str) -> None:
    image = f"%x: Tensor[({batch}, 6, 6, 4), float32]"
    first, second = conv("%0", "[1, 1]"), conv("%0", "[2, 2]")
    both = f"(({first}, {second}, %0))"
    after = MaterializePadding()(typed(f"({image}, {W}) {{ %0 = nn.relu(%x); {both} }}", "w"))
    assert calls(after).count("nn.pad") == 1
    slices = [node for node in post_order(after.main) if operator_name(node) == "strided_slice"]
    cut = [(attribute(node, "begin"), attribute(node, "end")) for node in slices]
    assert sorted(cut) == [((1, 1, 0), (9, 9, 4)), ((2, 2, 0), (8, 8, 4))]
    assert all(attribute(node, "axes") == (1, 2, 3) for node in slices)


def test_padding_of_a_dynamic_axis(typed: Any, calls: Any) -> None:
    image = "%x: Tensor[(1, (h + 1) // 2, 6, 4), float32]"
    first, second = conv("%0", "[1, 1]"), conv("%0", "[0, 1, 2, 1]")
    both = f"(({first}, {second}, %0))"
    before = typed(f"({image}, {W}) {{ %0 = nn.relu(%x); {both} }}", "w")
    after = MaterializePadding()(before)
    assert calls(after).count("nn.pad") == 1
    assert infer_types(after).main.body.type == before.main.body.type
    slices = [node for node in post_order(after.main) if operator_name(node) == "strided_slice"]
    cut = [(attribute(node, "begin")[1], attribute(node, "end")[1]) for node in slices]
    assert sorted(cut) == [(0, -1), (1, -2), (1, OPEN_END)]


@pytest.mark.parametrize("size", ["?", "h - 4"])
def test_padding_that_cannot_be_cut_off_stays(typed: Any, size: str) -> None:
    image = f"%x: Tensor[(1, {size}, 6, 4), float32]"
    module = typed(f"({image}, {W}) {{ {conv('nn.relu(%x)', '[1, 1]')} }}", "w")
    assert MaterializePadding()(module) is module


@pytest.mark.parametrize("dilation", [1, 2])
def test_an_image_that_tiles_may_be_cut_from_is_padded(
    typed: Any, calls: Any, dilation: int
) -> None:
    parameters = "%x: Tensor[(1, h, 6, 16), float32], %w: Tensor[(3, 3, 16, 4), float32]"
    taps = f"padding=[{dilation}, {dilation}], dilation=[{dilation}, {dilation}], {LAYOUT}"
    after = MaterializePadding()(
        typed(f"({parameters}) {{ nn.conv2d(nn.relu(%x), %w, {taps}) }}", "w")
    )
    assert "nn.pad" in calls(after)


def test_unpadded_convolution_is_left_alone(typed: Any) -> None:
    module = typed(f"({X}, {W}) {{ {conv('%x', '[0, 0]')} }}", "w")
    assert MaterializePadding()(module) is module


def test_lone_max_pool_pads_with_the_lowest_value(
    typed: Any, calls: Any, assert_same_meaning: Any
) -> None:
    pool = 'nn.max_pool2d(negative(%x), pool_size=[3, 3], padding=[1, 1], layout="NHWC")'
    before = typed(f"({X}) {{ {pool} }}")
    after = MaterializePadding()(before)
    assert calls(after) == ["negative", "nn.max_pool2d", "nn.pad"]
    assert_same_meaning(before, after)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_max_pools_of_bytes_pad_with_the_least_byte(
    dtype: str, typed: Any, assert_same_meaning: Any
) -> None:
    pool = "nn.max_pool2d(minimum(%x, %x), pool_size=[3, 3], padding=[1, 1])"
    before = typed(f"(%x: Tensor[(1, 2, 4, 5), {dtype}]) {{ {pool} }}")
    after = MaterializePadding()(before)
    pads = [node for node in post_order(after.main) if operator_name(node) == "nn.pad"]
    (value,) = (constant_data(node.arguments[1]) for node in pads)
    assert value == np.iinfo(dtype).min
    assert value.dtype == dtype
    assert_same_meaning(before, after)


def test_average_pool_keeps_its_padding(typed: Any) -> None:
    pool = 'nn.avg_pool2d(%x, pool_size=[3, 3], padding=[1, 1], layout="NHWC")'
    module = typed(f"({X}) {{ {pool} }}")
    assert MaterializePadding()(module) is module


def test_maxima_at_the_border_may_be_minus_infinity(typed: Any, assert_same_meaning: Any) -> None:
    pool = "nn.max_pool2d(abs(%x), pool_size=[2, 2], padding=[1, 1, 1, 1])"
    before = typed(f"(%x: Tensor[(1, 1, 3, 3), float32]) {{ {pool} }}")
    after = MaterializePadding()(before)
    pads = [node for node in post_order(after.main) if operator_name(node) == "nn.pad"]
    (value,) = (constant_data(node.arguments[1]) for node in pads)
    assert value == -np.inf
    assert_same_meaning(before, after)
