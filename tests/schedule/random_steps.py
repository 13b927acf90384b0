"""Steps that follow in a random tensor program."""

from collections.abc import Callable
from math import prod

from relay_tune.tensor.expression import (
    Axis,
    Scalar,
    Tensor,
    binary,
    cast,
    literal,
    select,
    unary,
)
from relay_tune.tensor.index import flat_index
from relay_tune.tensor.tensor import compute
from tests.schedule.random_draw import Draw, fill, inside, over


def broadcast(draw: Draw, x: Tensor) -> Tensor:
    """Combined with another tensor, some of whose dimensions are 1 or missing."""
    rng = draw.rng
    shape = [n if rng.random() < 0.6 else 1 for n in x.shape]
    del shape[: rng.randint(0, len(shape))]
    other = draw.input(shape, x.dtype, constant=True)
    operations = {"bool": ["and", "or", "xor", "eq"]}.get(
        x.dtype, ["add", "sub", "mul", "max", "min"] + ["lt"] * draw.exact
    )
    operation = rng.choice(operations)
    missing = x.rank - len(shape)

    def element(*at: Axis) -> Scalar:
        index = tuple(0 if n == 1 else i for i, n in zip(at[missing:], shape, strict=True))
        return binary(operation, x[at], other[index])

    return compute(operation, x.shape, element)


def activation(draw: Draw, x: Tensor) -> Tensor:
    if x.dtype == "bool":
        return compute("not", x.shape, lambda *at: unary("not", x[at]))
    operations = ["abs", "neg", "relu"] + ["sign"] * draw.exact
    operations += ["tanh", "sigmoid"] if "float" in x.dtype else ["floordiv", "truncmod"]
    operation = draw.rng.choice(operations)
    draw.exact = draw.exact and operation not in ("tanh", "sigmoid")

    def element(*at: Axis) -> Scalar:
        value = x[at]
        if operation == "relu":
            return binary("max", value, fill(0, value))
        if operation in ("floordiv", "truncmod"):
            return binary(operation, value, fill(3, value))
        return unary(operation, value)

    return compute(operation, x.shape, element)


def conversion(draw: Draw, x: Tensor) -> Tensor:
    floats = ["float32", "float32", "float64", "float16"]
    to = draw.rng.choice(floats + ["int32", "bool", "int8"] * draw.exact)
    return compute("cast", x.shape, lambda *at: cast(x[at], to))


def transpose(draw: Draw, x: Tensor) -> Tensor:
    order = draw.rng.sample(range(x.rank), x.rank)

    def element(*at: Axis) -> Scalar:
        return x[tuple(at[order.index(d)] for d in range(x.rank))]

    return compute("transpose", [x.shape[d] for d in order], element)


def reshape(draw: Draw, x: Tensor) -> Tensor:
    size = prod(x.shape)
    first = draw.rng.choice([n for n in range(1, size + 1) if size % n == 0] or [1])
    shape = draw.rng.choice(
        [(size,), (first, size // first), (1, *x.shape), (size // first, first)]
    )

    def element(*at: Axis) -> Scalar:
        flat = flat_index(shape, at)
        index: list[Scalar] = []
        for n in reversed(x.shape):
            index.insert(0, flat % n)
            flat = flat // n
        return x[tuple(index)]

    return compute("reshape", shape, element)


def border(draw: Draw, x: Tensor) -> Tensor:
    """Zeros around it."""
    amounts = [(draw.rng.choice([0, 1, 2]), draw.rng.choice([0, 1])) for _ in x.shape]
    shape = [before + n + after for n, (before, after) in zip(x.shape, amounts, strict=True)]

    def element(*at: Axis) -> Scalar:
        position = tuple(i - before for i, (before, _) in zip(at, amounts, strict=True))
        load = x[position]
        condition: Scalar = literal(True, "bool")
        for index, n in zip(position, x.shape, strict=True):
            condition = binary("and", condition, inside(index, n))
        return select(condition, load, fill(1, load))

    return compute("border", shape, element)


def concatenation(draw: Draw, x: Tensor) -> Tensor:
    """Itself followed by another tensor."""
    if not x.rank:
        return x
    axis = draw.rng.randrange(x.rank)
    first, more = x.shape[axis], draw.rng.randint(1, 4)
    other = draw.input([more if d == axis else n for d, n in enumerate(x.shape)], x.dtype)

    def element(*at: Axis) -> Scalar:
        behind = tuple(i - first if d == axis else i for d, i in enumerate(at))
        return select(binary("lt", at[axis], first), x[at], other[behind])

    return compute(
        "concatenate", [n + more if d == axis else n for d, n in enumerate(x.shape)], element
    )


def strided_slice(draw: Draw, x: Tensor) -> Tensor:
    steps = [draw.rng.choice([1, 1, 2, -1]) for _ in x.shape]
    starts = [n - 1 if s < 0 else 0 for n, s in zip(x.shape, steps, strict=True)]
    shape = [-(-n // abs(s)) for n, s in zip(x.shape, steps, strict=True)]

    def element(*at: Axis) -> Scalar:
        return x[tuple(i * s + b for i, s, b in zip(at, steps, starts, strict=True))]

    return compute("slice", shape, element)


def chosen_by_value(draw: Draw, x: Tensor) -> Tensor:
    """Loads that only happen where an element is positive."""
    if x.dtype == "bool" or not draw.exact:
        return x
    other = draw.input(x.shape, x.dtype)

    def element(*at: Axis) -> Scalar:
        return select(binary("gt", x[at], fill(0, x[at])), x[at] + other[at], fill(2, x[at]))

    return compute("where", x.shape, element)


def positions(draw: Draw, x: Tensor) -> Tensor:
    """Values that depend on where they stand, not only through loads."""
    if x.dtype == "bool" or not x.rank:
        return x
    axis = draw.rng.randrange(x.rank)
    return compute("positions", x.shape, lambda *at: x[at] + cast(at[axis] % 5, x.dtype))


def square_sum(draw: Draw, x: Tensor) -> Tensor:
    """A second reduction over what came before."""
    if not x.rank or x.dtype == "bool":
        return x
    axis = draw.rng.randrange(x.rank)
    return over(x, axis, "sum", lambda at: binary("min", x[at], fill(2, x[at])))


STEPS: tuple[Callable[[Draw, Tensor], Tensor], ...] = (
    broadcast,
    broadcast,
    broadcast,
    activation,
    activation,
    conversion,
    transpose,
    reshape,
    border,
    concatenation,
    strided_slice,
    chosen_by_value,
    positions,
    square_sum,
)
