"""Losses of training steps beside torch's, and torch's beside its own.

    python -m benchmarks.training_losses [NAME ...] [--steps 200] [--double] [--batch N]

All begin with the same weights and take the same batches (`benchmarks/training_steps.py`). The
first row of a network is torch on one thread; each further row is the largest difference of a loss
from it, relative to the loss where that is above 1, in the first 10, 50, 100 and all steps.
Rounding alone separates the rows of one element type, so that torch's own, on two threads, without
oneDNN, with one weight changed by its last bit, say how far apart right losses may be. The row of
float64 says how far torch's own losses are from exact ones. `--double` computes all in float64.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice

import numpy as np
import torch
from torch import nn

import relay_tune as rt
from benchmarks.compare import table_line
from benchmarks.training_steps import TASKS, Task, batches_of, exported, names_of, torch_step
from benchmarks.tree_training import tree_steps

Batches = Sequence[tuple[torch.Tensor, torch.Tensor]]
MARKS = (10, 50, 100)


def torch_losses(network: nn.Module, task: Task, batches: Batches, threads: int = 1) -> list[float]:
    """Those of torch."""
    torch.set_num_threads(threads)
    step = torch_step(network, task)
    return [step(inputs, targets) for inputs, targets in batches]


def own_losses(network: nn.Module, task: Task, batches: Batches, threads: int) -> list[float]:
    """Ours, of the ONNX file that torch exports."""
    module = rt.from_onnx(exported(network, torch.zeros_like(batches[0][0])))
    names = names_of(network)
    step = rt.training.step(module, optimiser=task.ours, threads=threads, parameters=names)
    return [float(step(inputs.numpy(), targets.numpy())) for inputs, targets in batches]


@contextmanager
def without_onednn() -> Iterator[None]:
    """Torch's own kernels, which round in another order."""
    with torch.backends.mkldnn.flags(enabled=False):
        yield


def _changed(network: nn.Module) -> nn.Module:
    """The network with the last bit of its first weight changed."""
    weight = next(network.parameters()).detach().view(-1)
    weight[0] = torch.nextafter(weight[0], torch.full_like(weight[0], torch.inf))
    return network


def all_losses(task: Task, steps: int) -> Iterator[tuple[str, list[float]]]:
    """The losses of each row by its title, torch's on one thread first."""

    def fresh() -> nn.Module:
        torch.manual_seed(0)
        return task.network().train()

    shape = tuple(fresh()(torch.zeros(task.shape)).shape)
    batches = list(islice(batches_of(task, shape), steps))
    yield "torch", torch_losses(fresh(), task, batches)
    for threads in (1, 2):
        yield f"relay_tune, threads={threads}", own_losses(fresh(), task, batches, threads)
    yield "torch, threads=2", torch_losses(fresh(), task, batches, 2)
    yield "torch, last bit of one weight", torch_losses(_changed(fresh()), task, batches)
    with without_onednn():
        yield "torch without oneDNN", torch_losses(fresh(), task, batches)
    if torch.get_default_dtype() != torch.float64:
        double = [(inputs.double(), targets) for inputs, targets in batches]
        yield "torch in float64", torch_losses(fresh().double(), task, double)


def tree_losses(steps: int) -> Iterator[tuple[str, list[float]]]:
    """Those of the TreeLSTM, by their titles."""
    ours, theirs, batches = tree_steps(1)
    pairs = [(theirs(*other), ours(*own)) for own, other in islice(batches, steps)]
    yield "torch", [wanted for wanted, _ in pairs]
    yield "relay_tune, threads=1", [found for _, found in pairs]


def compare(name: str, rows: Iterator[tuple[str, list[float]]]) -> None:
    """Print a line for each row but the first, as soon as it is known."""
    _, losses = next(rows)
    wanted = np.array(losses)
    for title, found in rows:
        differences = np.abs(np.array(found) - wanted) / np.maximum(1, np.abs(wanted))
        marks = [*(mark for mark in MARKS if mark < len(wanted)), len(wanted)]
        worst = [f"{differences[:mark].max():.1e}" for mark in marks]
        print(table_line([name, title, *worst, f"{found[-1]:.4f}"]), flush=True)


def _rows(name: str, steps: int, batch: int | None) -> Iterator[tuple[str, list[float]]]:
    if name not in TASKS:
        return tree_losses(steps)
    task = TASKS[name]
    if batch is not None:  # the LSTM's is its second axis
        shape = (task.shape[0], batch) if name == "lstm" else (batch,)
        task = replace(task, shape=shape + task.shape[len(shape) :])
    return all_losses(task, steps)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", default=[*TASKS, "tree_lstm"])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--double", action="store_true", help="in float64")
    parser.add_argument("--batch", type=int, help="samples of a batch, where fewer are to do")
    options = parser.parse_args()
    if options.double:
        torch.set_default_dtype(torch.float64)
    marks = [str(mark) for mark in MARKS if mark < options.steps]
    titles = ["network", "beside torch", *marks, str(options.steps), "last loss"]
    print(table_line(titles), table_line(["---"] * len(titles)), sep="\n", flush=True)
    for name in options.names:
        compare(name, _rows(name, options.steps, options.batch))


if __name__ == "__main__":
    main()
