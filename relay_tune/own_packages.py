"""Whether `search`, `cost_model` and `logs` are the packages that were installed with this one.

Their names are plain words: a file `search.py` beside a user's script shadows ours.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from relay_tune.errors import InputError

OWN_PACKAGES = ("search", "cost_model", "logs")


def check_own_packages() -> None:
    """Raise InputError, which names both files, where Python would import something else."""
    for name in OWN_PACKAGES:
        wanted = Path(__file__).resolve().parent.parent / name / "__init__.py"
        found = _importable_file(name)
        if found is None or found.resolve() != wanted:
            raise _shadowed(name, wanted, found)


def _importable_file(name: str) -> Path | None:
    """The file behind `import name`; looks without running it."""
    loaded = sys.modules.get(name)
    if loaded is not None:
        file = getattr(loaded, "__file__", None)
        return Path(file) if file else None
    spec = find_spec(name)
    return Path(spec.origin) if spec is not None and spec.origin else None


def _shadowed(name: str, wanted: Path, found: Path | None) -> InputError:
    if found is None:
        return InputError(
            f"The package {name!r}, a part of relay_tune, is not there.",
            notes=(f"It should be {wanted}.",),
            remedy="Install relay-tune again.",
        )
    return InputError(
        f"{found} hides the package {name!r}, a part of relay_tune.",
        notes=(f"The package is {wanted}.",),
        remedy=f"Rename {found.name if found.stem == name else found.parent.name}, or start "
        "Python with -P so that it does not search the current folder.",
    )
