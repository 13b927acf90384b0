"""Networks that the zoo does not have, of the kinds that people deploy, as ONNX files.

    python -m benchmarks.other_networks FOLDER [NAME ...]
    python -m benchmarks.compare FOLDER/*.onnx --threads 1 2

The zoo is what this project is developed with; these networks show whether its speed is general.
They are written as exporters write them: batch normalisation, activations made of several
operators, attention out of matrix products. The weights are random, scaled so that values keep
their size.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import onnx

from benchmarks.networks.classifiers import (
    convnext,
    densenet,
    efficientnet,
    inception,
    mobilenet_v3,
    resnext,
    shufflenet,
    volume,
)
from benchmarks.networks.images import (
    detector,
    diffusion,
    segmentation,
    style,
    super_resolution,
    unet,
)
from benchmarks.networks.sequences import (
    graph_attention,
    recommender,
    tagger,
    temporal,
    vocoder,
    word_model,
)
from benchmarks.networks.transformers import encoder, gpt, mixer, rotary, swin, vit

NETWORKS: dict[str, Callable[[], onnx.ModelProto]] = {
    build.__name__: build
    for build in (
        efficientnet, densenet, shufflenet, unet, inception, super_resolution,
        vit, mixer, gpt, temporal, recommender, tagger, resnext, convnext, detector, style,
        mobilenet_v3, volume, encoder, swin, rotary, diffusion, vocoder, word_model,
        graph_attention, segmentation,
    )
}  # fmt: skip


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", choices=[[], *NETWORKS], metavar="NAME")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or NETWORKS:
        path = arguments.folder / f"{name}.onnx"
        onnx.save(NETWORKS[name](), path)
        print(path)


if __name__ == "__main__":
    main()
