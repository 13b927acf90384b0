"""Branches, loops and functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import InferenceSession

from relay_tune.building.build import build
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.ir.expr import If
from relay_tune.ir.traversal import post_order
from relay_tune.runtime.interpreter.interpret import interpret
from tests.frontend.onnx_import.conftest import onnxruntime_outputs

Check = Callable[..., None]

X = np.array([[1, -2, 3]], np.float32)


def value(name: str, *shape: int, dtype: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def model_of(
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    weights: list[onnx.TensorProto],
    functions: list[onnx.FunctionProto] | None = None,
    outputs: int = 1,
) -> onnx.ModelProto:
    results = [onnx.ValueInfoProto(name=f"y{n}" if n else "y") for n in range(outputs)]
    graph = helper.make_graph(nodes, "g", inputs, results, weights)
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, opset_imports=imports, functions=functions or [], ir_version=10)


def branches() -> onnx.NodeProto:
    """x doubled, or x without its sign; both read x from outside."""
    then = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["t"])], "then", [], [value("t", 1, 3)]
    )
    other = helper.make_graph(
        [helper.make_node("Abs", ["x"], ["e"])], "else", [], [value("e", 1, 3)]
    )
    return helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)


@pytest.mark.parametrize("condition", [True, False])
def test_condition_at_run_time(check: Check, condition: bool) -> None:
    inputs = [value("c", dtype=TensorProto.BOOL), value("x", 1, 3)]
    model = model_of([branches()], inputs, [])
    assert any(isinstance(node, If) for node in post_order(from_onnx(model).main))
    check(model, {"c": np.array(condition), "x": X})


DIFFERENT_ROWS = onnx.parser.parse_model(
    """<ir_version: 10, opset_import: ["": 18]>
    g (bool c, float[n,3] x) => (y, z) {
        y, z = If (c) <
            then_branch = t () => (a, b) { a = Abs(x)  b = Identity(x) },
            else_branch = e () => (a, b) { a = Concat<axis = 0>(x, x)  b = Neg(x) }
        >
    }"""
)


@pytest.mark.parametrize("rows", [None, 1])
@pytest.mark.parametrize("condition", [True, False])
def test_branches_of_different_sizes(condition: bool, rows: int | None) -> None:
    """What has one type in both branches keeps it; the other results are of a size of the run."""
    shapes = {} if rows is None else {"x": (rows, 3)}
    model = build(from_onnx(DIFFERENT_ROWS, shapes=shapes), threads=1)
    feeds = {"c": np.array(condition), "x": X}
    expected = InferenceSession(DIFFERENT_ROWS.SerializeToString()).run(None, feeds)
    for ours, theirs in zip(model.run(None, feeds), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("condition", [True, False])
def test_known_condition_leaves_one_branch(check: Check, condition: bool) -> None:
    weight = numpy_helper.from_array(np.array(condition), "c")
    model = model_of([branches()], [value("x", 1, 3)], [weight])
    assert not any(isinstance(node, If) for node in post_order(from_onnx(model).main))
    check(model, {"x": X})


def loop(trips: int, stop_at: int | None = None) -> onnx.ModelProto:
    """Adds x to a sum in each round and collects the sums."""
    nodes = [helper.make_node("Add", ["v", "x"], ["vo"]), helper.make_node("Neg", ["vo"], ["s"])]
    if stop_at is None:
        nodes.append(helper.make_node("Identity", ["c"], ["co"]))
    else:
        nodes.append(helper.make_node("Less", ["i", "stop"], ["co"]))
    body = helper.make_graph(
        nodes,
        "body",
        [value("i", dtype=TensorProto.INT64), value("c", dtype=TensorProto.BOOL), value("v", 1, 3)],
        [value("co", dtype=TensorProto.BOOL), value("vo", 1, 3), value("s", 1, 3)],
    )
    weights = [
        numpy_helper.from_array(np.array(trips, np.int64), "m"),
        numpy_helper.from_array(np.array(True), "go"),
        numpy_helper.from_array(np.array(stop_at or 0, np.int64), "stop"),
    ]
    node = helper.make_node("Loop", ["m", "go", "x"], ["y", "y1"], body=body)
    return model_of([node], [value("x", 1, 3)], weights, outputs=2)


def test_loop_of_known_length(check: Check) -> None:
    check(loop(4), {"x": X}, against="onnxruntime")


def test_loop_that_stops_by_its_condition(check: Check) -> None:
    check(loop(10, stop_at=2), {"x": X}, against="onnxruntime")


def test_long_loop_is_a_function() -> None:
    module = from_onnx(loop(10**9))
    assert len(module.astext()) < 10_000


def open_loop(trips: int | None, scans: bool = False) -> onnx.ModelProto:
    """Doubles v until the sum reaches 100, `trips` times at most; None: as often as n says."""
    nodes = [
        helper.make_node("Add", ["v", "v"], ["vo"]),
        helper.make_node("ReduceSum", ["vo"], ["total"], keepdims=0),
        helper.make_node("Less", ["total", "bound"], ["co"]),
    ]
    results = [value("co", dtype=TensorProto.BOOL), value("vo", 1, 3)]
    body = helper.make_graph(
        nodes,
        "body",
        [value("i", dtype=TensorProto.INT64), value("c", dtype=TensorProto.BOOL), value("v", 1, 3)],
        [*results, value("vo", 1, 3)] if scans else results,
    )
    weights = [numpy_helper.from_array(np.array(100, np.float32), "bound")]
    inputs = [value("x", 1, 3)]
    if trips is None:
        inputs.append(value("n", 1, dtype=TensorProto.INT64))
    else:
        weights.append(numpy_helper.from_array(np.array(trips, np.int64), "n"))
    node = helper.make_node("Loop", ["n", "", "x"], ["y", "y1"][: 1 + scans], body=body)
    return model_of([node], inputs, weights, outputs=1 + scans)


@pytest.mark.parametrize("rounds", [0, 1, 3, 50])
def test_loop_whose_length_is_an_input(check: Check, rounds: int) -> None:
    feeds = {"x": X, "n": np.array([rounds], np.int64)}
    check(open_loop(None), feeds, against="onnxruntime")


@pytest.mark.parametrize("trips", [2, 1000])
def test_loop_whose_condition_is_computed(check: Check, trips: int) -> None:
    check(open_loop(trips), {"x": X}, against="onnxruntime")


def test_open_loop_runs_natively() -> None:
    model = open_loop(None)
    built = build(from_onnx(model), threads=1)
    np.testing.assert_allclose(built(X, np.array([4], np.int64)), X * 16)


@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 50])
def test_open_loop_that_may_end_early_and_collects(check: Check, rounds: int) -> None:
    feeds = {"x": X, "n": np.array([rounds], np.int64)}
    check(open_loop(None, scans=True), feeds, against="onnxruntime")


def test_open_loop_that_collects_rows_of_unknown_size() -> None:
    text = """<ir_version: 8, opset_import: ["": 16]>
        g (float[n, 2] x, int64 trips, float bound) => (float y, float[r, k, 2] rows) {
            zero = Constant<value_float = 0.0>()
            go = Constant<value = bool {1}>()
            y, rows = Loop(trips, go, zero) <body = b (int64 i, bool c, float t) => (co, to, row) {
                row_kept = ReduceMax<axes = [1], keepdims = 0>(x)
                is_kept = Greater(row_kept, bound)
                row = Compress<axis = 0>(x, is_kept)
                part = ReduceSum<keepdims = 0>(row)
                to = Add(t, part)
                three = Constant<value_float = 3.0>()
                co = Less(to, three)
            }>
        }"""
    model = onnx.parser.parse_model(text)
    x = np.array([[1, 0], [0.5, -1], [-1, -2]], np.float32)
    built, session = build(from_onnx(model)), InferenceSession(model.SerializeToString())
    for trips, bound in ((1, 0), (9, 0), (4, 0.7), (9, -3)):
        feeds = {"x": x, "trips": np.array(trips), "bound": np.array(bound, np.float32)}
        for found, wanted in zip(built.run(feeds), session.run(None, feeds), strict=True):
            assert found.shape == wanted.shape
            np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 7, 50])
def test_open_loop_that_collects_in_each_round(check: Check, rounds: int) -> None:
    nodes = [
        helper.make_node("Identity", ["c"], ["co"]),
        helper.make_node("Add", ["v", "x"], ["vo"]),
        helper.make_node("Cast", ["i"], ["r"], to=TensorProto.FLOAT),
    ]
    body = helper.make_graph(
        nodes,
        "body",
        [value("i", dtype=TensorProto.INT64), value("c", dtype=TensorProto.BOOL), value("v", 1, 3)],
        [value("co", dtype=TensorProto.BOOL), value("vo", 1, 3), value("vo", 1, 3), value("r")],
    )
    node = helper.make_node("Loop", ["n", "", "x"], ["last", "rows", "numbers"], body=body)
    inputs = [value("x", 1, 3), value("n", 1, dtype=TensorProto.INT64)]
    outputs = [onnx.ValueInfoProto(name=name) for name in ("last", "rows", "numbers")]
    graph = helper.make_graph([node], "g", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    feeds = {"x": X, "n": np.array([rounds], np.int64)}
    check(model, feeds, against="onnxruntime")
    if rounds == 7:
        last, rows, numbers = build(from_onnx(model), threads=1)(**feeds)
        np.testing.assert_allclose(last, 8 * X, rtol=1e-5)
        np.testing.assert_allclose(rows[:, 0], np.arange(2, 9)[:, None] * X, rtol=1e-5)
        np.testing.assert_array_equal(numbers, np.arange(7))


LOOP_OF_OUTER_VALUES = """<ir_version: 8, opset_import: ["": 16]>
    g (float[1, 3] x, int64 n) => (float y, float rows) {
        go = Constant<value = bool {1}>()
        e = Exp(x)
        y, rows = Loop(n, go, x) <body = b (int64 i, bool c, float t) => (co, to, row) {
            co = Identity(c)
            to = Add(t, e)
            row = Mul(to, e) }> }"""
SCAN_OF_OUTER_VALUES = """<ir_version: 8, opset_import: ["": 16]>
    g (float[1, 3] x, float[n, 3] z) => (float y, float rows) {
        e = Exp(x)
        s = Exp(z)
        y, rows = Scan<num_scan_inputs = 1, body = b (float[1, 3] t, float[3] r) =>
          (float[1, 3] to, float[1, 3] row) {
            u = Mul(t, e)
            to = Add(u, r)
            row = Identity(to) }>(x, s) }"""


@pytest.mark.parametrize("text", [LOOP_OF_OUTER_VALUES, SCAN_OF_OUTER_VALUES])
def test_what_a_body_reads_of_the_graph_around_is_computed_once(text: str) -> None:
    model = onnx.parser.parse_model(text)
    last = np.array(4) if "Loop" in text else np.full((4, 3), 0.3, np.float32)
    built = build(from_onnx(model), threads=1)
    expected = onnxruntime_outputs(model, {"x": X, ("n" if "Loop" in text else "z"): last})
    for actual, wanted in zip(built(X, last), expected, strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-5)
    events = built.trace(X, last, runs=1).events
    exponentials = sum("exp " in each.title for each in events)
    assert exponentials == text.count("Exp(")


LOOP_OF_AN_OUTER_SIZE = """<ir_version: 8, opset_import: ["": 16]>
    g (float[1, 2, 3, w] x, float[4, 2, 3, 3] k, int64 n) => (float y) {
        go = Constant<value = bool {1}>()
        c = Conv<pads = [1, 1, 1, 1], strides = [1, 2]>(x, k)
        s = Shape(c)
        z = ReduceMax<keepdims = 0>(c)
        y = Loop(n, go, z) <body = b (int64 i, bool go_on, float t) => (co, to) {
            co = Identity(go_on)
            f = Cast<to = 1>(s)
            m = ReduceMax<keepdims = 0>(f)
            to = Add(t, m) }> }"""
LOOP_INTO_AN_OUTER_SIZE = """<ir_version: 8, opset_import: ["": 16]>
    g (float[1, 2, 3, w] x, float[4, 2, 3, 3] k, int64 n) => (float y) {
        go = Constant<value = bool {1}>()
        line = Constant<value = int64[1] {-1}>()
        c = Conv<pads = [1, 1, 1, 1], strides = [1, 2]>(x, k)
        s = Shape(c)
        z = ReduceMax<keepdims = 0>(c)
        y = Loop(n, go, z) <body = b (int64 i, bool go_on, float t) => (co, to) {
            co = Identity(go_on)
            e = Expand(t, s)
            f = Reshape(e, line)
            r = Reshape(f, s)
            a = ConstantOfShape<value = float[1] {0.5}>(s)
            p = Mul(r, a)
            to = ReduceMean<keepdims = 0>(p) }> }"""
STEPS_BEHIND_A_CONVOLUTION = """<ir_version: 8, opset_import: ["": 16]>
    g (float[1, 2, 3, w] x, float[4, 2, 3, 3] k, float[2, 2, 4] a, float[2, 2, 2] b) => (float y) {
        c = Conv<pads = [1, 1, 1, 1], strides = [1, 2]>(x, k)
        m = ReduceMean<axes = [2], keepdims = 0>(c)
        s = Transpose<perm = [2, 0, 1]>(m)
        y = RNN<hidden_size = 2, direction = "bidirectional">(s, a, b) }"""


@pytest.mark.parametrize(
    "text", [LOOP_OF_AN_OUTER_SIZE, LOOP_INTO_AN_OUTER_SIZE, STEPS_BEHIND_A_CONVOLUTION]
)
def test_a_tensor_is_not_computed_again_where_a_body_reads_its_size(text: str) -> None:
    model = onnx.parser.parse_model(text)
    random = np.random.default_rng(3)
    shapes = {"x": (1, 2, 3, 9), "k": (4, 2, 3, 3), "a": (2, 2, 4), "b": (2, 2, 2)}
    names = [each.name for each in model.graph.input]
    feeds = {n: random.normal(size=shapes.get(n, ())).astype("float32") for n in names}
    if "n" in feeds:
        feeds["n"] = np.array(4)
    built = build(from_onnx(model), threads=1)
    for actual, wanted in zip([built(**feeds)], onnxruntime_outputs(model, feeds), strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-5)
    events = built.trace(**feeds, runs=1).events
    assert sum("conv2d" in each.title for each in events) == 1


@pytest.mark.parametrize("rounds", [0, 1, 4])
def test_loop_whose_value_grows_in_each_of_an_open_number_of_rounds(rounds: int) -> None:
    nodes = [
        helper.make_node("Identity", ["c"], ["co"]),
        helper.make_node("Concat", ["v", "x"], ["vo"], axis=0),
    ]
    body = helper.make_graph(
        nodes,
        "body",
        [value("i", dtype=TensorProto.INT64), value("c", dtype=TensorProto.BOOL), value("v")],
        [value("co", dtype=TensorProto.BOOL), value("vo")],
    )
    node = helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)
    model = model_of([node], [value("x", 1, 3), value("n", dtype=TensorProto.INT64)], [])
    module, count = from_onnx(model), np.array(rounds, np.int64)
    expected = np.repeat(X, rounds + 1, axis=0)
    np.testing.assert_array_equal(interpret(module, X, count), expected)
    np.testing.assert_array_equal(build(module, threads=1)(X, count), expected)


@pytest.mark.parametrize("direction", [0, 1])
def test_scan(check: Check, direction: int) -> None:
    body = helper.make_graph(
        [helper.make_node("Add", ["a", "e"], ["b"]), helper.make_node("Identity", ["b"], ["r"])],
        "body",
        [value("a", 2), value("e", 2)],
        [value("b", 2), value("r", 2)],
    )
    node = helper.make_node(
        "Scan",
        ["start", "x"],
        ["y", "y1"],
        body=body,
        num_scan_inputs=1,
        scan_input_directions=[direction],
    )
    start = numpy_helper.from_array(np.array([10, 20], np.float32), "start")
    model = model_of([node], [value("x", 3, 2)], [start], outputs=2)
    feeds = {"x": np.arange(6, dtype=np.float32).reshape(3, 2)}
    if direction == 0:
        check(model, feeds)
    check(model, feeds, against="onnxruntime")


def test_function_of_the_file_with_an_attribute(check: Check) -> None:
    inner = helper.make_node("LeakyRelu", ["a"], ["b"])
    inner.attribute.append(
        onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    )
    function = helper.make_function(
        "local", "Leaky", ["a"], ["b"], [inner], [helper.make_opsetid("", 18)], ["slope"]
    )
    call = helper.make_node("Leaky", ["x"], ["y"], domain="local", slope=0.25)
    model = model_of([call], [value("x", 1, 3)], [], [function])
    check(model, {"x": X}, against="onnxruntime")


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_operator_that_the_standard_defines_by_others(check_node: Check, reduction: str) -> None:
    scores = np.random.default_rng(1).standard_normal((3, 5, 2)).astype(np.float32)
    labels = np.array([[0, 4], [1, 2], [3, 3]], np.int64)
    check_node("SoftmaxCrossEntropyLoss", scores, labels, reduction=reduction)


def test_attention_of_the_standard(check_node: Check) -> None:
    random = np.random.default_rng(2)
    query, key, content = (
        random.standard_normal((2, 2, length, 4)).astype(np.float32) for length in (3, 5, 5)
    )
    check_node("Attention", query, key, content, is_causal=1, opset=23)


def test_sequence_is_a_tuple(check: Check) -> None:
    nodes = [
        helper.make_node("SplitToSequence", ["x"], ["s"], axis=1),
        helper.make_node("SequenceAt", ["s", "last"], ["e"]),
        helper.make_node("SequenceInsert", ["s", "e"], ["longer"]),
        helper.make_node("ConcatFromSequence", ["longer"], ["y"], axis=1),
        helper.make_node("SequenceLength", ["longer"], ["y1"]),
    ]
    last = numpy_helper.from_array(np.array(-1, np.int64), "last")
    check(model_of(nodes, [value("x", 1, 3)], [last], outputs=2), {"x": X})
