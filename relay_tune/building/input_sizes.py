"""Sizes of inputs as users give them: `shapes={"x": (range(1, 65), 8)}`, or several such.

A name may also be that of a size: `shapes={"batch": range(1, 65)}`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from relay_tune.errors import InputError

Size = int | range
"""A size, or a range of sizes, without steps."""

InputSizes = Mapping[str, Sequence[Size] | Size]
"""The size of each axis of inputs by name, or of dimensions by theirs."""

KnownSizes = Mapping[str, Sequence[Size]]
"""The same where each has a sequence."""


def input_sizes(shapes: object) -> tuple[KnownSizes, ...]:
    """The sizes that `shapes` gives, one mapping or several; InputError where it is no such thing.

    Integers of numpy count as Python's.
    """
    given = (shapes,) if isinstance(shapes, Mapping) else shapes
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise _no_sizes(f"shapes is {shapes!r}")
    return tuple(map(_by_name, given))


def _by_name(named: object) -> KnownSizes:
    if not isinstance(named, Mapping):
        raise _no_sizes(f"shapes has {named!r}")
    return {name: _sizes(name, sizes) for name, sizes in named.items()}


def _sizes(name: object, sizes: object) -> tuple[Size, ...]:
    if isinstance(sizes, int | np.integer | range):
        return (_size(name, sizes),)
    if not isinstance(sizes, Sequence) or isinstance(sizes, str):
        raise _no_sizes(f"The sizes of input {name!r} are {sizes!r}")
    return tuple(_size(name, size) for size in sizes)


def _size(name: object, size: object) -> Size:
    if isinstance(size, range):
        return size
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
        raise _no_sizes(f"A size of input {name!r} is {size!r}")
    return int(size)


def _no_sizes(what: str) -> InputError:
    return InputError(
        f"{what}, but must say the size of each axis of inputs by name.",
        remedy='Give numbers or ranges, such as shapes={"x": (range(1, 65), 8)}.',
    )
