"""Variables: bound once, and used only where they are bound."""

import numpy as np
import pytest

from relay_tune.errors import TypeInferenceError
from relay_tune.ir.expr import (
    Call,
    Clause,
    Constant,
    Function,
    If,
    Let,
    Match,
    Tuple,
    Var,
    VarPattern,
)
from relay_tune.ir.module import Module
from relay_tune.typing.well_formed import check_well_formed

ONE = Constant(np.array(1))
X, Y = Var("x"), Var("y")


@pytest.mark.parametrize(
    "expr",
    [
        Function((X,), X),
        Let(X, ONE, Tuple((X, X))),
        Let(X, Function((Y,), Call(X, (Y,))), X),
        Match(ONE, (Clause(VarPattern(X), X), Clause(VarPattern(Y), Y))),
    ],
)
def test_well_formed(expr):
    check_well_formed(Module({"f": Function((), expr)}))


@pytest.mark.parametrize(
    "expr",
    [
        X,
        Let(X, X, X),
        Let(X, ONE, Let(X, ONE, X)),
        Function((X, X), X),
        Tuple((Let(X, ONE, X), X)),
        If(ONE, Let(X, ONE, X), X),
        Match(ONE, (Clause(VarPattern(X), Y), Clause(VarPattern(Y), X))),
        Tuple((Function((X,), X), Function((X,), X))),
    ],
)
def test_malformed(expr):
    with pytest.raises(TypeInferenceError, match="bound twice|not bound"):
        check_well_formed(Module({"f": Function((), expr)}))


def test_error_names_the_variable_and_the_function():
    module = Module({"f": Function((X,), Y)})
    with pytest.raises(TypeInferenceError, match=r"variable %y in @f: .* not bound"):
        check_well_formed(module)
