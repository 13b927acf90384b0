"""What becomes of a model file, in this process or in one of its own."""

from __future__ import annotations

import multiprocessing
import resource
import signal
import traceback
from collections.abc import Mapping
from math import prod
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import numpy as np

from benchmarks.fuzzing.patience import has_answered
from relay_tune.building.build import build
from relay_tune.errors import NoNativeCodeError, RelayError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.ir.expr import If, Match
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import post_order
from relay_tune.ir.types import TensorType
from relay_tune.runtime.model import open_inputs

MEMORY_LIMIT = 4 << 30
PROCESSOR_SECONDS = 10
PATIENCE_SECONDS = 60.0
"""A process that does nothing for so long hangs; work has the limit above."""

MOST_ELEMENTS_TO_RUN = 1 << 20
MOST_OPERATIONS_TO_RUN = 1 << 28


def outcome(content: bytes) -> str:
    """What becomes of a file; what begins with `wrong` is a defect.

    Programs are only built: the loops of a damaged one may have no end.
    """
    try:
        module = from_onnx(content)
        model = build(module, threads=1)
        types = {n: type_ for n, type_ in model.inputs.items() if isinstance(type_, TensorType)}
        if len(types) < len(model.inputs) or not _is_small(types) or _branches(module):
            return "built"
        inputs = {name: _input(type_) for name, type_ in types.items()}
        program = model.compiled(tuple(inputs[name].shape for name in open_inputs(types)))
        works = [step.work for region in program.regions for step in region.steps]
        if sum(work.written for work in works if work is not None) > MOST_OPERATIONS_TO_RUN:
            return "built"
        model.run(inputs)
        return "ran"
    except NoNativeCodeError as error:
        return f"no native code: {error}"
    except RelayError as error:
        return f"refused: {error}"
    except Exception:  # noqa: BLE001  (this is what the campaign looks for)
        return f"wrong: {traceback.format_exc(limit=-4)}"


def _branches(module: Module) -> bool:
    """Whether a program may run a part of it for ever."""
    bodies = (function.body for function in module.functions.values())
    return any(isinstance(node, If | Match) for body in bodies for node in post_order(body))


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
