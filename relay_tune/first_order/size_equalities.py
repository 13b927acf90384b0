"""Which sizes of a primitive's inputs may be equal where types do not tell."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from relay_tune.first_order.kinds import tensors_of
from relay_tune.ir.dim import Polynomial, Symbol, UnknownDim
from relay_tune.ir.types import Type

MOST_EQUALITIES = 2
"""How many `?` may be equal to other sizes, if their axes do not tell."""

Equal = Mapping[int, int | Symbol | Polynomial]
"""To what a `?`, by number, is equal: an earlier one, by number less than zero, or another size."""


def possible_equalities(types: Sequence[Type], constants: Sequence[Type]) -> Iterator[Equal]:
    """Which `?` among the sizes of inputs may be equal to other sizes, little first.

    The other sizes are those of inputs, then those of constants.
    """
    yield {}
    yield _equal_axes(types)
    dims = [dim for type_ in types for t in tensors_of(type_) for dim in t.shape]
    count = sum(isinstance(dim, UnknownDim) for dim in dims)
    dims += [dim for type_ in constants for t in tensors_of(type_) for dim in t.shape]
    known = (d for d in dict.fromkeys(dims) if not isinstance(d, UnknownDim))
    others = [d for d in known if d not in (0, 1)]
    for size in range(1, MOST_EQUALITIES + 1):
        for indices in itertools.combinations(range(count), size):
            options = [[*(~earlier for earlier in range(index)), *others] for index in indices]
            for chosen in itertools.product(*options):
                yield dict(zip(indices, chosen, strict=True))


def _equal_axes(types: Sequence[Type]) -> Equal:
    """Each `?` is equal to the first one of the same axis, counted from the last."""
    first: dict[int, int] = {}
    equal: dict[int, int | Symbol | Polynomial] = {}
    number = itertools.count()
    for tensor in (t for type_ in types for t in tensors_of(type_)):
        for from_end, dim in enumerate(tensor.shape, start=-len(tensor.shape)):
            if not isinstance(dim, UnknownDim):
                continue
            index = next(number)
            if from_end in first:
                equal[index] = ~first[from_end]
            first.setdefault(from_end, index)
    return equal


def without(index: int, equal: Equal) -> Equal:
    """The equalities but for those of a `?`; what was equal to it is equal to each other."""
    rest = {i: other for i, other in equal.items() if i != index and other != ~index}
    others = [i for i, other in equal.items() if other == ~index]
    if index in equal:
        return rest | dict.fromkeys(others, equal[index])
    return rest | dict.fromkeys(others[1:], ~others[0] if others else 0)
