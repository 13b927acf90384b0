"""Einstein's notation: each equation natively known by numpy and by ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import relay_tune as rt
from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.ir.expr import Call
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import post_order

Check = Callable[..., None]
NodeModel = Callable[..., onnx.ModelProto]

EQUATIONS: dict[str, list[tuple[int, ...]]] = {
    "ij,jk->ik": [(3, 4), (4, 5)],
    "ij,kj": [(3, 4), (5, 4)],
    "bij,bkj->bik": [(2, 3, 4), (2, 5, 4)],
    "bhqd,bhkd->bhqk": [(2, 3, 5, 4), (2, 3, 6, 4)],
    "bhqk,bhkd->bqhd": [(2, 3, 5, 6), (2, 3, 6, 4)],
    "abcd,cdef->abef": [(2, 3, 4, 5), (4, 5, 2, 3)],
    "...hd,...kd->...hk": [(2, 6, 5, 8), (1, 6, 4, 8)],
    "i...,j...->...ij": [(3, 2, 4), (5, 2, 4)],
    "ij->ji": [(3, 4)],
    "ij->i": [(3, 4)],
    "ij,ij->": [(3, 4), (3, 4)],
    "i,j->ij": [(3,), (4,)],
    "bii->bi": [(2, 3, 3)],
    "ii": [(4, 4)],
    "iji,jk->ik": [(3, 4, 3), (4, 5)],
    "ij,jk,jl->ikl": [(3, 4), (4, 5), (4, 6)],
    "ab,c->a": [(3, 4), (5,)],
    ",ij->ij": [(), (2, 3)],
}


@pytest.mark.parametrize("equation", EQUATIONS)
def test_equation(check_node: Check, random: np.random.Generator, equation: str) -> None:
    inputs = [random.standard_normal(shape).astype(np.float32) for shape in EQUATIONS[equation]]
    check_node("Einsum", *inputs, equation=equation)


def test_equation_of_integers(check_node: Check, random: np.random.Generator) -> None:
    inputs = [random.integers(-9, 9, shape).astype(np.int32) for shape in ((3, 4), (4, 5))]
    check_node("Einsum", *inputs, equation="ij,jk->ik")


DYNAMIC = {
    "ij,ij->i": ([("a", "b"), ("c", 3)], [(2, 3), (1, 3)]),
    "bhid,bhjd->bhij": ([("b", "c", 2, "d"), ("e", 2, 3, "f")], [(2, 2, 2, 4), (2, 2, 3, 4)]),
    "bij,bjk->bik": ([("b", 2, "d"), (2, "f", "g")], [(2, 2, 3), (2, 3, 4)]),
    "ii->i": ([(3, "n")], [(3, 3)]),
}


def _dynamic(equation: str) -> rt.Module:
    shapes, _ = DYNAMIC[equation]
    names = [f"x{number}" for number in range(len(shapes))]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in zip(names, shapes, strict=True)
    ]
    node = helper.make_node("Einsum", names, ["y"], equation=equation)
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "einsum", inputs, [result])
    opsets = [helper.make_opsetid("", 17)]
    return from_onnx(helper.make_model(graph, opset_imports=opsets, ir_version=8))


@pytest.mark.parametrize("equation", DYNAMIC)
def test_labels_whose_sizes_only_a_run_compares(random: np.random.Generator, equation: str) -> None:
    _, sizes = DYNAMIC[equation]
    arrays = [random.standard_normal(shape).astype(np.float32) for shape in sizes]
    result = rt.build(_dynamic(equation), threads=1)(*arrays)
    np.testing.assert_allclose(result, np.einsum(equation, *arrays), 1e-5, 1e-5)


def test_labels_that_join_one_axis_are_compared_one_by_one() -> None:
    model = rt.build(_dynamic("bhid,bhjd->bhij"), threads=1)
    with pytest.raises(rt.InputError, match="another size on axis"):
        model(np.ones((1, 4, 2, 4), np.float32), np.ones((2, 2, 3, 4), np.float32))


@pytest.mark.parametrize(
    ("equation", "transposes"), [("bhqd,bhkd->bhqk", 0), ("bij,bjk->bik", 0), ("bji,bjk->bik", 1)]
)
def test_contraction_is_one_matrix_product(
    node_model: NodeModel, equation: str, transposes: int
) -> None:
    first = equation.partition(",")[0]
    data = np.ones((2,) * len(first), np.float32)
    module = from_onnx(node_model("Einsum", [data, data], equation=equation))
    callees = [node.callee for node in post_order(module.main) if isinstance(node, Call)]
    names = [callee.name for callee in callees if isinstance(callee, Operator)]
    assert names.count("nn.batch_matmul") == 1
    assert names.count("transpose") == transposes and len(names) == 1 + transposes


@pytest.mark.parametrize(
    ("equation", "shapes", "part"),
    [
        ("ij,jk->ik", [(2, 3), (4, 5)], "label 'j' has the sizes 3 and 4"),
        ("ii->i", [(2, 3)], "label 'i' has the sizes 2 and 3"),
        ("ij->k", [(2, 3)], "the output 'k'"),
        ("ij->ii", [(2, 3)], "the output 'ii'"),
        ("ij,jk->ik", [(2, 3)], "does not fit 1 inputs"),
        ("ijk->i", [(2, 3)], "does not fit 2 axes"),
        ("i->i", [(2, 3)], "does not fit 2 axes"),
        ("...i...->i", [(2, 3)], "does not fit 2 axes"),
        ("...i,i->i", [(2, 3), (3,)], "must name the axes of"),
        ("i;j->i", [(2, 3)], "does not fit 1 inputs"),
    ],
)
def test_equation_that_does_not_fit(
    node_model: NodeModel, equation: str, shapes: list[tuple[int, ...]], part: str
) -> None:
    model = node_model("Einsum", [np.zeros(s, np.float32) for s in shapes], equation=equation)
    with pytest.raises(ModelError, match="node 'node' \\(Einsum\\)") as error:
        from_onnx(model)
    assert part in str(error.value)
