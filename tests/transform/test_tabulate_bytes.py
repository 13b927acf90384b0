"""Functions of one byte become tables; what is computed stays the same, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.codegen.target import parse_target
from relay_tune.errors import InputError
from relay_tune.ir.expr import Call
from relay_tune.ir.traversal import post_order
from relay_tune.op_rules.matching import tensor_type
from relay_tune.transform.pipeline_text import parse_pipeline
from relay_tune.transform.tabulate_bytes import TabulateBytes

ACTIVATIONS = {
    "sigmoid": "sigmoid(%0)",
    "tanh": "tanh(%0)",
    "SiLU": "multiply(%0, sigmoid(%0))",
    "hardswish": "multiply(%0, divide(clip(add(%0, 3f), a_min=0.0f, a_max=6.0f), 6f))",
    "GELU": "multiply(%0, multiply(add(erf(multiply(%0, 0.70710678f)), 1f), 0.5f))",
    "in two bytes": 'multiply(%0, cast(cast(multiply(sigmoid(%0), 255f), dtype="uint8"), '
    'dtype="float32"))',
}
READ = 'multiply(cast(subtract(cast(%x, dtype="int32"), 100), dtype="float32"), 0.04f)'
WRITTEN = 'cast(minimum(maximum(round(multiply({}, 25f)), 0f), 255f), dtype="uint8")'
EVERY = np.arange(256, dtype=np.uint8)


def module(body: str, parameters: str = "%x: Tensor[(2, 128), uint8]") -> Any:
    text = f'#[version = "0.0.5"]\ndef @main({parameters}) {{\n%0 = {READ};\n{body}\n}}'
    return rt.infer_types(rt.parse(text))


def calls(tabulated: Any) -> list[str]:
    return [str(e.callee) for e in post_order(tabulated.main) if isinstance(e, Call)]


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_of_bytes_is_one_table(name: str) -> None:
    before = module(WRITTEN.format(ACTIVATIONS[name]))
    after = TabulateBytes("always")(before)
    assert calls(after) == ["qnn.lookup"]
    x = EVERY.reshape(2, 128)
    expected = rt.interpret(before, x)
    np.testing.assert_array_equal(rt.interpret(after, x), expected)
    for tables in ("always", "never"):
        model = rt.build(before, pipeline=f"default{{tables={tables}}}")
        np.testing.assert_array_equal(model(x), expected, err_msg=tables)


def test_a_table_stands_in_front_of_reshapes() -> None:
    body = f"%1 = reshape(%x, newshape=(256,)); {WRITTEN.format('sigmoid(%1f)')}"
    body = body.replace("%1f", READ.replace("%x", "%1"))
    after = TabulateBytes("always")(module(body))
    assert calls(after) == ["qnn.lookup", "reshape"]


def test_a_reshape_has_the_type_of_the_table() -> None:
    body = f"%1 = reshape(%x, newshape=(256,)); {WRITTEN.format('sigmoid(%1f)')}"
    before = module(body.replace("%1f", READ.replace("%x", "%1")), "%x: Tensor[(2, 128), int8]")
    after = TabulateBytes("always")(before)
    assert calls(after) == ["qnn.lookup", "reshape"]
    assert {tensor_type(e).dtype for e in post_order(after.main) if isinstance(e, Call)} == {
        "uint8"
    }
    x = EVERY.view(np.int8).reshape(2, 128)
    model = rt.build(before, pipeline="default{tables=always}")
    np.testing.assert_array_equal(model(x), rt.interpret(before, x))


def test_a_reshape_keeps_what_tells_its_shape() -> None:
    body = f"%1 = reshape_like(%x, %l); {WRITTEN.format('sigmoid(%1f)')}"
    body = body.replace("%1f", READ.replace("%x", "%1"))
    before = module(body, "%x: Tensor[(n, 128), uint8], %l: Tensor[(n, 2, 64), float32]")
    after = TabulateBytes("always")(before)
    assert calls(after) == ["qnn.lookup", "reshape_like"]
    like = np.zeros((2, 2, 64), np.float32)
    given = EVERY.reshape(2, 128), like
    expected = rt.interpret(before, *given)
    np.testing.assert_array_equal(rt.build(before)(*given), expected)


def test_what_is_read_as_a_float_is_a_table_and_a_conversion() -> None:
    before = module(f'%1 = {WRITTEN.format("tanh(%0)")}; multiply(cast(%1, dtype="float32"), 0.5f)')
    after = TabulateBytes("always")(before)
    assert calls(after) == ["qnn.lookup", "cast", "multiply"]
    x = EVERY.reshape(2, 128)
    np.testing.assert_array_equal(rt.interpret(after, x), rt.interpret(before, x))


@pytest.mark.parametrize(
    ("body", "parameters"),
    [
        ('cast(%0, dtype="uint8")', "%x: Tensor[(2, 128), int32]"),
        (
            WRITTEN.format('add(%0, cast(%y, dtype="float32"))'),
            "%x: Tensor[(2), uint8], %y: Tensor[(2), uint8]",
        ),
        (WRITTEN.format("add(%0, %y)"), "%x: Tensor[(2), uint8], %y: Tensor[(2), float32]"),
        (WRITTEN.format("broadcast_to(%0, shape=(3, 2))"), "%x: Tensor[(2), uint8]"),
        ('cast(add(cast(%x, dtype="int32"), 1), dtype="uint8")', "%x: Tensor[(2), uint8]"),
    ],
    ids=["no byte", "two bytes", "a float beside it", "another shape", "a few instructions"],
)
def test_what_is_no_table(body: str, parameters: str) -> None:
    assert "qnn.lookup" not in calls(TabulateBytes("always")(module(body, parameters)))


def test_the_machine_decides() -> None:
    before = module(WRITTEN.format("sigmoid(%0)"))
    machines = {
        name: parse_target(name).machine
        for name in ("x86_64-linux-gnu:haswell", "x86_64-linux-gnu:icelake-server")
    }
    found = [calls(TabulateBytes("auto", each)(before)) for each in machines.values()]
    assert "qnn.lookup" not in found[0]
    assert found[1] == ["qnn.lookup"]
    assert TabulateBytes("never", machines["x86_64-linux-gnu:icelake-server"])(before) is before
    assert "tables=always" in str(parse_pipeline("default{tables=always}"))
    with pytest.raises(InputError):
        TabulateBytes("often")


def test_a_product_takes_its_table_in() -> None:
    weights = np.random.default_rng(0).integers(-128, 128, (16, 8)).astype(np.int8)
    text = (
        '#[version = "0.0.5"]\ndef @main(%a: Tensor[(4, 8), uint8], %w: Tensor[(16, 8), int8]) {'
        'let %s = nn.dense(%a, %w, out_dtype="int32");'
        'let %r = minimum(maximum(round(multiply(cast(%s, dtype="float32"), 0.01f)), 0f), 255f);'
        'let %x = cast(%r, dtype="uint8");'
        f"%0 = {READ}; {WRITTEN.format('sigmoid(%0)')} }}"
    )
    before = rt.infer_types(rt.parse(text))
    a = np.random.default_rng(1).integers(0, 256, (4, 8)).astype(np.uint8)
    expected = rt.interpret(before, a, weights)
    for target in ("native", "x86_64-linux-gnu:x86-64"):
        model = rt.build(before, target=target, pipeline="default{tables=always}")
        np.testing.assert_array_equal(model(a, weights), expected)
