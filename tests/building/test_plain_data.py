"""Tensor programs as JSON."""

import numpy as np
import pytest

from relay_tune.building.plain_data import decoded, encoded
from relay_tune.building.primitives import primitives_of
from relay_tune.building.program_form import program_kernels
from relay_tune.codegen.target import parse_target
from relay_tune.errors import BuildError
from relay_tune.ir.dim import Symbol
from relay_tune.program.lower_program import lower_program
from relay_tune.schedule.plan import plan_program
from relay_tune.tensor.deferred_array import array_of
from relay_tune.tensor.expression import Axis, cast, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import dim_of, nominal, positive_size, symbolic_size
from relay_tune.tensor.tensor import compute, input_tensor
from relay_tune.transform.pipeline import default_pipeline
from relay_tune.typing.infer import infer_types
from relay_tune.zoo import build as zoo_build
from tests.schedule.machines import TILES, core

MACHINE = core(32, 16)


@pytest.mark.parametrize("network", ["resnet18", "bert_base", "lstm"])
def test_programs_that_are_read_back_have_the_same_schedules(network: str) -> None:
    fused = default_pipeline()(infer_types(zoo_build(network, small=True)))
    functions = list(program_kernels(lower_program(fused)))
    programs = [p.program for p in primitives_of(functions[:6]).values()]
    for program in programs:
        text = encoded(program)
        assert text is not None
        again = plan_program(decoded(text))
        assert encoded(again.source) == encoded(plan_program(program).source)
        expected = plan_program(program).default_schedule(MACHINE, 2)
        assert again.default_schedule(MACHINE, 2).to_json() == expected.to_json()


def test_sharing_is_kept_and_elements_are_not() -> None:
    x, w = (input_tensor(name, (4,), "float32") for name in "xw")
    y = compute("y", (4,), lambda i: x[i] * w[i])
    program = TensorProgram((x,), (y, y), ((w, np.ones(4, np.float32)),))
    found = decoded(str(encoded(program)))
    assert found.outputs[0] is found.outputs[1]
    ((tensor, data),) = found.constants
    assert found.outputs[0].body.right.tensor is tensor
    assert (data.shape, data.dtype) == ((4,), np.float32)
    with pytest.raises(BuildError, match="shape alone"):
        array_of(data)


def test_what_is_known_of_constants_comes_back() -> None:
    x, w = input_tensor("x", (4, 8), "uint8"), input_tensor("w", (4, 8), "int8")
    y = compute("y", (4, 8), lambda i, j: cast(x[i, j], "int32") * cast(w[i, j], "int32"))
    program = TensorProgram((x,), (y,), ((w, np.ones((4, 8), np.int8)),), bounded=((w, 1),))
    found = decoded(str(encoded(program)))
    assert found.bounded == ((found.constants[0][0], 1),)


def test_numbers_and_machines_come_back_as_they_were() -> None:
    haswell = parse_target("x86_64-linux-gnu:haswell").machine
    given = (MACHINE, TILES, haswell, 1, 1.0, True, None, float("inf"), "x", (2, ()))
    found = decoded(str(encoded(given)))
    assert found == given and list(map(type, found)) == list(map(type, given))


def test_open_sizes_come_back_as_they_were() -> None:
    n, m = (symbolic_size(Symbol(name, least, 100), 64) for name, least in (("n", 1), ("m", 3)))
    sizes = (n, n * m + 2 * (n // 3) - 1, positive_size(n - m), (n * m + 5) // 7)
    found = decoded(str(encoded(sizes)))
    assert found == sizes
    assert [nominal(size) for size in found] == [nominal(size) for size in sizes]
    assert [dim_of(size) for size in found] == [dim_of(size) for size in sizes]


def test_programs_of_open_sizes_that_are_read_back_have_the_same_schedules() -> None:
    n = symbolic_size(Symbol("n"), 64)
    x = input_tensor("x", (n, 96), "float32")
    k = Axis("k", 96)
    y = compute("y", (n,), lambda i: reduce("max", (k,), x[i, k]))
    z = compute("z", (n, 96), lambda i, j: x[i, j] - y[i])
    program = TensorProgram((x,), (z,), ())
    again = plan_program(decoded(str(encoded(program))))
    expected = plan_program(program).default_schedule(MACHINE, 2)
    assert again.default_schedule(MACHINE, 2).to_json() == expected.to_json()


def test_nodes_of_somebody_else_have_no_form() -> None:
    assert encoded((object(),)) is None
