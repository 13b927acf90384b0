"""One network, four texts: the char-RNN of the zoo beside the form in which its tutorial has it.

    python -m benchmarks.char_rnn_forms [LETTERS ...]

PyTorch's tutorial "Generating names with a character-level RNN" concatenates the one-hot category,
the one-hot letter and the hidden state, and gives that to two linear layers; the next letter is the
most likely one of a third layer, which reads their results. So it stands here in Relay text, as a
program in Python, and as a Loop of ONNX. The zoo's text has rows of tables in place of products
with one-hot vectors, and reads the category once. Weights and answers are the same. The forms take
turns; the table has the least time of each on one thread, and that by the zoo's.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import relay_tune as rt
from benchmarks.char_rnn_python import char_rnn
from relay_tune.ir.module import Module
from relay_tune.std import prelude
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.fix_input_shapes import FixInputShapes
from relay_tune.zoo.program_catalogue import PROGRAMS
from relay_tune.zoo.programs import program_inputs, program_module, program_weights

ROUNDS = 400

Array = np.ndarray[Any, Any]
Inputs = Mapping[str, Any]
Run = Callable[[], list[int]]
Model = Callable[..., Any]
Build = Callable[[Module], Model]


@dataclass(frozen=True, slots=True)
class OnnxType:
    """The element type and shape of a value in ONNX."""

    dtype: int
    shape: list[int | str]


TEXT = """
def @main(
  %category: int64,
  %first: int64,
  %limit: int32,
  %stop: int64,
  %i2h_weight: Tensor[(h, i), float32],
  %i2h_bias: Tensor[(h), float32],
  %i2o_weight: Tensor[(n, i), float32],
  %i2o_bias: Tensor[(n), float32],
  %o2o_weight: Tensor[(n, o), float32],
  %o2o_bias: Tensor[(n), float32],
  %hidden: Tensor[(1, h), float32],
) -> List[int64] {
  let %category_tensor = one_hot(expand_dims(%category, axis=0), 1f, 0f, depth=CATEGORIES);
  let %write = fn (
    %letter: int64,
    %hidden: Tensor[(1, h), float32],
    %left: int32,
    %written: List[int64],
  ) -> List[int64] {
    if (%left == 0) { @rev(%written) } else {
      let %letter_tensor = one_hot(expand_dims(%letter, axis=0), 1f, 0f, depth=LETTERS);
      let %combined = concatenate((%category_tensor, %letter_tensor, %hidden), axis=1);
      let %next_hidden = nn.bias_add(nn.dense(%combined, %i2h_weight), %i2h_bias);
      let %output = nn.bias_add(nn.dense(%combined, %i2o_weight), %i2o_bias);
      let %output_combined = concatenate((%next_hidden, %output), axis=1);
      let %scores = nn.bias_add(nn.dense(%output_combined, %o2o_weight), %o2o_bias);
      let %next = argmax(nn.log_softmax(nn.dropout(%scores), axis=1));
      if (%next == %stop) { @rev(%written) } else {
        %write(%next, %next_hidden, %left - 1, Cons(%next, %written))
      }
    }
  };
  %write(%first, %hidden, %limit, Nil)
}
"""
"""The tutorial's network in Relay text."""


def main() -> None:
    """Print the times of all forms for names of so many letters."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("letters", nargs="*", type=int, default=[20, 100])
    for letters in parser.parse_args().letters:
        _report(letters)


def forms(letters: int, build: Build | None = None) -> dict[str, Run]:
    """Each form, built for one thread: it writes a name of at most so many letters."""
    made = _native if build is None else build
    program = PROGRAMS["char_rnn"]
    drawn = program_inputs(program, 0, False)
    inputs = {name: np.asarray(value) for name, value in drawn.items()}
    inputs["limit"] = np.asarray(letters, np.int32)
    weights = tutorial_weights(program_weights(program, 0, False, 1))
    rows = {name: inputs[name].reshape(1) for name in ("category", "first")}
    loop = {**rows, "limit": np.asarray(letters, np.int64)}
    zoo = program_module(program, 0, False, 1)
    return {
        "zoo": _listed(made(zoo), inputs),
        "Relay text": _listed(made(relay_text(weights)), inputs),
        "Python": _listed(made(char_rnn(weights, *sizes(weights)).module), inputs),
        "ONNX": _looped(made(onnx_loop(weights)), loop),
    }


def tutorial_weights(tables: Mapping[str, Array]) -> dict[str, Array]:
    """The weights of the tutorial's three layers, from the tables of the zoo's program."""
    hidden, letters = len(tables["hidden_to_hidden"]), len(tables["hidden_to_output"])
    columns = {
        goal: [tables[f"{source}_to_{goal}"].T for source in ("category", "letter")]
        for goal in ("hidden", "output")
    }
    joined = {
        "i2h_weight": np.hstack([*columns["hidden"], tables["hidden_to_hidden"]]),
        "i2h_bias": np.zeros(hidden, np.float32),
        "i2o_weight": np.hstack([*columns["output"], tables["hidden_to_output"]]),
        "i2o_bias": np.zeros(letters, np.float32),
        "o2o_weight": np.hstack([tables["hidden_to_scores"], tables["output_to_scores"]]),
        "o2o_bias": tables["scores_bias"],
    }
    return {**joined, "stop": tables["stop"], "hidden": tables["hidden"]}


def relay_text(weights: Mapping[str, Array]) -> Module:
    """The tutorial's network in Relay text."""
    letters, categories = sizes(weights)
    text = TEXT.replace("LETTERS", str(letters)).replace("CATEGORIES", str(categories))
    shapes = {name: value.shape for name, value in weights.items()}
    module = rt.parse(text, "tutorial.relay", prelude("rev"))
    return BindParameters(dict(weights))(FixInputShapes(shapes)(module))


