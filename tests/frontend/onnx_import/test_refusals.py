"""One error lists everything of a model that cannot be imported, and nothing that follows from it.

To write the golden message anew after a change of wording: RELAY_TUNE_UPDATE_ERRORS=1 pytest this
file, then read the difference.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import FunctionProto, GraphProto, NodeProto, TensorProto, helper, numpy_helper

from relay_tune.errors import ModelError, RelayError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.frontend.onnx_import.refusals import MAXIMUM_LINES
from tests.golden_errors import assert_golden

GOLDEN = Path(__file__).parents[2] / "errors" / "onnx"

TRAINING = numpy_helper.from_array(np.array(True), "training")


def value(name: str, *shape: int | str, dtype: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def node(operator: str, inputs: list[str], output: str, **options: Any) -> NodeProto:
    return helper.make_node(operator, inputs, [output], name=f"n_{output}", **options)


def as_text(source: str, output: str) -> NodeProto:
    return node("Cast", [source], output, to=TensorProto.STRING)


def body(nodes: list[NodeProto], output: str, inputs: tuple[str, ...] = ()) -> GraphProto:
    values = [onnx.ValueInfoProto(name=name) for name in inputs]
    return helper.make_graph(nodes, "body", values, [onnx.ValueInfoProto(name=output)])


def error_of(
    nodes: list[NodeProto],
    inputs: list[onnx.ValueInfoProto],
    weights: tuple[TensorProto, ...] = (),
    functions: tuple[FunctionProto, ...] = (),
) -> RelayError:
    output = onnx.ValueInfoProto(name=nodes[-1].output[0])
    graph = helper.make_graph(nodes, "g", inputs, [output], [TRAINING, *weights])
    imports = [helper.make_opsetid("", 20), helper.make_opsetid("example", 1)]
    model = helper.make_model(graph, opset_imports=imports, functions=functions)
    with pytest.raises(RelayError) as caught:
        from_onnx(model)
    return caught.value


def names_of(error: RelayError) -> list[str]:
    return [each.name for each in error.refusals]


def test_operators_types_attributes_and_forms_are_listed_at_once() -> None:
    nodes = [
        node("Strange", ["x"], "a", domain="example"),
        node("Relu", ["a"], "after"),
        as_text("x", "b"),
        as_text("x", "c"),
        node("GridSample", ["volume", "grid"], "d", mode="cubic"),
        node("Resize", ["image", "", "scales"], "e", mode="lanczos"),
        node("Constant", [], "f", value_string="text"),
        node("Identity", ["words"], "g"),
        node("Identity", ["labels"], "k"),
        node("Softmax", ["x"], "h", axis=1.5),
        node("Add", ["b", "after"], "y"),
    ]
    inputs = [
        value("x", 2, 3),
        value("volume", 1, 2, 4, 4, 4),
        value("grid", 1, 4, 4, 4, 3),
        value("image", 1, 3, 8, 8),
        value("words", 2, dtype=TensorProto.STRING),
    ]
    weights = (
        numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales"),
        helper.make_tensor("labels", TensorProto.STRING, [1], [b"cat"]),
    )
    error = error_of(nodes, inputs, weights)
    assert isinstance(error, UnsupportedOperatorError)
    expected = ["n_a", "labels", "words", "n_b", "n_c", "n_d", "n_e", "n_f", "n_h"]
    assert names_of(error) == expected
    assert_golden(f"{error}\n", GOLDEN / "many_faults.err")


def test_a_single_fault_keeps_its_own_message() -> None:
    error = error_of([as_text("x", "a"), node("Relu", ["a"], "y")], [value("x", 2)])
    assert error.where == "node 'n_a' (Cast)"
    assert error.message == "the result has the element type string, which is not supported."
    assert names_of(error) == ["n_a"]


def test_malformed_nodes_are_listed_as_malformed() -> None:
    nodes = [
        node("Softmax", ["x"], "a", axis=1.5),
        node("Softmax", ["x"], "b", axis=7),
        node("Add", ["a", "b"], "y"),
    ]
    error = error_of(nodes, [value("x", 2)])
    assert isinstance(error, ModelError)
    assert names_of(error) == ["n_a", "n_b"]


def test_both_branches_are_examined() -> None:
    branches = {
        "then_branch": body([as_text("x", "s"), node("Relu", ["s"], "t")], "t"),
        "else_branch": body([as_text("x", "o")], "o"),
    }
    nodes = [node("If", ["c"], "i", **branches), node("Relu", ["i"], "y")]
    inputs = [value("x", 2), value("c", dtype=TensorProto.BOOL)]
    assert names_of(error_of(nodes, inputs)) == ["n_s", "n_o"]


def test_a_branch_that_is_not_taken_has_no_faults() -> None:
    branches = {
        "then_branch": body([as_text("x", "t")], "t"),
        "else_branch": body([as_text("x", "o")], "o"),
    }
    assert names_of(error_of([node("If", ["training"], "y", **branches)], [value("x", 2)])) == [
        "n_t"
    ]


@pytest.mark.parametrize("start", ["x", "refused"])
@pytest.mark.parametrize("limit", ["fixed", "n"])
def test_a_body_of_a_loop_is_listed_once(start: str, limit: str) -> None:
    inner = [
        node("Identity", ["go"], "go_on"),
        as_text("x", "in_body"),
        node("Add", ["v", "in_body"], "next"),
    ]
    graph = body(inner, "go_on", ("i", "go", "v"))
    graph.output.append(onnx.ValueInfoProto(name="next"))
    del graph.input[:]
    boolean, number = value("go", dtype=TensorProto.BOOL), value("i", dtype=TensorProto.INT64)
    graph.input.extend([number, boolean, value("v", 2)])
    nodes = [as_text("x", "refused"), node("Loop", [limit, "", start], "y", body=graph)]
    fixed = numpy_helper.from_array(np.array(3, np.int64), "fixed")
    inputs = [value("x", 2), value("n", dtype=TensorProto.INT64)]
    assert names_of(error_of(nodes, inputs, (fixed,))) == ["n_refused", "n_in_body"]


def test_nodes_in_functions_are_named_by_their_calls() -> None:
    opsets = [helper.make_opsetid("", 20)]
    content = [cubic_in_function(), node("Relu", ["inner"], "result")]
    function = helper.make_function("example", "Block", ["v"], ["result"], content, opsets)
    nodes = [
        node("Block", ["x"], "a", domain="example"),
        node("Block", ["a"], "b", domain="example"),
        node("Relu", ["b"], "y"),
    ]
    assert names_of(error_of(nodes, [value("x", 2)], functions=(function,))) == ["n_a/n_inner"]


def cubic_in_function() -> NodeProto:
    return node("GridSample", ["v", "v"], "inner", mode="cubic")


def test_values_that_only_a_run_knows_name_all_inputs() -> None:
    nodes = [
        node("Relu", ["x"], "r"),
        node("Pad", ["r", "pads", "", "axes"], "a"),
        node("Pad", ["r", "pads", "", "other"], "b"),
        node("Add", ["a", "b"], "y"),
    ]
    inputs = [
        value("x", 3, 4),
        value("axes", 1, dtype=TensorProto.INT64),
        value("other", 1, dtype=TensorProto.INT64),
    ]
    pads = numpy_helper.from_array(np.array([1, 1], np.int64), "pads")
    error = error_of(nodes, inputs, (pads,))
    assert [each.inputs for each in error.refusals] == [("axes",), ("other",)]


def test_what_ends_the_import_is_listed_too() -> None:
    nodes = [as_text("x", "a"), node("Relu", ["x"], "b"), node("Relu", ["x"], "b")]
    error = error_of(nodes, [value("x", 2)])
    assert isinstance(error, UnsupportedOperatorError)
    assert len(error.refusals) == 2
    assert "The import ended here: node 'n_b' (Relu): the value 'b'" in error.notes[1]


def test_many_faults_are_cut_off() -> None:
    nodes = [node(f"Odd{n}", ["x"], f"y{n}", domain="example") for n in range(50)]
    error = error_of(nodes, [value("x", 2)])
    assert len(error.refusals) == 50
    assert len(error.notes) == MAXIMUM_LINES + 1
    assert error.notes[-1] == "... and 30 more."


def test_what_a_standard_definition_lacks_is_a_fault_of_its_node() -> None:
    target = value("target", 2, dtype=TensorProto.INT64)
    loss = node("NegativeLogLikelihoodLoss", ["x", "target"], "y", reduction="mean")
    error = error_of([loss], [value("x", 2, 3, dtype=TensorProto.FLOAT8E5M2), target])
    assert isinstance(error, UnsupportedOperatorError)
    assert names_of(error) == ["n_y"]


LABELS = "Fit the model on numbers of classes, and keep their names beside it."


def classifier(nodes: list[NodeProto]) -> RelayError:
    """The error of a classifier of rows, any number of them, whose classes have names."""
    options = {"coefficients": [1.0, -1.0], "classlabels_strings": ["a", "b"]}
    linear = helper.make_node(
        "LinearClassifier", ["x"], ["label", "p"], domain="ai.onnx.ml", **options
    )
    graph = helper.make_graph(
        [linear, *nodes], "g", [value("x", "n", 1)], [onnx.ValueInfoProto(name="p")]
    )
    imports = [helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 3)]
    with pytest.raises(RelayError) as caught:
        from_onnx(helper.make_model(graph, opset_imports=imports))
    return caught.value


def test_sizes_are_no_help_against_what_has_a_help_of_its_own() -> None:
    assert classifier([]).remedy == LABELS
    zipped = helper.make_node(
        "ZipMap", ["x"], ["z"], domain="ai.onnx.ml", classlabels_strings=["a", "b"]
    )
    assert classifier([zipped]).remedy == (
        f"{LABELS} Export the model without it: options={{'zipmap': False}} of skl2onnx."
    )


def test_files_of_one_machine_are_told_where_they_come_from() -> None:
    convolution = node("Conv", ["x", "w"], "y", domain="com.microsoft.nchwc")
    graph = helper.make_graph(
        [convolution, node("Strange", ["y"], "z", domain="com.microsoft.nchwc")],
        "g",
        [value("x", "n", 8, 4, 4), value("w", 8, 8, 1, 1)],
        [onnx.ValueInfoProto(name="z")],
    )
    imports = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft.nchwc", 1)]
    with pytest.raises(UnsupportedOperatorError) as caught:
        from_onnx(helper.make_model(graph, opset_imports=imports))
    assert caught.value.remedy == (
        "ONNX Runtime wrote this file for one machine: import the one that it was made from, or "
        "let it optimise no further than ORT_ENABLE_EXTENDED."
    )


def test_inputs_that_nothing_reads_may_have_any_type() -> None:
    names = value("names", "n", dtype=TensorProto.STRING)
    inner = body([node("Identity", ["names"], "inner")], "inner")
    for nodes, is_read in (([], False), ([node("If", ["c"], "z", then_branch=inner)], True)):
        graph = helper.make_graph(
            [node("Relu", ["x"], "y"), *nodes],
            "g",
            [names, value("x", "n"), value("c", dtype=TensorProto.BOOL)],
            [onnx.ValueInfoProto(name="y")],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
        if is_read:
            with pytest.raises(UnsupportedOperatorError, match="'names' has the element type"):
                from_onnx(model)
        else:
            assert [each.name for each in from_onnx(model).main.params] == ["x", "c"]
