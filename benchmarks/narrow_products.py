"""Products and convolutions of bytes and in bfloat16, as shares of a loop of the same instruction.

Integers are checked against int64 arithmetic on elements at the ends of their ranges; floats under
the accuracy `relaxed` against float64 arithmetic on factors that are rounded to bfloat16, which
those of columns that fill no matrix register are not, nor the weights of Winograd's filtering,
which multiplies in float32 data that came rounded. Then each is timed in turns with the loop.
Shares are of the best times; the operations are those of the program as it is written, so that what
odd sizes add lowers a share.

    python -m benchmarks.narrow_products --threads 1 --rounds 20
    python -m benchmarks.narrow_products --types float32
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

import relay_tune as rt
from relay_tune.codegen.target import native_target
from relay_tune.runtime.aligned_memory import aligned_array
from relay_tune.runtime.measure_limits import measure_limits
from relay_tune.tensor.scalar_semantics import numpy_dtype
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


@dataclass(frozen=True, slots=True)
class Kind:
    """What is multiplied.

    Attributes:
        data: the type of the data.
        weights: that of the weights.
        sums: that of the sums.
        accuracy: of the build.
    """

    data: str
    weights: str
    sums: str
    accuracy: str = "fast"

    @property
    def given(self) -> str:
        """The data as they are multiplied: bfloat16 is widened, as between kernels."""
        return 'cast(%x, dtype="float32")' if self.data == "bfloat16" else "%x"

    def elements(self, rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
        """Random integers, most of them at the ends of the type's range; normal floats."""
        if "float" in dtype:
            return rng.standard_normal(shape).astype(numpy_dtype(dtype))
        info = np.iinfo(dtype)
        return rng.choice(np.array([info.min, info.max, 0, 1], dtype), shape)

    def check(self, found: Array, *expected: Array) -> None:
        """Raises AssertionError where results are none of these sums.

        A byte may be one off, where its scaling is rounded together with it.
        """
        scale = np.abs(expected).max()
        bound = {"float32": 1e-5 * scale, "uint8": 1}.get(found.dtype.name, 0)
        assert (np.abs(found.astype(np.float64) - np.stack(expected)) <= bound).any(0).all()


def roundings(kind: Kind, unit: str) -> tuple[tuple[str, str], ...]:
    """The units for which the data and the weights may each have been rounded (see `factors`)."""
    exact = ("float32", "float32")
    return (exact,) if kind.sums == "int32" else ((unit, unit), exact, ("bfloat16", "float32"))


def factors(values: Array, unit: str) -> Array:
    """What a unit multiplies of them, in float64, which holds sums of such integers exactly."""
    rounded = values.astype(ml_dtypes.bfloat16) if unit.startswith("bfloat16") else values
    return rounded.astype(np.float64)


KINDS = {
    each.data: each
    for each in (
        Kind("uint8", "int8", "int32"),
        Kind("int8", "int8", "int32"),
        Kind("float32", "float32", "float32", "relaxed"),
        Kind("bfloat16", "float32", "float32", "relaxed"),
    )
}


def products(kind: Kind, threads: int) -> Iterator[Case]:
    """Products with constant weights."""
    rng = np.random.default_rng(0)
    for rows, steps, columns in PRODUCTS:
        text = f"""def @main(%x: Tensor[({rows}, {steps}), {kind.data}],
          %w: Tensor[({columns}, {steps}), {kind.weights}]) {{
          nn.dense({kind.given}, %w, out_dtype="{kind.sums}") }}"""
        x = kind.elements(rng, (rows, steps), kind.data)
        w = kind.elements(rng, (columns, steps), kind.weights)
        model = _built(text, {"w": w}, kind, threads)
        name = f"{kind.data} product {rows}x{steps}x{columns}"
        case = _case(name, model, x, 2 * rows * steps * columns)
        sums = (
            factors(x, of_data) @ factors(w, of_weights).T
            for of_data, of_weights in roundings(kind, case.unit)
        )
        kind.check(np.asarray(model(x)), *sums)
        yield case


def convolutions(kind: Kind, threads: int) -> Iterator[Case]:
    """Convolutions with a bias; those of integers give bytes."""
    rng = np.random.default_rng(0)
    for size, channels, results, taps in CONVOLUTIONS:
        pad = taps // 2
        text = f"""def @main(%x: Tensor[(1, {size}, {size}, {channels}), {kind.data}],
          %w: Tensor[({taps}, {taps}, {channels}, {results}), {kind.weights}],
          %b: Tensor[({results}), {kind.sums}], %s: Tensor[({results}), float32]) {{
          %0 = nn.conv2d({kind.given}, %w, padding=[{pad}, {pad}], data_layout="NHWC",
                         kernel_layout="HWIO", out_dtype="{kind.sums}");
          %1 = %0 + %b;
          {_ending(kind)} }}"""
        x = kind.elements(rng, (1, size, size, channels), kind.data)
        given = {
            "w": kind.elements(rng, (taps, taps, channels, results), kind.weights),
            "b": rng.integers(-1000, 1000, results).astype(kind.sums),
            "s": rng.uniform(1e-5, 1e-4, results).astype(np.float32),
        }
        model = _built(text, given, kind, threads)
        name = f"{kind.data} convolution {taps}x{taps} {size}x{size}x{channels} -> {results}"
        case = _case(name, model, x, 2 * size * size * taps * taps * channels * results)
        expected = [
            _convolved(factors(x[0], of_data), factors(given["w"], of_weights)) + given["b"]
            for of_data, of_weights in roundings(kind, case.unit)
        ]
        if kind.sums == "int32":
            scaled = np.rint(expected[0].astype(np.float32) * given["s"])
            expected = [np.clip(scaled, 0, 255)]
        kind.check(np.asarray(model(x))[0], *expected)
        yield case


def _convolved(image: Array, weights: Array) -> Array:
    """The sums of a padded image (h, w, channels) with weights (size, size, channels, results)."""
    size, pad = len(weights), len(weights) // 2
    height, width, _ = image.shape
    padded = np.pad(image, ((pad, pad), (pad, pad), (0, 0)))
    return np.asarray(
        sum(
            padded[i : i + height, j : j + width] @ weights[i, j]
            for i in range(size)
            for j in range(size)
        )
    )


def _ending(kind: Kind) -> str:
    """What follows the sums: requantization, or nothing."""
    if kind.sums != "int32":
        return "%1"
    scaled = 'cast(%1, dtype="float32") * %s'
    return f'cast(clip(round({scaled}), a_min=0f, a_max=255f), dtype="uint8")'


def _built(text: str, given: dict[str, Array], kind: Kind, threads: int) -> Any:
    module = BindParameters(given)(rt.parse(text))
    return rt.build(module, threads=threads, accuracy=kind.accuracy)


def _case(name: str, model: Any, data: Array, operations: int) -> Case:
    units = model.profile(data).rows[-1].work.operations
    lines = aligned_array(data.shape, data.dtype)
    lines[...] = data
    return Case(name, model, lines, operations, max(units, key=units.__getitem__))


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--threads", type=int, default=1, help="threads of programs and of the loop"
    )
    parser.add_argument("--rounds", type=int, default=10, help="how often each is timed")
    parser.add_argument(
        "--types", nargs="+", choices=list(KINDS), default=list(KINDS), help="of the data"
    )
    options = parser.parse_args()
    cases = [
        case
        for name in options.types
        for make in (products, convolutions)
        for case in make(KINDS[name], options.threads)
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
        print(f"{case.name:46} {case.unit:17} {case.seconds * 1e6:9.1f} us {share:6.1%}")


if __name__ == "__main__":
    main()
