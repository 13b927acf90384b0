"""Programs whose tensors have sizes that are known at run time only, beside the interpreter."""

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.building.kept_kernels import ChooseSchedule
from relay_tune.errors import InputError, RelayError
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.dim import Symbol
from relay_tune.ir.expr import Constant, Function, Var
from relay_tune.ir.module import Module
from relay_tune.ir.operator import find_operator
from relay_tune.ir.types import TensorType
from relay_tune.runtime.data_values import list_value
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.fix_input_shapes import FixInputShapes
from relay_tune.zoo.program_catalogue import PROGRAMS
from relay_tune.zoo.programs import program_inputs, program_module
from tests.building.open_programs import built, check, floats
from tests.properties.programs.compare import assert_same_value


@pytest.mark.parametrize("threads", [1, 2])
def test_a_network_with_an_unknown_batch_runs_at_any_size(threads: int) -> None:
    text = """
def @main(%x: Tensor[(?, 8), float32], %w: Tensor[(40, 8), float32]) {
  let %y = nn.relu(nn.dense(%x, %w));
  (nn.softmax(%y), %y + sum(%y, axis=[0]))
}
"""
    module, model = built(text, threads=threads)
    w = floats(40, 8)
    for n in range(1, 71):
        check(module, model, floats(n, 8), w)
    check(module, model, floats(6000, 8), w)


def test_heads_that_were_joined_with_an_unknown_batch_are_parted() -> None:
    """The size 4 * n of a kernel's input is that of no other axis, nor n itself."""
    text = """
def @main(%x: Tensor[(n, 5, 32), float32]) {
  let %y = nn.relu(reshape(%x, newshape=[-1, 8, 5]));
  sum(reshape(exp(%y), newshape=[-1, 4, 8, 5]), axis=[2])
}
"""
    module, model = built(text)
    for n in (1, 2, 7):
        check(module, model, floats(n, 5, 32))


def test_sizes_that_are_products_of_other_sizes_are_told_from_them() -> None:
    """(n * m, 8) beside (n, m, 8), in either order, and with m as a quotient."""
    text = """
def @main(%a: Tensor[(n, h, w, 8), float32], %p: Tensor[(8, 8), float32]) {
  let %b = nn.max_pool2d(transpose(%a, axes=[0, 3, 1, 2]), pool_size=[2, 2], strides=[2, 2]);
  let %c = transpose(%b, axes=[0, 2, 3, 1]);
  let %rows = reshape(%c, newshape=[-1, 8]);
  let %d = nn.relu(nn.dense(%rows, %p));
  reshape_like(%d, %c) + %c
}
"""
    module, model = built(text)
    for n, h, w in ((1, 2, 2), (2, 4, 6), (3, 9, 5)):
        check(module, model, floats(n, h, w, 8), floats(8, 8))


def test_a_product_of_two_sums_is_told_from_its_factors() -> None:
    """Pooled images have max(h // 2 - 1, 0) + 1 rows; their groups are normalised as flat rows."""
    text = """
def @main(%x: Tensor[(n, 8, h, w), float32]) {
  let %p = nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2]);
  let %flat = reshape(%p, newshape=[0, 2, -1]);
  reshape_like(%flat - mean(%flat, axis=[2], keepdims=True), %p)
}
"""
    module, model = built(text)
    for n, h, w in ((1, 2, 2), (2, 4, 7), (3, 9, 5)):
        check(module, model, floats(n, 8, h, w))


CONVOLUTIONS = """
def @main(%x: Tensor[(n, 16, 16, 16), float32], %c: Tensor[(32, 16, 3, 3), float32],
          %b: Tensor[(32, 1, 1), float32], %d: Tensor[(16, 32, 3, 3), float32],
          %w: Tensor[(10, 1024), float32]) {
  let %y = nn.relu(nn.conv2d(%x, %c, padding=[1, 1]) + %b);
  let %z = nn.conv2d(nn.max_pool2d(%y, pool_size=[2, 2], strides=[2, 2]), %d, padding=[1, 1]);
  (nn.dense(nn.batch_flatten(%z), %w), %y)
}
"""


