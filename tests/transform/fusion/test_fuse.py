"""Which calls share a kernel."""

from typing import Any

import pytest

from relay_tune.ir.expr import Call, Expr, Function, Var
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator, find_operator
from relay_tune.ir.traversal import post_order
from relay_tune.ir.types import TensorType
from relay_tune.op_rules.typed import call
from relay_tune.transform.fusion.fuse import Fuse

X = "%x: Tensor[(1, 8, 8, 4), float32]"
W = "%w: Tensor[(3, 3, 4, 4), float32]"
CONV = 'nn.conv2d(%x, %w, padding=[1, 1], data_layout="NHWC", kernel_layout="HWIO")'


def kernels(module: Module) -> list[list[str]]:
    """The operators of each kernel, in order of evaluation."""
    called = [n.callee for n in post_order(module.main) if isinstance(n, Call)]
    found = [callee for callee in called if isinstance(callee, Function)]
    return [
        [
            node.callee.name
            for node in post_order(kernel.body)
            if isinstance(node, Call) and isinstance(node.callee, Operator)
        ]
        for kernel in found
    ]


def test_epilogue_joins_the_convolution(typed: Any, assert_same_meaning: Any) -> None:
    text = f"({X}, {W}, %b: Tensor[(4,), float32]) {{ nn.relu(add({CONV}, %b)) }}"
    before = typed(text, "w", "b")
    after = Fuse()(before)
    assert kernels(after) == [["nn.conv2d", "add", "nn.relu"]]
    assert_same_meaning(before, after)


def test_diamond_of_elementwise_calls_joins(typed: Any) -> None:
    text = f"({X}, {W}) {{ %0 = {CONV}; multiply(%0, sigmoid(%0)) }}"
    assert kernels(Fuse()(typed(text, "w"))) == [["nn.conv2d", "sigmoid", "multiply"]]


def test_two_convolutions_never_share_a_kernel(typed: Any, assert_same_meaning: Any) -> None:
    second = CONV.replace("%x", "%0")
    text = f"({X}, {W}) {{ %0 = {CONV}; add({second}, %0) }}"
    before = typed(text, "w")
    after = Fuse()(before)
    assert kernels(after) == [["nn.conv2d"], ["nn.conv2d", "add"]]
    assert_same_meaning(before, after)


def test_value_that_is_also_a_result_leaves_its_kernel(typed: Any) -> None:
    text = f"({X}) {{ %0 = exp(%x); (%0, nn.relu(%0)) }}"
    assert kernels(Fuse()(typed(text))) == [["exp"], ["nn.relu"]]


def test_elementwise_producer_joins_a_reduction_and_its_epilogue(typed: Any) -> None:
    text = f"({X}) {{ sqrt(sum(multiply(%x, %x), axis=[3])) }}"
    assert kernels(Fuse()(typed(text))) == [["multiply", "sum", "sqrt"]]


def test_elementwise_producer_stays_out_of_a_convolution(typed: Any) -> None:
    text = f"({X}, {W}) {{ {CONV.replace('%x', 'exp(%x)')} }}"
    assert kernels(Fuse()(typed(text, "w"))) == [["exp"], ["nn.conv2d"]]


def test_pad_is_written_by_its_producer(typed: Any) -> None:
    pad = "nn.pad(nn.relu({}), 0f, pad_width=[[0, 0], [1, 1], [1, 1], [0, 0]])"
    text = f"({X}, {W}) {{ {pad.format(CONV)} }}"
    assert kernels(Fuse()(typed(text, "w"))) == [["nn.conv2d", "nn.relu", "nn.pad"]]


def test_nothing_follows_a_pad_in_its_kernel(typed: Any) -> None:
    pad = f"nn.pad({CONV}, 0f, pad_width=[[0, 0], [1, 1], [1, 1], [0, 0]])"
    text = f"({X}, {W}) {{ exp({pad}) }}"
    assert kernels(Fuse()(typed(text, "w"))) == [["nn.conv2d", "nn.pad"], ["exp"]]


