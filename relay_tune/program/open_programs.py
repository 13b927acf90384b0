"""Primitives whose sizes are known at run time only: their tensor programs.

Code for open sizes is made with an example: sizes are expressions that compute like integers
(`relay_tune.tensor.size`), and schedules are chosen for the example's numbers. Whatever else would
depend on them is an error there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field, replace
from math import prod

from relay_tune.errors import FIX_SIZES, BuildError, NoNativeCodeError
from relay_tune.ir.dim import PositivePart, Symbol
from relay_tune.ir.dim_arithmetic import positive_parts, substitute, symbol_names
from relay_tune.ir.dim_order import is_never_negative
from relay_tune.ir.expr import Function
from relay_tune.ir.traversal import post_order
from relay_tune.ir.types import TensorType
from relay_tune.op.lower import lower_function, lower_sizes
from relay_tune.program.kinds import component_types, type_of
from relay_tune.program.open_primitive import OpenPrimitive
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Reduce, Tensor
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import (
    EXAMPLE_SIZE,
    dim_of,
    example_side,
    is_symbolic,
    nominal,
    symbolic_size,
)
from relay_tune.tensor.tensor import Computed
from relay_tune.tensor.walk import loads


@dataclass(frozen=True, slots=True)
class Example:
    """What open sizes are in the example for which code is made.

    Attributes:
        own: the sizes of some symbols.
        others: that of all other symbols.
        least: the least size of symbols for which the code is, where it is not 1.
        most: the largest size of symbols for which it is, where there is one.
    """

    own: Mapping[str, int] = field(default_factory=dict)
    others: int = EXAMPLE_SIZE
    least: Mapping[str, int] = field(default_factory=dict)
    most: Mapping[str, int] = field(default_factory=dict)


USUAL_EXAMPLE = Example()


def example_sizes(primitive: OpenPrimitive, example: Example = USUAL_EXAMPLE) -> dict[str, int]:
    """The sizes of a primitive as symbolic sizes that are numbers in the example."""
    names = (*primitive.symbols, *primitive.found)
    own, others, least, most = example.own, example.others, example.least, example.most
    return {
        name: symbolic_size(Symbol(name, least.get(name, 1), most.get(name)), own.get(name, others))
        for name in names
    }


LARGEST_DECIDED_SIZE = 64
"""The largest size from which on code may take maxima of sizes as decided."""


def decided_sizes(function: Function) -> dict[str, int]:
    """The sizes of symbols from which on maxima in the types of a typed function are decided.

    nn.max_pool1d: Tensor[(3, s0)] to Tensor[(3, max(s0 // 2 - 1, 0) + 1)]      s0: 2
    """
    found: dict[str, int] = {}
    for part in _positive_parts(function):
        names = symbol_names(part.value)
        if len(names) != 1:
            continue
        (name,) = names
        for least in range(2, LARGEST_DECIDED_SIZE + 1):
            if is_never_negative(substitute(part.value, {name: Symbol(name, least)})):
                found[name] = max(least, found.get(name, 0))
                break
    return found


def _positive_parts(function: Function) -> Iterator[PositivePart]:
    """The maxima in the types of what a function computes."""
    for node in post_order(function.body):
        for tensor in component_types(type_of(node)) if node.type is not None else ():
            if isinstance(tensor, TensorType):
                for dim in tensor.shape:
                    yield from positive_parts(dim)


LARGEST_EXAMPLE = 1 << 20
"""The largest size of an example; windows that are larger have no code for open sizes."""


def usual_example(primitive: OpenPrimitive) -> Example:
    """The example for the code of a primitive: large enough for the windows in it.

    nn.conv1d(%x, W), kernel_size=[400]       512: windows of 400 do not fit an axis of 64
    nn.conv2d(%x, W) with 32 channels         128: images of few channels are large
    nn.conv2d(%x, W) with 256 channels        14: those of many channels are small
    """
    example = Example(least=decided_sizes(primitive.function))
    program = open_program(primitive, example)
    while example.others < LARGEST_EXAMPLE and not is_possible(program):
        example = replace(example, others=2 * example.others)
        program = open_program(primitive, example)
    of_image = replace(example, own=image_sides(program, example.others))
    return of_image if is_possible(open_program(primitive, of_image)) else example


def image_sides(program: TensorProgram, others: int) -> dict[str, int]:
    """The example's sizes of symbols along which windows of images slide, where not `others`.

    None smaller where the usual example is too small for some window. Only where height and width
    are known at run time: these are two symbols of a product. Images of few channels are large
    where they are only moved, too.
    """
    found: dict[str, int] = {}
    for product in windowed_products(program):
        side = example_side(max(_channels(load.tensor) for load in loads(product.body)))
        if side > others or others == EXAMPLE_SIZE != side:
            found |= dict.fromkeys(_sides(product), side)
    for result in program.outputs if not any(map(_sums, tensors_in_order(program.outputs))) else ():
        side = example_side(_channels(result))
        if side > others:
            found |= dict.fromkeys(_sides(result), side)
    return found


def _sides(tensor: Tensor) -> Collection[str]:
    """The symbols of height and width, if both of an image are open."""
    symbols = {symbol for extent in tensor.shape[1:] for symbol in symbol_names(dim_of(extent))}
    return symbols if len(symbols) > 1 else ()


def _channels(image: Tensor) -> int:
    """The elements of a pixel of an image of dynamic size; 1 where nothing is dynamic."""
    shape = image.shape
    return prod(n for n in shape if not is_symbolic(n)) if any(map(is_symbolic, shape)) else 1


def _sums(tensor: Tensor) -> bool:
    return isinstance(tensor, Computed) and isinstance(tensor.body, Reduce)


def products_of(program: TensorProgram) -> Iterator[Computed]:
    """The reductions of a program that read several elements for each step."""
    for tensor in tensors_in_order(program.outputs):
        if not isinstance(tensor, Computed) or not isinstance(tensor.body, Reduce):
            continue
        if len({(load.tensor, load.indices) for load in loads(tensor.body)}) > 1:
            yield tensor


def windowed_products(program: TensorProgram) -> Iterator[Computed]:
    """Those that run over neighbours as well as over channels."""
    for product in products_of(program):
        body = product.body
        if isinstance(body, Reduce) and sum(axis.extent != 1 for axis in body.axes) > 1:
            yield product


def is_possible(program: TensorProgram) -> bool:
    """Whether no size of a tensor is less than 1 in the example for which a program is."""
    tensors = tensors_in_order(program.outputs)
    return all(not is_symbolic(n) or nominal(n) > 0 for tensor in tensors for n in tensor.shape)


def open_program(primitive: OpenPrimitive, example: Example = USUAL_EXAMPLE) -> TensorProgram:
    """The tensor program of a primitive for an example."""
    sizes = example_sizes(primitive, example)
    return lower_function(primitive.function, sizes, [sizes[name] for name in primitive.found])


def size_program(primitive: OpenPrimitive, example: Example = USUAL_EXAMPLE) -> TensorProgram:
    """The tensor program that finds the sizes of a primitive's results from its inputs."""
    program = lower_sizes(primitive.function, example_sizes(primitive, example))
    ((count,),) = (output.shape for output in program.outputs)
    if count != len(primitive.found):
        raise BuildError(
            f"The operator finds {count} sizes, but its type leaves {len(primitive.found)} open.",
            notes=("This is a defect of the operator's record, not of the model.",),
            where=primitive.function.body.span,
            remedy="Correct the sizes or the type relation of the operator.",
        )
    return program


def no_open_code(title: str, reason: str, named: OpenPrimitive | None = None) -> NoNativeCodeError:
    """The error of a primitive for which there is no code."""
    return NoNativeCodeError(
        f"The operation {title} cannot be compiled for sizes that are known at run time only.",
        notes=(reason, *(() if named is None else named.legend)),
        where=None if named is None else named.function.body.span,
        remedy=f"{FIX_SIZES} rt.interpret(module, ...) runs it as it is, slowly.",
    )
