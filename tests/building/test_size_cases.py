"""Code for few rows beside the code for all: which there is, what it reads, what it answers."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from relay_tune.building import rows_packed_alike, size_cases
from relay_tune.building.bounded_rows import LONGEST_ROW
from relay_tune.building.build import build
from relay_tune.building.kept_kernels import ChooseSchedule
from relay_tune.building.primitive import Packing, Primitive
from relay_tune.building.primitives import chosen_schedule, primitives_of
from relay_tune.building.program_form import program_kernels, program_module
from relay_tune.building.rows_packed_alike import with_rows_packed_alike
from relay_tune.building.size_cases import (
    FEW_IMAGES,
    FEW_POINTS,
    FEW_ROWS,
    LARGEST_EXAMPLE,
    MANY_ROWS,
    MANY_ROWS_EXAMPLE,
)
from relay_tune.codegen.target import Target, native_target, parse_target
from relay_tune.ir.expr import Function
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.op.primitive_key import PrimitiveKey
from relay_tune.program.lower_program import lower_program
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.packing import PackRecipe
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.program import ScheduledProgram
from relay_tune.schedule.rewrites.weight_panels.record import PANELS
from relay_tune.schedule.schedule import Schedule
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.store_weights import StoreWeights
from relay_tune.tuning.tuned_build import build as tuned_build
from relay_tune.typing.infer import infer_types
from tests.properties.programs.compare import assert_same_value

RNG = np.random.default_rng(0)
EACH = [(size, size) for size in range(1, FEW_ROWS + 1)]


def floats(*shape: int) -> np.ndarray:
    return (RNG.standard_normal(shape) * 0.2).astype("float32")


def with_weights(text: str) -> Module:
    module = parse(text)
    weights = {
        "w": floats(160, 128),
        "c": floats(32, 32, 3, 3),
        "f": floats(40, 24, 3),
        "g": floats(64, 64, 3),
    }
    return BindParameters({p.name: weights[p.name] for p in module.main.params[1:]})(module)


DENSE = with_weights(
    "def @main(%x: Tensor[(n, 128), float32], %w: Tensor[(160, 128), float32]) "
    "{ nn.relu(nn.dense(%x, %w)) }"
)
NARROW = StoreWeights("bfloat16")(infer_types(DENSE))
SEVERAL_ROWS = with_weights(
    "def @main(%x: Tensor[(n, 3, 128), float32], %w: Tensor[(160, 128), float32]) "
    "{ nn.dense(%x, %w) }"
)
SEVERAL_SIZES = with_weights(
    "def @main(%x: Tensor[(n, m, 128), float32], %w: Tensor[(160, 128), float32]) "
    "{ nn.dense(%x, %w) }"
)
IMAGES = with_weights(
    "def @main(%x: Tensor[(n, 32, 6, 6), float32], %c: Tensor[(32, 32, 3, 3), float32]) "
    "{ nn.conv2d(%x, %c, padding=[1, 1]) }"
)
ROWS_OF_EACH_OTHER = parse(
    "def @main(%x: Tensor[(n, 40), float32], %y: Tensor[(m, 40), float32]) { nn.dense(%x, %y) }"
)
ATTENTION = parse(
    "def @main(%q: Tensor[(3, n, 16), float32], %k: Tensor[(3, p, 16), float32], "
    "%v: Tensor[(3, p, 16), float32]) { nn.batch_matmul(nn.softmax("
    "nn.batch_matmul(%q, %k, transpose_b=True)), %v, transpose_b=False) }"
)
ROWS_OF_ONE_INPUT = parse("def @main(%x: Tensor[(n, 40), float32]) { nn.dense(%x, %x) }")
SEQUENCE = with_weights(
    "def @main(%x: Tensor[(2, 24, n), float32], %f: Tensor[(40, 24, 3), float32]) "
    "{ nn.relu(nn.conv1d(%x, %f, padding=[1, 1], channels=40, kernel_size=[3])) }"
)
WIDE_SEQUENCE = with_weights(
    "def @main(%x: Tensor[(1, 64, n), float32], %g: Tensor[(64, 64, 3), float32]) "
    "{ nn.conv1d(%x, %g, strides=[2], padding=[1, 1], channels=64, kernel_size=[3]) }"
)
NO_PRODUCT = parse("def @main(%x: Tensor[(n, 40), float32]) { nn.softmax(%x * 2f) }")

LAYOUTS = parse_target("x86_64-linux-gnu:skylake-avx512")
"""For which sequences stay channels first, whatever runs the tests."""


def primitives(
    module: Module, choose: ChooseSchedule | None = None, target: Target | None = None
) -> dict[Function, Primitive]:
    """What a module is built from, for this processor or another."""
    fused = program_module(infer_types(module), target=LAYOUTS)
    functions = program_kernels(lower_program(fused))
    return with_rows_packed_alike(primitives_of(functions), target or native_target(), 1, choose)


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        (DENSE, EACH),
        (NARROW, [*EACH, (MANY_ROWS, LARGEST_EXAMPLE), (0, 0)]),
        (SEVERAL_ROWS, [(1, 1), (1, FEW_ROWS)]),
        (SEVERAL_SIZES, [(1, 1), (1, 1)]),
        (IMAGES, [(1, 1), (1, FEW_ROWS)]),
        (ROWS_OF_EACH_OTHER, [(1, 1), (1, FEW_ROWS), (1, FEW_POINTS)]),
        (ATTENTION, [(1, 1), (1, FEW_ROWS), (1, FEW_POINTS), (1, LONGEST_ROW)]),
        (ROWS_OF_ONE_INPUT, [(1, FEW_ROWS), (1, FEW_POINTS)]),
        (SEQUENCE, [(1, FEW_POINTS)]),
        (NO_PRODUCT, []),
    ],
)
def test_few_rows_have_code_of_their_own_where_it_differs(
    module: Module, expected: list[tuple[int, int]]
) -> None:
    products = [
        [bound for case in primitive.cases for bound in case.bounds.values()]
        for primitive in primitives(module).values()
    ]
    assert expected in products


def recipes(primitives: Iterable[Primitive]) -> set[PackRecipe]:
    """How the kernels of some primitives want their weights."""
    return {packed.recipe for each in primitives for packed in _scheduled(each).packed}


def _scheduled(primitive: Primitive) -> ScheduledProgram:
    plan = primitive.plan or plan_program(primitive.program)
    schedule = primitive.schedule or chosen_schedule(primitive.key, plan, native_target(), 1, None)
    return apply_schedule(plan.with_algorithm(schedule.algorithm), schedule)


def test_the_code_of_all_small_numbers_of_rows_reads_one_copy_of_the_weights() -> None:
    (primitive,) = primitives(DENSE).values()
    shared = [each.primitive for each in primitive.cases if each.packing is Packing.SHARED]
    assert len(shared) == FEW_ROWS - 1
    assert len(recipes(shared)) == 1


@pytest.mark.parametrize("module", [DENSE, SEVERAL_ROWS])
def test_all_numbers_of_rows_read_one_copy_of_weights_that_are_large(
    module: Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_packed_alike, "LARGE_SHARE", 0)
    (primitive,) = primitives(module).values()
    assert len(recipes([primitive, *(each.primitive for each in primitive.cases)])) == 1


def test_samples_of_several_rows_pack_as_what_costs_least(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code for all sizes, whose example is of many samples, does not decide for few."""
    monkeypatch.setattr(rows_packed_alike, "LARGE_SHARE", 0)
    target = parse_target("x86_64-linux-gnu:haswell")
    machine, narrowed = machine_of(target), list[PrimitiveKey]()

    def narrow(key: PrimitiveKey, plan: Plan) -> Schedule | None:
        found = plan.default_schedule(machine, 1)
        if key.title.endswith("(s0, 3, 160)") and not key.digest.endswith(f"f{FEW_ROWS}"):
            narrowed.append(key)
            choices = (replace(each, tile=(1, each.lanes)) for each in found.choices)
            return replace(found, choices=tuple(choices))
        return None

    (primitive,) = primitives(SEVERAL_ROWS, narrow, target).values()
    assert primitive.plan is not None and primitive.plan.packing is not None
    (choice,) = primitive.plan.packing.choices
    assert choice.tile[1] > choice.lanes
    assert narrowed


