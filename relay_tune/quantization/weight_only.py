"""Schemes that store weights in fewer bits and compute in float32."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.errors import InputError
from relay_tune.ir.expr import Constant
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import post_order
from relay_tune.quantization.calibration_data import CalibrationData
from relay_tune.quantization.choose import AUTO
from relay_tune.quantization.loss import Loss, mean_loss
from relay_tune.quantization.programs import native_program, output_tensors, results
from relay_tune.quantization.report import LayerReport, QuantizationReport
from relay_tune.transform.quantize.layers import layers_of
from relay_tune.transform.store_weights import FLOATS, StoreWeights

WEIGHT_TYPES: Mapping[str, str] = {"w8": "int8", "w4": "int4", "bf16": "bfloat16"}
"""Storage types of the weights of a scheme."""

JUDGED = 16
"""How many samples losses are computed on."""

STAYS = "its weights are few, no matrix, or read otherwise"


def with_narrow_weights(
    network: Module, scheme: str, activations: str, report: QuantizationReport
) -> Module:
    """The prepared network with weights in fewer bits; InputError where none are.

    `activations` is what products may round their data to; "auto" is float32.
    """
    kind = WEIGHT_TYPES[scheme]
    data = FLOATS if activations == AUTO else activations
    result = StoreWeights(kind, activations=data)(network)
    left = constant_bytes(result)
    report.layers = [
        LayerReport(
            each.name,
            each.operator,
            "float32" if id(each.weight.data) in left else kind,
            reason=STAYS if id(each.weight.data) in left else None,
        )
        for each in layers_of(network, "uint8")
    ]
    report.method = scheme
    report.bytes_before = sum(constant_bytes(network).values())
    report.bytes_after = sum(left.values())
    if result is network:
        raise InputError(
            f"No weights of the network can be stored as {kind}.",
            notes=("Matrices of products and lookups with 1,024 weights or more can be.",),
            remedy="Build the network as it is.",
        )
    return result


def loss_of(
    network: Module, result: Module, samples: CalibrationData, loss: Loss, threads: int | None
) -> float:
    """The mean loss of a result on some of the samples, as this machine computes both."""
    judged = samples.spread(JUDGED)
    answers = []
    for module in (network, result):
        program = native_program(module, output_tensors(module), (), threads)
        answers.append([results(program, sample) for sample in judged])
    return mean_loss(loss, *answers)


def constant_bytes(module: Module) -> dict[int, int]:
    """The bytes of each array of constants."""
    return {
        id(node.data): node.data.nbytes
        for function in module.functions.values()
        for node in post_order(function.body)
        if isinstance(node, Constant)
    }
