"""What is left of an axis beside a window."""

import pytest

from relay_tune.frontend.relay_text import parse
from relay_tune.ir.expr import Call
from relay_tune.op.window_fit import window_rooms
from relay_tune.typing.infer import infer_types

ROOMS = {
    "nn.max_pool1d(%x, pool_size=[5], strides=[2], padding=[1, 1])": ["w - 2"],
    "nn.max_pool1d(%x, pool_size=[5], strides=[2], ceil_mode=True)": ["w - 4"],
    "nn.avg_pool1d(%x, pool_size=[3])": ["w - 2"],
    "nn.avg_pool1d(%x, pool_size=[3], ceil_mode=True)": ["w - 2"],
    "gather(%x, %i, axis=1)": ["0", "-v + w"],
    "slice_like(%x, %i)": ["0", "0", "-v + w"],
    "scatter_elements(%x, %i, %x, axis=2)": ["0", "0", "0", "0", "-v + w"],
    "nn.conv1d(%x, %k, dilation=[2])": ["w - 5"],
    "nn.conv1d(%x, %o, strides=[2])": [],
    "sliding_window(%x, axis=2, window_shape=[4], strides=[2])": ["w - 4"],
    'nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [-1, 2]], pad_mode="edge")': ["w - 2"],
    "nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [1, 2]])": [],
    "nn.mirror_pad(%x, pad_width=[[0, 0], [0, 0], [1, 2]])": ["w - 1"],
    "nn.adaptive_max_pool1d(%x, output_size=[3])": ["w - 1"],
    "topk(%x, k=3)": ["w - 3"],
    "topk(%x, k=0)": ["w"],
    "strided_slice(%x, begin=[-1], end=[2147483647], axes=[2])": ["w - 1"],
    "strided_slice(%x, begin=[1], end=[2147483647], axes=[2])": [],
    "image.resize1d(%x, size=[5])": ["w - 1"],
    "nn.conv1d_transpose(%x, %t)": [],
    "nn.relu(%x)": [],
}


@pytest.mark.parametrize("text", ROOMS)
def test_rooms_are_what_is_left_of_the_padded_axis(text: str) -> None:
    params = "%x: Tensor[(1, 2, w), float32], "
    params += "%k: Tensor[(4, 2, 3), float32], %o: Tensor[(4, 2, 1), float32], "
    params += "%t: Tensor[(2, 4, 3), float32], %i: Tensor[(1, 2, v), int32]"
    body = infer_types(parse(f"def @main({params}) {{ {text} }}")).main.body
    assert isinstance(body, Call)
    assert [str(each.room) for each in window_rooms(body)] == ROOMS[text]
