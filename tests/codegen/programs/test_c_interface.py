import shutil
import subprocess
from pathlib import Path

import pytest

from relay_tune.codegen.programs.c_interface import c_constructors
from relay_tune.ir.parser.parse import parse
from relay_tune.program.lower_program import lower_program
from relay_tune.typing.infer import infer_types
from tests.codegen.programs.plain_library import PlainLibrary

NAMES = """
type Memory { No(int32), no(int32), }
type index { failed(int32), }
def @main(%m: Memory, %i: index) { (%m, %i) }
"""


def test_names_of_constructors_differ_from_each_other_and_from_those_of_libraries() -> None:
    program = lower_program(infer_types(parse(NAMES)))
    names = [made.name for made in c_constructors(program)]
    assert sorted(names) == ["No_Memory_v2", "failed_index_v2", "no_Memory_v3"]


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_the_header_of_such_names(tmp_path: Path) -> None:
    header = PlainLibrary(NAMES, tmp_path / "names.so").header
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c", "-"]
    subprocess.run(["cc", *flags], input=header, text=True, check=True)
