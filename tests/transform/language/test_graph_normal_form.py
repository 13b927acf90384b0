"""Bindings that only name values become shared nodes."""

from typing import Any

import pytest

from relay_tune.ir.expr import Let
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.structural import structural_equal
from relay_tune.ir.traversal import post_order
from relay_tune.transform.eliminate_dead_code import EliminateDeadCode
from relay_tune.transform.language.graph_normal_form import ToGraphNormalForm
from relay_tune.typing.infer import infer_types

V = "%x: Tensor[(4,), float32]"


def test_lets_become_shared_nodes(assert_same_meaning: Any, typed: Any) -> None:
    before = typed(f"({V}) {{ let %a = exp(%x); let %b = add(%a, %a); multiply(%b, %a) }}")
    expected = typed(f"({V}) {{ %0 = exp(%x); multiply(add(%0, %0), %0) }}")
    after = ToGraphNormalForm()(before)
    assert structural_equal(after, expected)
    assert_same_meaning(before, after)


@pytest.mark.parametrize(
    "body",
    [
        "let %r = ref(%x); let %a = ref_read(%r); let %u = ref_write(%r, exp(%x)); %a",
        "let %a = exp(%x); let %f = fn () { add(%a, %a) }; %f()",
    ],
)
def test_bindings_that_say_more_than_sharing_stay(body: str, typed: Any) -> None:
    module = typed(f"({V}) {{ {body} }}")
    assert structural_equal(ToGraphNormalForm()(module), module)


def test_long_chain_of_lets_becomes_a_graph() -> None:
    lines = "".join(f"let %a{i + 1} = exp(%a{i});\n" for i in range(8_000))
    text = f'#[version = "0.0.5"]\ndef @main(%a0: float32) {{ {lines} %a8000 }}'
    after = EliminateDeadCode()(ToGraphNormalForm()(infer_types(parse(text))))
    assert not any(isinstance(node, Let) for node in post_order(after.main))
