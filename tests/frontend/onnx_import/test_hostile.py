"""Malformed and hostile files: one error that says where, never a crash or a large allocation."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from benchmarks.fuzzing.mutations import mutated_bytes
from relay_tune.errors import InputError, ModelError, RelayError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import import graph
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.ir.module import Module


def value(name: str, *shape: int | str, dtype: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def make(
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    weights: list[onnx.TensorProto] | None = None,
    functions: list[onnx.FunctionProto] | None = None,
    opset: int = 18,
) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name="y")], weights or [])
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, opset_imports=imports, functions=functions or [])


def node(operator: str, inputs: list[str], **options: Any) -> onnx.NodeProto:
    return helper.make_node(operator, inputs, options.pop("outputs", ["y"]), name="n", **options)


def error_of(model: onnx.ModelProto | bytes) -> RelayError:
    with pytest.raises(RelayError) as caught:
        from_onnx(model)
    return caught.value


def test_bytes_that_are_no_model() -> None:
    assert isinstance(error_of(b"this is no model"), ModelError)
    assert isinstance(error_of(b""), ModelError)


def test_file_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        from_onnx(tmp_path / "none.onnx")


def test_weight_with_too_few_bytes() -> None:
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4], raw_data=b"\0" * 12)
    error = error_of(make([node("Add", ["x", "w"])], [value("x", 4)], [weight]))
    assert "needs 16 bytes, but has 12" in error.message


@pytest.mark.parametrize("dims", [[-1], [2**40, 2**40], [2**62, 4]])
def test_weight_with_an_impossible_shape(dims: list[int]) -> None:
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=dims, raw_data=b"\0" * 4)
    assert isinstance(error_of(make([node("Relu", ["w"])], [], [weight])), ModelError)


def test_value_that_nothing_computes() -> None:
    error = error_of(make([node("Relu", ["nowhere"])], [value("x", 2)]))
    assert error.where == "node 'n' (Relu)"
    assert "'nowhere'" in error.message


def test_cycle() -> None:
    nodes = [node("Relu", ["y"], outputs=["a"]), node("Relu", ["a"])]
    assert isinstance(error_of(make(nodes, [])), ModelError)


def test_value_computed_twice() -> None:
    nodes = [node("Relu", ["x"]), node("Abs", ["x"])]
    assert "twice" in error_of(make(nodes, [value("x", 2)])).message


def test_shapes_that_do_not_fit_name_the_node_and_the_sizes() -> None:
    error = error_of(make([node("Add", ["a", "b"])], [value("a", 2, 3), value("b", 4)]))
    assert isinstance(error, ModelError)
    assert error.where == "node 'n' (Add)"
    assert "Tensor[(2, 3), float32]" in error.message
    assert "Tensor[(4,), float32]" in error.message


def test_attribute_of_the_wrong_type() -> None:
    error = error_of(make([node("Softmax", ["x"], axis=1.5)], [value("x", 2)]))
    assert "attribute axis has the type FLOAT, but must have the type INT" in error.message


def test_missing_input() -> None:
    error = error_of(make([node("Conv", ["x"])], [value("x", 1, 2, 4, 4)]))
    assert "input 1 is missing" in error.message


def test_unsupported_operators_are_listed_before_anything_else() -> None:
    nodes = [
        node("ImageDecoder", ["x", "broken"], outputs=["a"]),
        node("StringSplit", ["a"], outputs=["b", "c"]),
        node("StringSplit", ["b"], outputs=["y", "d"]),
    ]
    error = error_of(make(nodes, [value("x", 2)], opset=20))
    assert isinstance(error, UnsupportedOperatorError)
    assert "ImageDecoder, StringSplit" in error.message
    assert error.notes[1].startswith("StringSplit: 2 node(s)")


@pytest.mark.parametrize("shape", [[10**12], [2**40, 2**40], [-1]])
def test_constant_of_an_enormous_shape(shape: list[int]) -> None:
    weight = numpy_helper.from_array(np.array(shape, np.int64), "s")
    assert isinstance(error_of(make([node("ConstantOfShape", ["s"])], [], [weight])), ModelError)


def test_many_large_constants_are_limited_in_total() -> None:
    weight = numpy_helper.from_array(np.array([30_000_000], np.int64), "s")
    nodes = [node("ConstantOfShape", ["s"], outputs=[f"a{n}"]) for n in range(100)]
    nodes += [node("Expand", ["a0", "s"])]
    assert isinstance(from_onnx(make(nodes, [], [weight])), Module)


def test_enormous_range() -> None:
    scalars = [
        numpy_helper.from_array(np.array(v, np.int64), n)
        for n, v in (("a", 0), ("b", 2**62), ("c", 1))
    ]
    assert isinstance(error_of(make([node("Range", ["a", "b", "c"])], [], scalars)), ModelError)


@pytest.mark.parametrize("size", [0, -1, 2**31, 2**62])
def test_block_size_that_does_not_fit(size: int) -> None:
    model = make([node("DepthToSpace", ["x"], blocksize=size)], [value("x", 1, 4, 2, 2)])
    assert isinstance(error_of(model), ModelError)


def test_smallest_integer_divided_by_minus_one() -> None:
    weights = [
        numpy_helper.from_array(np.array([v], np.int64), n) for n, v in (("a", -(2**63)), ("b", -1))
    ]
    assert isinstance(from_onnx(make([node("Div", ["a", "b"])], [], weights)), Module)


@pytest.mark.parametrize(
    ("operator", "attributes"),
    [
        ("MaxPool", {"kernel_shape": [2**40, 2]}),
        ("MaxPool", {"kernel_shape": [0, 2]}),
        ("AveragePool", {"kernel_shape": [2, 2], "strides": [0, 1]}),
        ("MaxPool", {"kernel_shape": [2, 2], "pads": [-5, 0, 0, 0]}),
        ("LRN", {"size": -3}),
        ("Flatten", {"axis": 2**40}),
        ("Transpose", {"perm": [0, 0, 1, 2]}),
        ("ReduceSum", {"keepdims": 2**62, "axes": [99]}),
    ],
)
def test_impossible_attributes(operator: str, attributes: dict[str, Any]) -> None:
    model = make([node(operator, ["x"], **attributes)], [value("x", 1, 4, 6, 6)], opset=12)
    assert isinstance(error_of(model), ModelError)


def local_function(name: str, callee: str) -> onnx.FunctionProto:
    body = [helper.make_node(callee, ["a"], ["b"], domain="local" if callee != "Relu" else "")]
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]
    return helper.make_function("local", name, ["a"], ["b"], body, imports)


def test_function_that_calls_itself() -> None:
    functions = [local_function("F", "F")]
    call = node("F", ["x"], domain="local")
    error = error_of(make([call], [value("x", 2)], functions=functions))
    assert "calls itself" in error.message


def test_deep_chain_of_functions() -> None:
    functions = [local_function(f"F{n}", f"F{n + 1}") for n in range(3000)]
    functions.append(local_function("F3000", "Relu"))
    call = node("F0", ["x"], domain="local")
    assert isinstance(error_of(make([call], [value("x", 2)], functions=functions)), ModelError)


def test_functions_that_double_at_each_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "MAXIMUM_EXPANDED_NODES", 5_000)
    functions = []
    for n in range(40):
        callee = f"F{n + 1}" if n < 39 else "Relu"
        domain = "local" if n < 39 else ""
        body = [
            helper.make_node(callee, ["a"], ["c"], domain=domain),
            helper.make_node(callee, ["c"], ["b"], domain=domain),
        ]
        imports = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]
        functions.append(helper.make_function("local", f"F{n}", ["a"], ["b"], body, imports))
    call = node("F0", ["x"], domain="local")
    error = error_of(make([call], [value("x", 2)], functions=functions))
    assert "expand to more than 5000 nodes" in error.message


def external(location: str) -> onnx.ModelProto:
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2])
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value=location)
    return make([node("Relu", ["w"])], [], [weight])


@pytest.mark.parametrize("location", ["../secret", "/etc/hostname", "", "a\0b", "sub/../../x"])
def test_external_data_outside_the_folder(tmp_path: Path, location: str) -> None:
    path = tmp_path / "model" / "m.onnx"
    path.parent.mkdir()
    (tmp_path / "secret").write_bytes(b"\0" * 8)
    path.write_bytes(external(location).SerializeToString())
    with pytest.raises(ModelError):
        from_onnx(path)


def test_external_data_that_was_left_behind_or_cut(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(external("weights").SerializeToString())
    for content, reason in ((None, "No such file"), (b"abc", "of weights, which has 3")):
        if content is not None:
            (tmp_path / "weights").write_bytes(content)
        with pytest.raises(ModelError, match=reason) as caught:
            from_onnx(path)
        assert "together with its data files" in str(caught.value.remedy)


def test_external_data_beside_the_model(tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(np.array([-1, 2], np.float32).tobytes())
    path = tmp_path / "m.onnx"
    path.write_bytes(external("weights").SerializeToString())
    assert isinstance(from_onnx(path), Module)


def test_data_that_may_never_end_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "weights")
    (tmp_path / "m.onnx").write_bytes(external("weights").SerializeToString())
    (tmp_path / "zeros.onnx").symlink_to("/dev/zero")
    for name in ("m", "zeros"):
        with pytest.raises(InputError, match="no regular file"):
            from_onnx(tmp_path / f"{name}.onnx")


def test_external_data_of_a_model_without_a_file() -> None:
    assert "was not read from a file" in error_of(external("weights")).message


def test_endless_loop() -> None:
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["c"], ["co"]),
            helper.make_node("Identity", ["v"], ["vo"]),
        ],
        "body",
        [value("i", dtype=TensorProto.INT64), value("c", dtype=TensorProto.BOOL), value("v", 2)],
        [value("co", dtype=TensorProto.BOOL), value("vo", 2)],
    )
    model = make([node("Loop", ["", "", "x"], body=body)], [value("x", 2)])
    assert isinstance(error_of(model), UnsupportedOperatorError)


def small_network() -> bytes:
    random = np.random.default_rng(3)
    weights = [
        numpy_helper.from_array(random.standard_normal((4, 3, 3, 3)).astype(np.float32), "w"),
        numpy_helper.from_array(np.array([1, -1], np.int64), "s"),
        numpy_helper.from_array(random.standard_normal((64, 5)).astype(np.float32), "m"),
    ]
    nodes = [
        node("Conv", ["x", "w"], outputs=["a"], pads=[1, 1, 1, 1]),
        node("Relu", ["a"], outputs=["b"]),
        node("MaxPool", ["b"], outputs=["c"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Reshape", ["c", "s"], outputs=["d"]),
        node("MatMul", ["d", "m"], outputs=["e"]),
        node("Softmax", ["e"]),
    ]
    return make(nodes, [value("x", 1, 3, 8, 8)], weights).SerializeToString()


@pytest.mark.parametrize("seed", range(4))
def test_mutated_files_give_a_module_or_one_error(seed: int) -> None:
    random = np.random.default_rng(seed)
    content = small_network()
    for _ in range(100):
        try:
            from_onnx(mutated_bytes(content, random))
        except RelayError as error:
            assert str(error)
