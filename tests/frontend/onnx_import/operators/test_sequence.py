"""Sequences and optionals: known ones, inputs, what branches give, and what loops grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import GraphProto, NodeProto, TensorProto, TypeProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import relay_tune as rt
from relay_tune.errors import InputError, RelayError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def tensor(*shape: int | str, kind: int = FLOAT) -> TypeProto:
    return helper.make_tensor_type_proto(kind, shape)


def sequence(*shape: int | str) -> TypeProto:
    return helper.make_sequence_type_proto(tensor(*shape))


def optional(inner: TypeProto) -> TypeProto:
    return helper.make_optional_type_proto(inner)


ANY = helper.make_tensor_type_proto(FLOAT, None)
ANY_SEQUENCE = helper.make_sequence_type_proto(ANY)


def graph(
    nodes: Sequence[NodeProto],
    inputs: Mapping[str, TypeProto],
    outputs: Mapping[str, TypeProto],
    weights: Mapping[str, np.ndarray] | None = None,
) -> GraphProto:
    return helper.make_graph(
        nodes,
        "g",
        [helper.make_value_info(name, type_) for name, type_ in inputs.items()],
        [helper.make_value_info(name, type_) for name, type_ in outputs.items()],
        [numpy_helper.from_array(value, name) for name, value in (weights or {}).items()],
    )


def model(*parts: Any) -> onnx.ModelProto:
    opsets = [helper.make_opsetid("", 18)]
    return helper.make_model(graph(*parts), opset_imports=opsets, ir_version=10)


def same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, list):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            same(one, other)
        return
    wanted = np.asarray(wanted)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def check(content: onnx.ModelProto, feeds: Mapping[str, Any], wanted: Any = None) -> None:
    """Native code gives what ONNX's reference gives, for inputs as lists of Python."""
    if wanted is None:
        wanted = ReferenceEvaluator(content).run(None, dict(feeds))
    same(rt.build(from_onnx(content)).run(None, dict(feeds)), wanted)


ROWS = [floats(2, 3), floats(4, 3), floats(1, 3)]
OPEN = {"s": sequence("n", 3)}


@pytest.mark.parametrize(
    ("operator", "others", "attributes"),
    [
        ("SequenceLength", {}, {}),
        ("SequenceAt", {"i": np.array(1)}, {}),
        ("SequenceAt", {"i": np.array(-3, np.int32)}, {}),
        ("SequenceInsert", {"x": floats(5, 3)}, {}),
        ("SequenceInsert", {"x": floats(5, 3), "i": np.array(-1)}, {}),
        ("SequenceErase", {}, {}),
        ("SequenceErase", {"i": np.array(0)}, {}),
        ("ConcatFromSequence", {}, {"axis": 0}),
        ("Identity", {}, {}),
    ],
)
def test_a_sequence_as_input(
    operator: str, others: dict[str, np.ndarray], attributes: dict[str, int]
) -> None:
    inputs = {
        name: tensor(*("m" if n == 0 else d for n, d in enumerate(value.shape)), kind=kind)
        for name, value in others.items()
        for kind in [helper.np_dtype_to_tensor_dtype(value.dtype)]
    }
    content = [node(operator, ["s", *others], ["y"], **attributes)]
    check(model(content, OPEN | inputs, {"y": ANY_SEQUENCE}), {"s": ROWS, **others})


@pytest.mark.parametrize("operator", ["SequenceAt", "SequenceErase", "SequenceInsert"])
def test_a_position_outside_of_a_sequence_is_an_error_at_the_node(operator: str) -> None:
    others = {"x": floats(5, 3)} if operator == "SequenceInsert" else {}
    inputs = {name: tensor("m", 3) for name in others} | {"i": tensor(kind=INT64)}
    result = {"y": ANY if operator == "SequenceAt" else ANY_SEQUENCE}
    content = model([node(operator, ["s", *others, "i"], ["y"])], OPEN | inputs, result)
    compiled, allowed = rt.build(from_onnx(content)), len(ROWS) - 1 + len(others)
    for position in range(-len(ROWS), allowed + 1):
        (found,) = compiled.run(None, {"s": ROWS, **others, "i": np.array(position)})
        wanted: Any = list(ROWS)
        match operator:
            case "SequenceAt":
                wanted = wanted[position]
            case "SequenceErase":
                del wanted[position]
            case _:
                wanted.insert(position, others["x"])
        same(found, wanted)
    for position in (-len(ROWS) - 1, allowed + 1):
        with pytest.raises(RelayError, match=f"node 'y' .{operator}. is out of range"):
            compiled.run(None, {"s": ROWS, **others, "i": np.array(position)})


