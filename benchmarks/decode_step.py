"""A step of a GPT-2-like decoder with dynamic caches, beside fixed sizes and onnxruntime.

    python -m benchmarks.decode_step [--threads 1] [--past 16 128 512 1023] [--exporter dynamo]
        [--layers 12] [--width 768] [--heads 12] [--words 50257] [--fixed] [--cpu]

torch exports the step: word and position in, scores and caches out, one row longer. For each length
of the caches: milliseconds (minimum / median) of a step that donates its caches, of one that does
not, of code for this length alone (`--fixed`, without donation: it writes whole caches), and of
onnxruntime; they take turns. `--cpu` counts the time of this process on processors, which other
processes change less, and is of use with one thread. The last columns are the bytes that a step has
to read, and that rate.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import onnxruntime
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import relay_tune as rt
from relay_tune.transform.fix_input_shapes import FixInputShapes

Caches = Sequence[tuple[Tensor, Tensor]]


class Block(nn.Module):
    """A transformer block whose attention reads a cache."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The next x, and both caches with a row more."""
        batch, rows, width = x.shape
        parts = self.qkv(self.first(x)).split(width, dim=2)
        q, k, v = (p.view(batch, rows, self.heads, -1).transpose(1, 2) for p in parts)
        keys, values = torch.cat((keys, k), dim=2), torch.cat((values, v), dim=2)
        scores = q @ keys.transpose(-1, -2) * (width // self.heads) ** -0.5
        mixed = (torch.softmax(scores, dim=-1) @ values).transpose(1, 2)
        x = x + self.mix(mixed.reshape(batch, rows, width))
        return x + self.down(F.gelu(self.up(self.second(x)), approximate="tanh")), keys, values


class Decoder(nn.Module):
    """Embeddings, blocks, and scores of all words."""

    def __init__(self, layers: int, width: int, heads: int, words: int, positions: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(positions, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.last = nn.LayerNorm(width)

    def forward(self, word: Tensor, place: Tensor, past: Caches) -> tuple[Tensor, ...]:
        """The scores, then the keys and values of each block."""
        x, present = self.words(word) + self.places(place), []
        for block, (keys, values) in zip(self.blocks, past, strict=True):
            x, *both = block(x, keys, values)
            present += both
        return self.last(x) @ self.words.weight.T, *present


def exported(options: argparse.Namespace) -> bytes:
    """The ONNX file of a step whose caches have any length."""
    torch.manual_seed(0)
    layers, width, heads = options.layers, options.width, options.heads
    model = Decoder(layers, width, heads, options.words, positions=2048).eval()
    cache = torch.randn(1, heads, 16, width // heads)
    arguments = (torch.tensor([[5]]), torch.tensor([[16]]), [(cache, cache.clone())] * layers)
    caches = [f"{n}.{kind}" for n in range(layers) for kind in ("keys", "values")]
    inputs = ["word", "place", *(f"past.{name}" for name in caches)]
    outputs = ["scores", *(f"present.{name}" for name in caches)]
    content = io.BytesIO()
    with torch.no_grad(), redirect_stdout(io.StringIO()):
        if options.exporter == "dynamo":
            length = torch.export.Dim("past", min=1, max=2000)
            shapes = (None, None, [({2: length}, {2: length})] * layers)
            program = torch.onnx.export(
                model, arguments, dynamo=True, verbose=False, dynamic_shapes=shapes,
                input_names=inputs, output_names=outputs,
            )  # fmt: skip
            return bytes(program.model_proto.SerializeToString())
        axes = {name: {2: "past"} for name in inputs[2:]}
        axes |= {name: {2: "present"} for name in outputs[1:]}
        torch.onnx.export(
            model, arguments, content, dynamo=False, opset_version=18, dynamic_axes=axes,
            input_names=inputs, output_names=outputs,
        )  # fmt: skip
    return content.getvalue()


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    numbers = {"threads": 1, "layers": 12, "width": 768, "heads": 12, "words": 50257, "rounds": 20}
    for name, number in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--past", type=int, nargs="+", default=[16, 128, 512, 1023])
    parser.add_argument("--exporter", choices=("dynamo", "script"), default="script")
    parser.add_argument("--fixed", action="store_true", help="also code for each length")
    parser.add_argument("--cpu", action="store_true", help="count processor time")
    options = parser.parse_args()
    file = exported(options)
    module = rt.from_onnx(file)
    model = rt.build(module, threads=options.threads)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    other = onnxruntime.InferenceSession(file, settings, providers=["CPUExecutionProvider"])
    clock = time.process_time if options.cpu else time.perf_counter
    for past in options.past:
        inputs = _inputs(options, past, list(model.inputs))
        fixed = {name: value.shape for name, value in inputs.items()}
        alone = None
        if options.fixed:
            alone = rt.build(FixInputShapes(fixed)(module), threads=options.threads)
        step = _Donating(model, inputs, past + options.rounds + 2)
        runs: dict[str, Callable[[], object]] = {
            "donated": step,
            "copied": partial(model.run, inputs),
        }
        if alone is not None:
            runs["fixed"] = partial(alone.run, inputs)
        runs["onnxruntime"] = partial(other.run, None, inputs)
        _require_equal(model.run(inputs), other.run(None, inputs))
        times = _in_turns(runs, options.rounds, clock)
        needed = _bytes(options, past)
        rate = needed / min(times["donated"]) / 1e9
        listed = "  ".join(
            f"{name} {min(each) * 1e3:.2f} / {median(each) * 1e3:.2f}"
            for name, each in times.items()
        )
        print(f"past {past:5}: {listed} ms; {needed / 1e6:.0f} MB, {rate:.1f} GB/s", flush=True)


class _Donating:
    """A step that donates its caches; it goes on from the last one."""

    def __init__(self, model: Any, inputs: Mapping[str, Any], room: int) -> None:
        self._model, self._inputs = model, dict(inputs)
        self._names = [name for name in inputs if name.startswith("past")]
        self._next(model.run(inputs, donate=dict.fromkeys(self._names, room)))

    def _next(self, outputs: list[Any]) -> None:
        self._inputs |= dict(zip(self._names, outputs[1:], strict=True))

    def __call__(self) -> None:
        self._next(self._model.run(self._inputs, donate=self._names))


def _inputs(options: argparse.Namespace, past: int, names: Sequence[str]) -> dict[str, Any]:
    rng = np.random.default_rng(past)
    shape = (1, options.heads, past, options.width // options.heads)
    caches = {name: rng.standard_normal(shape).astype("float32") for name in names[2:]}
    return {names[0]: np.array([[5]]), names[1]: np.array([[past]]), **caches}


def _bytes(options: argparse.Namespace, past: int) -> int:
    """The weights that a step reads, and the caches."""
    width, layers = options.width, options.layers
    numbers: int = width * (12 * width * layers + options.words + 2 * layers * past)
    return 4 * numbers


def _require_equal(found: Sequence[Any], wanted: Sequence[Any]) -> None:
    for one, two in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-3, atol=1e-4)


def _in_turns(
    runs: Mapping[str, Callable[[], object]], rounds: int, clock: Callable[[], float]
) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            begin = clock()
            run()
            times[name].append(clock() - begin)
    return times


if __name__ == "__main__":
    main()
