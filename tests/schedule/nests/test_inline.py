"""Which tensors keep a loop nest of their own."""

import numpy as np
import pytest

from relay_tune.schedule.nests.build_nests import build_nests
from relay_tune.schedule.nests.inline import Stage, inline_stages
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import (
    Axis,
    Reduce,
    Tensor,
    Unary,
    binary,
    cast,
    literal,
    reduce,
    select,
    unary,
)
from relay_tune.tensor.loops import LoopBuilder
from relay_tune.tensor.tensor import Input, compute, input_tensor, procedure
from relay_tune.tensor.walk import loads, sub_expressions

N = 6
X = input_tensor("x", (N, N), "float32")


def exp(source: Tensor) -> Tensor:
    return compute("exp", source.shape, lambda *at: unary("exp", source[at]))


def rows(source: Tensor) -> Tensor:
    k = Axis("k", source.shape[1])
    return compute("rows", (source.shape[0],), lambda i: reduce("sum", [k], source[i, k]))


def padded(source: Tensor, border: int) -> Tensor:
    def element(i: Axis, j: Axis) -> select:
        low, high = binary("ge", j, border), binary("lt", j, N + border)
        return select(binary("and", low, high), source[i, j - border], literal(0.0, "float32"))

    return compute("padded", (N, N + 2 * border), element)


def product(left: Tensor, right: Tensor) -> Tensor:
    k = Axis("k", left.shape[1])
    shape = (left.shape[0], right.shape[1])
    return compute("product", shape, lambda i, j: reduce("sum", [k], left[i, k] * right[k, j]))


def softmax() -> list[Tensor]:
    powers = exp(X)
    total = rows(powers)
    return [compute("softmax", X.shape, lambda i, j: powers[i, j] / total[i])]


def branching() -> list[Tensor]:
    powers = exp(X)
    return [rows(powers), product(powers, X)]


def output_read_again() -> list[Tensor]:
    powers = exp(X)
    return [powers, exp(powers)]


def cheap_and_shared() -> list[Tensor]:
    doubled = compute("doubled", X.shape, lambda i, j: X[i, j] * 2.0)
    return [rows(doubled), exp(doubled)]


def gated() -> list[Tensor]:
    """Two readers of costly elements, both of which go into one stage."""
    gate = exp(X)
    rest = compute("rest", X.shape, lambda i, j: 1.0 - gate[i, j])
    return [compute("gated", X.shape, lambda i, j: rest[i, j] * X[i, j] + gate[i, j])]


def mirrored() -> list[Tensor]:
    gate = exp(X)
    rest = compute("rest", X.shape, lambda i, j: 1.0 - gate[j, i])
    return [compute("mirrored", X.shape, lambda i, j: rest[i, j] * X[i, j] + gate[i, j])]


def transposed_twice() -> list[Tensor]:
    t = compute("t", X.shape, lambda i, j: X[j, i])
    return [product(t, t)]


def before_a_procedure() -> list[Tensor]:
    def copy(b: LoopBuilder, source: Tensor, target: Tensor) -> None:
        with b.loop("i", N) as i:
            b.store(target, (i,), source[i])

    powers = compute("powers", (N,), lambda i: unary("exp", X[i, 0]))
    return list(procedure("copy", [powers], [((N,), "float32")], copy))


def too_long() -> list[Tensor]:
    value = X
    for _ in range(300):
        value = compute("step", X.shape, lambda i, j, v=value: v[i, j] * 3.0 + 1.0)
    return [value]


CASES = {
    "a chain of elements is one stage": (lambda: [exp(exp(exp(X)))], ["exp"]),
    "elements go into the reduction that reads them once": (lambda: [rows(exp(X))], ["rows"]),
    "a reduction stays": (lambda: [exp(product(X, X))], ["product", "exp"]),
    "costly elements that a matmul reads often stay": (
        lambda: [product(exp(X), X)],
        ["exp", "product"],
    ),
    "costly elements with two readers stay": (softmax, ["exp", "rows", "softmax"]),
    "costly elements that one stage reads at one place go": (gated, ["gated"]),
    "costly elements that it reads at two places stay": (mirrored, ["exp", "mirrored"]),
    "two outputs that read one": (branching, ["exp", "rows", "product"]),
    "outputs stay": (output_read_again, ["exp", "exp"]),
    "cheap elements with two readers go": (cheap_and_shared, ["rows", "exp"]),
    "accesses go everywhere": (transposed_twice, ["product"]),
    "padding goes into its reader": (lambda: [exp(padded(X, 1))], ["exp"]),
    "what a procedure reads stays": (before_a_procedure, ["powers", "copy_out0"]),
    "an output that is nothing but padding": (lambda: [padded(exp(X), 1)], ["padded"]),
}


