"""Operators that move, select, join and reduce elements; empty axes included."""

from __future__ import annotations

from math import prod

import numpy as np

from benchmarks.fuzzing.builder import Value
from benchmarks.fuzzing.operators.growing import CODES, FLOATS, NUMBERS, Growing, Step, tensor

ALL = (*NUMBERS, "bool")
SUMS = ("ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp")
INDEXED = ("int32", "int64")


def _axis(net: Growing, x: Value) -> int:
    return net.integer(-x.rank, x.rank - 1)


def transpose(net: Growing) -> Value:
    """Axes in another order."""
    x = net.some(ALL, 1)
    return net.add("Transpose", x, perm=[int(n) for n in net.random.permutation(x.rank)])


def reshape(net: Growing) -> Value:
    """The elements in another shape: sizes, -1, 0 as a copy and as a size."""
    x = net.some(ALL)
    kind = net.integer(0, 3)
    if kind == 0:
        return net.add("Flatten", x, axis=net.integer(0, x.rank))
    if x.size == 0:
        sizes = [int(n) for n in net.random.permutation(x.shape)]
        return net.add("Reshape", x, net.integers(*sizes), allowzero=1)
    if kind == 1 and x.rank > 1:
        return net.add("Reshape", x, net.integers(0, -1))
    first = net.pick([n for n in range(1, x.size + 1) if x.size % n == 0])
    return net.add("Reshape", x, net.integers(first, -1, *[1] * net.integer(0, 2)))


def unit_axes(net: Growing) -> Value:
    """Axes of size 1 come and go."""
    x = net.some(ALL, 0, 4)
    if net.chance(0.5):
        axes = {net.integer(0, x.rank + 1) for _ in range(net.integer(1, 2))}
        return net.add("Unsqueeze", x, net.integers(*sorted(axes)[: x.rank + 1]))
    ones = [axis for axis, size in enumerate(x.shape) if size == 1]
    if net.chance(0.4) or not ones:
        return net.add("Squeeze", x)
    return net.add("Squeeze", x, net.integers(net.pick(ones) - net.pick([0, x.rank])))


def join(net: Growing) -> Value:
    """Concatenation along an axis in which the parts may differ."""
    x = net.some(ALL, 1)
    axis = _axis(net, x)
    parts = [x]
    for _ in range(net.integer(0, 2)):
        shape = list(x.shape)
        shape[axis] = net.integer(0 if net.empty else 1, 4)
        parts.append(net.fresh(x.dtype, shape))
    return net.add("Concat", *parts, axis=axis)


def split(net: Growing) -> list[Value]:
    """Parts of given sizes, some of them empty, or of equal ones."""
    x = net.some(ALL, 1)
    axis = _axis(net, x)
    size = x.shape[axis]
    if net.chance(0.4):
        count = net.integer(1, max(1, min(4, size)))
        return net.add_many("Split", count, x, axis=axis, num_outputs=count)
    cut = net.integer(0 if net.empty else min(1, size), size)
    return net.add_many("Split", 2, x, net.integers(cut, size - cut), axis=axis)


def slices(net: Growing) -> Value:
    """A slice with a step of either sign, and ends beyond the axis."""
    x = net.some(ALL, 1)
    axis = _axis(net, x)
    size = x.shape[axis]
    step = net.pick([1, 1, 2, 3, -1, -2])
    low, high = sorted((net.integer(0, size), net.integer(1, size + 2)))
    start, end = (low, high) if step > 0 else (high, low - 1 if low else -(2**62))
    return net.add("Slice", x, *(net.integers(n) for n in (start, end, axis, step)))


def gather(net: Growing) -> Value:
    """Elements at constant indices."""
    x = net.some(ALL, 1)
    axis = _axis(net, x)
    size = x.shape[axis]
    dtype = net.pick(INDEXED)
    kind = net.integer(0, 2)
    if kind == 0:
        shape = net.shape(0, 2) if size else [0]
        indices = net.random.integers(-size, max(size, 1), shape)
        return net.add("Gather", x, net.exact_constant(indices.astype(dtype)), axis=axis)
    if x.size == 0:
        return net.add("GatherElements", x, net.exact_constant(np.zeros(x.shape, dtype)), axis=axis)
    if kind == 1:
        indices = net.random.integers(-size, size, x.shape)
        return net.add("GatherElements", x, net.exact_constant(indices.astype(dtype)), axis=axis)
    depth = net.integer(1, x.rank)
    indices = net.random.integers(0, x.shape[:depth], (*net.shape(0, 1), depth))
    return net.add("GatherND", x, net.exact_constant(indices.astype(np.int64)))