def test_transpose_of_a_result_joins_its_kernel(typed: Any) -> None:
    text = f"({X}, {W}) {{ transpose({CONV}, axes=[0, 3, 1, 2]) }}"
    assert kernels(Fuse()(typed(text, "w"))) == [["nn.conv2d", "transpose"]]


def test_transposed_convolutions_with_a_stride_leave_transposing_to_others(typed: Any) -> None:
    text = """(%x: Tensor[(1, 4, 4, 8), float32], %w: Tensor[(4, 4, 16, 8), float32]) {{
        transpose(nn.relu(nn.conv2d_transpose(%x, %w, channels=16, kernel_size=[4, 4],
            strides=[1, {0}], padding=[1, 1], data_layout="NHWC", kernel_layout="HWOI")),
            axes=[0, 3, 1, 2]) }}"""
    layer = ["nn.conv2d_transpose", "nn.relu"]
    assert kernels(Fuse()(typed(text.format(1), "w"))) == [[*layer, "transpose"]]
    assert kernels(Fuse()(typed(text.format(2), "w"))) == [layer, ["transpose"]]


def test_reshape_at_the_border_is_a_view(typed: Any) -> None:
    after = Fuse()(typed(f"({X}) {{ reshape(exp(%x), newshape=[64, 4]) }}"))
    assert kernels(after) == [["exp"], ["reshape"]]
    views = [
        node.attributes.get("ReshapeOnly")
        for node in post_order(after.main)
        if isinstance(node, Function) and node.is_primitive
    ]
    assert sorted(views, key=str) == [1, None]


def test_fields_of_a_concatenation_join_it(typed: Any, assert_same_meaning: Any) -> None:
    before = typed(f"({X}) {{ concatenate((exp(%x), nn.relu(%x)), axis=3) }}")
    after = Fuse()(before)
    assert kernels(after) == [["exp", "nn.relu", "concatenate"]]
    assert_same_meaning(before, after)


def marks(module: Module) -> list[dict[str, Any]]:
    functions = [n for n in post_order(module.main) if isinstance(n, Function) and n.is_primitive]
    return [{k: v for k, v in f.attributes.items() if k != "Primitive"} for f in functions]


def test_rows_are_views_and_columns_are_not(typed: Any, assert_same_meaning: Any) -> None:
    rows = "strided_slice(%x, begin=[2, 0], end=[4, 8], strides=[1, 1])"
    columns = "strided_slice(%x, begin=[0, 2], end=[6, 4], strides=[1, 1])"
    before = typed(f"(%x: Tensor[(6, 8), float32]) {{ (exp({rows}), exp({columns})) }}")
    after = Fuse()(before)
    assert sorted(kernels(after)) == [["exp"], ["strided_slice"], ["strided_slice", "exp"]]
    assert [mark for mark in marks(after) if mark] == [{"ViewOffset": 16}]
    assert_same_meaning(before, after)


def test_fields_of_an_outermost_concatenation_stay_out_of_it(
    typed: Any, assert_same_meaning: Any
) -> None:
    before = typed(f"({X}) {{ nn.relu(concatenate((exp(%x), nn.relu(%x)), axis=0)) }}")
    after = Fuse()(before)
    assert sorted(kernels(after)) == [["concatenate"], ["exp"], ["nn.relu"], ["nn.relu"]]
    assert [mark for mark in marks(after) if mark] == [{"JoinOnly": 1}]
    assert_same_meaning(before, after)


def test_group_size_is_limited(typed: Any) -> None:
    before = typed(f"({X}) {{ exp(exp(exp(exp(exp(%x))))) }}")
    assert [len(kernel) for kernel in kernels(Fuse(2)(before))] == [2, 2, 1]


def test_every_call_is_in_one_kernel_inside_branches_too(typed: Any) -> None:
    text = f"({X}, %c: bool) {{ if (%c) {{ exp(nn.relu(%x)) }} else {{ tanh(%x) }} }}"
    assert kernels(Fuse()(typed(text))) == [["nn.relu", "exp"], ["tanh"]]


