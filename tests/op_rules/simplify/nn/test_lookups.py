"""Products with rows that are looked up become lookups, whatever the indices are."""

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay_tune.building.build import build
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.matching import operator_name
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.fold_constants import FoldConstants
from relay_tune.transform.simplify_expression import SimplifyExpression
from relay_tune.typing.infer import infer_types

DEPTH, UNITS, OTHERS = 40, 64, 24
PRODUCTS = ("nn.dense", "nn.matmul")
POSITIONS = 'arange(start=0, stop=40, step=1, dtype="int64")'


def _weight(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


def _module(parameters: str, body: str, **weights: np.ndarray) -> Module:
    types = [
        f"%{name}: Tensor[{value.shape}, {value.dtype}]".replace(",)", ")")
        for name, value in weights.items()
    ]
    text = f"def @main({', '.join([parameters, *types])}) {{ {body} }}"
    return FoldConstants()(infer_types(BindParameters(weights)(infer_types(parse(text)))))


def _simplified(module: Module) -> Module:
    return FoldConstants()(SimplifyExpression(Accuracy.RELAXED)(module))


def _operators(module: Module) -> list[str]:
    return [name for node in post_order(module.main) if (name := operator_name(node))]


def _is_lookup(module: Module) -> bool:
    names = _operators(_simplified(module))
    return "take" in names and not set(names) & set(PRODUCTS)


def _same_answer(module: Module, *inputs: np.ndarray) -> None:
    expected = np.asarray(interpret(module, *inputs))
    for found in (interpret(_simplified(module), *inputs), build(module)(*inputs)):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("shape", "rows"),
    [
        ("(3)", "one_hot(%i, 2f, 0f, depth=40)"),
        ("(3)", f"where(equal(expand_dims(%i, axis=1), {POSITIONS}), 2f, 0f)"),
        ("(3)", f'cast(equal({POSITIONS}, expand_dims(%i, axis=1)), dtype="float32")'),
        ("(3, 1)", "reshape(one_hot(%i, 1f, 0f, depth=40), newshape=[3, 40])"),
        ("()", "expand_dims(one_hot(%i, 1f, 0f, depth=40), axis=0)"),
        ("(3)", 'cast(one_hot(%i, 2.5f, 0f, depth=40, dtype="int32"), dtype="float32")'),
    ],
)
@pytest.mark.parametrize("dtype", ["int64", "int8", "uint32"])
def test_indices_outside_of_the_axis_give_zeros(shape: str, rows: str, dtype: str) -> None:
    text = f"nn.dense({rows.replace('int64', dtype)}, %w)"
    module = _module(f"%i: Tensor[{shape}, {dtype}]", text, w=_weight(UNITS, DEPTH))
    assert _is_lookup(module)
    limits = np.iinfo(dtype)
    sizes = {"()": (), "(3)": (3,), "(3, 1)": (3, 1)}[shape]
    for values in ([0, DEPTH - 1, DEPTH], [limits.min, limits.max, 7], [max(limits.min, -1), 1, 2]):
        _same_answer(module, np.asarray(values[: prod(sizes)], dtype).reshape(sizes))


@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_rows_of_a_table_are_multiplied_before(mode: str) -> None:
    text = f'nn.matmul(take(%t, %i, axis=0, mode="{mode}"), %w)'
    weights = {"t": _weight(30, DEPTH), "w": _weight(DEPTH, UNITS)}
    module = _module("%i: Tensor[(2, 3), int32]", text, **weights)
    assert _is_lookup(module)
    _same_answer(module, np.asarray([[0, 29, 30], [-1, 500, 3]], np.int32))


def test_a_table_that_would_be_larger_than_before_is_not_made() -> None:
    text = "nn.dense(take(%t, %i, axis=0), %w)"
    module = _module("%i: int64", text, t=_weight(5000, 16), w=_weight(UNITS, 16))
    assert not _is_lookup(module)


@pytest.mark.parametrize("odd", [np.inf, np.nan])
def test_odd_weights_reach_what_they_reached(odd: float) -> None:
    weight = _weight(UNITS, DEPTH)
    weight[3, 5] = odd
    text = "nn.dense(one_hot(%i, 1f, 0f, depth=40), %w)"
    module = _module("%i: Tensor[(2), int64]", text, w=weight)
    with np.errstate(invalid="ignore"):
        _same_answer(module, np.asarray([7, 5]))


