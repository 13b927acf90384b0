"""Stages that an algorithm computes another way, and what becomes of the others."""

from __future__ import annotations

import numpy as np

from relay_tune.schedule.nests.rewritten_stages import Rewriting, with_rewritten_stages
from relay_tune.tensor.dependencies import dependencies, tensors_in_order
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Tensor, binary
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import Computed, Input, compute, input_tensor

WEIGHTS = np.array([1, 2, 3, 4], np.float32)


def scaled_twice() -> TensorProgram:
    """relu(x * w) and its double, and x + 1, which has nothing to do with these."""
    x, w = (input_tensor(name, (4,), "float32") for name in "xw")
    scaled = compute("scaled", (4,), lambda i: x[i] * w[i])
    relu = compute("relu", (4,), lambda i: binary("max", scaled[i], 0.0))
    double = compute("double", (4,), lambda i: relu[i] + relu[i])
    other = compute("other", (4,), lambda i: x[i] + 1.0)
    return TensorProgram((x,), (double, relu, other), ((w, WEIGHTS),))


def by_half_weights(stage: Computed, rewriting: Rewriting) -> Computed | None:
    """x * w as t + t, where t is x times half of w."""
    if stage.name != "scaled":
        return None
    x, w = dependencies(stage)
    data = rewriting.now(x)
    halved = input_tensor("half", (4,), "float32")
    half = rewriting.constant(halved, (w,), lambda arrays: arrays[w] / 2)
    part = compute("part", (4,), lambda i: data[i] * half[i])
    return compute("scaled", (4,), lambda i: part[i] + part[i])


def rewritten() -> tuple[TensorProgram, TensorProgram]:
    """A program before and after."""
    program = scaled_twice()
    new = with_rewritten_stages(program, by_half_weights)
    assert new is not None
    return program, new


def names(program: TensorProgram) -> list[str]:
    return [tensor.name for tensor in tensors_in_order(program.outputs)]


def test_what_reads_a_new_stage_is_rebuilt() -> None:
    program, new = rewritten()
    assert names(program) == ["x", "w", "scaled", "relu", "double", "other"]
    assert names(new) == ["x", "half", "part", "scaled", "relu", "double", "other"]
    x = np.array([-1, 0.5, 2, 3], np.float32)
    before = evaluate(program.outputs, {program.inputs[0]: x, **program.constant_arrays()})
    after = evaluate(new.outputs, {new.inputs[0]: x, **new.constant_arrays()})
    assert [array.tolist() for array in after] == [array.tolist() for array in before]


def test_what_reads_none_stays_itself() -> None:
    program, new = rewritten()
    assert new.inputs == program.inputs
    assert [a is b for a, b in zip(new.outputs, program.outputs, strict=True)] == [
        False,
        False,
        True,
    ]


def test_only_constants_that_are_read_are_kept() -> None:
    _, new = rewritten()
    ((half, values),) = new.constant_arrays().items()
    assert (half.name, half.shape, half.dtype) == ("half", (4,), "float32")
    assert values.tolist() == [0.5, 1, 1.5, 2]


def test_constants_that_are_still_read_come_first() -> None:
    program = scaled_twice()
    ((w, _),) = program.constants
    offset = compute("offset", (4,), lambda i: w[i] + 1.0)
    both = TensorProgram(program.inputs, (*program.outputs, offset), program.constants)
    new = with_rewritten_stages(both, by_half_weights)
    assert new is not None
    assert [tensor.name for tensor, _ in new.constants] == ["w", "half"]


def test_stages_are_asked_for_after_what_they_read() -> None:
    seen: list[tuple[str, list[Tensor]]] = []

    def rewrite(stage: Computed, rewriting: Rewriting) -> Computed | None:
        seen.append((stage.name, [rewriting.now(t) for t in dependencies(stage)]))
        return by_half_weights(stage, rewriting)

    new = with_rewritten_stages(scaled_twice(), rewrite)
    assert new is not None
    double, relu, _ = new.outputs
    assert [name for name, _ in seen] == ["scaled", "relu", "double", "other"]
    assert seen[1][1] == list(dependencies(relu))
    assert seen[2][1] == [relu] == list(dependencies(double))


def test_a_stage_can_become_a_constant() -> None:
    w = input_tensor("w", (4,), "float32")
    square = compute("square", (4,), lambda i: w[i] * w[i])
    program = TensorProgram((), (square,), ((w, WEIGHTS),))

    def rewrite(stage: Computed, rewriting: Rewriting) -> Input:
        square = input_tensor(stage.name, stage.shape, stage.dtype)
        return rewriting.constant(square, (w,), lambda arrays: arrays[w] ** 2)

    new = with_rewritten_stages(program, rewrite)
    assert new is not None
    ((constant, values),) = new.constant_arrays().items()
    assert new.outputs == (constant,)
    assert values.tolist() == [1, 4, 9, 16]


def test_there_is_no_other_program_if_no_stage_is_new() -> None:
    program = scaled_twice()
    assert with_rewritten_stages(program, lambda stage, rewriting: None) is None
    assert with_rewritten_stages(program, lambda stage, rewriting: stage) is None
