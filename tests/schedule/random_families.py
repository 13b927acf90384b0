"""Families of random tensor programs: what each begins with."""

from collections.abc import Callable

import numpy as np

from relay_tune.tensor.expression import (
    Axis,
    Scalar,
    Tensor,
    reduce,
    unary,
)
from relay_tune.tensor.loops import Buffer, LoopBuilder
from relay_tune.tensor.tensor import compute, procedure
from tests.schedule.random_draw import Draw, kept, over
from tests.schedule.random_windows import convolution, depthwise, matmul, pooling


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
    highest = over(x, axis, "max", x.__getitem__)
    powers = compute("powers", x.shape, lambda *at: unary("exp", x[at] - kept(highest, axis, at)))
    total = over(powers, axis, "sum", powers.__getitem__)
    return compute("softmax", x.shape, lambda *at: powers[at] / kept(total, axis, at))


def layer_norm(draw: Draw) -> Tensor:
    draw.exact = False
    x = draw.input([draw.size() for _ in range(draw.rng.randint(2, 3))], "float32")
    axis = draw.rng.randrange(x.rank)
    count = float(x.shape[axis])
    mean = over(x, axis, "sum", lambda at: x[at] / count)

    def squared(at: tuple[Scalar, ...]) -> Scalar:
        difference = x[at] - kept(mean, axis, at)
        return difference * difference / count

    variance = over(x, axis, "sum", squared)
    scale = draw.input((x.shape[axis],), "float32", constant=True)

    def element(*at: Axis) -> Scalar:
        deviation = unary("sqrt", kept(variance, axis, at) + 0.5)
        return (x[at] - kept(mean, axis, at)) / deviation * scale[at[axis]]

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
    highest = over(masked, 2, "max", masked.__getitem__)
    powers = compute(
        "powers", masked.shape, lambda h, i, j: unary("exp", masked[h, i, j] - highest[h, i])
    )
    total = over(powers, 2, "sum", powers.__getitem__)
    share = compute("share", powers.shape, lambda h, i, j: powers[h, i, j] / total[h, i])
    result = compute(
        "weighted",
        (heads, rows, width),
        lambda h, i, e: reduce("sum", [n], share[h, i, n] * v[h, n, e]),
    )
    if draw.rng.random() < 0.5:
        return result
    return compute("by_rows", (rows, heads, width), lambda i, h, e: result[h, i, e])


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