def test_elements_are_stacked() -> None:
    content = [node("ConcatFromSequence", ["s"], ["y"], axis=1, new_axis=1)]
    check(model(content, {"s": sequence(2, 3)}, {"y": ANY}), {"s": [floats(2, 3)] * 5})


@pytest.mark.parametrize("keep", [0, 1])
def test_an_open_axis_falls_into_a_sequence(keep: int) -> None:
    single = [node("SplitToSequence", ["x"], ["y"], axis=1, keepdims=keep)]
    check(model(single, {"x": tensor(3, "n")}, {"y": ANY_SEQUENCE}), {"x": floats(3, 4)})
    parts = [node("SplitToSequence", ["x", "k"], ["y"], axis=0)]
    inputs = {"x": tensor("n", 3), "k": tensor(kind=INT64)}
    check(model(parts, inputs, {"y": ANY_SEQUENCE}), {"x": floats(7, 3), "k": np.array(3)})


@pytest.mark.parametrize("beside", ["tensor", "sequence"])
def test_a_body_for_each_element(beside: str) -> None:
    body = graph(
        [node("Add", ["a", "b"], ["c"]), node("Shape", ["a"], ["d"])],
        {"a": ANY, "b": ANY},
        {"c": ANY, "d": tensor(2, kind=INT64)},
    )
    content = [node("SequenceMap", ["s", "t"], ["y", "z"], body=body)]
    other = sequence("n", 3) if beside == "sequence" else tensor(3)
    results = {"y": ANY_SEQUENCE, "z": helper.make_sequence_type_proto(tensor(2, kind=INT64))}
    given = ROWS if beside == "sequence" else floats(3)
    check(model(content, OPEN | {"t": other}, results), {"s": ROWS, "t": given})
    known = [node("SequenceConstruct", ["p", "q"], ["s"]), *content]
    pair = {"p": tensor(2, 3), "q": tensor(4, 3)}
    feeds = {"p": ROWS[0], "q": ROWS[1]}
    if beside == "tensor":
        check(model(known, pair | {"t": other}, results), {**feeds, "t": given})


def growing_loop(state: str, *before: NodeProto) -> list[NodeProto]:
    """A loop that adds x[: round + 1] to a sequence."""
    body = graph(
        [
            node("Add", ["round", "one"], ["next"]),
            node("Reshape", ["next", "vector"], ["end"]),
            node("Slice", ["x", "zero", "end"], ["part"]),
            node("SequenceInsert", ["found", "part"], ["longer"]),
            node("Identity", ["go"], ["goes"]),
        ],
        {"round": tensor(kind=INT64), "go": tensor(kind=BOOL), "found": ANY_SEQUENCE},
        {"goes": tensor(kind=BOOL), "longer": ANY_SEQUENCE},
        {"one": np.array(1), "zero": np.array([0]), "vector": np.array([1])},
    )
    return [*before, node("Loop", ["count", "", state], ["r"], body=body)]


@pytest.mark.parametrize("count", [0, 1, 5])
def test_a_loop_grows_a_sequence(count: int) -> None:
    inputs = {"count": tensor(kind=INT64), "x": tensor(6)}
    x = floats(6)
    content = growing_loop("e", node("SequenceEmpty", [], ["e"]))
    wanted = [x[: n + 1] for n in range(count)]
    grown = model(content, inputs, {"r": ANY_SEQUENCE})
    check(grown, {"count": np.array(count), "x": x}, [wanted])
    if count:
        joined = [*content, node("ConcatFromSequence", ["r"], ["y"], axis=0)]
        feeds = {"count": np.array(count), "x": x}
        check(model(joined, inputs, {"y": ANY}), feeds, [np.concatenate(wanted)])


def test_a_loop_begins_with_a_sequence_of_the_caller() -> None:
    inputs = {"count": tensor(kind=INT64), "x": tensor(6), "s": sequence("n")}
    x, given = floats(6), [floats(2), floats(9)]
    content = model(growing_loop("s"), inputs, {"r": ANY_SEQUENCE})
    feeds = {"count": np.array(2), "x": x, "s": given}
    check(content, feeds, [[*given, x[:1], x[:2]]])


@pytest.mark.parametrize("choice", [True, False])
def test_branches_give_sequences_of_other_lengths(choice: bool) -> None:
    long = graph([node("SequenceConstruct", ["p", "q"], ["o"])], {}, {"o": ANY_SEQUENCE})
    short = graph([node("SequenceConstruct", ["p"], ["o"])], {}, {"o": ANY_SEQUENCE})
    content = [node("If", ["c"], ["y"], then_branch=long, else_branch=short)]
    inputs = {"c": tensor(kind=BOOL), "p": tensor(2, 3), "q": tensor(4, 3)}
    feeds = {"c": np.array(choice), "p": ROWS[0], "q": ROWS[1]}
    check(model(content, inputs, {"y": ANY_SEQUENCE}), feeds, [ROWS[: 1 + choice]])


