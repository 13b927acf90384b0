"""Random networks, compared with another runtime.

    python -m benchmarks.fuzz_networks --count 200 --workers 2 [--kind tensors] [--seed 0]

Each network is built natively, once for each choice of passes, and must give what onnxruntime
gives: integers exactly, floats within 1e-4 of the largest element. What differs is printed with
its kind and seed, from which `random_network` makes it again. Each network runs in a process of its
own, so that a crash or a hang costs that network only.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as capi

from benchmarks.fuzzing.apart import run_apart
from benchmarks.fuzzing.builder import RandomNetwork
from benchmarks.fuzzing.networks import KINDS, random_network
from relay_tune.building.programs import compile_program
from relay_tune.codegen.target import native_target
from relay_tune.errors import RelayError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.ir.module import Module
from relay_tune.runtime.loaded_program import LoadedProgram
from relay_tune.runtime.native_session import load_functions
from relay_tune.transform.fix_input_shapes import FixInputShapes
from relay_tune.transform.pipeline import PipelineOptions, default_pipeline

TOLERANCE = 1e-4
"""The largest difference of float32 results, relative to the largest element."""

REFUSALS = (
    *(capi.Fail, capi.InvalidArgument, capi.InvalidGraph, capi.NotImplemented),
    *(capi.RuntimeException, RuntimeError),
)

PASS_OPTIONS = {
    "default": PipelineOptions(),
    "NCHW": PipelineOptions(layout="NCHW"),
    "unfused": PipelineOptions(maximum_group_size=1, explicit_padding=False),
}


def problems(network: RandomNetwork, options: Sequence[str]) -> Iterator[str]:
    """What is wrong with the native results of a network; nothing if all is right."""
    pairs = zip(network.inputs, expected_outputs(network), strict=True)
    accepted = [(feed, expected) for feed, expected in pairs if expected is not None]
    if not accepted:
        return
    module = from_onnx(network.model)
    for feed, expected in accepted:
        for name in options:
            try:
                found = run_natively(module, feed, PASS_OPTIONS[name])
            except RelayError as error:
                yield f"{name}: {error}"
                continue
            yield from (f"{name}: {line}" for line in differences(found, expected))


def expected_outputs(network: RandomNetwork) -> list[list[np.ndarray] | None]:
    """What onnxruntime gives for each of the inputs; None where it refuses.

    It does where shape inference was wrong about a size, or where a batch is empty.
    """
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    settings.log_severity_level = 4
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    content = network.model.SerializeToString()
    try:
        session = onnxruntime.InferenceSession(content, settings)
    except REFUSALS:
        return [None for _ in network.inputs]
    return [_answer(session, feed) for feed in network.inputs]


def _answer(
    session: onnxruntime.InferenceSession, feed: Mapping[str, np.ndarray]
) -> list[np.ndarray] | None:
    try:
        return list(session.run(None, feed))
    except REFUSALS:
        return None


def run_natively(
    module: Module, feed: Mapping[str, np.ndarray], options: PipelineOptions
) -> list[np.ndarray]:
    """The outputs of a module for inputs by name."""
    names = [param.name for param in module.main.params]
    fixed = FixInputShapes({name: feed[name].shape for name in names})(module)
    fused = default_pipeline(options)(fixed)
    compiled = compile_program(fused, native_target(), 1, None, lambda line: None)
    model = LoadedProgram(compiled.program, load_functions(compiled), 1)
    return model.run({name: feed[name] for name in names})


def differences(
    found: Sequence[np.ndarray], expected: Sequence[np.ndarray], tolerance: float = TOLERANCE
) -> Iterator[str]:
    """What tells two lists of outputs apart."""
    for number, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            yield f"output {number} is {ours.dtype}{ours.shape}, not {theirs.dtype}{theirs.shape}"
        elif ours.dtype.kind != "f":
            if not np.array_equal(ours, theirs):
                yield f"output {number}: {np.sum(ours != theirs)} of {ours.size} integers differ"
        elif not np.array_equal(np.isfinite(ours), np.isfinite(theirs)):
            yield f"output {number}: infinite or undefined elements differ"
        elif (error := _error(ours, theirs)) > tolerance:
            yield f"output {number}: error {error:.2g}"


def _error(ours: np.ndarray, theirs: np.ndarray) -> float:
    kept = np.isfinite(theirs)
    a, b = ours[kept].astype(np.float64), theirs[kept].astype(np.float64)
    return 0.0 if a.size == 0 else float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-6))


def _problems(kind: str, seed: int) -> Iterator[str]:
    return problems(random_network(kind, seed), list(PASS_OPTIONS))


def main() -> int:
    """Run a campaign; the exit code is 1 if anything differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100, help="networks of each kind")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--kind", choices=sorted(KINDS), help="only this kind")
    parser.add_argument("--workers", type=int, default=1, help="networks at the same time")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds a network")
    options = parser.parse_args()
    kinds = [options.kind] if options.kind else list(KINDS)
    multiprocessing.set_forkserver_preload([__name__])
    jobs = [
        (kind, seed) for seed in range(options.seed, options.seed + options.count) for kind in kinds
    ]
    bad: Counter[str] = Counter()
    with ThreadPoolExecutor(options.workers) as pool:
        results = pool.map(lambda job: run_apart(options.timeout, _problems, *job), jobs)
        for (kind, seed), lines in zip(jobs, results, strict=True):
            for line in lines:
                print(f"{kind} {seed}: {line}", flush=True)
            bad[kind] += bool(lines)
    for kind in kinds:
        print(f"{kind:18} {options.count:5} networks, {bad[kind]} wrong")
    return int(bool(sum(bad.values())))


if __name__ == "__main__":
    sys.exit(main())
