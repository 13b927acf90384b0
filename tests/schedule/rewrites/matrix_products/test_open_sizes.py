"""Products on matrix registers whose rows, columns and steps are known at run time only."""

from __future__ import annotations

import numpy as np
import pytest

from relay_tune.codegen.target import native_target
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.dim import Symbol
from relay_tune.ir.expr import Function
from relay_tune.ir.module import Module
from relay_tune.op.lower import lower_function
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.algorithm import AppliedAlgorithm
from relay_tune.schedule.rewrites.matrix_products.record import BF16_MATRICES, BF16X6
from relay_tune.schedule.row_groups.row_blocks import RowBlocks
from relay_tune.tensor.loops_text import kernel_text
from relay_tune.tensor.size import symbolic_size
from relay_tune.typing.infer import infer_types
from tests.schedule.open_running import random_array, runner

EXAMPLES = 64, 96
"""What sizes are in the example; the code for both is the same."""

LONGEST = 300
SIZES = [(1, 1), (5, 2), (16, 15), (33, 16), (33, 17), (16, 31), (64, 32), (5, 33), (70, 130)]
"""Rows, and columns or steps."""

PRODUCTS = {
    "columns": (
        "nn.batch_matmul(%x, %y)",
        "%x: Tensor[(2, m, 64), T], %y: Tensor[(2, n, 64), T]",
    ),
    "turned columns": (
        "nn.relu(nn.batch_matmul(%x, %y, transpose_b=False))",
        "%x: Tensor[(2, 40, 64), T], %y: Tensor[(2, 64, n), T]",
    ),
    "steps": (
        "nn.batch_matmul(%x, %y, transpose_b=False)",
        "%x: Tensor[(2, m, n), T], %y: Tensor[(2, n, 48), T]",
    ),
    "columns and steps": (
        "nn.batch_matmul(%x, %y)",
        "%x: Tensor[(2, 40, n), T], %y: Tensor[(2, m, n), T]",
    ),
    "attention": (
        "nn.batch_matmul(nn.softmax(nn.batch_matmul(%q, %k)), %v, transpose_b=False)",
        "%q: Tensor[(3, m, 40), T], %k: Tensor[(3, n, 40), T], %v: Tensor[(3, n, 72), T]",
    ),
}
ALGORITHMS = [
    ("bfloat16", BF16_MATRICES(), 2e-2),
    ("bfloat16", BF16_MATRICES(block=32), 2e-2),
    ("float32", BF16X6(), 1e-5),
    ("float32", BF16X6(block=32), 1e-5),
]
needs_registers = pytest.mark.skipif(
    not native_target().intrinsics, reason="needs matrix registers"
)


def module_of(case: str, dtype: str) -> tuple[Module, Function]:
    """A product of some type as a module, and its typed function."""
    body, parameters = PRODUCTS[case]
    module = parse(f"def @main({parameters.replace('T]', f'{dtype}]')}) {{ {body} }}")
    return module, infer_types(module).main


def plan_of(case: str, dtype: str, algorithm: AppliedAlgorithm, most: int | None) -> Plan:
    """The plan of a product under an algorithm; no size is larger than `most`."""
    sizes = {name: symbolic_size(Symbol(name, 1, most), EXAMPLES[0]) for name in "mn"}
    return plan_program(lower_function(module_of(case, dtype)[1], sizes), algorithm)


@needs_registers
@pytest.mark.parametrize(("dtype", "algorithm", "bound"), ALGORITHMS)
@pytest.mark.parametrize("case", PRODUCTS)
def test_every_size(case: str, dtype: str, algorithm: AppliedAlgorithm, bound: float) -> None:
    module, main = module_of(case, dtype)
    scheduled, run = runner(main, "mn", native_target(), algorithm, EXAMPLES, LONGEST)
    assert any("matrix registers" in kernel_text(kernel) for kernel in scheduled.kernels)
    rng = np.random.default_rng(0)
    for m, n in SIZES:
        sizes = {"m": m, "n": n}
        arrays = [random_array(rng, param.type, sizes) / 4 for param in main.params]
        (found,) = run(sizes, arrays)
        wanted = np.asarray(interpret(module, *arrays), np.float64)
        error = np.abs(found.astype(np.float64) - wanted).max()
        assert error <= bound * np.abs(wanted).max(), sizes


@needs_registers
@pytest.mark.parametrize(("dtype", "algorithm", "_"), ALGORITHMS)
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_what_is_filled_with_zeros_touches_nothing(
    value: float, dtype: str, algorithm: AppliedAlgorithm, _: float
) -> None:
    """An infinity in the last row of data, column and step stays in the results that read it."""
    main = module_of("attention", dtype)[1]
    run = runner(main, "mn", native_target(), algorithm, EXAMPLES, LONGEST)[1]
    rng = np.random.default_rng(0)
    for m, n in ((5, 33), (33, 50)):
        sizes = {"m": m, "n": n}
        q, k, v = (random_array(rng, param.type, sizes) for param in main.params)
        (expected,) = run(sizes, [q, k, v])
        spoilt_values = v.copy()
        spoilt_values[1, -1, 7] = value
        (found,) = run(sizes, [q, k, spoilt_values])
        is_read = np.zeros(found.shape, bool)
        is_read[1, :, 7] = True
        assert not np.isfinite(found[is_read].astype(np.float32)).any()
        np.testing.assert_array_equal(found[~is_read], expected[~is_read])
        spoilt_queries = q.copy()
        spoilt_queries[1, -1, 0] = value
        (found,) = run(sizes, [spoilt_queries, k, v])
        np.testing.assert_array_equal(found[1, :-1], expected[1, :-1])
        np.testing.assert_array_equal(found[[0, 2]], expected[[0, 2]])


def test_shares_stay_near_where_rows_have_a_longest() -> None:
    algorithm = BF16_MATRICES(block=32)
    near, far = (plan_of("attention", "bfloat16", algorithm, most) for most in (4096, None))
    (group,) = (step for step in near.steps if isinstance(step, RowBlocks))
    assert [nest.pattern is not None for nest in group.nests].count(True) == len(group.nests)
    assert len(near.steps) == 3  # keys and values come first
    assert not any(isinstance(step, RowBlocks) for step in far.steps)
