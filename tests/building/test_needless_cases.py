"""Cases whose schedule is that of the code for all sizes have no code of their own."""

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.building.needless_cases import behind_general, comparable_cases, without_cases
from relay_tune.building.primitive import Primitive
from relay_tune.building.primitives import primitives_of
from relay_tune.building.size_cases import SMALL_SIDE
from relay_tune.codegen.target import parse_target
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.op.primitive_key import PrimitiveKey
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.schedule import Schedule
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.typing.infer import infer_types

RNG = np.random.default_rng(0)
SMALL = f"p{SMALL_SIDE}"


def of_large_images() -> Module:
    text = """
    def @main(%x: Tensor[(1, h, w, 32), float32], %k: Tensor[(3, 3, 32, 32), float32]) {
      nn.conv2d(%x, %k, channels=32, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWIO")
    }
    """
    kernel = RNG.standard_normal((3, 3, 32, 32)).astype("float32")
    return BindParameters({"k": kernel})(parse(text))


def primitive_of(text: str, **weights: np.ndarray) -> Primitive:
    module = infer_types(BindParameters(weights)(parse(text)))
    return next(iter(primitives_of([module.main]).values()))


@pytest.mark.parametrize("is_other", [False, True])
def test_small_images_have_code_of_their_own_where_its_schedule_is_another(is_other: bool) -> None:
    module, machine = of_large_images(), machine_of(parse_target("x86_64-linux-gnu:haswell"))
    known: dict[int, Schedule] = {}

    def schedules(key: PrimitiveKey, plan: Plan) -> Schedule | None:
        if not key.title.startswith("conv2d (1, s0, s1"):
            return None
        tile = 2 if is_other and key.digest.endswith(SMALL) else 4
        if tile not in known:
            runs = plan.with_algorithm(WINOGRAD(tile=tile, run=24))
            known[tile] = runs.default_under_algorithm(machine, 1)[1]
        return known[tile]

    model = build(module, target="native", threads=1, schedules=schedules)
    steps = [step.digest for region in model.compiled().regions for step in region.steps]
    assert sum(kernel.endswith(SMALL) for kernel in steps) == is_other
    for side in (5, SMALL_SIDE, SMALL_SIDE + 1):
        x = RNG.standard_normal((1, side, side + 2, 32)).astype("float32")
        np.testing.assert_allclose(model(x), interpret(module, x), rtol=1e-3, atol=1e-3)


def test_cases_are_compared_where_no_later_one_is_for_the_same_sizes() -> None:
    weights = {"w": RNG.standard_normal((3, 3, 512, 512)).astype("float32")}
    heavy = primitive_of(
        "def @main(%x: Tensor[(n, h, w, 512), float32], %w: Tensor[(3, 3, 512, 512), float32])"
        "{ nn.conv2d(%x, %w, channels=512, kernel_size=[3, 3],"
        ' data_layout="NHWC", kernel_layout="HWIO") }',
        **weights,
    )
    assert len(heavy.cases) > 2
    (last,) = comparable_cases([heavy])
    assert last == heavy.cases[-1].primitive.key.digest


def test_code_of_fixed_sizes_and_of_other_bounds_is_not_compared() -> None:
    weights = {"w": RNG.standard_normal((256, 256)).astype("float32")}
    text = "def @main(%x: Tensor[(n, 256), float32], %w: Tensor[(256, 256), float32])"
    rows = primitive_of(text + "{ nn.dense(%x, %w) }", **weights)
    assert rows.cases and not comparable_cases([rows])


def test_cases_follow_the_code_for_all_sizes() -> None:
    primitive = next(iter(primitives_of([infer_types(of_large_images()).main]).values()))
    small = primitive.cases[-1].primitive
    comparable = comparable_cases([primitive])
    assert comparable == {small.key.digest: primitive.key.digest}
    assert [*behind_general([small, primitive], comparable)] == [primitive, small]
    assert [*behind_general([small, primitive], {})] == [small, primitive]
    assert without_cases(primitive, {primitive.key.digest}).cases == ()
    assert without_cases(primitive, {small.key.digest}).cases == primitive.cases[-1:]