@pytest.mark.parametrize("choice", [True, False])
def test_a_branch_gives_nothing(choice: bool) -> None:
    type_ = optional(tensor(2, 3))
    none = graph([node("Optional", [], ["o"], type=tensor(2, 3))], {}, {"o": type_})
    some = graph([node("Optional", ["p"], ["o"])], {}, {"o": type_})
    content = [
        node("If", ["c"], ["y"], then_branch=none, else_branch=some),
        node("OptionalHasElement", ["y"], ["z"]),
    ]
    inputs = {"c": tensor(kind=BOOL), "p": tensor(2, 3)}
    built = rt.build(from_onnx(model(content, inputs, {"y": type_, "z": tensor(kind=BOOL)})))
    y, z = built.run(None, {"c": np.array(choice), "p": ROWS[0]})
    assert bool(z) is not choice
    assert y is None if choice else np.array_equal(y, ROWS[0])


@pytest.mark.parametrize("given", [None, [floats(3), floats(5)]])
def test_an_optional_sequence_as_input(given: list[np.ndarray] | None) -> None:
    inputs = {"o": optional(sequence("n"))}
    has = model([node("OptionalHasElement", ["o"], ["z"])], inputs, {"z": tensor(kind=BOOL)})
    check(has, {"o": given}, [np.array(given is not None)])
    if given is not None:
        got = [node("OptionalGetElement", ["o"], ["s"]), node("SequenceLength", ["s"], ["z"])]
        check(model(got, inputs, {"z": tensor(kind=INT64)}), {"o": given}, [np.array(2)])


def test_getting_what_is_not_there_is_an_error() -> None:
    inputs = {"o": optional(tensor(2))}
    built = rt.build(
        from_onnx(model([node("OptionalGetElement", ["o"], ["z"])], inputs, {"z": ANY}))
    )
    assert built(floats(2)).shape == (2,)
    with pytest.raises(rt.RelayError):
        built(None)


def test_a_position_behind_the_end_is_an_error() -> None:
    inputs = OPEN | {"i": tensor(kind=INT64)}
    built = rt.build(from_onnx(model([node("SequenceAt", ["s", "i"], ["y"])], inputs, {"y": ANY})))
    assert built(ROWS, 2).shape == (1, 3)
    for position in (3, -4):
        with pytest.raises(rt.RelayError):
            built(ROWS, position)
    assert built(ROWS, 0).shape == (2, 3)


def test_elements_that_do_not_fit_are_an_error() -> None:
    count = {"y": tensor(kind=INT64)}
    built = rt.build(from_onnx(model([node("SequenceLength", ["s"], ["y"])], OPEN, count)))
    for wrong in ([floats(2, 4)], [floats(2, 3).astype("float64")], floats(2, 3)):
        with pytest.raises(InputError):
            built(wrong)


def test_values_of_sequences_become_constants() -> None:
    untyped = {"s": ANY_SEQUENCE, "i": tensor(kind=INT64)}
    content = model([node("SequenceAt", ["s", "i"], ["y"])], untyped, {"y": ANY})
    with pytest.raises(UnsupportedOperatorError, match="'s' have no shape in the model"):
        from_onnx(content)
    module = from_onnx(content, constants={"s": ROWS, "i": 1})
    np.testing.assert_array_equal(rt.build(module)(), ROWS[1])


def test_a_list_of_the_prelude_is_made_of_a_list() -> None:
    text = "def @main(%xs: List[Tensor[(2), float32]]) { (@rev(%xs), @length(%xs)) }"
    program = rt.parse(text, base=rt.prelude("rev", "length"))
    given = [floats(2), floats(2) + 1]
    for run in (rt.build(program), lambda xs: rt.interpret(program, xs)):
        found, count = run(given)
        assert int(count) == 2
        same(rt.list_items(found), given[::-1])
    found, _ = rt.build(program).run(None, {"xs": given})
    same(found, given[::-1])


def test_the_only_output_is_a_sequence_of_known_length(tmp_path: Path) -> None:
    for count in (1, 2):
        nodes = [node("SequenceConstruct", ["x"] * count, ["s"])]
        content = model(nodes, {"x": tensor(2, 3)}, {"s": sequence(2, 3)})
        check(content, {"x": ROWS[0]})
    built = rt.build(from_onnx(content))
    assert [each.name for each in built.get_outputs()] == ["s"]
    built.export(tmp_path / "s.so")
    same(rt.load(tmp_path / "s.so").run(None, {"x": ROWS[0]}), [[ROWS[0]] * 2])
    same(built(ROWS[0]), [ROWS[0]] * 2)