def test_chain_of_thirty_thousand_calls() -> None:
    assert find_operator("exp") is not None
    type_ = TensorType((4,), "float32")
    x = Var("x", type_, type=type_)
    body: Expr = x
    for _ in range(30_000):
        body = call("exp", body)
    fused = Fuse()(Module.from_function(Function((x,), body)))
    sizes = [len(kernel) for kernel in kernels(fused)]
    assert sum(sizes) == 30_000
    assert max(sizes) == 64


BRANCHES = f"""({X}, {W}, %v: Tensor[(1, 1, 4, 6), float32]) {{
  %0 = nn.relu({CONV});
  %1 = nn.relu(nn.conv2d(%x, %v, data_layout="NHWC", kernel_layout="HWIO"));
  RESULT
}}"""


def test_convolutions_write_their_parts_of_a_concatenation(
    typed: Any, assert_same_meaning: Any
) -> None:
    joined = "nn.pad(concatenate((%0, %1), axis=3), 0f, pad_width=[[0, 0], [1, 1], [1, 1], [0, 0]])"
    before = typed(BRANCHES.replace("RESULT", joined), "w", "v")
    after = Fuse()(before)
    assert len(kernels(after)) == 1
    assert_same_meaning(before, after)


def test_branch_that_is_read_elsewhere_keeps_its_kernel(typed: Any) -> None:
    text = BRANCHES.replace("RESULT", "(concatenate((%0, %1), axis=3), nn.max_pool2d(%0))")
    found = kernels(Fuse()(typed(text, "w", "v")))
    assert sorted(len(kernel) for kernel in found) == [1, 2, 3]


Q, K, V = (f"%{name}: Tensor[(2, 6, 8), float32]" for name in "qkv")


def test_attention_is_one_kernel(typed: Any, assert_same_meaning: Any) -> None:
    mask = "%m: Tensor[(1, 1, 6), float32]"
    text = (
        f"({Q}, {K}, {V}, {mask}) {{ %0 = nn.softmax(add(nn.batch_matmul(%q, %k), %m));"
        " nn.relu(nn.batch_matmul(%0, %v, transpose_b=False)) }"
    )
    before = typed(text)
    after = Fuse()(before)
    found = ["nn.batch_matmul", "add", "nn.softmax", "nn.batch_matmul", "nn.relu"]
    assert kernels(after) == [found]
    assert_same_meaning(before, after)


def test_rows_that_others_read_too_leave_their_kernel(typed: Any) -> None:
    text = (
        f"({Q}, {K}, {V}) {{ %0 = nn.softmax(nn.batch_matmul(%q, %k));"
        " (nn.batch_matmul(%0, %v, transpose_b=False), %0) }"
    )
    found = [["nn.batch_matmul", "nn.softmax"], ["nn.batch_matmul"]]
    assert kernels(Fuse()(typed(text))) == found


def test_products_that_need_other_rows_stay_apart(typed: Any) -> None:
    columns = f"({Q}, {K}) {{ nn.softmax(nn.batch_matmul(%q, %k), axis=1) }}"
    assert kernels(Fuse()(typed(columns))) == [["nn.batch_matmul"], ["nn.softmax"]]
    right = f"({Q}, {K}) {{ nn.batch_matmul(%q, nn.softmax(%k)) }}"
    assert kernels(Fuse()(typed(right))) == [["nn.softmax"], ["nn.batch_matmul"]]
    turned = (
        f"({Q}, {K}) {{ nn.batch_matmul(nn.softmax(%q), %k, transpose_a=True, transpose_b=False) }}"
    )
    assert kernels(Fuse()(typed(turned))) == [["nn.softmax"], ["nn.batch_matmul"]]


def test_sum_before_a_normalisation_of_rows_joins_it(typed: Any) -> None:
    text = f"({Q}, {K}, %g: Tensor[(8), float32]) {{ nn.layer_norm(add(%q, %k), %g, %g) }}"
    assert kernels(Fuse()(typed(text))) == [["add", "nn.layer_norm"]]


