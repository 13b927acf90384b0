"""Code for some sizes of an open dimension, beside that for all of them.

    nn.dense(%x, W)                        for 1, 2, .. 8 rows: one kernel each; for one row where
                                           their number is the product of open sizes
    nn.dense(%x, narrow W)                 for 96 rows and more: converting weights once pays;
                                           for no rows: there is nothing to convert for
    nn.batch_matmul(%x, %y)                for 1 row; for up to 8: operands are read as they lie
    nn.conv2d(%x, W)                       for 1 image; for up to 8; large weights: for up to 3
    nn.conv1d(%x, W)                       for up to 47 positions: vectors run along the channels
    nn.conv2d(%x, W)                       for up to 4 x 4, 8 x 8 pixels: large weights, read little
    nn.conv2d(%x, W) with 32 channels      for up to 40 x 40 pixels: tiles are few
    nn.max_pool1d(%x, pool_size=[2])       for 1 position: half of the window is no data

Reading the weights takes most of the time of a product of few rows. What is copied so that many
rows read it in order, few rows read as it lies. Vectors along an axis of few points are half empty.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from math import prod

from relay_tune.building.primitive import Packing, Primitive, PrimitiveCase
from relay_tune.ir.dim_arithmetic import symbol_names
from relay_tune.op.lower import lower_function
from relay_tune.op.primitive_key import PrimitiveKey, primitive_key
from relay_tune.op.spaced_inputs import spaced_inputs
from relay_tune.program.open_primitive import OpenPrimitive, with_sizes
from relay_tune.program.open_programs import (
    LARGEST_EXAMPLE,
    Example,
    example_sizes,
    image_sides,
    is_possible,
    open_program,
    products_of,
    windowed_products,
)
from relay_tune.schedule.plan import plan_program
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Axis, Reduce, Tensor
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.scalar_semantics import NARROW_FLOATS, is_float
from relay_tune.tensor.size import UndecidedSizeError, dim_of, is_symbolic, nominal
from relay_tune.tensor.tensor import Computed
from relay_tune.tensor.walk import axes_of, loads

FEW_ROWS = 8
"""Up to so many rows, code is chosen for an example of so many."""

FEW_IMAGES = 3
"""Up to so many, reading large weights of windows takes most of the time: fewer bytes are better.

Winograd's filtering, which pays for 8 images of 7x7 pixels, reads four times as many.
"""

ONE_ROW = 1
"""A step of a decoder has one new word."""

MANY_ROWS = 96
"""From so many on, weights of few bits are worth a conversion that fewer rows do not pay for.

To parts for matrix registers, say: 64 rows take the same time with and without, 128 rows .73.
"""

MANY_ROWS_EXAMPLE = 256
"""The example for which the code of many rows is chosen."""

FEW_POINTS = 47
"""Up to so many points of the axis that lies in a line, vectors along another one may be better."""

EXAMPLE_POINTS = 24
"""The example for which the code of few points is chosen."""

FEW_PIXELS = {4: 3, 8: 7}
"""Up to so many pixels in height and in width, weights may be larger than the data; and the example
for which the code of so few pixels is chosen."""

SMALL_SIDE = 40
"""Up to so many pixels in height and in width, images of few channels are small.

Their tiles are too few for runs of them to be shared among threads.
"""

EXAMPLE_SMALL_SIDE = 28
"""The example for which the code of small images is chosen."""

LARGE_WEIGHTS = 2 << 20
"""Bytes of weights of windows that come from the last cache, or from memory.

