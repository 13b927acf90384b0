"""Families of random tensor programs with many sums: products, and windows over images."""

from dataclasses import dataclass

from relay_tune.tensor.expression import (
    Axis,
    Scalar,
    Tensor,
    binary,
    cast,
    neutral_element,
    reduce,
    select,
)
from relay_tune.tensor.tensor import compute
from tests.schedule.random_draw import Draw, fill, inside


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
        index = (y * stride[0] + u * dilation, z * stride[1] + v * dilation)
        channel = (o // filters) * depth + c
        load = x[(b, *index, channel) if last else (b, channel, *index)]
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
        index = tuple(i - pad if d in (first, first + 1) else i for d, i in enumerate(at))
        load = x[index]
        condition = binary(
            "and",
            inside(index[first], x.shape[first]),
            inside(index[first + 1], x.shape[first + 1]),
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
        index = (y * stride + u, z * stride + v)
        load = x[(b, *index, o) if image.last else (b, o, *index)]
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
        index = tuple(i * stride + window[d] if d in window else i for d, i in enumerate(at))
        return reduce(operation, list(window.values()), x[index])

    return compute("pool", shape, element)