def test_a_slice_beside_axes_that_could_be_too_short() -> None:
    """An axis of n - 2 elements beside one of n is taken whole: one size has to be found."""
    text = """
def @main(%x: Tensor[(2, n, n, m), float32]) {
  let %y = nn.max_pool2d(%x, pool_size=[3, 1]);
  (strided_slice(%y, begin=[1], end=[6], strides=[1], axes=[3]),
   strided_slice(%y, begin=[0, 1], end=[2147483647, 6], strides=[1, 1], axes=[2, 3]))
}
"""
    module, model = built(text)
    for n, m in ((5, 6), (8, 10), (3, 3), (4, 1)):
        check(module, model, floats(2, n, n, m))


def test_an_open_batch_of_images() -> None:
    weights = {
        "c": floats(32, 16, 3, 3), "b": floats(32, 1, 1), "d": floats(16, 32, 3, 3),
        "w": floats(10, 1024) * 0.05,
    }  # fmt: skip
    module = BindParameters(weights)(parse(CONVOLUTIONS))
    model = build(module, threads=2)
    images = floats(9, 16, 16, 16)
    expected = interpret(module, images)
    for n in (1, 2, 9):
        for model.threads in (1, 2):
            for found, whole in zip(model(images[:n]), expected, strict=True):
                np.testing.assert_allclose(found, whole[:n], rtol=0, atol=2e-3)


def test_attention_over_two_lengths() -> None:
    text = """
def @main(%q: Tensor[(2, n, 16), float32], %k: Tensor[(2, m, 16), float32]) {
  let %shares = nn.softmax(nn.batch_matmul(%q, %k) * 0.25f);
  nn.batch_matmul(%shares, transpose(%k, axes=[0, 2, 1]))
}
"""
    module, model = built(text)
    for n in (1, 7, 33):
        for m in (1, 5, 64):
            check(module, model, floats(2, n, 16), floats(2, m, 16))


def test_a_recursion_whose_tensor_grows() -> None:
    text = """
def @grow(%i: int32, %x: Tensor[(?, 4), float32]) -> Tensor[(?, 4), float32] {
  if (%i < 1) { %x } else {
    @grow(%i - 1, concatenate((%x, ones(shape=[1, 4]) * cast(%i, dtype="float32")), axis=0))
  }
}
def @main(%n: int32, %x: Tensor[(?, 4), float32]) { @grow(%n, %x) }
"""
    module, model = built(text)
    for n in (0, 1, 5, 40):
        check(module, model, n, floats(3, 4))
    check(module, model, 3, floats(0, 4))


def test_tensors_of_all_lengths_in_a_list() -> None:
    text = """
def @main(%xs: List[Tensor[(?, 4), float32]]) {
  (@foldl(fn (%a: Tensor[(?, 4), float32], %x: Tensor[(?, 4), float32])
     -> Tensor[(?, 4), float32] { concatenate((%a, %x), axis=0) }, zeros(shape=[1, 4]), %xs),
   @map(fn (%x: Tensor[(?, 4), float32]) { nn.relu(%x) }, %xs))
}
"""
    module, model = built(text, "foldl", "map")
    check(module, model, list_value([floats(2, 4), floats(3, 4), floats(1, 4)]))
    check(module, model, list_value([]))


def test_a_view_of_a_shared_tensor_keeps_the_shape_of_the_tensor() -> None:
    text = """
def @main(%x: Tensor[(n, 8), float32], %y: Tensor[(2, 8), float32]) {
  let %flat = reshape(%x, newshape=[-1]);
  let %join = fn (%a: Tensor[(?), float32], %b: Tensor[(?), float32]) -> Tensor[(?), float32] {
    concatenate((%a, %b), axis=0) };
  (%flat, %x, reshape(%x, newshape=[-1, 2, 4]), %join(%flat, reshape(%y, newshape=[16])), %y)
}
"""
    module, model = built(text)
    for n in (1, 2, 9):
        check(module, model, floats(n, 8), floats(2, 8))


def test_a_shape_with_another_number_of_elements_ends_the_program() -> None:
    module, model = built(
        "def @main(%x: Tensor[(n, 6), float32]) { reshape(%x, newshape=[4, -1]) }"
    )
    check(module, model, floats(2, 6))
    with pytest.raises(RelayError, match="not as many elements"):
        model(floats(3, 6))