def test_few_images_have_code_of_their_own_where_weights_are_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(size_cases, "LARGE_WEIGHTS", 1)
    found = [p.cases for p in primitives(IMAGES).values()]
    assert [dict(case.bounds) for case in found[-1]] == [
        {"s0": (1, most)} for most in (1, FEW_IMAGES, FEW_ROWS)
    ]
    test_the_code_of_each_size_gives_the_answer(IMAGES, 1)


@pytest.mark.parametrize("columns", [512, 768])
def test_many_rows_find_weights_of_few_bits_in_panels_that_they_can_read(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 512 columns no 48 make whole panels, though few rows like tiles of so many."""
    monkeypatch.setattr(rows_packed_alike, "LARGE_SHARE", 0)
    text = (
        f"def @main(%x: Tensor[(n, 256), float32], %w: Tensor[({columns}, 256), float32]) "
        "{ nn.dense(%x, %w) }"
    )
    stored = BindParameters({"w": floats(columns, 256)})(parse(text))
    target = parse_target("x86_64-linux-gnu:cooperlake")
    (primitive,) = primitives(StoreWeights("int4")(infer_types(stored)), target=target).values()
    machine = machine_of(target)
    assert primitive.plan is not None and primitive.plan.packing is not None
    chosen = primitive.plan.default_schedule(machine, 1).algorithm
    assert [each.algorithm for each in chosen.rewrites] == [PANELS]
    assert chosen.packing(primitive.plan.packing.choices) == primitive.plan.packing.choices


@pytest.mark.parametrize("scheme", ["int4", "bfloat16"])
def test_many_rows_have_code_of_their_own_for_weights_of_few_bits(scheme: str) -> None:
    text = (
        "def @main(%x: Tensor[(n, 256), float32], %w: Tensor[(512, 256), float32]) "
        "{ nn.dense(%x, %w) }"
    )
    wide = infer_types(BindParameters({"w": floats(512, 256)})(parse(text)))
    stored = StoreWeights(scheme)(wide)
    (primitive,) = primitives(stored).values()
    case = next(each for each in primitive.cases if each.fits({"s0": MANY_ROWS}))
    assert case.bounds["s0"][0] == MANY_ROWS and not case.fits({"s0": MANY_ROWS - 1})
    assert case.primitive.example is not None
    assert case.primitive.example.own == {"s0": MANY_ROWS_EXAMPLE}
    nothing = next(each for each in primitive.cases if each.fits({"s0": 0}))
    assert nothing.bounds["s0"] == (0, 0)
    (other,) = primitives(wide).values()
    assert not any(each.fits({"s0": size}) for each in other.cases for size in (0, MANY_ROWS))
    model = build(stored, threads=2)
    for n in (0, 1, 64, MANY_ROWS - 1, MANY_ROWS, MANY_ROWS + 1, 147):
        x = floats(n, 256)
        assert_same_value(model(x), interpret(stored, x))


LARGE = BindParameters({"w": floats(1536, 1536)})(
    parse(
        "def @main(%x: Tensor[(n, 1536), float32], %w: Tensor[(1536, 1536), float32]) "
        "{ nn.dense(%x, %w) }"
    )
)


def test_large_weights_lie_in_memory_once_for_all_numbers_of_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rows_packed_alike, "MOST_BYTES_APART", 8 << 20)
    model = tuned_build(LARGE, threads=1)  # which keeps default schedules for later builds
    assert model.compiled().constants.size < 1.05 * 1536 * 1536 * 4
    for n in (1, 2, 7, 64):
        x = floats(n, 1536)
        assert_same_value(model(x), interpret(LARGE, x))


@pytest.mark.parametrize(
    ("module", "threads"), [(DENSE, 1), (DENSE, 2), (SEVERAL_ROWS, 2), (IMAGES, 1), (NO_PRODUCT, 2)]
)
def test_the_code_of_each_size_gives_the_answer(module: Module, threads: int) -> None:
    model = build(module, threads=threads)
    (x,) = model.inputs.values()
    for n in (*range(FEW_ROWS + 3), 0, 3):
        data = floats(n, *x.shape[1:])
        assert_same_value(model(data), interpret(module, data))


def test_one_row_of_several_open_sizes_gives_the_answer() -> None:
    model = build(SEVERAL_SIZES, threads=1)
    for shape in ((1, 1, 128), (1, 2, 128), (3, 1, 128)):
        x = floats(*shape)
        assert_same_value(interpret(SEVERAL_SIZES, x), model(x))


SIZES_OF_A_LINE = (1, 2, 8, 9, 15, 16, 17, 24, 33, FEW_POINTS, FEW_POINTS + 1, 64, 100)


@pytest.mark.parametrize("module", [ROWS_OF_ONE_INPUT, SEQUENCE, WIDE_SEQUENCE])
def test_few_points_in_a_line_give_the_answer_as_many_do(module: Module) -> None:
    model = build(module, threads=1)
    (x,) = model.inputs.values()
    for n in SIZES_OF_A_LINE:
        data = floats(*(size if isinstance(size, int) else n for size in x.shape))
        assert_same_value(model(data), interpret(module, data))


def test_attention_of_each_number_of_words_gives_the_answer() -> None:
    model = build(ATTENTION, threads=1)
    for n in (1, 2, 9):
        for p in (1, 7, 16, 33, 70):
            given = floats(3, n, 16), floats(3, p, 16), floats(3, p, 16)
            assert_same_value(model(*given), interpret(ATTENTION, *given))


def test_each_open_size_may_be_small() -> None:
    model = build(ROWS_OF_EACH_OTHER, threads=1)
    for n in (1, 5, 8, 9, 40, 70):
        for m in (1, 5, 8, 9, 40, 70):
            x, y = floats(n, 40), floats(m, 40)
            assert_same_value(model(x, y), interpret(ROWS_OF_EACH_OTHER, x, y))


EMPTY = [
    "nn.conv2d(%x, ones(shape=[8, 2, 3, 3]), groups=2)",
    "nn.conv2d_transpose(%x, ones(shape=[4, 3, 3, 3]), channels=3, kernel_size=[3, 3])",
    "nn.batch_flatten(%x)",
    "argmax(%x, axis=[1, 2])",
]


@pytest.mark.parametrize("body", EMPTY)
def test_a_batch_may_be_empty(body: str) -> None:
    module = parse(f"def @main(%x: Tensor[(n, 4, 6, 6), float32]) {{ {body} }}")
    model = build(module, threads=1)
    for n in (0, 2):
        data = floats(n, 4, 6, 6)
        assert_same_value(model(data), interpret(module, data))


def test_several_kernels_ask_for_the_size_of_one_input() -> None:
    module = parse(
        "def @main(%x: Tensor[(n, 128), float32], %w: Tensor[(160, 128), float32], "
        "%v: Tensor[(96, 128), float32]) { (nn.dense(%x, %w), tanh(nn.dense(%x, %v))) }"
    )
    bound = BindParameters({"w": floats(160, 128), "v": floats(96, 128)})(module)
    model = build(bound, threads=2)
    for n in (1, 2, 3, 7, 9, 100):
        x = floats(n, 128)
        expected = interpret(bound, x)
        for model.threads in (1, 2):
            assert_same_value(model(x), expected)
