"""Programs whose tensors have sizes that are known at run time only, beside the interpreter."""

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.errors import InputError, RelayError
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.module import Module
from relay_tune.runtime.data_values import list_value
from relay_tune.runtime.interpreter import interpret
from relay_tune.runtime.model import Model
from relay_tune.runtime.program_model import ProgramModel
from relay_tune.std import prelude
from tests.properties.programs.compare import assert_same_value

RNG = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


def built(text: str, *uses: str, threads: int = 1) -> tuple[Module, Model | ProgramModel]:
    module = parse(text, base=prelude(*uses)) if uses else parse(text)
    return module, build(module, threads=threads)


def check(module: Module, model: Model | ProgramModel, *inputs: object) -> None:
    assert_same_value(model(*inputs), interpret(module, *inputs))


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
