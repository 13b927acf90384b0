"""Train a convolutional network on handwritten digits, and count what it reads rightly.

    pip install scikit-learn
    python examples/train_digits.py [--epochs 12]

The network is a model in Python; every fifth image is held out. The step, with its optimiser, is
one native program, and the trained network becomes an ONNX file.
"""

# The program uses names that Relay knows and Python does not.
# ruff: noqa: F722, F821, UP037

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import relay_tune as rt

BATCH = 32


@rt.relay_model
class Reader:
    """Two convolutions, the largest of each four, and two dense layers."""

    first: "Tensor[(32, 1, 3, 3), float32]"
    first_bias: "Tensor[(32), float32]"
    second: "Tensor[(64, 32, 3, 3), float32]"
    second_bias: "Tensor[(64), float32]"
    wide: "Tensor[(128, 1024), float32]"
    wide_bias: "Tensor[(128), float32]"
    last: "Tensor[(10, 128), float32]"
    last_bias: "Tensor[(10), float32]"

    def main(self, images: "Tensor[(n, 1, 8, 8), float32]"):
        x = nn.bias_add(nn.conv2d(images, self.first, padding=(1, 1)), self.first_bias)
        x = nn.conv2d(np.maximum(x, 0), self.second, padding=(1, 1))
        x = np.maximum(nn.bias_add(x, self.second_bias), 0)
        x = nn.max_pool2d(x, pool_size=(2, 2), strides=(2, 2))
        x = np.maximum(nn.batch_flatten(x) @ self.wide.T + self.wide_bias, 0)
        return x @ self.last.T + self.last_bias


def first_weights(generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Normal weights of variance 2 / inputs (He et al., 2015, section 2.2), zero biases."""
    shapes = {
        "first": (32, 1, 3, 3),
        "second": (64, 32, 3, 3),
        "wide": (128, 1024),
        "last": (10, 128),
    }
    weights = {}
    for name, shape in shapes.items():
        deviation = np.sqrt(2 / np.prod(shape[1:]))
        weights[name] = generator.normal(0, deviation, shape).astype(np.float32)
        weights[f"{name}_bias"] = np.zeros(shape[0], np.float32)
    return weights


def main(epochs: int) -> None:
    """Train, and read the images that were held out."""
    data = load_digits()
    images = (data.images[:, None] / 16).astype(np.float32)
    labels = data.target.astype(np.int64)
    held_out = np.arange(len(labels)) % 5 == 4
    known, classes = images[~held_out], labels[~held_out]

    generator = np.random.default_rng(0)
    model = Reader(**first_weights(generator))
    steps = epochs * (len(known) // BATCH)
    rate = rt.training.Cosine(2e-3, steps=steps)
    step = rt.training.step(model.main.module, "cross_entropy", rt.training.AdamW(rate, decay=0.01))
    begin = time.perf_counter()
    for epoch in range(epochs):
        order = generator.permutation(len(known))
        batches = [order[i : i + BATCH] for i in range(0, len(order) - BATCH + 1, BATCH)]
        losses = [step(known[batch], classes[batch]) for batch in batches]
        print(f"epoch {epoch + 1:2}: loss {np.mean(losses):.4f}")
    seconds = time.perf_counter() - begin
    print(f"{steps * BATCH / seconds:,.0f} images a second")

    Path("digits.onnx").write_bytes(rt.to_onnx(step.trained()).SerializeToString())
    scores = rt.build(rt.from_onnx("digits.onnx"))(images[held_out])
    right = np.mean(np.argmax(scores, axis=1) == labels[held_out])
    print(f"right: {100 * right:.1f} % of {held_out.sum()} held-out images")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--epochs", type=int, default=12)
    main(parser.parse_args().epochs)
