"""Weights of few bits as ONNX: onnxruntime computes the same, and they come back as they were."""

import numpy as np
import onnx
import onnxruntime
import pytest

import relay_tune as rt
from relay_tune.ir.expr import Constant
from relay_tune.ir.traversal import post_order
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.store_weights import StoreWeights

RANDOM = np.random.default_rng(2)


def program(body, values, head="%x: Tensor[(3, 80), float32]"):
    types = [f"%{n}: Tensor[{a.shape}, {a.dtype.name}]" for n, a in values.items()]
    typed = rt.infer_types(rt.parse(f"def @main({', '.join([head, *types])}) {{ {body} }}"))
    return rt.infer_types(BindParameters(values)(typed))


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def check(module, data):
    """The exported model, which onnxruntime and a second import compute as the module is meant."""
    model = rt.to_onnx(module)
    onnx.checker.check_model(model)
    wanted = np.asarray(rt.interpret(module, data))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (found,) = session.run(None, {"x": data})
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(
        rt.interpret(rt.from_onnx(model), data), wanted, rtol=1e-4, atol=1e-4
    )
    return model


def stored_bytes(model):
    return sum(len(each.raw_data) for each in model.graph.initializer)


@pytest.mark.parametrize(("kind", "size"), [("int8", 4400), ("int4", 2500), ("bfloat16", 6500)])
@pytest.mark.parametrize("body", ["nn.dense(%x, %w)", "nn.matmul(%x, transpose(%w))"])
def test_products(kind, size, body):
    module = rt.infer_types(StoreWeights(kind)(program(body, {"w": floats(40, 80)})))
    model = check(module, floats(3, 80))
    operators = [node.op_type for node in model.graph.node]
    assert ("MatMulNBits" in operators) == (kind != "bfloat16")
    assert stored_bytes(model) < size
    if kind != "bfloat16":
        nodes = post_order(rt.from_onnx(model).main)
        large = [n.data.dtype for n in nodes if isinstance(n, Constant) and n.data.size > 999]
        assert large == [np.dtype("uint8")]


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("block", [4, 16])
def test_odd_blocks_and_zero_points(bits, block):
    size, blocks = 37, -(-37 // block)
    values = {
        "w": RANDOM.integers(0, 256, (9, -(-size * bits // 8))).astype(np.uint8),
        "s": floats(9, blocks).astype(np.float16),
        "z": RANDOM.integers(0, 2**bits, (9, blocks)).astype(np.uint8),
    }
    call = f"qnn.dequantize_blocks(%w, %s, %z, bits={bits}, block={block}, size={size})"
    module = program(f"nn.dense(%x, {call})", values, f"%x: Tensor[(2, {size}), float32]")
    check(module, floats(2, size))


def test_data_that_may_be_bytes_are_told():
    stored = StoreWeights("int4", activations="int8")(
        program("nn.dense(%x, %w)", {"w": floats(40, 80)})
    )
    model = rt.to_onnx(rt.infer_types(stored))
    (node,) = [each for each in model.graph.node if each.op_type == "MatMulNBits"]
    assert {each.name: each.i for each in node.attribute}["accuracy_level"] == 4
    assert 'activations="int8"' in rt.from_onnx(model).astext()


def test_lookups():
    values = {"w": floats(50, 64)}
    body = 'take(%w, cast(%x, dtype="int64"), axis=0)'
    module = rt.infer_types(
        StoreWeights("int4")(program(body, values, "%x: Tensor[(2,), float32]"))
    )
    assert stored_bytes(check(module, np.array([3, 49], np.float32))) < 50 * 64