@pytest.mark.parametrize("case", CASES)
def test_stages_that_remain(case):
    outputs, names = CASES[case][0](), CASES[case][1]
    stages = inline_stages(outputs)
    found = [s.tensor.name if isinstance(s, Stage) else s.name for s in stages]
    assert found == names


def test_what_is_read_at_one_place_is_computed_once() -> None:
    (stage,) = inline_stages(gated())
    assert isinstance(stage, Stage)
    powers = [node for node in sub_expressions(stage.body) if isinstance(node, Unary)]
    assert len({id(node) for node in powers}) == 1


@pytest.mark.parametrize("case", [c for c in CASES if "procedure" not in c])
def test_stages_mean_the_same(case):
    outputs = CASES[case][0]()
    data = np.random.default_rng(1).random(X.shape, np.float32)
    known: dict[Tensor, Input] = {X: X}
    feeds = {X: data}
    for stage in inline_stages(outputs):
        assert isinstance(stage, Stage)
        # each stage by itself, with the stages before it as inputs
        given = {known.get(t, t): feeds[known.get(t, t)] for t in feeds}
        (array,) = evaluate([_alone(stage)], given)
        (expected,) = evaluate([stage.tensor], {X: data})
        np.testing.assert_allclose(array, expected, rtol=1e-5)
        feeds[stage.tensor] = array


def _alone(stage: Stage) -> Tensor:
    """The stage's element as a tensor that reads stored tensors only."""
    return type(stage.tensor)(
        name="alone",
        shape=stage.tensor.shape,
        dtype=stage.tensor.dtype,
        axes=stage.axes,
        body=stage.body,
    )


def test_expressions_do_not_grow_without_bound():
    stages = inline_stages(too_long())
    assert 2 <= len(stages) <= 10


def test_a_reduction_over_nothing_becomes_its_neutral_element():
    empty = input_tensor("empty", (3, 0), "float32")
    (stage,) = inline_stages([exp(rows(empty))])
    assert not isinstance(stage.body, Reduce)


def test_a_conversion_of_an_access_is_an_access():
    halves = compute("halves", X.shape, lambda i, j: cast(X[j, i], "float16"))
    k = Axis("k", N)
    outputs = [
        compute("r", (N, N), lambda i, j: reduce("sum", [k], halves[i, k] * halves[k, j])),
        compute("e", (N, N), lambda i, j: halves[i, j] * 2.0),
    ]
    assert [stage.tensor.name for stage in inline_stages(outputs)] == ["r", "e"]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize(("columns", "names"), [(8, ["product"]), (64, ["wide", "product"])])
def test_narrow_floats_that_products_read_often_are_widened_once(dtype, columns, names):
    x = input_tensor("x", (4, 16), dtype)
    w = input_tensor("w", (16, columns), "float32")
    wide = compute("wide", x.shape, lambda *at: cast(x[at], "float32"))
    assert [stage.tensor.name for stage in inline_stages([product(wide, w)])] == names


def test_narrow_weights_are_widened_where_they_are_multiplied():
    x = input_tensor("x", (64, 16), "float32")
    w = input_tensor("w", (16, 64), "bfloat16")
    wide = compute("wide", w.shape, lambda *at: cast(w[at], "float32"))
    (stage,) = inline_stages([product(x, wide)], frozenset({w}))
    assert stage.tensor.name == "product"


def test_a_reduction_that_is_read_through_two_tensors_is_read_by_one_load() -> None:
    """x * sigmoid(x) of a product plus a number: both take the product into their loops."""
    total = product(X, X)
    shifted = compute("shifted", X.shape, lambda i, j: total[i, j] + 1.0)
    gate = compute("gate", X.shape, lambda i, j: unary("sigmoid", shifted[i, j]))
    y = compute("y", X.shape, lambda i, j: shifted[i, j] * gate[i, j])
    _, stage = inline_stages([y])
    assert isinstance(stage, Stage)
    assert [load.tensor for load in loads(stage.body)] == [total]
    (nest,) = build_nests(inline_stages([y]), [y])
    assert nest.body is not None