def scatter(net: Growing) -> Value:
    """Elements or slices written to distinct indices."""
    x = net.some(NUMBERS, 1)
    axis = _axis(net, x)
    count = net.integer(0 if net.empty else min(1, x.shape[axis]), x.shape[axis])
    if net.chance(0.5):
        order = np.argsort(net.random.random(x.shape), axis=axis)
        indices = np.take(order, range(count), axis=axis).astype(np.int64)
        updates = net.like(indices.shape, x.dtype)
        how = net.pick(["none", "add", "max", "min"])
        return net.add(
            "ScatterElements", x, net.exact_constant(indices), updates, axis=axis, reduction=how
        )
    count = min(count, x.shape[0])
    rows = net.random.permutation(x.shape[0])[:count].reshape(count, 1).astype(np.int64)
    updates = net.like((count, *x.shape[1:]), x.dtype)
    return net.add("ScatterND", x, net.exact_constant(rows), updates)


def repeat(net: Growing) -> Value:
    """Tiles, broadcasts, and whole tensors of one number."""
    x = net.some(ALL)
    kind = net.integer(0, 3)
    if kind == 0:
        return net.add("Tile", x, net.integers(*(net.integer(1, 2) for _ in x.shape)))
    if kind == 1:
        sizes = [net.integer(1, 3) if n == 1 else n for n in x.shape]
        return net.add("Expand", x, net.integers(*[net.integer(1, 2), *sizes]))
    if kind == 2:
        value = net.numbers((1,), net.pick(ALL))
        from_shape = net.add("Shape", x)
        return net.add("ConstantOfShape", from_shape, value=tensor(value))
    return net.add(net.pick(["Shape", "Size"]), x)


def pad(net: Growing) -> Value:
    """Padding in all modes, some of it negative."""
    x = net.some(NUMBERS, 1)
    mode = net.pick(["constant", "constant", "reflect", "edge", "wrap"])
    limits = [min(2, n - 1) if mode == "reflect" else 2 if n else 0 for n in x.shape]
    low = [-1 if mode == "constant" and n > 2 else 0 for n in x.shape]
    pairs = zip(low * 2, limits * 2, strict=True)
    pads = [net.integer(a, max(a, b)) for a, b in pairs]
    value = net.like((), x.dtype) if mode == "constant" and net.chance(0.6) else None
    return net.add("Pad", x, net.integers(*pads), value, mode=mode)


def reduction(net: Growing) -> Value:
    """A reduction over some axes, none, or all."""
    name = net.pick([*SUMS, "ReduceProd", "ReduceMax", "ReduceMin", "ReduceLogSum"])
    kinds: tuple[str, ...] = FLOATS if name in SUMS[1:] else (*FLOATS, "int32", "int64")
    x = net.some(kinds, 1)
    if name == "ReduceLogSum":
        x = net.add("Exp", net.add("Sin", net.some(FLOATS, 1)))
    axes = sorted({net.integer(0, x.rank - 1) for _ in range(net.integer(1, 3))})
    given = net.integers(*axes) if net.chance(0.85) else None
    return net.add(name, x, given, keepdims=net.integer(0, 1))


def extreme(net: Growing) -> list[Value]:
    """Where the greatest element is, or the k greatest."""
    x = net.some(("float32", "float64", "float16", "int32", "int64"), 1, exact=True)
    axis = _axis(net, x)
    size = x.shape[axis]
    if net.chance(0.4) and size:
        name = net.pick(["ArgMax", "ArgMin"])
        keep, last = net.integer(0, 1), net.integer(0, 1)
        return [net.add(name, x, axis=axis, keepdims=keep, select_last_index=last)]
    count = net.integers(net.integer(0 if net.empty else min(1, size), size))
    return net.add_many("TopK", 2, x, count, axis=axis, largest=net.integer(0, 1))


def running(net: Growing) -> Value:
    """Running sums."""
    x = net.some(("float32", "float64", "int32", "int64"), 1)
    axis = net.constant(np.array(_axis(net, x), net.pick(INDEXED)))
    return net.add("CumSum", x, axis, exclusive=net.integer(0, 1), reverse=net.integer(0, 1))