@pytest.mark.parametrize(
    "rows",
    [
        "one_hot(%i, 1f, 0.5f, depth=40)",
        "one_hot(%i, 1f, 0f, depth=40, axis=0)",
        f'cast(equal(expand_dims(%i, axis=1), reverse({POSITIONS}, axis=0)), dtype="float32")',
    ],
)
def test_what_is_no_row_with_one_element_stays(rows: str) -> None:
    module = _module("%i: Tensor[(40), int64]", f"nn.dense({rows}, %w)", w=_weight(UNITS, 40))
    assert "take" not in _operators(_simplified(module))


def test_sums_of_float16_stay_whole() -> None:
    joined = 'concatenate((one_hot(%i, 1f16, 0f16, depth=40, dtype="float16"), %x), axis=1)'
    parameters = f"%i: Tensor[(2), int64], %x: Tensor[(2, {OTHERS}), float16]"
    weight = _weight(UNITS, DEPTH + OTHERS, dtype="float16")
    module = _module(parameters, f"nn.dense({joined}, %w)", w=weight)
    assert "take" not in _operators(_simplified(module))


@settings(max_examples=15, deadline=None)
@given(
    kinds=st.lists(st.sampled_from("one_hot table constant data".split()), min_size=1, max_size=5),
    product=st.sampled_from(PRODUCTS),
    seed=st.integers(0, 99),
)
def test_joined_rows_keep_their_answer(kinds: list[str], product: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    texts = {
        "one_hot": f"one_hot(%i, 1f, 0f, depth={DEPTH})",
        "table": "take(%t, %i, axis=0)",
        "constant": "%c",
        "data": "%x",
    }
    fields = "".join(f"{texts[kind]}, " for kind in kinds)
    widths = {"one_hot": DEPTH, "table": 32, "constant": 8, "data": OTHERS}
    width = sum(widths[kind] for kind in kinds)
    shape = (UNITS, width) if product == "nn.dense" else (width, UNITS)
    weights = {"t": _weight(9, 32), "c": _weight(3, 8), "w": _weight(*shape)}
    parameters = f"%i: Tensor[(3), int64], %x: Tensor[(3, {OTHERS}), float32]"
    module = _module(parameters, f"{product}(concatenate(({fields}), axis=1), %w)", **weights)
    simple = _simplified(module)
    assert not set(_operators(simple)) & {"one_hot"}
    x = random.standard_normal((3, OTHERS)).astype("float32")
    indices = random.integers(-2, DEPTH + 2, 3)
    found, expected = interpret(simple, indices, x), interpret(module, indices, x)
    np.testing.assert_allclose(found, np.asarray(expected), rtol=1e-4, atol=1e-4)


def test_a_small_part_stays_joined() -> None:
    parameters = "%i: Tensor[(2), int64], %x: Tensor[(2, 60), float32]"
    body = "nn.dense(concatenate((one_hot(%i, 1f, 0f, depth=4), %x), axis=1), %w)"
    module = _module(parameters, body, w=_weight(UNITS, 64))
    assert "take" not in _operators(_simplified(module))


ARGUMENTS = f"%i: Tensor[(3), int64], %w: Tensor[({UNITS}, {DEPTH}), float32]"
ONE_HOT = f"one_hot(%i, 2f, 0f, depth={DEPTH})"


@pytest.mark.parametrize("product", ["nn.dense(X, %w)", "nn.matmul(X, transpose(%w))"])
def test_rows_of_weights_that_arrive_are_taken(product: str) -> None:
    module = _module(ARGUMENTS, product.replace("X", ONE_HOT))
    assert _is_lookup(module)
    for indices in ([0, 39, 40], [-1, 5, 2**62]):
        _same_answer(module, np.asarray(indices), _weight(UNITS, DEPTH))


def test_that_is_relaxed() -> None:
    """Zero times an infinite weight of another row is NaN, as in numpy, but at `relaxed`."""
    module = _module(ARGUMENTS, f"nn.dense({ONE_HOT}, %w)")
    weight = _weight(UNITS, DEPTH)
    weight[3, 5] = np.inf
    indices = np.asarray([0, 5, 7])
    for accuracy in (Accuracy.EXACT, Accuracy.FAST):
        found = build(module, accuracy=accuracy)(indices, weight)
        assert np.isnan(found[:, 3]).tolist() == [True, False, True]
    assert not np.isnan(build(module, accuracy=Accuracy.RELAXED)(indices, weight)).any()
