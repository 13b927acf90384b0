"""The systems that are compared: each reads an ONNX file and gives a function that runs it.

torch does not read ONNX files: `relay_tune/cli/peers/torch_module` makes a module of the file's
nodes, which torch.compile then compiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import relay_tune
from benchmarks.models import Inputs
from relay_tune.building.build import build
from relay_tune.cli.peers.onnx_runtime import prepare_onnxruntime
from relay_tune.cli.peers.openvino_runtime import prepare_openvino
from relay_tune.cli.peers.peer import Run
from relay_tune.cli.peers.torch_compile import prepare_torch
from relay_tune.codegen.target import native_target
from relay_tune.errors import RelayError
from relay_tune.op.primitive_key import PrimitiveKey
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.rewrites.algorithm import DIRECT
from relay_tune.schedule.schedule import Schedule

USUAL_PEERS = ("onnxruntime", "openvino")
"""Those that are ready in seconds; torch.compile needs a C++ compiler and up to a minute for each
network and number of threads (it keeps what it compiled for the next time)."""


@dataclass(frozen=True, slots=True)
class System:
    """A way to run models.

    Attributes:
        name: in tables; those of this project begin with `relay_tune`.
        package: the distribution that it comes from.
        prepare: (model file, inputs, threads) -> a function that runs it once.
    """

    name: str
    package: str
    prepare: Callable[[Path, Inputs, int], Run]

    @property
    def is_peer(self) -> bool:
        """Whether this is another system than ours."""
        return not self.name.startswith("relay_tune")

    @property
    def version(self) -> str:
        """The version that is installed."""
        return f"{self.package} {version(self.package.replace('_', '-'))}"


def systems(
    log: str | None, chosen: Sequence[str] = USUAL_PEERS, accuracy: str = "fast"
) -> list[System]:
    """Ours, untuned and (given a tuning log) tuned, and those of the chosen peers that are
    installed."""
    ours = [System("relay_tune untuned", "relay_tune", prepare_ours(None, accuracy))]
    if log is not None:
        ours.append(System("relay_tune tuned", "relay_tune", prepare_ours(log, accuracy)))
    return ours + [
        peer for peer in peers() if peer.name in chosen and find_spec(peer.package) is not None
    ]


def peers() -> list[System]:
    """Every other system that there is a way to run."""
    return [
        System("onnxruntime", "onnxruntime", prepare_onnxruntime),
        System("openvino", "openvino", prepare_openvino),
        System("openvino-bf16", "openvino", partial(prepare_openvino, precision="bf16")),
        System("torch.compile", "torch", prepare_torch),
    ]


def prepare_ours(log: str | None, accuracy: str = "fast") -> Callable[[Path, Inputs, int], Run]:
    """This project, with the schedules of a tuning log or the default ones."""

    def prepare(path: Path, inputs: Inputs, threads: int) -> Run:
        module = relay_tune.from_onnx(path)
        model = _network(
            path, relay_tune.build(module, log=log, threads=threads, accuracy=accuracy)
        )
        return lambda: model.run(inputs)

    return prepare


def _network(path: Path, model: object) -> relay_tune.Model:
    if not isinstance(model, relay_tune.Model):
        raise RelayError(f"{path.name} is no network of operators, which is compared here.")
    return model


def prepare_direct(path: Path, inputs: Inputs, threads: int) -> Run:
    """This project, with the default schedules of direct computation."""
    machine = machine_of(native_target())

    def direct(_: PrimitiveKey, plan: Plan) -> Schedule:
        return plan.with_algorithm(DIRECT).default_under_algorithm(machine, threads)[1]

    module = relay_tune.from_onnx(path)
    model = _network(path, build(module, threads=threads, schedules=direct))
    return lambda: model.run(inputs)


DIRECT_SYSTEM = System("relay_tune direct", "relay_tune", prepare_direct)
