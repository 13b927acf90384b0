"""Programs built as native code, beside the interpreter."""

from relay_tune.building.build import build
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.runtime.data_values import data_value
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.runtime.model import Model
from tests.properties.programs.compare import assert_same_value

VECTOR = "Tensor[(4), float32]"
LIST = "type List[A] { Cons(A, List[A]), Nil, }\n"


def built(text: str, threads: int = 1) -> tuple[Module, Model]:
    module = parse('#[version = "0.0.5"]\n' + text)
    model = build(module, threads=threads)
    assert isinstance(model, Model)
    return module, model


def check(text: str, *inputs: object) -> Model:
    """Native code gives what the interpreter gives, again and again."""
    module, model = built(text)
    expected = interpret(module, *inputs)
    for _ in range(3):
        assert_same_value(model(*inputs), expected)
    return model


def integers(module: Module, *values: int) -> object:
    result = data_value(module, "Nil")
    for value in reversed(values):
        result = data_value(module, "Cons", value, result)
    return result
