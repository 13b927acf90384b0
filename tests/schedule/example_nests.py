"""Common computations, and the loop nests of programs."""

from __future__ import annotations

from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.plan import plan_program
from relay_tune.tensor.expression import Axis, Scalar, Tensor, binary, literal, reduce
from relay_tune.tensor.index import flat_index
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.running import program_of


def nests_of(*outputs: Tensor) -> tuple[Nest, ...]:
    """The nests of a program with these outputs."""
    return plan_program(program_of(outputs, {})).nests


def shape_of(nest: Nest) -> tuple[list[int], list[int]]:
    """The extents of a nest's axes and of those that it reduces."""
    return [axis.extent for axis in nest.axes], [axis.extent for axis in nest.reduction]


def convolution(window: int, channels: int = 16) -> Tensor:
    """A square window, channels last, the channels outermost in the reduction."""
    x = input_tensor("x", (2, 8, 10, channels), "float32")
    weight = input_tensor("w", (window, window, channels, 24), "float32")
    u, v, c = Axis("u", window), Axis("v", window), Axis("c", channels)
    return compute(
        "conv",
        (2, 9 - window, 11 - window, 24),
        lambda n, y, z, o: reduce("sum", [c, u, v], x[n, y + u, z + v, c] * weight[u, v, c, o]),
    )


def reshaped(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The tensor with other dimensions, its elements in the same order."""

    def element(*at: Axis) -> Scalar:
        flat, index = flat_index(shape, at), []
        for extent in reversed(x.shape):
            index.insert(0, flat % extent)
            flat = flat // extent
        return x[tuple(index)]

    return compute("reshape", shape, element)


def attention_scores(epilogue: bool) -> Tensor:
    """Heads out of one matrix, multiplied, and put together again."""
    q, k = (input_tensor(name, (12, 4 * 8), "float32") for name in "qk")
    d = Axis("d", 8)
    product = compute(
        "scores", (4, 12, 12), lambda h, i, j: reduce("sum", [d], q[i, h * 8 + d] * k[j, h * 8 + d])
    )
    if not epilogue:
        return product
    swapped = compute("swapped", (12, 4, 12), lambda i, h, j: product[h, i, j] * 0.5)
    return reshaped(swapped, (12, 48))


def relu(x: Tensor) -> Tensor:
    """The positive part of each element."""
    return compute("relu", x.shape, lambda *at: binary("max", x[at], literal(0.0, "float32")))


def product_of(x: Tensor, weight: Tensor) -> Tensor:
    """x @ weight."""
    k = Axis("k", x.shape[1])
    return compute(
        "product",
        (x.shape[0], weight.shape[1]),
        lambda i, j: reduce("sum", [k], x[i, k] * weight[k, j]),
    )
