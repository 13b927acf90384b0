"""Decoders whose weights are stored in few bits, beside the limit of memory and other systems.

    python -m benchmarks.narrow_decode [--stored float32 bfloat16 int8 int4] [--threads 1 2]
        [--past 1 16 512 1000] [--prefill 512] [--accuracy-level 0] [--rounds 9]

torch exports a decoder like GPT-2 (12 layers of 768, 50,257 words) with any number of new and of
earlier words; its matrices become MatMulNBits in blocks of 32, or bfloat16 with a Cast. The same
file runs here, in onnxruntime and in OpenVINO: a step of one word over caches of each length,
donated in ours, and a text of `--prefill` words at once. Printed are milliseconds (medians of runs
that take turns), ours as a part of the best peer's, and for steps the part of it that the bytes of
weights and caches take at the speed at which this machine reads memory.
"""

from __future__ import annotations

import argparse
import gc
import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, sleep

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import relay_tune as rt
from benchmarks.narrow_files import with_narrow_weights
from relay_tune.cli.peers.onnx_runtime import prepare_onnxruntime
from relay_tune.cli.peers.openvino_runtime import prepare_openvino
from relay_tune.ir.expr import Call, Constant
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import post_order
from relay_tune.op.indexing import take
from relay_tune.runtime.measure_limits import machine_limits

Array = npt.NDArray[np.generic]
Run = Callable[[], Sequence[Array]]

STORED = ("float32", "bfloat16", "int8", "int4")
PEERS = {"onnxruntime": prepare_onnxruntime, "openvino": prepare_openvino}
LAYERS, WIDTH, HEADS, WORDS, POSITIONS = 12, 768, 12, 50257, 2048

PAUSE_SECONDS = 0.03
"""Between runs: waiting threads of the last system give up within it."""


class Block(nn.Module):
    """A transformer block that appends to a cache and sees the words that `seen` says."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.mix = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor, seen: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, ...]:
        """The next x, and both caches with the new rows."""
        batch, rows, width = x.shape
        parts = self.qkv(self.first(x)).split(width, dim=2)
        q, k, v = (p.view(batch, rows, HEADS, -1).transpose(1, 2) for p in parts)
        keys, values = torch.cat((keys, k), dim=2), torch.cat((values, v), dim=2)
        scores = q @ keys.transpose(-1, -2) * (WIDTH // HEADS) ** -0.5
        weights = torch.softmax(torch.where(seen, scores, -1e9), dim=-1)
        mixed = (weights @ values).transpose(1, 2).reshape(batch, rows, width)
        x = x + self.mix(mixed)
        return x + self.down(F.gelu(self.up(self.second(x)), approximate="tanh")), keys, values


class Decoder(nn.Module):
    """Embeddings, blocks, and scores of all words after the last one."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(POSITIONS, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.last, self.scores = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, words: Tensor, past: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, ...]:
        """The scores, then the keys and values of each block."""
        earlier, new = past[0][0].shape[2], words.shape[1]
        places = torch.arange(earlier, earlier + new)
        seen = torch.arange(earlier + new)[None] <= places[:, None]
        x, present = self.words(words) + self.places(places), []
        for block, (keys, values) in zip(self.blocks, past, strict=True):
            x, *both = block(x, seen, keys, values)
            present += both
        return self.scores(self.last(x[:, -1:])), *present


