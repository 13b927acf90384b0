"""Numbers of few bits get signs and words; what they mean stays."""

from typing import Any

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.codegen.target import parse_target
from relay_tune.ir.expr import Constant
from relay_tune.ir.traversal import post_order
from relay_tune.op.block_quantization import packed_numbers
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.number_words import NumberWords
from relay_tune.transform.pipeline import PipelineOptions, default_pipeline

RANDOM = np.random.default_rng(3)
SIZE, BLOCK = 41, 16
WORDS = NumberWords(parse_target("x86_64-linux-gnu:skylake-avx512").machine)
BYTES = NumberWords(parse_target("x86_64-linux-gnu").machine)


def program(bits: int, zero: Any, scale: Any, size: int = SIZE, activations: str = "") -> Any:
    """x W, of which the arguments and random numbers are W."""
    numbers = RANDOM.integers(0, 2**bits, (5, SIZE)).astype(np.uint8)
    values = {"w": packed_numbers(numbers, bits), "s": scale, "z": zero}
    more = f'size={size}, activations="{activations}"'
    call = f"qnn.dequantize_blocks(%w, %s, %z, bits={bits}, block={BLOCK}, {more})"
    types = (f"%{name}: Tensor[{each.shape}, {each.dtype}]" for name, each in values.items())
    text = f"def @main(%x: Tensor[(2, {SIZE}), float32], {', '.join(types)})"
    return rt.infer_types(BindParameters(values)(rt.parse(f"{text} {{ nn.dense(%x, {call}) }}")))


def stored(module: Any) -> list[tuple[str, int]]:
    """The types and ranks of the constants."""
    nodes = post_order(module.main)
    return [(str(n.data.dtype), n.data.ndim) for n in nodes if isinstance(n, Constant)]


def scales(dtype: str) -> Any:
    return (RANDOM.integers(1, 100, (5, 3)) / 64).astype(dtype)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("points", ["middle", "different"])
def test_numbers_mean_the_same(bits: int, points: str) -> None:
    zero = np.full((5, 3), 2 ** (bits - 1), np.uint8)
    if points == "different":
        zero = RANDOM.integers(0, 2**bits, (5, 3)).astype(np.uint8)
    before = program(bits, zero, scales("float32"))
    after = WORDS(before)
    rank = 2 if points == "different" else 0
    kind = "int8" if bits == 8 else "int32"
    assert stored(after) == [(kind, 2), ("float16", 2), ("int8", rank)]
    data = RANDOM.standard_normal((2, SIZE)).astype(np.float32)
    np.testing.assert_array_equal(rt.interpret(after, data), rt.interpret(before, data))
    assert stored(WORDS(after)) == stored(after)


def test_scales_that_float16_lacks_stay() -> None:
    scale = scales("float32")
    scale[1, 2] = 0.1
    module = WORDS(program(4, np.full((), 8, np.uint8), scale))
    assert stored(module)[1] == ("float32", 2)


def test_what_words_cannot_say_stays() -> None:
    far = program(4, np.full((), 200, np.uint8), scales("float16"))
    between = program(4, np.full((5, 3), 7.5, np.float32), scales("float16"))
    for module in (far, between):
        assert stored(WORDS(module)) == stored(module)


def test_bytes_stay_where_nothing_looks_numbers_up() -> None:
    module = program(4, np.full((), 8, np.uint8), scales("float16"))
    assert stored(BYTES(module)) == stored(module)


@pytest.mark.parametrize(
    ("cpu", "accuracy", "activations", "found"),
    [
        ("cascadelake", Accuracy.FAST, "int8", "int32"),
        ("cascadelake", Accuracy.RELAXED, "", "int32"),
        ("cascadelake", Accuracy.FAST, "", "int8"),
        ("cascadelake", Accuracy.EXACT, "int8", "int8"),
        ("znver4", Accuracy.FAST, "", "int8"),
        ("sapphirerapids", Accuracy.FAST, "", "int32"),
        ("sapphirerapids", Accuracy.EXACT, "", "int8"),
        ("haswell", Accuracy.RELAXED, "int8", "int8"),
    ],
)
def test_bytes_lie_in_words_where_products_multiply_four(
    cpu: str, accuracy: Accuracy, activations: str, found: str
) -> None:
    before = program(8, np.full((5, 3), 7, np.uint8), scales("float16"), activations=activations)
    machine = parse_target(f"x86_64-linux-gnu:{cpu}").machine
    after = rt.infer_types(NumberWords(machine, accuracy)(before))
    assert (found, 2) in stored(after)
    signed = NumberWords(parse_target("x86_64-linux-gnu").machine)(before)
    assert stored(NumberWords(machine, accuracy)(signed)) == stored(after)
    data = RANDOM.standard_normal((2, SIZE)).astype(np.float32)
    np.testing.assert_array_equal(rt.interpret(after, data), rt.interpret(before, data))


def test_the_default_pipeline_knows_the_accuracy() -> None:
    """Fields of options reach the pass."""
    for accuracy in Accuracy:
        passes = default_pipeline(PipelineOptions(accuracy=accuracy)).passes
        assert [each.accuracy for each in passes if isinstance(each, NumberWords)] == [accuracy]
