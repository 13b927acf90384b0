"""Convolutions over images of dynamic height and width, in Winograd's tiles."""

import numpy as np
import pytest

from relay_tune.building import size_cases
from relay_tune.building.build import build
from relay_tune.building.primitives import primitives_of
from relay_tune.building.program_form import program_kernels, program_module
from relay_tune.building.size_cases import FEW_PIXELS, FEW_ROWS, SMALL_SIDE
from relay_tune.codegen.target import native_target
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.module import Module
from relay_tune.op.primitive_key import PrimitiveKey
from relay_tune.program.lower_program import lower_program
from relay_tune.program.open_primitive import open_primitive
from relay_tune.program.open_programs import example_sizes, usual_example
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.algorithm import AppliedAlgorithm
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.row_groups.row_blocks import RowBlocks
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.size import nominal
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.typing.infer import infer_types

RNG = np.random.default_rng(0)


CHANNELS_LAST = 'data_layout="NHWC", kernel_layout="HWIO"'


def convolution(attributes: str, batch: str = "1") -> Module:
    """Of 16 channels, which are first or last as the attributes say."""
    last = "NHWC" in attributes
    data, weights = ("h, w, 16", (3, 3, 16, 16)) if last else ("16, h, w", (16, 16, 3, 3))
    text = (
        f"def @main(%x: Tensor[({batch}, {data}), float32], %c: Tensor[{weights}, float32]) "
        f"{{ nn.relu(nn.conv2d(%x, %c, channels=16, kernel_size=[3, 3], {attributes})) }}"
    )
    taps = RNG.standard_normal(weights).astype("float32")
    return BindParameters({"c": taps})(parse(text))


def algorithms(module: Module) -> set[str]:
    """The names of all algorithms that are offered for the kernels of a module."""
    fused = program_module(infer_types(module))
    primitives = primitives_of(program_kernels(lower_program(fused)))
    plans = [plan_program(each.program) for each in primitives.values()]
    return {str(algorithm) for plan in plans for algorithm in plan.algorithms}


def test_rows_of_an_open_batch_run_in_blocks() -> None:
    """A depthwise convolution and a 1x1 one, whose image leaves the second cache for few images."""
    text = (
        "def @main(%x: Tensor[(n, 30, 30, 48), float32], %d: Tensor[(3, 3, 48, 1), float32],"
        " %v: Tensor[(1, 1, 48, 16), float32]) {"
        "  %0 = nn.conv2d(%x, %d, groups=48, channels=48, "
        'data_layout="NHWC", kernel_layout="HWOI");'
        f"  nn.conv2d(nn.relu(%0), %v, {CHANNELS_LAST})"
        "}"
    )
    weights = {"d": RNG.standard_normal((3, 3, 48, 1)), "v": RNG.standard_normal((1, 1, 48, 16))}
    module = BindParameters({k: v.astype("float32") for k, v in weights.items()})(parse(text))
    assert any("rows" in name for name in algorithms(module))
    for threads in (1, 2):
        model = build(module, threads=threads)
        for images in (1, 2, 3, 5, 9):
            x = RNG.standard_normal((images, 30, 30, 48)).astype("float32")
            np.testing.assert_allclose(model(x), interpret(module, x), rtol=1e-4, atol=1e-4)


def test_tiles_are_offered() -> None:
    assert any("winograd" in name for name in algorithms(convolution("padding=[1, 1]")))


def cases_of_pixels(module: Module) -> list[dict[str, tuple[int, int]]]:
    """The bounds of the code for few pixels, of each kernel that has it."""
    fused = program_module(infer_types(module))
    primitives = primitives_of(program_kernels(lower_program(fused)))
    cases = [case.bounds for each in primitives.values() for case in each.cases]
    few = [{(1, most)} for most in FEW_PIXELS]
    return [dict(bounds) for bounds in cases if set(bounds.values()) in few]


def test_few_pixels_have_code_where_weights_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    small = convolution("padding=[1, 1]")
    assert not cases_of_pixels(small)
    taps_bytes = 16 * 16 * 9 * 4
    monkeypatch.setattr(size_cases, "LEAST_WEIGHTS", taps_bytes)
    monkeypatch.setattr(size_cases, "LARGE_WEIGHTS", taps_bytes)
    found = cases_of_pixels(small)
    assert [set(bounds.values()) for bounds in found] == [{(1, 4)}, {(1, 8)}]
    assert all(len(bounds) == 2 for bounds in found)


