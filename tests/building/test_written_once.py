"""The code of dynamic sizes is that of any example: it is written for one only."""

from dataclasses import replace

import numpy as np
import pytest

import relay_tune as rt
from benchmarks import open_sizes
from relay_tune.building import primitives
from relay_tune.building.kept_kernels import PrimitiveCode
from relay_tune.building.primitive import Primitive
from relay_tune.building.primitives import write_primitive
from relay_tune.program.open_programs import Example
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.program import ScheduledProgram
from relay_tune.schedule.rewrites.algorithm import DIRECT
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.size import UndecidedSizeError

ROWS = "def @main(%x: Tensor[(n, 40), float32]) { nn.softmax(sum(%x, axis=[0]) * 2f + %x) }"
NETWORKS = ("MLP", "ATTENTION", "LSTM", "GRU", "CONVOLUTIONS", "TWO_AXES")


@pytest.mark.parametrize(
    "text",
    [
        ROWS,
        *(
            pytest.param(getattr(open_sizes, name), marks=pytest.mark.slow, id=name)
            for name in NETWORKS
        ),
    ],
)
def test_another_example_gives_the_same_code(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written = []

    def for_two_examples(primitive: Primitive, *where: object) -> PrimitiveCode:
        code = write_primitive(primitive, *where)
        if primitive.open is not None:
            schedule = _without_blocks(code.schedule)  # how large these are is the example's
            program = primitive.lower(primitive.open, _larger(primitive.example))
            other = Primitive(primitive.key, program, primitive.function, schedule=schedule)
            own = replace(primitive, schedule=schedule)
            assert write_primitive(other, *where).text == write_primitive(own, *where).text
            written.append(code)
        return code

    monkeypatch.setattr(primitives, "write_primitive", for_two_examples)
    rt.build(rt.parse(text), threads=2)
    assert written


def _without_blocks(schedule: Schedule) -> Schedule:
    choices = (replace(each, blocks=(1,) * len(each.blocks)) for each in schedule.choices)
    return replace(schedule, choices=tuple(choices))


def test_a_schedule_that_cannot_be_written_for_all_sizes_goes_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refused = []

    def direct_only(plan: Plan, schedule: Schedule, prefix: str) -> ScheduledProgram:
        if schedule.algorithm != DIRECT:
            refused.append(schedule)
            raise UndecidedSizeError("Code would depend on a size.")
        return apply_schedule(plan, schedule, prefix)

    monkeypatch.setattr(primitives, "apply_schedule", direct_only)
    module = rt.parse("def @main(%x: Tensor[(n, 40), float32]) { nn.softmax(%x) }")
    model, x = rt.build(module, threads=1), np.ones((3, 40), "float32")
    np.testing.assert_allclose(model(x), rt.interpret(module, x), rtol=1e-6)
    assert refused


def _larger(example: Example) -> Example:
    """Another example: each size is one more."""
    own = {name: size + 1 for name, size in example.own.items()}
    return replace(example, own=own, others=example.others + 1)
