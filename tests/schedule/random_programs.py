"""Random small tensor programs, each of a family of operators followed by elementwise steps."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import (
    Axis,
    Scalar,
    Tensor,
    binary,
    cast,
    literal,
    neutral_element,
    reduce,
    select,
    unary,
)
from relay_tune.tensor.index import flat_index
from relay_tune.tensor.loops import Buffer, LoopBuilder
from relay_tune.tensor.scalar_semantics import numpy_dtype
from relay_tune.tensor.tensor import Input, compute, input_tensor, procedure

FLOATS = ("float32", "float32", "float32", "float64", "float16", "bfloat16")
INTEGERS = ("int8", "int32", "uint8", "int64", "int16", "uint32")


@dataclass
class Draw:
    """A program under construction, and the numbers that decide it.

    Attributes:
        exact: whether all values are the same in any order of evaluation; only then may a step
            compare them or round them to integers.
    """

    rng: random.Random
    feeds: dict[Input, np.ndarray[Any, Any]] = field(default_factory=dict)
    constants: list[Input] = field(default_factory=list)
    exact: bool = True

    def size(self, *, most: int = 9) -> int:
        """An extent; small, and now and then larger than a vector."""
        return self.rng.choice([1, 2, 3, 4, 5, 7, 8, most, self.rng.randint(1, 3 * most)])

    def input(self, shape: Sequence[int], dtype: str, *, constant: bool = False) -> Input:
        """An input with small whole numbers, so that sums of floats are exact in most orders."""
        tensor = input_tensor(f"x{len(self.feeds)}", tuple(shape), dtype)
        numbers = np.random.default_rng(self.rng.getrandbits(32))
        low = 0 if dtype == "bool" or dtype.startswith("u") else -3
        values = numbers.integers(low, 2 if dtype == "bool" else 4, tensor.shape)
        self.feeds[tensor] = values.astype(numpy_dtype(dtype))
        if constant and self.rng.random() < 0.7:
            self.constants.append(tensor)
        return tensor

    def dtype(self) -> str:
        """An element type of numbers, floats more often."""
        return self.rng.choice(FLOATS if self.rng.random() < 0.65 else INTEGERS)


@dataclass(frozen=True)
class RandomProgram:
    """A program with its inputs.

    Attributes:
        family: what it was drawn from.
        outputs: its results.
        feeds: the array of each input.
        constants: the inputs that are known when code is made.
        dtypes: the element types of everything in it.
    """

    family: str
    outputs: tuple[Tensor, ...]
    feeds: dict[Input, np.ndarray[Any, Any]]
    constants: tuple[Input, ...]
    dtypes: frozenset[str]


def random_program(seed: int) -> RandomProgram:
    """The program of a seed."""
    draw = Draw(random.Random(seed))
    family = draw.rng.choice(sorted(FAMILIES))
    result = FAMILIES[family](draw)
    stored = [result]
    for _ in range(draw.rng.choice([0, 0, 1, 1, 2, 3, 4])):
        draw.exact = draw.exact and "16" not in result.dtype
        result = draw.rng.choice(STEPS)(draw, result)
        stored.append(result)
    outputs = [result]
    if draw.rng.random() < 0.15:
        outputs.append(draw.rng.choice(stored))
    dtypes = frozenset(tensor.dtype for tensor in tensors_in_order([*stored, *draw.feeds]))
    return RandomProgram(family, tuple(outputs), draw.feeds, tuple(draw.constants), dtypes)


def fill(value: float, like: Scalar) -> Scalar:
    """A number of the element type of an expression."""
    return literal(value if "float" in like.dtype else int(value), like.dtype)


def inside(index: Scalar, extent: int) -> Scalar:
    """Whether an index lies in 0 .. extent-1."""
    return binary("and", binary("ge", index, 0), binary("lt", index, extent))


# Families ------------------------------------------------------------------------------------


def matmul(draw: Draw) -> Tensor:
    m, n, depth = draw.size(), draw.size(most=20), draw.size(most=12)
    dtype, rng = draw.dtype(), draw.rng
    batch = rng.choice([(), (), (2,), (2, 3)])
    a = draw.input((*batch, m, depth), dtype)
    transposed, shared = rng.random() < 0.5, rng.random() < 0.3
    b_shape = (n, depth) if transposed else (depth, n)
    b = draw.input(b_shape if shared else (*batch, *b_shape), dtype, constant=True)
    k = Axis("k", depth)
    wide = "int32" if dtype in ("int8", "uint8") and rng.random() < 0.5 else dtype

    def element(*at: Axis) -> Scalar:
        *front, i, j = at
        last = (j, k) if transposed else (k, j)
        right = b[last] if shared else b[(*front, *last)]
        return reduce("sum", [k], cast(a[(*front, i, k)], wide) * cast(right, wide))

    return compute("matmul", (*batch, m, n), element)


def convolution(draw: Draw) -> Tensor:
    rng, dtype = draw.rng, draw.dtype()
    groups = rng.choice([1, 1, 1, 2, 3])
    depth, filters = rng.choice([1, 2, 3, 4, 8]), rng.choice([1, 2, 3, 5, 8])
    height, width, image = _image(draw, groups * depth)
    window = (rng.choice([1, 2, 3]), rng.choice([1, 3, 5]))
    stride, dilation = (rng.choice([1, 2]), rng.choice([1, 1, 2, 3])), rng.choice([1, 1, 2])
    pad = rng.choice([0, 0, 1, 2])
    reach = tuple((size - 1) * dilation + 1 for size in window)
    rows = (height + 2 * pad - reach[0]) // stride[0] + 1
    columns = (width + 2 * pad - reach[1]) // stride[1] + 1
    last, batch = image.last, image.batch
    if rows < 1 or columns < 1:
        return matmul(draw)
    x = (
        _padded(draw.input(image.shape, dtype), image, pad)
        if pad
        else draw.input(image.shape, dtype)
    )
    weight = draw.input((groups * filters, depth, *window), dtype, constant=True)
    c, u, v = Axis("c", depth), Axis("u", window[0]), Axis("v", window[1])

    def element(*at: Axis) -> Scalar:
        b, y, z, o = at if last else (at[0], at[2], at[3], at[1])
        place = (y * stride[0] + u * dilation, z * stride[1] + v * dilation)
        channel = (o // filters) * depth + c
        load = x[(b, *place, channel) if last else (b, channel, *place)]
        return reduce("sum", [c, u, v], load * weight[o, c, u, v])

    out = groups * filters
    return compute(
        "conv", (batch, rows, columns, out) if last else (batch, out, rows, columns), element
    )


@dataclass(frozen=True)
class _Image:
    batch: int
    shape: tuple[int, ...]
    last: bool


def _image(draw: Draw, channels: int) -> tuple[int, int, _Image]:
    batch, height, width = (
        draw.rng.choice([1, 1, 2]),
        draw.rng.randint(3, 9),
        draw.rng.randint(3, 12),
    )
    last = draw.rng.random() < 0.5
    shape = (batch, height, width, channels) if last else (batch, channels, height, width)
    return height, width, _Image(batch, shape, last)


def _padded(x: Tensor, image: _Image, pad: int, value: float = 0) -> Tensor:
    first = 1 if image.last else 2
    shape = tuple(n + 2 * pad * (d in (first, first + 1)) for d, n in enumerate(x.shape))

    def element(*at: Axis) -> Scalar:
        place = tuple(i - pad if d in (first, first + 1) else i for d, i in enumerate(at))
        load = x[place]
        condition = binary(
            "and",
            inside(place[first], x.shape[first]),
            inside(place[first + 1], x.shape[first + 1]),
        )
        return select(condition, load, fill(value, load))

    return compute("pad", shape, element)


def depthwise(draw: Draw) -> Tensor:
    rng, dtype = draw.rng, draw.dtype()
    channels, size, stride = draw.size(), rng.choice([2, 3, 3, 5]), rng.choice([1, 1, 2])
    height, width, image = _image(draw, channels)
    x = _padded(draw.input(image.shape, dtype), image, size // 2)
    weight = draw.input((channels, size, size), dtype, constant=True)
    rows = (height + 2 * (size // 2) - size) // stride + 1
    columns = (width + 2 * (size // 2) - size) // stride + 1
    u, v = Axis("u", size), Axis("v", size)

    def element(*at: Axis) -> Scalar:
        b, y, z, o = at if image.last else (at[0], at[2], at[3], at[1])
        place = (y * stride + u, z * stride + v)
        load = x[(b, *place, o) if image.last else (b, o, *place)]
        return reduce("sum", [u, v], load * weight[o, u, v])

    inner = (rows, columns, channels) if image.last else (channels, rows, columns)
    return compute("depthwise", (image.batch, *inner), element)


def pooling(draw: Draw) -> Tensor:
    rng, dtype = draw.rng, draw.dtype()
    operation = rng.choice(["max", "min", "sum"])
    size, stride = rng.choice([2, 3]), rng.choice([1, 2, 3])
    height, width, image = _image(draw, draw.size())
    x: Tensor = draw.input(image.shape, dtype)
    if rng.random() < 0.5:
        x = _padded(x, image, 1, neutral_element(operation, dtype))
    first = 1 if image.last else 2
    shape = tuple(
        (n - size) // stride + 1 if d in (first, first + 1) else n for d, n in enumerate(x.shape)
    )
    window = {first: Axis("u", size), first + 1: Axis("v", size)}

    def element(*at: Axis) -> Scalar:
        place = tuple(i * stride + window[d] if d in window else i for d, i in enumerate(at))
        return reduce(operation, list(window.values()), x[place])

    return compute("pool", shape, element)


def reduction(draw: Draw) -> Tensor:
    rng = draw.rng
    dtype = rng.choice(["bool", draw.dtype(), draw.dtype()])
    operation = rng.choice(["max", "min"] if dtype == "bool" else ["sum", "prod", "max", "min"])
    x = draw.input([draw.size() for _ in range(rng.randint(1, 4))], dtype)
    if operation == "prod":
        draw.feeds[x] = np.where(draw.feeds[x] == 0, 1, np.sign(draw.feeds[x])).astype(
            draw.feeds[x].dtype
        )
    kept = [d for d in range(x.rank) if rng.random() < 0.5]
    axes = {d: Axis(f"r{d}", n) for d, n in enumerate(x.shape) if d not in kept}

    def element(*at: Axis) -> Scalar:
        outer = dict(zip(kept, at, strict=True))
        return reduce(
            operation, list(axes.values()), x[tuple((outer | axes)[d] for d in range(x.rank))]
        )

    return compute("reduction", [x.shape[d] for d in kept], element)


def elementwise(draw: Draw) -> Tensor:
    shape = [draw.size() for _ in range(draw.rng.randint(0, 4))]
    return draw.input(shape, draw.rng.choice(["bool", draw.dtype(), draw.dtype()]))


def softmax(draw: Draw) -> Tensor:
    draw.exact = False
    x = draw.input([draw.size() for _ in range(draw.rng.randint(1, 3))], "float32")
    axis = draw.rng.randrange(x.rank)
    highest = _over(x, axis, "max", x.__getitem__)
    powers = compute("powers", x.shape, lambda *at: unary("exp", x[at] - _kept(highest, axis, at)))
    total = _over(powers, axis, "sum", powers.__getitem__)
    return compute("softmax", x.shape, lambda *at: powers[at] / _kept(total, axis, at))


def layer_norm(draw: Draw) -> Tensor:
    draw.exact = False
    x = draw.input([draw.size() for _ in range(draw.rng.randint(2, 3))], "float32")
    axis = draw.rng.randrange(x.rank)
    count = float(x.shape[axis])
    mean = _over(x, axis, "sum", lambda at: x[at] / count)

    def squared(at: tuple[Scalar, ...]) -> Scalar:
        difference = x[at] - _kept(mean, axis, at)
        return difference * difference / count

    variance = _over(x, axis, "sum", squared)
    scale = draw.input((x.shape[axis],), "float32", constant=True)

    def element(*at: Axis) -> Scalar:
        deviation = unary("sqrt", _kept(variance, axis, at) + 0.5)
        return (x[at] - _kept(mean, axis, at)) / deviation * scale[at[axis]]

    return compute("layer_norm", x.shape, element)


def attention(draw: Draw) -> Tensor:
    """softmax(q k^T + mask) v for some heads, stored by heads or by rows."""
    draw.exact = False
    heads, rows, keys = draw.rng.randint(1, 3), draw.size(), draw.size(most=20)
    depth, width = draw.size(), draw.rng.choice([1, 5, 8, 16, 17])
    q = draw.input((heads, rows, depth), "float32")
    k = draw.input((heads, keys, depth), "float32")
    v = draw.input((heads, keys, width), "float32")
    mask = draw.input(draw.rng.choice([(1, keys), (rows, keys)]), "float32")
    d, n = Axis("d", depth), Axis("n", keys)

    def score(h: Scalar, i: Scalar, j: Scalar) -> Scalar:
        return reduce("sum", [d], q[h, i, d] * k[h, j, d])

    scores = compute("scores", (heads, rows, keys), score)
    masked = compute(
        "masked",
        scores.shape,
        lambda h, i, j: scores[h, i, j] * 0.25 + mask[i if mask.shape[0] > 1 else 0, j],
    )
    highest = _over(masked, 2, "max", masked.__getitem__)
    powers = compute(
        "powers", masked.shape, lambda h, i, j: unary("exp", masked[h, i, j] - highest[h, i])
    )
    total = _over(powers, 2, "sum", powers.__getitem__)
    share = compute("share", powers.shape, lambda h, i, j: powers[h, i, j] / total[h, i])
    result = compute(
        "weighted",
        (heads, rows, width),
        lambda h, i, e: reduce("sum", [n], share[h, i, n] * v[h, n, e]),
    )
    if draw.rng.random() < 0.5:
        return result
    return compute("by_rows", (rows, heads, width), lambda i, h, e: result[h, i, e])


def _over(
    x: Tensor, axis: int, operation: str, value: Callable[[tuple[Scalar, ...]], Scalar]
) -> Tensor:
    k = Axis("k", x.shape[axis])
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    return compute(
        operation,
        shape,
        lambda *at: reduce(operation, [k], value((*at[:axis], k, *at[axis:]))),
    )


def _kept(reduced: Tensor, axis: int, at: Sequence[Scalar]) -> Scalar:
    return reduced[(*at[:axis], *at[axis + 1 :])]


def running_sum(draw: Draw) -> Tensor:
    dtype = draw.dtype()
    x = draw.input((draw.size(), draw.size()), dtype)

    def write(b: LoopBuilder, source: Buffer, target: Buffer) -> None:
        total = b.local("total", (), dtype)
        with b.loop("i", x.shape[0]) as i:
            b.store(total, (), 0)
            with b.loop("j", x.shape[1]) as j:
                b.store(total, (), total[()] + source[i, j])
                b.store(target, (i, j), total[()])

    (result,) = procedure("running_sum", [x], [(x.shape, dtype)], write)
    return result


def take(draw: Draw) -> Tensor:
    table = draw.input((draw.size(), draw.size()), draw.dtype())
    wanted = draw.input((draw.size(), draw.rng.choice([1, 3])), "int64")
    draw.feeds[wanted] = np.abs(draw.feeds[wanted]) % table.shape[0]
    return compute("take", (*wanted.shape, table.shape[1]), lambda i, j, k: table[wanted[i, j], k])


def resized_twice(draw: Draw) -> Tensor:
    x = draw.input((draw.size(), draw.size(), draw.size()), draw.dtype())
    a, b, c = x.shape
    return compute("nearest", (a, 2 * b, 3 * c), lambda i, j, k: x[i, j // 2, k // 3])


FAMILIES: dict[str, Callable[[Draw], Tensor]] = {
    function.__name__: function
    for function in (
        matmul,
        convolution,
        depthwise,
        pooling,
        reduction,
        elementwise,
        softmax,
        layer_norm,
        attention,
        running_sum,
        take,
        resized_twice,
    )
}


# Steps after them ----------------------------------------------------------------------------


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
        place = tuple(0 if n == 1 else i for i, n in zip(at[missing:], shape, strict=True))
        return binary(operation, x[at], other[place])

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
        place: list[Scalar] = []
        for n in reversed(x.shape):
            place.insert(0, flat % n)
            flat = flat // n
        return x[tuple(place)]

    return compute("reshape", shape, element)


def border(draw: Draw, x: Tensor) -> Tensor:
    """Zeros around it."""
    amounts = [(draw.rng.choice([0, 1, 2]), draw.rng.choice([0, 1])) for _ in x.shape]
    shape = [before + n + after for n, (before, after) in zip(x.shape, amounts, strict=True)]

    def element(*at: Axis) -> Scalar:
        place = tuple(i - before for i, (before, _) in zip(at, amounts, strict=True))
        load = x[place]
        condition: Scalar = literal(True, "bool")
        for index, n in zip(place, x.shape, strict=True):
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
    return _over(x, axis, "sum", lambda at: binary("min", x[at], fill(2, x[at])))


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
