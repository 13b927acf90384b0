"""Gradients of programs on tensors, beside those that torch finds."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.tuning.tuned_build import build

torch = pytest.importorskip("torch")

PROGRAMS: dict[str, tuple[str, Callable[..., Any]]] = {
    "perceptron": (
        "def @f(%x: Tensor[(4, 3), float64], %w: Tensor[(5, 3), float64]) "
        "{ let %h = tanh(nn.dense(%x, %w)); mean(%h * %h * %h) }",
        lambda x, w: ((x @ w.T).tanh() ** 3).mean(),
    ),
    "open_sizes": (
        "def @f(%x: Tensor[(n, 3), float64], %w: Tensor[(5, 3), float64]) "
        "{ let %h = tanh(nn.dense(%x, %w)); sum(%h * %h * %h) }",
        lambda x, w: ((x @ w.T).tanh() ** 3).sum(),
    ),
    "open_sizes_in_branches": (
        "def @f(%x: Tensor[(n, 3), float64], %w: Tensor[(5, 3), float64]) -> float64 "
        "{ let %s = sum(%x); let %h = if (%s < 1000f64) { tanh(%x) * %x } else { %x }; "
        "let %y = if (%s < 0f64) { sum(%w) } else { sum(%h * tanh(%h)) }; %y * sum(%w) }",
        lambda x, w: (
            w.sum() * (w.sum() if x.sum() < 0 else ((x.tanh() * x) * (x.tanh() * x).tanh()).sum())
        ),
    ),
    "joined_open_sizes": (
        "def @f(%x: Tensor[(?, 3), float64], %w: Tensor[(?, 3), float64]) { "
        "let %all: Tensor[(?, 3), float64] = concatenate((tanh(%x), %w), axis=0); "
        "let %square: Tensor[(?, 3), float64] = %all * %all; sum(%square * tanh(%all)) }",
        lambda x, w: sum((part**2 * part.tanh()).sum() for part in (x.tanh(), w)),
    ),
    "a_row_for_all": (
        "def @f(%x: Tensor[(?, 3), float64], %w: Tensor[(?, 3), float64]) { "
        "let %row: Tensor[(?, 3), float64] = sum(%w, axis=[0], keepdims=True); "
        "sum(%x * tanh(%row)) }",
        lambda x, w: (x * w.sum(0, keepdim=True).tanh()).sum(),
    ),
    "copies_of_found_sizes": (
        "def @f(%x: Tensor[(n, 3), float64], %w: Tensor[(5, 3), float64]) { "
        "let %part = dyn.strided_slice(%x, stack((3i64, 0i64)), stack((0i64, 3i64)), "
        "stack((-2i64, 1i64))); let %all = dyn.tile(tanh(%w), shape_of(%part)); "
        "sum(%part * %part * %part) * sum(%all * %all) }",
        lambda x, w: (x[[3, 1]] ** 3).sum() * 6 * (w.tanh() ** 2).sum(),
    ),
    "recurrence": (
        "def @loop(%h: Tensor[(4, 3), float64], %n: int32, %w: Tensor[(5, 3), float64]) "
        "-> Tensor[(4, 3), float64] { if (%n == 0) { %h } else { "
        "@loop(tanh(nn.matmul(nn.dense(%h, %w), %w)), %n - 1, %w) } }\n"
        "def @f(%x: Tensor[(4, 3), float64], %w: Tensor[(5, 3), float64]) -> float64 "
        "{ let %h = @loop(%x, 4, %w); sum(%h * %h) }",
        lambda x, w: (
            ((((x @ w.T @ w).tanh() @ w.T @ w).tanh() @ w.T @ w).tanh() @ w.T @ w)
            .tanh()
            .pow(2)
            .sum()
        ),
    ),
    "lists": (
        "type List[A] { Cons(A, List[A]), Nil, }\n"
        "def @fold(%f: fn (Tensor[(4, 5), float64], Tensor[(4, 3), float64]) -> "
        "Tensor[(4, 5), float64], %a: Tensor[(4, 5), float64], "
        "%l: List[Tensor[(4, 3), float64]]) -> Tensor[(4, 5), float64] { match (%l) { "
        "Cons(%h, %t) => { @fold(%f, %f(%a, %h), %t) }, Nil => { %a }, } }\n"
        "def @f(%x: Tensor[(4, 3), float64], %w: Tensor[(5, 3), float64]) -> float64 { "
        "let %step = fn (%a: Tensor[(4, 5), float64], %h: Tensor[(4, 3), float64]) "
        "-> Tensor[(4, 5), float64] { tanh(%a + nn.dense(%h, %w)) }; "
        "let %l = Cons(%x, Cons(%x * %x, Cons(tanh(%x), Nil))); "
        'let %r = @fold(%step, zeros(shape=(4, 5), dtype="float64"), %l); sum(%r * %r) }',
        lambda x, w: (
            (((x @ w.T).tanh() + (x * x) @ w.T).tanh() + x.tanh() @ w.T).tanh().pow(2).sum()
        ),
    ),
}


def inputs() -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [random.normal(size=(4, 3)), random.normal(size=(5, 3))]


def wanted(function: Callable[..., Any]) -> tuple[float, list[np.ndarray]]:
    tensors = [torch.tensor(each, requires_grad=True) for each in inputs()]
    value = function(*tensors)
    value.backward()
    return value.item(), [each.grad.numpy() for each in tensors]


def hessian_times_directions(function: Callable[..., Any]) -> tuple[Any, ...]:
    """`torch.autograd.functional.hvp` would import its algebra of symbols, which takes seconds."""
    tensors = [torch.tensor(each, requires_grad=True) for each in inputs()]
    directions = tensors[0].detach().tanh(), tensors[1].detach() ** 2
    slopes = torch.autograd.grad(function(*tensors), tensors, create_graph=True)
    along = sum((slope * each).sum() for slope, each in zip(slopes, directions, strict=True))
    return torch.autograd.grad(along, tensors)


def main(text: str) -> str:
    parameters = text.split("def @f(")[1].split(")")
    signature = ")".join(parameters[:3]).rstrip(" ")
    return f"{text}\ndef @main({signature}) {{ grad(@f)(%x, %w) }}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_torch(after, name):
    text, function = PROGRAMS[name]
    module = after(main(text))
    value, gradients = wanted(function)
    for found, slopes in (interpret(module, *inputs()), build(module)(*inputs())):
        np.testing.assert_allclose(found, value, rtol=1e-10)
        for slope, known in zip(slopes, gradients, strict=True):
            np.testing.assert_allclose(slope, known, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", PROGRAMS)
def test_hessians_times_vectors_are_those_of_torch(after, name):
    text, function = PROGRAMS[name]
    head = main(text).split("\ndef @main(")
    signature = head[1].split(") {")[0]
    renamed = signature.replace("%x", "%a").replace("%w", "%b")
    body = f"let %g = fn ({renamed}) {{ grad(@f)(%a, %b).1 }}; jvp(%g)(%x, %w, tanh(%x), %w * %w).1"
    module = after(f"{head[0]}\ndef @main({signature}) {{ {body} }}")
    products = hessian_times_directions(function)
    for found in (interpret(module, *inputs()), build(module)(*inputs())):
        for each, known in zip(found, products, strict=True):
            np.testing.assert_allclose(each, known.numpy(), rtol=1e-8, atol=1e-10)


def test_a_recursion_of_100_000_calls_is_differentiated_natively() -> None:
    model = build(
        rt.parse(
            '#[version = "0.0.5"]\n'
            "def @loop(%x: float64, %n: int32, %a: float64) -> float64 { if (%n == 0) { %a } "
            "else { @loop(%x, %n - 1, %a * %x) } }\n"
            "def @main(%x: float64, %n: int32) { grad(@loop, wrt=[0])(%x, %n, 1f64) }"
        )
    )
    count = 100_000
    value, (slope,) = model(np.float64(1.00001), np.int32(count))
    np.testing.assert_allclose(value, 1.00001**count, rtol=1e-9)
    np.testing.assert_allclose(slope, count * 1.00001 ** (count - 1), rtol=1e-9)
