"""Libraries may have any file name: what is inside of them has names of another form."""

import re
from pathlib import Path

import numpy as np
import pytest

from relay_tune.building.program_form import program_module
from relay_tune.building.programs import compile_program
from relay_tune.codegen.programs.library_functions import program_library_text
from relay_tune.codegen.target import native_target
from relay_tune.ir.parser.parse import parse
from relay_tune.typing.infer import infer_types
from tests.codegen.programs.plain_library import PlainLibrary

FIXED = "def @main(%t: Tensor[(5, 4), float32], %i: Tensor[(3), int64]) { take(%t, %i, axis=0) }"
OPEN = FIXED.replace("(5, 4)", "(n, 4)").replace("(3)", "(k)")


@pytest.mark.parametrize("program", [FIXED, OPEN])
def test_no_file_name_makes_two_of_one_name(program: str) -> None:
    module = program_module(infer_types(parse(program)))
    compiled = compile_program(module, native_target(), 1, None, report=lambda line: None)
    names = set(re.findall(r"@([\w.]+)", program_library_text(compiled, "x")))
    words = tuple(name.removeprefix("x") for name in names if name.startswith("x_"))
    assert "_failed_index" in words
    inside = [name for name in names if not name.startswith(("x_", "relay_tune_"))]
    assert [name for name in inside if name.endswith(words)] == []


@pytest.mark.parametrize("name", ["last", "check", "relay", "relay_tune", "relay_tune_new"])
def test_such_a_library_runs(name: str, tmp_path: Path) -> None:
    library = PlainLibrary(OPEN, tmp_path / f"{name}.so")
    assert library.name in (name, f"model_{name}")
    rows = np.arange(20, dtype=np.float32).reshape(5, 4)
    found = library.run_open([rows, np.array([1, 4, 0])])
    assert not isinstance(found, int)
    assert np.array_equal(found[0], rows[[1, 4, 0]])
