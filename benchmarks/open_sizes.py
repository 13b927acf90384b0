"""Code for all sizes beside code for one: networks whose batch or length is `?`.

    python -m benchmarks.open_sizes [--threads 1] [--sizes 1 3 8 17 64] [--only mlp]

For each network and size: milliseconds of the code that was made for that size alone, of the code
that was made once for all sizes, and their ratio (medians; the two alternate).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import relay_tune as rt
from relay_tune.ir.dim import Symbol
from relay_tune.ir.types import TensorType
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.fix_input_shapes import FixInputShapes

Array = np.ndarray[Any, Any]

MLP = """
def @main(%x: Tensor[(n, 784), float32], %w1: Tensor[(512, 784), float32],
          %w2: Tensor[(512, 512), float32], %w3: Tensor[(10, 512), float32]) {
  let %h = nn.relu(nn.dense(%x, %w1));
  let %g = nn.relu(nn.dense(%h, %w2));
  nn.softmax(nn.dense(%g, %w3))
}
"""

ATTENTION = """
def @main(%x: Tensor[(n, 256), float32], %q: Tensor[(256, 256), float32],
          %k: Tensor[(256, 256), float32], %v: Tensor[(256, 256), float32],
          %o: Tensor[(256, 256), float32], %g: Tensor[(256), float32],
          %b: Tensor[(256), float32]) {
  let %y = nn.layer_norm(%x, %g, %b);
  let %qs = transpose(reshape(nn.dense(%y, %q), newshape=[-1, 4, 64]), axes=[1, 0, 2]);
  let %ks = transpose(reshape(nn.dense(%y, %k), newshape=[-1, 4, 64]), axes=[1, 0, 2]);
  let %vs = transpose(reshape(nn.dense(%y, %v), newshape=[-1, 4, 64]), axes=[1, 2, 0]);
  let %shares = nn.softmax(nn.batch_matmul(%qs, %ks) * 0.125f);
  let %heads = transpose(nn.batch_matmul(%shares, %vs), axes=[1, 0, 2]);
  %x + nn.dense(reshape(%heads, newshape=[-1, 256]), %o)
}
"""

LSTM = """
def @main(%x: Tensor[(n, 128), float32], %wi: Tensor[(1024, 128), float32],
          %wh: Tensor[(1024, 256), float32], %b: Tensor[(1024), float32]) {
  let %inputs = nn.dense(%x, %wi) + %b;
  let %length = take(shape_of(%x, dtype="int32"), 0, axis=0);
  let %step = fn (%t: int32, %h: Tensor[(1, 256), float32], %c: Tensor[(1, 256), float32])
      -> Tensor[(1, 256), float32] {
    if (%t == %length) { %h } else {
      let %all = take(%inputs, %t, axis=0) + nn.dense(%h, %wh);
      let %gates = split(%all, indices_or_sections=4, axis=1);
      let %next = sigmoid(%gates.1) * %c + sigmoid(%gates.0) * tanh(%gates.2);
      %step(%t + 1, sigmoid(%gates.3) * tanh(%next), %next)
    }
  };
  %step(0, zeros(shape=[1, 256]), zeros(shape=[1, 256]))
}
"""

GRU = """
def @main(%x: Tensor[(n, 96), float32], %wi: Tensor[(576, 96), float32],
          %wh: Tensor[(576, 192), float32], %b: Tensor[(576), float32]) {
  let %inputs = nn.dense(%x, %wi) + %b;
  let %length = take(shape_of(%x, dtype="int32"), 0, axis=0);
  let %step = fn (%t: int32, %h: Tensor[(1, 192), float32]) -> Tensor[(1, 192), float32] {
    if (%t == %length) { %h } else {
      let %in = split(take(%inputs, %t, axis=0), indices_or_sections=3, axis=0);
      let %old = split(nn.dense(%h, %wh), indices_or_sections=3, axis=1);
      let %reset = sigmoid(%in.0 + %old.0);
      let %keep = sigmoid(%in.1 + %old.1);
      let %new = tanh(%in.2 + %reset * %old.2);
      %step(%t + 1, %new + %keep * (%h - %new))
    }
  };
  %step(0, zeros(shape=[1, 192]))
}
"""

CONVOLUTIONS = """
def @main(%x: Tensor[(n, 3, 32, 32), float32], %c1: Tensor[(32, 3, 3, 3), float32],
          %c2: Tensor[(64, 32, 3, 3), float32], %c3: Tensor[(64, 64, 1, 1), float32],
          %w: Tensor[(10, 64), float32]) {
  let %a = nn.relu(nn.conv2d(%x, %c1, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]));
  let %b = nn.max_pool2d(%a, pool_size=[2, 2], strides=[2, 2]);
  let %c = nn.relu(nn.conv2d(%b, %c2, padding=[1, 1, 1, 1], channels=64, kernel_size=[3, 3]));
  let %d = nn.max_pool2d(%c, pool_size=[2, 2], strides=[2, 2]);
  let %e = nn.relu(nn.conv2d(%d, %c3, channels=64, kernel_size=[1, 1]));
  nn.dense(nn.batch_flatten(nn.global_avg_pool2d(%e)), %w)
}
"""

TWO_AXES = """
def @main(%x: Tensor[(n, m, 128), float32], %q: Tensor[(128, 128), float32],
          %k: Tensor[(128, 128), float32], %w: Tensor[(256, 128), float32],
          %o: Tensor[(128, 256), float32]) {
  let %scores = nn.softmax(nn.batch_matmul(nn.dense(%x, %q), nn.dense(%x, %k)) * 0.09f);
  let %y = %x + nn.batch_matmul(%scores, transpose(%x, axes=[0, 2, 1]));
  %y + nn.dense(nn.relu(nn.dense(%y, %w)), %o)
}
"""

NETWORKS: Mapping[str, str] = {
    "mlp": MLP,
    "attention": ATTENTION,
    "lstm": LSTM,
    "gru": GRU,
    "convolutions": CONVOLUTIONS,
    "two_axes": TWO_AXES,
}
OTHER_SIZE = 5
"""The size of open axes beside the first one."""
SIZES = (1, 2, 3, 5, 8, 13, 17, 31, 64, 100, 200)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--only", choices=NETWORKS)
    parser.add_argument("--seconds", type=float, default=0.2, help="for each code and size")
    options = parser.parse_args()
    chosen = NETWORKS if options.only is None else {options.only: NETWORKS[options.only]}
    prepared = {
        name: _models(text, options.sizes, options.threads) for name, text in chosen.items()
    }
    print(f"{'network':12} {'size':>5} {'one size':>9} {'all sizes':>9} {'ratio':>6}  (ms)")
    for name, (general, fixed) in prepared.items():
        for size, model in fixed.items():
            x = _input(general.inputs["x"], size)
            one, every = _alternating(partial(model, x), partial(general, x), options.seconds)
            print(f"{name:12} {size:5} {one * 1e3:9.4f} {every * 1e3:9.4f} {every / one:6.2f}")


def _models(text: str, sizes: list[int], threads: int) -> tuple[Any, dict[int, Any]]:
    """The model for all sizes, and one for each."""
    module = rt.parse(text)
    rng = np.random.default_rng(0)
    weights = {}
    for param in module.main.params[1:]:
        type_ = param.annotation
        assert isinstance(type_, TensorType)
        shape = [dim for dim in type_.shape if isinstance(dim, int)]
        weights[param.name] = (rng.standard_normal(shape) * 0.05).astype("float32")
    bound = BindParameters(weights)(module)
    data = module.main.params[0].annotation
    assert isinstance(data, TensorType) and isinstance(data.shape[0], Symbol)
    fixed = {
        n: rt.build(FixInputShapes({"x": _shape(data, n)})(bound), threads=threads) for n in sizes
    }
    return rt.build(bound, threads=threads), fixed


def _shape(type_: TensorType, size: int) -> tuple[int, ...]:
    """The shape of an input whose first axis has this size."""
    return size, *(dim if isinstance(dim, int) else OTHER_SIZE for dim in type_.shape[1:])


def _input(type_: TensorType, size: int) -> Array:
    return np.random.default_rng(1).standard_normal(_shape(type_, size)).astype("float32")


def _alternating(
    first: Callable[[], object], second: Callable[[], object], seconds: float
) -> tuple[float, float]:
    """Median seconds of two functions that are called in turn."""
    times: tuple[list[float], list[float]] = ([], [])
    for function in (first, second):
        function()
    end = time.perf_counter() + 2 * seconds
    while time.perf_counter() < end or len(times[0]) < 5:
        for function, found in zip((first, second), times, strict=True):
            function()
            begin = time.perf_counter()
            function()
            found.append(time.perf_counter() - begin)
    return statistics.median(times[0]), statistics.median(times[1])


if __name__ == "__main__":
    main()
