"""What checks of indices cost: networks with and without them, in turns, the least time of each.

    python benchmarks/index_checks.py [ROUNDS]

`take` with mode="fast" promises that indices are in range, with mode="raise" they are checked. The
decoding step reads one row of a table and runs dense layers; the others read many rows of tables.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from time import perf_counter

import numpy as np

import relay_tune as rt


def _decode_step(mode: str) -> str:
    return f"""
    def @main(%t: Tensor[(8000, 512), float32], %i: Tensor[(1), int64],
              %a: Tensor[(2048, 512), float32], %b: Tensor[(512, 2048), float32]) {{
      let %x = take(%t, %i, axis=0, mode="{mode}");
      let %y = nn.dense(nn.relu(nn.dense(%x, %a)), %b);
      let %z = nn.dense(nn.relu(nn.dense(%y, %a)), %b);
      nn.dense(%z, %t)
    }}"""


def _bags(mode: str, tables: int, width: int, dtype: str) -> str:
    """Sums of 20 rows of each table for 64 samples."""
    inputs = ", ".join(
        f"%t{n}: Tensor[(20000, {width}), float32], %i{n}: Tensor[(64, 20), {dtype}]"
        for n in range(tables)
    )
    rows = [f'sum(take(%t{n}, %i{n}, axis=0, mode="{mode}"), axis=[1])' for n in range(tables)]
    return f"def @main({inputs}) {{ concatenate(({', '.join(rows)}), axis=1) }}"


def _arrays(model: rt.Model, random: np.random.Generator) -> list[np.ndarray]:
    types = [type_ for type_ in model.inputs.values() if isinstance(type_, rt.TensorType)]
    shapes = [tuple(int(str(dim)) for dim in type_.shape) for type_ in types]
    return [
        random.standard_normal(shape, "float32")
        if type_.dtype == "float32"
        else random.integers(0, 8000, shape).astype(type_.dtype)
        for shape, type_ in zip(shapes, types, strict=True)
    ]


def _seconds(texts: Sequence[str], threads: int, rounds: int) -> list[float]:
    """The least time of each program."""
    models = [rt.build(rt.parse(text), threads=threads) for text in texts]
    inputs = _arrays(models[0], np.random.default_rng(0))
    least = [float("inf")] * len(models)
    for _ in range(rounds):
        for n, model in enumerate(models):
            start = perf_counter()
            model(*inputs)
            least[n] = min(least[n], perf_counter() - start)
    return least


def main(rounds: int) -> None:
    """Print a line for each network and number of threads."""
    modes = ("fast", "raise")
    cases = {
        "decoding step": [_decode_step(mode) for mode in modes],
        "8 tables of 64, int64": [_bags(mode, 8, 64, "int64") for mode in modes],
        "8 tables of 16, int32": [_bags(mode, 8, 16, "int32") for mode in modes],
    }
    for name, texts in cases.items():
        for threads in (1, 2):
            without, checked = _seconds(texts, threads, rounds)
            print(
                f"{name:<24} {threads} thread(s)  {1e6 * without:9.1f} us  "
                f"checked {1e6 * checked:9.1f} us  {checked / without - 1:+.2%}"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