Winograd's filtering reads four times as many in tiles of 4x4, twice as many in tiles of 2x2: with
256 or 512 channels and 7x7 pixels, the smaller ones take 0.3 to 0.75 of the time, though 1.8 times
the products. With 3x3 pixels the taps themselves are fewest.
"""

LEAST_WEIGHTS = 32 << 10
"""Bytes of weights that do not stay in a first cache."""

USUAL_SIZES = (1,)
"""Sizes of open dimensions that get code of their own: a single sample is the commonest batch."""


def size_cases(
    named: OpenPrimitive,
    key: PrimitiveKey,
    program: TensorProgram,
    example: Example,
    sizes: Sequence[int],
) -> tuple[PrimitiveCase, ...]:
    """The cases of an open primitive with its program for an example, in the order of trial.

    Products with weights have one for each of `sizes`. A fixed size has a schedule, and a record in
    the tuning log, of its own. Where a size is a number of rows, each small one is fixed. Where
    results lie in a line along an open axis, few points of it are the last case, and few pixels
    where weights are large.
    """
    rows = _rows_of_products(program)
    in_a_line = tuple(_few_points(named, key, program, example))
    if not rows:
        return (*_few_rows(named, key, program, example), *in_a_line)
    spaced = bool(spaced_inputs(named.function))
    if len(named.symbols) != 1:
        pixels = tuple(_few_pixels(named, key, program, example))
        are_rows = rows == {prod(example_sizes(named, example).values())}
        if spaced or not are_rows or ONE_ROW not in sizes:
            return (*in_a_line, *pixels)
        one = fixed_case(named, dict.fromkeys(named.symbols, ONE_ROW))
        return (replace(one, packing=Packing.SHARED_IF_LARGE), *in_a_line, *pixels)
    if spaced:
        return in_a_line
    (symbol,) = named.symbols
    fixed = [fixed_case(named, {symbol: size}) for size in dict.fromkeys(sizes)]
    if any(windowed_products(program)):
        bounds = (FEW_IMAGES, FEW_ROWS) if any(_heavy(program)) else (FEW_ROWS,)
        images = (_few(named, key, symbol, example, most) for most in bounds)
        return (*fixed, *chain.from_iterable(images), *in_a_line)
    known = [replace(case, packing=Packing.SHARED_IF_LARGE) for case in fixed]
    if rows != {example_sizes(named, example)[symbol]}:
        few = _few(named, key, symbol, example, FEW_ROWS)
        few = (replace(case, packing=Packing.SHARED_IF_LARGE) for case in few)
        return (*known, *few, *in_a_line)
    others = [size for size in range(1, FEW_ROWS + 1) if size not in sizes]
    cases = [fixed_case(named, {symbol: size}) for size in others]
    shared = (replace(case, packing=Packing.SHARED) for case in cases)
    many = tuple(_many_rows(named, key, symbol, program, example))
    none = [fixed_case(named, {symbol: 0})] if many else []
    return (*known, *shared, *many, *none, *in_a_line)


def smaller_sizes(
    named: OpenPrimitive, key: PrimitiveKey, example: Example
) -> tuple[PrimitiveCase, ...]:
    """The cases of the sizes for which the code of an example is not."""
    if not example.least:
        return ()
    own, undecided = PrimitiveKey(f"{key.digest}a", key.title), replace(example, least={})
    program = open_program(named, undecided)
    whole = Primitive(own, program, named.function, open=named, example=undecided)
    return tuple(PrimitiveCase({name: (0, n - 1)}, whole) for name, n in example.least.items())


def cases_of_points(
    named: OpenPrimitive, key: PrimitiveKey, example: Example, points: Sequence[Mapping[str, int]]
) -> Iterator[PrimitiveCase]:
    """The cases of all sizes up to each of some points, in this order.

    `example` is that of the code for all sizes, which serves the point that it is chosen for.
    """
    for sizes in points:
        own = replace(example, own=sizes)
        if own == example:
            continue
        own = replace(own, most=sizes)
        bounds = {name: (example.least.get(name, 1), size) for name, size in sizes.items()}
        if all(low >= high for low, high in bounds.values()):
            yield fixed_case(named, sizes)
            continue
        program = open_program(named, own)
        if is_possible(program):
            own_key = key_at(named, key, sizes)
            case = Primitive(own_key, program, named.function, open=named, example=own)
            yield PrimitiveCase(bounds, case)


def key_at(named: OpenPrimitive, key: PrimitiveKey, sizes: Mapping[str, int]) -> PrimitiveKey:
    """The key of the code that is chosen for some sizes, but runs for others, too."""
    numbers = "x".join(str(size) for size in sizes.values())
    title = primitive_key(with_sizes(named, sizes)).title
    return PrimitiveKey(f"{key.digest}e{numbers}", f"{title}, dynamic")


def fixed_case(named: OpenPrimitive, sizes: Mapping[str, int]) -> PrimitiveCase:
    """The case of these sizes alone, whose code is that of a model of fixed sizes."""
    fixed = with_sizes(named, sizes)
    own = Primitive(primitive_key(fixed), lower_function(fixed), fixed)
    return PrimitiveCase({name: (size, size) for name, size in sizes.items()}, own)


def _few_rows(
    named: OpenPrimitive, key: PrimitiveKey, program: TensorProgram, example: Example
) -> Iterator[PrimitiveCase]:
    """A case for each symbol few of which are computed in other steps; rows have one for 1."""
    for symbol in named.symbols:
        if _are_rows(program, symbol):
            yield from _few(named, key, symbol, example, ONE_ROW)
        if _has_other_steps(named, program, _with(example, symbol, FEW_ROWS)):
            yield from _few(named, key, symbol, example, FEW_ROWS)


def _many_rows(
    named: OpenPrimitive,
    key: PrimitiveKey,
    symbol: str,
    program: TensorProgram,
    example: Example,
) -> Iterator[PrimitiveCase]:
    """The case of many rows, where they are multiplied by weights of few bits.

    None where the code for all sizes is chosen for many.
    """
    usual = nominal(example_sizes(named, example)[symbol])
    if usual >= MANY_ROWS or not any(map(_is_converted, _weights(program))):
        return
    least = {**example.least, symbol: MANY_ROWS}
    many = replace(example, own={symbol: MANY_ROWS_EXAMPLE}, least=least)
    own = PrimitiveKey(f"{key.digest}{symbol}m{MANY_ROWS}", key.title)
    case = Primitive(own, open_program(named, many), named.function, open=named, example=many)
    bounds = {symbol: (MANY_ROWS, LARGEST_EXAMPLE)}
    yield PrimitiveCase(bounds, case, Packing.SHARED_IF_LARGE)


def _are_rows(program: TensorProgram, symbol: str) -> bool:
    """Whether a size says how often products use an operand of another open size.

    Keys and values of earlier words, of which one new word uses each element once: memory is what
    it waits for, and lanes may run along the steps.
    """
    return any(
        any(symbol in symbol_names(dim_of(axis.extent)) for axis in product.axes[:-1])
        and any(_is_open_without(load.tensor, symbol) for load in loads(product.body))
        for product in products_of(program)
    )


def _is_open_without(tensor: Tensor, symbol: str) -> bool:
    symbols = symbol_names(dim_of(prod(tensor.shape)))
    return bool(symbols) and symbol not in symbols


def _few_points(
    named: OpenPrimitive, key: PrimitiveKey, program: TensorProgram, example: Example
) -> Iterator[PrimitiveCase]:
    """A case for each symbol along whose axis few results lie in a line, or take other steps."""
    products = [product for product in products_of(program) if _is_open_line(product)]
    for symbol in named.symbols:
        found = any(_runs_along(product, symbol) for product in products)
        few = _with(example, symbol, EXAMPLE_POINTS)
        differs = products and _has_other_steps(named, program, few)
        if (found or differs) and _has_code(named, few):
            yield from _few(named, key, symbol, example, FEW_POINTS, EXAMPLE_POINTS)


def _few_pixels(
    named: OpenPrimitive, key: PrimitiveKey, program: TensorProgram, example: Example
) -> Iterator[PrimitiveCase]:
    """Cases for few pixels: of a convolution whose weights are large, for few images and for any
    batch, and of one whose code is chosen for large images."""
    heavy = list(_heavy(program))
    sides = {name for product in heavy for axis in product.axes[1:] for name in _names(axis)}
    images = {name for product in heavy for name in _names(product.axes[0])} - sides
    for most, side in FEW_PIXELS.items():
        if images:
            yield from _up_to(named, key, sides, example, most, side, images)
        yield from _up_to(named, key, sides, example, most, side)
    own = example.own
    if own == image_sides(program, example.others) and min(own.values(), default=0) > SMALL_SIDE:
        yield from _up_to(named, key, example.own, example, SMALL_SIDE, EXAMPLE_SMALL_SIDE)


def _heavy(program: TensorProgram) -> Iterator[Computed]:
    """The convolutions whose weights are large."""
    known = {tensor for tensor, data in program.constants if data.nbytes >= LARGE_WEIGHTS}
    for product in windowed_products(program):
        if any(load.tensor in known for load in loads(product.body)):
            yield product


def _up_to(
    named: OpenPrimitive,
    key: PrimitiveKey,
    sides: Collection[str],
    example: Example,
    most: int,
    side: int,
    images: Collection[str] = (),
) -> Iterator[PrimitiveCase]:
    """The case of images of up to `most` pixels in height and width, chosen for `side`.

    Of few images, where `images` are the symbols of the batch.
    """
    few_images = dict.fromkeys(images, FEW_IMAGES)
    few = Example({**dict.fromkeys(sides, side), **few_images}, example.others)
    if len(sides) < 2 or not _has_code(named, few):
        return
    own = PrimitiveKey(f"{key.digest}p{most}{'f' if images else ''}", key.title)
    case = Primitive(own, open_program(named, few), named.function, open=named, example=few)
    bounds = {**dict.fromkeys(sides, (1, most)), **dict.fromkeys(images, (1, FEW_ROWS))}
    yield PrimitiveCase(bounds, case)


def _names(axis: Axis) -> Collection[str]:
    """The symbols of an axis' extent."""
    return symbol_names(dim_of(axis.extent))


