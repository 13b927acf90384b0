"""What words are made of, and words of constants."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.schedule.nests.rewritten_stages import Rewriting
from relay_tune.schedule.rewrites.dot_products.match import Operand
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Scalar, Tensor, binary, cast
from relay_tune.tensor.scalar_semantics import Array
from relay_tune.tensor.tensor import Input, WordView, compute, input_tensor

SIGN_BITS = -(1 << 31) + 0x808080
"""The first bit of each byte of a word: what bytes of the other sign have changed."""


def part(operand: Operand, element: Scalar) -> Scalar:
    """An element as one of a word; bytes of another sign with their first bit changed."""
    if not operand.offset:
        return cast(element, operand.dtype)
    changed = binary("xor", cast(element, "uint8"), 128)
    return cast(changed, operand.dtype)


def constant_words(words: WordView, source: Tensor, rewriting: Rewriting) -> Input:
    """Words of a constant, as a constant of int32."""
    assert isinstance(source, Input)
    whole = compute(f"{source.name}_words", words.shape, lambda *at: words[at])

    def elements(arrays: Mapping[Tensor, Array]) -> Array:
        return evaluate([whole], {source: arrays[source]})[0]

    return rewriting.constant(input_tensor(whole.name, whole.shape, "int32"), (source,), elements)
