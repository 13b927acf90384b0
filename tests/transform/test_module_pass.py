import weakref

import numpy as np
import pytest

from relay_tune.ir.expr import Constant, Expr
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.remembered import is_building, results_for_one_build
from relay_tune.transform.module_pass import map_scopes

pytestmark = pytest.mark.builds_apart

NESTED = """
def @main(%x: float32) {
  let %outer = fn (%y: float32) { let %inner = fn (%z: float32) { negative(%z) }; %inner(%y) };
  %outer(%x)
}
"""


def _scopes_of(module: Module) -> list[Expr]:
    seen: list[Expr] = []

    def visit(body: Expr) -> Expr:
        seen.append(body)
        return body

    map_scopes(module, visit)
    return seen


def test_scopes_are_mapped_from_inside_to_outside_in_every_pass() -> None:
    module = parse(NESTED)
    alone = _scopes_of(module)
    assert len(alone) == 3 and alone[-1] is module.main.body
    with results_for_one_build():
        assert is_building()
        assert [_scopes_of(module), _scopes_of(module)] == [alone, alone]
    assert not is_building()


def _map_with_weights(data: np.ndarray) -> None:
    module = parse("def @main(%x: Tensor[(4), float32]) { negative(%x) }")
    changed = map_scopes(module, lambda body: Constant(data))
    map_scopes(changed, lambda body: body)
    with results_for_one_build():
        map_scopes(changed, lambda body: body)


def test_passes_hold_no_weights_after_builds_and_outside_of_them() -> None:
    data = np.ones(4, "float32")
    held = weakref.ref(data)
    _map_with_weights(data)
    del data
    assert held() is None