LARGE = "%x: Tensor[(1, 66, 66, 64), float32], %w: Tensor[(3, 3, 1, 64), float32]"
MIX = "%v: Tensor[(1, 1, 64, 8), float32], %b: Tensor[(64,), float32]"
NHWC = 'data_layout="NHWC", kernel_layout="HWIO"'
DEPTHWISE = f"nn.relu(add(nn.conv2d(%x, %w, groups=64, {NHWC}), %b))"


def test_depthwise_and_1x1_convolution_share_a_kernel(typed: Any, assert_same_meaning: Any) -> None:
    text = f"({LARGE}, {MIX}) {{ nn.relu(nn.conv2d({DEPTHWISE}, %v, {NHWC})) }}"
    before = typed(text, "w", "v")
    after = Fuse()(before)
    assert kernels(after) == [["nn.conv2d", "add", "nn.relu", "nn.conv2d", "nn.relu"]]
    assert_same_meaning(before, after)


def test_depthwise_and_1x1_convolutions_of_an_open_batch_share_a_kernel(typed: Any) -> None:
    data = LARGE.replace("(1, 66, 66", "(n, 30, 30")
    text = f"({data}, {MIX}) {{ nn.relu(nn.conv2d({DEPTHWISE}, %v, {NHWC})) }}"
    together = [["nn.conv2d", "add", "nn.relu", "nn.conv2d", "nn.relu"]]
    assert kernels(Fuse()(typed(text, "w", "v"))) == together
    alone = text.replace("(n, 30", "(1, 30")
    assert kernels(Fuse()(typed(alone, "w", "v"))) != together


def test_1x1_convolutions_of_many_weights_stay_apart(typed: Any) -> None:
    many = MIX.replace("64, 8)", "64, 1024)")
    text = f"({LARGE}, {many}) {{ nn.conv2d({DEPTHWISE}, %v, {NHWC}) }}"
    found = kernels(Fuse()(typed(text, "w", "v")))
    assert found == [["nn.conv2d", "add", "nn.relu"], ["nn.conv2d"]]


def test_convolutions_of_other_forms_stay_apart(typed: Any) -> None:
    small = (LARGE.replace("66, 66", "34, 66"), MIX, DEPTHWISE, "%v")
    wide = (LARGE, MIX.replace("(1, 1, 64", "(3, 3, 64"), DEPTHWISE, "%v, padding=[1, 1]")
    few = (LARGE, MIX, DEPTHWISE, "%v, strides=[2, 2]")
    dense = (
        LARGE.replace("3, 1, 64", "3, 64, 64"),
        MIX,
        DEPTHWISE.replace("groups=64, ", ""),
        "%v",
    )
    for data, weights, first, rest in (small, wide, few, dense):
        text = f"({data}, {weights}) {{ nn.conv2d({first}, {rest}, {NHWC}) }}"
        found = kernels(Fuse()(typed(text, "w", "v")))
        assert found == [["nn.conv2d", "add", "nn.relu"], ["nn.conv2d"]]


def test_convolutions_of_images_that_stay_in_the_second_cache_stay_apart(
    typed: Any,
) -> None:
    text = f"({LARGE}, {MIX}) {{ nn.relu(nn.conv2d({DEPTHWISE}, %v, {NHWC})) }}"
    found = kernels(Fuse()(typed(text.replace("float32", "float16"), "w", "v")))
    assert found == [["nn.conv2d", "add", "nn.relu"], ["nn.conv2d", "nn.relu"]]


def test_a_depthwise_result_that_others_read_leaves_its_kernel(typed: Any) -> None:
    text = f"({LARGE}, {MIX}) {{ %0 = {DEPTHWISE}; (nn.conv2d(%0, %v, {NHWC}), exp(%0)) }}"
    found = kernels(Fuse()(typed(text, "w", "v")))
    assert sorted(found) == [["exp"], ["nn.conv2d"], ["nn.conv2d", "add", "nn.relu"]]


POOLED = 'nn.max_pool2d(nn.relu({}), pool_size=[2, 2], strides=[2, 2], layout="NHWC"{})'


