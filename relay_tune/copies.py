"""What copying and pickling mean for values of ours; `copy` and `pickle` ask the methods here."""

from __future__ import annotations

from typing import NoReturn, Self, SupportsIndex

from relay_tune.errors import InputError


class Immutable:
    """A value that nobody changes: its copies are itself. It is not pickled but written as text."""

    def __copy__(self) -> Self:
        """This value."""
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """This value."""
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Raise InputError: graphs of any depth are not for pickle, which recurses over them."""
        raise InputError(
            f"A {type(self).__name__} cannot be pickled: programs may be deeper than pickle goes.",
            remedy="Write it with rt.to_json(module) and read it with rt.from_json(text).",
        )


class OfThisProcess:
    """A value with machine code and threads, which have no meaning in another process."""

    def __copy__(self) -> NoReturn:
        """Raise InputError."""
        raise self._refused("copied", "Use the model itself; several threads may call it.")

    def __deepcopy__(self, memo: dict[int, object]) -> NoReturn:
        """Raise InputError."""
        raise self._refused("copied", "Use the model itself; several threads may call it.")

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Raise InputError."""
        raise self._refused(
            "pickled",
            "Write a library with model.export('model.so'), and read it in the other process with "
            "rt.load('model.so').",
        )

    def _refused(self, done: str, remedy: str) -> InputError:
        name = type(self).__name__
        return InputError(
            f"A {name} cannot be {done}: its machine code and threads belong to this process.",
            remedy=remedy,
        )
