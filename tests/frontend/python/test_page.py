"""The Python examples of docs/python.md, docs/language.md and docs/gradients.md run."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import relay_tune as rt
from relay_tune.ir.structural import first_difference

DOCS = Path(__file__).parents[3] / "docs"
EXAMPLES = {
    f"{page}{number}": text
    for page in ("python", "language", "gradients")
    for number, text in enumerate(
        re.findall(r"```python\n(.*?)```", (DOCS / f"{page}.md").read_text(), re.DOTALL)
    )
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.py"
    path.write_text(EXAMPLES[name])
    spec = spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(module_from_spec(spec))


def test_the_text_that_the_page_shows_is_what_comes_out(tmp_path: Path) -> None:
    path = tmp_path / "power.py"
    path.write_text(EXAMPLES["python0"])
    spec = spec_from_file_location("power", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    (shown,) = re.findall(r"```relay\n(.*?)```", (DOCS / "python.md").read_text(), re.DOTALL)
    expected = rt.infer_types(rt.parse(shown))
    assert first_difference(expected, module.power.module) is None


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 9


def test_many_returns_in_a_row_are_an_error_with_a_place(tmp_path: Path) -> None:
    branches = "".join(f"    if n == {k}:\n        return {k}\n" for k in range(400))
    path = tmp_path / "many.py"
    header = "import relay_tune as rt\n\n\n@rt.relay\ndef program(n: int):\n"
    path.write_text(f"{header}{branches}    return -1\n")
    spec = spec_from_file_location("many", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(rt.ParseError, match="too many branches that leave it"):
        _ = module.program.module
