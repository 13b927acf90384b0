"""Networks whose sizes only a run knows, against onnxruntime at several sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from relay_tune.building.build import build
from relay_tune.errors import RelayError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.runtime.interpreter.interpret import interpret

RANDOM = np.random.default_rng(7)
FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node

Declared = Mapping[str, tuple[int, Sequence[Any]]]


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def floats(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def model_of(
    nodes: Sequence[onnx.NodeProto],
    inputs: Declared,
    weights: Mapping[str, np.ndarray] | None = None,
    outputs: Sequence[str] = ("y",),
) -> onnx.ModelProto:
    declared = [helper.make_tensor_value_info(n, kind, dims) for n, (kind, dims) in inputs.items()]
    arrays = [numpy_helper.from_array(np.asarray(a), n) for n, a in (weights or {}).items()]
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph(list(nodes), "g", declared, results, arrays)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def check(
    model: onnx.ModelProto,
    feeds: Sequence[Mapping[str, np.ndarray]],
    run: Callable[..., Any] | None = None,
) -> None:
    """The program gives what onnxruntime gives; natively, unless `run` is the interpreter."""
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    module = from_onnx(model)
    program = build(module, threads=1) if run is None else None
    for given in feeds:
        found = program(**given) if program is not None else interpret(module, **given)
        found = found if isinstance(found, tuple) else (found,)
        for actual, expected in zip(found, session.run(None, dict(given)), strict=True):
            assert actual.shape == expected.shape
            np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


SHAPES = [(1, 1, 1), (2, 3, 4), (3, 8, 17)]


def reshaped(target: str) -> list[onnx.NodeProto]:
    """x (b, h, w) reshaped to products, quotients and single sizes of its own."""
    sizes = [node("Shape", ["x"], ["s"]), node("Split", ["s"], ["b", "h", "w"], axis=0)]
    products = [node("Mul", ["b", "h"], ["bh"]), node("Mul", ["h", "w"], ["hw"])]
    return [
        *sizes,
        *products,
        node("Concat", target.split(), ["t"], axis=0),
        node("Reshape", ["x", "t"], ["flat"]),
        node("Concat", ["w", "b", "h"], ["back"], axis=0),
        node("Reshape", ["flat", "back"], ["z"]),
        node("Relu", ["z"], ["y"]),
    ]


@pytest.mark.parametrize("target", ["bh w", "b hw", "h b w", "w one h b", "rest h", "b rest one"])
def test_several_unknown_sizes_in_a_reshape(target: str) -> None:
    weights = {"one": ints(1), "rest": ints(-1)}
    model = model_of(reshaped(target), {"x": (FLOAT, ["b", "h", "w"])}, weights)
    check(model, [{"x": floats(*shape)} for shape in SHAPES], interpret)
    if target in ("bh w", "h b w"):
        check(model, [{"x": floats(*shape)} for shape in SHAPES])


def test_group_norm_over_an_open_image() -> None:
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Reshape", ["x", "groups"], ["g"]),
        node("InstanceNormalization", ["g", "one", "zero"], ["n"]),
        node("Reshape", ["n", "s"], ["y"]),
    ]
    weights = {"groups": ints(0, 2, -1), "one": np.ones(2, "f"), "zero": np.zeros(2, "f")}
    model = model_of(nodes, {"x": (FLOAT, ["b", 4, "h", "w"])}, weights)
    check(model, [{"x": floats(b, 4, h, 5)} for b, h in ((1, 1), (2, 3), (1, 16))])


def test_attention_with_a_past() -> None:
    """Keys that grow, a mask from ranges, batch and heads joined for the products."""
    nodes = [
        node("Concat", ["past", "k"], ["keys"], axis=2),
        node("Transpose", ["keys"], ["kt"], perm=[0, 1, 3, 2]),
        node("MatMul", ["q", "kt"], ["scores"]),
        node("Shape", ["keys"], ["total"], start=2, end=3),
        node("Shape", ["q"], ["new"], start=2, end=3),
        node("Sub", ["total", "new"], ["before"]),
        node("Squeeze", ["total"], ["total0"]),
        node("Squeeze", ["before"], ["before0"]),
        node("Range", ["zero", "total0", "one"], ["columns"]),
        node("Range", ["before0", "total0", "one"], ["rows"]),
        node("Unsqueeze", ["rows", "last"], ["rows1"]),
        node("Greater", ["columns", "rows1"], ["hidden"]),
        node("Where", ["hidden", "minus", "scores"], ["masked"]),
        node("Softmax", ["masked"], ["weights"], axis=-1),
        node("MatMul", ["weights", "keys"], ["y"]),
    ]
    weights = {
        "zero": np.int64(0),
        "one": np.int64(1),
        "last": ints(-1),
        "minus": np.float32(-1e9),
    }
    inputs = {
        "q": (FLOAT, ["b", 2, "t", 8]),
        "k": (FLOAT, ["b", 2, "t", 8]),
        "past": (FLOAT, ["b", 2, "p", 8]),
    }
    sizes = [(1, 1, 1), (2, 3, 5), (1, 1, 20)]
    feeds = [
        {"q": floats(b, 2, t, 8), "k": floats(b, 2, t, 8), "past": floats(b, 2, p, 8)}
        for b, t, p in sizes
    ]
    check(model_of(nodes, inputs, weights), feeds)


@pytest.mark.parametrize("operator", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_recurrence_of_open_length_and_batch(operator: str, direction: str) -> None:
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[operator]
    count = 2 if direction == "bidirectional" else 1
    weights = {"w": floats(count, gates * 5, 3), "r": floats(count, gates * 5, 5)}
    layer = node(operator, ["x", "w", "r", "", "n"], ["y", "h"], hidden_size=5, direction=direction)
    inputs = {"x": (FLOAT, ["t", "b", 3]), "n": (TensorProto.INT32, ["b"])}
    model = model_of([layer], inputs, weights, ["y", "h"])
    feeds = []
    for time, batch in ((1, 1), (7, 2), (16, 3)):
        lengths = RANDOM.integers(1, time + 1, batch).astype(np.int32)
        feeds.append({"x": floats(time, batch, 3), "n": lengths})
    check(model, feeds, None if (operator, direction) == ("LSTM", "bidirectional") else interpret)


@pytest.mark.parametrize("how", ["all", "three", "input"])
def test_topk_of_an_open_axis(how: str) -> None:
    nodes = {
        "all": [node("Shape", ["x"], ["k"], start=1), node("TopK", ["x", "k"], ["y", "i"])],
        "three": [node("TopK", ["x", "three"], ["y", "i"], largest=0)],
        "input": [node("TopK", ["x", "k"], ["y", "i"])],
    }[how]
    inputs: dict[str, tuple[int, Sequence[Any]]] = {"x": (FLOAT, ["b", "n"])}
    if how == "input":
        inputs["k"] = (INT, [1])
    model = model_of(nodes, inputs, {"three": ints(3)}, ["y", "i"])
    feeds: list[dict[str, np.ndarray]] = [{"x": floats(b, n)} for b, n in ((1, 3), (2, 9))]
    if how == "input":
        feeds = [{**each, "k": ints(k)} for each in feeds for k in (0, 1, 3)]
    check(model, feeds)


@pytest.mark.parametrize(
    ("bounds", "dtype"),
    [((0, 7, 1), INT), ((3, -4, -2), INT), ((5, 2, 1), INT), ((0.5, 2.0, 0.25), FLOAT)],
)
def test_range_of_run_time_bounds(bounds: tuple[float, float, float], dtype: int) -> None:
    names = ("first", "last", "step")
    model = model_of([node("Range", names, ["y"])], {name: (dtype, []) for name in names})
    kind = helper.tensor_dtype_to_np_dtype(dtype)
    check(model, [{n: np.array(b, kind) for n, b in zip(names, bounds, strict=True)}])


@pytest.mark.parametrize("first", [-5, -3, 0, 2, 4, 100])
@pytest.mark.parametrize(("last", "step"), [(3, 1), (2**63 - 1, 2), (-1, 1), (-(2**63), -1)])
def test_slice_by_run_time_bounds(first: int, last: int, step: int) -> None:
    names = ("first", "last", "axes", "step")
    cut = node("Slice", ["x", *names], ["y"])
    inputs: Declared = {
        "x": (FLOAT, ["b", "n", 2]),
        **{name: (INT, [1]) for name in ("first", "last", "step")},
    }
    feeds = {"first": ints(first), "last": ints(last), "step": ints(step)}
    check(model_of([cut], inputs, {"axes": ints(1)}), [{"x": floats(2, 5, 2), **feeds}], interpret)


def test_shapes_that_arrive_at_run_time() -> None:
    """ConstantOfShape, Expand, Tile and Trilu, each of something that a run brings."""
    nodes = [
        node("ConstantOfShape", ["shape"], ["zeros"]),
        node("Expand", ["row", "shape"], ["rows"]),
        node("Add", ["zeros", "rows"], ["sum"]),
        node("Trilu", ["sum", "k"], ["triangle"]),
        node("Tile", ["triangle", "copies"], ["y"]),
    ]
    inputs: Declared = {
        "shape": (INT, [2]),
        "row": (FLOAT, [1, "n"]),
        "k": (INT, []),
        "copies": (INT, [2]),
    }
    feeds = [
        {"shape": ints(m, n), "row": floats(1, n), "k": np.int64(k), "copies": ints(2, 3)}
        for m, n, k in ((1, 1, 0), (3, 4, -1), (5, 2, 1))
    ]
    check(model_of(nodes, inputs), [{n: np.asarray(a) for n, a in f.items()} for f in feeds])


def test_names_that_differ_for_equal_sizes() -> None:
    """Sizes without a name, and other names, meet in sums, products and joins."""
    nodes = [
        node("Add", ["x", "bias"], ["a"]),
        node("MatMul", ["a", "w"], ["m"]),
        node("Concat", ["m", "extra"], ["c"], axis=1),
        node("Softmax", ["c"], ["y"]),
    ]
    inputs: Declared = {
        "x": (FLOAT, ["b", "f"]),
        "bias": (FLOAT, [None, "g"]),
        "w": (FLOAT, ["features", 4]),
        "extra": (FLOAT, [None, 2]),
    }
    feeds = [
        {"x": floats(b, f), "bias": floats(b, f), "w": floats(f, 4), "extra": floats(b, 2)}
        for b, f in ((1, 1), (2, 3), (5, 8))
    ]
    model = model_of(nodes, inputs)
    check(model, feeds)
    wrong = {**feeds[1], "extra": floats(4, 2)}
    with pytest.raises(RelayError):
        build(from_onnx(model), threads=1)(**wrong)


def test_an_if_on_sizes_is_decided_where_it_is_the_same_for_all() -> None:
    def branch(name: str, operator: str) -> onnx.GraphProto:
        output = helper.make_tensor_value_info(name, FLOAT, None)
        return helper.make_graph([node(operator, ["x"], [name])], name, [], [output])

    nodes = [
        node("Shape", ["x"], ["n"], start=0, end=1),
        node("Add", ["n", "one"], ["more"]),
        node("Greater", ["more", "n"], ["always"]),
        node("Squeeze", ["always"], ["c"]),
        node("If", ["c"], ["y"], then_branch=branch("a", "Relu"), else_branch=branch("b", "Shape")),
    ]
    model = model_of(nodes, {"x": (FLOAT, ["n", 3])}, {"one": ints(1)})
    np.testing.assert_array_equal(interpret(from_onnx(model), x=np.full((2, 3), -1, "f")), 0)


@pytest.mark.parametrize("axis", [0, 1, None])
def test_compress_by_a_condition_of_the_run(axis: int | None) -> None:
    options = {} if axis is None else {"axis": axis}
    model = model_of(
        [node("Compress", ["x", "c"], ["y"], **options)],
        {"x": (FLOAT, ["b", 4]), "c": (BOOL, ["n"])},
    )
    count = 12 if axis is None else (3, 4)[axis]
    feeds = [{"x": floats(3, 4), "c": RANDOM.random(count) > part} for part in (0.5, 2.0, -1.0)]
    check(model, feeds)


def test_indices_from_the_end_of_an_open_axis() -> None:
    nodes = [
        node("Gather", ["x", "last"], ["a"], axis=1),
        node("Gather", ["x", "i"], ["b"], axis=1),
        node("GatherElements", ["x", "e"], ["c"], axis=1),
    ]
    weights = {"last": np.int64(-1), "e": ints(-1, 0).reshape(1, 2)}
    inputs: Declared = {"x": (FLOAT, [1, "n"]), "i": (INT, ["m"])}
    model = model_of(nodes, inputs, weights, ["a", "b", "c"])
    check(model, [{"x": floats(1, n), "i": ints(-1, 0, 1, -2)} for n in (2, 5)])


@pytest.mark.parametrize("backwards", [0, 1])
def test_scan_of_open_length(backwards: int) -> None:
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [node("Add", ["state", "row"], ["next"]), node("Mul", ["next", "row"], ["out"])],
        "body",
        [info("state", FLOAT, [3]), info("row", FLOAT, [3])],
        [info("next", FLOAT, [3]), info("out", FLOAT, [3])],
    )
    scan = node(
        "Scan",
        ["s", "x"],
        ["last", "y"],
        body=body,
        num_scan_inputs=1,
        scan_input_axes=[1],
        scan_input_directions=[backwards],
        scan_output_axes=[1],
        scan_output_directions=[backwards],
    )
    inputs: Declared = {"s": (FLOAT, [3]), "x": (FLOAT, [3, "t"])}
    model = model_of([scan], inputs, None, ["last", "y"])
    check(model, [{"s": floats(3), "x": floats(3, t)} for t in (1, 2, 9)])


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pads_that_depend_on_sizes(mode: str) -> None:
    """To a multiple of 4 behind the end, and by what an input says before the start."""
    nodes = [
        node("Shape", ["x"], ["n"], start=1),
        node("Mod", ["n", "four"], ["over"]),
        node("Sub", ["four", "over"], ["missing"]),
        node("Mod", ["missing", "four"], ["after"]),
        node("Concat", ["zero", "before", "zero", "after"], ["pads"], axis=0),
        node("Pad", ["x", "pads"], ["y"], mode=mode),
    ]
    inputs: Declared = {"x": (FLOAT, ["b", "n"]), "before": (INT, [1])}
    model = model_of(nodes, inputs, {"four": ints(4), "zero": ints(0)})
    check(model, [{"x": floats(2, n), "before": ints(b)} for n, b in ((5, 0), (9, 3))], interpret)


@pytest.mark.parametrize(
    ("mode", "coordinates", "rounding"),
    [
        ("nearest", "asymmetric", "floor"),
        ("nearest", "half_pixel", "round_prefer_ceil"),
        ("linear", "half_pixel", "floor"),
        ("linear", "align_corners", "floor"),
        ("cubic", "pytorch_half_pixel", "floor"),
    ],
)
@pytest.mark.parametrize("by", ["scales", "sizes", "input"])
def test_resize_of_an_open_image(mode: str, coordinates: str, rounding: str, by: str) -> None:
    nodes = [
        node("Shape", ["x"], ["n"], start=2),
        node("Mul", ["n", "three"], ["larger"]),
        node("Concat", ["batch", "larger"], ["wanted"], axis=0),
        node(
            "Resize",
            {"scales": ["x", "", "scales"]}.get(
                by, ["x", "", "", "given" if by == "input" else "wanted"]
            ),
            ["y"],
            mode=mode,
            coordinate_transformation_mode=coordinates,
            nearest_mode=rounding,
        ),
    ]
    weights = {
        "three": ints(3),
        "batch": ints(1, 1),
        "scales": np.array([1, 1, 2, 3 if coordinates == "align_corners" else 1.5], np.float32),
    }
    inputs: dict[str, tuple[int, Sequence[Any]]] = {"x": (FLOAT, [1, 1, "h", "w"])}
    if by == "input":
        inputs["given"] = (INT, [4])
    feeds: list[dict[str, np.ndarray]] = [{"x": floats(1, 1, *s)} for s in ((2, 3), (7, 4))]
    if by == "input":
        feeds = [{**each, "given": ints(1, 1, 5, 6)} for each in feeds]
    check(model_of(nodes, inputs, weights), feeds, interpret)


def test_upsampling_natively() -> None:
    layer = node("Resize", ["x", "", "scales"], ["y"], mode="linear")
    weights = {"scales": np.array([1, 1, 2, 2], np.float32)}
    model = model_of([layer], {"x": (FLOAT, ["b", 2, "h", "w"])}, weights)
    check(model, [{"x": floats(b, 2, h, w)} for b, h, w in ((1, 1, 1), (2, 3, 5))])


@pytest.mark.parametrize(
    ("kernel", "step", "pads"), [(3, 2, (1, 1)), (2, 2, (0, 0)), (3, 3, (0, 0))]
)
def test_pool_that_rounds_up_over_an_open_axis(
    kernel: int, step: int, pads: tuple[int, int]
) -> None:
    pool = node(
        "MaxPool", ["x"], ["y"], kernel_shape=[kernel], strides=[step], pads=pads, ceil_mode=1
    )
    model = model_of([pool], {"x": (FLOAT, [1, 2, "n"])})
    check(model, [{"x": floats(1, 2, n)} for n in range(3, 9)], interpret)


@pytest.mark.parametrize("operator", ["DepthToSpace", "SpaceToDepth"])
def test_blocks_of_an_open_image(operator: str) -> None:
    model = model_of([node(operator, ["x"], ["y"], blocksize=2)], {"x": (FLOAT, [1, 4, "h", "w"])})
    check(model, [{"x": floats(1, 4, 2, 4)}, {"x": floats(1, 4, 6, 2)}], interpret)


def kept_rows(*nodes: onnx.NodeProto, rank: int = 2, **weights: np.ndarray) -> onnx.ModelProto:
    """Nodes on `kept`: rows of x that a value of the run chooses, so that their count is `?`."""
    chosen = node("Compress", ["x", "chosen"], ["kept"], axis=rank - 2)
    inputs = {"x": (FLOAT, [1] * (rank - 2) + ["n", 4]), "chosen": (BOOL, ["n"])}
    return model_of([chosen, *nodes], inputs, weights)


def check_kept_rows(model: onnx.ModelProto, rank: int = 2) -> None:
    feeds = []
    for chosen in ([True, False, True, True], [False, True, True]):
        rows = floats(*[1] * (rank - 2), len(chosen), 4)
        feeds.append({"x": rows, "chosen": np.array(chosen)})
    check(model, feeds, interpret)
    check(model, feeds)


def test_diagonal_as_large_as_chosen_rows() -> None:
    check_kept_rows(kept_rows(node("EyeLike", ["kept"], ["y"], k=1)))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_padding_of_chosen_rows(mode: str) -> None:
    layer = node("Pad", ["kept", "pads"], ["y"], mode=mode)
    check_kept_rows(kept_rows(layer, pads=ints(1, 0, 1, 0)))


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("by", ["scales", "sizes"])
def test_resizing_of_chosen_rows(mode: str, by: str) -> None:
    factors = {"scales": np.array([1, 1, 1.5, 1], np.float32), "sizes": ints(1, 1, 5, 4)}
    names = ["kept", "", by] if by == "scales" else ["kept", "", "", by]
    layer = node("Resize", names, ["y"], mode=mode)
    check_kept_rows(kept_rows(layer, rank=4, **{by: factors[by]}), rank=4)


def test_split_of_open_columns_of_chosen_rows() -> None:
    chosen = node("Compress", ["x", "chosen"], ["kept"], axis=0)
    width = node("Shape", ["x"], ["width"], start=1, end=2)
    rest = node("Sub", ["width", "one"], ["rest"])
    sizes = node("Concat", ["one", "rest"], ["sizes"], axis=0)
    split = node("Split", ["kept", "sizes"], ["left", "y"], axis=1)
    inputs = {"x": (FLOAT, ["n", "m"]), "chosen": (BOOL, ["n"])}
    model = model_of([chosen, width, rest, sizes, split], inputs, {"one": ints(1)})
    feeds = [{"x": floats(3, m), "chosen": np.array([True, False, True])} for m in (3, 5)]
    check(model, feeds)


def test_maxima_and_their_indices_of_chosen_examples() -> None:
    chosen = node("Compress", ["x", "chosen"], ["kept"], axis=0)
    pool = node("MaxPool", ["kept"], ["z", "y"], kernel_shape=[2], strides=[2])
    inputs = {"x": (FLOAT, ["n", 2, 6]), "chosen": (BOOL, ["n"])}
    model = model_of([chosen, pool], inputs, outputs=("z", "y"))
    check(model, [{"x": floats(3, 2, 6), "chosen": np.array([True, False, True])}])


@pytest.mark.parametrize("backwards", [0, 1])
def test_scan_of_chosen_rows(backwards: int) -> None:
    row = [helper.make_tensor_value_info(name, FLOAT, [4]) for name in ("s", "r", "t", "u")]
    steps = [node("Add", ["s", "r"], ["t"]), node("Mul", ["t", "r"], ["u"])]
    body = helper.make_graph(steps, "body", row[:2], row[2:])
    scan = node(
        "Scan",
        ["start", "kept"],
        ["last", "y"],
        body=body,
        num_scan_inputs=1,
        scan_input_directions=[backwards],
    )
    check_kept_rows(kept_rows(scan, start=np.ones(4, np.float32)))
