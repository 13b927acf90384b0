"""Equal calls are merged, where nothing can tell them apart."""

from typing import Any

import pytest

from relay_tune.ir.parser.parse import parse
from relay_tune.ir.structural import structural_equal
from relay_tune.transform.eliminate_common_subexpressions import EliminateCommonSubexpressions
from relay_tune.typing.infer import infer_types

V = "%x: Tensor[(4,), float32]"
COMMON = [
    ("(exp(%x) + 1f) + exp(%x)", "%0 = exp(%x); (%0 + 1f) + %0"),
    (
        "(split(%x, indices_or_sections=1).0, split(%x, indices_or_sections=1).0)",
        "%0 = split(%x, indices_or_sections=1).0; (%0, %0)",
    ),
    (
        "concatenate((%x, exp(%x))) + concatenate((%x, exp(%x)))",
        "%0 = concatenate((%x, exp(%x))); %0 + %0",
    ),
    ("let %r = ref(%x); ref_read(%r) + ref_read(%r)", None),
    ("let %f = fn () { %x }; %f() + %f()", None),
]


def test_equal_calls_are_merged(typed: Any, calls: Any) -> None:
    module = typed(f"({V}) {{ add(exp(nn.relu(%x)), exp(nn.relu(%x))) }}")
    assert calls(EliminateCommonSubexpressions()(module)) == ["add", "exp", "nn.relu"]


def test_calls_with_other_attributes_are_not_merged(typed: Any) -> None:
    text = f"({V}) {{ add(clip(%x, a_min=0f, a_max=1f), clip(%x, a_min=0f, a_max=2f)) }}"
    module = typed(text)
    assert structural_equal(EliminateCommonSubexpressions()(module), module)


def test_equal_calls_of_two_closures_stay_apart(typed: Any, calls: Any) -> None:
    text = f"({V}) {{ let %f = fn (%y: Tensor[(4,), float32]) {{ add(%y, exp(%x)) }}; "
    module = typed(text + "add(%f(%x), exp(%x)) }")
    assert calls(EliminateCommonSubexpressions()(module)).count("exp") == 2


@pytest.mark.parametrize(("text", "expected"), COMMON)
def test_common_subexpressions(text: str, expected: str | None) -> None:
    def module(body: str) -> str:
        return f"def @main(%x: Tensor[(2), float32]) {{ {body} }}"

    after = EliminateCommonSubexpressions()(infer_types(parse(module(text))))
    assert after.astext() == parse(module(expected or text)).astext()