def _with(example: Example, symbol: str, points: int) -> Example:
    """An example for few of a symbol, also of those that are too few for the usual code."""
    return Example({symbol: points}, example.others)


def _few(
    named: OpenPrimitive,
    key: PrimitiveKey,
    symbol: str,
    example: Example,
    most: int,
    points: int | None = None,
) -> Iterator[PrimitiveCase]:
    """The same code for all sizes of a symbol up to `most`, chosen for an example of `points`.

    None where so few points are fewer than a window has.
    """
    own = PrimitiveKey(f"{key.digest}{symbol}f{most}", key.title)
    few = _with(example, symbol, points or most)
    program = open_program(named, few)
    if is_possible(program):
        case = Primitive(own, program, named.function, open=named, example=few)
        yield PrimitiveCase({symbol: (1, most)}, case)


def _has_other_steps(named: OpenPrimitive, program: TensorProgram, example: Example) -> bool:
    """Whether few points of an axis are computed in other steps: operands are not copied, say."""
    if not any(products_of(program)):
        return False
    short = open_program(named, example)
    if not is_possible(short):
        return False
    try:
        many, few = plan_program(program), plan_program(short)
    except UndecidedSizeError:  # there is no code for all sizes, which is said where it is written
        return False
    return len(many.steps) != len(few.steps)


