"""Values between kernels are bfloat16 where products round them, and only there."""

from __future__ import annotations

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.ir.expr import Call, Function
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.printer.astext import astext
from relay_tune.ir.traversal import post_order
from relay_tune.machine.machine import Machine
from relay_tune.op_rules.matching import static_shape, tensor_type
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.fold_constants import FoldConstants
from relay_tune.transform.fusion.fuse import Fuse
from relay_tune.transform.keep_in_bfloat16 import KeepInBfloat16
from relay_tune.typing.infer import infer_types
from tests.schedule.machines import SERVER, TILES

KEEP = KeepInBfloat16(TILES, Accuracy.RELAXED)

ROWS = "%x: Tensor[(20, 64), float32]"
IMAGE = "%x: Tensor[(1, 8, 8, 32), float32]"
LAYOUTS = 'kernel_size=[3, 3], channels=32, data_layout="NHWC", kernel_layout="HWIO"'
CONV = f"nn.conv2d({{}}, %k, padding=[1, 1], {LAYOUTS})"
POOL = 'nn.max_pool2d({}, pool_size=[2, 2], strides=[1, 1], layout="NHWC")'
WEIGHTS = {"w": (64, 64), "v": (64, 64), "k": (3, 3, 32, 32), "g": (64,)}


def fused(parameters: str, body: str) -> Module:
    """The kernels of a program with random weights."""
    rng = np.random.default_rng(0)
    used = {name: shape for name, shape in WEIGHTS.items() if f"%{name}" in body}
    given = {name: rng.normal(0, 0.1, shape).astype(np.float32) for name, shape in used.items()}
    types = [f"%{name}: Tensor[{shape}, float32]" for name, shape in used.items()]
    text = f"def @main({', '.join([parameters, *types])}) {{ {body} }}"
    return Fuse()(FoldConstants()(infer_types(BindParameters(given)(infer_types(parse(text))))))


def stored(module: Module) -> list[str]:
    """The types of the results of the kernels, in order."""
    kernels = [
        node
        for node in post_order(module.main.body, enter=lambda node: not isinstance(node, Function))
        if isinstance(node, Call) and isinstance(node.callee, Function)
    ]
    types = [tensor_type(node) for node in kernels]
    for node, type_ in zip(kernels, types, strict=True):
        assert isinstance(node.callee, Function)
        assert node.callee.body.type == node.callee.result_type == type_
        assert [each.type for each in node.callee.params] == [each.type for each in node.arguments]
    return ["" if each is None else each.dtype for each in types]


LAYER, NEXT = "nn.relu(nn.dense(%x, %w))", "nn.dense(%0, %v)"
VIEW = "%1 = reshape(%0, newshape=[40, 32]);"

KEPT = {
    "a layer": (ROWS, NEXT, 1),
    "layers and a residual": (ROWS, f"%1 = add({NEXT}, %0); nn.dense(%1, %w)", 2),
    "a view": (ROWS, f"{VIEW} nn.dense(reshape(%1, newshape=[20, 64]), %v)", 3),
    "a join": (ROWS, "%1 = nn.dense(%x, %v); nn.dense(concatenate((%0, %1), axis=0), %w)", 3),
    "convolutions": (IMAGE, f"%1 = {CONV.format('%0')}; {CONV.format('%1')}", 2),
    "a pool": (IMAGE, f"%1 = {POOL.format('%0')}; {CONV.format('%1')}", 2),
    "a residual that stays": (
        ROWS,
        f"%1 = nn.relu({NEXT}); nn.softmax(add(nn.dense(%1, %w), %0))",
        1,
    ),
    "statistics": (ROWS, f"({NEXT}, nn.softmax(%0))", 0),
    "statistics of a view": (ROWS, f"{VIEW} ({NEXT}, nn.softmax(%1))", 0),
    "a result of the program": (ROWS, f"({NEXT}, %0)", 0),
    "no product": (ROWS, "nn.softmax(%0)", 0),
    "a join with an argument": (ROWS, "nn.dense(concatenate((%0, %x), axis=0), %w)", 1),
}
"""Parameters, what follows a layer %0, and how many results of kernels become bfloat16."""


