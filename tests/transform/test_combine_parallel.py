"""Layers that read the same data are one layer where that is estimated to cost less."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay_tune.building.build import build
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.matching import operator_call, operator_name, static_shape
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.combine_parallel import CombineParallel
from relay_tune.transform.eliminate_common_subexpressions import EliminateCommonSubexpressions
from relay_tune.transform.fold_constants import FoldConstants
from relay_tune.typing.infer import infer_types
from tests.schedule.machines import core

LAYERS = ("nn.dense", "nn.matmul", "nn.conv2d", "nn.conv1d")
ROW = "%x: Tensor[(1, 32), float32]"
IMAGE = "%x: Tensor[(1, 8, 5, 5), float32]"

COMBINE = CombineParallel(core(32, 16))

SIZES = {
    "a": (24, 32),
    "b": (8, 32),
    "c": (40, 32),
    "u": (24,),
    "v": (8,),
    "k": (6, 8, 3, 3),
    "l": (10, 8, 3, 3),
    "one": (16, 8, 1, 1),
    "table": (9, 24),
    "rows": (9, 8),
}


def _module(parameters: str, body: str) -> Module:
    rng = np.random.default_rng(0)
    used = [name for name in SIZES if f"%{name}," in body + "," or f"%{name})" in body]
    weights = {name: rng.uniform(-1, 1, SIZES[name]).astype(np.float32) for name in used}
    types = [f"%{name}: Tensor[({', '.join(map(str, SIZES[name]))}), float32]" for name in weights]
    text = f"def @main({', '.join([parameters, *types])}) {{ {body} }}"
    module = infer_types(BindParameters(weights)(infer_types(parse(text))))
    return EliminateCommonSubexpressions()(FoldConstants()(module))


def _layers(module: Module) -> int:
    return sum(operator_name(node) in LAYERS for node in post_order(module.main))


def _same(before: Module, after: Module, *inputs: np.ndarray) -> None:
    expected = interpret(before, *inputs)
    for found in (interpret(after, *inputs), build(after)(*inputs)):
        for one, other in zip(_flat(found), _flat(expected), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def _flat(value: object) -> list[np.ndarray]:
    return [np.asarray(each) for each in (value if isinstance(value, tuple) else (value,))]


def _row() -> np.ndarray:
    return np.random.default_rng(1).standard_normal((1, 32)).astype(np.float32)


def _image(channels: int = 8) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((1, channels, 5, 5)).astype(np.float32)


def test_dense_layers_and_what_follows_each_are_one() -> None:
    after = _combined_row(
        "(max(nn.relu(nn.bias_add(nn.dense(%x, %a), %u)), axis=1), "
        "max(nn.relu(nn.bias_add(nn.dense(%x, %b), %v)), axis=1))"
    )
    names = [operator_name(node) for node in post_order(after.main)]
    assert names.count("nn.dense") == names.count("nn.bias_add") == names.count("nn.relu") == 1
    assert names.count("strided_slice") == 2


@pytest.mark.parametrize(
    "body",
    [
        "sum(nn.dense(%x, %a) + 2f) + sum(nn.dense(%x, %b) + 3f)",
        "max(nn.dense(%x, %a) * sum(%x)) - max(nn.dense(%x, %b) * sum(%x))",
        "max(2f - nn.dense(%x, %a)) + max(2f - nn.dense(%x, %b))",
        "max(nn.dense(%x, %a) + take(%table, 3, axis=0)) "
        "- max(nn.dense(%x, %b) + take(%rows, 3, axis=0))",
        'nn.dense(nn.dense(%x, %a), ones(shape=(5, 24), dtype="float32")) + sum(nn.dense(%x, %b))',
        "concatenate((nn.dense(%x, %b), nn.dense(%x, %a), nn.dense(%x, %c)), axis=1)",
    ],
)
def test_what_follows_may_differ(body: str) -> None:
    _combined_row(body)


def _combined_row(body: str) -> Module:
    before = _module(ROW, body)
    after = COMBINE(before)
    assert _layers(after) < _layers(before)
    _same(before, after, _row())
    return after


def test_products_of_a_batch_are_one() -> None:
    products = (
        f'max(nn.batch_matmul(%x, full({n}f, shape=(1, {2 * n}, 32), dtype="float32")))'
        for n in (1, 2)
    )
    before = _module("%x: Tensor[(1, 1, 32), float32]", " + ".join(products))
    after = COMBINE(before)
    shapes = [
        static_shape(n) for n in post_order(after.main) if operator_call(n, "nn.batch_matmul")
    ]
    assert shapes == [(1, 1, 6)]
    _same(before, after, np.random.default_rng(1).standard_normal((1, 1, 32)).astype(np.float32))


def test_heads_of_a_detector_are_one_convolution() -> None:
    before = _module(
        IMAGE,
        "(transpose(nn.conv2d(%x, %k, padding=[1, 1]), axes=[0, 2, 3, 1]), "
        "nn.relu(nn.conv2d(%x, %l, padding=[1, 1])))",
    )
    after = COMBINE(before)
    calls = [operator_call(node, "nn.conv2d") for node in post_order(after.main)]
    assert [static_shape(call) for call in calls if call] == [(1, 16, 5, 5)]
    _same(before, after, _image())


@pytest.mark.parametrize(
    "body",
    [
        "(nn.conv2d(%x, %k, padding=[1, 1]), nn.conv2d(%x, %l, padding=[0, 0]))",
        "(nn.conv2d(%x, %k), nn.conv2d(%x, %one))",
        '(nn.conv2d(nn.conv2d(%x, %k), ones(shape=(2, 6, 1, 1), dtype="float32")), '
        "nn.conv2d(%x, %l))",
    ],
)
def test_other_windows_and_parts_that_convolutions_read_stay(body: str) -> None:
    before = _module(IMAGE, body)
    assert COMBINE(before) is before


def test_layers_of_two_branches_stay_there() -> None:
    before = _module(ROW, "if (sum(%x) < 0f) { nn.dense(%x, %a) } else { exp(nn.dense(%x, %a)) }")
    text = "if (sum(%x) < 0f) { sum(nn.dense(%x, %a)) } else { sum(nn.dense(%x, %b)) }"
    for module in (before, _module(ROW, text)):
        assert COMBINE(module) is module


@pytest.mark.parametrize(
    "body",
    [
        "max(exp(nn.dense(%x, %a))) + max(nn.relu(nn.dense(%x, %b)))",
        "(nn.dense(%x, %a), nn.dense(%x, %b))",
        "max(nn.dense(%x, %a) + 2f) + max(nn.dense(%x, %b) + %v)",
    ],
)
def test_parts_that_would_need_kernels_of_their_own_stay(body: str) -> None:
    before = _module(ROW, body)
    assert COMBINE(before) is before


def test_large_layers_stay() -> None:
    parameters = ", ".join(
        f"%{name}: Tensor[({shape}), float32]"
        for name, shape in {"x": "64, 512", "w": "256, 512", "z": "256, 512"}.items()
    )
    text = f"def @main({parameters}) {{ (nn.dense(%x, %w), nn.dense(%x, %z)) }}"
    weights = {name: np.full((256, 512), n, np.float32) for n, name in enumerate("wz")}
    module = infer_types(BindParameters(weights)(infer_types(parse(text))))
    assert COMBINE(module) is module


INDEX = "floor_mod(argmax(%x), 4i64)"
STEPS: dict[str, Callable[[str, int], str]] = {
    "relu": lambda data, size: f"nn.relu({data})",
    "scalar": lambda data, size: f"({data} * 1.5f)",
    "vector": lambda data, size: f"({data} + {_constant(size)})",
    "bias": lambda data, size: f"nn.bias_add({data}, {_constant(size)}, axis=1)",
    "gate": lambda data, size: f"({data} * exp({_constant(size)} * sum(%x)))",
    "row": lambda data, size: (
        f"({data} + take({_constant(4, size)}, floor_mod(argmax(%x), 4i64), axis=0))"
    ),
    "itself": lambda data, size: f"multiply({data}, {data})",
}


def _constant(*shape: int) -> str:
    sizes = f"({shape[0]},)" if len(shape) == 1 else str(shape)
    return f'full(0.5f, shape={sizes}, dtype="float32")'


@settings(max_examples=20, deadline=None)
@given(
    chains=st.lists(st.lists(st.sampled_from(sorted(STEPS)), max_size=3), min_size=2, max_size=4),
    rows=st.sampled_from([1, 3]),
)
def test_every_combination_keeps_the_answer(chains: list[list[str]], rows: int) -> None:
    fields = []
    for number, chain in enumerate(chains):
        size = 4 + 3 * number
        text = f'nn.dense(%x, full({number + 1}f, shape=({size}, 32), dtype="float32"))'
        for step in chain:
            text = STEPS[step](text, size)
        fields.append(f"max({text}, axis=1)")
    parameters = f"%x: Tensor[({rows}, 32), float32]"
    before = _module(parameters, f"({', '.join(fields)},)")
    after = COMBINE(before)
    assert infer_types(after).main.type == before.main.type
    x = np.random.default_rng(2).uniform(-0.1, 0.1, (rows, 32)).astype(np.float32)
    for one, other in zip(_flat(interpret(after, x)), _flat(interpret(before, x)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