def test_pooling_side_by_side_joins_a_convolution(typed: Any, assert_same_meaning: Any) -> None:
    before = typed(f"({X}, {W}) {{ {POOLED.format(CONV, '')} }}", "w")
    after = Fuse()(before)
    assert kernels(after) == [["nn.conv2d", "nn.relu", "nn.max_pool2d"]]
    assert_same_meaning(before, after)


def test_other_poolings_stay_apart(typed: Any) -> None:
    for other in (", padding=[1, 1]", ", dilation=[2, 2]"):
        module = Fuse()(typed(f"({X}, {W}) {{ {POOLED.format(CONV, other)} }}", "w"))
        assert kernels(module) == [["nn.conv2d", "nn.relu"], ["nn.max_pool2d"]]
    overlapping = POOLED.format(CONV, "").replace("strides=[2, 2]", "strides=[1, 1]")
    module = Fuse()(typed(f"({X}, {W}) {{ {overlapping} }}", "w"))
    assert kernels(module) == [["nn.conv2d", "nn.relu"], ["nn.max_pool2d"]]


HEADS = "%k: Tensor[(2, 9, 3, 8), float32]"


@pytest.mark.parametrize(
    ("rows", "axes", "joins"),
    [(1, [0, 2, 1, 3], True), (4, [0, 2, 1, 3], False), (1, [0, 3, 2, 1], False)],
)
def test_a_product_of_one_row_reads_a_cache_as_it_lies(
    typed: Any, assert_same_meaning: Any, rows: int, axes: list[int], joins: bool
) -> None:
    size, heads = (8, 3) if joins or rows > 1 else (9, 8)
    query = f"%q: Tensor[(2, {heads}, {rows}, {size}), float32]"
    product = f"nn.batch_matmul(%q, transpose(%k, axes={axes}))"
    before = typed(f"({query}, {HEADS}) {{ {product} }}")
    after = Fuse()(before)
    assert (kernels(after) == [["transpose", "nn.batch_matmul"]]) == joins
    assert_same_meaning(before, after)


def test_a_cache_that_is_larger_than_its_copies_is_not_read_in_a_product(typed: Any) -> None:
    query = "%q: Tensor[(4, 1, 1, 8), float32]"
    text = f"({query}, %k: Tensor[(1, 9, 3, 8), float32])"
    text += " { nn.batch_matmul(%q, transpose(%k, axes=[0, 2, 1, 3])) }"
    assert kernels(Fuse()(typed(text))) == [["transpose"], ["nn.batch_matmul"]]


TWO = "%x: Tensor[(8, 16), float32], %v: Tensor[(4, 16), float32], %w: Tensor[(4, 16), float32]"
WIDE = 'cast(cast(nn.dense(%x, {0}), dtype="uint8"), dtype="float32")'


def test_a_kernel_ends_with_bytes_that_the_next_one_widens(
    typed: Any, assert_same_meaning: Any
) -> None:
    left, right = (WIDE.format(each) for each in ("%v", "%w"))
    before = typed(f"({TWO}) {{ nn.relu(add(negative({left}), exp({right}))) }}", "v", "w")
    after = Fuse()(before)
    assert sorted(kernels(after)) == [
        ["nn.dense", "cast"],
        ["nn.dense", "cast", "cast", "negative", "cast", "exp", "add", "nn.relu"],
    ]
    assert_same_meaning(before, after)


def test_what_no_other_anchor_reads_is_widened_where_it_is_computed(typed: Any) -> None:
    found = kernels(Fuse()(typed(f"({TWO}) {{ exp({WIDE.format('%v')}) }}", "v")))
    assert found == [["nn.dense", "cast", "cast", "exp"]]


def test_floats_are_not_cut_before_a_sum(typed: Any) -> None:
    text = f"({TWO}) {{ add(exp(nn.dense(%x, %v)), exp(nn.dense(%x, %w))) }}"
    found = sorted(kernels(Fuse()(typed(text, "v", "w"))))
    assert found == [["nn.dense", "exp"], ["nn.dense", "exp", "add"]]