@pytest.mark.parametrize("case", KEPT)
def test_what_is_kept(case: str) -> None:
    parameters, body, count = KEPT[case]
    first = LAYER if parameters == ROWS else CONV.format("%x")
    before = fused(parameters, f"%0 = {first}; {body}")
    after = KEEP(before)
    assert stored(after).count("bfloat16") == count
    infer_types(after)
    (data,) = (
        np.random.default_rng(1).standard_normal(static_shape(p)) for p in before.main.params
    )
    given = data.astype(np.float32)
    found, native = (_flat(each) for each in (interpret(after, given), build(after)(given)))
    for own, other, exact in zip(found, native, _flat(interpret(before, given)), strict=True):
        for each in (own, other):
            np.testing.assert_allclose(each, exact, atol=1e-2 * np.abs(exact).max())


def test_data_that_are_bfloat16_are_not_copied() -> None:
    given = "%x: Tensor[(20, 64), bfloat16]"
    before = fused(given, 'nn.dense(cast(%x, dtype="float32"), %w)')
    assert stored(before) == ["float32", "float32"]
    assert stored(KEEP(before)) == ["float32"]


def test_data_that_lose_digits_between_are_no_copy() -> None:
    given = "%x: Tensor[(20, 64), bfloat16]"
    whole = 'cast(cast(%x, dtype="int8"), dtype="float32")'
    assert stored(KEEP(fused(given, f"nn.dense({whole}, %w)"))) == ["bfloat16", "float32"]


def _flat(value: object) -> list[np.ndarray]:
    return [np.asarray(each) for each in (value if isinstance(value, tuple) else (value,))]


@pytest.mark.parametrize(
    ("machine", "accuracy"),
    [(TILES, Accuracy.FAST), (TILES, Accuracy.EXACT), (SERVER, Accuracy.RELAXED)],
)
def test_who_does_not_ask_for_it_keeps_all_digits(machine: Machine, accuracy: Accuracy) -> None:
    module = fused(ROWS, f"%0 = {LAYER}; {NEXT}")
    assert KeepInBfloat16(machine, accuracy)(module) is module


ROUNDED = 'cast(cast({}, dtype="bfloat16"), dtype="float32")'
PADDED = f"nn.pad({ROUNDED.format('%0')}, 0f, pad_width=((0, 0), (1, 1), (1, 1), (0, 0)))"
WHOLE = f"nn.conv2d({PADDED}, %k, {LAYOUTS})"
DENSE = f"nn.dense(%1, {ROUNDED.format('%v')})"

NARROW = {
    "a layer": (ROWS, f"%1 = {ROUNDED.format('%0')}; {DENSE}", ["bfloat16", "float32"]),
    "also read exactly": (
        ROWS,
        f"%1 = {ROUNDED.format('%0')}; ({DENSE}, nn.softmax(%1))",
        ["bfloat16", "float32", "float32"],
    ),
    "padded": (IMAGE, WHOLE, ["bfloat16", "float32"]),
    "no product": (ROWS, f"nn.softmax({ROUNDED.format('%0')})", ["float32", "float32"]),
    "a result": (ROWS, f"%1 = {ROUNDED.format('%0')}; ({DENSE}, %1)", ["float32", "float32"]),
    "some digits more": (ROWS, f"%1 = add({ROUNDED.format('%0')}, 1f); {DENSE}", None),
}
"""Parameters, what follows a layer %0, and what kernels store then; None: as before."""


