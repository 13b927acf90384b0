"""Whole networks, side by side with other systems on this machine.

    python -m benchmarks.compare resnet18 mobilenet_v2 --log tuning.db --json result.json
    python -m benchmarks.compare model.onnx --threads 2

Every system reads the same ONNX file. They take turns in short bursts, and medians are printed:
milliseconds, and the time of relay_tune divided by that of each peer (below 1: relay_tune is
faster), with the log where one is given and without where none is: the title says so. Below the
table stand the geometric means of the ratios to the fastest peer of each network. Outputs must
agree; the column `error` is the largest difference to the first peer, divided by its largest
output. A system that cannot run a network is named below the table, with the reason.

With `--accuracy relaxed` ours may round factors to bfloat16, as the peer `openvino-bf16` does:
errors may then be as large as that makes them.

`--peers` chooses the other systems; `torch.compile` has to be named, because it compiles for long.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import geometric_mean

import numpy as np

from benchmarks.interleave import interleaved_medians
from benchmarks.machine import machine_description
from benchmarks.models import Network, network
from benchmarks.systems import USUAL_PEERS, System, peers, systems
from relay_tune import zoo
from relay_tune.cli.difference import largest_difference
from relay_tune.cli.peers.peer import Run
from relay_tune.errors import RelayError

TOLERANCES = {"exact": 1e-3, "fast": 1e-3, "relaxed": 1e-1}
"""The largest error that counts as agreement, by what ours may do: float32 sums differ in their
order; a bfloat16 has 8 bits, of which a network of many layers leaves about four."""


@dataclass(frozen=True, slots=True)
class Row:
    """One network at one number of threads.

    Attributes:
        milliseconds: time of one inference, by system.
        errors: largest difference to the first peer by its largest output, by system.
        failures: why a system could not run the network, by system.
    """

    network: str
    threads: int
    milliseconds: Mapping[str, float]
    errors: Mapping[str, float]
    failures: Mapping[str, str]


def measure(
    model: Network, threads: int, candidates: Sequence[System], rounds: int, burst: float
) -> Row:
    """Prepare all systems, compare their outputs, and time them side by side."""
    runs: dict[str, Run] = {}
    failures: dict[str, str] = {}
    for system in candidates:
        try:
            runs[system.name] = system.prepare(model.path, model.inputs, threads)
        except (RelayError, RuntimeError, ValueError) as error:
            failures[system.name] = str(error).splitlines()[0]
    outputs = {name: [np.array(value) for value in run()] for name, run in runs.items()}
    others = [system.name for system in candidates if system.is_peer and system.name in runs]
    errors = {}
    if others:
        reference = outputs[others[0]]
        errors = {name: largest_difference(values, reference) for name, values in outputs.items()}
    seconds = interleaved_medians(runs, rounds=rounds, burst_seconds=burst)
    times = {name: 1e3 * value for name, value in seconds.items()}
    return Row(model.name, threads, times, errors, failures)


def ratio_system(candidates: Sequence[System]) -> System:
    """Ours whose times stand in the ratios: tuned, or untuned where there is no log."""
    return [system for system in candidates if not system.is_peer][-1]


def header(candidates: Sequence[System]) -> list[str]:
    """The head of the Markdown table."""
    build = ratio_system(candidates).name.removeprefix("relay_tune ")
    titles = ["network", "threads", *(f"{system.name} ms" for system in candidates)]
    titles += [f"{build} / {system.name}" for system in candidates if system.is_peer]
    return titles + ["error"]


def cells(row: Row, candidates: Sequence[System]) -> list[str]:
    """One line of the table."""
    times = [row.milliseconds.get(system.name) for system in candidates]
    own = row.milliseconds.get(ratio_system(candidates).name)
    others = [row.milliseconds.get(system.name) for system in candidates if system.is_peer]
    ratios = ["-" if own is None or other is None else f"{own / other:.2f}" for other in others]
    error = f"{max(row.errors.values()):.1e}" if row.errors else "-"
    return [
        row.network,
        str(row.threads),
        *("-" if time is None else f"{time:.4g}" for time in times),
        *ratios,
        error,
    ]


def ratio_to_best(row: Row, candidates: Sequence[System]) -> float | None:
    """Our time by that of the fastest peer; None if we or all peers failed."""
    own = row.milliseconds.get(ratio_system(candidates).name)
    names = [system.name for system in candidates if system.is_peer]
    others = [row.milliseconds[name] for name in names if name in row.milliseconds]
    return None if own is None or not others else own / min(others)


def summary(rows: Sequence[Row], candidates: Sequence[System]) -> list[str]:
    """For each number of threads, the geometric mean and the worst of the ratios."""
    lines = []
    for threads in dict.fromkeys(row.threads for row in rows):
        ratios = {
            row.network: ratio
            for row in rows
            if row.threads == threads and (ratio := ratio_to_best(row, candidates)) is not None
        }
        if ratios:
            worst = max(ratios, key=ratios.__getitem__)
            lines.append(
                f"{threads} thread(s), {len(ratios)} networks: geometric mean of the ratios to the "
                f"fastest peer {geometric_mean(ratios.values()):.2f}, worst {ratios[worst]:.2f} "
                f"({worst})"
            )
    return lines


def table_line(parts: Sequence[str]) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(parts)} |"


def problems(row: Row, accuracy: str) -> list[str]:
    """Lines about systems that failed or whose outputs differ."""
    where = f"{row.network}, {row.threads} thread(s)"
    lines = [f"{where}: {name} failed: {reason}" for name, reason in row.failures.items()]
    return lines + [
        f"{where}: the outputs of {name} differ by {error:.1e}"
        for name, error in row.errors.items()
        if not error <= TOLERANCES[accuracy]
    ]


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Compare networks with other systems.")
    parser.add_argument("networks", nargs="*", help=f"{', '.join(zoo.names())}, or .onnx files")
    parser.add_argument("--log", help="a tuning log; without it only untuned builds are measured")
    parser.add_argument("--accuracy", choices=list(TOLERANCES), default="fast", help="of ours")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=15, help="bursts of each system")
    parser.add_argument("--burst", type=float, default=0.05, help="seconds of a burst, at least")
    parser.add_argument(
        "--peers", nargs="+", default=USUAL_PEERS, choices=[peer.name for peer in peers()]
    )
    parser.add_argument("--keep", type=Path, help="folder for the ONNX files")
    parser.add_argument("--json", type=Path, help="file for the results")
    return parser.parse_args(arguments)


def measure_all(options: argparse.Namespace, candidates: Sequence[System]) -> list[Row]:
    """All networks at all numbers of threads; each row is printed when it is known."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in options.networks or zoo.names():
            model = network(name, folder)
            for threads in options.threads:
                row = measure(model, threads, candidates, options.rounds, options.burst)
                print(table_line(cells(row, candidates)), flush=True)
                rows.append(row)
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; the exit code is 1 if a system failed or outputs differ."""
    options = parse_options(arguments)
    candidates = systems(options.log, options.peers, options.accuracy)
    titles = header(candidates)
    print(table_line(titles), table_line(["---"] * len(titles)), sep="\n", flush=True)
    rows = measure_all(options, candidates)
    lines = [line for row in rows for line in problems(row, options.accuracy)]
    print("", *summary(rows, candidates), *lines, sep="\n")
    if options.json is not None:
        document = {
            "machine": machine_description(),
            "systems": {system.name: system.version for system in candidates},
            "rows": [asdict(row) for row in rows],
        }
        options.json.write_text(json.dumps(document, indent=1))
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
