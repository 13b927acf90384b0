"""Convolutions over images of dynamic height and width, in Winograd's tiles."""

import numpy as np

from relay_tune.building.build import build
from relay_tune.building.primitives import primitives_of
from relay_tune.building.program_form import program_kernels, program_module
from relay_tune.first_order.lower_program import lower_program
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.module import Module
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.schedule.plan import plan_program
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.typing.infer import infer_types

RNG = np.random.default_rng(0)


def convolution(attributes: str) -> Module:
    text = (
        "def @main(%x: Tensor[(1, 16, h, w), float32], %c: Tensor[(16, 16, 3, 3), float32]) "
        f"{{ nn.relu(nn.conv2d(%x, %c, channels=16, kernel_size=[3, 3], {attributes})) }}"
    )
    taps = RNG.standard_normal((16, 16, 3, 3)).astype("float32")
    return BindParameters({"c": taps})(parse(text))


def algorithms(module: Module) -> set[str]:
    """The names of all algorithms that are offered for the kernels of a module."""
    fused = program_module(infer_types(module))
    primitives = primitives_of(program_kernels(lower_program(fused)))
    plans = [plan_program(each.program) for each in primitives.values()]
    return {str(algorithm) for plan in plans for algorithm in plan.algorithms}


def test_tiles_are_offered_but_for_taps_that_lie_apart() -> None:
    assert any("winograd" in name for name in algorithms(convolution("padding=[1, 1]")))
    apart = convolution("padding=[2, 2], dilation=[2, 2]")
    assert not any("winograd" in name for name in algorithms(apart))


def test_images_need_not_be_whole_tiles() -> None:
    module = convolution("padding=[1, 1]")
    model = build(module, threads=2)
    for height, width in ((4, 8), (5, 9), (10, 7), (3, 3), (17, 30), (33, 4)):
        x = RNG.standard_normal((1, 16, height, width)).astype("float32")
        expected = np.asarray(interpret(module, x))
        atol = 1e-5 * float(np.abs(expected).max(initial=0.0))
        np.testing.assert_allclose(np.asarray(model(x)), expected, rtol=0, atol=atol)
