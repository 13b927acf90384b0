import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import relay_tune.op  # noqa: F401
from relay_tune.errors import TypeInferenceError
from relay_tune.ir.expr import Call, Constant, Expr, Function, Var, constant
from relay_tune.ir.operator import find_operator
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.types import TensorType
from relay_tune.op.primitive_key import canonical_text, primitive_key
from relay_tune.typing.infer import infer_expr, infer_types


def op(name: str, *arguments: Expr, **attributes: object) -> Call:
    operator = find_operator(name)
    assert operator is not None
    return operator(*arguments, **attributes)


def primitive(
    name: str = "x", weight: float = 1.0, scale: float = 2.0, padding: int = 1, width: int = 8
) -> Function:
    x = Var(name, TensorType((1, 4, width, width), "float32"))
    kernel = constant(np.full((3, 4, 3, 3), weight, "float32"))
    y = op("nn.conv2d", x, kernel, padding=(padding, padding))
    typed = infer_expr(Function((x,), op("nn.relu", op("multiply", y, constant(scale)))))
    assert isinstance(typed, Function)
    return typed


def test_names_and_weights_do_not_matter() -> None:
    assert primitive_key(primitive()) == primitive_key(primitive(name="data", weight=3.0))


def test_scalars_attributes_and_shapes_matter() -> None:
    variants = [primitive(), primitive(scale=3.0), primitive(padding=2), primitive(width=9)]
    assert len({primitive_key(variant).digest for variant in variants}) == 4


def test_the_title_names_operators_and_the_result() -> None:
    assert primitive_key(primitive()).title == "conv2d+multiply+relu 1x3x8x8"


def test_long_titles_are_cut() -> None:
    x = Var("x", TensorType((2,), "float32"))
    body: Expr = x
    for _ in range(9):
        body = op("nn.relu", body)
    typed = infer_expr(Function((x,), body))
    assert isinstance(typed, Function)
    assert primitive_key(typed).title == "relu+relu+relu+relu+5 more 2"


def test_a_shared_node_differs_from_an_equal_one() -> None:
    x = Var("x", TensorType((2,), "float32"))
    one = Constant(np.ones(2, "float32"))
    other = replace(one)
    shared = infer_expr(Function((x,), op("add", op("multiply", x, one), one)))
    apart = infer_expr(Function((x,), op("add", op("multiply", x, one), other)))
    assert isinstance(shared, Function) and isinstance(apart, Function)
    assert canonical_text(shared) != canonical_text(apart)


def test_the_digest_is_the_same_in_another_process() -> None:
    script = (
        f"import importlib.util as u; s = u.spec_from_file_location('t', {__file__!r});"
        "m = u.module_from_spec(s); s.loader.exec_module(m);"
        "print(m.primitive_key(m.primitive()).digest)"
    )
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert other.stdout.strip() == primitive_key(primitive()).digest


def test_bits_of_sums_count_only_where_they_are_known():
    def text(attributes: str) -> str:
        program = f"""def @main(%x: Tensor[(1, 4, 5, 5), uint8], %w: Tensor[(4, 4, 3, 3), int8]) {{
          nn.conv2d(%x, %w, out_dtype="int32"{attributes}) }}"""
        return canonical_text(infer_types(parse(program)).main)

    assert "sum_bits" not in text("")
    assert text(", sum_bits=0") == text("")
    assert "sum_bits=26" in text(", sum_bits=26")


def test_sums_have_no_odd_numbers_of_bits():
    program = """def @main(%x: Tensor[(1, 4, 5, 5), uint8], %w: Tensor[(4, 4, 3, 3), int8]) {
      nn.conv2d(%x, %w, out_dtype="int32", sum_bits=65) }"""
    with pytest.raises(TypeInferenceError, match="sum_bits is 65, which is neither 0 nor 2 to 64"):
        infer_types(parse(program))
