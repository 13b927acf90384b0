"""Products and convolutions of bytes, as shares of a register loop of the same instruction.

Each is checked against int64 arithmetic on elements at the ends of their ranges, then timed in
turns with the loop. Shares are of the best times; the operations are those of the program as it is
written, so that what odd sizes add lowers a share.

    python -m benchmarks.integer_products --threads 1 --rounds 20
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import relay_tune as rt
from relay_tune.codegen.target import native_target
from relay_tune.runtime.measure_limits import measure_limits
from relay_tune.transform.bind_parameters import BindParameters

Array = np.ndarray[Any, Any]

PRODUCTS = (
    (512, 512, 512),
    (1024, 1024, 1024),
    (128, 768, 3072),
    (128, 3072, 768),
    (197, 771, 1001),
    (33, 511, 130),
)
"""Rows, steps, columns."""

CONVOLUTIONS = (
    (56, 64, 64, 3),
    (28, 128, 128, 3),
    (14, 256, 256, 3),
    (56, 256, 64, 1),
    (14, 256, 1024, 1),
)
"""Height and width, channels of the data and of the result, taps in a row."""

CALLS = 5
"""Of each in a round; the best one counts."""


@dataclass(slots=True)
class Case:
    """A built program, what it has to do, and its best time."""

    name: str
    model: Any
    data: Array
    operations: int
    unit: str
    seconds: float = float("inf")


def extreme(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Random elements, most of them at the ends of the type's range."""
    info = np.iinfo(dtype)
    return rng.choice(np.array([info.min, info.max, 0, 1], dtype), shape)


def products(data: str, threads: int) -> Iterator[Case]:
    """Products with constant weights, which give int32."""
    rng = np.random.default_rng(0)
    for rows, steps, columns in PRODUCTS:
        text = f"""def @main(%x: Tensor[({rows}, {steps}), {data}],
          %w: Tensor[({columns}, {steps}), int8]) {{ nn.dense(%x, %w, out_dtype="int32") }}"""
        x, w = extreme(rng, (rows, steps), data), extreme(rng, (columns, steps), "int8")
        model = rt.build(BindParameters({"w": w})(rt.parse(text)), threads=threads)
        expected = x.astype(np.int64) @ w.astype(np.int64).T
        assert np.array_equal(np.asarray(model(x)), expected)
        name = f"{data} product {rows}x{steps}x{columns}"
        yield _case(name, model, x, 2 * rows * steps * columns)


def convolutions(data: str, threads: int) -> Iterator[Case]:
    """Convolutions with a bias and requantization to bytes."""
    rng = np.random.default_rng(0)
    for size, channels, results, taps in CONVOLUTIONS:
        kind, pad = ("uint8", taps // 2)
        text = f"""def @main(%x: Tensor[(1, {size}, {size}, {channels}), {data}],
          %w: Tensor[({taps}, {taps}, {channels}, {results}), int8],
          %b: Tensor[({results}), int32], %s: Tensor[({results}), float32]) {{
          %0 = nn.conv2d(%x, %w, padding=[{pad}, {pad}], data_layout="NHWC", kernel_layout="HWIO",
                         out_dtype="int32");
          %1 = cast(%0 + %b, dtype="float32") * %s;
          cast(clip(round(%1), a_min=0f, a_max=255f), dtype="{kind}") }}"""
        x = extreme(rng, (1, size, size, channels), data)
        given = {
            "w": extreme(rng, (taps, taps, channels, results), "int8"),
            "b": rng.integers(-1000, 1000, results).astype(np.int32),
            "s": rng.uniform(1e-5, 1e-4, results).astype(np.float32),
        }
        model = rt.build(BindParameters(given)(rt.parse(text)), threads=threads)
        padded = np.pad(x.astype(np.float64), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
        sums = sum(
            padded[0, i : i + size, j : j + size] @ given["w"][i, j].astype(np.float64)
            for i in range(taps)
            for j in range(taps)
        )
        scaled = (sums + given["b"]).astype(np.float32) * given["s"]
        assert np.array_equal(
            np.asarray(model(x))[0], np.clip(np.rint(scaled), 0, 255).astype(kind)
        )
        name = f"{data} convolution {taps}x{taps} {size}x{size}x{channels} -> {results}"
        yield _case(name, model, x, 2 * size * size * taps * taps * channels * results)


def _case(name: str, model: Any, data: Array, operations: int) -> Case:
    units = model.profile(data).rows[-1].work.operations
    return Case(name, model, data, operations, max(units, key=units.__getitem__))


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--threads", type=int, default=1, help="threads of programs and of the loop"
    )
    parser.add_argument("--rounds", type=int, default=10, help="how often each is timed")
    options = parser.parse_args()
    cases = [
        case
        for data in ("uint8", "int8")
        for make in (products, convolutions)
        for case in make(data, options.threads)
    ]
    peaks: dict[str, float] = {}
    for _ in range(options.rounds):
        limits = measure_limits(native_target(), options.threads)
        peaks = {unit: max(rate, peaks.get(unit, 0.0)) for unit, rate in limits.operations.items()}
        for case in cases:
            found = case.model.benchmark(case.data, repeat=CALLS)
            case.seconds = min(case.seconds, found.minimum)
    print(", ".join(f"{unit} {rate / 1e9:.0f} GOP/s" for unit, rate in peaks.items()))
    for case in cases:
        rate = case.operations / case.seconds
        share = rate / peaks.get(case.unit, peaks["float32"])
        print(f"{case.name:46} {case.unit:8} {case.seconds * 1e6:9.1f} us {share:6.1%}")


if __name__ == "__main__":
    main()
