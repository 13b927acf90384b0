"""Networks that are programs beside torch and onnxruntime: same weights, same answers, one thread.

    python -m benchmarks.language_models [CASE ...]

The programs are those of the zoo. In torch they are written as its users write them: modules called
from Python, and compiled by `torch.jit.script` where that is possible. The times include what the
caller in Python pays: our inputs and results are the values of the interpreter. The variants of a
case take turns; the table has the median and the lowest time of each, and its median by ours.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper

import relay_tune as rt
from benchmarks.language_models_torch import char_rnn_variants, tree_lstm_variants
from relay_tune.runtime.interpreter.values import ConstructorValue
from relay_tune.zoo.program_catalogue import PROGRAMS
from relay_tune.zoo.programs import program_inputs, program_module, program_weights

ROUNDS, CALLS = 9, 4
TOLERANCE = 1e-3

Array = np.ndarray[Any, Any]
Variant = Callable[[], Array]


@dataclass(frozen=True, slots=True)
class Case:
    """One comparison: variants by name, ours first, each giving the same answer."""

    name: str
    variants: dict[str, Variant]


def _ours(name: str, inputs: Mapping[str, Any], answer: Callable[[Any], Array]) -> Variant:
    """Our program on one thread; `answer` takes of its value what is compared."""
    model = rt.build(program_module(PROGRAMS[name], 0, False, 1), threads=1)
    return lambda: answer(model(**inputs))


def char_rnn(letters: int) -> Case:
    """A name of so many letters, the most likely letter each time."""
    program = PROGRAMS["char_rnn"]
    inputs = {**program_inputs(program, 0, False), "limit": np.asarray(letters, np.int32)}
    ours = _ours("char_rnn", inputs, lambda value: np.asarray(rt.list_items(value)))
    peers = char_rnn_variants(program_weights(program, 0, False, 1), inputs)
    return Case(f"char-RNN, {letters} letters", {"relay_tune": ours, **peers})


def tree_lstm(name: str) -> Case:
    """A tree of 30 leaves."""
    program = PROGRAMS[name]
    inputs = program_inputs(program, 0, False)
    tree = inputs["tree"]
    assert isinstance(tree, ConstructorValue)
    weights = program_weights(program, 0, False, 1)
    ours = _ours(name, inputs, lambda value: np.asarray(value[0]))
    hidden = len(weights["forget_weight"])
    variants = {"relay_tune": ours, **tree_lstm_variants(weights, tree)}
    return Case(f"TreeLSTM, {hidden} hidden, 30 leaves", variants)


def lstm_list() -> Case:
    """100 steps of a layer with 512 features, as a recursion over a list."""
    program = PROGRAMS["lstm_list"]
    inputs = program_inputs(program, 0, False)
    weights = program_weights(program, 0, False, 1)
    ours = _ours("lstm_list", inputs, lambda value: np.asarray(value[1][0]))
    peer = _onnxruntime_lstm(weights, np.asarray(inputs["data"]))
    return Case(
        "LSTM over a list, 512 hidden, 100 steps", {"relay_tune": ours, "onnxruntime": peer}
    )


def _onnxruntime_lstm(weights: Mapping[str, Array], data: Array) -> Variant:
    """The last hidden state by onnxruntime's LSTM operator; gates stand in the same order."""
    hidden = weights["state_weight"].shape[1]
    bias = np.concatenate([weights["bias"], np.zeros_like(weights["bias"])])
    values = {"w": weights["input_weight"], "r": weights["state_weight"], "b": bias}
    node = helper.make_node("LSTM", ["x", *values], ["all", "hidden", "cell"], hidden_size=hidden)
    steps, batch, _ = data.shape
    shapes = ((steps, 1, batch, hidden), (1, batch, hidden), (1, batch, hidden))
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in zip(node.output, shapes, strict=True)
    ]
    graph = helper.make_graph(
        [node],
        "lstm",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, data.shape)],
        outputs,
        [numpy_helper.from_array(value[None], name) for name, value in values.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return lambda: np.asarray(session.run(None, {"x": data})[1][0])


CASES: dict[str, Callable[[], Case]] = {
    "char_rnn_20": lambda: char_rnn(20),
    "char_rnn_100": lambda: char_rnn(100),
    "tree_lstm_150": lambda: tree_lstm("tree_lstm"),
    "tree_lstm_300": lambda: tree_lstm("tree_lstm_300"),
    "lstm_list": lstm_list,
}


def main() -> None:
    """Print one line for each variant of the chosen cases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", default=[], help=", ".join(CASES))
    torch.set_num_threads(1)
    for name in parser.parse_args().cases or CASES:
        _report(CASES[name]())


def _report(case: Case) -> None:
    expected = next(iter(case.variants.values()))()
    for name, run in case.variants.items():
        np.testing.assert_allclose(run(), expected, rtol=0, atol=TOLERANCE, err_msg=name)
    times = _times(case.variants)
    base = median(next(iter(times.values())))
    print(case.name)
    for name, measured in times.items():
        middle = median(measured)
        low = 1e6 * min(measured)
        print(f"  {name:<18} {1e6 * middle:9.1f} us  min {low:9.1f} us  {middle / base:6.2f} x")


def _times(variants: Mapping[str, Variant]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(ROUNDS):
        for name, run in variants.items():
            run()
            for _ in range(CALLS):
                start = perf_counter()
                run()
                times[name].append(perf_counter() - start)
    return times


if __name__ == "__main__":
    main()