def test_sizes_with_arithmetic() -> None:
    text = """
def @main(%x: Tensor[(n, 4), float32], %y: Tensor[(2 * n + 1, 4), float32]) {
  let %ones = ones(shape=[1, 4]);
  nn.relu(concatenate((%x, %x, %ones), axis=0) + %y)
}
"""
    module, model = built(text)
    for n in (1, 3, 20):
        check(module, model, floats(n, 4), floats(2 * n + 1, 4))
    with pytest.raises(InputError, match="'y' must be"):
        model(floats(3, 4), floats(8, 4))


def test_unknown_sizes_that_must_be_equal_are_compared() -> None:
    text = """
def @main(%p: (Tensor[(?, 4), float32], Tensor[(?, 4), float32])) { %p.0 + %p.1 }
"""
    module, model = built(text)
    check(module, model, (floats(3, 4), floats(3, 4)))
    with pytest.raises(RelayError, match="sizes that do not fit"):
        model((floats(3, 4), floats(2, 4)))
    check(module, model, (floats(2, 4), floats(2, 4)))


def test_sizes_with_code_of_their_own_have_the_schedules_of_these_sizes() -> None:
    w = Constant(floats(128, 96))
    x = Var("x", TensorType((Symbol("n"), 96), "float32"))
    dense, relu = find_operator("nn.dense"), find_operator("nn.relu")
    assert dense is not None and relu is not None
    module = Module.from_function(Function((x,), relu(dense(x, w))))
    asked: dict[str, set[str]] = {"one": set(), "all": set()}

    def choose(where: str) -> ChooseSchedule:
        return lambda key, plan: asked[where].add(key.digest)

    fixed = FixInputShapes({"x": (24, 96)})(module)
    build(fixed, threads=1, schedules=choose("one"))
    model = build(module, threads=1, schedules=choose("all"), sizes=(1, 24))
    assert asked["one"] <= asked["all"]
    for n in (1, 2, 8, 9, 24, 25):
        check(module, model, floats(n, 96))


@pytest.mark.parametrize(
    ("types", "shapes"),
    [
        (("(3, 3)", "(?, 1)"), ((3, 3), (3, 1))),
        (("(n, n)", "(?, 1)"), ((4, 4), (4, 1))),
        (("(1, ?)", "(n, n)"), ((1, 5), (5, 5))),
        (("(?, ?)", "(?, ?)"), ((2, 5), (5, 3))),
        (("(?, m)", "(?, 2)"), ((7, 3), (3, 2))),
    ],
)
def test_an_unknown_size_that_must_be_another_one(
    types: tuple[str, str], shapes: tuple[tuple[int, int], tuple[int, int]]
) -> None:
    params = ", ".join(f"%{n}: Tensor[{t}, float32]" for n, t in zip("ab", types, strict=True))
    module = parse(f"def @main({params}, %k: int32) {{ (nn.matmul(%a, %b), %k) }}")
    lines: list[str] = []
    model = build(module, threads=1, report=lines.append)
    assert not any("no code for all sizes" in line for line in lines)
    check(module, model, *(floats(*shape) for shape in shapes), np.int32(1))
    (rows, depth), (_, columns) = shapes
    with pytest.raises(RelayError):
        model(floats(rows, depth), floats(depth + 1, columns), np.int32(1))


def test_unknown_sizes_of_another_layout_are_compared() -> None:
    """Of channels last and channels first, as where a pyramid adds what it has enlarged."""
    text = """
def @main(%x: Tensor[(n, h, w, 4), float32], %y: Tensor[(?, 4, ?, ?), float32], %k: int32) {
  (transpose(%x, axes=[0, 3, 1, 2]) + %y, %k)
}
"""
    module, model = built(text)
    for sizes in ((2, 3, 5), (1, 1, 7)):
        n, h, w = sizes
        check(module, model, floats(n, h, w, 4), floats(n, 4, h, w), np.int32(1))
        check(module, model, floats(n, h, w, 4), floats(1, 4, h, 1), np.int32(1))
    misfit = r"transpose\+add \(n, 4, h, w\) have sizes that do not fit"
    with pytest.raises(RelayError, match=misfit):
        model(floats(1, 3, 5, 4), floats(1, 4, 3, 4), np.int32(1))


