"""ONNX Runtime on the processor, with all its graph optimisations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

from relay_tune.cli.peers.peer import Array, Run

_REFUSALS = (
    "Fail",
    "InvalidArgument",
    "InvalidGraph",
    "InvalidProtobuf",
    "NoSuchFile",
    "NotImplemented",
    "RuntimeException",
)


def prepare_onnxruntime(path: Path, inputs: Mapping[str, Array], threads: int) -> Run:
    """A session for a file."""
    runtime = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    feeds = dict(inputs)

    def run() -> Sequence[Array]:
        outputs: Sequence[Array] = session.run(None, feeds)
        return outputs

    return run


def refusals() -> tuple[type[Exception], ...]:
    """The exceptions of the package; they have no common root."""
    state = import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    return tuple(getattr(state, name) for name in _REFUSALS)
