"""What quantization costs on real data: images of digits, and the text of Python's own library.

Both networks are trained here, from seeds. Digits: a CNN with depthwise convolutions on the 1,797
images that scikit-learn brings, of which 450 are held out. It makes few errors, so that the error
of its logits and answers on noisy and shifted images are told, too. Characters: a small transformer
on the text of the standard library, judged by the perplexity of text that it has not seen.

    python -m benchmarks.quantized_accuracy digits characters --steps 600
"""

from __future__ import annotations

import argparse
import sysconfig
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import cross_entropy

import relay_tune as rt

Array = np.ndarray[Any, Any]

HELD_OUT = 450
EPOCHS = 12
CALIBRATED_ON = 128

ROWS, LENGTH, SYMBOLS, WIDTH, HEADS = 8, 64, 128, 128, 4
"""Of a batch of text: samples, characters of each, different characters; of the transformer."""

TEXT_BYTES = 4_000_000
TESTED = 40
"""Batches of held-out text."""

SCHEMES = (
    ("int8", "auto"),
    ("w8", "float32"),
    ("w4", "float32"),
    ("w8", "int8"),
    ("w4", "int8"),
    ("bf16", "float32"),
)
"""With the type of activations."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, quantize, and print what was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", default=["digits", "characters"])
    parser.add_argument("--steps", type=int, default=600, help="of training on text")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(arguments)
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    if "digits" in options.networks:
        digits(options.threads)
    if "characters" in options.networks:
        characters(options.steps, options.threads)


def digits(threads: int) -> None:
    """Accuracy and logits of the CNN in int8."""
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.target))
    images = (data.images / 16).astype("float32")[order, None]
    labels = data.target[order]
    network = _cnn()
    _train_images(network, images[:-HELD_OUT], labels[:-HELD_OUT])
    module = _imported(network, torch.zeros(1, 1, 8, 8))
    report = rt.QuantizationReport()
    samples = images[:CALIBRATED_ON]
    quantized = rt.quantize(module, calibration=samples, threads=threads, details=report)
    print(report)
    models = {
        "float32": rt.build(module, threads=threads),
        "int8": rt.build(quantized, threads=threads),
        "int8, integers everywhere": rt.build(
            quantized, threads=threads, pipeline="default{integers=always}"
        ),
    }
    for title, shown in _corrupted(images[-HELD_OUT:]).items():
        answers = {name: _all(model, shown) for name, model in models.items()}
        expected = answers["float32"]
        for name, found in answers.items():
            right = (found.argmax(1) == labels[-HELD_OUT:]).mean()
            same = (found.argmax(1) == expected.argmax(1)).mean()
            error = np.linalg.norm(found - expected) / np.linalg.norm(expected)
            print(
                f"digits, {title}, {name}: {right:.2%} right, {same:.2%} as float32, "
                f"error of logits {error:.2%}"
            )


def characters(steps: int, threads: int) -> None:
    """Perplexity of the transformer in each scheme."""
    text = _library_text()
    cut = len(text) * 9 // 10
    network = Transformer()
    _train_text(network, text[:cut], steps)
    module = _imported(network, torch.zeros(ROWS, LENGTH, dtype=torch.int64))
    samples = [batch[:, :-1] for batch in _batches(text[:cut], 16, seed=1)]
    tested = _batches(text[cut:], TESTED, seed=2)
    base = _perplexity(rt.build(module, threads=threads), tested)
    print(f"characters, float32: perplexity {base:.4f}")
    for scheme, activations in SCHEMES:
        report = rt.QuantizationReport()
        quantized = rt.quantize(
            module,
            scheme=scheme,
            activations=activations,
            calibration=samples,
            threads=threads,
            details=report,
        )
        found = _perplexity(rt.build(quantized, threads=threads), tested)
        print(
            f"characters, {scheme}, data {activations}: perplexity {found:.4f} "
            f"({found / base - 1:+.2%}), "
            f"{report.bytes_before:,} -> {report.bytes_after:,} bytes of constants"
        )
        print(str(report).splitlines()[0])


def _cnn() -> nn.Module:
    def normalized(layer: nn.Module, channels: int) -> list[nn.Module]:
        return [layer, nn.BatchNorm2d(channels), nn.ReLU6()]

    def separable(channels: int, results: int, stride: int) -> list[nn.Module]:
        depthwise = nn.Conv2d(channels, channels, 3, stride, 1, groups=channels, bias=False)
        pointwise = nn.Conv2d(channels, results, 1, bias=False)
        return [*normalized(depthwise, channels), *normalized(pointwise, results)]

    return nn.Sequential(
        *normalized(nn.Conv2d(1, 16, 3, 1, 1, bias=False), 16),
        *separable(16, 32, 1),
        *separable(32, 64, 2),
        *separable(64, 64, 1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 10),
    )


def _train_images(network: nn.Module, images: Array, labels: Array) -> None:
    optimizer = torch.optim.Adam(network.parameters(), 3e-3)
    x, y = torch.tensor(images), torch.tensor(labels)
    network.train()
    for _ in range(EPOCHS):
        order = torch.randperm(len(x))
        for start in range(0, len(x), 32):
            chosen = order[start : start + 32]
            optimizer.zero_grad()
            cross_entropy(network(x[chosen]), y[chosen]).backward()
            optimizer.step()


def _corrupted(images: Array) -> dict[str, Array]:
    noise = np.random.default_rng(1).standard_normal(images.shape) * 0.3
    return {
        "as they are": images,
        "with noise": np.clip(images + noise, 0, 1).astype("float32"),
        "shifted by a pixel": np.roll(images, 1, axis=3),
    }


def _all(model: Callable[[Array], Array], images: Array) -> Array:
    return np.concatenate([model(image[None]) for image in images])


class Transformer(nn.Module):
    """Two blocks of causal attention over characters."""

    def __init__(self) -> None:
        super().__init__()
        self.symbols = nn.Embedding(SYMBOLS, WIDTH)
        self.positions = nn.Parameter(0.02 * torch.randn(LENGTH, WIDTH))
        self.blocks = nn.ModuleList([Block() for _ in range(2)])
        self.norm = nn.LayerNorm(WIDTH)
        self.logits = nn.Linear(WIDTH, SYMBOLS)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Logits of the next character at each position."""
        x = self.symbols(tokens) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.logits(self.norm(x))


