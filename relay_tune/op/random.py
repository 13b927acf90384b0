"""Random numbers as functions of a counter and a key: random.uniform, random.normal.

    random.normal(arange(stop=6, dtype="int64"), 7i64)      six numbers, the same ones in every run

Philox with two words of 32 bits and ten rounds (Salmon et al., Parallel random numbers: as easy as
1, 2, 3, SC'11) turns the number of an element and a key into two words that look random. There is
no state, so that elements may be computed in any order, by any number of threads, and are fused
with what uses them.

The counter is the low and the high half of an element's number; the low half of the key is
Philox's key, and its high half, the number of a stream, is added to the counter's.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import Compute, FusionKind, Operator, define
from relay_tune.op.elements import Array, elementwise, integer_shape
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Scalar, binary, cast, unary
from relay_tune.tensor.scalar_semantics import convert, numpy_dtype
from relay_tune.typing.relations.creation import random as random_relation

ROUNDS = 10
MULTIPLIER = 0xD256D193
KEY_STEP = 0x9E3779B9
_LOW = 0xFFFFFFFF

UNIFORM_BITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
"""Of a uniform number: as many as its type holds exactly, so that none is rounded up to 1."""


@dataclass(frozen=True)
class RandomAttributes(Attributes):
    """Attributes of random.uniform and random.normal.

    Attributes:
        dtype: the element type of the result, a float type.
    """

    dtype: str = "float32"


def philox(counter: Array, key: Array) -> tuple[Array, Array]:
    """The two words of each counter under a key, as uint64 below 2**32; both broadcast."""
    counter, key = (np.asarray(each).astype(np.uint64) for each in (counter, key))
    low, half = np.uint64(_LOW), np.uint64(32)
    first, second = counter & low, ((counter >> half) + (key >> half)) & low
    with np.errstate(over="ignore"):
        for number in range(ROUNDS):
            product = first * np.uint64(MULTIPLIER)
            step = (key + np.uint64(number * KEY_STEP)) & low
            first, second = (product >> half) ^ step ^ second, product & low
    return first, second


def _philox(counter: Scalar, key: Scalar) -> tuple[Scalar, Scalar]:
    counter, key = cast(counter, "uint64"), cast(key, "uint64")
    stream = _high(counter) + _high(key)
    first, second = binary("and", counter, _LOW), binary("and", stream, _LOW)
    for number in range(ROUNDS):
        product = first * MULTIPLIER
        step = binary("and", key + number * KEY_STEP, _LOW)
        mixed = binary("xor", binary("xor", _high(product), step), second)
        first, second = mixed, binary("and", product, _LOW)
    return first, second


def _high(value: Scalar) -> Scalar:
    return binary("shr", value, 32)


def _uniform(words: tuple[Scalar, Scalar], dtype: str) -> Scalar:
    bits = UNIFORM_BITS[dtype]
    first, second = words
    if bits <= 32:
        digits, work = cast(binary("shr", first, 32 - bits), "int32"), "float32"
    else:
        high, low = binary("shl", first, bits - 32), binary("shr", second, 64 - bits)
        digits, work = cast(binary("or", high, low), "int64"), "float64"
    return cast(cast(digits, work) * 2.0**-bits, dtype)


def _uniform_reference(words: tuple[Array, Array], dtype: str) -> Array:
    bits = UNIFORM_BITS[dtype]
    both = (words[0] << np.uint64(32)) | words[1]
    return convert((both >> np.uint64(64 - bits)).astype(np.float64) * 2.0**-bits, dtype)


def _normal(words: tuple[Scalar, Scalar], dtype: str) -> Scalar:
    """A radius and an angle (Box and Muller, 1958)."""
    work, bits, whole = _normal_types(dtype)
    first, second = (cast(cast(binary("shr", w, 32 - bits), whole), work) for w in words)
    share = (first + 0.5) * 2.0**-bits
    radius = unary("sqrt", unary("log", share) * -2.0)
    return cast(radius * unary("cos", second * (2 * pi * 2.0**-bits)), dtype)


def _normal_types(dtype: str) -> tuple[str, int, str]:
    """The type to compute in, the bits of radius and angle, and an integer type that holds them."""
    return ("float64", 32, "int64") if dtype == "float64" else ("float32", 31, "int32")


def _normal_reference(words: tuple[Array, Array], dtype: str) -> Array:
    work, bits, _ = _normal_types(dtype)
    first, second = (
        (word >> np.uint64(32 - bits)).astype(numpy_dtype(work)).astype(np.float64)
        for word in words
    )
    share = ((first + 0.5) * 2.0**-bits).astype(numpy_dtype(work)).astype(np.float64)
    radius = np.sqrt(np.log(share) * -2.0)
    return convert(radius * np.cos(second * (2 * pi * 2.0**-bits)), dtype)


def _computation(name: str, element: Callable[[tuple[Scalar, Scalar], str], Scalar]) -> Compute:
    def computation(attributes: RandomAttributes, inputs: Any, types: Any) -> list[Any]:
        shape = integer_shape(types[0])

        def drawn(counter: Scalar, key: Scalar) -> Scalar:
            return element(_philox(counter, key), attributes.dtype)

        return [elementwise(name, shape, inputs, drawn)]

    return computation


def _random_operator(
    name: str,
    element: Callable[[tuple[Scalar, Scalar], str], Scalar],
    reference: Callable[[tuple[Array, Array], str], Array],
    documentation: str,
) -> Operator:
    def meaning(attributes: RandomAttributes, counter: Array, key: Array) -> Array:
        return reference(philox(counter, key), attributes.dtype)

    return define(
        name=f"random.{name}",
        arguments=("counter", "key"),
        relation=random_relation,
        kind=FusionKind.BROADCAST,
        attributes=RandomAttributes,
        compute=_computation(name, element),
        reference=meaning,
        documentation=documentation,
    )


uniform = _random_operator(
    "uniform",
    _uniform,
    _uniform_reference,
    "Numbers from 0 to below 1, each a function of its counter and the key; see Philox.",
)
normal = _random_operator(
    "normal",
    _normal,
    _normal_reference,
    "Numbers of the standard normal distribution, each a function of its counter and the key.",
)
