from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime
import pytest

from relay_tune.building.build import build
from relay_tune.errors import UnsupportedOperatorError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx

Check = Callable[..., None]
NodeModel = Callable[..., onnx.ModelProto]

ROWS, WIDTH, HIDDEN, EXPERTS = 7, 16, 32, 4
GPT_OSS = {"swiglu_limit": 0.4, "activation_alpha": 1.702, "activation_beta": 1.0}


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32) * 0.5


def bytes_of(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(0, 256, shape, np.uint8)


def layers(gates: int = 1) -> dict[int, np.ndarray]:
    """Weights and biases of the first and the last layer."""
    first, last = floats(EXPERTS, gates * HIDDEN, WIDTH), floats(EXPERTS, WIDTH, HIDDEN)
    return {2: first, 3: floats(EXPERTS, gates * HIDDEN), 4: last, 5: floats(EXPERTS, WIDTH)}


def inputs(constants: dict[int, np.ndarray]) -> list[np.ndarray | None]:
    return [floats(ROWS, WIDTH), 2 * floats(ROWS, EXPERTS), *[None] * (max(constants) - 1)]


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu", "identity"])
def test_experts_of_floats(check_node: Check, activation: str) -> None:
    constants = layers()
    for normalized in (0, 1):
        check_node(
            "MoE",
            *inputs(constants),
            domain="com.microsoft",
            against="onnxruntime",
            constants=constants,
            k=1 + normalized,
            activation_type=activation,
            normalize_routing_weights=normalized,
        )


def test_gated_experts(check_node: Check) -> None:
    constants = layers(gates=2)
    check_node(
        "MoE",
        *inputs(constants),
        domain="com.microsoft",
        against="onnxruntime",
        constants=constants,
        k=2,
        activation_type="swiglu",
        swiglu_fusion=1,
        normalize_routing_weights=1,
        **GPT_OSS,
    )


@pytest.mark.parametrize(("bits", "block"), [(4, 16), (8, 0), (4, 0)])
@pytest.mark.parametrize("has_zeros", [False, True])
def test_experts_of_few_bits(check_node: Check, bits: int, block: int, has_zeros: bool) -> None:
    def stored(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        blocks = columns // block if block else 0
        zeros = (rows, blocks * bits // 8) if block else (rows * bits // 8,)
        numbers = bytes_of(EXPERTS, rows, columns * bits // 8)
        scales = abs(floats(EXPERTS, rows, *([blocks] if block else []))) / 2**bits
        return numbers, scales, bytes_of(EXPERTS, *zeros)

    first, last = stored(HIDDEN, 2 * WIDTH), stored(2 * WIDTH, HIDDEN)
    constants = {2: first[0], 3: first[1], 5: last[0], 6: last[1]}
    constants |= {11: first[2], 12: last[2]} if has_zeros else {}
    given = inputs(constants)
    given[0] = floats(ROWS, 2 * WIDTH)
    check_node(
        "QMoE",
        *given,
        domain="com.microsoft",
        against="onnxruntime",
        constants=constants,
        k=2,
        activation_type="silu",
        normalize_routing_weights=1,  # as onnxruntime does with these in any case
        expert_weight_bits=bits,
        rtol=1e-3,
        **({"block_size": block} if block else {}),
    )


def test_experts_serve_any_number_of_rows(node_model: NodeModel) -> None:
    constants = layers()
    data = [np.zeros((2, 3, WIDTH), np.float32), *inputs(constants)[1:]]
    options = {"k": 2, "activation_type": "silu"}
    model = node_model("MoE", data, domain="com.microsoft", constants=constants, **options)
    for value, names in zip(model.graph.input, (("b", "s"), ("n",)), strict=True):
        for axis, name in enumerate(names):
            value.type.tensor_type.shape.dim[axis].dim_param = name
    program = build(from_onnx(model))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for batch, length in ((1, 1), (2, 9)):
        feeds = {"x0": floats(batch, length, WIDTH), "x1": floats(batch * length, EXPERTS)}
        wanted = session.run(None, feeds)[0]
        np.testing.assert_allclose(program.run(feeds)[0], wanted, rtol=1e-4, atol=1e-5)


def test_a_sparse_mixer_is_refused(node_model: NodeModel) -> None:
    constants = layers()
    model = node_model(
        "MoE", inputs(constants), domain="com.microsoft", constants=constants, use_sparse_mixer=1
    )
    with pytest.raises(UnsupportedOperatorError, match="use_sparse_mixer"):
        from_onnx(model)
