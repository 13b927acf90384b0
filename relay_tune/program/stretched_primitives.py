"""Specialisations of a primitive for a `?` that meets another size and turns out to be 1.

    fn (%a: Tensor[(?, 4), float32], %b: Tensor[(?, 4), float32]) { add(%a, %b) }

    both equal:     fn (%a: Tensor[(s0, 4), ..], %b: Tensor[(s0, 4), ..]) { .. }
    %a has one row: fn (%a: Tensor[(1, 4), ..], %b: Tensor[(?, 4), ..]) { .. }
    %b has one row: fn (%a: Tensor[(?, 4), ..], %b: Tensor[(1, 4), ..]) { .. }

A size of 1 is stretched. The sizes of results that the type says must come about in any case.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import comb

from relay_tune.errors import NoNativeCodeError, TypeInferenceError
from relay_tune.ir.dim import Dim, Symbol, UnknownDim
from relay_tune.ir.expr import Function
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.program.kinds import function_type, tensors_of
from relay_tune.program.open_primitive import (
    OpenPrimitive,
    is_open_primitive,
    open_primitive,
    retyped,
)
from relay_tune.program.size_naming import SizeSource
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.infer import infer_expr

MOST_CODES = 22
"""Codes of one primitive: for any of four sizes that may be 1, for up to two of six, for one of up
to 21. More sizes are taken to be equal."""


@dataclass(frozen=True, slots=True)
class Rest:
    """Which sizes are known not to be 1, and how many others may be."""

    larger: frozenset[SizeSource]
    most: int


@dataclass(frozen=True, eq=False, slots=True)
class StretchedPrimitive:
    """A typed primitive for inputs in which a size is 1, named where it still has open sizes."""

    place: SizeSource
    function: Function
    named: OpenPrimitive | None
    rest: Rest

    def stretched(self) -> tuple[StretchedPrimitive, ...]:
        """Those in whose inputs another size is 1, too."""
        if self.named is None:
            return ()
        return _stretched_primitives(self.function, self.named, self.rest)


def stretched_primitives(
    primitive: Function, named: OpenPrimitive
) -> tuple[StretchedPrimitive, ...]:
    """The primitives that take the place of one whose sizes must be equal, where they are not.

    Of several that fit, the first is taken.
    """
    most = _most_at_once(len(_meeting_sizes(primitive, named)))
    return _stretched_primitives(primitive, named, Rest(frozenset(), most))


def _most_at_once(sizes: int) -> int:
    """How many of so many sizes may be 1 in one run."""
    codes = accumulate(comb(sizes, count) for count in range(sizes + 1))
    return sum(1 for count in codes if count <= MOST_CODES) - 1 if sizes else 0


def _stretched_primitives(
    primitive: Function, named: OpenPrimitive, rest: Rest
) -> tuple[StretchedPrimitive, ...]:
    if not rest.most:
        return ()
    found: list[StretchedPrimitive] = []
    known = rest.larger
    for source in _meeting_sizes(primitive, named):
        if source in known:
            continue
        stretched = _stretched(primitive, source, Rest(known, rest.most - 1))
        if stretched is not None:
            found.append(stretched)
            known |= {source}
    return tuple(found)


def _meeting_sizes(primitive: Function, named: OpenPrimitive) -> list[SizeSource]:
    """The `?` among the sizes of inputs that are compared with another size."""
    unknown = {
        SizeSource(position, axis)
        for position, tensor in enumerate(_inputs(primitive))
        for axis, dim in enumerate(tensor.shape)
        if isinstance(dim, UnknownDim)
    }
    found: list[SizeSource] = []
    for source, dim in named.checks:
        other = named.symbols.get(dim.name) if isinstance(dim, Symbol) else None
        found += [position for position in (other, source) if position in unknown]
    return list(dict.fromkeys(found))


def _stretched(primitive: Function, source: SizeSource, rest: Rest) -> StretchedPrimitive | None:
    """The primitive with a size of 1; None if it has no type, or not the type that is wanted."""
    numbers = itertools.count()
    types = [_with_one(type_, source, numbers) for type_ in function_type(primitive).params]
    try:
        typed = infer_expr(retyped(primitive, types))
        assert isinstance(typed, Function)
        named = open_primitive(typed) if is_open_primitive(typed) else None
    except (TypeInferenceError, NoNativeCodeError):
        return None
    if named is not None and any(size == 1 for _, size in named.checks):
        return None  # what it meets is 1, too, so that nothing is stretched
    fits = _fits(_results(typed), _results(primitive))
    return StretchedPrimitive(source, typed, named, rest) if fits else None


def _with_one(type_: Type, source: SizeSource, numbers: Iterator[int]) -> Type:
    if isinstance(type_, TupleType):
        return TupleType(tuple(_with_one(field, source, numbers) for field in type_.fields))
    if not isinstance(type_, TensorType) or next(numbers) != source.input:
        return type_
    shape: list[Dim] = list(type_.shape)
    shape[source.axis] = 1
    return TensorType(tuple(shape), type_.dtype)


def _fits(found: Sequence[TensorType], wanted: Sequence[TensorType]) -> bool:
    """Whether results have the sizes that are told of them."""
    return all(
        isinstance(want, UnknownDim) or have == want
        for given, told in zip(found, wanted, strict=True)
        for have, want in zip(given.shape, told.shape, strict=True)
    )


def _inputs(primitive: Function) -> list[TensorType]:
    params = function_type(primitive).params
    return [tensor for type_ in params for tensor in tensors_of(type_)]


def _results(primitive: Function) -> list[TensorType]:
    return list(tensors_of(function_type(primitive).result))
