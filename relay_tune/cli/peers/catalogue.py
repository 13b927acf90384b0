"""The runtimes that there is a way to compare with."""

from __future__ import annotations

from relay_tune.cli.peers.onnx_runtime import prepare_onnxruntime, refusals
from relay_tune.cli.peers.openvino_runtime import prepare_openvino
from relay_tune.cli.peers.peer import Peer
from relay_tune.cli.peers.torch_compile import prepare_torch

PEERS = {
    peer.name: peer
    for peer in (
        Peer("onnxruntime", "ONNX Runtime", ("onnxruntime",), prepare_onnxruntime, refusals),
        Peer("openvino", "OpenVINO", ("openvino",), prepare_openvino, lambda: (RuntimeError,)),
        Peer(
            "torch",
            "torch.compile",
            ("torch", "onnxruntime"),
            prepare_torch,
            lambda: (RuntimeError, ValueError),
        ),
    )
}
