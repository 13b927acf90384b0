"""Train a small convolutional network in native code, and use it.

    python examples/train_network.py

Images of stripes in four directions, with noise, are told apart. The step is one native program;
the trained network becomes an ONNX file.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import relay_tune as rt

BATCH, STEPS, SIZE = 32, 150, 12

NETWORK = """
def @main(%x: Tensor[(32, 1, 12, 12), float32], %c: Tensor[(8, 1, 3, 3), float32],
          %b: Tensor[(8), float32], %w: Tensor[(4, 288), float32]) {
  %0 = nn.relu(nn.bias_add(nn.conv2d(%x, %c, padding=[1, 1]), %b));
  %1 = nn.max_pool2d(%0, pool_size=[2, 2], strides=[2, 2]);
  nn.dense(nn.batch_flatten(%1), %w)
}"""


def images(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Stripes with noise, and the number of their direction."""
    labels = generator.integers(0, 4, BATCH)
    rows, columns = np.mgrid[:SIZE, :SIZE]
    phases = np.stack([rows, columns, rows + columns, rows - columns])[labels]
    shift = generator.uniform(0, 6, (BATCH, 1, 1))
    stripes = np.sin(phases * 1.2 + shift) + generator.normal(0, 0.7, phases.shape)
    return stripes[:, None].astype(np.float32), labels


def main() -> None:
    """Train, and look at images that were not seen."""
    generator = np.random.default_rng(0)
    first = {
        "c": generator.normal(0, 0.3, (8, 1, 3, 3)).astype(np.float32),
        "b": np.zeros(8, np.float32),
        "w": generator.normal(0, 0.05, (4, 288)).astype(np.float32),
    }
    step = rt.training.step(
        rt.parse(NETWORK), "cross_entropy", rt.training.Adam(0.01), parameters=first
    )
    for number in range(STEPS):
        loss = step(*images(generator))
        if number % 50 == 0 or number == STEPS - 1:
            print(f"step {number:3}: loss {loss:.3f}")
    step.save("stripes.safetensors")
    Path("stripes.onnx").write_bytes(rt.to_onnx(step.trained()).SerializeToString())
    model = rt.build(rt.from_onnx("stripes.onnx"))
    data, labels = images(np.random.default_rng(1))
    print(f"right: {np.mean(np.argmax(model(data), axis=1) == labels):.2f}")


if __name__ == "__main__":
    main()