def _has_code(named: OpenPrimitive, example: Example) -> bool:
    """Whether there is code that is chosen for an example."""
    program = open_program(named, example)
    if not is_possible(program):
        return False
    try:
        plan_program(program)
    except UndecidedSizeError:  # as above
        return False
    return True


def _is_open_line(product: Computed) -> bool:
    """Whether results that share an operand lie in a line along an open axis."""
    if not product.axes or not is_symbolic(product.axes[-1].extent):
        return False
    last = product.axes[-1]
    return any(last not in axes_of(*load.indices) for load in loads(product.body))


def _runs_along(product: Computed, symbol: str) -> bool:
    """Whether the lines are of a symbol, and their number is not open.

    Few rows of an area are many points: with code of their own, images of 17 to 33 pixels of open
    height and width took up to 1.1 of the time.
    """
    *others, last = product.axes
    if others and is_symbolic(others[-1].extent):
        return False
    return symbol in symbol_names(dim_of(last.extent))


def _rows_of_products(program: TensorProgram) -> set[int]:
    """For each reduction that reads large constants, how many results read the same element."""
    known = _weights(program)
    found: set[int] = set()
    for tensor in products_of(program):
        for load in loads(tensor.body):
            if load.tensor in known:
                used = axes_of(*load.indices)
                found.add(prod(axis.extent for axis in tensor.axes if axis not in used))
    return found


def _is_converted(weights: Tensor) -> bool:
    """Whether weights are floats that are made of integers, or of floats of fewer bits."""
    if not isinstance(weights, Computed) or not is_float(weights.dtype):
        return False
    read = (load.tensor.dtype for load in loads(weights.body))
    return any(not is_float(dtype) or dtype in NARROW_FLOATS for dtype in read)


def _weights(program: TensorProgram) -> set[Tensor]:
    """The large constants, and what is made of them alone: numbers of few bits as floats."""
    constants: set[Tensor] = {tensor for tensor, _ in program.constants}
    known: set[Tensor] = {
        tensor for tensor, data in program.constants if data.nbytes >= LEAST_WEIGHTS
    }
    for tensor in tensors_in_order(program.outputs):
        if not isinstance(tensor, Computed) or isinstance(tensor.body, Reduce):
            continue
        read = {load.tensor for load in loads(tensor.body)}
        if read <= constants:
            constants.add(tensor)
            if read & known:
                known.add(tensor)
    return known