@pytest.mark.parametrize("case", NARROW)
def test_what_has_no_more_digits_is_stored_so(case: str) -> None:
    parameters, body, types = NARROW[case]
    first = LAYER if parameters == ROWS else CONV.format("%x")
    before = fused(parameters, f"%0 = {first}; {body}")
    after = KeepInBfloat16(TILES, Accuracy.FAST)(before)
    assert stored(after) == (types or stored(before))
    infer_types(after)
    (shape,) = (static_shape(each) for each in before.main.params)
    given = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    found, native, exact = (
        _flat(each)
        for each in (interpret(after, given), build(after)(given), interpret(before, given))
    )
    for own, other, wanted in zip(found, native, exact, strict=True):
        np.testing.assert_array_equal(own, wanted)
        np.testing.assert_allclose(other, wanted, atol=1e-2 * np.abs(wanted).max())


def test_weights_with_the_digits_of_bfloat16_are_stored_so() -> None:
    text = astext(
        KeepInBfloat16(TILES, Accuracy.FAST)(
            fused(IMAGE, f"%0 = {CONV.format('%x')}; {WHOLE.replace('%k', ROUNDED.format('%k'))}")
        )
    )
    assert text.count("cast(meta[relay.Constant]") == 1


def test_an_exact_build_stores_floats() -> None:
    before = fused(ROWS, f"%0 = {LAYER}; %1 = {ROUNDED.format('%0')}; {DENSE}")
    assert KeepInBfloat16(TILES, Accuracy.EXACT)(before) is before


OPEN = {
    "(20, ": "(n, ",
    "(1, 8, 8, ": "(n, h, h, ",
    "newshape=[40, 32]": "newshape=[-1, 32]",
    "newshape=[20, 64]": "newshape=[-1, 64]",
}
"""What makes the programs above ones of any number of rows, or of images and pixels."""

ANY_SIZES = {ROWS: [(1, 64), (7, 64), (40, 64)], IMAGE: [(1, 8, 8, 32), (3, 17, 17, 32)]}


def opened(text: str) -> str:
    for old, new in OPEN.items():
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("case", KEPT)
def test_results_of_open_sizes_are_kept_alike(case: str) -> None:
    """What is joined is computed by the kernel that joins it."""
    parameters, body, count = KEPT[case]
    first = LAYER if parameters == ROWS else CONV.format("%x")
    before = fused(opened(parameters), f"%0 = {first}; {opened(body)}")
    after = KEEP(before)
    assert stored(after).count("bfloat16") == (1 if "join" in case else count)
    infer_types(after)
    model = build(after)
    for shape in ANY_SIZES[parameters]:
        given = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        for own, exact in zip(_flat(model(given)), _flat(interpret(before, given)), strict=True):
            np.testing.assert_allclose(own, exact, atol=1e-2 * np.abs(exact).max())


@pytest.mark.parametrize("case", NARROW)
def test_results_of_open_sizes_without_more_digits_are_stored_alike(case: str) -> None:
    parameters, body, types = NARROW[case]
    first = LAYER if parameters == ROWS else CONV.format("%x")
    before = fused(opened(parameters), f"%0 = {first}; {opened(body)}")
    after = KeepInBfloat16(TILES, Accuracy.FAST)(before)
    assert stored(after) == (types or stored(before))
    infer_types(after)
    for shape in ANY_SIZES[parameters]:
        given = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        for own, exact in zip(
            _flat(interpret(after, given)), _flat(interpret(before, given)), strict=True
        ):
            np.testing.assert_array_equal(own, exact)


def test_a_size_that_only_a_run_knows_has_all_digits() -> None:
    """As a divisor, or as a result; the rounded data are stored narrow beside it."""
    rounded = 'cast(cast({}, dtype="bfloat16"), dtype="float32")'
    size = 'cast(take(shape_of(%x), 0i64), dtype="float32")'
    before = fused(opened(ROWS), f"({size}, nn.dense({rounded.format('%x')}, %w) / {size})")
    after = KeepInBfloat16(TILES, Accuracy.FAST)(before)
    assert [stored(each).count("bfloat16") for each in (before, after)] == [0, 1]
    given = np.random.default_rng(1).standard_normal((5, 64)).astype(np.float32)
    for own, exact in zip(
        _flat(interpret(after, given)), _flat(interpret(before, given)), strict=True
    ):
        np.testing.assert_array_equal(own, exact)
