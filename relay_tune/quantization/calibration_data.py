"""Samples that a network is calibrated with: each is one call's inputs, checked before any run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import TypeAlias

import numpy as np

from relay_tune.arguments import path_argument
from relay_tune.errors import InputError
from relay_tune.ir.types import TensorType
from relay_tune.quantization.calibration_files import Arrays, files_of, read_arrays
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.call_inputs import any_array, checked_array

Given: TypeAlias = (
    "str | PathLike[str] | np.ndarray | Mapping[str, np.ndarray] | Iterable[np.ndarray] "
    "| Iterable[Mapping[str, np.ndarray]]"
)
"""Samples as users give them: arrays by name, an iterable of those, or a file or folder of them."""

ROWS, SAMPLES = 16, 16
"""How many rows of an array are one sample at most where the model takes any number, and into how
many samples a longer array is divided at least."""

HELD_OUT, FEW_TO_DIVIDE = 4, 8
"""One of so many samples at most is kept apart from ranges; of fewer samples none is."""

FORMS = (
    "Give a dict of arrays by input, a list of such dicts, or a .npz or .npy file or a folder of "
    "them."
)


@dataclass(frozen=True, slots=True)
class _Part:
    """Arrays that were given together, which may be several samples.

    Attributes:
        name: for messages.
        read: gives the arrays, by input.
    """

    name: str
    read: Callable[[], Arrays]


class Sample(dict[str, np.ndarray]):
    """The inputs of one call by name.

    Attributes:
        origin: the source that gave them, for messages.
    """

    def __init__(self, arrays: Arrays, origin: str) -> None:
        super().__init__(arrays)
        self.origin = origin


class CalibrationData:
    """Samples of one model; files are read anew for each walk, one at a time.

    Attributes:
        count: how many samples there are.
        left_over: rows at ends of arrays that are no whole batch.
    """

    def __init__(self, given: object, inputs: Mapping[str, TensorType]) -> None:
        """Raises InputError where a sample does not fit the inputs, or there is none."""
        self._inputs = inputs
        self._parts = _parts(given, inputs)
        self.left_over = 0
        self._is_first = True
        self.count = 0
        for part in self._parts:
            for sample in self._samples(part):
                _check_finite(sample)
                self.count += 1
        self._is_first = False
        if not self.count:
            raise InputError(
                "The calibration data have no samples.",
                remedy="Give inputs as the model will see them, a hundred or so.",
            )

    def __iter__(self) -> Iterator[Sample]:
        """The samples in order."""
        for part in self._parts:
            yield from self._samples(part)

    def spread(self, most: int) -> list[Sample]:
        """So many samples, spread over all."""
        return self._each(max(1, -(-self.count // most)))

    def held_out(self, most: int) -> tuple[Iterable[Sample], list[Sample]]:
        """Most of the samples, and up to so many others that are spread over all.

        Of few samples both are all: there are not enough for a range from some of them.
        """
        if self.count < FEW_TO_DIVIDE:
            return self, list(self)
        step = max(HELD_OUT, -(-self.count // most))
        return _Others(self, step), self._each(step)

    def _each(self, step: int) -> list[Sample]:
        return [sample for index, sample in enumerate(self) if index % step == 0]

    def _samples(self, part: _Part) -> Iterator[Sample]:
        arrays = part.read()
        _check_names(arrays, self._inputs, part.name)
        rows = {name: _rows(arrays[name], type_) for name, type_ in self._inputs.items()}
        counts = {
            name: _count(len(arrays[name]), size, self._inputs[name])
            for name, size in rows.items()
            if size
        }
        count = min(counts.values(), default=1)
        for name, found in counts.items():
            if found != count:
                other = min(counts, key=lambda each: counts[each])
                raise InputError(
                    f"There are {found} samples of input {name!r}, but {count} of {other!r}.",
                    where=part.name,
                    remedy="Give as many samples of each input.",
                )
        self.left_over += _left_over(arrays, rows, counts) if self._is_first else 0
        for index in range(count):
            sample = {
                name: _checked(_slice(arrays[name], rows[name], index), type_, name, part.name)
                for name, type_ in self._inputs.items()
            }
            yield Sample(sample, f"{part.name}, sample {index}")


@dataclass(frozen=True, slots=True)
class _Others:
    """All samples but each of so many."""

    data: CalibrationData
    step: int

    def __iter__(self) -> Iterator[Sample]:
        return (each for index, each in enumerate(self.data) if index % self.step)


def _count(length: int, rows: int, type_: TensorType) -> int:
    """How many samples an array has; the last one may have fewer rows where any number will do."""
    is_open = bool(type_.shape) and not isinstance(type_.shape[0], int)
    return -(-length // rows) if is_open else length // rows


def _left_over(arrays: Arrays, rows: Mapping[str, int], counts: Mapping[str, int]) -> int:
    """How many rows are in no sample."""
    left = (len(arrays[name]) - count * rows[name] for name, count in counts.items())
    return max([0, *left])


def _parts(given: object, inputs: Mapping[str, TensorType]) -> Sequence[_Part]:
    if isinstance(given, str | PathLike):
        path = path_argument(given, "The calibration data", FORMS)
        return [_Part(str(file), _reader_of(file, inputs)) for file in files_of(path)]
    name = "the calibration data"
    if isinstance(given, Mapping | np.ndarray):
        return [_Part(name, _constant(_by_name(given, inputs, name)))]
    if not isinstance(given, Iterable):
        raise InputError(
            f"The calibration data are a value of type {type(given).__name__}.", remedy=FORMS
        )
    numbered = ((f"item {index} of the calibration data", each) for index, each in enumerate(given))
    return [_Part(title, _constant(_by_name(each, inputs, title))) for title, each in numbered]


def _reader_of(file: PathLike[str], inputs: Mapping[str, TensorType]) -> Callable[[], Arrays]:
    return lambda: _by_name(read_arrays(file), inputs, str(file))


def _constant(arrays: Arrays) -> Callable[[], Arrays]:
    return lambda: arrays


def _by_name(item: object, inputs: Mapping[str, TensorType], where: str) -> Arrays:
    """Arrays by input; an array alone is that of the only input, a tuple has all in order."""
    if isinstance(item, Mapping):
        return {str(name): _array(value, str(name), where) for name, value in item.items()}
    values = item if isinstance(item, tuple) else (item,)
    if len(values) != len(inputs):
        raise InputError(
            f"There are {len(values)} array(s), but the model has {len(inputs)} inputs.",
            where=where,
            notes=(f"The inputs are: {', '.join(inputs)}.",),
            remedy="Give arrays by name.",
        )
    return {name: _array(each, name, where) for name, each in zip(inputs, values, strict=True)}


def _array(value: object, name: str, where: str) -> np.ndarray:
    try:
        return any_array(value, name)
    except InputError as error:
        error.where = where
        raise


def _check_names(arrays: Arrays, inputs: Mapping[str, TensorType], where: str) -> None:
    missing = [name for name in inputs if name not in arrays]
    unknown = [name for name in arrays if name not in inputs]
    if not missing and not unknown:
        return
    wrong = f"there is no input {unknown[0]!r}" if unknown else f"input {missing[0]!r} is missing"
    raise InputError(
        f"The arrays do not fit the model: {wrong}.",
        where=where,
        notes=(f"The inputs are: {', '.join(inputs)}.",),
        remedy="Name one array for each input as the input is called.",
    )


def _rows(array: np.ndarray, type_: TensorType) -> int:
    """How many rows of an array are one sample; 0 where the whole array is."""
    shape, wanted = array.shape, type_.shape
    if not array.size and 0 not in wanted:
        return 1  # there are none
    if len(shape) == len(wanted) + 1:
        return 1
    if not wanted or len(shape) != len(wanted):
        return 0
    if not isinstance(wanted[0], int):
        return min(ROWS, max(1, shape[0] // SAMPLES)) if shape[0] > ROWS else 0
    return wanted[0] if wanted[0] and shape[0] > wanted[0] else 0


def _slice(array: np.ndarray, rows: int, index: int) -> np.ndarray:
    """One sample of an array."""
    return array[index * rows : (index + 1) * rows] if rows else array


def _checked(array: np.ndarray, type_: TensorType, name: str, where: str) -> np.ndarray:
    try:
        whole = array[0] if array.ndim == len(type_.shape) + 1 and len(array) == 1 else array
        return checked_array(whole, type_, name)
    except InputError as error:
        raise InputError(
            error.message, where=where, notes=error.notes, remedy=error.remedy
        ) from error


def _check_finite(sample: Sample) -> None:
    for name, array in sample.items():
        if array.dtype.kind in "biu":
            continue
        wrong = array.size - int(np.isfinite(array.astype(np.float64)).sum())
        if wrong:
            raise InputError(
                f"Input {name!r} has {wrong} element(s) that are NaN or infinite.",
                where=sample.origin,
                remedy="Leave such samples out.",
            )
