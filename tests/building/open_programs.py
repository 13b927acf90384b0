"""Programs with sizes that are known at run time only, built and beside the interpreter."""

import numpy as np

from relay_tune.building.build import build
from relay_tune.frontend.relay_text import parse
from relay_tune.ir.module import Module
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.runtime.model import Model
from relay_tune.std import prelude
from tests.properties.programs.compare import assert_same_value

RNG = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


def built(text: str, *uses: str, threads: int = 1) -> tuple[Module, Model]:
    module = parse(text, base=prelude(*uses)) if uses else parse(text)
    return module, build(module, threads=threads)


def check(module: Module, model: Model, *inputs: object) -> None:
    assert_same_value(model(*inputs), interpret(module, *inputs))