def matrix_part(net: Growing) -> Value:
    """Triangles, and ones on a diagonal."""
    x = net.some(NUMBERS, 2, 4)
    if net.chance(0.7):
        offset = net.constant(np.array(net.integer(-3, 3), np.int64))
        return net.add("Trilu", x, offset, upper=net.integer(0, 1))
    flat = net.add("Flatten", x)
    return net.add("EyeLike", flat, k=net.integer(-2, 2), dtype=CODES[net.pick(NUMBERS)])


def one_hot(net: Growing) -> Value:
    """Rows with one element on."""
    values = net.finite_weights((2,), net.pick(["float32", "int64", "int32", "float16"]), 20)
    indices = net.fresh(net.pick(INDEXED), net.shape(0, 2), 3)
    depth = net.constant(np.array(net.integer(4, 6), np.int64))
    return net.add("OneHot", indices, depth, values, axis=net.integer(-indices.rank - 1, 0))


def blocks(net: Growing) -> Value:
    """Depth to space and back."""
    x = net.some(("float32", "float64", "float16", "int32"), 4, 4)
    if x.shape[2] % 2 == 0 and x.shape[3] % 2 == 0:
        return net.add("SpaceToDepth", x, blocksize=2)
    sides = [net.integer(1, 3), 4 * net.integer(1, 3), *net.shape(2, 2)]
    y = net.fresh(x.dtype, sides)
    return net.add("DepthToSpace", y, blocksize=2, mode=net.pick(["DCR", "CRD"]))


def crop(net: Growing) -> Value:
    """Cut or padded around the centre."""
    x = net.some(("float32", "float64", "int32"), 1)
    sizes = [net.integer(1, n + 2) for n in x.shape]
    return net.add("CenterCropPad", x, net.integers(*sizes))


def reversed_rows(net: Growing) -> Value:
    """Sequences of given lengths, reversed."""
    x = net.some(("float32", "int64", "int32", "float64"), 2)
    lengths = net.random.integers(0, x.shape[1] + 1, x.shape[0]).astype(np.int64)
    lengths = np.clip(lengths, min(1, x.shape[1]), x.shape[1])
    return net.add("ReverseSequence", x, net.exact_constant(lengths), time_axis=1, batch_axis=0)


def compress(net: Growing) -> Value:
    """The elements of an axis for which a constant says true."""
    x = net.some(ALL, 1)
    axis = _axis(net, x)
    chosen = net.random.random(x.shape[axis]) < 0.6
    chosen[:1] = True
    count = int(chosen.sum())
    found = net.add_shaped(
        "Compress",
        [*x.shape[: axis % x.rank], count, *x.shape[axis % x.rank + 1 :]],
        x.dtype,
        x,
        net.constant(chosen),
        axis=axis,
    )
    return Value(found.name, found.shape, found.dtype, x.exact)


def counted(net: Growing) -> Value:
    """A range, shaped as something that can be added to others."""
    step = net.pick([1, 2, -1])
    count = net.integer(0 if net.empty else 1, 7)
    low = net.integer(-3, 3)
    dtype = net.pick(["int64", "int32", "float32"])
    numbers = (net.constant(np.array(n, dtype)) for n in (low, low + step * count, step))
    found = net.add_shaped("Range", [count], dtype, *numbers)
    return Value(found.name, found.shape, found.dtype, True)


def resize(net: Growing) -> Value:
    """Images of other sizes."""
    x = net.finite(net.pick(["float32", "float64", "float16"]), [net.integer(1, 2), 2, 4, 5])
    mode = net.pick(["nearest", "linear", "cubic"])
    factors = np.array([1, 1, net.pick([0.5, 2]), net.pick([1, 2])], np.float32)
    how = net.pick(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
    sizes = [int(size * factor) for size, factor in zip(x.shape, factors, strict=True)]
    options = {"mode": mode, "coordinate_transformation_mode": how}
    return net.add_shaped("Resize", sizes, x.dtype, x, None, net.constant(factors), **options)


def bits_and_flags(net: Growing) -> Value:
    """Constants of the graph itself."""
    shape = net.shape(0, 3)
    value = net.numbers(shape, net.pick(ALL))
    found = net.add("Constant", value=tensor(value))
    return Value(found.name, found.shape, found.dtype, True) if prod(shape) else found


STEPS: tuple[Step, ...] = (
    *(transpose, reshape, reshape, unit_axes, unit_axes, join, split, slices, gather, scatter),
    *(repeat, pad, reduction, reduction, extreme, running, matrix_part, one_hot, blocks, crop),
    *(reversed_rows, compress, counted, resize, bits_and_flags),
)
