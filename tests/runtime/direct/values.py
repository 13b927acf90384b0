"""Programs that give back what they are given, and values for them."""

import numpy as np

from relay_tune.building.build import build
from relay_tune.ir.parser.parse import parse
from relay_tune.runtime.data_values import data_value
from relay_tune.runtime.direct.call import DirectCall
from relay_tune.runtime.interpreter.values import ConstructorValue
from relay_tune.runtime.native_calls import NativeCalls

TYPES = """
type List[A] { Cons(A, List[A]), Nil, }
type Shape[A] { Flat(A, (A, int64)), Deep(List[Shape[A]]), }
"""
ROW = "Tensor[(1, 3), float32]"
MODULE = parse(TYPES)


def loaded(text: str) -> NativeCalls:
    """The program of a definition, which may use the types."""
    model = build(parse(TYPES + text), threads=1)
    assert model._general is not None
    return model._general.calls


def direct_call_of(text: str) -> DirectCall:
    """Its direct call, which must be there."""
    call = loaded(text).first.direct
    assert call is not None
    return call


def make(constructor: str, *fields: object) -> ConstructorValue:
    return data_value(MODULE, constructor, *fields)


def row(first: float = 0) -> np.ndarray:
    return np.arange(first, first + 3, dtype=np.float32).reshape(1, 3)


def flat(first: float = 0) -> ConstructorValue:
    return make("Flat", row(first), (row(-first), np.array(7)))


def listed(*parts: object) -> ConstructorValue:
    found = make("Nil")
    for part in reversed(parts):
        found = make("Cons", part, found)
    return found


def deep(*parts: ConstructorValue) -> ConstructorValue:
    return make("Deep", listed(*parts))
