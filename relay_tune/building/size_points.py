"""Sizes of a model's dynamic dimensions for which code is chosen, and tuned.

With %x: Tensor[(n, 256), float32]

    {"x": (range(1, 65), 256)}      n = 1, 8 and 64, each for all sizes up to it
    {"x": (32, 256)}                n = 32, which gets code of its own

Whatever sizes are named, the program runs for all: sizes between two points use the code of the
larger one, sizes beyond the last point the code of that one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from relay_tune.building.input_sizes import KnownSizes, Size
from relay_tune.building.memory_limit import check_tensors
from relay_tune.errors import InputError, telling
from relay_tune.ir.dim import Symbol
from relay_tune.ir.dim_arithmetic import substitute
from relay_tune.ir.expr import Function, Var
from relay_tune.ir.known_type import known_type
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType
from relay_tune.program.kinds import component_types, function_type, tensors_of
from relay_tune.program.open_primitive import OpenPrimitive
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.type_text import type_text

STEP = 8
"""The next point of a range has so many times the size: a kernel that is chosen for a size is
rarely more than a tenth slower at half of it."""


@dataclass(frozen=True, eq=False, slots=True)
class SizePoint:
    """A size for each dynamic dimension of a model's inputs.

    Attributes:
        sizes: by the name of the dimension.
        is_exact: whether these sizes get code of their own; else all sizes up to them.
    """

    sizes: Mapping[str, int]
    is_exact: bool


def size_points(typed: Module, named: Sequence[KnownSizes]) -> tuple[SizePoint, ...]:
    """The points that sizes of inputs stand for, the smallest first.

    `typed` is a typed module whose inputs have names for all sizes (`named_sizes`). Raises
    InputError where sizes do not fit the inputs, or do not say all that is dynamic; BuildError
    where the machine's memory does not hold the inputs and results of a point.
    """
    found: dict[tuple[tuple[str, int], ...], SizePoint] = {}
    for each in named:
        values = _values_by_dimension(typed, each)
        is_exact = all(isinstance(size, int) for size in values.values())
        for sizes in _diagonal({name: _steps(size) for name, size in values.items()}):
            key = tuple(sorted(sizes.items()))
            if key not in found or is_exact:
                found[key] = SizePoint(sizes, is_exact)
    points = tuple(sorted(found.values(), key=lambda point: prod(point.sizes.values())))
    for point in reversed(points):
        check_tensors(list(_outside_types(typed, point)))
    return points


def _outside_types(typed: Module, point: SizePoint) -> Iterator[TensorType]:
    """The types of the inputs and the results at a point, of tensors inside of tuples, too."""
    type_ = function_type(typed.main)
    for tensor in (t for each in (*type_.params, type_.result) for t in component_types(each)):
        if isinstance(tensor, TensorType):
            shape = tuple(substitute(dim, point.sizes) for dim in tensor.shape)
            yield TensorType(shape, tensor.dtype)


def local_sizes(
    function: Function, primitive: OpenPrimitive, point: SizePoint
) -> dict[str, int] | None:
    """The sizes of a primitive's own symbols at a point; None where they do not follow from it.

    `function` is the primitive as the model has it, with the names of the model.
    """
    tensors = [tensor for type_ in function_type(function).params for tensor in tensors_of(type_)]
    found: dict[str, int] = {}
    for name, source in primitive.symbols.items():
        extent = substitute(tensors[source.input].shape[source.axis], point.sizes)
        size = source.size(extent)
        if not isinstance(size, int) or size <= 0:
            return None
        found[name] = size
    return found


def input_shapes(typed: Module, point: SizePoint) -> dict[str, tuple[int, ...]]:
    """The shapes of the inputs of a named module at a point."""
    shapes: dict[str, tuple[int, ...]] = {}
    for param in typed.main.params:
        type_ = known_type(param)
        if isinstance(type_, TensorType):
            dims = (substitute(dim, point.sizes) for dim in type_.shape)
            shapes[param.name] = tuple(dim for dim in dims if isinstance(dim, int))
    return shapes


def _values_by_dimension(typed: Module, named: KnownSizes) -> dict[str, Size]:
    """The sizes of all dynamic dimensions; InputError if they do not fit."""
    params = {param.name: param for param in typed.main.params}
    found: dict[str, Size] = {}
    for name, sizes in named.items():
        given = _dimensions(params[name], sizes) if name in params else [_named(typed, name, sizes)]
        for dimension, size in given:
            if found.setdefault(dimension, size) != size:
                raise InputError(
                    f"The dimension {dimension} has two sizes: {_text(found[dimension])} and "
                    f"{_text(size)}.",
                    remedy="Give inputs that share a dimension the same size there.",
                )
    _require_all(typed, found)
    return found


def _named(typed: Module, name: str, sizes: Sequence[Size]) -> tuple[str, Size]:
    """A dimension that is given a size by its own name; InputError if none is called so."""
    inputs = [param.name for param in typed.main.params]
    dimensions = _dimension_names(typed)
    if name not in dimensions:
        listed = (f"Its inputs are: {', '.join(inputs)}.", f"Its sizes: {', '.join(dimensions)}.")
        raise InputError(
            f"The model has no input {name!r}.",
            notes=listed[: 1 + bool(dimensions)],
            remedy="Give sizes to inputs of the model, or to its sizes, by their names.",
        )
    if len(sizes) != 1:
        raise InputError(
            f"The size {name!r} cannot be {','.join(map(_text, sizes))}.",
            remedy="Give one number, or a range, such as 1..64.",
        )
    _check_range(f"The size {name!r} cannot be {sizes[0]}.", sizes[0])
    return name, sizes[0]


def _dimension_names(typed: Module) -> list[str]:
    """The names of the dynamic dimensions of inputs."""
    types = (known_type(param) for param in typed.main.params)
    dims = (dim for type_ in types if isinstance(type_, TensorType) for dim in type_.shape)
    return list(dict.fromkeys(dim.name for dim in dims if isinstance(dim, Symbol)))


def _check_range(what: str, size: Size) -> None:
    """InputError, which says `what` is wrong, for a range that no axis can have."""
    if isinstance(size, range) and (size.step != 1 or not size or size.start < 1):
        raise InputError(
            what,
            remedy="Give the least size, from 1 on, and the one behind the largest, as in "
            "range(1, 65); what is built runs for other sizes, too.",
        )


def _dimensions(param: Var, sizes: Sequence[Size]) -> Iterator[tuple[str, Size]]:
    """The dynamic dimensions of an input with the sizes that they are given."""
    type_ = known_type(param)
    if not isinstance(type_, TensorType) or len(type_.shape) != len(sizes):
        raise _misfit(param, sizes)
    for dim, size in zip(type_.shape, sizes, strict=True):
        if isinstance(dim, int) and dim != size:
            raise _misfit(param, sizes)
        _check_range(f"Input {param.name!r} cannot have {size} as the sizes of an axis.", size)
        if isinstance(dim, Symbol):
            yield dim.name, size


def _misfit(param: Var, sizes: Sequence[Size]) -> InputError:
    type_ = known_type(param)
    declared = "no type" if type_ is None else type_text(type_)
    return InputError(
        f"Input {param.name!r} cannot have the size {','.join(map(_text, sizes))}: it is "
        f"{declared}.",
        remedy="Give a size, or a range of sizes, for each of its axes.",
    )


def dynamic_inputs(typed: Module, what: str) -> InputError:
    """The error where sizes of inputs have to be given; `what` is done for such sizes."""
    types = {param.name: known_type(param) for param in typed.main.params}
    dynamic = {
        name: type_
        for name, type_ in types.items()
        if isinstance(type_, TensorType) and not all(isinstance(dim, int) for dim in type_.shape)
    }
    listed = ", ".join(f"{name}: {type_text(type_)}" for name, type_ in dynamic.items())
    wanted = telling({name: type_.shape for name, type_ in dynamic.items()})
    sizes = {name: [_likely(dim) for dim in dynamic[name].shape] for name in wanted}
    python = {name: tuple(each) for name, each in sizes.items()}
    words = " ".join(f"--shape {name}={','.join(map(_text, s))}" for name, s in sizes.items())
    return InputError(
        f"{what} for sizes that are named, but the model has inputs of dynamic size: {listed}.",
        remedy=f"Say for which sizes, such as {words} on the command line, or shapes={python} in "
        "Python; numbers without a range fix an input. `tune check` prints likely sizes.",
    )


def _likely(dim: object) -> Size:
    return dim if isinstance(dim, int) else range(1, 65)


def _require_all(typed: Module, found: Mapping[str, Size]) -> None:
    missing = [
        param.name
        for param in typed.main.params
        if isinstance(type_ := known_type(param), TensorType)
        and any(isinstance(dim, Symbol) and dim.name not in found for dim in type_.shape)
    ]
    if missing:
        raise InputError(
            f"Inputs of dynamic size were given none: {', '.join(missing)}.",
            remedy="Give sizes, or ranges of sizes, to all inputs of dynamic size.",
        )


def _steps(size: Size) -> list[int]:
    """The points of a range: its ends, and what lies between them in steps."""
    if isinstance(size, int):
        return [size]
    least, most = size[0], size[-1]
    found = [least]
    while found[-1] * STEP < most:
        found.append(found[-1] * STEP)
    return found if found[-1] == most else [*found, most]


def _diagonal(steps: Mapping[str, Sequence[int]]) -> Iterator[dict[str, int]]:
    """Points on which all dimensions grow together, from the least sizes to the largest."""
    count = max((len(each) for each in steps.values()), default=0)
    for number in range(count):
        share = number / max(count - 1, 1)
        yield {name: each[round(share * (len(each) - 1))] for name, each in steps.items()}


def _text(size: Size) -> str:
    return f"{size.start}..{size.stop - 1}" if isinstance(size, range) else str(size)
