"""Terms of a sum are one term where that saves passes over memory; the sum stays what it is."""

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.matching import operator_name, static_shape
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.join_sums import JoinSums
from relay_tune.transform.language.graph_normal_form import ToGraphNormalForm
from relay_tune.typing.infer import infer_types

PRODUCTS = {
    "nn.matmul(%a{0}, %b{0}, transpose_a=True)": ((2, 16), (2, 12)),
    "nn.matmul(%a{0}, %b{0})": ((16, 2), (2, 12)),
    "nn.matmul(%a{0}, %b{0}, transpose_b=True)": ((16, 2), (12, 2)),
    "nn.dense(%a{0}, %b{0})": ((16, 2), (12, 2)),
    "nn.dense(%a{0}, %b{0}, units=12)": ((3, 16, 2), (12, 2)),
    "nn.batch_matmul(%a{0}, %b{0}, transpose_a=True, transpose_b=False)": ((3, 2, 16), (3, 2, 12)),
}


def _module(shapes: Mapping[str, tuple[int, ...]], body: str) -> Module:
    types = [f"%{name}: Tensor[{shape}, float32]" for name, shape in shapes.items()]
    text = f"def @main({', '.join(types)}) {{ {body} }}"
    return ToGraphNormalForm()(infer_types(parse(text)))


def _calls(module: Module) -> Counter[str | None]:
    return Counter(map(operator_name, post_order(module.main.body)))


def _joined(module: Module) -> Counter[str | None]:
    """The calls after the pass, whose results are those of before, interpreted and native."""
    after = JoinSums()(module)
    rng = np.random.default_rng(0)
    shapes = [static_shape(each) for each in module.main.params]
    inputs = [np.asarray(rng.uniform(-1, 1, shape), np.float32) for shape in shapes]
    expected = _flat(interpret(module, *inputs))
    for found in (_flat(interpret(after, *inputs)), _flat(build(module)(*inputs))):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
    return _calls(after)


def _flat(value: object) -> list[np.ndarray]:
    if isinstance(value, tuple | list):
        return [each for field in value for each in _flat(field)]
    return [np.asarray(value)]


def _sum_of(product: str, count: int, rest: str = "") -> str:
    return " + ".join([product.format(number) for number in range(count)] + [rest] * bool(rest))


def _operands(product: str, count: int) -> dict[str, tuple[int, ...]]:
    left, right = PRODUCTS[product]
    pairs = [{f"a{number}": left, f"b{number}": right} for number in range(count)]
    return {name: shape for pair in pairs for name, shape in pair.items()}


@pytest.mark.parametrize("product", PRODUCTS)
def test_products_that_are_added_are_one_product(product: str) -> None:
    operands = _operands(product, 4)
    calls = _joined(_module(operands, _sum_of(product, 4)))
    assert calls[product.partition("(")[0]] == 1
    assert calls["concatenate"] == 2
    assert not calls["add"]


def test_other_terms_stay() -> None:
    product = next(iter(PRODUCTS))
    operands = {**_operands(product, 3), "rest": (16, 12)}
    calls = _joined(_module(operands, f"%rest + ({_sum_of(product, 3, '%rest')})"))
    assert calls["nn.matmul"] == 1
    assert calls["add"] == 2


def test_products_of_other_sizes_and_attributes_stay_apart() -> None:
    shapes = {"a": (2, 16), "b": (2, 16), "c": (16, 3), "d": (16, 3), "e": (1, 16), "f": (1, 16)}
    first = "nn.matmul(%a, %b, transpose_a=True)"
    second = "nn.matmul(%c, %d, transpose_b=True)"
    third = "nn.matmul(%e, %f, transpose_a=True)"
    calls = _joined(_module(shapes, f"{first} + {second} + {third}"))
    assert calls["nn.matmul"] == 2
    assert calls["add"] == 1


def test_long_products_are_not_copied() -> None:
    shapes = dict.fromkeys("abcd", (64, 16))
    body = "nn.matmul(%a, %b, transpose_a=True) + nn.matmul(%c, %d, transpose_a=True)"
    assert _joined(_module(shapes, body))["nn.matmul"] == 2


def test_products_that_others_read_stay() -> None:
    product = next(iter(PRODUCTS))
    body = f"let %p = {product.format(0)}; (%p + {product.format(1)}, %p * %p)"
    assert _joined(_module(_operands(product, 2), body))["nn.matmul"] == 2


def test_a_sum_that_others_read_is_joined_by_itself() -> None:
    product = next(iter(PRODUCTS))
    body = f"let %p = {_sum_of(product, 2)}; (%p + {product.format(2)}, %p)"
    calls = _joined(_module(_operands(product, 3), body))
    assert calls["nn.matmul"] == 2
    assert calls["add"] == 1


def test_exact_keeps_the_order_of_additions() -> None:
    product = next(iter(PRODUCTS))
    module = _module(_operands(product, 3), _sum_of(product, 3))
    assert JoinSums(Accuracy.EXACT)(module) is module


