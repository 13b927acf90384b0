"""A weight that many products read is in panels where that is estimated to cost less."""

from collections import Counter

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.matching import operator_name, static_shape
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.language.graph_normal_form import ToGraphNormalForm
from relay_tune.transform.share_panels import SharePanels
from relay_tune.typing.infer import infer_types
from tests.schedule.machines import core

SHARE = SharePanels(core(32, 16))

DENSE = "nn.dense({}, %w)"


def _module(product: str, steps: int, rows: tuple[int, ...] = (16, 128)) -> Module:
    """A recurrence whose steps are written out: %h = tanh(%h @ %w)."""
    lines = ["let %h0 = tanh(%x);"]
    lines += [f"let %h{n} = tanh({product.format(f'%h{n - 1}')});" for n in range(1, steps + 1)]
    types = f"%x: Tensor[{rows}, float32], %w: Tensor[(128, 128), float32]"
    text = f"def @main({types}) {{ {''.join(lines)} %h{steps} }}"
    return ToGraphNormalForm()(infer_types(parse(text)))


def _calls(module: Module) -> Counter[str | None]:
    return Counter(map(operator_name, post_order(module.main.body)))


def _same(before: Module, after: Module) -> None:
    """Both have the same result, interpreted and native."""
    rng = np.random.default_rng(0)
    shapes = [static_shape(each) for each in before.main.params]
    inputs = [np.asarray(rng.uniform(-0.1, 0.1, shape), np.float32) for shape in shapes]
    expected = np.asarray(interpret(before, *inputs))
    for found in (interpret(after, *inputs), build(after)(*inputs)):
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("product", "rows"),
    [
        (DENSE, (16, 128)),
        (DENSE, (2, 8, 128)),
        ("nn.matmul({}, %w, transpose_b=True)", (16, 128)),
    ],
)
def test_products_of_a_recurrence_share_panels(product: str, rows: tuple[int, ...]) -> None:
    module = _module(product, 8, rows)
    after = SHARE(module)
    calls = _calls(after)
    assert calls["nn.batch_matmul"] == 8
    assert calls["transpose"] == 9  # the panels, and one behind each product
    assert not calls["nn.dense"] + calls["nn.matmul"]
    _same(module, after)


def test_weights_whose_columns_lie_beside_each_other_are_panels_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Results are the same whether it pays or not, which is another test's question."""
    monkeypatch.setattr(SharePanels, "_pays", lambda *_: True)
    module = _module("nn.matmul({}, %w)", 5)
    after = SHARE(module)
    calls = _calls(after)
    assert calls["nn.batch_matmul"] == 5
    assert calls["transpose"] == 6
    assert not calls["nn.matmul"]
    _same(module, after)


def test_few_readers_stay() -> None:
    module = _module(DENSE, 3)
    assert SHARE(module) is module


def test_columns_that_are_no_whole_panels_stay() -> None:
    terms = " + ".join(f"nn.dense(%x * {n}f, %w)" for n in range(1, 9))
    types = "%x: Tensor[(16, 128), float32], %w: Tensor[(96, 128), float32]"
    module = ToGraphNormalForm()(infer_types(parse(f"def @main({types}) {{ {terms} }}")))
    assert SHARE(module) is module


def test_constants_are_packed_by_builds() -> None:
    weight = np.zeros((128, 128), np.float32)
    module = infer_types(BindParameters({"w": weight})(_module(DENSE, 8)))
    assert SHARE(module) is module


@pytest.mark.parametrize(("then", "other", "shared"), [((1, 2, 3, 4), (), 4), ((1, 2), (3, 4), 0)])
def test_products_of_one_branch_share_panels(
    then: tuple[int, ...], other: tuple[int, ...], shared: int
) -> None:
    branches = [
        " + ".join(["%x", *(f"nn.dense(%x * {n}f, %w)" for n in each)]) for each in (then, other)
    ]
    types = "%x: Tensor[(16, 128), float32], %w: Tensor[(128, 128), float32], %c: bool"
    text = f"def @main({types}) {{ if (%c) {{ {branches[0]} }} else {{ {branches[1]} }} }}"
    module = ToGraphNormalForm()(infer_types(parse(text)))
    after = SHARE(module)
    assert _calls(after)["nn.batch_matmul"] == shared
    x, w = (
        np.random.default_rng(n).random((size, 128), np.float32) for n, size in ((0, 16), (1, 128))
    )
    for condition in (True, False):
        given = (x, w, np.asarray(condition))
        expected = np.asarray(interpret(module, *given))
        np.testing.assert_allclose(np.asarray(interpret(after, *given)), expected, rtol=1e-5)


def test_many_rows_are_not_worth_it() -> None:
    """Their kernels copy the weight themselves, which is little beside what they compute."""
    module = _module(DENSE, 4, (1024, 128))
    assert not _calls(SHARE(module))["nn.batch_matmul"]


def test_products_that_wait_for_others_have_no_panels() -> None:
    """Panels would be kept until then."""
    module = _module("nn.dense(again({}, ()), %w)", 8)
    assert _calls(SHARE(module))["nn.dense"] == 8
