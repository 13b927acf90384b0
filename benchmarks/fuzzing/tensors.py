"""Networks of indexing, reductions, sorting and logic, where exact values decide."""

from __future__ import annotations

import numpy as np

from benchmarks.fuzzing.builder import NetworkBuilder, Value

LARGEST = 5000

SMOOTH = (
    *("Abs", "Neg", "Sigmoid", "Tanh", "Sqrt", "Log", "Reciprocal", "Atan", "Sin", "Cos", "Erf"),
    *("Celu", "Softplus", "Softsign", "Asinh", "Relu", "Identity", "HardSwish"),
)


def tensor_network(net: NetworkBuilder) -> None:
    """Operators of all kinds on a pool of values."""
    rank = net.integer(1, 4)
    shape = [net.integer(1, 7) for _ in range(rank)]
    pool = [net.input(shape, net.pick(["float32", "float32", "float32", "int64", "int32"]))]
    if net.chance(0.5):
        pool.append(net.input([net.pick([1, n]) for n in shape], pool[0].dtype))
    wanted = len(pool) + net.integer(4, 16)
    for _ in range(10 * wanted):
        if len(pool) >= wanted:
            break
        result = net.pick(STEPS)(net, net.pick(pool[-3:]), pool)
        if result is not None and 0 < result.size <= LARGEST:
            pool.append(result)
    last = [value for value in pool if not value.name.startswith("input")][-3:]
    net.outputs += last or [net.add("Identity", pool[0])]


def _axis(net: NetworkBuilder, x: Value) -> int:
    return net.integer(-x.rank, x.rank - 1)


def transpose(net: NetworkBuilder, x: Value, pool: list[Value]) -> Value | None:
    """Axes in another order."""
    if x.rank == 0:
        return None
    return net.add("Transpose", x, perm=[int(n) for n in net.random.permutation(x.rank)])


