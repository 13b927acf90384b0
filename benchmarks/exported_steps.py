"""Training steps in libraries: what they take, without a compiler in the process.

    python -m benchmarks.exported_steps FOLDER/NAME

A step is `NAME.so`, its first values with a batch `NAME.npz`, and `NAME.json` says the rest. The
command runs the step three times and prints by how many bytes the resident memory of its process
was larger at most than before, when parameters, states and the batch were there, without new values
of parameters and states that do not lie where the old ones did: that is what lies between kernels.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import relay_tune as rt
from relay_tune.runtime.executable import Executable

RUNS = 3
PAGES = Path("/proc/self/clear_refs")
STATUS = Path("/proc/self/status")
FROM_NOW_ON = "5"
"""What has the system forget how much memory the process had at most."""


@dataclass(frozen=True)
class About:
    """What a library does not say.

    Attributes:
        threads: that run the step.
        kept: the inputs that each step changes, in the order of the results behind the loss.
        number: that of them which is the number of the step.
        memory: the bytes between kernels, with what slices add up.
        slices: of the batch.
    """

    threads: int
    kept: tuple[str, ...]
    number: str
    memory: int
    slices: int


def export(step: rt.training.TrainingStep, batch: Mapping[str, Any], path: Path) -> None:
    """Write a step with its values as they are now; `path` has no suffix."""
    kept = step.parameters | step.states | step.statistics
    kept[step.program.number] = np.asarray(step.number)
    threads, slices = step.model.threads, step.program.slices
    about = About(threads, tuple(kept), step.program.number, step.memory_bytes, slices)
    arrays: dict[str, Any] = {**kept, **batch}
    np.savez(path.with_suffix(".npz"), **arrays)
    step.model.export(path.with_suffix(".so"))
    path.with_suffix(".json").write_text(json.dumps(asdict(about)))


def described(path: Path) -> About:
    """What `export` wrote beside a library."""
    fields = json.loads(path.with_suffix(".json").read_text())
    return About(**{**fields, "kept": tuple(fields["kept"])})


@dataclass
class ExportedStep:
    """A step that is called on one and the same batch.

    Attributes:
        about: it.
        moved: the bytes of new values, in the last call, that do not lie where the old ones did.
    """

    about: About
    moved: int
    _model: Executable
    _feeds: dict[str, Any]

    @staticmethod
    def loaded(path: Path) -> ExportedStep:
        """The step of a library and its values."""
        about = described(path)
        model = rt.load(path.with_suffix(".so"))
        model.threads = about.threads
        with np.load(path.with_suffix(".npz")) as file:
            feeds = {name: file[name] for name in file.files}
        return ExportedStep(about, 0, model, feeds)

    def __call__(self) -> float:
        """Make one more step; gives the loss before it."""
        donate = tuple(name for name in self.about.kept if name != self.about.number)
        places = {name: self._feeds[name].ctypes.data for name in donate}
        loss, *new = self._model.run(self._feeds, donate=donate)
        self._feeds.update(zip(self.about.kept, new, strict=True))
        new_places = ((self._feeds[name], place) for name, place in places.items())
        self.moved = sum(array.nbytes for array, place in new_places if array.ctypes.data != place)
        return float(loss)


def _bytes_of(name: str) -> int:
    """What a line of the state of this process says."""
    lines = (line.split() for line in STATUS.read_text().splitlines())
    return next(int(line[1]) for line in lines if line[0] == f"{name}:") * 1024


def growth(path: Path) -> int:
    """The bytes by which this process is larger at most while it runs a step for the first times.

    What is read of files, code for one, is not counted, nor are new values.
    """
    step = ExportedStep.loaded(path)
    PAGES.write_text(FROM_NOW_ON)
    before, files = _bytes_of("VmRSS"), _bytes_of("RssFile") + _bytes_of("RssShmem")
    moved = 0
    for _ in range(RUNS):
        step()
        moved = max(moved, step.moved)
    read = _bytes_of("RssFile") + _bytes_of("RssShmem") - files
    return _bytes_of("VmHWM") - before - read - moved


if __name__ == "__main__":
    print(growth(Path(sys.argv[1])))
