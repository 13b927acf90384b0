"""Which transforms remain after the layout is chosen, and that the answers stay the same."""

from typing import Any

import pytest

from relay_tune.building.program_form import fused_module, kernel_functions
from relay_tune.codegen.target import parse_target
from relay_tune.errors import InputError
from relay_tune.ir.expr import Call, Var
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.matching import tensor_type
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.layout import choose_layout
from relay_tune.transform.layout.choose_layout import ChooseLayout
from relay_tune.transform.pipeline import PipelineOptions, default_pipeline
from tests.schedule.machines import SERVER

IMAGE = "%x: Tensor[(1, 4, 8, 8), float32]"
W = "%w: Tensor[(4, 4, 3, 3), float32]"
CONV = "nn.conv2d(%x, %w, padding=[1, 1])"

NETWORKS = {
    "residual": (
        f"({IMAGE}, {W}) {{ %0 = nn.relu({CONV}); "
        "nn.relu(add(nn.conv2d(%0, %w, padding=[1, 1]), %0)) }",
        2,
    ),
    "bias of any rank": (
        f"({IMAGE}, {W}, %b: Tensor[(4, 1, 1), float32]) {{ add({CONV}, %b) }}",
        2,
    ),
    "bias_add": (
        f"({IMAGE}, {W}, %b: Tensor[(4,), float32]) {{ nn.bias_add({CONV}, %b) }}",
        2,
    ),
    "concatenation of channels": (
        f"({IMAGE}, {W}) {{ %0 = {CONV}; concatenate((%0, nn.relu(%0)), axis=1) }}",
        2,
    ),
    "a value that is computed twice": (
        f"({IMAGE}, {W}) {{ %0 = {CONV}; nn.conv2d(again(%0, (%0, %w)), %w, padding=[1, 1]) }}",
        2,
    ),
    "pool and classifier": (
        f"({IMAGE}, {W}, %d: Tensor[(5, 64), float32]) {{ "
        f"nn.dense(nn.relu(nn.batch_flatten(nn.max_pool2d({CONV}, pool_size=[2, 2], "
        "strides=[2, 2]))), %d) }",
        1,
    ),
    "global pool": (
        f"({IMAGE}, {W}) {{ nn.batch_flatten(nn.global_avg_pool2d({CONV})) }}",
        1,
    ),
    "mean over the image": (f"({IMAGE}, {W}) {{ mean({CONV}, axis=[2, 3]) }}", 1),
    "variance over the batch": (
        f"({IMAGE}, {W}, %m: Tensor[(1, 4, 1, 1), float32]) {{ "
        f"variance({CONV}, %m, axis=[0, 2, 3], keepdims=True) }}",
        1,
    ),
    "sum down to the shape of a scale": (
        f"({IMAGE}, {W}) {{ collapse_sum_to({CONV}, shape=[4, 1, 1]) }}",
        1,
    ),
    "sum down to the same rank": (
        f"({IMAGE}, {W}) {{ collapse_sum_to({CONV}, shape=[1, 4, 1, 8]) }}",
        2,
    ),
    "sum down to axes in another order": (
        f"({IMAGE}, {W}) {{ collapse_sum_to({CONV}, shape=[4, 8, 1]) }}",
        2,
    ),
    "softmax over channels": (f"({IMAGE}, {W}) {{ nn.softmax({CONV}, axis=1) }}", 2),
    "squeeze and excite": (
        f"({IMAGE}, {W}) {{ %0 = {CONV}; multiply(%0, sigmoid(mean(%0, axis=[2, 3], "
        "keepdims=True))) }",
        2,
    ),
    "rows and columns by their places": (
        f"({IMAGE}, {W}, %p: Tensor[(5,), int64]) {{ "
        "%0 = take(take(" + CONV + ", %p, axis=2), %p, axis=-1); "
        "nn.conv2d(%0, %w, padding=[1, 1]) }",
        2,
    ),
    "more rows and columns, of which a convolution reads": (
        f"({IMAGE}, {W}, %p: Tensor[(9,), int64]) {{ "
        "nn.conv2d(take(take(" + CONV + ", %p, axis=2), %p, axis=3), %w) }",
        2,
    ),
    "channels by their places": (
        f"({IMAGE}, {W}, %p: Tensor[(5,), int64]) {{ take({CONV}, %p, axis=1) }}",
        2,
    ),
    "operator without a rule": (
        f"({IMAGE}, {W}) {{ reverse({CONV}, axis=1) }}",
        2,
    ),
    "one dimension": (
        "(%x: Tensor[(1, 4, 8), float32], %w: Tensor[(4, 4, 3), float32]) { "
        "nn.conv1d(%x, %w, padding=[1]) }",
        2,
    ),
    "depthwise": (
        f"({IMAGE}, %w: Tensor[(4, 1, 3, 3), float32]) {{ nn.conv2d(%x, %w, groups=4) }}",
        2,
    ),
    "channels last in the program": (
        "(%x: Tensor[(1, 8, 8, 4), float32], %w: Tensor[(4, 4, 3, 3), float32]) { "
        "%0 = nn.conv2d(transpose(%x, axes=[0, 3, 1, 2]), %w); "
        "transpose(nn.relu(%0), axes=[0, 2, 3, 1]) }",
        0,
    ),
    "sequences with channels last in the program": (
        "(%x: Tensor[(1, 8, 4), float32], %w: Tensor[(4, 4, 3), float32]) { "
        "transpose(nn.conv1d(transpose(%x, axes=[0, 2, 1]), %w), axes=[0, 2, 1]) }",
        0,
    ),
    "a transposed image with another reader": (
        "(%x: Tensor[(1, 8, 8, 4), float32], %w: Tensor[(4, 4, 1, 1), float32]) { "
        "%0 = transpose(%x, axes=[0, 3, 1, 2]); (nn.conv2d(%0, %w), reverse(%0, axis=1)) }",
        2,
    ),
    "a transpose that is no change of layout": (
        "(%x: Tensor[(1, 8, 8, 4), float32], %w: Tensor[(4, 8, 3, 3), float32]) { "
        "%0 = nn.conv2d(transpose(%x, axes=[0, 2, 1, 3]), %w, padding=[1, 1]); "
        "transpose(%0, axes=[0, 3, 2, 1]) }",
        1,
    ),
    "arithmetic on a constant alone": (
        f"({IMAGE}, {W}) {{ multiply({CONV}, exp(2f)) }}",
        2,
    ),
    "a bound image": (
        f"({IMAGE}, {W}) {{ let %a = nn.relu({CONV}); let %e: Tensor[(1, 4, 8, 8), float32] = %a; "
        "concatenate((nn.conv2d(%e, %w, padding=[1, 1]), %e, %a), axis=1) }",
        2,
    ),
    "a bound image that a branch reads": (
        f"({IMAGE}, {W}) {{ let %a = {CONV}; if (sum(%a) < 0f) {{ exp(%a) }} "
        "else { reverse(%a, axis=1) } }",
        3,
    ),
    "a bound image that a closure reads": (
        f"({IMAGE}, {W}) {{ let %a = {CONV}; let %f = fn (%y: Tensor[(1, 4, 8, 8), float32]) {{ "
        "exp(%y + %a) }; %f(nn.conv2d(%a, %w, padding=[1, 1])) }",
        4,
    ),
    "transposed": (
        f"({IMAGE}, %w: Tensor[(4, 3, 2, 2), float32]) {{ "
        "nn.conv2d_transpose(%x, %w, strides=[2, 2]) }",
        2,
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_transforms_stand_at_the_borders_only(
    name: str, typed: Any, calls: Any, assert_same_meaning: Any
) -> None:
    text, transforms = NETWORKS[name]
    weights = [weight for weight in ("w", "b", "d") if f"%{weight}:" in text]
    before = typed(text, *weights)
    after = ChooseLayout("NHWC")(before)
    assert calls(after).count("layout_transform") == transforms
    assert_same_meaning(before, after)


def test_an_image_that_grows_is_converted_while_it_is_small(
    typed: Any, assert_same_meaning: Any
) -> None:
    text = f"({IMAGE}, {W}, %p: Tensor[(9,), int64]) {{ exp(take({CONV}, %p, axis=2)) }}"
    before = typed(text, "w")
    after = ChooseLayout("NHWC")(before)
    order = [repr(node.callee) for node in post_order(after.main) if isinstance(node, Call)]
    assert order[-3:] == ["layout_transform", "take", "exp"]
    assert_same_meaning(before, after)


def test_convolution_reads_channels_last(typed: Any) -> None:
    after = ChooseLayout("NHWC")(typed(f"({IMAGE}, {W}) {{ {CONV} }}", "w"))
    layouts = {
        (node.attributes.data_layout, node.attributes.kernel_layout)
        for node in post_order(after.main)
        if isinstance(node, Call) and repr(node.callee) == "nn.conv2d"
    }
    assert layouts == {("NHWC", "HWIO")}


def test_network_without_convolution_is_left_alone(typed: Any) -> None:
    module = typed(f"({IMAGE}) {{ nn.max_pool2d(%x, pool_size=[2, 2]) }}")
    assert ChooseLayout("NHWC")(module) is module


def test_channels_first_changes_nothing(typed: Any) -> None:
    module = typed(f"({IMAGE}, {W}) {{ {CONV} }}", "w")
    assert ChooseLayout("NCHW")(module) is module


def test_unknown_layout_is_an_input_error() -> None:
    with pytest.raises(InputError, match="CHWN"):
        ChooseLayout("CHWN")


def by_cost(
    module: Any, calls: Any, accuracy: Accuracy = Accuracy.FAST
) -> tuple[list[str], set[tuple[str, str]]]:
    """The operators after the choice by cost, and (data, result) layouts of the convolutions."""
    after = ChooseLayout("cost", SERVER, accuracy)(module)
    layouts = {
        (node.attributes.data_layout, node.attributes.out_layout or node.attributes.data_layout)
        for node in post_order(after.main)
        if isinstance(node, Call) and repr(node.callee) == "nn.conv2d"
    }
    return calls(after), layouts


def test_pointwise_convolution_alone_stays_as_it_is(typed: Any, calls: Any) -> None:
    text = "(%x: Tensor[(1, 64, 28, 28), float32], %w: Tensor[(64, 64, 1, 1), float32])"
    module = typed(f"{text} {{ nn.conv2d(%x, %w) }}", "w")
    assert by_cost(module, calls) == (["nn.conv2d"], {("NCHW", "NCHW")})


def test_first_convolution_reads_the_image_as_it_lies(
    typed: Any, calls: Any, assert_same_meaning: Any
) -> None:
    module = typed(
        "(%x: Tensor[(1, 3, 32, 32), float32], %w: Tensor[(32, 3, 3, 3), float32],"
        " %v: Tensor[(32, 32, 3, 3), float32])"
        " { mean(nn.conv2d(nn.relu(nn.conv2d(%x, %w)), %v), axis=[2, 3]) }",
        "w",
        "v",
    )
    names, layouts = by_cost(module, calls)
    assert "layout_transform" not in names
    assert layouts == {("NCHW", "NHWC"), ("NHWC", "NHWC")}
    assert_same_meaning(module, ChooseLayout("cost", SERVER)(module))


def test_deep_convolution_pays_for_its_conversions(typed: Any, calls: Any) -> None:
    text = "(%x: Tensor[(1, 256, 14, 14), float32], %w: Tensor[(256, 256, 3, 3), float32])"
    module = typed(f"{text} {{ nn.conv2d(%x, %w, padding=[1, 1]) }}", "w")
    names, layouts = by_cost(module, calls)
    assert names.count("layout_transform") == 2
    assert layouts == {("NHWC", "NHWC")}


def test_conversions_pay_where_the_accuracy_allows_winograd_convolutions(
    typed: Any, calls: Any
) -> None:
    text = "(%x: Tensor[(1, 32, 12, 12), float32], %w: Tensor[(16, 32, 3, 3), float32])"
    module = typed(f"{text} {{ nn.conv2d(%x, %w, padding=[1, 1]) }}", "w")
    assert by_cost(module, calls, Accuracy.FAST)[1] == {("NHWC", "NHWC")}
    assert by_cost(module, calls, Accuracy.EXACT)[1] == {("NCHW", "NCHW")}
    passes = default_pipeline(PipelineOptions(accuracy=Accuracy.EXACT)).passes
    (choice,) = (each for each in passes if isinstance(each, ChooseLayout))
    assert choice.accuracy is Accuracy.EXACT


@pytest.mark.parametrize(("cpu", "converts"), [("haswell", True), ("skylake-avx512", False)])
def test_layouts_are_those_of_the_target(typed: Any, calls: Any, cpu: str, converts: bool) -> None:
    """Narrow vectors gain more from channels that lie beside each other."""
    text = "(%x: Tensor[(1, 16, 12, 12), float32], %w: Tensor[(16, 16, 3, 3), float32])"
    module = typed(f"{text} {{ nn.conv2d(%x, %w, padding=[1, 1]) }}", "w")
    target = parse_target(f"x86_64-linux-gnu:{cpu}")
    assert ("layout_transform" in calls(ChooseLayout("cost", target.machine)(module))) == converts
    built = kernel_functions(fused_module(module, target=target))
    fused = [name for each in built for name in calls(Module.from_function(each))]
    assert ("transpose" in fused) == converts  # what a conversion is simplified to


def test_few_channels_are_transposed_where_the_program_transposes_them(
    typed: Any, calls: Any, assert_same_meaning: Any
) -> None:
    text = """(%x: Tensor[(1, 64, 64, CHANNELS), float32],
               %w: Tensor[(CHANNELS, CHANNELS, 3, 3), float32]) {
      %0 = nn.conv2d(transpose(%x, axes=[0, 3, 1, 2]), %w, padding=[1, 1]);
      transpose(nn.relu(%0), axes=[0, 2, 3, 1]) }"""
    few, many = (typed(text.replace("CHANNELS", count), "w") for count in ("4", "64"))
    assert by_cost(few, calls) == (
        ["layout_transform", "nn.conv2d", "nn.relu"],
        {("NCHW", "NHWC")},
    )
    assert by_cost(many, calls) == (["nn.conv2d", "nn.relu"], {("NHWC", "NHWC")})
    assert_same_meaning(few, ChooseLayout("cost", SERVER)(few))


NETWORK = """(%x: Tensor[(BATCH, 3, 16, 16), float32], %w: Tensor[(32, 3, 3, 3), float32],
             %v: Tensor[(32, 32, 3, 3), float32], %d: Tensor[(10, 1152), float32],
             %c: Tensor[(32, 1, 1), float32]) {
  let %a = nn.relu(nn.conv2d(%x, %w, padding=[1, 1]) * %c);
  let %b = nn.conv2d(nn.max_pool2d(%a, pool_size=[2, 2], strides=[2, 2]), %v) + expand_dims(
      %c, axis=0, num_newaxis=1);
  nn.dense(nn.batch_flatten(nn.relu(%b)), %d)
}"""


@pytest.mark.parametrize("batch", ["n", "?"])
def test_open_images_go_the_way_of_the_example(typed: Any, calls: Any, batch: str) -> None:
    weights = ("w", "v", "d", "c")
    found = by_cost(typed(NETWORK.replace("BATCH", batch), *weights), calls)
    expected = by_cost(typed(NETWORK.replace("BATCH", "8"), *weights), calls)
    names = [name for name in found[0] if name != "expand_dims"]
    assert names == [name for name in expected[0] if name != "expand_dims"]
    assert found[1] == expected[1]
    assert ("NHWC", "NHWC") in found[1]


def test_layers_behind_strides_are_smaller_in_the_example(
    typed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Images of 256 x 256 pixels; channels alone would say 18 x 18 for the second layer."""
    text = """(%x: Tensor[(n, 3, h, w), float32], %v: Tensor[(192, 3, 4, 4), float32],
               %w: Tensor[(8, 192, 1, 1), float32]) {
      nn.conv2d(nn.relu(nn.conv2d(%x, %v, strides=[4, 4])), %w) }"""
    shapes: set[object] = set()

    def cycles(params: tuple[Var, ...], *_: object) -> float:
        type_ = tensor_type(params[0])
        shapes.add(None if type_ is None else type_.shape)
        return 1.0

    monkeypatch.setattr(choose_layout, "kernel_cycles", cycles)
    ChooseLayout("cost", SERVER)(typed(text, "v", "w"))
    assert {(8, 3, 256, 256), (8, 64, 64, 192)} <= shapes


def test_convolution_of_open_images_alone_stays_as_it_is(typed: Any, calls: Any) -> None:
    text = "(%x: Tensor[(?, 64, 28, 28), float32], %w: Tensor[(64, 64, 1, 1), float32])"
    module = typed(f"{text} {{ nn.conv2d(%x, %w) }}", "w")
    assert by_cost(module, calls) == (["nn.conv2d"], {("NCHW", "NCHW")})


def test_last_convolution_with_few_channels_writes_the_image_as_it_is_wanted(
    typed: Any, assert_same_meaning: Any
) -> None:
    module = typed(
        "(%x: Tensor[(1, 32, 16, 16), float32], %w: Tensor[(32, 64, 4, 4), float32],"
        " %v: Tensor[(64, 3, 4, 4), float32])"
        " { tanh(nn.conv2d_transpose(nn.relu(nn.conv2d_transpose(%x, %w, strides=[2, 2],"
        " padding=[1, 1])), %v, strides=[2, 2], padding=[1, 1])) }",
        "w",
        "v",
    )
    after = ChooseLayout("cost", SERVER)(module)
    last = [n for n in post_order(after.main) if repr(getattr(n, "callee", "")).endswith("pose")]
    assert last[-1].attributes.data_layout == "NCHW"
    assert_same_meaning(module, after)
