"""The public names of `logs`, which are imported when they are used."""

import re
import subprocess
import sys
from pathlib import Path

import logs


def test_type_checkers_are_told_of_the_same_names() -> None:
    stub = Path(logs.__file__).with_suffix(".pyi").read_text()
    assert sorted(re.findall(r" as (\w+)", stub)) == logs.__all__ == dir(logs)
    assert all(hasattr(logs, name) for name in logs.__all__)


def test_builds_without_a_log_do_not_import_its_libraries() -> None:
    script = "import sys, relay_tune; relay_tune.build; print('logs' in sys.modules, *sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    found = run.stdout.split()
    assert found[0] == "True"
    assert not {"sqlite3", "sqlite_utils", "xgboost", "deap"} & {*found}
