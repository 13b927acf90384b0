"""Write digits.onnx: a small classifier of 8x8 pictures with random weights."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

random = np.random.default_rng(0)


def weight(name: str, *shape: int) -> onnx.TensorProto:
    """A weight with seeded random values."""
    values = random.standard_normal(shape).astype(np.float32) / np.sqrt(np.prod(shape[1:]))
    return numpy_helper.from_array(values.astype(np.float32), name)


nodes = [
    helper.make_node("Conv", ["picture", "filters"], ["features"], pads=[1, 1, 1, 1]),
    helper.make_node("Relu", ["features"], ["active"]),
    helper.make_node("GlobalAveragePool", ["active"], ["pooled"]),
    helper.make_node("Flatten", ["pooled"], ["flat"]),
    helper.make_node("Gemm", ["flat", "classes"], ["scores"], transB=1),
    helper.make_node("Softmax", ["scores"], ["probability"], axis=1),
]
graph = helper.make_graph(
    nodes,
    "digits",
    [helper.make_tensor_value_info("picture", TensorProto.FLOAT, [1, 1, 8, 8])],
    [helper.make_tensor_value_info("probability", TensorProto.FLOAT, [1, 10])],
    [weight("filters", 16, 1, 3, 3), weight("classes", 10, 16)],
)
opset = [helper.make_opsetid("", 18)]
onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), "digits.onnx")