def reshape(net: NetworkBuilder, x: Value, pool: list[Value]) -> Value:
    """The elements in another shape."""
    sizes = [n for n in range(1, x.size + 1) if x.size % n == 0]
    first = net.pick(sizes)
    second = net.pick([n for n in sizes if x.size // first % n == 0])
    return net.add("Reshape", x, net.integers(first, -1, second))


def reduction(net: NetworkBuilder, x: Value, pool: list[Value]) -> Value | None:
    """A reduction over some axes."""
    if x.rank == 0 or x.dtype == "bool":
        return None
    axes = sorted({net.integer(0, x.rank - 1) for _ in range(net.integer(1, 3))})
    names = ["ReduceSum", "ReduceMax", "ReduceMin"]
    if x.dtype == "float32":
        names += ["ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"]
    return net.add(net.pick(names), x, net.integers(*axes), keepdims=int(net.chance(0.6)))


def elementwise(net: NetworkBuilder, x: Value, pool: list[Value]) -> Value | None:
    """A function of each element."""
    if x.dtype == "bool":
        return net.add("Not", x)
    if x.dtype != "float32":
        return net.add(net.pick(["Abs", "Neg", "Sign"]), x)
    if x.exact and net.chance(0.4):
        return net.add(net.pick(["Round", "Floor", "Ceil", "Sign"]), x)
    name = net.pick(SMOOTH)
    if name in ("Sqrt", "Log", "Reciprocal"):
        one = net.constant(np.array(1.5, np.float32))
        return net.add(name, net.add("Add", net.add("Abs", x), one))
    return net.add(name, x)


def binary(net: NetworkBuilder, x: Value, pool: list[Value]) -> Value | None:
    """Arithmetic of two values that broadcast."""
    partners = [y for y in pool if y.dtype == x.dtype and _broadcast(x, y)]
    names = ["Add", "Sub", "Mul", "Max", "Min"]
    if x.dtype == "bool":
        names = ["And", "Or", "Xor"]
    return net.add(net.pick(names), x, net.pick(partners)) if partners else None


def _broadcast(x: Value, y: Value) -> bool:
    pairs = zip(reversed(x.shape), reversed(y.shape), strict=False)
    return all(a == b or 1 in (a, b) for a, b in pairs)


def division(net: NetworkBuilder, x: Value, pool: list[Value]) -> Value | None:
    """Division and remainder by constants of both signs."""
    if x.dtype not in ("int32", "int64"):
        return None
    divisor = net.exact_constant(np.array(net.pick([-3, -1, 2, 7]), x.dtype))
    return net.add(net.pick(["Div", "Mod"]), x, divisor)


def where(net: NetworkBuilder, x: Value, pool: list[Value]) -> Value | None:
    """A choice that a comparison makes."""
    deciding = [y for y in pool if y.exact and y.dtype != "bool" and _broadcast(x, y)]
    if not deciding or x.dtype == "bool":
        return None
    y = net.pick(deciding)
    limit = net.exact_constant(np.array(net.integer(-2, 9), y.dtype))
    condition = net.add(net.pick(["Less", "Greater", "Equal", "GreaterOrEqual"]), y, limit)
    if net.chance(0.3):
        condition = net.add("Not", condition)
    other = net.exact_constant(np.array(net.integer(-3, 3), x.dtype))
    return net.add("Where", condition, x, other)


def gather(net: NetworkBuilder, x: Value, pool: list[Value]) -> Value | None:
    """Elements at constant or computed places."""
    if x.rank == 0:
        return None
    axis = _axis(net, x)
    size = x.shape[axis]
    kind = net.integer(0, 2)
    if kind == 0:
        shape = [net.integer(1, 4) for _ in range(net.integer(0, 2))]
        places = net.exact_constant(net.random.integers(-size, size, shape).astype(np.int64))
        return net.add("Gather", x, places, axis=axis)
    if kind == 1:
        places = net.exact_constant(net.random.integers(-size, size, x.shape).astype(np.int64))
        return net.add("GatherElements", x, places, axis=axis)
    depth = net.integer(1, x.rank)
    sizes = np.array(x.shape[:depth])
    places = net.exact_constant(net.random.integers(0, sizes, (3, depth)).astype(np.int64))
    return net.add("GatherND", x, places)


def scatter(net: NetworkBuilder, x: Value, pool: list[Value]) -> Value | None:
    """Elements written to distinct places."""
    if x.rank == 0 or x.dtype == "bool":
        return None
    axis = _axis(net, x)
    size = x.shape[axis]
    count = net.integer(1, size)
    shape = list(x.shape)
    shape[axis] = count
    order = np.argsort(net.random.random(x.shape), axis=axis)
    places = np.take(order, range(count), axis=axis).astype(np.int64)
    updates = net.exact_constant(net.random.integers(-9, 9, shape).astype(x.dtype))
    reduction = net.pick(["none", "none", "add"])
    return net.add(
        "ScatterElements", x, net.exact_constant(places), updates, axis=axis, reduction=reduction
    )


def slicing(net: NetworkBuilder, x: Value, pool: list[Value]) -> Value | None:
    """A slice, steps of both signs, ends beyond the axis."""
    if x.rank == 0:
        return None
    axis = _axis(net, x)
    size = x.shape[axis]
    step = net.pick([1, 1, 2, -1, -2])
    low, high = sorted((net.integer(0, size), net.integer(0, size + 2)))
    start, end = (low, high) if step > 0 else (high, low - 1 if low else -(2**62))
    return net.add(
        "Slice", x, net.integers(start), net.integers(end), net.integers(axis), net.integers(step)
    )


def padding(net: NetworkBuilder, x: Value, pool: list[Value]) -> Value | None:
    """Padding of all axes."""
    if x.rank == 0 or x.dtype == "bool":
        return None
    mode = net.pick(["constant", "constant", "reflect", "edge"])
    limits = [min(2, n - 1) if mode == "reflect" else 2 for n in x.shape]
    pads = [net.integer(0, n) for n in limits * 2]
    value = net.exact_constant(np.array(net.integer(-2, 2), x.dtype))
    return net.add("Pad", x, net.integers(*pads), value if mode == "constant" else None, mode=mode)


def joining(net: NetworkBuilder, x: Value, pool: list[Value]) -> Value | None:
    """Concatenation of values of one shape, or a tile of one."""
    if x.rank == 0:
        return None
    if net.chance(0.5):
        return net.add("Tile", x, net.integers(*(net.integer(1, 2) for _ in x.shape)))
    same = [y for y in pool if y.shape == x.shape and y.dtype == x.dtype]
    parts = [net.pick(same) for _ in range(net.integer(1, 3))]
    return net.add("Concat", *parts, axis=_axis(net, x))


def splitting(net: NetworkBuilder, x: Value, pool: list[Value]) -> Value | None:
    """Uneven parts along an axis; another part goes to the pool too."""
    if x.rank == 0:
        return None
    axis = _axis(net, x)
    size = x.shape[axis]
    if size < 2:
        return net.add("Squeeze", x, net.integers(axis))
    first = net.integer(1, size - 1)
    parts = net.add_many("Split", 2, x, net.integers(first, size - first), axis=axis)
    pool.append(parts[0])
    return parts[1]


def expanding(net: NetworkBuilder, x: Value, pool: list[Value]) -> Value | None:
    """A new axis, or broadcast along one."""
    if x.rank >= 5:
        return None
    y = net.add("Unsqueeze", x, net.integers(net.integer(0, x.rank)))
    sizes = [net.integer(1, 3) if n == 1 else n for n in y.shape]
    return net.add("Expand", y, net.integers(*sizes)) if net.chance(0.6) else y


def sorting(net: NetworkBuilder, x: Value, pool: list[Value]) -> Value | None:
    """The greatest or least elements, and where they are."""
    if x.rank == 0 or x.dtype == "bool" or not x.exact:
        return None
    axis = _axis(net, x)
    if net.chance(0.5):
        name = net.pick(["ArgMax", "ArgMin"])
        return net.add(name, x, axis=axis, keepdims=int(net.chance(0.5)))
    count = net.integers(net.integer(1, x.shape[axis]))
    values, places = net.add_many("TopK", 2, x, count, axis=axis, largest=int(net.chance(0.5)))
    pool.append(places)
    return values


def casting(net: NetworkBuilder, x: Value, pool: list[Value]) -> Value | None:
    """Another element type; floats become integers where they are exact."""
    wanted = net.pick(["float32", "float32", "int64", "int32", "bool"])
    if wanted != "float32" and not x.exact:
        return None
    codes = {"float32": 1, "int64": 7, "int32": 6, "bool": 9}
    return net.add("Cast", x, to=codes[wanted])


def accumulation(net: NetworkBuilder, x: Value, pool: list[Value]) -> Value | None:
    """Cumulative sums, in both directions."""
    if x.rank == 0 or x.dtype == "bool":
        return None
    axis = net.constant(np.array(_axis(net, x), np.int64))
    return net.add("CumSum", x, axis, exclusive=int(net.chance(0.3)), reverse=int(net.chance(0.3)))


def matrix_product(net: NetworkBuilder, x: Value, pool: list[Value]) -> Value | None:
    """A batched product with weights or with its own transpose."""
    if x.rank < 2 or x.dtype != "float32":
        return None
    if net.chance(0.5):
        return net.add("MatMul", x, net.weight(x.shape[-1], net.integer(1, 9), scale=0.3))
    perm = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
    y = net.add("MatMul", x, net.add("Transpose", x, perm=perm))
    return net.add("Mul", y, net.constant(np.array(0.1, np.float32)))


def softmax(net: NetworkBuilder, x: Value, pool: list[Value]) -> Value | None:
    """A softmax along some axis."""
    if x.rank == 0 or x.dtype != "float32":
        return None
    return net.add(net.pick(["Softmax", "LogSoftmax"]), x, axis=_axis(net, x))


def clipping(net: NetworkBuilder, x: Value, pool: list[Value]) -> Value | None:
    """Values between two bounds, one of which may be absent."""
    if x.dtype == "bool":
        return None
    low, high = (net.exact_constant(np.array(bound, x.dtype)) for bound in (-1, net.integer(0, 3)))
    return net.add("Clip", x, low if net.chance(0.7) else None, high)


def scatter_rows(net: NetworkBuilder, x: Value, pool: list[Value]) -> Value | None:
    """Slices written to distinct places of the first axis."""
    if x.rank == 0 or x.dtype == "bool":
        return None
    count = net.integer(1, x.shape[0])
    places = net.random.permutation(x.shape[0])[:count].reshape(count, 1)
    updates = net.random.integers(-9, 9, (count, *x.shape[1:])).astype(x.dtype)
    return net.add(
        "ScatterND", x, net.exact_constant(places.astype(np.int64)), net.exact_constant(updates)
    )


def one_hot(net: NetworkBuilder, x: Value, pool: list[Value]) -> Value | None:
    """Vectors with one element on; indices that are out of range give none.

    Indices have an axis: newer shape inference of ONNX refuses a single one.
    """
    if x.dtype != "int64" or not 1 <= x.rank <= 3:
        return None
    values = net.exact_constant(np.array([-1, 2], net.pick(["float32", "int64"])))
    depth = net.constant(np.array(net.integer(1, 6), np.int64))
    return net.add("OneHot", x, depth, values, axis=net.integer(-x.rank - 1, x.rank))


def sums(net: NetworkBuilder, x: Value, pool: list[Value]) -> Value | None:
    """Sum, mean, greatest and least of several values."""
    if x.dtype != "float32":
        return None
    partners = [y for y in pool if y.dtype == x.dtype and (y.shape == x.shape or y.size == 1)]
    parts = [net.pick(partners) for _ in range(net.integer(1, 3))]
    return net.add(net.pick(["Sum", "Mean", "Max", "Min"]), x, *parts)


def triangle(net: NetworkBuilder, x: Value, pool: list[Value]) -> Value | None:
    """The upper or lower triangle of matrices."""
    if x.rank < 2 or x.dtype == "bool":
        return None
    offset = net.constant(np.array(net.integer(-2, 2), np.int64))
    return net.add("Trilu", x, offset, upper=int(net.chance(0.5)))


STEPS = (
    *(transpose, reshape, reduction, elementwise, binary, binary, division, where, gather),
    *(scatter, slicing, padding, joining, splitting, expanding, sorting, casting),
    *(accumulation, matrix_product, softmax, triangle, clipping, scatter_rows, one_hot, sums),
    *(sorting, sorting, gather, slicing, where, padding),
)
