"""Compiled programs without their weights."""

import gc
import weakref
from collections.abc import Callable

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.building.program_form import fused_module
from relay_tune.ir.expr import Constant
from relay_tune.ir.traversal import post_order
from relay_tune.program.instructions import LoadConstant, RunKernel, RunRegion
from relay_tune.program.lower_program import lower_program
from relay_tune.program.program import FirstOrderProgram
from relay_tune.program.without_weights import without_weights
from relay_tune.typing.infer import infer_types
from relay_tune.zoo import build as zoo_build

pytestmark = pytest.mark.builds_apart


def network() -> rt.Module:
    return zoo_build("mlp", small=True)


def program() -> rt.Module:
    """A network in one branch, a constant in the other, and a kernel by itself."""
    main = network().main
    condition = rt.Var("c", rt.TensorType((), "bool"))
    type_ = infer_types(network()).main.body.type
    assert isinstance(type_, rt.TensorType)
    other = rt.constant(np.ones([dim for dim in type_.shape if isinstance(dim, int)], "float32"))
    body = rt.If(condition, main.body, other)
    return rt.Module.from_function(rt.Function((*main.params, condition), body))


def kinds(lowered: FirstOrderProgram) -> list[type]:
    blocks = [block for function in lowered.functions.values() for block in function.blocks]
    return [type(each) for block in blocks for each in block.instructions]


def arrays_in(module: rt.Module) -> list[weakref.ref[np.ndarray]]:
    nodes = [each for each in post_order(module.main.body) if isinstance(each, Constant)]
    return [weakref.ref(each.data) for each in nodes if each.data.ndim > 1]


@pytest.mark.parametrize("make", [network, program])
def test_the_instructions_are_the_same(make: Callable[[], rt.Module]) -> None:
    lowered = lower_program(fused_module(infer_types(make())))
    kept = without_weights(lowered)
    assert kinds(kept) == kinds(lowered)
    assert {RunKernel, RunRegion, LoadConstant} & {*kinds(kept)}
    assert kept.entry == lowered.entry


@pytest.mark.parametrize("make", [network, program])
def test_models_keep_the_packed_weights_alone(make: Callable[[], rt.Module]) -> None:
    module = make()
    model = rt.build(module, threads=1)
    weights = arrays_in(module)
    x = [np.ones(t.shape, t.dtype) for t in model.inputs.values()]
    expected = rt.interpret(module, *x)
    np.testing.assert_allclose(model(*x), expected, rtol=1e-4, atol=1e-5)
    del module
    gc.collect()
    assert weights and not any(each() is not None for each in weights)
