"""Recurrences in segments: the same results, and less that waits for the backward sweep."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.ir.expr import Expr
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.matching import operator_call, static_shape
from relay_tune.training.program import step_program
from relay_tune.transform.pipeline import default_pipeline
from relay_tune.transform.segments.segment_recurrences import SegmentRecurrences

STEPS, ROWS, WIDTH = 12, 2, 8


def lstm() -> str:
    """Gates in another order than their weights, and cells that pass from step to step."""
    blocks = ((0, 8), (24, 32), (8, 24))
    slices = ", ".join(f"strided_slice(%W, begin=[{b}], end=[{e}], axes=[0])" for b, e in blocks)
    lines = [
        f"let %w = concatenate(({slices.replace('%W', '%wx')}), axis=0);",
        f"let %r = concatenate(({slices.replace('%W', '%wh')}), axis=0);",
        f"let %p = nn.bias_add(nn.dense(reshape(%x, newshape=[{STEPS * ROWS}, 8]), %w), %b);",
    ]
    state = "%h0", "%c0"
    for n in range(1, STEPS + 1):
        begin = (n - 1) * ROWS
        rows = f"strided_slice(%p, begin=[{begin}], end=[{begin + ROWS}], axes=[0])"
        lines.append(f"let %g{n} = add({rows}, nn.dense({state[0]}, %r));")
        for gate, name in enumerate(("i", "o", "f")):
            part = f"strided_slice(%g{n}, begin=[{8 * gate}], end=[{8 * gate + 8}], axes=[1])"
            lines.append(f"let %{name}{n} = sigmoid({part});")
        part = f"strided_slice(%g{n}, begin=[24], end=[32], axes=[1])"
        lines.append(
            f"let %c{n} = add(multiply(%f{n}, {state[1]}), multiply(%i{n}, tanh({part})));"
        )
        lines.append(f"let %h{n} = multiply(%o{n}, tanh(%c{n}));")
        state = f"%h{n}", f"%c{n}"
    return _program(
        "%wx: Tensor[(32, 8), float32], %wh: Tensor[(32, 8), float32], "
        "%b: Tensor[(32), float32], %h0: Tensor[(2, 8), float32], "
        "%c0: Tensor[(2, 8), float32]",
        lines,
        state[0],
    )


def plain() -> str:
    """h = tanh(w x + r h), whose output is read in each step."""
    lines: list[str] = []
    state, total = "%h0", "%h0"
    for n in range(1, STEPS + 1):
        rows = f"reshape(strided_slice(%x, begin=[{n - 1}], end=[{n}], axes=[0]), newshape=[2, 8])"
        product = f"add(nn.dense({rows}, %w), nn.dense({state}, %r))"
        lines.append(f"let %h{n} = tanh({product});")
        lines.append(f"let %t{n} = add({total}, multiply(%h{n}, %h{n}));")
        state, total = f"%h{n}", f"%t{n}"
    return _program(
        "%w: Tensor[(8, 8), float32], %r: Tensor[(8, 8), float32], %h0: Tensor[(2, 8), float32]",
        lines,
        total,
    )


def gated() -> str:
    """A state that is a mean of the old one and a candidate, weighted by a gate."""
    lines: list[str] = []
    state = "%h0"
    for n in range(1, STEPS + 1):
        rows = f"reshape(strided_slice(%x, begin=[{n - 1}], end=[{n}], axes=[0]), newshape=[2, 8])"
        lines += [
            f"let %q{n} = add(concatenate(({rows}, {rows}), axis=1), nn.dense({state}, %r));",
            f"let %z{n} = sigmoid(strided_slice(%q{n}, begin=[0], end=[8], axes=[1]));",
            f"let %n{n} = tanh(strided_slice(%q{n}, begin=[8], end=[16], axes=[1]));",
            f"let %h{n} = add(multiply(%z{n}, {state}), multiply(subtract(1f, %z{n}), %n{n}));",
        ]
        state = f"%h{n}"
    return _program("%r: Tensor[(16, 8), float32], %h0: Tensor[(2, 8), float32]", lines, state)


def _program(params: str, lines: list[str], result: str) -> str:
    body = "\n".join(lines)
    return f"def @main(%x: Tensor[({STEPS}, 2, 8), float32], {params}) {{\n{body}\n{result}\n}}"


def _prepared(text: str) -> tuple[rt.Module, dict[str, np.ndarray]]:
    """A training step up to the pass, and its inputs."""
    network = rt.infer_types(rt.parse(text))
    names = [each.name for each in network.main.params if each.name != "x"]
    program = step_program(network, "mean_squared_error", rt.training.SGD(0.1), names)
    module = default_pipeline().until("segment_recurrences")(program.module)
    random = np.random.default_rng(1)
    feeds = {
        each.name: random.standard_normal(static_shape(each) or (), np.float32) / 2
        for each in module.main.params
        if each.name != program.number
    }
    return module, {**feeds, program.number: np.asarray(0)}


def _results(module: rt.Module, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    found = rt.interpret(module, *(feeds[each.name] for each in module.main.params))
    return [np.asarray(each) for each in found]


def _calls(module: rt.Module, *names: str) -> list[Expr]:
    return [node for node in post_order(module.main.body) if operator_call(node, *names)]


@pytest.mark.parametrize("text", [lstm, plain, gated])
@pytest.mark.parametrize("segments", [2, 3, 5])
def test_steps_have_the_same_results(text: Callable[[], str], segments: int) -> None:
    module, feeds = _prepared(text())
    divided = rt.infer_types(SegmentRecurrences(segments)(module))
    assert _calls(divided, "again")
    pairs = zip(_results(divided, feeds), _results(module, feeds), strict=True)
    for found, wanted in pairs:
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_segments_are_computed_again_in_one_product_each() -> None:
    module, _ = _prepared(lstm())
    divided = SegmentRecurrences(3)(module)
    rows = [static_shape(each) for each in _calls(divided, "nn.dense")]
    assert rows.count((8, 32)) == 3 + 2 + 2  # of data, twice but for the last one, and of states
    assert rows.count((ROWS, 32)) == STEPS


def test_weights_in_another_order_are_read_as_they_are() -> None:
    module, _ = _prepared(lstm())
    divided = SegmentRecurrences(3)(module)
    names = {getattr(each.arguments[1], "name", "") for each in _calls(divided, "nn.dense")}  # type: ignore[attr-defined]
    assert names == {"wx", "wh"}


def test_sums_over_rows_have_a_part_for_each_segment() -> None:
    module, _ = _prepared(lstm())
    before = len(_calls(module, "nn.matmul"))
    after = len(_calls(SegmentRecurrences(3)(module), "nn.matmul"))
    assert after == before + 2 * (3 - 1)


def test_what_is_no_recurrence_stays() -> None:
    module, _ = _prepared(lstm())
    assert SegmentRecurrences(1)(module) is module
    layers = rt.infer_types(rt.parse("def @main(%x: Tensor[(4, 8), float32]) { tanh(%x) }"))
    assert SegmentRecurrences(3)(layers) is layers