def test_a_loop_may_forget_the_size_of_what_it_multiplies() -> None:
    text = """
def @iterate(%i: int32, %a: Tensor[(3, 3), float32], %v: Tensor[(?, 1), float32])
    -> Tensor[(?, 1), float32] {
  if (%i < 1) { %v } else { @iterate(%i - 1, %a, tanh(nn.matmul(%a, %v))) }
}
def @main(%i: int32, %a: Tensor[(3, 3), float32], %v: Tensor[(?, 1), float32]) {
  @iterate(%i, %a, %v)
}
"""
    module, model = built(text)
    check(module, model, np.int32(3), floats(3, 3), floats(3, 1))
    with pytest.raises(RelayError, match="do not fit each other"):
        model(np.int32(3), floats(3, 3), floats(4, 1))


def test_a_loop_may_forget_the_size_of_what_it_calls() -> None:
    module = parse(
        """
def @even(%n: int32, %x: Tensor[(2, 2), float32]) -> Tensor[(2, 2), float32] {
  if (%n <= 0) { %x } else {
    let %rest = @odd(%n - 1, %x);
    let %open: Tensor[(?, ?), float32] = (%rest + %x) * 0.5f;
    let %told: Tensor[(2, 2), float32] = %open;
    %told
  }
}
def @odd(%n: int32, %x: Tensor[(2, 2), float32]) {
  if (%n <= 0) { tanh(%x) } else { @even(%n - 1, %x) }
}
def @main(%n: int32, %x: Tensor[(2, 2), float32]) -> Tensor[(2, 2), float32] { @even(%n, %x) }
"""
    )
    model = build(module, threads=1)
    x = floats(2, 2)
    for count in range(4):
        np.testing.assert_allclose(model(count, x), interpret(module, count, x), rtol=1e-6)


def test_a_result_of_a_known_size_may_have_a_type_without() -> None:
    module = parse(
        """
def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32]) {
  let %open: Tensor[(?, 3), float32] = %x;
  let %v = tanh(%y);
  (mean(%v), collapse_sum_like(%v, %open), collapse_sum_like(%y, %open))
}
"""
    )
    inputs = floats(2, 3), floats(2, 3)
    assert_same_value(build(module, threads=1)(*inputs), interpret(module, *inputs))


def test_a_kernel_may_be_told_less_than_all_others() -> None:
    module = parse(
        """
def @loop(%n: int32, %x: Tensor[(3, 2), float32], %y: Tensor[(3, 2), float32])
    -> Tensor[(3, 2), float32] {
  if (%n <= 0) { %x } else {
    let %open: Tensor[(?, 2), float32] = %y;
    let %told: Tensor[(3, 2), float32] = tanh(%x) * %open;
    @loop(%n - 1, %told, %x)
  }
}
def @main(%n: int32, %x: Tensor[(3, 2), float32]) { @loop(%n, %x, %x) }
"""
    )
    model = build(module, threads=1)
    x = floats(3, 2)
    for count in range(4):
        assert_same_value(model(count, x), interpret(module, count, x))


def test_the_translation_network_attends_to_any_length() -> None:
    program = PROGRAMS["seq2seq"]
    module = program_module(program, 0, True, 1)
    inputs = program_inputs(program, 0, True)
    model = build(module, threads=1)
    for length in (1, 2, 9):
        given = {**inputs, "source": np.arange(length, dtype="int64") % 7}
        assert_same_value(model(**given), interpret(module, **given))


def test_a_group_of_rows_whose_number_only_a_run_knows_has_code_for_all_sizes() -> None:
    """Blocks of 49 rows in images of which there may be any number: the last block is short."""
    text = """
def @main(%x: Tensor[(n, 49, 64), float32], %g: Tensor[(64), float32], %b: Tensor[(64), float32]) {
  transpose(nn.layer_norm(%x, %g, %b), axes=[0, 2, 1])
}
"""
    module = parse(text)
    told: list[str] = []
    model = build(module, threads=1, report=told.append)
    assert not [line for line in told if "no code for all sizes" in line]
    for n in (1, 3, 8):
        check(module, model, floats(n, 49, 64), floats(64), floats(64))
