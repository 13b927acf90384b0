"""The memory, threads and open files of one process that tunes, builds or loads again and again.

    python -m benchmarks.memory trials --models mlp resnet18 mobilenet_v2 --count 1500
    python -m benchmarks.memory builds --count 200
    python -m benchmarks.memory loads --count 200

A line every now and then, and after each model or kind of build what was added since its warm-up:
100 trials, or 20 builds or loads. The exit code is 1 where that is more than 5 % of the memory, or
threads or files. Models are tuned one after the other by one process, with as many trials each.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import relay_tune as rt
from relay_tune.ir.module import Module
from relay_tune.tuning.events import Event, Measured
from relay_tune.zoo.catalogue import build as zoo_model
from relay_tune.zoo.catalogue import example_inputs

MOST_GROWTH = 1.05
WARM_TRIALS, SHOWN_TRIALS = 100, 100
WARM_BUILDS, SHOWN_BUILDS = 20, 20

DYNAMIC = """
#[version = "0.0.5"]
def @main(%x: Tensor[(n, 64), float32], %w: Tensor[(32, 64), float32]) {
  nn.softmax(nn.relu(nn.dense(%x, %w)))
}
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """A model that is built often, and its inputs by name."""

    module: Callable[[], Module]
    feeds: Callable[[], Mapping[str, Any]]


KINDS = {
    "network": Kind(
        lambda: zoo_model("squeezenet1_1", small=True),
        lambda: example_inputs("squeezenet1_1", small=True),
    ),
    "program": Kind(
        lambda: zoo_model("lstm_list", small=True),
        lambda: example_inputs("lstm_list", small=True),
    ),
    "dynamic": Kind(
        lambda: rt.parse(DYNAMIC),
        lambda: {"x": np.ones((5, 64), "float32"), "w": np.ones((32, 64), "float32")},
    ),
}


@dataclass(frozen=True, slots=True)
class Usage:
    """What this process holds."""

    megabytes: float
    threads: int
    files: int

    @staticmethod
    def now() -> Usage:
        """What it holds once what is not used is collected."""
        gc.collect()
        process = psutil.Process()
        return Usage(process.memory_info().rss / 1e6, process.num_threads(), process.num_fds())

    def __str__(self) -> str:
        return f"{self.megabytes:.1f} MB, {self.threads} threads, {self.files} files"


@dataclass(slots=True)
class Watch:
    """The usage after a warm-up and in the end."""

    name: str
    warm: int
    shown: int
    count: int = 0
    begin: Usage | None = None
    most: float = 0.0
    end: Usage = field(default_factory=Usage.now)

    def step(self) -> None:
        """One more trial, build or load is done."""
        self.count += 1
        if self.count % self.shown == 0 or self.count == self.warm:
            self.end = Usage.now()
            print(f"{self.name} {self.count}: {self.end}", flush=True)
        if self.count == self.warm:
            self.begin = self.end

    def is_flat(self) -> bool:
        """Say what was added; whether that is little."""
        if self.begin is None:
            print(f"{self.name}: ended after {self.count}, before it was warm")
            return True
        growth = self.end.megabytes / self.begin.megabytes
        percent = f"{100 * (growth - 1):+.1f} %"
        print(f"{self.name}: {percent} from {self.warm} to {self.count}", flush=True)
        more_threads = self.end.threads > self.begin.threads
        more_files = self.end.files > self.begin.files
        return growth <= MOST_GROWTH and not more_threads and not more_files


def trials(models: list[str], count: int) -> bool:
    """Tune models; whether none of them makes the process grow."""
    flat = []
    with tempfile.TemporaryDirectory() as folder:
        for name in models:
            watch = Watch(name, WARM_TRIALS, SHOWN_TRIALS)
            log = Path(folder) / f"{name}.db"
            rt.tune(zoo_model(name), log=log, trials=count, minutes=600, progress=_counted(watch))
            flat.append(watch.is_flat())
            print(f"{name}, tuned: {Usage.now()}", flush=True)
    return all(flat)


def _counted(watch: Watch) -> Callable[[Event], None]:
    def progress(event: Event) -> None:
        if isinstance(event, Measured):
            watch.step()

    return progress


def builds(kinds: list[str], count: int) -> bool:
    """Build models; whether none of them makes the process grow."""
    flat = []
    for kind in kinds:
        watch = Watch(f"builds of a {kind}", WARM_BUILDS, SHOWN_BUILDS)
        feeds = KINDS[kind].feeds()
        for _ in range(count):
            rt.build(KINDS[kind].module())(**feeds)
            watch.step()
        flat.append(watch.is_flat())
    return all(flat)


def loads(kinds: list[str], count: int) -> bool:
    """Export and load models; whether none of them makes the process grow."""
    flat = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in kinds:
            watch = Watch(f"loads of a {kind}", WARM_BUILDS, SHOWN_BUILDS)
            model, feeds = rt.build(KINDS[kind].module()), KINDS[kind].feeds()
            library = Path(folder) / f"{kind}.so"
            for _ in range(count):
                model.export(library)
                rt.load(library)(**feeds)
                watch.step()
            flat.append(watch.is_flat())
    return all(flat)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["trials", "builds", "loads"])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--models", nargs="+", default=["mlp"])
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    given = parser.parse_args()
    if given.what == "trials":
        return 0 if trials(given.models, given.count) else 1
    work = builds if given.what == "builds" else loads
    return 0 if work(given.kinds, given.count) else 1


if __name__ == "__main__":
    sys.exit(main())