def exported() -> bytes:
    """The ONNX file of a decoder in float32, all of whose numbers of words are open."""
    torch.manual_seed(0)
    model = Decoder().eval()
    cache = torch.randn(1, HEADS, 16, WIDTH // HEADS)
    caches = [f"{n}.{kind}" for n in range(LAYERS) for kind in ("keys", "values")]
    inputs = ["words", *(f"past.{name}" for name in caches)]
    outputs = ["scores", *(f"present.{name}" for name in caches)]
    axes = {"words": {1: "new"}, **{name: {2: "past"} for name in inputs[1:]}}
    axes |= {name: {2: "present"} for name in outputs[1:]}
    content = io.BytesIO()
    with torch.no_grad(), redirect_stdout(io.StringIO()):
        torch.onnx.export(
            model, (torch.tensor([[5, 7]]), [(cache, cache.clone())] * LAYERS), content,
            dynamo=False, opset_version=18, dynamic_axes=axes,
            input_names=inputs, output_names=outputs,
        )  # fmt: skip
    return content.getvalue()


@dataclass(frozen=True, slots=True)
class Text:
    """How many words are read at once, behind how many earlier ones."""

    new: int
    past: int

    def inputs(self, names: Sequence[str]) -> dict[str, Array]:
        """Words and caches, the same for all systems."""
        rng = np.random.default_rng(self.past)
        shape = (1, HEADS, self.past, WIDTH // HEADS)
        words = rng.integers(0, WORDS, (1, self.new))
        caches = {name: rng.standard_normal(shape, np.float32) for name in names[1:]}
        return {names[0]: words, **caches}

    def __str__(self) -> str:
        return f"{self.new} after {self.past}"


class Donating:
    """Ours: a step donates its caches and goes on from those that come back."""

    def __init__(self, model: rt.Model, text: Text) -> None:
        self._model, self._inputs = model, text.inputs(list(model.inputs))
        names = list(self._inputs)[1:]
        self._rooms = dict.fromkeys(names, text.past + 256) if text.new == 1 else {}

    def __call__(self) -> Sequence[Array]:
        outputs: list[Array] = self._model.run(self._inputs, donate=self._rooms)
        self._inputs |= dict(zip(self._rooms, outputs[1:], strict=False))
        return outputs


def prepared(
    path: Path, model: rt.Model, threads: int, text: Text, peers: Sequence[str]
) -> dict[str, Run]:
    """The runs of a text."""
    inputs = text.inputs(list(model.inputs))
    runs: dict[str, Run] = {"ours": Donating(model, text)}
    for name in peers:
        try:
            runs[name] = PEERS[name](path, inputs, threads)
        except RuntimeError as error:
            print(f"{name}: {str(error).splitlines()[0]}")
    return runs


def in_turns(runs: Mapping[str, Run], rounds: int) -> dict[str, float]:
    """The median seconds of each run; they take turns, each once before it is timed."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            sleep(PAUSE_SECONDS)
            run()
            begin = perf_counter()
            run()
            times[name].append(perf_counter() - begin)
    return {name: median(each) for name, each in times.items()}


def differences(runs: Mapping[str, Run]) -> str:
    """How far the scores of each peer are from ours, as a part of the largest one."""
    scores = {name: np.array(run()[0], np.float32) for name, run in runs.items()}
    ours = scores.pop("ours")
    errors = {name: np.abs(ours - each).max() / np.abs(ours).max() for name, each in scores.items()}
    return ", ".join(f"{name} differs by {error:.0e}" for name, error in errors.items())


def read_bytes(module: Module) -> int:
    """The bytes of all constants, but for tables of which only rows are looked up."""
    sizes: dict[int, int] = {}
    for node in post_order(module.main):
        if isinstance(node, Call) and node.callee is not take:
            constants = (each for each in node.arguments if isinstance(each, Constant))
            sizes |= {id(each.data): each.data.nbytes for each in constants}
    return sum(sizes.values())


def line(weights: int, threads: int, text: Text, times: Mapping[str, float]) -> str:
    """What was measured of a text; `weights` are their bytes."""
    listed = "  ".join(f"{name} {1e3 * seconds:.2f}" for name, seconds in times.items())
    parts = [f"{text}, {threads} thread(s): {listed} ms"]
    others = [seconds for name, seconds in times.items() if name != "ours"]
    if others:
        parts.append(f"{times['ours'] / min(others):.2f} of the best peer")
    if text.new == 1:
        moved = weights + 2 * LAYERS * WIDTH * text.past * 4
        least = moved / machine_limits(threads).memory
        parts.append(f"{moved / 1e6:.0f} MB, {least / times['ours']:.0%} of the limit")
    return "; ".join(parts)


def main() -> None:
    """Measure and print a line for each text."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stored", nargs="+", default=list(STORED), choices=STORED)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--past", type=int, nargs="*", default=[1, 16, 512, 1000])
    parser.add_argument("--prefill", type=int, nargs="*", default=[512])
    parser.add_argument("--accuracy-level", type=int, default=0, help="of MatMulNBits")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=list(PEERS))
    options = parser.parse_args()
    texts = [Text(1, past) for past in options.past] + [Text(new, 0) for new in options.prefill]
    content = exported()
    with TemporaryDirectory() as folder:
        for stored in options.stored:
            path = Path(folder) / f"{stored}.onnx"
            path.write_bytes(with_narrow_weights(content, stored, options.accuracy_level))
            module = rt.from_onnx(path)
            print(f"{stored}:")
            for threads in options.threads:
                model = rt.build(module, threads=threads)
                assert isinstance(model, rt.Model)
                for text in texts:
                    runs = prepared(path, model, threads, text, options.peers)
                    found = differences(runs)
                    times = in_turns(runs, options.rounds)
                    print(line(read_bytes(module), threads, text, times), found, sep="; ")
                    del runs
                    gc.collect()


if __name__ == "__main__":
    main()
