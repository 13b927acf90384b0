from relay_tune.ir.dim import Symbol
from relay_tune.ir.expr import Function, Let, Var
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType
from relay_tune.transform.fix_input_shapes import FixInputShapes
from relay_tune.typing.infer import infer_types


def test_symbols_become_sizes_everywhere() -> None:
    n = Symbol("n")
    x = Var("x", TensorType((n, 4), "float32"))
    y = Var("y", TensorType((n,), "int8"))
    z = Var("z", TensorType((n, 4), "float32"))
    body = Let(z, x, z)
    typed = infer_types(Module.from_function(Function((x, y), body, TensorType((n, 4), "float32"))))
    fixed = infer_types(FixInputShapes({"x": (3, 4), "y": (3,)})(typed)).main
    assert [param.type for param in fixed.params] == [
        TensorType((3, 4), "float32"),
        TensorType((3,), "int8"),
    ]
    assert fixed.body.type == TensorType((3, 4), "float32")
    assert isinstance(fixed.body, Let)
    assert fixed.body.var.annotation == TensorType((3, 4), "float32")


def test_inputs_without_a_shape_stay() -> None:
    x = Var("x", TensorType((2,), "float32"))
    fixed = FixInputShapes({})(infer_types(Module.from_function(Function((x,), x))))
    assert infer_types(fixed).main.body.type == TensorType((2,), "float32")