def test_few_pixels_of_few_images_have_code_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many images of 3x3 pixels pay for four times the weights, one does not."""
    for name in ("LEAST_WEIGHTS", "LARGE_WEIGHTS"):
        monkeypatch.setattr(size_cases, name, 16 * 16 * 9 * 4)
    module = convolution("padding=[1, 1]", batch="n")
    fused = program_module(infer_types(module))
    primitives = primitives_of(program_kernels(lower_program(fused)))
    (cases,) = [each.cases for each in primitives.values() if each.cases]
    sides = [sorted(most for _, most in case.bounds.values()) for case in cases]
    assert sides[1:5] == [[4, 4, FEW_ROWS], [4, 4], [8, 8, FEW_ROWS], [8, 8]]
    assert len({case.primitive.key.digest for case in cases}) == len(cases)
    model = build(module, threads=1)
    for images, height, width in (
        (1, 3, 3),
        (8, 4, 2),
        (9, 3, 3),
        (2, 8, 5),
        (10, 6, 8),
        (1, 20, 9),
    ):
        x = RNG.standard_normal((images, 16, height, width)).astype("float32")
        np.testing.assert_allclose(model(x), interpret(module, x), rtol=1e-4, atol=1e-4)


def test_images_need_not_be_whole_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_cases, "LEAST_WEIGHTS", 1)
    monkeypatch.setattr(size_cases, "LARGE_WEIGHTS", 1)  # up to 8 x 8 pixels have code of their own
    module = convolution("padding=[1, 1]")
    said: list[str] = []
    model = build(module, threads=2, report=said.append)
    assert not any("cannot" in line for line in said)  # one code is for all sizes
    for height, width in ((4, 8), (5, 9), (10, 7), (1, 7), (3, 3), (8, 8), (17, 30), (33, 4)):
        x = RNG.standard_normal((1, 16, height, width)).astype("float32")
        expected = np.asarray(interpret(module, x))
        atol = 1e-5 * float(np.abs(expected).max(initial=0.0))
        np.testing.assert_allclose(np.asarray(model(x)), expected, rtol=0, atol=atol)


@pytest.mark.parametrize(
    ("algorithm", "batch", "attributes"),
    [
        (WINOGRAD(tile=2, run=24), "n", "padding=[1, 1]"),
        (WINOGRAD(tile=4, run=24), "1", "padding=[1, 1]"),
        (WINOGRAD(tile=2, run=24), "n", "padding=[1, 2], dilation=[1, 2]"),
        (WINOGRAD(tile=4, run=24), "1", "padding=[3, 2], dilation=[3, 2]"),
    ],
    ids=str,
)
def test_tiles_are_right_for_all_sizes(
    algorithm: AppliedAlgorithm, batch: str, attributes: str
) -> None:
    """Runs go beyond rows of tiles; tiles of taps that lie apart have positions of many phases.

    Channels are last, as tiles want them: first, a machine may choose to compute directly.
    """
    machine = native_target().machine

    def chosen(_: PrimitiveKey, plan: Plan) -> Schedule | None:
        if algorithm not in plan.algorithms:
            return None
        used.append(algorithm)
        return plan.with_algorithm(algorithm).default_under_algorithm(machine, 2)[1]

    said: list[str] = []
    used: list[AppliedAlgorithm] = []
    module = convolution(f"{attributes}, {CHANNELS_LAST}", batch)
    model = build(module, threads=2, schedules=chosen, report=said.append)
    for height, width in ((1, 1), (3, 5), (8, 8), (17, 30), (64, 5)):
        x = RNG.standard_normal((2 if batch == "n" else 1, height, width, 16)).astype("float32")
        expected = np.asarray(interpret(module, x))
        atol = 1e-5 * float(np.abs(expected).max(initial=0.0))
        np.testing.assert_allclose(np.asarray(model(x)), expected, rtol=0, atol=atol)
    assert used
    assert not any("cannot" in line for line in said)  # one code is for all sizes


def test_what_follows_a_convolution_runs_with_its_tiles() -> None:
    """A sum with another image, a pooling, and channels that become the first axis."""
    text = """
    def @main(%x: Tensor[(1, h, w, 16), float32], %c: Tensor[(3, 3, 16, 16), float32]) {
      let %y = nn.conv2d(%x, %c, padding=[1, 1], channels=16, kernel_size=[3, 3],
                         data_layout="NHWC", kernel_layout="HWIO");
      let %z = nn.max_pool2d(nn.relu(%y + %x), pool_size=[2, 2], strides=[2, 2], layout="NHWC");
      transpose(%z, axes=[0, 3, 1, 2])
    }
    """
    taps = RNG.standard_normal((3, 3, 16, 16)).astype("float32")
    module = BindParameters({"c": taps})(parse(text))
    machine, algorithm = native_target().machine, WINOGRAD(tile=4, run=24)
    members: list[int] = []

    def chosen(_: PrimitiveKey, plan: Plan) -> Schedule | None:
        if algorithm not in plan.algorithms:
            return None
        own = plan.with_algorithm(algorithm)
        members.extend(len(step.nests) for step in own.steps if isinstance(step, RowBlocks))
        return own.default_under_algorithm(machine, 2)[1]

    model = build(module, threads=2, schedules=chosen)
    for height, width in ((1, 1), (2, 9), (8, 8), (17, 30), (64, 5)):
        x = RNG.standard_normal((1, height, width, 16)).astype("float32")
        expected = np.asarray(interpret(module, x))
        atol = 1e-5 * float(np.abs(expected).max(initial=0.0))
        np.testing.assert_allclose(np.asarray(model(x)), expected, rtol=0, atol=atol)
    assert 3 in members  # of the image, of products, and of all that follows


def test_runs_are_offered_where_an_image_is_open() -> None:
    runs = {name for name in algorithms(convolution("padding=[1, 1]")) if "run=" in name}
    assert runs == {f"winograd(tile={tile}, run=24)" for tile in (2, 4)}


def test_padding_is_stored_by_the_kernel_in_front() -> None:
    """A depthwise convolution reads it, another one what is left without it."""
    module = parse(
        "def @main(%x: Tensor[(1, h, w, 4), float32], %d: Tensor[(3, 3, 4, 1), float32]) {\n"
        "  %0 = nn.relu(%x);\n"
        "  %1 = nn.conv2d(%0, %d, strides=[2, 2], padding=[1, 1], groups=4, channels=4,\n"
        '    kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWOI");\n'
        "  (%1, strided_slice(%0, begin=[0], end=[1], strides=[1], axes=[3]))\n"
        "}"
    )
    taps = RNG.standard_normal((3, 3, 4, 1)).astype("float32")
    model = build(module, threads=2)
    titles = [step.title for region in model.compiled().regions for step in region.steps]
    assert any("pad" in title for title in titles)
    for height, width in ((1, 1), (2, 1), (3, 8), (9, 17)):
        x = RNG.standard_normal((1, height, width, 4)).astype("float32")
        for found, expected in zip(model(x, taps), interpret(module, x, taps), strict=True):
            np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=0, atol=1e-5)


@pytest.mark.parametrize(("channels", "side"), [(32, 128), (64, 88), (256, 14)])
def test_the_example_of_an_image_depends_on_its_channels(channels: int, side: int) -> None:
    module = parse(f"""
    def @main(%x: Tensor[(1, h, w, {channels}), float32],
              %k: Tensor[(3, 3, {channels}, 32), float32]) {{
      nn.conv2d(%x, %k, channels=32, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWIO")
    }}
    """)
    named = open_primitive(infer_types(module).main)
    assert {nominal(n) for n in example_sizes(named, usual_example(named)).values()} == {side}


@pytest.mark.parametrize(("channels", "has_small"), [(32, True), (256, False)])
def test_small_images_of_few_channels_have_code_of_their_own(
    channels: int, has_small: bool
) -> None:
    module = parse(f"""
    def @main(%x: Tensor[(1, h, w, {channels}), float32],
              %k: Tensor[(3, 3, {channels}, 32), float32]) {{
      nn.conv2d(%x, %k, channels=32, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWIO")
    }}
    """)
    kernel = np.zeros((3, 3, channels, 32), "float32")
    function = infer_types(BindParameters({"k": kernel})(module)).main
    (primitive,) = primitives_of([function]).values()
    small = [case for case in primitive.cases if set(case.bounds.values()) == {(1, SMALL_SIDE)}]
    assert len(small) == has_small
