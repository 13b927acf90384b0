import weakref

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.building.constant_block import ConstantBlock
from relay_tune.frontend.relay_text import parse
from relay_tune.schedule.packing import PackedAxis, PackRecipe
from relay_tune.tensor.deferred_array import deferred
from relay_tune.transform.bind_parameters import BindParameters


def test_constants_are_aligned_and_unchanged() -> None:
    block = ConstantBlock()
    arrays = [np.arange(n, dtype="float32") + n for n in (1, 17, 40)]
    offsets = [block.add(array) for array in arrays]
    data = block.array()
    assert data.ctypes.data % 64 == 0
    for array, offset in zip(arrays, offsets, strict=True):
        assert offset % 64 == 0
        assert data[offset : offset + array.nbytes].view("float32").tolist() == array.tolist()


def test_one_constant_is_stored_once_in_each_form() -> None:
    block = ConstantBlock()
    array = np.arange(6, dtype="float32").reshape(2, 3)
    packed = PackRecipe(0, (PackedAxis(3, 1, 2),), (PackedAxis(2, 3, 1),))
    assert block.add(array) == block.add(array)
    offset = block.add(array, packed)
    assert offset != block.add(array)
    expected = packed.pack(array)
    assert block.array()[offset : offset + expected.nbytes].tobytes() == expected.tobytes()


def test_what_is_made_alike_of_the_same_constants_is_stored_once() -> None:
    block, way = ConstantBlock(), object()
    array, other = np.ones(3), np.ones(3)
    first, second = (deferred((3,), "float32", lambda: np.ones(3)) for _ in range(2))
    assert block.shared(0, (way, array), first) is first
    assert block.shared(0, (way, array), second) is first
    assert block.shared(0, (way, other), second) is second
    assert block.shared(1, (way, array), second) is second
    assert block.shared(0, (object(), array), second) is second


def test_weights_of_several_calls_are_transformed_once() -> None:
    layer = 'nn.conv2d({}, %w, padding=[1, 1], data_layout="NHWC", kernel_layout="HWIO")'
    weights = np.random.default_rng(0).standard_normal((3, 3, 64, 64)).astype(np.float32)

    def constant_bytes(calls: int) -> int:
        value = "%x"
        for _ in range(calls):
            value = f"nn.relu({layer.format(value)})"
        text = f"""def @main(%x: Tensor[(1, 16, 16, 64), float32],
          %w: Tensor[(3, 3, 64, 64), float32]) {{ {value} }}"""
        model = build(BindParameters({"w": weights})(parse(text)), threads=1)
        return model.compiled().constants.size

    assert constant_bytes(4) < 2.5 * constant_bytes(1)  # the last one has no padding in it


def test_pieces_are_the_block_before_and_after_it_is_filled() -> None:
    block = ConstantBlock()
    array = np.arange(35, dtype="float32").reshape(5, 7)
    for data in (array, array.T, np.arange(3, dtype="int8")):
        block.add(data)
    block.add(array, PackRecipe(0, (PackedAxis(7, 1, 2),), (PackedAxis(5, 7, 1),)))
    before = b"".join(block.pieces())
    assert len(before) == block.size
    assert before == block.array().tobytes() == b"".join(block.pieces())
    assert block.array() is block.array()


def test_constants_are_let_go_once_they_are_in_the_block() -> None:
    block = ConstantBlock()
    array = np.ones(100, "float32")
    block.add(array)
    alive = weakref.ref(array)
    del array
    assert alive() is not None
    block.array()
    assert alive() is None


def test_filling_goes_on_where_memory_ran_out(monkeypatch: pytest.MonkeyPatch) -> None:
    block = ConstantBlock()
    packed = PackRecipe(0, (PackedAxis(8, 1, 2),), ())
    arrays = [np.arange(8, dtype="float32") + n for n in range(3)]
    for array in arrays:
        block.add(array, packed)
    expected = b"".join(block.pieces())
    pack, calls = PackRecipe.pack_into, []

    def failing(self: PackRecipe, room: np.ndarray, data: np.ndarray) -> None:
        calls.append(data)
        if len(calls) == 2:
            raise MemoryError
        pack(self, room, data)

    monkeypatch.setattr(PackRecipe, "pack_into", failing)
    with pytest.raises(MemoryError):
        block.array()
    assert b"".join(block.pieces()) == expected == block.array().tobytes()


def test_parts_of_a_concatenation_keep_their_constants() -> None:
    """Each part reads its constant from its own first element on, and nowhere beyond."""
    text = """def @main(%x: Tensor[(2, 2, 4), float32], %m: Tensor[(2, 2, 1), bool],
                        %c: Tensor[(2, 2, 2), float32]) {
      let %left = strided_slice(%x, begin=(0,), end=(2,), axes=(2,));
      let %right = strided_slice(%x, begin=(2,), end=(4,), axes=(2,));
      let %both = concatenate((%left * %c, %right * %c), axis=2);
      mean(where(%m, %both, 1.5f), axis=[0])
    }"""
    factors = np.arange(2, 10, dtype="float32").reshape(2, 2, 2)
    x = np.ones((2, 2, 4), "float32")
    mask = np.array([[[True], [False]], [[True], [True]]])
    expected = np.where(mask, x * np.tile(factors, (1, 1, 2)), 1.5).mean(axis=0)
    module = BindParameters({"c": factors})(parse(text))
    np.testing.assert_array_equal(build(module, threads=1)(x, mask), expected)
