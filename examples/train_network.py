"""Train a small convolutional network in native code, and use it.

    python examples/train_network.py

Images of stripes in four directions, with noise, are told apart. Many steps are one native call,
after which a line tells the loss, the speed and the time left, and a checkpoint is written: if the
program is ended and started again, it goes on from there. The trained network becomes an ONNX file.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

import relay_tune as rt

SAMPLES, BATCH, STEPS, SIZE = 1600, 32, 150, 12
AT_ONCE = 25
"""Steps in one native call."""

CHECKPOINT = Path("stripes.safetensors")

NETWORK = """
def @main(%x: Tensor[(32, 1, 12, 12), float32], %c: Tensor[(8, 1, 3, 3), float32],
          %b: Tensor[(8), float32], %w: Tensor[(4, 288), float32]) {
  %0 = nn.relu(nn.bias_add(nn.conv2d(%x, %c, padding=[1, 1]), %b));
  %1 = nn.max_pool2d(%0, pool_size=[2, 2], strides=[2, 2]);
  nn.dense(nn.dropout(nn.batch_flatten(%1), rate=0.2f), %w)
}"""


def images(generator: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Stripes with noise, and the number of their direction."""
    labels = generator.integers(0, 4, count)
    rows, columns = np.mgrid[:SIZE, :SIZE]
    phases = np.stack([rows, columns, rows + columns, rows - columns])[labels]
    shift = generator.uniform(0, 6, (count, 1, 1))
    stripes = np.sin(phases * 1.2 + shift) + generator.normal(0, 0.7, phases.shape)
    return stripes[:, None].astype(np.float32), labels


def train(step: rt.training.TrainingStep, data: np.ndarray, labels: np.ndarray) -> None:
    """All steps that are left, with a line and a checkpoint now and then."""
    while step.number < STEPS:
        start = time.perf_counter()
        numbers = range(step.number, min(step.number + AT_ONCE, STEPS))
        order = rt.training.shuffled(len(data), BATCH, numbers, seed=0)
        losses = step.run_many(data, labels, order=order)
        if not np.isfinite(losses).all():
            raise SystemExit(f"The loss is no number in the steps {numbers}: try a smaller rate.")
        step.save(CHECKPOINT)
        speed = len(numbers) / (time.perf_counter() - start)  # that of the first ones: with a build
        left = (STEPS - step.number) / speed
        print(
            f"step {step.number}/{STEPS}: loss {losses.mean():.3f}, "
            f"{speed * BATCH:.0f} samples/s, {left:.1f} s left",
            flush=True,
        )


def main() -> None:
    """Train, and look at images that were not seen."""
    generator = np.random.default_rng(0)
    first = {
        "c": generator.normal(0, 0.3, (8, 1, 3, 3)).astype(np.float32),
        "b": np.zeros(8, np.float32),
        "w": generator.normal(0, 0.05, (4, 288)).astype(np.float32),
    }
    step = rt.training.step(
        rt.parse(NETWORK), "cross_entropy", rt.training.Adam(0.01), parameters=first, seed=0
    )
    if CHECKPOINT.exists():
        step.load(CHECKPOINT)
    train(step, *images(generator, SAMPLES))
    Path("stripes.onnx").write_bytes(rt.to_onnx(step.trained()).SerializeToString())
    model = rt.build(rt.from_onnx("stripes.onnx"))
    data, labels = images(np.random.default_rng(1), BATCH)
    print(f"right: {np.mean(np.argmax(model(data), axis=1) == labels):.2f}")


if __name__ == "__main__":
    main()
