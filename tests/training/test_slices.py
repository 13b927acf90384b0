"""Steps made of slices of the batch, against steps of the whole batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.op import reduction
from relay_tune.training import parameters_of
from relay_tune.training.program import StepProgram, step_program
from relay_tune.transform.bind_parameters import BindParameters
from tests.training.network import batch, network, weights

STEPS = 3
STEEP = rt.training.SGD(0.1, momentum=0.9)


def _steps(slices: int | None, module: rt.Module, **options: Any) -> rt.training.TrainingStep:
    options = {"optimiser": STEEP, "threads": 1, **options}
    return rt.training.step(module, slices=slices, **options)


def _agree(
    module: rt.Module,
    batches: Callable[[int], Sequence[Any]],
    counts: Sequence[int] = (3,),
    loss: Any = "cross_entropy",
    optimiser: Any = STEEP,
    parameters: Mapping[str, np.ndarray] | Sequence[str] | None = None,
    **options: Any,
) -> None:
    """The loss and all that a step passes on are the same in slices, in each of some steps."""
    known = parameters_of(module)
    first = parameters if isinstance(parameters, Mapping) else known

    def program(count: int) -> StepProgram:
        chosen = None if parameters is None else list(parameters)
        return step_program(module, loss, optimiser, chosen, slices=count, **options)

    whole = program(1)
    sizes = {each.name: _shape(each) for each in whole.module.main.params}
    kept = {name: np.zeros(sizes[name], np.float32) for name in whole.states}
    kept = {**{name: first[name] for name in whole.parameters}, **kept}
    others = [program(count).module for count in counts]
    for number in range(STEPS):
        feeds = {**dict(zip(whole.batch, batches(number), strict=True)), **kept}
        feeds[whole.number] = np.asarray(number)
        expected = _results(whole.module, feeds)
        for other in others:
            for found, wanted in zip(_results(other, feeds), expected, strict=True):
                tolerance = 1e-5 * float(np.abs(wanted).max())
                np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance)
        kept = dict(zip(whole.passed_on, expected[1:], strict=True))


def _results(module: rt.Module, feeds: Mapping[str, Any]) -> list[np.ndarray]:
    found = rt.interpret(module, *(feeds[param.name] for param in module.main.params))
    return [np.asarray(each) for each in found]


def _shape(param: rt.Var) -> list[int]:
    assert isinstance(param.type, rt.TensorType)
    return [int(str(size)) for size in param.type.shape]


def _with_weights(text: str, **weights: tuple[int, ...]) -> rt.Module:
    """The program with random constants in place of inputs."""
    random = np.random.default_rng(5)
    values = {n: random.standard_normal(shape, np.float32) for n, shape in weights.items()}
    return rt.infer_types(BindParameters(values)(rt.parse(text)))


def _numbers(*shape: int) -> Callable[[int], tuple[np.ndarray, ...]]:
    """Random batches of an input and a target that is as large as it is wide."""

    def made(number: int) -> tuple[np.ndarray, ...]:
        random = np.random.default_rng(number)
        return random.standard_normal(shape, np.float32), random.integers(0, 3, 6)

    return made


@pytest.mark.parametrize(
    "optimiser",
    [STEEP, rt.training.AdamW(0.05), rt.training.RMSprop(0.05)],
    ids=["sgd", "adamw", "rmsprop"],
)
def test_slices_train_as_the_whole_batch_does(optimiser: Any) -> None:
    _agree(network(), batch, (2, 6), optimiser=optimiser, parameters=weights(), clip=0.3)


def test_compiled_slices_train_as_the_whole_batch_does() -> None:
    whole, sliced = (_steps(count, network(), parameters=weights()) for count in (1, 3))
    for number in range(STEPS):
        assert sliced(*batch(number)) == pytest.approx(whole(*batch(number)), rel=2e-6)
    for name, value in whole.parameters.items():
        np.testing.assert_allclose(sliced.parameters[name], value, rtol=1e-4, atol=1e-6)


def test_targets_without_a_loss_count_for_the_whole_batch() -> None:
    def batches(number: int) -> tuple[np.ndarray, np.ndarray]:
        x, target = batch(number)
        target[: 1 + number] = -100
        return x, target

    _agree(network(), batches, parameters=weights())


def test_a_batch_whose_targets_are_all_ignored_has_no_gradients_in_slices_either() -> None:
    step = _steps(3, network(), parameters=weights())
    x, target = batch(0)
    assert np.isnan(step(x, np.full_like(target, -100)))
    for name, value in weights().items():
        np.testing.assert_array_equal(step.parameters[name], value)


LOSSES: dict[str, Callable[[rt.Expr, rt.Expr], rt.Expr]] = {
    "sum": lambda output, target: reduction.sum((output - target) * (output - target)),
    "mean and a constant": lambda output, target: reduction.mean(output * target) * 3.0 + 1.0,
    "sum of means": lambda output, target: (
        reduction.sum(reduction.mean(output * target, axis=(0,))) - reduction.mean(output) / 2.0
    ),
    "a sum and a mean": lambda output, target: (
        reduction.sum(output * output) / 6.0 - reduction.mean(output * target)
    ),
    "weighted mean": lambda output, target: (
        reduction.sum(output * output * target) / reduction.sum(target)
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_ones_own_are_summed_as_they_say(name: str) -> None:
    def batches(number: int) -> tuple[np.ndarray, np.ndarray]:
        random = np.random.default_rng(number)
        x, target = random.standard_normal((6, 4)), random.random((6, 3)) + 0.5
        return x.astype(np.float32), target.astype(np.float32)

    _agree(network(), batches, parameters=weights(), loss=LOSSES[name])


HEADS = """
def @main(%x: Tensor[(6, 8, 4), float32], %w: Tensor[(12, 4), float32],
          %v: Tensor[(3, 32), float32]) {
  let %p = nn.dense(reshape(%x, newshape=(48, 4)), %w);
  let %q = transpose(reshape(%p, newshape=(6, 8, 3, 2, 2)), axes=(2, 0, 3, 1, 4));
  let %parts = split(reshape(%q, newshape=(3, 12, 8, 2)), indices_or_sections=3, axis=0);
  let %a = squeeze(%parts.0, axis=(0,));
  let %b = squeeze(%parts.1, axis=(0,));
  let %c = squeeze(%parts.2, axis=(0,));
  let %s = nn.softmax(nn.batch_matmul(%a, %b), axis=-1);
  let %o = nn.batch_matmul(%s, transpose(%c, axes=(0, 2, 1)));
  let %m = transpose(reshape(%o, newshape=(6, 2, 8, 2)), axes=(0, 2, 1, 3));
  nn.dense(reshape(%m, newshape=(6, 32)), %v)
}"""

IMAGES = """
def @main(%x: Tensor[(6, 2, 8, 8), float32], %w: Tensor[(4, 2, 3, 3), float32],
          %g: Tensor[(1, 4, 1, 1), float32], %v: Tensor[(3, 64), float32]) {
  let %c = nn.relu(nn.conv2d(%x, %w, padding=(1, 1, 1, 1)) * %g);
  let %p = nn.max_pool2d(%c, pool_size=(2, 2), strides=(2, 2));
  nn.dense(nn.batch_flatten(%p), %v)
}"""

STEPS_FIRST = """
def @main(%x: Tensor[(5, 6, 4), float32], %w: Tensor[(4, 4), float32],
          %h: Tensor[(6, 4), float32], %v: Tensor[(3, 4), float32]) {
  let %y = nn.dense(reshape(%x, newshape=(30, 4)), %w);
  let %last = strided_slice(%y, begin=(24,), end=(30,));
  let %steps = split(reshape(%y, newshape=(5, 6, 4)), indices_or_sections=5, axis=0);
  let %a = tanh(nn.dense(%h, %w) + squeeze(%steps.0, axis=(0,)));
  let %b = tanh(nn.dense(%a, %w) + squeeze(%steps.1, axis=(0,)));
  let %both = concatenate((%a, %b));
  nn.dense(strided_slice(%both, begin=(6,), end=(12,)) + %last, %v)
}"""


def test_samples_are_followed_through_heads_of_attention() -> None:
    _agree(_with_weights(HEADS, w=(12, 4), v=(3, 32)), _numbers(6, 8, 4))


def test_samples_are_followed_through_convolutions() -> None:
    shapes = {"w": (4, 2, 3, 3), "g": (1, 4, 1, 1), "v": (3, 64)}
    _agree(_with_weights(IMAGES, **shapes), _numbers(6, 2, 8, 8))


def test_samples_may_be_a_later_axis_and_constants_have_some() -> None:
    """The time steps stand first; the first state is a constant of the whole batch."""
    module = _with_weights(STEPS_FIRST, w=(4, 4), h=(6, 4), v=(3, 4))
    names = list(rt.training.parameters_of(module))
    trained = [each for each in names if rt.training.parameters_of(module)[each].shape != (6, 4)]
    _agree(module, _numbers(5, 6, 4), parameters=trained)


def test_a_parameter_with_a_row_for_each_sample_is_trained() -> None:
    module = _with_weights(STEPS_FIRST, w=(4, 4), h=(6, 4), v=(3, 4))
    _agree(module, _numbers(5, 6, 4))


def test_dropout_drops_the_same_elements() -> None:
    text = """
    def @main(%x: Tensor[(6, 4), float32], %w: Tensor[(5, 4), float32],
              %v: Tensor[(3, 5), float32]) {
      nn.dense(nn.dropout(tanh(nn.dense(%x, %w)), rate=0.4), %v)
    }"""
    _agree(_with_weights(text, w=(5, 4), v=(3, 5)), batch, seed=3)


def test_many_steps_are_made_of_slices_too() -> None:
    single, many = (_steps(3, network(), parameters=weights()) for _ in range(2))
    batches = [batch(number) for number in range(STEPS)]
    losses = [single(*each) for each in batches]
    x, target = (np.stack(each) for each in zip(*batches, strict=True))
    np.testing.assert_array_equal(many.run_many(x, target), np.asarray(losses, np.float32))
    np.testing.assert_array_equal(many.parameters["w"], single.parameters["w"])


MEETING = {
    "softmax over samples": "nn.dense(nn.softmax(%x, axis=0), %w)",
    "products of samples": "nn.dense(nn.matmul(nn.matmul(%x, %x, transpose_b=True), %x), %w)",
    "a mean that is subtracted": "nn.dense(%x - mean(%x, axis=(0,)), %w)",
    "the greatest": "nn.dense(%x / max(%x), %w)",
    "a running sum": "nn.dense(cumsum(%x, axis=0), %w)",
    "the other way round": "nn.dense(reverse(%x, axis=0), %w)",
    "a diagonal": 'nn.dense(%x * reshape(arange(stop=6f, dtype="float32"), newshape=(6, 1)), %w)',
}

RIGHT = ("a mean that is subtracted", "places within a sample", "a diagonal")
"""What the batch alone says is computed before; a constant may have a row for each sample."""


@pytest.mark.parametrize("name", MEETING)
def test_samples_that_meet_are_refused_or_right(name: str) -> None:
    """Nothing is sliced that is something else then."""
    text = f"""
    def @main(%x: Tensor[(6, 4), float32], %w: Tensor[(3, 4), float32]) {{ {MEETING[name]} }}"""
    module = _with_weights(text, w=(3, 4))
    try:
        step_program(module, "cross_entropy", STEEP, slices=2)
    except rt.InputError as error:
        assert "slices of the batch" in str(error)
        assert name not in RIGHT
    else:
        _agree(module, batch)
        assert name in RIGHT


def test_losses_that_are_not_linear_in_samples_are_refused() -> None:
    def root(output: rt.Expr, target: rt.Expr) -> rt.Expr:
        return rt.Call(rt.parse_expr("sqrt"), (reduction.sum(output * output),))

    with pytest.raises(rt.InputError, match=r"3 slices of the batch: sqrt stands in the way"):
        _steps(3, network(), parameters=weights(), loss=root)


def test_slices_divide_the_batch() -> None:
    with pytest.raises(rt.InputError, match=r"6 samples, which are not 4 equal slices") as caught:
        _steps(4, network(), parameters=weights())
    assert "1, 2, 3, 6" in str(caught.value)
    with pytest.raises(rt.InputError, match="slices"):
        _steps(0, network(), parameters=weights())


WIDE = """
def @main(%x: Tensor[(64, 4), float32], %w: Tensor[(256, 4), float32],
          %v: Tensor[(3, 256), float32]) {
  nn.dense(ACTIVATION, %v)
}"""


def _wide(activation: str) -> rt.Module:
    return _with_weights(WIDE.replace("ACTIVATION", activation), w=(256, 4), v=(3, 256))


def test_a_limit_of_memory_is_kept_by_slices() -> None:
    module = _wide("tanh(nn.dense(%x, %w))")
    whole = _steps(1, module)
    limit = whole.model.workspace_bytes // 4
    step = _steps(None, module, memory_limit=limit)
    sums = sum(value.nbytes for value in step.parameters.values())
    assert step.model.workspace_bytes + sums <= step.memory_bytes <= limit
    assert 2 < step.program.slices < 64
    random = np.random.default_rng(0)
    x, target = random.standard_normal((64, 4), np.float32), random.integers(0, 3, 64)
    assert step(x, target) == pytest.approx(whole(x, target), rel=1e-6)
    with pytest.raises(rt.InputError, match="the least limit"):
        _steps(1, module, memory_limit=limit)


def test_a_limit_that_no_slice_keeps_says_why() -> None:
    module = _wide("nn.softmax(nn.dense(%x, %w), axis=0)")
    limit = _steps(1, module).model.workspace_bytes // 4
    with pytest.raises(rt.InputError, match="the least limit") as caught:
        _steps(None, module, memory_limit=limit)
    assert "nn.softmax stands in the way" in str(caught.value)
    with pytest.raises(rt.InputError, match="the least limit"):
        _steps(None, _wide("tanh(nn.dense(%x, %w))"), memory_limit=1)


def test_each_pixel_of_a_sample_has_a_target() -> None:
    module = _with_weights(
        """#[version = "0.0.5"]
def @main(%x: Tensor[(6, 4, 8, 3), float32], %w: Tensor[(5, 3), float32]) {
  nn.log_softmax(nn.dense(%x, %w))
}""",
        w=(5, 3),
    )

    def batches(number: int) -> tuple[np.ndarray, np.ndarray]:
        random = np.random.default_rng(number)
        x = random.standard_normal((6, 4, 8, 3), np.float32)
        return x, random.integers(0, 5, (6, 4, 8))

    _agree(module, batches, (2, 3))


def test_the_time_of_two_slices_is_that_of_their_kernels() -> None:
    module = _wide("tanh(nn.dense(%x, %w))")
    one, two = _steps(1, module), _steps(2, module)
    assert len(two.model.compiled().regions) == 1
    assert two._cycles() < 1.9 * one._cycles()
