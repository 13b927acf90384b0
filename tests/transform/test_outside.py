"""The pass of another package that docs/extending.md shows, installed."""

import importlib
import re
import sys
import tomllib
from pathlib import Path

import pytest

from relay_tune.transform import catalogue
from tests.documented_diffs import ROOT, apply_diff, documented_diff
from tests.installed_packages import install_entry


def test_a_pass_from_outside_is_a_file_a_test_and_an_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply_diff(documented_diff("extending.md", "mine/shared_exponent.py"), tmp_path)
    text = (ROOT / "docs" / "extending.md").read_text()
    section = text[text.index("## A pass") : text.index("## A choice of schedules")]
    (project,) = re.findall(r"```toml\n(.*?)```", section, re.DOTALL)
    ((name, value),) = tomllib.loads(project)["project"]["entry-points"][catalogue.GROUP].items()
    install_entry(tmp_path, "mine", catalogue.GROUP, f"{name} = {value}")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(catalogue, "_LOADED", {})
    theirs = importlib.import_module("mine.test_shared_exponent")
    for each in ("mine", "mine.shared_exponent", "mine.test_shared_exponent"):
        monkeypatch.setitem(sys.modules, each, sys.modules.pop(each))
    theirs.test_one_exponential_is_left()
    theirs.test_it_is_built()
