"""Hostile and damaged model files: each must build and run, or give one clear error.

    python -m benchmarks.fuzz_files --count 300 --workers 2 [--seed 0]

What is counted as wrong: an exception that is no RelayError, a process that dies or hangs, more
than 10 processor seconds, more than 4 GiB of memory. Each file is handled by a process of its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from math import prod
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import numpy as np

from benchmarks.fuzzing.hostile import hostile_models
from benchmarks.fuzzing.mutations import mutated_bytes, mutated_model
from benchmarks.fuzzing.networks import KINDS, random_network
from benchmarks.fuzzing.patience import has_answered
from relay_tune.building.build import build
from relay_tune.errors import NoNativeCodeError, RelayError
from relay_tune.frontend.onnx_import import from_onnx
from relay_tune.ir.types import TensorType

MEMORY_LIMIT = 4 << 30
PROCESSOR_SECONDS = 10
PATIENCE_SECONDS = 60.0
"""A process that does nothing for so long hangs; work has the limit above."""

MOST_ELEMENTS_TO_RUN = 1 << 20
MOST_OPERATIONS_TO_RUN = 1 << 28


def files(count: int, seed: int) -> dict[str, bytes]:
    """The hostile models, and `count` damaged random networks."""
    found = {name: model.SerializeToString() for name, model in hostile_models().items()}
    return found | {f"damaged {n}": damaged(n) for n in range(seed, seed + count)}


def damaged(seed: int) -> bytes:
    """A random network after some changes, mostly of its graph."""
    random = np.random.default_rng(seed)
    kinds = list(KINDS)
    model = random_network(kinds[int(random.integers(len(kinds)))], seed).model
    if random.random() < 0.2:
        return mutated_bytes(model.SerializeToString(), random)
    return mutated_model(model, random).SerializeToString()


def outcome(content: bytes) -> str:
    """What becomes of a file; what begins with `wrong` is a defect."""
    try:
        model = build(from_onnx(content), threads=1)
        if not _is_small(model.inputs):
            return "built"
        inputs = {name: _input(type_) for name, type_ in model.inputs.items()}
        program = model.program(tuple(array.shape for array in inputs.values()))
        if sum(step.work.written for step in program.steps) > MOST_OPERATIONS_TO_RUN:
            return "built"
        model.run(inputs)
        return "ran"
    except NoNativeCodeError as error:
        return f"no native code: {error}"
    except RelayError as error:
        return f"refused: {error}"
    except Exception:  # noqa: BLE001  (this is what the campaign looks for)
        return f"wrong: {traceback.format_exc(limit=-4)}"


def _is_small(inputs: Mapping[str, TensorType]) -> bool:
    return sum(prod(_sizes(type_)) for type_ in inputs.values()) <= MOST_ELEMENTS_TO_RUN


def _sizes(type_: TensorType) -> tuple[int, ...]:
    return tuple(dim if isinstance(dim, int) else 2 for dim in type_.shape)


def _input(type_: TensorType) -> np.ndarray:
    """Ones; integers that are bad indices and bad divisors."""
    shape = _sizes(type_)
    if not type_.dtype.startswith(("int", "uint")):
        return np.ones(shape, type_.dtype)
    information = np.iinfo(type_.dtype)
    bad = np.array([information.min, 0, -1 if information.min else 1, information.max, 2, 1000])
    return np.resize(np.clip(bad, information.min, information.max), shape).astype(type_.dtype)


def _handle(content: bytes, channel: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS))
    channel.send(outcome(content))


def outcome_apart(content: bytes) -> str:
    """The outcome of a file that is handled by a process of its own."""
    context = multiprocessing.get_context("forkserver")
    channel, other = context.Pipe()
    process = context.Process(target=_handle, args=(content, other))
    process.start()
    other.close()
    assert process.pid is not None
    try:
        if not has_answered(channel, process.pid, PATIENCE_SECONDS):
            return "wrong: it hangs"
        return str(channel.recv())
    except EOFError:
        return f"wrong: the process died ({_exit_code(process)})"
    finally:
        process.kill()
        process.join()


def _exit_code(process: BaseProcess) -> str:
    """How a process ended: a signal's name, or a number."""
    process.join()
    code = process.exitcode or 0
    return signal.Signals(-code).name if code < 0 else str(code)


def main() -> int:
    """Run a campaign; the exit code is 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="damaged files")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=1, help="files at the same time")
    parser.add_argument("--match", default="", help="only files whose name contains this")
    parser.add_argument("--verbose", action="store_true", help="print every outcome")
    options = parser.parse_args()
    multiprocessing.set_forkserver_preload([__name__])
    found = {n: c for n, c in files(options.count, options.seed).items() if options.match in n}
    counts: Counter[str] = Counter()
    with ThreadPoolExecutor(options.workers) as pool:
        for name, line in zip(found, pool.map(outcome_apart, found.values()), strict=True):
            counts[line.partition(":")[0]] += 1
            if options.verbose or line.startswith("wrong"):
                print(f"{name}: {line}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in counts.most_common()))
    return int(counts["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