def onnx_loop(weights: Mapping[str, Array]) -> Module:
    """The tutorial's network as a Loop of ONNX: category, first [1] and limit -> letters [t, 1]."""
    letters, categories = sizes(weights)
    number, row = OnnxType(TensorProto.INT64, []), OnnxType(TensorProto.INT64, [1])
    truth = OnnxType(TensorProto.BOOL, [])
    state = OnnxType(TensorProto.FLOAT, list(weights["hidden"].shape))
    body = helper.make_graph(
        [
            helper.make_node("OneHot", ["letter", "letters", "off_on"], ["letter_tensor"]),
            _node("Concat", "category_tensor letter_tensor hidden", "combined", axis=1),
            _node("Gemm", "combined i2h_weight i2h_bias", "next_hidden", transB=1),
            _node("Gemm", "combined i2o_weight i2o_bias", "output", transB=1),
            _node("Concat", "next_hidden output", "output_combined", axis=1),
            _node("Gemm", "output_combined o2o_weight o2o_bias", "scores", transB=1),
            _node("LogSoftmax", "scores", "likely", axis=1),
            _node("ArgMax", "likely", "next", axis=1, keepdims=0),
            _node("Equal", "next stop_row", "stops"),
            _node("Not", "stops", "goes_row"),
            _node("Squeeze", "goes_row", "goes_on"),
            _node("Identity", "next", "written"),
        ],
        "step",
        _values({"round": number, "condition": truth, "letter": row, "hidden": state}),
        _values({"goes_on": truth, "next": row, "next_hidden": state, "written": row}),
    )
    constants = {
        **weights,
        "letters": np.asarray(letters),
        "categories": np.asarray(categories),
        "off_on": np.asarray([0, 1], np.float32),
        "stop_row": weights["stop"].reshape(1),
    }
    graph = helper.make_graph(
        [
            _node("OneHot", "category categories off_on", "category_tensor"),
            helper.make_node(
                "Loop", ["limit", "", "first", "hidden"], ["last", "state", "name"], body=body
            ),
        ],
        "tutorial",
        _values({"category": row, "first": row, "limit": number}),
        _values({"name": OnnxType(TensorProto.INT64, ["t", 1])}),
        [numpy_helper.from_array(np.array(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return rt.from_onnx(model)


def _node(operator: str, inputs: str, output: str, **attributes: int) -> onnx.NodeProto:
    return helper.make_node(operator, inputs.split(), [output], **attributes)


def _values(types: Mapping[str, OnnxType]) -> list[onnx.ValueInfoProto]:
    return [
        helper.make_tensor_value_info(name, type_.dtype, type_.shape)
        for name, type_ in types.items()
    ]


def sizes(weights: Mapping[str, Array]) -> tuple[int, int]:
    """The number of letters, and of categories, that the weights are for."""
    letters, inputs = weights["i2o_weight"].shape
    return letters, inputs - letters - weights["hidden"].shape[1]


def _native(module: Module) -> Model:
    return rt.build(module, threads=1)


def _listed(model: Model, inputs: Inputs) -> Run:
    return lambda: [int(np.asarray(each)) for each in rt.list_items(model(**inputs))]


def _looped(model: Model, inputs: Inputs) -> Run:
    return lambda: [int(letter) for letter in np.asarray(model(**inputs)).ravel()]


def _report(letters: int) -> None:
    runs = forms(letters)
    name = next(iter(runs.values()))()
    for form, run in runs.items():
        assert run() == name, form
    least = dict.fromkeys(runs, float("inf"))
    for _ in range(ROUNDS):
        for form, run in runs.items():
            start = perf_counter()
            run()
            least[form] = min(least[form], perf_counter() - start)
    print(f"{len(name)} letters")
    for form, seconds in least.items():
        print(f"  {form:<12} {1e6 * seconds:8.1f} us  {seconds / least['zoo']:5.2f} x")


if __name__ == "__main__":
    main()
