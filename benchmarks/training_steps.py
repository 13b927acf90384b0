"""Training steps beside torch: the same networks, losses, optimisers and first weights, in turns.

    python -m benchmarks.training_steps [NAME ...] [--threads 1 2] [--compile]
    python -m benchmarks.training_steps mlp lenet --threads 1 --jax

Each network is written in torch and exported to ONNX in training mode, but for `tree_lstm`, whose
recursion over trees is a program in Python (`benchmarks/tree_training.py`). A step is the forward
sweep, the backward sweep and the update of all parameters. Printed are medians in milliseconds and
the ratio to the fastest of the others. `--jax` takes JAX in, for one number of threads in a run.
`benchmarks/training_losses.py` compares the losses instead.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional

import relay_tune as rt
from benchmarks.interleave import interleaved_medians
from benchmarks.training_networks import Recurrent, Transformer, lenet, mlp, resnet18
from benchmarks.tree_training import tree_steps


@dataclass(frozen=True)
class Task:
    """A network with its data.

    Attributes:
        network: makes it.
        shape: of a batch of inputs.
        classes: of the targets.
        ours: the optimiser here.
        theirs: the same in torch.
    """

    network: Callable[[], nn.Module]
    shape: tuple[int, ...]
    classes: int
    ours: Any
    theirs: Callable[[Any], Any]


def _sgd(parameters: Any) -> Any:
    return torch.optim.SGD(parameters, 0.01)


TASKS = {
    "mlp": Task(mlp, (64, 784), 10, rt.training.SGD(0.01), _sgd),
    "lenet": Task(lenet, (32, 1, 28, 28), 10, rt.training.SGD(0.01), _sgd),
    "resnet18": Task(resnet18, (32, 3, 32, 32), 10, rt.training.SGD(0.01), _sgd),
    "lstm": Task(Recurrent, (100, 16, 512), 64, rt.training.Adam(1e-3), torch.optim.Adam),
    "transformer": Task(Transformer, (8, 128, 256), 64, rt.training.AdamW(1e-3), torch.optim.AdamW),
}


def exported(network: nn.Module, example: torch.Tensor) -> bytes:
    """The network as an ONNX file, as it is trained."""
    file = io.BytesIO()
    mode = torch.onnx.TrainingMode.TRAINING
    torch.onnx.export(
        network, (example,), file, dynamo=False, training=mode, do_constant_folding=False
    )
    return file.getvalue()


def batches_of(task: Task, output: tuple[int, ...]) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Random inputs and classes for outputs of a shape; the same in each call."""
    generator = torch.Generator().manual_seed(1)
    while True:
        inputs = torch.randn(task.shape, generator=generator)
        yield inputs, torch.randint(0, task.classes, output[:-1], generator=generator)


def torch_step(network: nn.Module, task: Task) -> Callable[[Any, Any], Any]:
    """A step that gives the loss of a batch, before the parameters change."""
    optimiser = task.theirs(network.parameters())

    def step(inputs: torch.Tensor, targets: torch.Tensor) -> float:
        optimiser.zero_grad()
        output = network(inputs)
        loss = functional.cross_entropy(output.flatten(0, -2), targets.flatten())
        loss.backward()
        optimiser.step()
        return float(loss.item())

    return step


@dataclass(frozen=True)
class Steps:
    """The training steps of one network.

    Attributes:
        ours, theirs: give the loss of a batch.
        batches: the arguments of the one and of the other.
        compiled: makes the step of the compiled network in torch; None: that is not timed.
        jitted: makes the step in JAX, which takes our batches; None: it is not written there.
    """

    ours: Callable[..., float]
    theirs: Callable[..., float]
    batches: Iterator[tuple[Any, Any]]
    compiled: Callable[[], Callable[..., float]] | None = None
    jitted: Callable[[], Callable[..., float]] | None = None


def _network_steps(name: str, threads: int) -> Steps:
    """Those of a network in torch, which comes as an ONNX file."""
    task = TASKS[name]
    torch.manual_seed(0)
    network = task.network().train()
    example = torch.randn(task.shape)
    content = exported(network, example)
    ours = rt.training.step(
        rt.from_onnx(content), optimiser=task.ours, threads=threads, parameters=names_of(network)
    )
    batches = (
        ((inputs.numpy(), targets.numpy()), (inputs, targets))
        for inputs, targets in batches_of(task, tuple(network(example).shape))
    )
    compiled = partial(_compiled_step, network, task)
    jitted = partial(_jitted_step, network, task, threads)
    return Steps(ours, torch_step(network, task), batches, compiled, jitted)


def _compiled_step(network: nn.Module, task: Task) -> Callable[[Any, Any], Any]:
    return torch_step(torch.compile(network), task)


def _jitted_step(network: nn.Module, task: Task, threads: int) -> Callable[[Any, Any], Any]:
    from benchmarks.jitted_steps import jitted_step  # noqa: PLC0415  (JAX need not be installed)

    return jitted_step(network, task.ours, threads)


def _tree_steps(_: str, threads: int) -> Steps:
    return Steps(*tree_steps(threads))


@dataclass(frozen=True)
class Peers:
    """Which peers run beside torch as it is: torch.compile, and JAX."""

    compiled: bool
    jitted: bool


CASES: dict[str, Callable[[str, int], Steps]] = {
    **dict.fromkeys(TASKS, _network_steps),
    "tree_lstm": _tree_steps,
}


def run(name: str, threads: int, peers: Peers) -> None:
    """Time the steps of one network."""
    torch.set_num_threads(threads)
    steps = CASES[name](name, threads)
    own, other = next(steps.batches)
    runs = {
        "relay_tune": lambda: steps.ours(*own),
        "torch eager": lambda: steps.theirs(*other),
    }
    if peers.compiled and steps.compiled is not None:
        compiled = steps.compiled()
        runs["torch.compile"] = lambda: compiled(*other)
    if peers.jitted and steps.jitted is not None:
        jitted = steps.jitted()
        runs["jax"] = lambda: jitted(*own)
    seconds = interleaved_medians(runs, rounds=7)
    ours = seconds.pop("relay_tune")
    others = "  ".join(f"{each} {time * 1e3:8.2f}" for each, time in seconds.items())
    ratio = ours / min(seconds.values())
    print(f"{name:12} {threads} threads  relay_tune {ours * 1e3:8.2f}  {others}  ratio {ratio:.3f}")


def names_of(network: nn.Module) -> list[str] | None:
    """The parameters by the names that the export keeps; None where it renames them."""
    return (
        None
        if isinstance(network, Recurrent | Transformer)
        else [name for name, _ in network.named_parameters()]
    )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", default=list(CASES))
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--compile", action="store_true", help="torch.compile as well")
    parser.add_argument("--jax", action="store_true", help="JAX as well")
    options = parser.parse_args()
    if options.jax and len(options.threads) > 1:
        parser.error("--jax takes one number of threads in a run")
    peers = Peers(options.compile, options.jax)
    for threads in options.threads:
        for name in options.names:
            run(name, threads, peers)


if __name__ == "__main__":
    main()
