import numpy as np
import pytest

import relay_tune.op  # noqa: F401  registers all operators
from relay_tune.errors import BuildError
from relay_tune.ir.dim import Symbol
from relay_tune.ir.expr import Call, Expr, Function, If, Let, Tuple, TupleGetItem, Var, constant
from relay_tune.ir.operator import find_operator
from relay_tune.ir.types import BOOL, TensorType, TupleType
from relay_tune.op.arithmetic import add, multiply
from relay_tune.op.block_quantization import dequantize_blocks
from relay_tune.op.joining import split
from relay_tune.op.lower import lower_function
from relay_tune.op.nn.matmul import dense
from relay_tune.op.nn.normalization import layer_norm
from relay_tune.op.reduction import sum as sum_
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Literal
from relay_tune.tensor.program import TensorProgram
from relay_tune.typing.infer import infer_expr

MATRIX = TensorType((2, 3), "float32")
DATA = np.arange(6, dtype="float32").reshape(2, 3)


def lowered(params: tuple[Var, ...], body: Expr) -> TensorProgram:
    typed = infer_expr(Function(params, body))
    assert isinstance(typed, Function)
    return lower_function(typed)


def run(program: TensorProgram, *arrays: np.ndarray) -> list[np.ndarray]:
    feeds = dict(zip(program.inputs, arrays, strict=True)) | program.constant_arrays()
    return evaluate(program.outputs, feeds)


def test_inputs_outputs_and_constants():
    x, weight = Var("x", MATRIX), constant(np.full((3,), 2.0, "float32"))
    program = lowered((x,), Tuple((add(multiply(x, weight), constant(1.0)), sum_(x))))
    assert [tensor.name for tensor in program.inputs] == ["x"]
    assert len(program.constants) == 1
    first, second = run(program, DATA)
    np.testing.assert_array_equal(first, DATA * 2 + 1)
    assert second == 15


def test_scalar_constants_become_literals():
    program = lowered((), constant(3, "int8"))
    (output,) = program.outputs
    assert isinstance(output.body, Literal)
    assert (output.body.value, output.dtype) == (3, "int8")


def test_tuple_parameters_are_flattened():
    pair = Var("pair", TupleType((MATRIX, TupleType((MATRIX,)))))
    nested = TupleGetItem(TupleGetItem(pair, 1), 0)
    program = lowered((pair,), add(TupleGetItem(pair, 0), nested))
    assert len(program.inputs) == 2
    np.testing.assert_array_equal(run(program, DATA, DATA)[0], 2 * DATA)


def test_what_has_no_elements_is_computed_by_nothing():
    empty = Var("x", TensorType((0, 4), "float32"))
    program = lowered(
        (empty,),
        layer_norm(empty, constant(np.ones(4, "float32")), constant(np.ones(4, "float32"))),
    )
    (output,) = run(program, np.ones((0, 4), "float32"))
    assert output.shape == (0, 4)


def test_operators_with_several_results():
    x = Var("x", MATRIX)
    parts = split(x, indices_or_sections=3, axis=1)
    program = lowered((x,), add(TupleGetItem(parts, 0), TupleGetItem(parts, 2)))
    np.testing.assert_array_equal(run(program, DATA)[0], DATA[:, :1] + DATA[:, 2:])


def test_let_bindings():
    x, y = Var("x", MATRIX), Var("y")
    program = lowered((x,), Let(y, add(x, x), multiply(y, y)))
    np.testing.assert_array_equal(run(program, DATA)[0], (2 * DATA) ** 2)


def test_a_shared_expression_is_one_tensor():
    x = Var("x", MATRIX)
    twice = add(x, x)
    program = lowered((x,), Tuple((twice, twice)))
    assert program.outputs[0] is program.outputs[1]


def test_a_long_chain():
    x = body = Var("x", MATRIX)
    for _ in range(3000):
        body = add(body, x)
    np.testing.assert_array_equal(run(lowered((x,), body), DATA)[0], 3001 * DATA)


def test_a_composition_is_expanded():
    operator = find_operator("nn.batch_norm")
    x = Var("x", TensorType((2, 3, 4), "float32"))
    rng = np.random.default_rng(0)
    statistics = [rng.random(3, np.float32) + 0.5 for _ in range(4)]
    call = operator(x, *(constant(array) for array in statistics))
    program = lowered((x,), TupleGetItem(call, 0))
    data = rng.random((2, 3, 4), np.float32)
    expected = operator.reference(call.attributes, data, *statistics)[0]
    np.testing.assert_allclose(run(program, data)[0], expected, rtol=1e-5)


def test_a_dynamic_operator_is_named():
    x = Var("x", TensorType((6,), "float32"))
    with pytest.raises(BuildError, match="result of unique has the shape"):
        lowered((x,), find_operator("unique")(x))


def test_a_symbolic_shape_is_an_error():
    x = Var("x", TensorType((Symbol("n"), 3), "float32"))
    with pytest.raises(BuildError, match=r"parameter %x has the shape \(n, 3\)"):
        lowered((x,), add(x, x))


def test_control_flow_is_an_error():
    x, flag = Var("x", MATRIX), Var("flag", BOOL)
    with pytest.raises(BuildError, match="cannot contain If"):
        lowered((x, flag), If(flag, x, add(x, x)))


def test_calls_of_functions_are_an_error():
    x, y = Var("x", MATRIX), Var("y", MATRIX)
    inner = Function((y,), add(y, y), attributes={"Primitive": 1})
    with pytest.raises(BuildError, match="cannot contain Function"):
        lowered((x,), Call(inner, (x,)))


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [("int8", "int8", "int8"), ("", "", ""), ("int8", "", "")],
)
def test_data_may_be_rounded_where_all_products_let_them(first, second, found):
    def product(x, activations):
        kept = dequantize_blocks(constant(numbers), constant(scales), zero, activations=activations)
        return dense(x, kept)

    numbers, scales = np.ones((32, 32), np.int8), np.ones((32, 1), np.float32)
    zero = constant(np.zeros((), np.int8))
    x = Var("x", TensorType((4, 32), "float32"))
    function = infer_expr(Function((x,), product(product(x, first), second)))
    assert lower_function(function).data_type == found
