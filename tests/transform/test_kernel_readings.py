"""Inputs that products round, those that pass on, and those that need all digits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.machine.machine import Machine
from relay_tune.machine.pattern import BFLOAT16_WORDS
from relay_tune.op.lower import lower_function
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.kernel_readings import Reading, readings, rounding_algorithms
from relay_tune.typing.infer import infer_types
from tests.schedule.machines import SERVER, TILES

WORDS = replace(SERVER, dot_products=(BFLOAT16_WORDS.name,))
ROUNDED, PASSED, EXACT = Reading.ROUNDED, Reading.PASSED, Reading.EXACT

X, R = "%x: Tensor[(20, 64), float32]", "%r: Tensor[(20, 32), float32]"
IMAGE = "%x: Tensor[(1, 8, 8, 32), float32]"
LAYER = "nn.dense({}, %w)"
CONV = (
    'nn.conv2d({}, %k, kernel_size=[3, 3], channels=32, data_layout="NHWC", kernel_layout="HWIO")'
)
POOL = 'nn.{}_pool2d(%x, pool_size=[2, 2], strides=[2, 2], layout="NHWC")'
WEIGHTS = {"w": (32, 64), "k": (3, 3, 32, 32)}


def read_by(parameters: str, body: str, machine: Machine) -> list[Reading]:
    """What a kernel does with its parameters."""
    used = {name: shape for name, shape in WEIGHTS.items() if f"%{name}" in body}
    given = {name: np.ones(shape, np.float32) for name, shape in used.items()}
    types = [f"%{name}: Tensor[{WEIGHTS[name]}, float32]" for name in given]
    text = f"def @main({', '.join([parameters, *types])}) {{ {body} }}"
    module: Module = infer_types(BindParameters(given)(infer_types(parse(text))))
    return list(
        readings(
            lower_function(module.main), rounding_algorithms(machine, Accuracy.RELAXED)
        ).values()
    )


@pytest.mark.parametrize("machine", [TILES, WORDS], ids=["tiles", "words"])
@pytest.mark.parametrize(
    ("parameters", "body", "expected"),
    [
        (X, LAYER.format("%x"), [ROUNDED]),
        (X, LAYER.format("nn.relu(%x * 2f + 1f)"), [ROUNDED]),
        (f"{X}, {R}", f"nn.relu({LAYER.format('%x')} + %r)", [ROUNDED, PASSED]),
        (IMAGE, CONV.format("%x"), [ROUNDED]),
        (IMAGE, CONV.format(POOL.format("max")), [ROUNDED]),
        (IMAGE, POOL.format("max"), [PASSED]),
        (IMAGE, POOL.format("avg"), [PASSED]),
        (X, "nn.softmax(%x)", [EXACT]),
        (X, "mean(%x, axis=[1])", [EXACT]),
        (X, "%x * sum(%x, axis=[1], keepdims=True)", [EXACT]),
        (X, f"{LAYER.format('%x')} * mean(%x)", [EXACT]),
        (X, 'cast(%x, dtype="int8")', [EXACT]),
        (X, "argsort(%x)", [EXACT]),
    ],
)
def test_what_is_done_with_inputs(
    parameters: str, body: str, expected: list[Reading], machine: Machine
) -> None:
    assert read_by(parameters, body, machine) == expected


def test_who_rounds_what() -> None:
    names = {
        "tiles": rounding_algorithms(TILES, Accuracy.RELAXED),
        "words": rounding_algorithms(WORDS, Accuracy.RELAXED),
        "neither": rounding_algorithms(SERVER, Accuracy.RELAXED),
        "fast": rounding_algorithms(TILES, Accuracy.FAST),
    }
    found = {name: [each.name for each in known] for name, known in names.items()}
    assert found == {"tiles": ["bf16x1"], "words": ["bf16"], "neither": [], "fast": []}
    assert ROUNDED not in read_by(X, LAYER.format("%x"), SERVER)