class Block(nn.Module):
    """Attention and a perceptron, each behind a normalization."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.other_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query, self.key, self.value, self.result = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.register_buffer("mask", torch.full((LENGTH, LENGTH), -1e4).triu(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The block's result, of the same shape."""
        y = self.norm(x)
        query, key, value = (self._heads(f(y)) for f in (self.query, self.key, self.value))
        scores = query @ key.transpose(-1, -2) / (WIDTH // HEADS) ** 0.5 + self.mask
        mixed = (scores.softmax(-1) @ value).transpose(1, 2).reshape(ROWS, LENGTH, WIDTH)
        x = x + self.result(mixed)
        return x + self.narrow(nn.functional.gelu(self.wide(self.other_norm(x))))

    def _heads(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(ROWS, LENGTH, HEADS, WIDTH // HEADS).transpose(1, 2)


def _library_text() -> Array:
    """ASCII characters of the standard library, files in the order of their names."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    parts = [file.read_bytes() for file in sorted(folder.glob("*.py"))]
    text = np.frombuffer(b"".join(parts)[:TEXT_BYTES], np.uint8)
    return text[text < SYMBOLS].astype(np.int64)


def _batches(text: Array, count: int, seed: int) -> list[Array]:
    starts = np.random.default_rng(seed).integers(0, len(text) - LENGTH - 1, (count, ROWS))
    return [np.stack([text[start : start + LENGTH + 1] for start in row]) for row in starts]


def _train_text(network: nn.Module, text: Array, steps: int) -> None:
    optimizer = torch.optim.AdamW(network.parameters(), 2e-3)
    rates = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps)
    network.train()
    for batch in _batches(text, steps, seed=0):
        tokens = torch.tensor(batch)
        optimizer.zero_grad()
        logits = network(tokens[:, :-1])
        cross_entropy(logits.reshape(-1, SYMBOLS), tokens[:, 1:].reshape(-1)).backward()
        optimizer.step()
        rates.step()


def _perplexity(model: Callable[[Array], Array], batches: Sequence[Array]) -> float:
    losses = []
    for batch in batches:
        logits = model(np.ascontiguousarray(batch[:, :-1])).astype(np.float64)
        shifted = logits - logits.max(-1, keepdims=True)
        logs = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
        losses.append(-np.take_along_axis(logs, batch[:, 1:, None], -1).mean())
    return float(np.exp(np.mean(losses)))


def _imported(network: nn.Module, example: torch.Tensor) -> rt.Module:
    network.eval()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.onnx"
        torch.onnx.export(
            network, (example,), str(path), dynamo=True, external_data=False, verbose=False
        )
        return rt.from_onnx(path)


if __name__ == "__main__":
    main()
