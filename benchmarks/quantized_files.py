"""Networks as int8 files in QDQ form, made by onnxruntime's quantizer.

    python -m benchmarks.quantized_files FOLDER resnet50 mobilenet_v2 model.onnx
    python -m benchmarks.compare FOLDER/resnet50_int8.onnx --threads 1

Data are uint8 with a zero point, weights int8 with a scale for each output channel, ranges by
min/max over samples that are drawn like the example inputs of the zoo. `--reduce-range` keeps
weights to 7 bits, as is advised for processors with AVX2 alone: instructions that add up two
products of bytes in 16 bits do not saturate then.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnxruntime.quantization as quantizer

from benchmarks.models import Network, network
from relay_tune import zoo
from relay_tune.frontend.onnx_import.from_onnx import from_onnx

Array = np.ndarray[Any, Any]

SAMPLES = 4


class _Samples:
    """What the quantizer asks for inputs."""

    def __init__(self, samples: Iterator[Mapping[str, Array]]) -> None:
        self._samples = samples

    def get_next(self) -> Mapping[str, Array] | None:
        """The next inputs; None behind the last."""
        return next(self._samples, None)


def quantized_file(model: Network, folder: Path, *, reduces_range: bool = False) -> Path:
    """Write a network in QDQ form into a folder, with weights of 7 bits where that is asked."""
    module = from_onnx(model.path)
    samples = (zoo.example_inputs(module, seed) for seed in range(SAMPLES))
    path = folder / f"{model.name}_int{7 if reduces_range else 8}.onnx"
    with TemporaryDirectory() as temporary:
        prepared = Path(temporary) / "prepared.onnx"
        quantizer.quant_pre_process(model.path, prepared, skip_symbolic_shape=True)
        quantizer.quantize_static(
            prepared,
            path,
            _Samples(samples),
            quant_format=quantizer.QuantFormat.QDQ,
            activation_type=quantizer.QuantType.QUInt8,
            weight_type=quantizer.QuantType.QInt8,
            per_channel=True,
            reduce_range=reduces_range,
        )
    return path


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("networks", nargs="+", help="names of the zoo, or .onnx files")
    parser.add_argument("--reduce-range", action="store_true", help="weights of 7 bits")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as temporary:
        for name in options.networks:
            found = network(name, Path(temporary))
            print(quantized_file(found, options.folder, reduces_range=options.reduce_range))


if __name__ == "__main__":
    main()
