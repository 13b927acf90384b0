"""The choices of options, known before anything heavy is imported."""

from __future__ import annotations

PEER_NAMES = ("onnxruntime", "openvino", "torch")
"""Other runtimes, those of `relay_tune.cli.peers.catalogue`."""

KERNEL_STEPS = ("tensors", "schedules", "loops", "llvm")
"""The views of a kernel, as in `relay_tune.cli.show_kernels`."""

VERIFICATIONS = ("structure", "answers")
"""Checks to run after each pass, as in `relay_tune.building.chosen_passes`."""

QUANTIZATION_SCHEMES = ("int8", "w8", "w4", "bf16", "auto")
"""The schemes of narrow weights and data, as in `relay_tune.quantization.options`."""

QUANTIZATION_METHODS = ("auto", "minmax", "percentile", "entropy", "mse")
"""How ranges are chosen, as in `relay_tune.quantization.ranges`."""

QUANTIZATION_STEPS = ("annotate", "calibrate", "realize")
"""The passes of a quantization, as in `relay_tune.quantization.quantize`."""

LOG_ACTIONS = {
    "list": ("one line for each task: how often measured, the best time", "tuning.db"),
    "best": ("the best schedule of each task", "tuning.db --json"),
    "merge": ("take over what other logs know", "tuning.db other-machine.db"),
    "export": ("write a log as a file of JSON lines", "tuning.db tuning.jsonl"),
    "import": ("read a file that export wrote", "tuning.db tuning.jsonl"),
    "check": ("look for damage", "tuning.db"),
}
"""The actions on a log: a summary, and words for an example."""