def test_parts_that_do_not_overlap_are_concatenated() -> None:
    body = """nn.pad(%y, 0f, pad_width=[[4, 0], [0, 0]])
        + nn.pad(%x, 0f, pad_width=[[0, 3], [0, 0]]) + %z"""
    calls = _joined(_module({"x": (4, 5), "y": (3, 5), "z": (7, 5)}, body))
    assert calls["concatenate"] == 1
    assert not calls["nn.pad"]


def test_parts_of_the_same_place_are_added_and_zeros_stay_around_them() -> None:
    body = """nn.pad(%x, 0f, pad_width=[[0, 0], [1, 6]])
        + nn.pad(%y, 0f, pad_width=[[0, 0], [1, 6]])
        + nn.pad(%z, 0f, pad_width=[[0, 0], [5, 2]])"""
    calls = _joined(_module(dict.fromkeys("xy", (2, 4)) | {"z": (2, 4)}, body))
    assert calls["concatenate"] == calls["nn.pad"] == calls["add"] == 1


@pytest.mark.parametrize(
    "second",
    [
        "nn.pad(%y, 0f, pad_width=[[5, 2]])",
        "nn.pad(%y, 0f, pad_width=[[3, 4]])",
        "nn.pad(%y, 1f, pad_width=[[4, 3]])",
        'nn.pad(%y, 0f, pad_width=[[4, 3]], pad_mode="edge")',
    ],
    ids=["a gap", "an overlap", "ones", "edges"],
)
def test_other_parts_stay(second: str) -> None:
    body = f"nn.pad(%x, 0f, pad_width=[[0, 7]]) + {second}"
    assert _joined(_module({"x": (4,), "y": (4,)}, body))["nn.pad"] == 2


@pytest.mark.parametrize(("count", "concatenations"), [(4, 2), (150, 6)])
def test_products_and_parts_share_a_concatenation(count: int, concatenations: int) -> None:
    """The gradients of a recurrence: of its weight, and of the data that each step slices.

    Of many parts, groups are put together first.
    """
    steps = range(count)
    shapes = {f"{name}{number}": (2, 16) for name in "dh" for number in steps}
    weight = " + ".join(f"nn.matmul(%d{n}, %h{n}, transpose_a=True)" for n in reversed(steps))
    data = " + ".join(
        f"nn.pad(%d{n}, 0f, pad_width=[[{2 * n}, {2 * (count - 1 - n)}], [0, 0]])"
        for n in reversed(steps)
    )
    calls = _joined(_module(shapes, f"({weight}, {data})"))
    assert calls["nn.matmul"] == 1
    assert calls["concatenate"] == concatenations


def test_concatenations_of_themselves_are_not_taken_apart() -> None:
    """(x, x), ((x, x), (x, x)) and so on have more parts than fit into memory."""
    lines = [f"let %c{n + 1} = concatenate((%c{n}, %c{n})) * 2f;" for n in range(3)]
    shapes = {"c0": (1, 4), "y": (8, 4)}
    assert _joined(_module(shapes, f"{''.join(lines)} %c3 + %y"))["concatenate"] == 3
    lines = [f"let %c{n + 1} = concatenate((%c{n}, %c{n}));" for n in range(40)]
    module = _module({"c0": (1, 4)}, f"{''.join(lines)} strided_slice(%c40, begin=[0], end=[1])")
    assert _calls(JoinSums()(module))["concatenate"] == 40


def test_a_long_sum_is_joined() -> None:
    """Longer than what a function may call itself."""
    steps = 1500
    product = "nn.matmul(%a, %b{0}, transpose_a=True)"
    shapes = {"a": (1, 16), **{f"b{number}": (1, 4) for number in range(steps)}}
    lines = [f"let %s0 = {product.format(0)};"]
    lines += [f"let %s{n} = %s{n - 1} + {product.format(n)};" for n in range(1, steps)]
    module = _module(shapes, "".join(lines) + f"%s{steps - 1}")
    calls = _calls(JoinSums()(module))
    assert calls["nn.matmul"] == 1
    assert calls["concatenate"] == 1 + 12 + (1 + 12)


def test_sums_within_terms_are_joined_as_well() -> None:
    shapes = {**dict.fromkeys("abcd", (1, 8)), "x": (8, 8)}
    inner = "nn.matmul(%a, %b, transpose_a=True) + nn.matmul(%c, %d, transpose_a=True)"
    calls = _joined(
        _module(
            shapes,
            f"nn.pad(tanh({inner}), 0f, pad_width=[[0, 8], [0, 0]])"
            " + nn.pad(%x, 0f, pad_width=[[8, 0], [0, 0]])",
        )
    )
    assert calls["nn.matmul"] == 1
    assert calls["concatenate"] == 3
    assert not calls["nn.pad"]


def test_sums_over_the_rows_of_a_concatenation_are_one_sum() -> None:
    shapes = dict.fromkeys(("a", "b", "c"), (4, 8))
    added = "sum(%a, axis=0) + sum(%b, axis=0) + sum(%c, axis=0)"
    joined = _joined(_module(shapes, f"(concatenate((%c, %b, %a)), {added})"))
    assert (joined["sum"], joined["add"]) == (1, 0)
    apart = _joined(_module(shapes, added))
    assert (apart["sum"], apart["add"]) == (3, 2)
